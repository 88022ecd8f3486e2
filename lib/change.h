/* Changes of a breaker's state: what admission and verdict share. */
#ifndef CUTOUT_LIB_CHANGE_H
#define CUTOUT_LIB_CHANGE_H

#include "lib/breaker.h"

struct change {
    enum breaker_state to;
    enum breaker_cause cause;
    bool connect_only;
    unsigned opens;
    uint64_t open_ns; /* to OPEN: how long it is to stay so */
};

/* Changes state, generation and deadline in one swap and fills in *transition. False when *seen was not
 * current any more; *seen is current afterwards either way. */
bool change_state(struct breaker *breaker, uint64_t *seen, struct change change, uint64_t now_ns,
                  struct transition *transition);

/* To OPEN from the state in `control`. */
struct change change_to_open(const struct thresholds *thresholds, uint64_t control, enum breaker_cause cause,
                             bool connect_only);

/* HALF_OPEN to CLOSED. */
extern const struct change change_to_closed;

#endif
