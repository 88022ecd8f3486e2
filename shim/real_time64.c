/* Stand-ins of the doubles of time64.h. Where they are called at all, libc has them; a kernel before 5.1, without the
 * calls made here, is met only while a look-up is in progress. */
#include "shim/time64.h"

#if defined(__i386__)

#include "shim/raw.h"

#include <stdarg.h>

#define KERNEL_SIGSET_BYTES 8

static int first_fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    if (real_find(&real___fcntl_time64)) {
        return REAL(__fcntl_time64)(fd, command, argument);
    }
    return (int)real_result(raw_call3(RAW_FCNTL, fd, command, (long)argument));
}
struct real real___fcntl_time64 = {.next = {(uintptr_t)first_fcntl}, .name = "__fcntl_time64"};

static int first_getsockopt(int fd, int level, int option, void *value, socklen_t *size) {
    if (real_find(&real___getsockopt64)) {
        return REAL(__getsockopt64)(fd, level, option, value, size);
    }
    return (int)real_result(raw_call6(SYS_getsockopt, fd, level, option, (long)value, (long)size, 0));
}
struct real real___getsockopt64 = {.next = {(uintptr_t)first_getsockopt}, .name = "__getsockopt64"};

static int first_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (real_find(&real_guest_prctl_time64)) {
        return REAL(guest_prctl_time64)(option, a, b, c, d);
    }
    return (int)real_result(raw_call6(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0));
}
struct real real_guest_prctl_time64 = {.next = {(uintptr_t)first_prctl}, .name = "__prctl_time64"};

static ssize_t first_sendmsg(int fd, const struct msghdr *message, int flags) {
    if (real_find(&real___sendmsg64)) {
        return REAL(__sendmsg64)(fd, message, flags);
    }
    return (ssize_t)real_result(raw_call3(SYS_sendmsg, fd, (long)message, flags));
}
struct real real___sendmsg64 = {.next = {(uintptr_t)first_sendmsg}, .name = "__sendmsg64"};

static int first_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    if (real_find(&real___sendmmsg64)) {
        return REAL(__sendmmsg64)(fd, messages, count, flags);
    }
    return (int)real_result(raw_call4(SYS_sendmmsg, fd, (long)messages, (long)count, flags));
}
struct real real___sendmmsg64 = {.next = {(uintptr_t)first_sendmmsg}, .name = "__sendmmsg64"};

static ssize_t first_recvmsg(int fd, struct msghdr *message, int flags) {
    if (real_find(&real___recvmsg64)) {
        return REAL(__recvmsg64)(fd, message, flags);
    }
    return (ssize_t)real_result(raw_call3(SYS_recvmsg, fd, (long)message, flags));
}
struct real real___recvmsg64 = {.next = {(uintptr_t)first_recvmsg}, .name = "__recvmsg64"};

static int first_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                          struct timespec64 *timeout) {
    if (real_find(&real___recvmmsg64)) {
        return REAL(__recvmmsg64)(fd, messages, count, flags, timeout);
    }
    return (int)real_result(
        raw_call6(SYS_recvmmsg_time64, fd, (long)messages, (long)count, flags, (long)timeout, 0));
}
struct real real___recvmmsg64 = {.next = {(uintptr_t)first_recvmmsg}, .name = "__recvmmsg64"};

/* The kernel changes the time it is given; libc leaves the program's alone. */
static int wait_pselect(int count, fd_set *in, fd_set *out, fd_set *special, struct timespec64 *left,
                        const sigset_t *mask) {
    const long set[2] = {(long)mask, KERNEL_SIGSET_BYTES};
    return (int)real_result(
        raw_call6(SYS_pselect6_time64, count, (long)in, (long)out, (long)special, (long)left, (long)set));
}

static int first_select(int count, fd_set *in, fd_set *out, fd_set *special, struct timeval64 *timeout) {
    if (real_find(&real___select64)) {
        return REAL(__select64)(count, in, out, special, timeout);
    }
    if (timeout == NULL) {
        return wait_pselect(count, in, out, special, NULL, NULL);
    }
    struct timespec64 left = {timeout->tv_sec + timeout->tv_usec / 1000000,
                              (int32_t)(timeout->tv_usec % 1000000 * 1000), 0};
    const int result = wait_pselect(count, in, out, special, &left, NULL);
    timeout->tv_sec = left.tv_sec;
    timeout->tv_usec = left.tv_nsec / 1000;
    return result;
}
struct real real___select64 = {.next = {(uintptr_t)first_select}, .name = "__select64"};

static int first_pselect(int count, fd_set *in, fd_set *out, fd_set *special,
                         const struct timespec64 *timeout, const sigset_t *mask) {
    if (real_find(&real___pselect64)) {
        return REAL(__pselect64)(count, in, out, special, timeout, mask);
    }
    struct timespec64 copy;
    if (timeout != NULL) {
        copy = *timeout;
    }
    return wait_pselect(count, in, out, special, timeout != NULL ? &copy : NULL, mask);
}
struct real real___pselect64 = {.next = {(uintptr_t)first_pselect}, .name = "__pselect64"};

static int first_ppoll(struct pollfd *fds, nfds_t count, const struct timespec64 *timeout,
                       const sigset_t *mask) {
    if (real_find(&real___ppoll64)) {
        return REAL(__ppoll64)(fds, count, timeout, mask);
    }
    struct timespec64 copy;
    if (timeout != NULL) {
        copy = *timeout;
    }
    return (int)real_result(raw_call6(SYS_ppoll_time64, (long)fds, (long)count,
                                      timeout != NULL ? (long)&copy : 0, (long)mask, KERNEL_SIGSET_BYTES, 0));
}
struct real real___ppoll64 = {.next = {(uintptr_t)first_ppoll}, .name = "__ppoll64"};

static int first_epoll_pwait2(int epoll, struct epoll_event *events, int room,
                              const struct timespec64 *timeout, const sigset_t *mask) {
    if (real_find(&real___epoll_pwait2_time64)) {
        return REAL(__epoll_pwait2_time64)(epoll, events, room, timeout, mask);
    }
    return (int)real_result(raw_call6(SYS_epoll_pwait2, epoll, (long)events, room, (long)timeout, (long)mask,
                                      KERNEL_SIGSET_BYTES));
}
struct real real___epoll_pwait2_time64 = {.next = {(uintptr_t)first_epoll_pwait2},
                                          .name = "__epoll_pwait2_time64"};

#endif
