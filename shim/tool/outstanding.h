/* The calls that the living processes of a panel have outstanding, counted for all breakers at once. */
#ifndef CUTOUT_SHIM_TOOL_OUTSTANDING_H
#define CUTOUT_SHIM_TOOL_OUTSTANDING_H

#include "shim/panel.h"

#include <stdbool.h>
#include <stdint.h>

struct outstanding_calls {
    uint32_t in_flight;
    uint32_t
        overdue; /* of them, that have waited for longer than slow_call in the breaker's present generation */
};

struct outstanding;

/* Counts them at now_ns. NULL without memory. */
struct outstanding *outstanding_count(const struct attachment *attachment, uint64_t now_ns);
void outstanding_free(struct outstanding *outstanding);

/* Those of one breaker. None of NULL. */
struct outstanding_calls outstanding_of(const struct outstanding *outstanding, uint32_t breaker);

#endif
