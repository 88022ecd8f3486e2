/* The descriptor table: which descriptor is a connection that the program made.
 *
 * Private to the process. A descriptor's word names its connection; duplicates name the same one. Entries are hints:
 * cleared before a close, overwritten whenever the kernel hands the number out again in sight of the guest, never
 * freed. Any thread may use a connection while another closes it: the memory stays, its `use` tells whether it still is
 * the same connection, and `talk` in its conversation decides who reports an end.
 *
 *   descriptor   63..32 serial, rises with every connection noted | 31..24 kind of socket | 23..0 slot + 1
 *   references   63..32 use: which life of this slot | 31..0 descriptors that name it; 0 = free
 */
#ifndef CUTOUT_SHIM_DESCRIPTORS_H
#define CUTOUT_SHIM_DESCRIPTORS_H

#include "lib/atomic64.h"
#include "lib/conversation.h"
#include "lib/endpoint.h"

#include <stdbool.h>
#include <stdint.h>

#define DESCRIPTORS 65536 /* numbers from here up go untracked */

/* One connection, shared by all descriptors that are duplicates of one another. */
struct connection {
    _Alignas(64) struct conversation conversation;
    struct atomic64 references;
    struct atomic64 place; /* which breaker under which rules, see route.h */
    struct endpoint endpoint;
    struct atomic64 datagram; /* not 0: messages, so an empty one is no end of stream */
    struct atomic64
        looked; /* not 0: the kernel was asked who its peer is, for the destination's first answer */
    struct atomic64 streamed; /* not 0: a stream of stdio is on it, so what comes in may pass unseen */
};

/* Kinds of socket. KIND_UNKNOWN: the guest has not seen the socket being made. */
enum descriptor_kind { KIND_UNKNOWN = 0, KIND_STREAM = 1, KIND_DATAGRAM = 2, KIND_OTHER = 3 };

extern struct atomic64 descriptors[DESCRIPTORS];

#define DESCRIPTOR_SLOT_MASK UINT64_C(0xffffff)

/* Maps the table of connections. Called once, by the constructor, before anything is noted. False without memory. */
bool descriptors_begin(void);

/* True when fd is a tracked connection: one load. */
static inline bool descriptor_is_tracked(int fd) {
    return (unsigned)fd < DESCRIPTORS &&
           (atomic64_load_relaxed(&descriptors[fd]) & DESCRIPTOR_SLOT_MASK) != 0;
}

/* The connection that fd names, and its use; NULL when it names none. */
struct connection *descriptor_connection(int fd, uint32_t *use);

/* True while the connection still is the one of that use. */
bool connection_is_current(const struct connection *connection, uint32_t use);

/* The kind noted for fd. */
enum descriptor_kind descriptor_kind(int fd);

/* fd is a new socket of that kind and no connection. */
void descriptor_note_kind(int fd, enum descriptor_kind kind);

/* Takes a free connection with one reference and its use, for fd. NULL when there is none. */
struct connection *descriptor_take(int fd, uint32_t *use);

/* fd names the connection from now on (which descriptor_take or descriptor_share has counted). Returns the word it had:
 * a connection in it is to be dropped by descriptor_drop. */
uint64_t descriptor_set(int fd, const struct connection *connection, enum descriptor_kind kind);

/* fd names nothing from now on, and its kind is unknown. Returns the word it had. */
uint64_t descriptor_clear(int fd);

/* The same, if fd still names that connection in that use. False, and nothing is changed, when it does not. */
bool descriptor_clear_of(int fd, const struct connection *connection, uint32_t use, uint64_t *word);

/* One more descriptor names the connection. False when it is gone. */
bool descriptor_share(struct connection *connection, uint32_t use);

/* The connection in a word that fd had before, if no descriptor but this one named it; it stays the caller's to end and
 * must then be given to descriptor_free. NULL when others still name it or there is none. */
struct connection *descriptor_drop(uint64_t word);

/* A connection that descriptor_drop returned, or one taken and never set, is free again. */
void descriptor_free(struct connection *connection);

/* The serial of the connection noted last: those with a higher one are newer. */
uint32_t descriptor_serial(void);
static inline uint32_t descriptor_serial_in(uint64_t word) {
    return (uint32_t)(word >> 32);
}

/* The connection's number in the table of connections. */
uint32_t descriptor_index(const struct connection *connection);

/* One more than the highest descriptor that ever named a connection. */
int descriptor_end(void);

#endif
