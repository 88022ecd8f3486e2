#include "shim/load.h"

#include "lib/text.h"
#include "shim/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

_Static_assert(RULES_SOURCES == PANEL_INCLUDES + 1, "the panel remembers every file that a load reads");

/* What a load works in: mapped at once, touched as far as it is used. */
struct load_memory {
    struct ruleset ruleset;
    struct rules_notes notes;
    struct load_stamp stamps[RULES_SOURCES];
    uint8_t includers[RULES_SOURCES]; /* which source named it first */
    char paths[RULES_SOURCES][PANEL_PATH_MAX];
    _Alignas(64) unsigned char scratch[RULES_SCRATCH];
    _Alignas(64) char bytes[RULES_SOURCES][LOAD_FILE_MAX + 1];
};

/* --- what went wrong -------------------------------------------------------------------------------- */

/* What a person is told. libc's own table is not for a guest: it brings the locale with it. */
static const char *errno_text(int error) {
    static const struct {
        int error;
        char text[36];
    } texts[] = {
        {ENOENT, "No such file or directory"},
        {EACCES, "Permission denied"},
        {EPERM, "Operation not permitted"},
        {EISDIR, "Is a directory"},
        {ENOTDIR, "Not a directory"},
        {ELOOP, "Too many levels of symbolic links"},
        {ENAMETOOLONG, "File name too long"},
        {EIO, "Input/output error"},
        {ENOMEM, "Cannot allocate memory"},
        {EMFILE, "Too many open files"},
        {ENFILE, "Too many open files in system"},
        {ENXIO, "No such device or address"},
        {ESTALE, "Stale file handle"},
        {EINVAL, "not a regular file"},
        {EFBIG, "larger than 1 MiB"},
        {E2BIG, "more than 16 included files"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].error == error) {
            return texts[i].text;
        }
    }
    return NULL;
}

/* Notes why a file could not be read; returns -error. includer is the file that names it, or NULL. */
static int load_failed(struct load *load, const char *path, int error, const char *includer) {
    struct text text = text_in(load->error, sizeof load->error);
    const char *reason = errno_text(error);
    text_add(&text, path);
    text_add(&text, ": ");
    if (reason != NULL) {
        text_add(&text, reason);
    } else {
        text_add(&text, "error ");
        text_add_number(&text, (uint64_t)error);
    }
    if (includer != NULL) {
        text_add(&text, ", included by ");
        text_add(&text, includer);
    }
    return -error;
}

/* --- stamps ----------------------------------------------------------------------------------------- */

struct load_stamp load_stamp_of(const char *path) {
    struct stat64 status;
    long result = raw_call4(RAW_FSTATAT, AT_FDCWD, (long)path, (long)&status, 0);
    if (raw_failed(result)) {
        return (struct load_stamp){.changed_ns = (uint64_t)-result};
    }
    return (struct load_stamp){
        .device = (uint64_t)status.st_dev,
        .inode = (uint64_t)status.st_ino,
        .size = (uint64_t)status.st_size,
        .changed_ns =
            (uint64_t)status.st_ctim.tv_sec * UINT64_C(1000000000) + (uint64_t)status.st_ctim.tv_nsec,
    };
}

void load_stamp_fold(struct load_stamp *stamp, const struct load_stamp *included) {
    uint64_t words[] = {stamp->includes, included->device, included->inode, included->size,
                        included->changed_ns};
    stamp->includes = text_hash((const char *)words, sizeof words);
}

/* --- reading ---------------------------------------------------------------------------------------- */

/* Reads the open file into bytes, at most LOAD_FILE_MAX; its size, or -errno. */
static long read_whole(long fd, char *bytes) {
    size_t size = 0;
    while (size <= LOAD_FILE_MAX) {
        long got = raw_call3(SYS_read, fd, (long)(bytes + size), (long)(LOAD_FILE_MAX + 1 - size));
        if (got == 0) {
            return (long)size;
        }
        if (raw_failed(got) && got != -EINTR) {
            return got;
        }
        size += raw_failed(got) ? 0 : (size_t)got;
    }
    return -EFBIG;
}

