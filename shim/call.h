/* The bridge: every interposer asks here once on its way in and tells once on its way out. Below are the
 * descriptor table, the panel and the engine; above is the program.
 *
 * Rules for all of it: async-signal-safe, no lock, no allocation, nothing that spans the real call but words
 * in the descriptor table; errno is left as found (begin) or as the real call set it (end), except that a
 * begin which refuses sets it. In a process without a panel, or disabled, nothing is tracked and each
 * function returns at once.
 */
#ifndef CUTOUT_SHIM_CALL_H
#define CUTOUT_SHIM_CALL_H

#include "shim/descriptors.h"

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* --- connect --- */

/* What an interposer keeps on its stack between begin and end. */
struct connect_call {
    struct connection *connection; /* NULL: not judged */
    const struct sockaddr *address;
    socklen_t length;
    uint32_t use; /* which life of the connection */
    bool unseen;  /* to be noted after it has succeeded */
    uint64_t before_ns;
};

/* Before a connect. False: rejected; errno is set, and the interposer returns -1. */
bool call_connect_begin(struct connect_call *call, int fd, const struct sockaddr *address, socklen_t length);
/* After it: result as the real connect returned it, its errno still in place. */
void call_connect_end(struct connect_call *call, int fd, int result);

/* After socket() or accept() returned fd (-1: nothing happens): a connection that the table believes to be
 * there is gone. type is socket()'s type argument, flags and all; 0 for an accepted socket. */
void call_socket(int fd, int domain, int type);

/* --- data --- */

struct data_call {
    struct connection *connection; /* NULL: not judged */
    uint32_t use;                  /* which life of the connection */
    uint64_t before_ns;
};

/* Interposers first ask `descriptor_is_tracked(fd)` and jump straight to the real function when it is not. */

/* Before a send. False: rejected (errno set, return -1). */
bool call_send_begin(struct data_call *call, int fd);
/* After it. pieces/count: what was to be sent, of which result bytes went out (read only up to result).
 * flags: those of the call (MSG_DONTWAIT matters), 0 for write. */
void call_send_end(struct data_call *call, int fd, const struct iovec *pieces, size_t count, int flags,
                   ssize_t result);

/* Before a receive: never refused. */
void call_receive_begin(struct data_call *call, int fd, int flags);
/* After it. wanted is the number of bytes asked for: 0 of 0 is no end of stream. */
void call_receive_end(struct data_call *call, int fd, size_t wanted, int flags, ssize_t result);

/* --- the life of a descriptor --- */

/* Before a close or fclose of fd, whatever it is. */
void call_close(int fd);

/* Around close_range and closefrom: the connections in it are noted before, and forgotten after success.
 * flags as close_range takes them. */
struct range_call {
    unsigned first, last;
    uint32_t
        serial;   /* of the newest connection before: those are closed, newer ones have taken their numbers */
    bool tracked; /* something in the range is */
};
void call_range_begin(struct range_call *call, unsigned first, unsigned last, int flags);
void call_range_end(struct range_call *call, int result);

/* Around dup2 and dup3 (target >= 0), or dup and fcntl(F_DUPFD…) (target -1). */
struct duplicate_call {
    struct conversation_facts facts; /* of the target's connection */
};
void call_duplicate_begin(struct duplicate_call *call, int fd, int target);
/* result: the real call's, the new descriptor or -1. */
void call_duplicate_end(struct duplicate_call *call, int fd, int target, int result);

/* After the program has put a stream of stdio on fd. */
void call_stream(int fd);

/* Before a shutdown of fd. how: SHUT_RD, SHUT_WR or SHUT_RDWR. */
void call_shutdown(int fd, int how);

/* After the program has read SO_ERROR from fd: its value. */
void call_so_error(int fd, int error);

/* --- waiting --- */

/* Before a wait for readiness. The program's array is not looked at yet: only the kernel can tell whether it
 * may be read. */
void call_wait_begin(void);
/* After it. fd is the one descriptor that was waited on for reading, -1 when there were several or none, or
 * it is not known; result as returned (0 = time-out, errno in place); polled: the time-out asked for was zero,
 * so it was no wait at all. */
void call_wait_end(int fd, int result, bool polled);

/* --- look-ups --- */

struct lookup_call {
    uint64_t place; /* which breaker, see route.h */
    uint64_t before_ns;
    struct ticket ticket;
    uint32_t shown; /* see overdue.h */
    bool judged;
    bool named; /* name holds the canonical host name */
    char name[256];
};

enum lookup_end {
    LOOKUP_FOUND,    /* addresses came: note them with call_lookup_address */
    LOOKUP_ABSENT,   /* the name server says there is none */
    LOOKUP_FAILED,   /* EAI_AGAIN, EAI_FAIL, EAI_SYSTEM; TRY_AGAIN, NO_RECOVERY */
    LOOKUP_OWN_FAULT /* bad arguments, no memory, buffer too small: the program's own */
};

/* Before a look-up of node (may be NULL; numeric: no look-up). False: rejected. Leaves errno alone. */
bool call_lookup_begin(struct lookup_call *call, const char *node);
void call_lookup_end(struct lookup_call *call, enum lookup_end end);
/* The name looked up has that address (4 bytes, or 16 for ipv6). */
void call_lookup_address(const struct lookup_call *call, const void *address, bool ipv6);

/* --- watched, never changed --- */

/* A system-call filter is about to be installed, or may be: from now on the guest makes no system call of its own. strict:
 * that of the kernel's strict mode, under which not even the time may be read (on x86 the kernel takes the processor's
 * counter away, and it kills): the guest is done. */
void call_sandbox_begins(bool strict);
/* It was not: programs ask whether there are filters by installing one that cannot be. */
void call_sandbox_failed(bool strict);

/* Before a dlopen: the mode to go on with. */
int call_dlopen_mode(int mode);

/* --- rejected for real --- */

/* A point at which a thread may be cancelled, as the call that is not made would have been (weak: absent in a
 * process without threads). */
void call_cancellation_point(void);

#endif
