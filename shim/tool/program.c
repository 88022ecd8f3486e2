#include "shim/tool/program.h"

#include "shim/tool/interpreter.h"
#include "shim/tool/output.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin:/usr/bin" /* where execvp() looks without PATH */
#define SHELL        "/bin/sh"       /* what execvp() hands a file to that the kernel does not know */

__attribute__((format(printf, 3, 4))) static bool
refuse(struct program *program, enum program_verdict verdict, const char *format, ...) {
    va_list values;
    va_start(values, format);
    program->verdict = verdict;
    vsnprintf(program->why, sizeof program->why, format, values);
    va_end(values);
    return false;
}

/* 0, or the errno with which executing it would fail. */
static int execution_error(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) {
        return errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return EACCES;
    }
    return euidaccess(path, X_OK) == 0 ? 0 : errno;
}

/* Finds name in PATH. Returns 0 and fills in path, or the errno of execvp(). */
static int search_path(const char *name, char *path, size_t room) {
    const char *at = getenv("PATH");
    int error = ENOENT;
    if (!at) {
        at = DEFAULT_PATH;
    }
    for (;;) {
        size_t length = strcspn(at, ":");
        int size = snprintf(path, room, "%.*s%s%s", (int)length, at, length ? "/" : "", name);
        if (size > 0 && (size_t)size < room) {
            int found = execution_error(path);
            if (found == 0) {
                return 0;
            }
            if (found == EACCES) {
                error = EACCES; /* execvp() goes on looking, and says so only if nothing better comes */
            }
        }
        if (!at[length]) {
            return error;
        }
        at += length + 1;
    }
}

/* Adds the file of that name to the program's. How it was come by is said in `role`, for messages. */
static bool add_file(struct program *program, const char *name, const char *role) {
    char *path = program->file[program->files];
    bool searched = !strchr(name, '/');
    int error = 0;
    if (strlen(name) >= PATH_MAX || !name[0]) {
        error = ENOENT;
    } else if (searched) {
        error = search_path(name, path, PATH_MAX);
    } else {
        strcpy(path, name);
        error = execution_error(path);
    }
    if (error == 0) {
        program->files++;
        return true;
    }
    if (error == ENOENT || error == ENOTDIR) {
        return refuse(program, PROGRAM_NOT_FOUND, "%s%s: not found%s", role, shown(name),
                      searched ? " in PATH" : "");
    }
    return refuse(program, PROGRAM_NOT_EXECUTABLE, "%s%s: %s", role, shown(name),
                  error == EACCES ? "not executable" : strerror(error));
}

/* The loader ignores LD_PRELOAD where a program gains rights by being started; it does not where the kernel
 * ignores the bits, or the user has those rights already. */
static bool check_rights(struct program *program, const char *path) {
    struct stat status;
    struct statvfs mount;
    char value[64];
    if (stat(path, &status) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID))) {
        return true;
    }
    const char *consequence = "the loader preloads nothing into it";
    if ((status.st_mode & S_ISUID) && status.st_uid != getuid()) {
        const struct passwd *user = getpwuid(status.st_uid);
        return refuse(program, PROGRAM_PRIVILEGED, "%s is set-user-ID %s: %s", shown(path),
                      user ? shown(user->pw_name) : "of an unknown user", consequence);
    }
    if ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != getgid()) {
        return refuse(program, PROGRAM_PRIVILEGED, "%s is set-group-ID: %s", shown(path), consequence);
    }
    if (getuid() != 0 && getxattr(path, "security.capability", value, sizeof value) >= 0) {
        return refuse(program, PROGRAM_PRIVILEGED, "%s has file capabilities: %s", shown(path), consequence);
    }
    return true;
}

static bool check_elf(struct program *program, const char *path, const struct libraries *libraries) {
    const struct elf_file *elf = &program->elf;
    if (!libraries_for(libraries, elf)) {
        const char *machine = elf_machine_name(elf->machine);
        return refuse(program, PROGRAM_OTHER_MACHINE,
                      "%s is built for another machine (%s, %u-bit), for which no library is installed",
                      shown(path), machine ? machine : "unknown", elf->bits);
    }
    if (!elf->loader[0]) {
        return refuse(program, PROGRAM_STATIC, "%s is statically linked: it loads no library", shown(path));
    }
    if (access(elf->loader, F_OK) != 0) {
        return refuse(program, PROGRAM_NOT_FOUND, "%s asks for the loader %s: not found", shown(path),
                      shown(elf->loader));
    }
    if (elf->libc == LIBC_OTHER) {
        return refuse(program, PROGRAM_OTHER_LIBC,
                      "%s is linked with a C library that is neither glibc nor musl", shown(path));
    }
    return check_rights(program, path);
}

/* Looks into the last of the program's files; true when it can be protected or is a script, whose interpreter
 * is then in *next. */
static bool examine_file(struct program *program, const struct libraries *libraries,
                         struct interpreter *next) {
    const char *path = program->file[program->files - 1];
    memset(next, 0, sizeof *next);
    switch (elf_file_read(&program->elf, path)) {
    case ELF_READ:
        return check_elf(program, path, libraries);
    case ELF_NOT_ELF:
        if (!interpreter_read(next, path)) {
            snprintf(next->path, sizeof next->path, "%s", SHELL);
        }
        return true;
    default:
        return refuse(program, PROGRAM_NOT_READABLE, "%s cannot be read, so its kind is not known",
                      shown(path));
    }
}

/* What env(1) in a "#!" line starts is looked for in PATH. */
static bool add_started_by_env(struct program *program, const struct interpreter *interpreter) {
    char target[PATH_MAX];
    switch (interpreter_env_target(interpreter, target)) {
    case ENV_TARGET:
        return add_file(program, target, "the #! line's ");
    case ENV_CLEARS:
        return refuse(program, PROGRAM_CLEARS, "the #! line of %s clears the environment",
                      shown(program->file[program->files - 2]));
    default:
        return true;
    }
}

void program_examine(struct program *program, const char *name, const struct libraries *libraries) {
    memset(program, 0, sizeof *program);
    if (!add_file(program, name, "")) {
        return;
    }
    for (unsigned level = 0; level <= PROGRAM_LEVELS; level++) {
        struct interpreter interpreter;
        if (!examine_file(program, libraries, &interpreter) || !interpreter.path[0]) {
            return;
        }
        if (level == PROGRAM_LEVELS) {
            break;
        }
        if (!add_file(program, interpreter.path, "the #! line's ")) {
            return;
        }
        if (!interpreter_is_env(&interpreter)) {
            continue;
        }
        struct interpreter none;
        size_t files = program->files;
        if (!examine_file(program, libraries, &none) || none.path[0] ||
            !add_started_by_env(program, &interpreter) || program->files == files) {
            return;
        }
    }
    refuse(program, PROGRAM_NOT_EXECUTABLE, "%s: more than %d #! lines, one after another", shown(name),
           PROGRAM_LEVELS);
}
