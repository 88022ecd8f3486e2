#include "shim/tool/recorder.h"

#include "lib/endpoint.h"
#include "lib/recording.h"
#include "lib/trace.h"
#include "shim/clock.h"
#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Records are wanted for that long after each step: what a recorder that is killed costs. */
#define WANTED_NS UINT64_C(2000000000)
/* A record that is not whole by then has lost its writer. */
#define WRITER_NS UINT64_C(1000000000)

/* --- the file --- */

/* Takes back what a full disk left of a line. */
static void cut_to_line(const struct recorder *recorder, off_t end) {
    if (recorder->regular && end >= 0 && ftruncate(recorder->file, end) == 0) {
        lseek(recorder->file, end, SEEK_SET);
    }
}

static bool write_out(struct recorder *recorder) {
    size_t done = 0;
    off_t begin = recorder->regular ? lseek(recorder->file, 0, SEEK_CUR) : -1;
    while (done < recorder->used) {
        ssize_t result = write(recorder->file, recorder->lines + done, recorder->used - done);
        if (result < 0 && errno == EINTR) {
            continue;
        }
        if (result <= 0) {
            int error = result < 0 ? errno : EIO;
            size_t whole = done;
            while (whole > 0 && recorder->lines[whole - 1] != '\n') {
                whole--;
            }
            cut_to_line(recorder, begin < 0 ? begin : begin + (off_t)whole);
            tool_error("%s: %s", shown(recorder->path), strerror(error));
            return false;
        }
        done += (size_t)result;
    }
    recorder->used = 0;
    return true;
}

static bool add_line(struct recorder *recorder, const char *line, size_t size) {
    if (recorder->used + size > sizeof recorder->lines && !write_out(recorder)) {
        return false;
    }
    memcpy(recorder->lines + recorder->used, line, size);
    recorder->used += size;
    return true;
}

/* --- lines --- */

static bool add_lost(struct recorder *recorder) {
    char line[64];
    if (recorder->lost == 0) {
        return true;
    }
    int size = snprintf(line, sizeof line, "# lost %llu\n", (unsigned long long)recorder->lost);
    recorder->lost_in_all += recorder->lost;
    recorder->lost = 0;
    return add_line(recorder, line, (size_t)size);
}

/* The host part of "payments.internal:443". */
static size_t host_size(const char *name) {
    size_t size = strnlen(name, BREAKER_NAME_MAX);
    while (size > 0 && name[size - 1] != ':') {
        size--;
    }
    return size > 0 ? size - 1 : 0;
}

static bool add_call(struct recorder *recorder, const struct record *record) {
    const struct breaker *breaker = panel_breaker(recorder->panel, record->breaker);
    char destination[ENDPOINT_TEXT_MAX];
    char name[BREAKER_NAME_MAX];
    char line[TRACE_LINE_MAX];
    if (breaker == NULL) {
        recorder->lost++;
        return true;
    }
    struct trace_record call = {.start_ns = record->started_ns,
                                .response_ns = record->response_ns,
                                .outcome = record->outcome,
                                .reason = record->reason,
                                .kept = record->kept,
                                .connect = record->connect};
    call.destination.bytes = destination;
    call.destination.size =
        endpoint_format(&breaker->endpoint, breaker->endpoint_name, destination, sizeof destination);
    memcpy(name, breaker->name, sizeof name);
    if (breaker->endpoint.scheme == SCHEME_NONE) { /* all of a rule's destinations together */
        call.rule.bytes = breaker->rule;
        call.rule.size = strnlen(breaker->rule, sizeof breaker->rule);
    } else {
        call.name.bytes = name;
        call.name.size = host_size(name);
    }
    recorder->calls++;
    return add_lost(recorder) && add_line(recorder, line, trace_write(&call, line, sizeof line));
}

/* --- the ring --- */

static void say_wanted(struct recorder *recorder, uint64_t now_ns) {
    struct atomic64 *until = &recorder->panel->recording.until_ns;
    /* Another recorder may want them for longer; a time far ahead is a scribble. */
    uint64_t seen = atomic64_load_relaxed(until);
    while ((seen < now_ns + WANTED_NS || seen > now_ns + 2 * WANTED_NS) &&
           !atomic64_swap_acq_rel(until, &seen, now_ns + WANTED_NS)) {
    }
}

static bool drain(struct recorder *recorder, uint64_t now_ns, bool last) {
    const struct recording *recording = &recorder->panel->recording;
    uint64_t end = recording_end(recording);
    if (end - recorder->next > RECORDING_ENTRIES) { /* overtaken */
        recorder->lost += end - recorder->next - RECORDING_ENTRIES / 2;
        recorder->next = end - RECORDING_ENTRIES / 2;
    }
    while (recorder->next != end) {
        struct record record;
        int there = recording_read(recording, recorder->next, &record);
        if (there == 0 && !last) {
            recorder->waited_ns = recorder->waited_ns ? recorder->waited_ns : now_ns;
            if (now_ns - recorder->waited_ns < WRITER_NS) {
                break;
            }
        }
        recorder->waited_ns = 0;
        recorder->next++;
        if (there <= 0) {
            recorder->lost++;
        } else if (!add_call(recorder, &record)) {
            return false;
        }
    }
    return write_out(recorder);
}

bool recorder_begin(struct recorder *recorder, struct panel *panel, const char *path) {
    static const char columns[] = "# start_s destination outcome response_time\n";
    struct stat stat;
    recorder->panel = panel;
    recorder->path = path;
    recorder->file =
        strcmp(path, "-") == 0 ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (recorder->file < 0) {
        tool_error("%s: %s", shown(path), strerror(errno));
        return false;
    }
    recorder->regular = fstat(recorder->file, &stat) == 0 && S_ISREG(stat.st_mode);
    recorder->next = recording_end(&panel->recording);
    say_wanted(recorder, clock_monotonic_ns());
    return add_line(recorder, TRACE_HEADER, sizeof TRACE_HEADER - 1) &&
           add_line(recorder, columns, sizeof columns - 1) && write_out(recorder);
}

bool recorder_step(struct recorder *recorder) {
    uint64_t now_ns = clock_monotonic_ns();
    say_wanted(recorder, now_ns);
    return drain(recorder, now_ns, false);
}

bool recorder_end(struct recorder *recorder) {
    bool well = drain(recorder, clock_monotonic_ns(), true) && add_lost(recorder) && write_out(recorder);
    if (recorder->file != STDOUT_FILENO && close(recorder->file) != 0 && well) {
        tool_error("%s: %s", shown(recorder->path), strerror(errno));
        well = false;
    }
    return well;
}
