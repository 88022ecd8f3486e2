/* Stand-ins of the waits for readiness. The newer system calls serve on every architecture; where the kernel
 * would change a time that libc leaves alone, it is given a copy. */
#include "shim/real.h"

#include "shim/raw.h"

#define KERNEL_SIGSET_BYTES 8

static int wait_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                      const sigset_t *mask) {
    struct timespec copy;
    if (timeout != NULL) {
        copy = *timeout;
    }
    return (int)real_result(raw_call6(SYS_ppoll, (long)fds, (long)count, timeout != NULL ? (long)&copy : 0,
                                      (long)mask, KERNEL_SIGSET_BYTES, 0));
}

static int wait_pselect(int count, fd_set *in, fd_set *out, fd_set *special, const struct timespec *timeout,
                        const sigset_t *mask) {
    struct timespec copy;
    if (timeout != NULL) {
        copy = *timeout;
    }
    const long set[2] = {(long)mask, KERNEL_SIGSET_BYTES};
    return (int)real_result(raw_call6(SYS_pselect6, count, (long)in, (long)out, (long)special,
                                      timeout != NULL ? (long)&copy : 0, (long)set));
}

static int first_poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    if (real_find(&real_poll)) {
        return REAL(poll)(fds, count, timeout_ms);
    }
    const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    return wait_ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}
struct real real_poll = {.next = {(uintptr_t)first_poll}, .name = "poll"};

/* Linux tells in the program's struct how much of the time is left. */
static int first_select(int count, fd_set *in, fd_set *out, fd_set *special, struct timeval *timeout) {
    if (real_find(&real_select)) {
        return REAL(select)(count, in, out, special, timeout);
    }
    struct timespec left = {0, 0};
    if (timeout != NULL) {
        left.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000;
        left.tv_nsec = timeout->tv_usec % 1000000 * 1000;
    }
    const long result = raw_call6(SYS_pselect6, count, (long)in, (long)out, (long)special,
                                  timeout != NULL ? (long)&left : 0, 0);
    if (timeout != NULL) {
        timeout->tv_sec = left.tv_sec;
        timeout->tv_usec = left.tv_nsec / 1000;
    }
    return (int)real_result(result);
}
struct real real_select = {.next = {(uintptr_t)first_select}, .name = "select"};

static int first_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                       const sigset_t *mask) {
    if (real_find(&real_ppoll)) {
        return REAL(ppoll)(fds, count, timeout, mask);
    }
    return wait_ppoll(fds, count, timeout, mask);
}
struct real real_ppoll = {.next = {(uintptr_t)first_ppoll}, .name = "ppoll"};

static int first_pselect(int count, fd_set *in, fd_set *out, fd_set *special, const struct timespec *timeout,
                         const sigset_t *mask) {
    if (real_find(&real_pselect)) {
        return REAL(pselect)(count, in, out, special, timeout, mask);
    }
    return wait_pselect(count, in, out, special, timeout, mask);
}
struct real real_pselect = {.next = {(uintptr_t)first_pselect}, .name = "pselect"};

static int first_epoll_wait(int epoll, struct epoll_event *events, int room, int timeout_ms) {
    if (real_find(&real_epoll_wait)) {
        return REAL(epoll_wait)(epoll, events, room, timeout_ms);
    }
    return (int)real_result(
        raw_call6(SYS_epoll_pwait, epoll, (long)events, room, timeout_ms, 0, KERNEL_SIGSET_BYTES));
}
struct real real_epoll_wait = {.next = {(uintptr_t)first_epoll_wait}, .name = "epoll_wait"};

static int first_epoll_pwait(int epoll, struct epoll_event *events, int room, int timeout_ms,
                             const sigset_t *mask) {
    if (real_find(&real_epoll_pwait)) {
        return REAL(epoll_pwait)(epoll, events, room, timeout_ms, mask);
    }
    return (int)real_result(
        raw_call6(SYS_epoll_pwait, epoll, (long)events, room, timeout_ms, (long)mask, KERNEL_SIGSET_BYTES));
}
struct real real_epoll_pwait = {.next = {(uintptr_t)first_epoll_pwait}, .name = "epoll_pwait"};

static int first_epoll_pwait2(int epoll, struct epoll_event *events, int room, const struct timespec *timeout,
                              const sigset_t *mask) {
    if (real_find(&real_epoll_pwait2)) {
        return REAL(epoll_pwait2)(epoll, events, room, timeout, mask);
    }
    /* Its times are of 64 bits everywhere. */
    int64_t wide[2];
    if (timeout != NULL) {
        wide[0] = timeout->tv_sec;
        wide[1] = timeout->tv_nsec;
    }
    return (int)real_result(raw_call6(SYS_epoll_pwait2, epoll, (long)events, room,
                                      timeout != NULL ? (long)wide : 0, (long)mask, KERNEL_SIGSET_BYTES));
}
struct real real_epoll_pwait2 = {.next = {(uintptr_t)first_epoll_pwait2}, .name = "epoll_pwait2"};

static int first__poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room) {
    if (real_find(&real___poll_chk)) {
        return REAL(__poll_chk)(fds, count, timeout_ms, room);
    }
    if (count > room / sizeof *fds) {
        real_overflow();
    }
    return REAL(poll)(fds, count, timeout_ms);
}
struct real real___poll_chk = {.next = {(uintptr_t)first__poll_chk}, .name = "__poll_chk"};

static int first__ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                            const sigset_t *mask, size_t room) {
    if (real_find(&real___ppoll_chk)) {
        return REAL(__ppoll_chk)(fds, count, timeout, mask, room);
    }
    if (count > room / sizeof *fds) {
        real_overflow();
    }
    return REAL(ppoll)(fds, count, timeout, mask);
}
struct real real___ppoll_chk = {.next = {(uintptr_t)first__ppoll_chk}, .name = "__ppoll_chk"};
