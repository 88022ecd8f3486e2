/* The state machine of one destination under one rule.
 *
 * Lives in the panel, shared by every process of an application; all zero = CLOSED and empty. Every function
 * may run in any number of threads and processes at once and be killed at any instruction: no lock, nothing
 * to repair. Time is an argument (monotonic, ns).
 *
 *   control       63..22 deadline in us (OPEN: first probe allowed; wraps after 51 days, see breaker.c)
 *                 21..10 generation | 9..4 opens in a row (saturates) | 3 OPEN for connects | 2..0 state
 *   row           63..56 generation (low 8) | 55..46 failures in a row (saturates)
 *                 45..0 start in us of the call that last raised it
 *   past_connect  63..52 generation | 51..0 bucket number + 1 of the last failed or slow call past its connect
 *   overdue       63..52 generation | 51..26 of them past their connect | 25..0 calls outstanding for longer than slow_call
 *   permit        see permit.h
 */
#ifndef CUTOUT_LIB_BREAKER_H
#define CUTOUT_LIB_BREAKER_H

#include "lib/atomic64.h"
#include "lib/endpoint.h"
#include "lib/histogram.h"
#include "lib/outcome.h"
#include "lib/thresholds.h"
#include "lib/window.h"

#include <stdbool.h>
#include <stdint.h>

enum breaker_state {
    STATE_CLOSED = 0,
    STATE_OPEN = 1,
    STATE_HALF_OPEN = 2,
    STATE_FORCED_OPEN = 3, /* an operator says: nothing is admitted */
    STATE_DISABLED = 4     /* an operator says: everything is admitted, counted and not judged */
};

/* Why a breaker changed its state. The order is that of their names in events. */
enum breaker_cause {
    CAUSE_NONE = 0,
    CAUSE_CONSECUTIVE_ERRORS,
    CAUSE_ERROR_RATIO,
    CAUSE_ERROR_COUNT,
    CAUSE_SLOW_RATIO,
    CAUSE_OPEN_FOR,
    CAUSE_PROBES_PASSED,
    CAUSE_PROBE_FAILED,
    CAUSE_PROBE_SLOW,
    CAUSE_PROBE_TIMEOUT,
    CAUSE_FORGOTTEN,
    CAUSE_CAPPED, /* no change: a trip that max_open did not allow */
    CAUSE_OPERATOR
};

/* Since the breaker was made; each counted once and never reset. `calls` is what was admitted and ended in
 * success or failure, in any state, would_reject calls included. */
struct breaker_totals {
    struct atomic64 calls;
    struct atomic64 errors;
    struct atomic64 slow;
    struct atomic64 ignored;
    struct atomic64 rejected;
    struct atomic64 busy; /* of the rejected: because of max_in_flight */
    struct atomic64 would_reject;
    struct atomic64 late_reads;
    struct atomic64 opened;
    struct atomic64 reasons[REASON_COUNT];
};

/* Whether an exchange with the destination has ever ended in bytes received, and by which name the kernel knows the
 * other end of its connections: some container networks and other preloads connect to another address than was asked
 * for, and then the kernel cannot be asked whether a descriptor still is that connection. */
enum breaker_answered { BREAKER_UNANSWERED = 0, BREAKER_ANSWERED = 1, BREAKER_ANSWERED_ELSEWHERE = 2 };

#define BREAKER_RULE_MAX 64
#define BREAKER_NAME_MAX 264 /* host name of 255 bytes, colon, port */

