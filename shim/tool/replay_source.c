#include "shim/tool/replay_source.h"

#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ERRORS_SHOWN 20

static bool cannot_read(const struct source *source) {
    tool_error("%s: %s", shown(source->path), strerror(errno));
    return false;
}

/* --- opening --- */

/* Copies what can be read only once to a file without a name. */
static bool copy_to_file(struct source *source) {
    FILE *file = tmpfile();
    int copy = file ? dup(fileno(file)) : -1;
    if (file) {
        fclose(file);
    }
    if (copy < 0) {
        tool_error("%s: cannot keep a copy to read it twice: %s", shown(source->path), strerror(errno));
        return false;
    }
    ssize_t got;
    while ((got = read(source->descriptor, source->buffer, SOURCE_BUFFER)) != 0) {
        if (got < 0 && errno == EINTR) {
            continue;
        }
        for (ssize_t written = 0, more; written < got; written += more) {
            more = write(copy, source->buffer + written, (size_t)(got - written));
            if (more < 0) {
                got = -1;
            }
        }
        if (got < 0) {
            close(copy);
            return cannot_read(source);
        }
    }
    close(source->descriptor);
    source->descriptor = copy;
    return true;
}

bool source_open(struct source *source, const char *path) {
    *source = (struct source){.path = path, .descriptor = -1, .end = UINT64_MAX};
    struct stat status;
    source->descriptor =
        strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (source->descriptor < 0 || fstat(source->descriptor, &status) < 0) {
        return cannot_read(source);
    }
    source->buffer = malloc(SOURCE_BUFFER);
    if (!source->buffer) {
        tool_error("out of memory");
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        return copy_to_file(source);
    }
    off_t begin = lseek(source->descriptor, 0, SEEK_CUR);
    source->begin = source->offset = begin > 0 ? (uint64_t)begin : 0;
    return true;
}

void source_close(struct source *source) {
    if (source->descriptor >= 0) {
        close(source->descriptor);
    }
    free(source->buffer);
    free(source->places);
}

/* --- reading lines --- */

/* Moves what is left to the front of the buffer and reads more behind it. Returns how much came; 0 at the end, -1 when it
 * failed. */
static ssize_t fill(struct source *source) {
    size_t left = source->filled - source->from;
    memmove(source->buffer, source->buffer + source->from, left);
    source->from = 0;
    source->filled = left;
    uint64_t room = SOURCE_BUFFER - left;
    uint64_t rest = source->end - source->offset;
    ssize_t got;
    do {
        got = pread(source->descriptor, source->buffer + left, (size_t)(room < rest ? room : rest),
                    (off_t)source->offset);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        source->filled += (size_t)got;
        source->offset += (uint64_t)got;
    }
    return got;
}

enum line_got { LINE_GOT, LINE_TOO_LONG, LINE_END, LINE_FAILED };

/* The next line without its line feed. */
static enum line_got next_line(struct source *source, const char **line, size_t *size) {
    for (;;) {
        const char *begin = source->buffer + source->from;
        size_t left = source->filled - source->from;
        const char *feed = left > 0 ? memchr(begin, '\n', left) : NULL;
        if (!feed && left <= SOURCE_LINE_MAX) {
            ssize_t got = fill(source);
            if (got < 0) {
                return LINE_FAILED;
            }
            if (got > 0) {
                continue;
            }
            begin = source->buffer;
            left = source->filled;
            if (left == 0) {
                return LINE_END;
            }
            feed = begin + left; /* the last line may lack its line feed */
        }
        *line = begin;
        *size = feed ? (size_t)(feed - begin) : left;
        source->line++;
        if (*size > SOURCE_LINE_MAX) {
            return LINE_TOO_LONG;
        }
        source->from += *size + (*size < left);
        return LINE_GOT;
    }
}

/* --- checking --- */

struct check {
    struct source *source;
    uint64_t errors;
};

static void report(struct check *check, const struct trace_error *error) {
    char text[TRACE_ERROR_MAX];
    if (check->errors++ < ERRORS_SHOWN) {
        trace_error_format(error, text, sizeof text);
        tool_error("%s:%" PRIu64 ":%" PRIu32 ": %s", shown(check->source->path), check->source->line,
                   error->found.column, text);
    }
}

