#include "shim/descriptors.h"

#include "shim/guest.h"
#include "shim/raw.h"

#include <sys/mman.h>

/* As many connections as descriptors: each has its home at the number that first names it. */
#define CONNECTIONS DESCRIPTORS
/* How far a new connection looks for a free place when a duplicate lives in its home. */
#define LOOK_MAX 1024

#define KIND_SHIFT      24
#define USE_SHIFT       32
#define REFERENCES_MASK UINT64_C(0xffffffff)
/* Held by nobody's descriptor while its last call is being ended. */
#define REFERENCES_ENDING REFERENCES_MASK

struct atomic64 descriptors[DESCRIPTORS];
/* Mapped by descriptors_begin, not part of the object: a program whose memory is limited must be able to load it. */
static struct connection *connections;
static struct atomic64 highest; /* descriptor_end() */

static struct connection *connection_in(uint64_t word) {
    uint64_t slot = word & DESCRIPTOR_SLOT_MASK;
    return slot != 0 && slot <= CONNECTIONS ? &connections[slot - 1] : NULL;
}

bool descriptors_begin(void) {
    long memory = raw_call6(RAW_MMAP, 0, CONNECTIONS * sizeof(struct connection), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw_failed(memory)) {
        return false;
    }
    /* A page at a time: a program with three connections is not to get two megabytes for them. */
    raw_call3(SYS_madvise, memory, CONNECTIONS * sizeof(struct connection), MADV_NOHUGEPAGE);
    connections = (struct connection *)(uintptr_t)memory;
    return true;
}

struct connection *descriptor_connection(int fd, uint32_t *use) {
    if ((unsigned)fd >= DESCRIPTORS) {
        return NULL;
    }
    uint64_t word = atomic64_load_acquire(&descriptors[fd]);
    struct connection *connection = connection_in(word);
    if (connection == NULL) {
        return NULL;
    }
    uint64_t references = atomic64_load_acquire(&connection->references);
    *use = (uint32_t)(references >> USE_SHIFT);
    /* The same word again: the connection was fd's when its use was read. */
    bool same = atomic64_load_acquire(&descriptors[fd]) == word;
    return same && (references & REFERENCES_MASK) != 0 ? connection : NULL;
}

bool connection_is_current(const struct connection *connection, uint32_t use) {
    return (uint32_t)(atomic64_load_acquire(&connection->references) >> USE_SHIFT) == use;
}

enum descriptor_kind descriptor_kind(int fd) {
    return (enum descriptor_kind)(atomic64_load_relaxed(&descriptors[fd]) >> KIND_SHIFT & 0xff);
}

void descriptor_note_kind(int fd, enum descriptor_kind kind) {
    atomic64_store_relaxed(&descriptors[fd], (uint64_t)kind << KIND_SHIFT);
}

struct connection *descriptor_take(int fd, uint32_t *use) {
    for (unsigned look = 0; look < LOOK_MAX; look++) {
        struct connection *connection = &connections[((unsigned)fd + look) % CONNECTIONS];
        uint64_t seen = atomic64_load_relaxed(&connection->references);
        if ((seen & REFERENCES_MASK) != 0) {
            continue;
        }
        uint64_t next = ((seen >> USE_SHIFT) + 1) << USE_SHIFT | 1;
        if (atomic64_swap_acq_rel(&connection->references, &seen, next)) {
            *use = (uint32_t)(next >> USE_SHIFT);
            return connection;
        }
    }
    return NULL;
}

uint64_t descriptor_set(int fd, const struct connection *connection, enum descriptor_kind kind) {
    uint64_t number = atomic64_add_relaxed(&guest.badge.connections, 1) + 1;
    uint64_t slot = (uint64_t)(connection - connections) + 1;
    uint64_t end = atomic64_load_relaxed(&highest);
    while (end <= (uint64_t)fd && !atomic64_swap_acq_rel(&highest, &end, (uint64_t)fd + 1)) {
    }
    return atomic64_exchange_acq_rel(&descriptors[fd], number << 32 | (uint64_t)kind << KIND_SHIFT | slot);
}

uint64_t descriptor_clear(int fd) {
    return atomic64_exchange_acq_rel(&descriptors[fd], 0);
}

bool descriptor_clear_of(int fd, const struct connection *connection, uint32_t use, uint64_t *word) {
    *word = atomic64_load_acquire(&descriptors[fd]);
    /* A word names one life of a connection, so one that is the same in the swap is the one that was looked at. */
    return connection_in(*word) == connection && connection_is_current(connection, use) &&
           atomic64_swap_acq_rel(&descriptors[fd], word, 0);
}

bool descriptor_share(struct connection *connection, uint32_t use) {
    uint64_t seen = atomic64_load_acquire(&connection->references);
    while (seen >> USE_SHIFT == use && (seen & REFERENCES_MASK) != 0 &&
           (seen & REFERENCES_MASK) < REFERENCES_ENDING - 1) {
        if (atomic64_swap_acq_rel(&connection->references, &seen, seen + 1)) {
            return true;
        }
    }
    return false;
}

struct connection *descriptor_drop(uint64_t word) {
    struct connection *connection = connection_in(word);
    if (connection == NULL) {
        return NULL;
    }
    uint64_t seen = atomic64_load_acquire(&connection->references);
    for (;;) {
        uint64_t count = seen & REFERENCES_MASK;
        if (count == 0 || count == REFERENCES_ENDING) {
            return NULL;
        }
        uint64_t next = count == 1 ? seen | REFERENCES_ENDING : seen - 1;
        if (atomic64_swap_acq_rel(&connection->references, &seen, next)) {
            return count == 1 ? connection : NULL;
        }
    }
}

void descriptor_free(struct connection *connection) {
    uint64_t seen = atomic64_load_relaxed(&connection->references);
    atomic64_store_release(&connection->references, seen & ~REFERENCES_MASK);
}

uint32_t descriptor_serial(void) {
    return (uint32_t)atomic64_load_relaxed(&guest.badge.connections);
}

uint32_t descriptor_index(const struct connection *connection) {
    return (uint32_t)(connection - connections);
}

int descriptor_end(void) {
    return (int)atomic64_load_relaxed(&highest);
}