struct breaker {
    _Alignas(64) struct atomic64 control;
    struct atomic64 row;
    struct atomic64 past_connect;
    struct atomic64 since_ns;         /* when the state last changed; 0 = never */
    struct atomic64 last_permit_ns;   /* when the last permit was given */
    struct atomic64 holders_asked_ns; /* when somebody last asked whether permit holders live (shim/) */
    struct atomic64 overdue;          /* kept by whoever counts outstanding calls: breaker_note_overdue */
    struct atomic64 in_flight;        /* calls outstanding; kept only where max_in_flight is set */
    struct atomic64 asked_ns;         /* when somebody last asked while it was not CLOSED */
    struct atomic64 admitted_ns; /* when a call was last admitted, plus 1; kept only where warmup is set */
    struct atomic64 warm_ns;     /* when the warm-up began, plus 1; 0 = never */
    struct atomic64 exempt;    /* not 0: the time of day is one of slow_exempt's; kept by whoever knows it */
    struct atomic64 override;  /* an operator's word on this destination, see override.h */
    struct atomic64 capped_ns; /* when a trip was last capped, plus 1 */
    struct atomic64 slow_call_us; /* what counts as overdue; 0 = nothing does */
    struct atomic64 answered;     /* enum breaker_answered; leaves 0 once and for all */
    struct atomic64 rule_ref;     /* rules version << 16 | rule's index: under which rule it stands (shim/) */
    struct window window;
    struct atomic64 permits[PROBES_MAX];
    struct breaker_totals totals;
    struct histogram histogram; /* response times of the calls in totals.calls */
    /* Who it is. Written once by its maker before `made` is released, read by all. */
    struct atomic64
        made; /* odd: it is somebody's; rises by one whenever that changes, so it tells lives of a place apart */
    struct endpoint endpoint;
    uint64_t rule_key; /* text_hash of the rule's name */
    char rule[BREAKER_RULE_MAX];
    char endpoint_name[ENDPOINT_NAME_MAX + 1]; /* path or host name of a unix or dns endpoint */
    /* Host name and port last seen, for people; rewritten while read: print escaped and bounded. */
    char name[BREAKER_NAME_MAX];
    struct atomic64 protocol_seen; /* enum rule_protocol recognised last, for people */
};

/* A change of state, with what an event says of it. happened is false when nothing changed. */
struct transition {
    bool happened;
    bool pending;      /* a trip that is not made yet: see breaker_trip */
    bool needs_living; /* of a pending one: it rests on overdue calls, whose processes may be gone */
    bool needs_share;  /* of a pending one: max_open may forbid it */
    uint16_t generation;
    bool connect_only; /* OPEN for connects, after the change */
    enum breaker_state from;
    enum breaker_state to;
    enum breaker_cause cause;
    struct window_sums sums; /* of a trip, the tripping call included; else zero */
    uint32_t value;     /* of a trip: the measured ratio in hundredths of a percent, or the row's length */
    uint32_t threshold; /* of a trip: what value was compared with, same unit */
    uint64_t retry_ns;  /* to OPEN: how long until the first probe */
    uint64_t at_ns;
};

enum breaker_ask { ASK_CONNECT, ASK_REQUEST };

/* How a call stands with the breaker; it says what its end may change. */
enum standing {
    STANDING_NONE = 0,     /* no ticket */
    STANDING_COUNTED,      /* admitted: judged in its generation */
    STANDING_PASSED,       /* let through beside the machine (a guest inside, gate = connect): totals only */
    STANDING_WOULD_REJECT, /* observe mode let it through: totals only */
    STANDING_REJECTED      /* not to be made; no ticket to finish */
};

/* What a call carries from its admission to its end. permit is the permit's index plus one, 0 for none. */
struct ticket {
    uint16_t generation;
    uint8_t permit;
    uint8_t standing; /* enum standing */
};

struct admission {
    struct ticket ticket;
    struct transition transition;
};

/* Longest holder a permit can carry: 50 bits. 0 = nobody known, the permit ends by probe_timeout alone. */
#define PERMIT_HOLDER_MAX ((UINT64_C(1) << 50) - 1)

/* Makes the breaker's window fit the rule's shape. A changed shape empties the window (generation + 1, state
 * kept); calls in flight then count in the totals only. */
void breaker_adopt(struct breaker *breaker, const struct thresholds *thresholds);

/* Asks for leave to make one call now. enforce is false where the rule or the process observes: then nothing
 * is rejected. A rejection is counted here; every other standing must be given to breaker_finish or
 * breaker_release once. */
struct admission breaker_admit(struct breaker *breaker, const struct thresholds *thresholds,
                               enum breaker_ask ask, bool enforce, uint64_t holder, uint64_t now_ns);

/* Makes a pending trip (a transition of breaker_admit or breaker_finish with `pending` set), once the caller has made
 * sure of what it needs: needs_living: count the overdue calls of living processes anew (breaker_note_overdue);
 * needs_share: fewer of the rule's destinations than max_open are not CLOSED. The verdict is taken again. A pending trip
 * of an admission is made before the call: its ticket is released, and the breaker asked again. */