/* Reads one regular file. Anything else could make the host wait, or see that it was read. */
static long read_file(const char *path, char *bytes) {
    long fd = raw_call4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (raw_failed(fd)) {
        return fd;
    }
    struct stat64 status;
    long result = raw_call3(RAW_FSTAT, fd, (long)&status, 0);
    if (!raw_failed(result)) {
        if (S_ISREG(status.st_mode)) {
            result = read_whole(fd, bytes);
        } else {
            result = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
        }
    }
    raw_call3(SYS_close, fd, 0, 0);
    return result;
}

/* Lists the files that source `from` includes, each once. */
static int list_includes(struct load *load, size_t from) {
    struct load_memory *memory = load->memory;
    struct rules_sources *sources = &load->sources;
    const struct rules_source *source = &sources->source[from];
    size_t offset = 0, size;
    const char *path;
    while (rules_next_include(source, &offset, &path, &size)) {
        if (sources->count == RULES_SOURCES) {
            return load_failed(load, source->path, E2BIG, NULL);
        }
        char *place = memory->paths[sources->count];
        if (!rules_include_path(source->path, path, size, place, PANEL_PATH_MAX)) {
            return load_failed(load, source->path, ENAMETOOLONG, NULL);
        }
        size_t bytes = strlen(place) + 1, known = 0;
        while (known < sources->count && memcmp(memory->paths[known], place, bytes) != 0) {
            known++;
        }
        if (known == sources->count) {
            sources->source[known].path = place;
            memory->includers[known] = (uint8_t)from;
            sources->count++;
        }
    }
    return 0;
}

/* Reads source i and lists what it includes. */
static int read_source(struct load *load, size_t i) {
    struct load_memory *memory = load->memory;
    struct rules_source *source = &load->sources.source[i];
    /* Before the file is opened: what is read is at least as new as its stamp. */
    memory->stamps[i] = load_stamp_of(source->path);
    long size = read_file(source->path, memory->bytes[i]);
    if (raw_failed(size)) {
        const char *includer = i > 0 ? memory->paths[memory->includers[i]] : NULL;
        return load_failed(load, source->path, (int)-size, includer);
    }
    source->bytes = memory->bytes[i];
    source->size = (size_t)size;
    return list_includes(load, i);
}

int load_open(struct load *load, const char *path) {
    memset(load, 0, sizeof *load);
    long address = raw_call6(RAW_MMAP, 0, sizeof(struct load_memory), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw_failed(address)) {
        return load_failed(load, path, (int)-address, NULL);
    }
    struct load_memory *memory = (struct load_memory *)address;
    load->memory = memory;
    load->memory_bytes = sizeof *memory;
    load->ruleset = &memory->ruleset;
    load->notes = &memory->notes;
    struct text name = text_in(memory->paths[0], sizeof memory->paths[0]);
    text_add(&name, path);
    load->sources.count = 1;
    load->sources.source[0].path = memory->paths[0];
    size_t read = 0;
    int result = 0;
    while (result == 0 && read < load->sources.count) {
        result = read_source(load, read++);
    }
    load->stamp = memory->stamps[0];
    for (size_t i = 1; i < load->sources.count; i++) {
        if (i >= read) {
            memory->stamps[i] = load_stamp_of(load->sources.source[i].path);
        }
        load_stamp_fold(&load->stamp, &memory->stamps[i]);
    }
    return result;
}

bool load_compile(struct load *load) {
    struct load_memory *memory = load->memory;
    if (rules_parse(&load->sources, load->ruleset, load->notes, memory->scratch)) {
        return true;
    }
    for (size_t i = 0; i < load->notes->count && i < RULES_NOTES; i++) {
        if (!load->notes->note[i].warning) {
            rules_note_format(&load->sources, &load->notes->note[i], load->error, sizeof load->error);
            break;
        }
    }
    return false;
}

void load_warn(struct load *load) {
    struct load_memory *memory = load->memory;
    rules_warn(memory->scratch);
}

void load_close(struct load *load) {
    if (load->memory != NULL) {
        raw_call3(SYS_munmap, (long)load->memory, (long)load->memory_bytes, 0);
    }
    load->memory = NULL;
}
