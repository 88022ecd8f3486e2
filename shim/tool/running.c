#include "shim/tool/running.h"

#include "shim/tool/elf_file.h"
#include "shim/tool/library.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DELETED " (deleted)"

static void proc_path(char path[64], uint32_t pid, const char *file) {
    snprintf(path, 64, "/proc/%" PRIu32 "/%s", pid, file);
}

static FILE *open_proc(uint32_t pid, const char *file) {
    char path[64];
    proc_path(path, pid, file);
    return fopen(path, "re");
}

/* Cuts " (deleted)" off the end; true where it stood there. */
static bool cut_deleted(char *path) {
    size_t length = strlen(path), tail = strlen(DELETED);
    if (length < tail || strcmp(path + length - tail, DELETED) != 0) {
        return false;
    }
    path[length - tail] = 0;
    return true;
}

/* --- status ----------------------------------------------------------------------------------------- */

static void read_status(struct running *running) {
    FILE *file = open_proc(running->pid, "status");
    char line[256];
    running->inner_pid = running->pid;
    while (file && fgets(line, sizeof line, file)) {
        const char *last = strrchr(line, '\t');
        if (last && strncmp(line, "NSpid:", 6) == 0) { /* the innermost namespace comes last */
            running->inner_pid = (uint32_t)strtoul(last, NULL, 10);
        }
        if (last && strncmp(line, "Seccomp:", 8) == 0) {
            running->seccomp = (unsigned)strtoul(last, NULL, 10);
        }
    }
    if (file) {
        fclose(file);
    }
}

/* --- what is mapped --------------------------------------------------------------------------------- */

struct mapping {
    uint64_t begin, end, offset, inode;
    char rights[8];
    const char *path; /* "" where it has none */
    bool deleted;
};

/* A line of /proc/PID/maps; false for what is none. Cuts the line. */
static bool read_mapping(char *line, struct mapping *mapping) {
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %n", &mapping->begin,
               &mapping->end, mapping->rights, &mapping->offset, &mapping->inode, &at) != 5 ||
        at == 0) {
        return false;
    }
    line[strcspn(line, "\n")] = 0;
    mapping->deleted = cut_deleted(line + at);
    mapping->path = line + at;
    return true;
}

/* Shared memory that is as large as a panel. */
static void note_segment(struct running *running, const struct mapping *mapping) {
    const size_t page = 4096, size = (sizeof(struct panel) + page - 1) / page * page;
    if (mapping->rights[3] != 's' || mapping->end - mapping->begin != size) {
        return;
    }
    if (strncmp(mapping->path, "/SYSV", 5) != 0) {
        running->has_private = true;
    } else if (running->segment_count < RUNNING_SEGMENTS) {
        running->segments[running->segment_count++] = (int)mapping->inode; /* the kernel puts the id there */
    }
}

static bool is_named_library(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && strcmp(slash + 1, LIBRARY_NAME) == 0;
}

/* Looks whether an object begins at that mapping that is the shim. The first that is active counts, else the first. */
static void note_library(struct running *running, const struct mapping *mapping, int memory) {
    struct elf_file elf;
    struct badge badge;
    bool found = false;
    if (running->badge_known && atomic64_load_relaxed(&running->badge.state) == BADGE_ACTIVE) {
        return;
    }
    if (memory >= 0 && elf_file_read_mapped(&elf, memory, mapping->begin) == ELF_READ && elf.badge) {
        found = pread(memory, &badge, sizeof badge, (off_t)(mapping->begin + elf.badge)) == sizeof badge;
    }
    if (!found && (running->library[0] || !is_named_library(mapping->path))) {
        return;
    }
    snprintf(running->library, sizeof running->library, "%s", mapping->path);
    running->library_deleted = mapping->deleted;
    running->badge_known = found;
    if (found) {
        badge.version[sizeof badge.version - 1] = 0;
        badge.panel[sizeof badge.panel - 1] = 0;
        memcpy(&running->badge, &badge, sizeof badge);
    }
}

