/* Random traces under random rules: what must hold for every one of them, and a naive model's opinion on each answer.
 *
 *   replay_properties TRACES [SEED]     ends with 1 and the trace's seed when something does not hold
 */
#include "lib/replay.h"
#include "tests/programs/replay_model.h"
#include "tests/programs/replay_trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CHANGES_MAX (3 * CALLS_MAX) /* two at a start, one at an end */

static uint64_t trace_seed;
static uint64_t seen_causes[CAUSE_OPERATOR + 1];

#define HOLDS(condition) holds((condition), #condition, __LINE__)

static void holds(bool condition, const char *text, int line) {
    if (!condition) {
        fprintf(stderr, "trace of seed %" PRIu64 ": line %d: does not hold: %s\n", trace_seed, line, text);
        exit(1);
    }
}

/* --- one run --- */

/* What is watched from outside, without knowledge of how the engine works. */
struct watch {
    uint64_t asked, opened_ns;
    bool open;
    uint64_t closed_for_ns; /* how long it was open at least */
    unsigned probes;        /* admitted in this HALF_OPEN, less those that ended as ignored */
    unsigned half_open;     /* which HALF_OPEN */
};

struct run {
    const struct trial *trial;
    struct replay replay;
    struct replay_lane lanes[LANES];
    struct breaker breakers[LANES];
    struct replay_rule rule;
    struct replay_call calls[CALLS_MAX];
    struct replay_due due[CALLS_MAX];
    struct model models[LANES];
    struct watch watches[LANES];
    /* Of each call outstanding, by its index in the replay: which call of the trial, and of the model. */
    unsigned trial_call[CALLS_MAX], model_call[CALLS_MAX], half_open[CALLS_MAX];
    uint64_t ended_ns; /* the end last seen, */
    unsigned ended;    /* and of which call */
    unsigned changes;  /* so far */
    struct transition change[CHANGES_MAX];
};

static void begin_run(struct run *run, const struct trial *trial, bool enforce) {
    memset(run, 0, sizeof *run);
    run->trial = trial;
    run->replay.lanes = run->lanes;
    for (unsigned i = 0; i < trial->lanes; i++) {
        run->breakers[i].endpoint.port = (uint16_t)i;
        run->lanes[i] = replay_lane(&run->breakers[i], &trial->thresholds, &run->rule, enforce);
        run->models[i].thresholds = &trial->thresholds;
        run->models[i].enforce = enforce;
    }
    replay_give_room(&run->replay, run->calls, run->due, CALLS_MAX);
}

/* As max_open says, counted anew. */
static bool may_open(const struct run *run) {
    uint64_t known = 0, shut = 0;
    for (unsigned i = 0; i < run->trial->lanes; i++) {
        known += run->models[i].asked;
        shut += model_is_shut(&run->models[i]);
    }
    uint16_t max_open = run->trial->thresholds.max_open;
    uint64_t most = max_open == 0 ? known : known * max_open / 10000;
    return shut < (most > 0 ? most : 1);
}

static bool is_trip(enum breaker_cause cause) {
    return cause == CAUSE_CONSECUTIVE_ERRORS || cause == CAUSE_ERROR_RATIO || cause == CAUSE_ERROR_COUNT ||
           cause == CAUSE_SLOW_RATIO;
}

/* What must hold of a change, whatever the model says. */
static void watch_change(struct run *run, uint32_t lane, const struct transition *transition,
                         uint64_t now_ns) {
    const struct thresholds *thresholds = &run->trial->thresholds;
    struct watch *watch = &run->watches[lane];
    HOLDS(transition->at_ns == now_ns);
    if (is_trip(transition->cause) && transition->cause != CAUSE_CONSECUTIVE_ERRORS) {
        HOLDS(transition->sums.calls + transition->sums.overdue >= thresholds->min_calls);
    }
    if (transition->cause == CAUSE_CONSECUTIVE_ERRORS) {
        HOLDS(thresholds->consecutive_errors != 0 &&
              (transition->sums.calls < thresholds->min_calls || thresholds->error_ratio == 0));
    }
    if (watch->open) {
        HOLDS(now_ns - watch->opened_ns >= watch->closed_for_ns);
        watch->open = false;
    }
    if (transition->to == STATE_OPEN) {
        watch->open = true;
        watch->opened_ns = now_ns;
        watch->closed_for_ns = thresholds->open_for_ns;
        HOLDS(transition->retry_ns >= thresholds->open_for_ns);
    } else if (transition->to == STATE_HALF_OPEN) {
        watch->probes = 0;
        watch->half_open++;
    }
    seen_causes[transition->cause]++;
    HOLDS(run->changes < CHANGES_MAX);
    run->change[run->changes++] = *transition;
}

static void compare_sums(const struct window_sums *is, const struct window_sums *wanted) {
    HOLDS(is->calls == wanted->calls);
    HOLDS(is->errors == wanted->errors);
    HOLDS(is->slow == wanted->slow);
    HOLDS(is->overdue == wanted->overdue);
}

/* The engine's changes are the model's. */
static void compare(struct run *run, uint32_t lane, const struct model_answer *wanted,
                    const struct replay_change *changes, unsigned count, uint64_t now_ns) {
    const struct thresholds *thresholds = &run->trial->thresholds;
    HOLDS(count == wanted->changes);
    for (unsigned i = 0; i < count; i++) {
        const struct transition *transition = &changes[i].transition;
        HOLDS(changes[i].lane == lane);
        HOLDS(transition->from == wanted->change[i].from && transition->to == wanted->change[i].to);
        HOLDS(transition->cause == wanted->change[i].cause);
        HOLDS(transition->connect_only == wanted->change[i].connect_only);
        compare_sums(&transition->sums, &wanted->change[i].sums);
        if (transition->to == STATE_OPEN) {
            uint64_t open_ns = wanted->change[i].open_ns;
            HOLDS(transition->retry_ns >= open_ns &&
                  transition->retry_ns <= open_ns + open_ns / 10000 * thresholds->open_jitter);
            run->models[lane].deadline_us = (now_ns + transition->retry_ns + 999) / 1000;
        }
        watch_change(run, lane, transition, now_ns);
    }
}

