/* The waits for readiness, forwarded untouched. Only one thing is noted: whether the last one on this thread
 * ended by time-out, and on which descriptor where it was a single one.
 *
 * A time-out of zero asks and does not wait. The program's arrays and times are read after the kernel has
 * accepted them. select's time alone must be read before, because the kernel overwrites it; so do glibc (since
 * 2.34) and musl. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>

static int waited(int fd, int result, bool polled) {
    const int error = errno;
    call_wait_end(fd, result, polled);
    errno = error;
    return result;
}

/* The descriptor of a wait for one thing to read. The array was readable if the kernel says anything but that
 * it is not. */
static int single(const struct pollfd *fds, nfds_t count, int result) {
    if (count != 1 || (result < 0 && errno != EINTR)) {
        return -1;
    }
    return fds[0].events & (POLLIN | POLLRDNORM) ? fds[0].fd : -1;
}

static bool is_zero(const struct timespec *timeout, int result) {
    return result == 0 && timeout != NULL && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
}

INTERPOSED int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    call_wait_begin();
    const int result = REAL(poll)(fds, count, timeout_ms);
    return waited(single(fds, count, result), result, timeout_ms == 0);
}

INTERPOSED int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room) {
    call_wait_begin();
    const int result = REAL(__poll_chk)(fds, count, timeout_ms, room);
    return waited(single(fds, count, result), result, timeout_ms == 0);
}

INTERPOSED int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    call_wait_begin();
    const int result = REAL(ppoll)(fds, count, timeout, mask);
    return waited(single(fds, count, result), result, is_zero(timeout, result));
}

INTERPOSED int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                           const sigset_t *mask, size_t room) {
    call_wait_begin();
    const int result = REAL(__ppoll_chk)(fds, count, timeout, mask, room);
    return waited(single(fds, count, result), result, is_zero(timeout, result));
}

INTERPOSED int select(int count, fd_set *in, fd_set *out, fd_set *special, struct timeval *timeout) {
    const bool polled = timeout != NULL && timeout->tv_sec == 0 && timeout->tv_usec == 0;
    call_wait_begin();
    return waited(-1, REAL(select)(count, in, out, special, timeout), polled);
}

INTERPOSED int pselect(int count, fd_set *in, fd_set *out, fd_set *special, const struct timespec *timeout,
                       const sigset_t *mask) {
    call_wait_begin();
    const int result = REAL(pselect)(count, in, out, special, timeout, mask);
    return waited(-1, result, is_zero(timeout, result));
}

INTERPOSED int epoll_wait(int epoll, struct epoll_event *events, int room, int timeout_ms) {
    call_wait_begin();
    return waited(-1, REAL(epoll_wait)(epoll, events, room, timeout_ms), timeout_ms == 0);
}

INTERPOSED int epoll_pwait(int epoll, struct epoll_event *events, int room, int timeout_ms,
                           const sigset_t *mask) {
    call_wait_begin();
    return waited(-1, REAL(epoll_pwait)(epoll, events, room, timeout_ms, mask), timeout_ms == 0);
}

INTERPOSED int epoll_pwait2(int epoll, struct epoll_event *events, int room, const struct timespec *timeout,
                            const sigset_t *mask) {
    call_wait_begin();
    const int result = REAL(epoll_pwait2)(epoll, events, room, timeout, mask);
    return waited(-1, result, is_zero(timeout, result));
}
