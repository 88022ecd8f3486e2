#include "lib/replay.h"

#include "lib/lane.h"

#define INDEX_BITS 28
#define HEAP_WAYS  4
#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)

/* --- memory --- */

bool replay_is_full(const struct replay *replay) {
    return replay->free == 0 && replay->used == replay->room;
}

void replay_give_room(struct replay *replay, struct replay_call *calls, struct replay_due *due,
                      uint32_t room) {
    replay->calls = calls;
    replay->due = due;
    replay->room = room;
}

static uint32_t take_call(struct replay *replay) {
    if (replay->free == 0) {
        return replay->used++;
    }
    uint32_t index = replay->free - 1;
    replay->free = replay->calls[index].after;
    return index;
}

void replay_free(struct replay *replay, uint32_t index) {
    replay->calls[index].after = replay->free;
    replay->free = index + 1;
}

/* --- the heap of ends --- */

/* Without a branch: none could be foretold. */
static bool is_before(struct replay_due a, struct replay_due b) {
    return (a.end_ns < b.end_ns) | ((a.end_ns == b.end_ns) & (a.order < b.order));
}

static void due_push(struct replay *replay, struct replay_due due) {
    uint32_t at = replay->due_count++;
    while (at > 0) {
        uint32_t parent = (at - 1) / HEAP_WAYS;
        if (!is_before(due, replay->due[parent])) {
            break;
        }
        replay->due[at] = replay->due[parent];
        at = parent;
    }
    replay->due[at] = due;
}

/* The earliest of the children from `first` on. */
static uint32_t earliest_child(const struct replay *replay, uint32_t first) {
    uint32_t end = first + HEAP_WAYS < replay->due_count ? first + HEAP_WAYS : replay->due_count;
    uint32_t earliest = first;
    for (uint32_t child = first + 1; child < end; child++) {
        uint32_t all = -(uint32_t)is_before(replay->due[child], replay->due[earliest]);
        earliest = (child & all) | (earliest & ~all);
    }
    return earliest;
}

static struct replay_due due_pop(struct replay *replay) {
    struct replay_due first = replay->due[0];
    struct replay_due moved = replay->due[--replay->due_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < replay->due_count; child = at * HEAP_WAYS + 1) {
        child = earliest_child(replay, child);
        if (!is_before(replay->due[child], moved)) {
            break;
        }
        replay->due[at] = replay->due[child];
        at = child;
    }
    replay->due[at] = moved;
    return first;
}

/* --- time --- */

bool replay_end_due(struct replay *replay, uint64_t until_ns, struct replay_change *change) {
    if (replay->due_count == 0 || replay->due[0].end_ns > until_ns) {
        return false;
    }
    struct replay_due due = due_pop(replay);
    uint32_t index = (uint32_t)(due.order & INDEX_MASK);
    change->lane = replay->calls[index].lane;
    change->now_ns = due.end_ns;
    change->transition = lane_end(replay, index, due.end_ns);
    return true;
}

unsigned replay_start(struct replay *replay, uint32_t lane, const struct trace_record *record,
                      struct replay_change changes[2]) {
    uint32_t index = take_call(replay);
    struct replay_call *call = &replay->calls[index];
    *call = (struct replay_call){.start_ns = record->start_ns,
                                 .response_ns = record->response_ns,
                                 .lane = lane,
                                 .outcome = (uint8_t)record->outcome,
                                 .reason = (uint8_t)record->reason,
                                 .connect = record->connect,
                                 .ends = record->response_ns != TRACE_NEVER};
    unsigned count = lane_ask(replay, index, record->kept ? ASK_REQUEST : ASK_CONNECT, changes);
    if (!lane_keeps(replay, index)) {
        replay_free(replay, index);
    } else if (call->ends) {
        struct replay_due due = {record->start_ns + record->response_ns,
                                 replay->number << INDEX_BITS | index};
        due_push(replay, due);
    }
    replay->number++;
    return count;
}
