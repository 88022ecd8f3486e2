/* From a destination to its breaker: which rule covers it, which breaker judges it, and how. */
#ifndef CUTOUT_SHIM_ROUTE_H
#define CUTOUT_SHIM_ROUTE_H

#include "lib/breaker.h"
#include "lib/endpoint.h"
#include "lib/outcome.h"
#include "lib/thresholds.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a call is judged. thresholds lie in the panel. */
struct route {
    struct breaker *breaker; /* NULL: not judged */
    const struct thresholds *thresholds;
    uint64_t
        place; /* life of the breaker << 48 | rules version << 24 | rule << 14 | breaker: what a connection keeps */
    bool withheld; /* a rules file is named and none was ever good: nothing is rejected, whoever says so */
    bool enforce;  /* false: observe */
};

/* The breaker's index in a place. */
static inline uint32_t route_breaker_in(uint64_t place) {
    return (uint32_t)(place & 0x3fff);
}

/* Finds the route to an endpoint, making its breaker at first contact. text is the path or host name of a unix or dns
 * endpoint, else NULL. */
struct route route_to(const struct endpoint *endpoint, const char *text);

/* The route to the breaker that a connection keeps, under the rules in force: where a call ends. */
struct route route_back(uint64_t place);

/* True when the rules in force are those of that place. */
bool route_is_current(uint64_t place);

/* The errno of a rejected call. Never 0, whatever a scribbled panel says: some programs take -1 with 0 for success. */
int route_refusal(const struct route *route);

/* Asks the breaker for one call; notes a change of state in the journal. */
struct ticket route_admit(const struct route *route, enum breaker_ask ask, uint64_t now_ns);

/* Gives a call's end to the breaker that admitted it; notes a change of state in the journal. */
void route_finish(const struct route *route, struct ticket ticket, const struct call_end *end,
                  uint64_t now_ns);

#endif
