/* The doubles of time64.h: as their namesakes do, each forwarded to its own next definition. */
#include "shim/time64.h"

#if defined(__i386__)

#include "shim/call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>

#define NO_ANSWER (MSG_ERRQUEUE | MSG_OOB)

/* --- descriptors --- */

INTERPOSED int __fcntl_time64(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command != F_DUPFD && command != F_DUPFD_CLOEXEC) {
        return REAL(__fcntl_time64)(fd, command, argument);
    }
    struct duplicate_call call;
    call_duplicate_begin(&call, fd, -1);
    const int result = REAL(__fcntl_time64)(fd, command, argument);
    const int error = errno;
    call_duplicate_end(&call, fd, -1, result);
    errno = error;
    return result;
}

INTERPOSED int __getsockopt64(int fd, int level, int option, void *value, socklen_t *size) {
    const int result = REAL(__getsockopt64)(fd, level, option, value, size);
    int seen;
    if (level == SOL_SOCKET && option == SO_ERROR && descriptor_is_tracked(fd) && result == 0 &&
        *size == sizeof seen) {
        const int error = errno;
        memcpy(&seen, value, sizeof seen);
        call_so_error(fd, seen);
        errno = error;
    }
    return result;
}

/* Called by its entry, in interpose_process.c. */
int watched_prctl_time64(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    const bool strict = a == SECCOMP_MODE_STRICT;
    call_sandbox_begins(strict);
    const int result = REAL(guest_prctl_time64)(option, a, b, c, d);
    if (result < 0) {
        call_sandbox_failed(strict);
    }
    return result;
}

/* --- data --- */

static ssize_t sent(struct data_call *call, int fd, const struct msghdr *message, int flags, ssize_t result) {
    const int error = errno;
    call_send_end(call, fd, result < 0 ? NULL : message->msg_iov, result < 0 ? 0 : message->msg_iovlen, flags,
                  result);
    errno = error;
    return result;
}

INTERPOSED ssize_t __sendmsg64(int fd, const struct msghdr *message, int flags) {
    struct data_call call;
    if (!descriptor_is_tracked(fd)) {
        return REAL(__sendmsg64)(fd, message, flags);
    }
    if (!call_send_begin(&call, fd)) {
        return -1;
    }
    return sent(&call, fd, message, flags, REAL(__sendmsg64)(fd, message, flags));
}

INTERPOSED int __sendmmsg64(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    struct data_call call;
    if (!descriptor_is_tracked(fd)) {
        return REAL(__sendmmsg64)(fd, messages, count, flags);
    }
    if (!call_send_begin(&call, fd)) {
        return -1;
    }
    const int result = REAL(__sendmmsg64)(fd, messages, count, flags);
    if (result <= 0) {
        sent(&call, fd, NULL, flags, -1);
    } else {
        sent(&call, fd, &messages[0].msg_hdr, flags, (ssize_t)messages[0].msg_len);
    }
    return result;
}

static ssize_t received(struct data_call *call, int fd, const struct msghdr *message, int flags,
                        ssize_t result) {
    const int error = errno;
    size_t wanted = 0;
    for (size_t i = 0; result == 0 && i < message->msg_iovlen && wanted == 0; i++) {
        wanted = message->msg_iov[i].iov_len;
    }
    call_receive_end(call, fd, wanted, flags, result);
    errno = error;
    return result;
}

INTERPOSED ssize_t __recvmsg64(int fd, struct msghdr *message, int flags) {
    struct data_call call;
    if (!descriptor_is_tracked(fd) || (flags & NO_ANSWER)) {
        return REAL(__recvmsg64)(fd, message, flags);
    }
    call_receive_begin(&call, fd, flags);
    return received(&call, fd, message, flags, REAL(__recvmsg64)(fd, message, flags));
}

INTERPOSED int __recvmmsg64(int fd, struct mmsghdr *messages, unsigned count, int flags,
                            struct timespec64 *timeout) {
    struct data_call call;
    if (!descriptor_is_tracked(fd) || (flags & NO_ANSWER)) {
        return REAL(__recvmmsg64)(fd, messages, count, flags, timeout);
    }
    call_receive_begin(&call, fd, flags);
    const int result = REAL(__recvmmsg64)(fd, messages, count, flags, timeout);
    if (result <= 0) {
        received(&call, fd, NULL, flags, result < 0 ? result : -1);
    } else {
        received(&call, fd, &messages[0].msg_hdr, flags, (ssize_t)messages[0].msg_len);
    }
    return result;
}

/* --- waits --- */

static int waited(int fd, int result, bool polled) {
    const int error = errno;
    call_wait_end(fd, result, polled);
    errno = error;
    return result;
}

static bool is_zero(const struct timespec64 *timeout, int result) {
    return result == 0 && timeout != NULL && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
}

INTERPOSED int __select64(int count, fd_set *in, fd_set *out, fd_set *special, struct timeval64 *timeout) {
    const bool polled = timeout != NULL && timeout->tv_sec == 0 && timeout->tv_usec == 0;
    call_wait_begin();
    return waited(-1, REAL(__select64)(count, in, out, special, timeout), polled);
}

INTERPOSED int __pselect64(int count, fd_set *in, fd_set *out, fd_set *special,
                           const struct timespec64 *timeout, const sigset_t *mask) {
    call_wait_begin();
    const int result = REAL(__pselect64)(count, in, out, special, timeout, mask);
    return waited(-1, result, is_zero(timeout, result));
}

INTERPOSED int __ppoll64(struct pollfd *fds, nfds_t count, const struct timespec64 *timeout,
                         const sigset_t *mask) {
    call_wait_begin();
    const int result = REAL(__ppoll64)(fds, count, timeout, mask);
    bool single = count == 1 && (result >= 0 || errno == EINTR) && fds[0].events & (POLLIN | POLLRDNORM);
    return waited(single ? fds[0].fd : -1, result, is_zero(timeout, result));
}

INTERPOSED int __epoll_pwait2_time64(int epoll, struct epoll_event *events, int room,
                                     const struct timespec64 *timeout, const sigset_t *mask) {
    call_wait_begin();
    const int result = REAL(__epoll_pwait2_time64)(epoll, events, room, timeout, mask);
    return waited(-1, result, is_zero(timeout, result));
}

#endif
