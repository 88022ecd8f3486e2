/* The ring of calls that have ended, for whoever writes them down as a trace.
 *
 * Filled only while somebody records: the recorder says until when, and says it again before that time comes, so a
 * recorder that is killed costs nothing for long. One record a call, no system call. A reader that is overtaken sees it
 * from the numbers, and counts what it lost. */
#ifndef CUTOUT_LIB_RECORDING_H
#define CUTOUT_LIB_RECORDING_H

#include "lib/atomic64.h"
#include "lib/outcome.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORDING_ENTRIES 65536

/* One call, as a trace tells it. */
struct record {
    uint64_t started_ns; /* monotonic; the end less the response time, idle time in between left out */
    uint64_t response_ns;
    uint32_t breaker;
    enum outcome outcome;
    enum failure_reason reason;
    bool kept;    /* a request on an established connection */
    bool connect; /* it ended in its connect phase */
};

struct recording_entry {
    struct atomic64 number; /* 1 + the record's number once whole; 0 while it is written */
    struct atomic64 started_ns;
    struct atomic64 response_ns;
    struct atomic64 what; /* 31..0 breaker | 39..32 outcome | 47..40 reason | 48 kept | 49 connect */
};

struct recording {
    struct atomic64 until_ns; /* records are wanted until then; 0 = nobody records */
    struct atomic64 next;
    struct recording_entry entries[RECORDING_ENTRIES];
};

/* True while somebody records: one load. */
static inline bool recording_is_on(const struct recording *recording, uint64_t now_ns) {
    return atomic64_load_relaxed(&recording->until_ns) > now_ns;
}

/* Appends a call that ended at now_ns. */
void recording_append(struct recording *recording, uint32_t breaker, const struct call_end *end,
                      uint64_t now_ns);

/* One past the newest record. */
uint64_t recording_end(const struct recording *recording);

/* Reads record `number`: 1 when it is there, 0 when its writer is not ready yet, -1 when it is overwritten. */
int recording_read(const struct recording *recording, uint64_t number, struct record *record);

#endif
