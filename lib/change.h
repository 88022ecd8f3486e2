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
struct change change_to_open(const struct breaker *breaker, const struct thresholds *thresholds,
                             uint64_t control, enum breaker_cause cause, bool connect_only, uint64_t now_ns);

/* HALF_OPEN to CLOSED. */
extern const struct change change_to_closed;

/* How long an OPEN breaker still rejects, in us; 0 when a probe is due. */
uint64_t admission_left_us(uint64_t control, uint64_t now_ns);

/* A permit is being given, or may be from now on. */
void admission_note_permit(struct breaker *breaker, uint64_t now_ns);

/* True when the last permit was given probe_timeout ago or earlier. */
bool admission_probe_overdue(uint64_t last_permit_ns, const struct thresholds *thresholds, uint64_t now_ns);

/* Whether slow and overdue calls are judged now: slow_call is written, it is neither warm-up nor an exempt time. */
bool verdict_judges_slow(const struct breaker *breaker, const struct thresholds *thresholds, uint64_t now_ns);

/* Calls overdue in that generation, as last counted. */
uint64_t verdict_overdue(const struct breaker *breaker, uint16_t generation);

/* At an admission in CLOSED: a pending trip by overdue calls, or nothing. */
void verdict_of_overdue(struct breaker *breaker, const struct thresholds *thresholds, uint64_t control,
                        uint64_t now_ns, struct transition *transition);

/* One call fewer outstanding, where max_in_flight counts them. */
void breaker_landed(struct breaker *breaker, const struct thresholds *thresholds);

#endif