/* The window as it is shown equals a naive recount. */
static void compare_window(const struct run *run, uint32_t lane, uint64_t now_ns) {
    bool past;
    if (run->models[lane].state == STATE_CLOSED) {
        struct window_sums wanted = model_sums(&run->models[lane], now_ns, &past);
        struct breaker_view view = breaker_view(&run->breakers[lane], now_ns);
        view.sums.overdue = wanted.overdue; /* counted when it is asked for, not when it is looked at */
        compare_sums(&view.sums, &wanted);
    }
}

static void start(struct run *run, unsigned number) {
    const struct trace_record *record = &run->trial->record[number];
    uint32_t lane = run->trial->lane[number];
    struct model *model = &run->models[lane];
    struct watch *watch = &run->watches[lane];
    struct replay_change changes[2];
    uint32_t index = run->replay.free ? run->replay.free - 1 : run->replay.used;
    model->asked = true;
    struct model_answer wanted = model_start(model, record, may_open(run));
    HOLDS(!replay_is_full(&run->replay));
    unsigned count = replay_start(&run->replay, lane, record, changes);
    struct ticket ticket = run->calls[index].ticket;
    compare(run, lane, &wanted, changes, count, record->start_ns);
    HOLDS(ticket.standing == wanted.standing);
    HOLDS((ticket.permit != 0) == wanted.probe);
    run->trial_call[index] = number;
    run->model_call[index] = model->calls - 1;
    run->half_open[index] = ticket.permit ? watch->half_open : 0;
    watch->asked++;
    watch->probes += ticket.permit != 0;
    HOLDS(watch->probes <= run->trial->thresholds.probes);
    HOLDS(!watch->open || ticket.standing != STANDING_COUNTED);
    HOLDS(run->lanes[lane].admitted + run->lanes[lane].rejected == watch->asked);
}

static bool end_next(struct run *run, uint64_t until_ns) {
    if (run->replay.due_count == 0 || run->due[0].end_ns > until_ns) {
        return false;
    }
    uint64_t now_ns = run->due[0].end_ns;
    uint32_t index = (uint32_t)(run->due[0].order & ((1u << 28) - 1));
    const struct trace_record *record = &run->trial->record[run->trial_call[index]];
    uint32_t lane = run->calls[index].lane;
    struct watch *watch = &run->watches[lane];
    struct replay_change change;
    HOLDS(now_ns == record->start_ns + record->response_ns);
    HOLDS(now_ns > run->ended_ns || run->trial_call[index] >= run->ended); /* the earlier start ends first */
    run->ended_ns = now_ns;
    run->ended = run->trial_call[index];
    if (record->outcome == OUTCOME_IGNORED && run->half_open[index] == watch->half_open && watch->half_open) {
        watch->probes--;
    }
    struct model_answer wanted =
        model_end(&run->models[lane], run->model_call[index], record, now_ns, may_open(run));
    HOLDS(replay_end_due(&run->replay, until_ns, &change));
    compare(run, lane, &wanted, &change, change.transition.happened, now_ns);
    compare_window(run, lane, now_ns);
    return true;
}

static void run_trial(struct run *run, const struct trial *trial, bool enforce) {
    begin_run(run, trial, enforce);
    for (unsigned i = 0; i < trial->calls; i++) {
        while (end_next(run, trial->record[i].start_ns)) {
        }
        start(run, i);
    }
    while (end_next(run, UINT64_MAX)) {
    }
}

/* Observing judges as enforcing does, as long as nothing was rejected. */
static void compare_modes(const struct run *enforced, const struct run *observed) {
    if (enforced->trial->thresholds.max_in_flight != 0) {
        return; /* rejects without a trip */
    }
    HOLDS((enforced->changes == 0) == (observed->changes == 0));
    for (unsigned i = 0; i < enforced->changes && i < observed->changes; i++) {
        const struct transition *a = &enforced->change[i], *b = &observed->change[i];
        HOLDS(a->from == b->from && a->to == b->to && a->cause == b->cause && a->at_ns == b->at_ns);
        HOLDS(a->connect_only == b->connect_only && a->retry_ns == b->retry_ns);
        compare_sums(&a->sums, &b->sums);
        if (enforced->change[i].to == STATE_OPEN) {
            return;
        }
    }
}

int main(int argc, char **argv) {
    static struct trial trial;
    static struct run enforced, observed;
    if (argc < 2) {
        fputs("usage: replay_properties TRACES [SEED]\n", stderr);
        return 2;
    }
    uint64_t traces = strtoull(argv[1], NULL, 10);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (uint64_t i = 0; i < traces; i++) {
        trace_seed = chance_state = seed + i;
        random_trial(&trial);
        run_trial(&enforced, &trial, true);
        run_trial(&observed, &trial, false);
        compare_modes(&enforced, &observed);
    }
    printf("%" PRIu64 " traces from seed %" PRIu64 "\n", traces, seed);
    for (unsigned cause = CAUSE_NONE + 1; cause < CAUSE_OPERATOR; cause++) {
        printf("%s %" PRIu64 "\n", breaker_cause_name((enum breaker_cause)cause), seen_causes[cause]);
    }
    return 0;
}