static int read_maps(struct running *running) {
    char path[64];
    FILE *file = open_proc(running->pid, "maps");
    if (!file) {
        return errno == ENOENT ? ESRCH : EPERM;
    }
    proc_path(path, running->pid, "mem");
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    running->memory_error = memory < 0 ? errno : 0;
    char *line = NULL;
    size_t room = 0, lines = 0;
    while (getline(&line, &room, file) > 0) {
        struct mapping mapping;
        lines++;
        if (!read_mapping(line, &mapping)) {
            continue;
        }
        note_segment(running, &mapping);
        if (mapping.offset == 0 && mapping.path[0] == '/' && mapping.rights[0] == 'r' &&
            mapping.rights[3] == 'p') {
            note_library(running, &mapping, memory);
        }
    }
    free(line);
    fclose(file);
    if (memory >= 0) {
        close(memory);
    }
    return lines ? 0 : ENOEXEC; /* one of the kernel's own, or one that has ended and waits to be reaped */
}

int running_read(struct running *running, uint32_t pid) {
    char path[64];
    memset(running, 0, sizeof *running);
    running->pid = pid;
    if (pid == 0 || pid > INT32_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH)) {
        return ESRCH;
    }
    read_status(running);
    int error = read_maps(running);
    if (error) {
        return error;
    }
    proc_path(path, pid, "exe");
    ssize_t size = readlink(path, running->program, sizeof running->program - 1);
    running->program[size > 0 ? size : 0] = 0;
    cut_deleted(running->program);
    return 0;
}

/* --- how it was started ----------------------------------------------------------------------------- */

bool running_variable(uint32_t pid, const char *name, char *value, size_t room) {
    FILE *file = open_proc(pid, "environ");
    char *variable = NULL;
    size_t size = 0, length = strlen(name);
    bool found = false;
    while (!found && file && getdelim(&variable, &size, 0, file) > 0) {
        found = strncmp(variable, name, length) == 0 && variable[length] == '=';
    }
    if (found) {
        snprintf(value, room, "%s", variable + length + 1);
    }
    free(variable);
    if (file) {
        fclose(file);
    }
    return found;
}

bool running_is_secure(uint32_t pid, bool narrow) {
    FILE *file = open_proc(pid, "auxv");
    bool secure = false;
    uint64_t wide[2];
    uint32_t words[2];
    while (file && (narrow ? fread(words, sizeof words, 1, file) : fread(wide, sizeof wide, 1, file)) == 1) {
        if ((narrow ? words[0] : wide[0]) == AT_SECURE) {
            secure = (narrow ? words[1] : wide[1]) != 0;
        }
    }
    if (file) {
        fclose(file);
    }
    return secure;
}

bool running_shares_ipc(uint32_t pid) {
    char path[64], own[64], other[64];
    proc_path(path, pid, "ns/ipc");
    ssize_t size = readlink(path, other, sizeof other);
    return size > 0 && readlink("/proc/self/ns/ipc", own, sizeof own) == size &&
           memcmp(own, other, (size_t)size) == 0;
}

/* --- its children ----------------------------------------------------------------------------------- */

static uint32_t parent_of(uint32_t pid) {
    FILE *file = open_proc(pid, "stat");
    char line[1024];
    uint32_t parent = 0;
    if (file && fgets(line, sizeof line, file)) {
        /* The program's name before it may hold anything, brackets too. */
        const char *end = strrchr(line, ')');
        if (end) {
            sscanf(end + 1, " %*c %" SCNu32, &parent);
        }
    }
    if (file) {
        fclose(file);
    }
    return parent;
}

struct family {
    uint32_t pid, parent;
};

/* Every process with its parent, read once, so that a process is met once at most. */
static struct family *read_families(size_t *count) {
    DIR *directory = opendir("/proc");
    const struct dirent *entry;
    struct family *families = NULL;
    size_t room = 0;
    *count = 0;
    while (directory && (entry = readdir(directory))) {
        if (!isdigit((unsigned char)entry->d_name[0])) {
            continue;
        }
        if (*count == room) {
            room = room * 2 + 256;
            struct family *more = realloc(families, room * sizeof *more);
            if (!more) {
                break;
            }
            families = more;
        }
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        families[(*count)++] = (struct family){pid, parent_of(pid)};
    }
    if (directory) {
        closedir(directory);
    }
    return families;
}

size_t running_tree(uint32_t pid, uint32_t *pids, size_t room) {
    size_t families_count, count = 0;
    struct family *families = read_families(&families_count);
    pids[count++] = pid;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < families_count && count < room; j++) {
            if (families[j].parent == pids[i]) {
                pids[count++] = families[j].pid;
            }
        }
    }
    free(families);
    return count;
}
