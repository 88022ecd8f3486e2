/* The engine in virtual time: calls of a trace are put to breakers at their starts and, where admitted, end after their
 * response times. Time is what the trace says; the machine is the very one that runs in programs.
 *
 * Memory is handed in, and more of it when replay_is_full says so: what is needed are the calls outstanding, however long
 * the trace. Indices instead of pointers, so that memory may move when it grows. One thread.
 *
 * Whoever runs it repeats, for each call in the order of starts: replay_end_due until nothing is due any more, then
 * replay_start; and after the last one replay_end_due up to UINT64_MAX. So ends come before starts at equal times.
 */
#ifndef CUTOUT_LIB_REPLAY_H
#define CUTOUT_LIB_REPLAY_H

#include "lib/breaker.h"
#include "lib/thresholds.h"
#include "lib/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What max_open is a share of: the breakers of one rule. */
struct replay_rule {
    uint32_t known; /* that have been asked */
    uint32_t shut;  /* of them, in OPEN or HALF_OPEN */
};

/* One breaker, and what a running program keeps elsewhere for it: which of its calls hang. Calls admitted in the present
 * generation in CLOSED are linked in the order of their starts; those before the frontier are overdue. A place in a list is
 * a call's index + 1, 0 for none. */
struct replay_lane {
    struct breaker *breaker;
    const struct thresholds *thresholds;
    struct replay_rule *rule;
    uint64_t overdue_ns;  /* slow_call where overdue calls are judged, else 0 */
    uint32_t first, last; /* of the list */
    uint32_t frontier;    /* the first call that is not overdue yet */
    uint32_t overdue;
    uint32_t past; /* of them past their connect */
    bool enforce;
    bool asked;            /* it counts in rule->known */
    bool stale;            /* overdue and past are not what the breaker was told */
    uint64_t admitted;     /* calls made */
    uint64_t rejected;     /* calls not made */
    uint64_t would_reject; /* of the calls made: those that enforcing would have rejected */
    uint64_t next_minute;  /* when to look again whether the time of day is exempt */
};

/* A call outstanding. */
struct replay_call {
    uint64_t start_ns;
    uint64_t response_ns;
    uint32_t lane;
    uint32_t before, after; /* in the lane's list; `after` also links the free ones */
    struct ticket ticket;
    uint8_t outcome; /* enum outcome */
    uint8_t reason;  /* enum failure_reason */
    bool connect;    /* all of it in its connect phase */
    bool ends;       /* else it never returns */
    bool listed;
    bool overdue;
};

/* When a call ends. Ordered by time, then by the order of starts. */
struct replay_due {
    uint64_t end_ns;
    uint64_t order; /* 63..28 the call's number | 27..0 its index in calls */
};
#define REPLAY_ROOM_MAX (1u << 28) /* calls outstanding at one time */

/* All zero but for lanes = empty, without memory. */
struct replay {
    struct replay_lane *lanes;
    struct replay_call *calls;
    struct replay_due *due; /* a heap of four ways */
    uint32_t room;          /* of calls and of due */
    uint32_t used;          /* calls[used] and beyond have never been used */
    uint32_t free;          /* list of those that are free again */
    uint32_t due_count;
    uint64_t number; /* of the next call */
};

struct replay_change {
    uint32_t lane;
    uint64_t now_ns; /* when the call started or ended that brought it */
    struct transition transition;
};

/* A breaker that has never been asked, all zero but for who it is. */
struct replay_lane replay_lane(struct breaker *breaker, const struct thresholds *thresholds,
                               struct replay_rule *rule, bool enforce);

/* True when memory must be handed in before the next start. */
bool replay_is_full(const struct replay *replay);

/* Hands in memory for `room` calls, more than before and at most REPLAY_ROOM_MAX; it begins with what the former memory
 * held. */
void replay_give_room(struct replay *replay, struct replay_call *calls, struct replay_due *due,
                      uint32_t room);

/* Ends the call that is the next to end, if that is due at until_ns. False when none is. The change of state that follows
 * from it, if any, is in *change. */
bool replay_end_due(struct replay *replay, uint64_t until_ns, struct replay_change *change);

/* Asks the lane's breaker for leave to make the call, at its start. Returns how many changes of state followed. */
unsigned replay_start(struct replay *replay, uint32_t lane, const struct trace_record *record,
                      struct replay_change changes[2]);

#endif
