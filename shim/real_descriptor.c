/* Stand-ins of what makes, changes and ends descriptors, and of the watched calls. */
#include "shim/real.h"

#include "shim/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

static int first_close(int fd) {
    if (real_find(&real_close)) {
        return REAL(close)(fd);
    }
    return (int)real_result(raw_call3(SYS_close, fd, 0, 0));
}
struct real real_close = {.next = {(uintptr_t)first_close}, .name = "close"};

/* Streams are libc's own: without a libc behind us there is none. */
static int first_fclose(FILE *stream) {
    if (real_find(&real_fclose)) {
        return REAL(fclose)(stream);
    }
    errno = ENOSYS;
    return EOF;
}
struct real real_fclose = {.next = {(uintptr_t)first_fclose}, .name = "fclose"};

static FILE *first_fdopen(int fd, const char *mode) {
    if (real_find(&real_fdopen)) {
        return REAL(fdopen)(fd, mode);
    }
    errno = ENOSYS;
    return NULL;
}
struct real real_fdopen = {.next = {(uintptr_t)first_fdopen}, .name = "fdopen"};

static int first_fileno(FILE *stream) {
    if (real_find(&real_fileno)) {
        return REAL(fileno)(stream);
    }
    errno = ENOSYS;
    return -1;
}
struct real real_fileno = {.next = {(uintptr_t)first_fileno}, .name = "fileno"};

static int first_close_range(unsigned first, unsigned last, int flags) {
    if (real_find(&real_close_range)) {
        return REAL(close_range)(first, last, flags);
    }
    return (int)real_result(raw_call3(SYS_close_range, (long)first, (long)last, flags));
}
struct real real_close_range = {.next = {(uintptr_t)first_close_range}, .name = "close_range"};

/* A libc without closefrom may run on a kernel without close_range: then each number is closed. */
static void first_closefrom(int first) {
    if (real_find(&real_closefrom)) {
        REAL(closefrom)(first);
        return;
    }
    const unsigned from = first < 0 ? 0 : (unsigned)first;
    if (!raw_failed(raw_call3(SYS_close_range, (long)from, (long)UINT32_MAX, 0))) {
        return;
    }
    struct rlimit64 limit = {0, 0};
    raw_call4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit);
    for (unsigned fd = from; fd < limit.rlim_cur && fd < 1u << 20; fd++) {
        raw_call3(SYS_close, (long)fd, 0, 0);
    }
}
struct real real_closefrom = {.next = {(uintptr_t)first_closefrom}, .name = "closefrom"};

static int first_shutdown(int fd, int how) {
    if (real_find(&real_shutdown)) {
        return REAL(shutdown)(fd, how);
    }
    return (int)real_result(raw_call3(SYS_shutdown, fd, how, 0));
}
struct real real_shutdown = {.next = {(uintptr_t)first_shutdown}, .name = "shutdown"};

static int first_dup(int fd) {
    if (real_find(&real_dup)) {
        return REAL(dup)(fd);
    }
    return (int)real_result(raw_call3(SYS_dup, fd, 0, 0));
}
struct real real_dup = {.next = {(uintptr_t)first_dup}, .name = "dup"};

/* dup3 refuses equal numbers, dup2 answers whether the descriptor is there. */
static int first_dup2(int fd, int target) {
    if (real_find(&real_dup2)) {
        return REAL(dup2)(fd, target);
    }
    if (fd != target) {
        return (int)real_result(raw_call3(SYS_dup3, fd, target, 0));
    }
    return real_result(raw_call3(RAW_FCNTL, fd, F_GETFD, 0)) < 0 ? -1 : fd;
}
struct real real_dup2 = {.next = {(uintptr_t)first_dup2}, .name = "dup2"};

static int first_dup3(int fd, int target, int flags) {
    if (real_find(&real_dup3)) {
        return REAL(dup3)(fd, target, flags);
    }
    return (int)real_result(raw_call3(SYS_dup3, fd, target, flags));
}
struct real real_dup3 = {.next = {(uintptr_t)first_dup3}, .name = "dup3"};

static int first_fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    if (real_find(&real_fcntl)) {
        return REAL(fcntl)(fd, command, argument);
    }
    return (int)real_result(raw_call3(RAW_FCNTL, fd, command, (long)argument));
}
struct real real_fcntl = {.next = {(uintptr_t)first_fcntl}, .name = "fcntl"};

/* glibc before 2.28 and musl know it by its plain name only. */
static int first_fcntl64(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    if (real_find(&real_fcntl64)) {
        return REAL(fcntl64)(fd, command, argument);
    }
    return REAL(fcntl)(fd, command, argument);
}
struct real real_fcntl64 = {.next = {(uintptr_t)first_fcntl64}, .name = "fcntl64"};

static int first_getsockopt(int fd, int level, int option, void *value, socklen_t *size) {
    if (real_find(&real_getsockopt)) {
        return REAL(getsockopt)(fd, level, option, value, size);
    }
    return (int)real_result(raw_call6(SYS_getsockopt, fd, level, option, (long)value, (long)size, 0));
}
struct real real_getsockopt = {.next = {(uintptr_t)first_getsockopt}, .name = "getsockopt"};

static int first_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (real_find(&real_guest_prctl)) {
        return REAL(guest_prctl)(option, a, b, c, d);
    }
    return (int)real_result(raw_call6(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0));
}
struct real real_guest_prctl = {.next = {(uintptr_t)first_prctl}, .name = "prctl"};

static long first_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (real_find(&real_guest_syscall)) {
        return REAL(guest_syscall)(number, a, b, c, d, e, f);
    }
    return real_result(raw_call6(number, a, b, c, d, e, f));
}
struct real real_guest_syscall = {.next = {(uintptr_t)first_syscall}, .name = "syscall"};