struct transition breaker_trip(struct breaker *breaker, const struct thresholds *thresholds,
                               const struct transition *pending, uint64_t now_ns);

/* A pending trip is not made because of max_open: the transition to write as an event (cause CAUSE_CAPPED, CLOSED to
 * CLOSED), at most one in open_for. */
struct transition breaker_capped(struct breaker *breaker, const struct thresholds *thresholds,
                                 const struct transition *pending, uint64_t now_ns);

/* How many calls of that generation have been outstanding for longer than slow_call, and how many of them are past their
 * connect. */
void breaker_note_overdue(struct breaker *breaker, uint16_t generation, uint32_t calls,
                          uint32_t past_connect);

/* An operator's word: STATE_FORCED_OPEN, STATE_DISABLED, or STATE_CLOSED to lift either (window empty, warm-up begun). */
struct transition breaker_force(struct breaker *breaker, enum breaker_state state, uint64_t now_ns);

/* An operator begins it anew: CLOSED, window empty, calls in flight count for the totals only. */
struct transition breaker_reset(struct breaker *breaker, uint64_t now_ns);

/* Counts how a call ended and takes the verdict. */
struct transition breaker_finish(struct breaker *breaker, const struct thresholds *thresholds,
                                 struct ticket ticket, const struct call_end *end, uint64_t now_ns);

/* The call was never made (a send that would have blocked): its permit goes back, nothing is counted. */
void breaker_release(struct breaker *breaker, const struct thresholds *thresholds, struct ticket ticket);

/* The destination has answered, though the call's end is not known yet (TLS): it is not in flight any more, and a probe's
 * permit counts as passed when probe_timeout is due. Its end must then say `answered`. */
void breaker_call_answered(struct breaker *breaker, const struct thresholds *thresholds,
                           struct ticket ticket);

/* Whether the next asker would find every permit of HALF_OPEN given out. */
enum breaker_permits {
    PERMITS_LEFT, /* no: or the breaker is not in HALF_OPEN at all */
    PERMITS_OUT,  /* yes: he would be rejected */
    PERMITS_DUE   /* yes, and so long ago that the breaker would open again (probe_timeout) */
};
enum breaker_permits breaker_permits(const struct breaker *breaker, const struct thresholds *thresholds,
                                     uint64_t now_ns);

/* Who holds permit `index` (0-based) of the current HALF_OPEN; *word is what breaker_free_permit wants. 0
 * when the permit is not out or nobody is known. */
uint64_t breaker_permit_holder(const struct breaker *breaker, unsigned index, uint64_t *word);

/* Takes back the permit of a holder that is gone, if its word is still the one seen. True if it did. */
bool breaker_free_permit(struct breaker *breaker, unsigned index, uint64_t word);

/* What to show of a breaker at now_ns. */
struct breaker_view {
    enum breaker_state state;
    bool connect_only;
    uint16_t generation;
    uint64_t retry_ns; /* OPEN: time left until a probe is due, 0 when due */
    uint64_t since_ns;
    struct window_sums sums;
};
struct breaker_view breaker_view(const struct breaker *breaker, uint64_t now_ns);

/* True when a `made` word says that the breaker is somebody's. */
static inline bool breaker_is_made(uint64_t made) {
    return (made & 1) != 0;
}

/* Empties a breaker that is not made any more: as new, but for the generation, which rises, so that calls still under way
 * mean nothing to whoever gets its place. */
void breaker_wipe(struct breaker *breaker);

/* True while an operator has it FORCED_OPEN or DISABLED. */
bool breaker_is_forced(const struct breaker *breaker);

/* True in OPEN and HALF_OPEN: what max_open counts. */
bool breaker_is_shut(const struct breaker *breaker);

/* How many failures in a row stand now; in the first OPEN, with how many it tripped. */
unsigned breaker_row(const struct breaker *breaker);

/* "closed", "open", "half_open", "forced_open", "disabled"; never NULL. */
const char *breaker_state_name(enum breaker_state state);

/* "error_ratio", "open_for" …; never NULL. */
const char *breaker_cause_name(enum breaker_cause cause);

#endif
