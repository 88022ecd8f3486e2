/* 32-bit programs that are built for times beyond 2038 (_TIME_BITS=64) call some functions by other names, with wider
 * times. glibc has them since 2.34, on 32-bit machines alone. */
#ifndef CUTOUT_SHIM_TIME64_H
#define CUTOUT_SHIM_TIME64_H

#if defined(__i386__)

#include "shim/real.h"

#include <stdint.h>

struct timespec64 {
    int64_t tv_sec;
    int32_t tv_nsec;
    int32_t unused;
};

struct timeval64 {
    int64_t tv_sec;
    int64_t tv_usec;
};

int __fcntl_time64(int fd, int command, ...);
int __getsockopt64(int fd, int level, int option, void *value, socklen_t *size);
ssize_t __sendmsg64(int fd, const struct msghdr *message, int flags);
int __sendmmsg64(int fd, struct mmsghdr *messages, unsigned count, int flags);
ssize_t __recvmsg64(int fd, struct msghdr *message, int flags);
int __recvmmsg64(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec64 *timeout);
int __select64(int count, fd_set *in, fd_set *out, fd_set *special, struct timeval64 *timeout);
int __pselect64(int count, fd_set *in, fd_set *out, fd_set *special, const struct timespec64 *timeout,
                const sigset_t *mask);
int __ppoll64(struct pollfd *fds, nfds_t count, const struct timespec64 *timeout, const sigset_t *mask);
int __epoll_pwait2_time64(int epoll, struct epoll_event *events, int room, const struct timespec64 *timeout,
                          const sigset_t *mask);
int guest_prctl_time64(int option, unsigned long a, unsigned long b, unsigned long c,
                       unsigned long d) __asm__("__prctl_time64");
int watched_prctl_time64(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

#pragma GCC visibility push(hidden)

/* real_time64.c */
extern struct real real___fcntl_time64, real___getsockopt64, real_guest_prctl_time64;
extern struct real real___sendmsg64, real___sendmmsg64, real___recvmsg64, real___recvmmsg64;
extern struct real real___select64, real___pselect64, real___ppoll64, real___epoll_pwait2_time64;

#pragma GCC visibility pop

#endif

#endif
