#include "shim/call.h"
#include "shim/connection.h"
#include "shim/guest.h"
#include "shim/overdue.h"

#include <sys/socket.h>

/* close_range's flag, since Linux 5.11: nothing is closed now. */
#define RANGE_CLOEXEC 4

/* True when this process may change what the table says of fd. The entry is looked at first: for an untracked one
 * nobody is asked who we are. */
static bool is_ours(int fd) {
    return descriptor_is_tracked(fd) && guest_is_active() && guest_is_self();
}

void call_close(int fd) {
    if ((unsigned)fd >= DESCRIPTORS) {
        return;
    }
    if (!descriptor_is_tracked(fd)) {
        if (descriptor_kind(fd) != KIND_UNKNOWN) {
            descriptor_note_kind(fd, KIND_UNKNOWN);
        }
        return;
    }
    if (!is_ours(fd)) {
        return;
    }
    uint32_t use;
    struct conversation_facts facts = connection_no_facts;
    struct connection *connection = descriptor_connection(fd, &use);
    if (connection != NULL) {
        facts = connection_ask(connection, fd);
    }
    /* Cleared before the close: the number may be another thread's the moment the kernel returns. */
    connection_let_go(descriptor_clear(fd), fd, &facts);
}

/* --- ranges --- */

void call_range_begin(struct range_call *call, unsigned first, unsigned last, int flags) {
    call->first = first;
    call->last = last;
    call->serial = descriptor_serial();
    call->tracked = false;
    if ((flags & RANGE_CLOEXEC) != 0 || !guest_is_active()) {
        return;
    }
    unsigned end = (unsigned)descriptor_end();
    for (unsigned fd = first; fd < end && fd <= last; fd++) {
        if (descriptor_is_tracked((int)fd)) {
            call->tracked = guest_is_self();
            return;
        }
    }
}

void call_range_end(struct range_call *call, int result) {
    if (result != 0 || !call->tracked) {
        return;
    }
    unsigned end = (unsigned)descriptor_end();
    for (unsigned fd = call->first; fd < end && fd <= call->last; fd++) {
        uint64_t word = atomic64_load_acquire(&descriptors[fd]);
        bool older = (int32_t)(call->serial - descriptor_serial_in(word)) >= 0;
        if ((word & DESCRIPTOR_SLOT_MASK) != 0 && older &&
            atomic64_swap_acq_rel(&descriptors[fd], &word, 0)) {
            connection_let_go(word, (int)fd, &connection_no_facts);
        }
    }
}

/* --- duplicates --- */

void call_duplicate_begin(struct duplicate_call *call, int fd, int target) {
    uint32_t use;
    call->facts = connection_no_facts;
    if (target < 0 || target == fd || !is_ours(target)) {
        return;
    }
    struct connection *connection = descriptor_connection(target, &use);
    if (connection != NULL) {
        call->facts = connection_ask(connection, target);
    }
}

/* The target is written after success: the number never becomes free in between. */
void call_duplicate_end(struct duplicate_call *call, int fd, int target, int result) {
    if (result < 0 || result >= DESCRIPTORS || result == fd || !guest_is_active()) {
        return;
    }
    bool tracked = descriptor_is_tracked(fd);
    if ((tracked || descriptor_is_tracked(result)) && !guest_is_self()) {
        return;
    }
    (void)target;
    uint32_t use = 0;
    enum descriptor_kind kind = (unsigned)fd < DESCRIPTORS ? descriptor_kind(fd) : KIND_UNKNOWN;
    struct connection *connection = tracked ? descriptor_connection(fd, &use) : NULL;
    uint64_t word;
    if (connection != NULL && descriptor_share(connection, use)) {
        word = descriptor_set(result, connection, kind);
    } else {
        word = descriptor_clear(result);
        descriptor_note_kind(result, kind);
    }
    connection_let_go(word, result, &call->facts);
}

/* --- streams --- */

void call_stream(int fd) {
    uint32_t use;
    if (!guest_is_active()) {
        return;
    }
    struct connection *connection = descriptor_connection(fd, &use);
    if (connection != NULL) {
        atomic64_store_relaxed(&connection->streamed, 1);
        overdue_show(connection);
    }
}

/* --- shutdown --- */

void call_shutdown(int fd, int how) {
    uint32_t use;
    if (!guest_is_active()) {
        return;
    }
    struct connection *connection = descriptor_connection(fd, &use);
    if (connection == NULL) {
        return;
    }
    if (how == SHUT_WR) {
        conversation_half_closed(&connection->conversation, guest_era());
    } else if (how == SHUT_RD || how == SHUT_RDWR) {
        struct conversation_facts facts = connection_ask(connection, fd);
        connection_leave(connection, fd, &facts);
    }
}
