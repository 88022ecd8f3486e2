/* The descriptor table: which descriptor is a connection that the program made.
 *
 * Private to the process. A descriptor's word names its connection; duplicates name the same one. Entries are
 * hints: cleared before a close, overwritten whenever the kernel hands the number out again in sight of the
 * guest, never freed. Any thread may use a connection while another closes it: the memory stays, and `talk`
 * in its conversation decides who reports an end.
 *
 *   descriptor   63..32 use of the connection (which life of that slot) | 31..24 kind of socket
 *                23..0 slot + 1
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
    struct atomic64 references; /* use << 32 | descriptors that name it; 0 descriptors = free */
    struct atomic64 place;      /* rules version << 32 | rule << 16 | breaker */
    struct endpoint endpoint;
    struct atomic64 datagram; /* not 0: messages, so an empty one is no end of stream */
};

/* Kinds of socket known from socket(): 0 = unknown. */
enum descriptor_kind { KIND_UNKNOWN = 0, KIND_STREAM = 1, KIND_DATAGRAM = 2, KIND_OTHER = 3 };

extern struct atomic64 descriptors[DESCRIPTORS];

#define DESCRIPTOR_SLOT_MASK UINT64_C(0xffffff)

/* True when fd is a tracked connection: one load. */
static inline bool descriptor_is_tracked(int fd) {
    return (unsigned)fd < DESCRIPTORS &&
           (atomic64_load_relaxed(&descriptors[fd]) & DESCRIPTOR_SLOT_MASK) != 0;
}

#endif