static void check_line(struct check *check, const char *line, size_t size, source_target *target,
                       void *context) {
    struct source *source = check->source;
    struct trace_record record;
    struct trace_error error;
    switch (trace_read(line, size, &record, &error)) {
    case TRACE_BLANK:
        return;
    case TRACE_LOST:
        source->lost += record.lost;
        return;
    case TRACE_BAD:
        report(check, &error);
        return;
    case TRACE_CALL:
        break;
    }
    if (!target(context, &record, &error)) {
        report(check, &error);
        return;
    }
    source->calls++;
    if (record.start_ns >= source->newest_ns) {
        source->newest_ns = record.start_ns;
    } else if (source->unsorted == 0) {
        source->unsorted = source->line;
    }
}

static int compare_places(const void *left, const void *right) {
    const struct source_place *a = left, *b = right;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Back to the beginning, for the second reading; never beyond what was checked. */
static void rewind_source(struct source *source) {
    source->end = source->offset;
    source->offset = source->begin;
    source->from = source->filled = 0;
    source->line = source->newest_ns = 0;
}

/* Holds the whole trace in memory, and where each call's line lies, sorted by start. */
static bool sort(struct source *source) {
    size_t size = (size_t)(source->end - source->begin);
    char *all = realloc(source->buffer, size + SOURCE_BUFFER);
    source->places = calloc(source->calls, sizeof *source->places);
    if (all) {
        source->buffer = all;
    }
    if (!all || !source->places) {
        tool_error("%s: not enough memory to sort %" PRIu64 " calls", shown(source->path), source->calls);
        return false;
    }
    while (source->filled < size) {
        ssize_t got = pread(source->descriptor, all + source->filled, size - source->filled,
                            (off_t)(source->begin + source->filled));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            tool_error("%s: changed while it was read", shown(source->path));
            return false;
        }
        source->filled += (size_t)got;
    }
    uint64_t count = 0;
    for (size_t at = 0; at < size;) {
        const char *feed = memchr(all + at, '\n', size - at);
        size_t length = feed ? (size_t)(feed - (all + at)) : size - at;
        struct trace_record record;
        struct trace_error error;
        if (trace_read(all + at, length, &record, &error) == TRACE_CALL && count < source->calls) {
            source->places[count++] = (struct source_place){record.start_ns, at};
        }
        at += length + 1;
    }
    source->calls = count;
    qsort(source->places, count, sizeof *source->places, compare_places);
    return true;
}

bool source_check(struct source *source, source_target *target, void *context) {
    struct check check = {.source = source};
    const char *line;
    size_t size;
    enum line_got got;
    while ((got = next_line(source, &line, &size)) == LINE_GOT) {
        check_line(&check, line, size, target, context);
    }
    if (got == LINE_FAILED) {
        return cannot_read(source);
    }
    if (got == LINE_TOO_LONG) {
        struct trace_error error = {{line, size, SOURCE_LINE_MAX + 1}, "lines of at most 65536 bytes"};
        report(&check, &error);
    }
    if (check.errors > ERRORS_SHOWN) {
        tool_error("%s: and %" PRIu64 " more", shown(source->path), check.errors - ERRORS_SHOWN);
    }
    if (check.errors > 0) {
        return false;
    }
    rewind_source(source);
    return source->unsorted == 0 || sort(source);
}

/* --- giving --- */

static enum source_got changed(const struct source *source) {
    tool_error("%s: changed while it was read", shown(source->path));
    return SOURCE_FAILED;
}

static enum source_got next_sorted(struct source *source, struct trace_record *record) {
    if (source->next == source->calls) {
        return SOURCE_END;
    }
    uint64_t at = source->places[source->next++].offset;
    const char *line = source->buffer + at;
    const char *feed = memchr(line, '\n', source->filled - at);
    struct trace_error error;
    trace_read(line, feed ? (size_t)(feed - line) : source->filled - at, record, &error);
    return SOURCE_CALL;
}

enum source_got source_next(struct source *source, struct trace_record *record) {
    if (source->places) {
        return next_sorted(source, record);
    }
    const char *line;
    size_t size;
    enum line_got got;
    while ((got = next_line(source, &line, &size)) == LINE_GOT) {
        struct trace_error error;
        enum trace_line read = trace_read(line, size, record, &error);
        if (read == TRACE_BAD || (read == TRACE_CALL && record->start_ns < source->newest_ns)) {
            return changed(source);
        }
        if (read == TRACE_CALL) {
            source->newest_ns = record->start_ns;
            return SOURCE_CALL;
        }
    }
    if (got == LINE_FAILED) {
        cannot_read(source);
        return SOURCE_FAILED;
    }
    return got == LINE_END && source->offset == source->end ? SOURCE_END : changed(source);
}
