/* What the bridge does with one connection, whichever call brings the news. */
#ifndef CUTOUT_SHIM_CONNECTION_H
#define CUTOUT_SHIM_CONNECTION_H

#include "lib/conversation.h"
#include "shim/descriptors.h"
#include "shim/route.h"

#include <stdbool.h>
#include <stdint.h>

/* What the last waits of a thread say; a few bytes of its own (initial-exec). A set `waiting` outlives a wait that a
 * signal handler jumped out of: that is what it is for. */
struct thread_waits {
    int fd;         /* the last wait was for this one to become readable; -1 = none, or several */
    bool waiting;   /* a wait has begun and not come back */
    bool timed_out; /* the last wait ended by time-out, or by a signal */
};
extern __thread struct thread_waits thread_waits;

/* Gives what a step has ended to the breaker. */
void connection_step(const struct connection *connection, const struct conversation_step *step,
                     uint64_t now_ns);

/* A blocking socket's time-out, or just nothing to do yet? True when EAGAIN (or EINPROGRESS) after a call begun at
 * before_ns means that SO_RCVTIMEO or SO_SNDTIMEO struck (hazards: asked of the kernel only when the call took long). */
bool connection_timed_out(int fd, uint64_t before_ns, uint64_t now_ns);

/* When the bytes that a receive has just brought arrived: now_ns, or earlier if the answer would be slow and the kernel
 * says that it lay unread. *late is set when that made it quick. 0: fd is not that connection any more. */
uint64_t connection_arrived_ns(struct connection *connection, int fd, uint64_t now_ns, bool *late);

/* False when the kernel says that fd is no longer that connection: it was closed, and its number given out again, where
 * nobody saw it. To be asked before anything is done to the program, or said of the destination, that only the true
 * connection warrants: a rejection, a failure, the end of a probe. True where it cannot be told. */
bool connection_is_still(const struct connection *connection, int fd);

/* fd, which named the connection in that use, is something else: what was here is over, and nothing is said of its
 * end. */
void connection_forget(const struct connection *connection, int fd, uint32_t use);

/* What the kernel knows of a connection that is about to be left: to be asked before the descriptor is gone. */
struct conversation_facts connection_ask(const struct connection *connection, int fd);

/* The program leaves the connection: what is outstanding ends. */
void connection_leave(struct connection *connection, int fd, const struct conversation_facts *facts);

/* fd was taken from the table with that word: leaves its connection if no other descriptor names it. */
void connection_let_go(uint64_t word, int fd, const struct conversation_facts *facts);

/* Nothing is known; and: nothing may be said against the destination. */
extern const struct conversation_facts connection_no_facts, connection_elsewhere;

#endif
