#include "shim/tool/library.h"

#include "shim/tool/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cuts the last part off a path; false when there is none. */
static bool cut_last_part(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash) {
        return false;
    }
    *slash = 0;
    return true;
}

static bool library_is(struct library *library, const char *directory, const char *below) {
    int size = snprintf(library->path, sizeof library->path, "%s%s/" LIBRARY_NAME, directory, below);
    if (size > 0 && (size_t)size < sizeof library->path && access(library->path, R_OK) == 0) {
        return true;
    }
    library->path[0] = 0;
    return false;
}

/* The one for 32-bit programs lies where $LIB leads on the commonest systems. */
static void find_narrow(struct libraries *libraries) {
    char directory[PATH_MAX];
    strcpy(directory, libraries->own.path);
    cut_last_part(directory);
    if (library_is(&libraries->narrow, directory, "/lib32") &&
        (elf_file_read(&libraries->narrow.elf, libraries->narrow.path) != ELF_READ ||
         libraries->narrow.elf.bits != 32)) {
        libraries->narrow.path[0] = 0;
    }
}

bool libraries_find(struct libraries *libraries, char *why, size_t room) {
    char directory[PATH_MAX], prefix[PATH_MAX];
    struct library *own = &libraries->own;
    memset(libraries, 0, sizeof *libraries);
    ssize_t size = readlink("/proc/self/exe", directory, sizeof directory - 1);
    if (size <= 0) {
        snprintf(why, room, "cannot tell where this command lies: /proc/self/exe cannot be read");
        return false;
    }
    directory[size] = 0;
    cut_last_part(directory);
    strcpy(prefix, directory);
    cut_last_part(prefix);
    if (!library_is(own, directory, "") && !library_is(own, prefix, "/lib/cutout")) {
        snprintf(why, room, LIBRARY_NAME " is neither in %s nor in %s/lib/cutout", shown(directory),
                 shown(prefix));
        return false;
    }
    if (own->path[strcspn(own->path, " :$")] != 0) {
        snprintf(why, room,
                 "%s cannot be preloaded: LD_PRELOAD has no way to write a path with a blank, a colon or a "
                 "dollar sign",
                 shown(own->path));
        return false;
    }
    if (elf_file_read(&own->elf, own->path) != ELF_READ) {
        snprintf(why, room, "%s is no library", shown(own->path));
        return false;
    }
    find_narrow(libraries);
    return true;
}

const struct library *libraries_for(const struct libraries *libraries, const struct elf_file *program) {
    if (libraries->own.path[0] && elf_file_fits(program, &libraries->own.elf)) {
        return &libraries->own;
    }
    if (libraries->narrow.path[0] && elf_file_fits(program, &libraries->narrow.elf)) {
        return &libraries->narrow;
    }
    return NULL;
}

/* What a loader puts for $LIB is where it lies itself: "/usr/lib32/ld-linux.so.2" says "lib32". False where it lies
 * elsewhere. */
static bool word_of_loader(const char *loader, char word[PATH_MAX]) {
    char real[PATH_MAX];
    if (!loader[0] || !realpath(loader, real) || !cut_last_part(real)) {
        return false;
    }
    const char *from = strncmp(real, "/usr/", 5) == 0 ? real + 5 : real + 1;
    memcpy(word, from, strlen(from) + 1);
    return strncmp(word, "lib", 3) == 0;
}

/* True when $LIB in the path leads the program's loader to that library, and nothing else. */
static bool leads_to(const char *directory, const struct elf_file *program, const struct library *library) {
    char word[PATH_MAX], path[3 * PATH_MAX], real[PATH_MAX], wanted[PATH_MAX];
    if (program->libc != LIBC_GLIBC || !word_of_loader(program->loader, word)) {
        return false; /* musl takes the path as it stands */
    }
    snprintf(path, sizeof path, "%s/%s/" LIBRARY_NAME, directory, word);
    return realpath(path, real) && realpath(library->path, wanted) && strcmp(real, wanted) == 0;
}

void libraries_preload(const struct libraries *libraries, const struct elf_file *program) {
    const struct library *library = libraries_for(libraries, program);
    const char *present = getenv("LD_PRELOAD");
    char path[PATH_MAX + 32], directory[PATH_MAX];
    if (!library) {
        library = &libraries->own;
    }
    snprintf(path, sizeof path, "%s", library->path);
    strcpy(directory, libraries->own.path);
    cut_last_part(directory);
    if (libraries->narrow.path[0] && leads_to(directory, program, library)) {
        snprintf(path, sizeof path, "%s/$LIB/" LIBRARY_NAME, directory);
    }
    size_t length = strlen(path);
    if (!present || !*present) {
        setenv("LD_PRELOAD", path, 1);
        return;
    }
    if (strncmp(present, path, length) == 0 && strchr(": ", present[length])) {
        return; /* first already: strchr finds the terminating zero, too */
    }
    size_t room = length + 1 + strlen(present) + 1;
    char *value = malloc(room);
    if (!value) {
        return;
    }
    snprintf(value, room, "%s:%s", path, present);
    setenv("LD_PRELOAD", value, 1);
    free(value);
}
