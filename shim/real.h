/* The next definitions: libc's own functions, or those of another preload behind this one.
 *
 * One struct for each function the guest stands before. Its word first names a stand-in of ours which finds
 * the next definition, puts that into the word and goes on to it; from then on each call is one jump through
 * the word. So there is no check for "found yet?" on any path, no lock, no once: two threads that find at the
 * same time store the same value. The constructor finds the names that every libc has; the others are looked
 * up when the program first calls them, because a look-up that fails allocates.
 *
 * Where there is no next definition (the shim was opened with dlopen, or an old libc lacks the name), or while
 * a look-up is in progress on this thread (an allocator that it runs may call us), the stand-in makes the
 * system call itself.
 */
#ifndef CUTOUT_SHIM_REAL_H
#define CUTOUT_SHIM_REAL_H

#include "lib/atomic64.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

struct real {
    struct atomic_address next; /* the next definition, or the stand-in; never 0 */
    struct atomic64 absent;     /* 1: there is none, do not look again */
    char name[24];
};

/* The next definition of a function, with its type. Relaxed: whatever value is read, the code it names was
 * mapped before any thread could store it. */
#define REAL(function) ((__typeof__(&(function)))atomic_address_load_relaxed(&real_##function.next))

/* Names that some header lacks, or that only fortified programs call. */
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
int fcntl(int fd, int command, ...);
int fcntl64(int fd, int command, ...);
int epoll_pwait2(int epoll, struct epoll_event *events, int room, const struct timespec *timeout,
                 const sigset_t *mask);
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags, __SOCKADDR_ARG address,
                       socklen_t *length);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                size_t room);

/* All arguments always, whatever the number asks for: a variadic function cannot forward what it got. */
int guest_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                unsigned long d) __asm__("prctl");
long guest_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

/* Marks the definition that a program gets in place of libc's; exports.map lists them all. */
#define INTERPOSED __attribute__((visibility("default")))

/* The other public name that glibc has of a function in the same file. It has such names of poll and select, too: only its
 * own libraries use those, on sockets that are theirs. */
#define ALIAS(name, function) __typeof__(function)(name) __attribute__((nothrow, leaf, alias(#function)))

/* Marks the rest of such a function, so that what is not judged leaves it by a jump and touches no stack. */
#define APART __attribute__((noinline))

/* Before a return: by a jump, whatever lies on the stack. gcc makes it by itself; clang, where an argument lies there, only
 * when told to. */
#if defined(__clang__) && __has_attribute(musttail)
#define BY_JUMP __attribute__((musttail))
#else
#define BY_JUMP
#endif

#pragma GCC visibility push(hidden)

/* real_connect.c: making and accepting connections */
extern struct real real_connect, real_socket, real_accept, real_accept4;
/* real_send.c, real_receive.c */
extern struct real real_send, real_sendto, real_sendmsg, real_sendmmsg, real_write, real_writev;
extern struct real real_recv, real_recvfrom, real_recvmsg, real_recvmmsg, real_read, real_readv;
extern struct real real___read_chk, real___recv_chk, real___recvfrom_chk;
/* real_descriptor.c: what happens to a descriptor, and the watched ones */
extern struct real real_close, real_fclose, real_fdopen, real_fileno, real_close_range, real_closefrom,
    real_shutdown;
extern struct real real_dup, real_dup2, real_dup3, real_fcntl, real_fcntl64, real_getsockopt;
extern struct real real_guest_prctl, real_guest_syscall;
/* real_splice.c */
extern struct real real_sendfile, real_sendfile64, real_splice;
/* real_dlopen.c */
extern struct real real_dlopen;
/* real_wait.c */
extern struct real real_poll, real_ppoll, real_select, real_pselect, real_epoll_wait, real_epoll_pwait;
extern struct real real_epoll_pwait2, real___poll_chk, real___ppoll_chk;
/* real_lookup.c */
extern struct real real_getaddrinfo, real_gethostbyname, real_gethostbyname2, real_gethostbyname_r,
    real_gethostbyname2_r;

/* True when this object stands before libc in the program's order of search, as a preload does and what was opened by
 * dlopen does not. */
bool real_is_preloaded(void);

/* For the stand-ins: finds the next definition and puts it into the word. False when there is none or it must
 * not be looked for now. errno stays. */
bool real_find(struct real *real);

/* For the stand-ins: a system call's result as libc returns it, -1 and errno for an error. */
long real_result(long result);

/* For the stand-ins of the fortified doubles: ends the process, as libc does on a caught overflow. */
_Noreturn void real_overflow(void);

#pragma GCC visibility pop

#endif
