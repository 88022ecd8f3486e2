/* A second, naive opinion on what a breaker does: written from the rules of judgement alone, with lists where the engine has
 * words, and every sum taken anew. It says beforehand what a call must be answered and which changes must follow. */
#ifndef CUTOUT_TESTS_REPLAY_MODEL_H
#define CUTOUT_TESTS_REPLAY_MODEL_H

#include "lib/breaker.h"
#include "lib/thresholds.h"
#include "lib/trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MODEL_CALLS 256

/* A call that was made. */
struct model_call {
    uint64_t start_ns;
    unsigned era;
    enum standing standing;
    bool probe;
    bool connect;
    bool outstanding;
};

/* A counted result of the present era. */
struct model_result {
    uint64_t now_ns;
    bool failed, slow, past;
};

struct model {
    const struct thresholds *thresholds;
    bool enforce;
    enum breaker_state state;
    unsigned era;
    bool connect_only;
    unsigned opens; /* in a row */
    uint64_t opened_ns, deadline_us, asked_ns, last_permit_ns, capped_ns, warm_ns, admitted_ns;
    bool capped, warm, was_admitted, answered, asked;
    unsigned out, passed; /* permits */
    unsigned row;
    uint64_t row_start_ns;
    unsigned in_flight;
    unsigned calls, results;
    struct model_call call[MODEL_CALLS];
    struct model_result result[MODEL_CALLS];
};

/* What must follow: at most two changes, in order, and what the call is answered. */
struct model_answer {
    unsigned changes;
    struct {
        enum breaker_state from, to;
        enum breaker_cause cause;
        bool connect_only;
        uint64_t open_ns; /* without jitter */
        struct window_sums sums;
    } change[2];
    enum standing standing;
    bool probe;
};

static inline bool model_is_shut(const struct model *model) {
    return model->state == STATE_OPEN || model->state == STATE_HALF_OPEN;
}

/* --- sums, taken anew --- */

static inline struct window_sums model_sums(const struct model *model, uint64_t now_ns, bool *past) {
    const struct thresholds *thresholds = model->thresholds;
    struct window_sums sums = {0};
    uint64_t bucket_us = (uint64_t)thresholds->window_ms * 1000 / thresholds->buckets;
    uint64_t newest = now_ns / 1000 / bucket_us;
    *past = false;
    for (unsigned i = 0; i < model->results; i++) {
        const struct model_result *result = &model->result[i];
        if (result->now_ns / 1000 / bucket_us + thresholds->buckets > newest) {
            sums.calls++;
            sums.errors += result->failed;
            sums.slow += result->slow;
            *past = *past || result->past;
        }
    }
    if (!thresholds->slow_written || thresholds->slow_ratio == 0 || !model->answered) {
        return sums;
    }
    for (unsigned i = 0; i < model->calls; i++) {
        const struct model_call *call = &model->call[i];
        if (call->outstanding && call->era == model->era && model->state == STATE_CLOSED &&
            call->standing == STANDING_COUNTED && now_ns - call->start_ns > thresholds->slow_call_ns) {
            sums.overdue++;
            *past = *past || !call->connect;
        }
    }
    return sums;
}

static inline bool model_judges_slow(const struct model *model, uint64_t now_ns) {
    const struct thresholds *thresholds = model->thresholds;
    return thresholds->slow_written &&
           (thresholds->warmup_ns == 0 || !model->warm || now_ns >= model->warm_ns + thresholds->warmup_ns);
}

static inline bool model_slow_trips(const struct model *model, const struct window_sums *sums) {
    const struct thresholds *thresholds = model->thresholds;
    uint64_t calls = sums->calls + sums->overdue, slow = sums->slow + sums->overdue;
    return thresholds->slow_ratio != 0 && calls >= thresholds->min_calls && slow > 0 &&
           slow >= thresholds->min_slow_calls && slow * 10000 >= thresholds->slow_ratio * calls;
}

/* --- changes --- */

static inline void model_change(struct model *model, enum breaker_state to, enum breaker_cause cause,
                                bool connect_only, const struct window_sums *sums, uint64_t now_ns,
                                struct model_answer *answer) {
    const struct thresholds *thresholds = model->thresholds;
    uint64_t open_ns = 0;
    if (to == STATE_OPEN) {
        uint64_t most_ns = thresholds->open_max_ns ? thresholds->open_max_ns : UINT64_MAX / 1000;
        model->opens = model->state == STATE_CLOSED ? 1 : model->opens + 1;
        unsigned __int128 exact = thresholds->open_for_ns;
        for (unsigned i = 1; i < model->opens && i < 63 && exact < most_ns; i++) {
            exact = exact * (thresholds->open_backoff > 100 ? thresholds->open_backoff : 100) / 100;
        }
        open_ns = exact < most_ns ? (uint64_t)exact : most_ns;
        model->opened_ns = model->asked_ns = now_ns;
    }
    answer->change[answer->changes].from = model->state;
    answer->change[answer->changes].to = to;
    answer->change[answer->changes].cause = cause;
    answer->change[answer->changes].connect_only = connect_only;
    answer->change[answer->changes].open_ns = open_ns;
    answer->change[answer->changes++].sums = sums ? *sums : (struct window_sums){0};
    if (to == STATE_CLOSED) {
        model->warm = true;
        model->warm_ns = now_ns;
    }
    if (to == STATE_HALF_OPEN) {
        model->last_permit_ns = now_ns;
    }
    model->state = to;
    model->connect_only = connect_only;
    model->era++;
    model->results = model->row = model->out = model->passed = 0;
}

/* A verdict that holds: the trip, or that it is capped. */
static inline void model_trip(struct model *model, enum breaker_cause cause, const struct window_sums *sums,
                              bool past, bool may_open, uint64_t now_ns, struct model_answer *answer) {
    if (may_open) {
        model_change(model, STATE_OPEN, cause, !past, sums, now_ns, answer);
    } else if (!model->capped || now_ns - model->capped_ns >= model->thresholds->open_for_ns) {
        model->capped = true;
        model->capped_ns = now_ns;
        answer->change[answer->changes].from = answer->change[answer->changes].to = STATE_CLOSED;
        answer->change[answer->changes].cause = CAUSE_CAPPED;
        answer->change[answer->changes].connect_only = false;
        answer->change[answer->changes++].sums = (struct window_sums){0}; /* counts are those of trips */
    }
}

/* --- a call starts --- */

static inline bool model_forgets(const struct model *model, uint64_t now_ns) {
    uint64_t forget_ns = model->thresholds->forget_after_ns, now_us = now_ns / 1000;
    if (forget_ns == 0 || now_ns - model->asked_ns < forget_ns) {
        return false;
    }
    return model->state == STATE_HALF_OPEN ||
           (now_us >= model->deadline_us && now_us - model->deadline_us >= forget_ns / 1000);
}

static inline void model_decide(struct model *model, bool kept, uint64_t now_ns,
                                struct model_answer *answer) {
    const struct thresholds *thresholds = model->thresholds;
    enum standing refused = model->enforce ? STANDING_REJECTED : STANDING_WOULD_REJECT;
    answer->standing = STANDING_COUNTED;
    answer->probe = false;
    if (model_is_shut(model) && model_forgets(model, now_ns)) {
        model->was_admitted = false;
        model_change(model, STATE_CLOSED, CAUSE_FORGOTTEN, false, NULL, now_ns, answer);
    }
    if (!model_is_shut(model)) {
        return;
    }
    if (kept && (model->connect_only || thresholds->gate == GATE_CONNECT)) {
        answer->standing = STANDING_PASSED;
        return;
    }
    model->asked_ns = now_ns;
    if (model->state == STATE_OPEN) {
        if (now_ns / 1000 < model->deadline_us) {
            answer->standing = refused;
            return;
        }
        model_change(model, STATE_HALF_OPEN, CAUSE_OPEN_FOR, model->connect_only, NULL, now_ns, answer);
    }
    if (model->out + model->passed < thresholds->probes) {
        model->out++;
        model->last_permit_ns = now_ns;
        answer->probe = true;
        return;
    }
    answer->standing = refused;
    if (now_ns >= model->last_permit_ns + thresholds->probe_timeout_ns) {
        model_change(model, STATE_OPEN, CAUSE_PROBE_TIMEOUT, model->connect_only, NULL, now_ns, answer);
    }
}

static inline void model_note_admitted(struct model *model, uint64_t now_ns) {
    if (!model->was_admitted || now_ns - model->admitted_ns >= model->thresholds->warmup_ns) {
        model->warm = true;
        model->warm_ns = now_ns;
    }
    model->was_admitted = true;
    model->admitted_ns = now_ns;
}

static inline struct model_answer model_start(struct model *model, const struct trace_record *record,
                                              bool may_open) {
    const struct thresholds *thresholds = model->thresholds;
    struct model_answer answer = {0};
    uint64_t now_ns = record->start_ns;
    bool past;
    if (model->state == STATE_CLOSED && model_judges_slow(model, now_ns)) {
        struct window_sums sums = model_sums(model, now_ns, &past);
        if (sums.overdue > 0 && model_slow_trips(model, &sums)) {
            model_trip(model, CAUSE_SLOW_RATIO, &sums, past, may_open, now_ns, &answer);
            if (thresholds->max_in_flight == 0 || model->in_flight < thresholds->max_in_flight) {
                /* It was admitted, and at this admission the verdict was taken. */
                model_note_admitted(model, now_ns);
            }
            model->deadline_us = UINT64_MAX; /* set by the caller from the change itself; not due at once */
        }
    }
    model_decide(model, record->kept, now_ns, &answer);
    if (thresholds->max_in_flight != 0 && answer.standing != STANDING_REJECTED) {
        bool busy = model->in_flight >= thresholds->max_in_flight;
        if (busy && answer.standing != STANDING_WOULD_REJECT) {
            model->out -= answer.probe;
            answer.probe = false;
            answer.standing = model->enforce ? STANDING_REJECTED : STANDING_WOULD_REJECT;
        }
        model->in_flight += answer.standing != STANDING_REJECTED;
    }
    if (answer.standing == STANDING_COUNTED) {
        model_note_admitted(model, now_ns);
    }
    model->call[model->calls++] =
        (struct model_call){now_ns,       model->era,      answer.standing,
                            answer.probe, record->connect, answer.standing != STANDING_REJECTED};
    return answer;
}

/* --- a call ends --- */

static inline void model_raise_row(struct model *model, uint64_t start_ns) {
    uint64_t start_us = start_ns / 1000, row_us = model->row_start_ns / 1000;
    if (model->row == 0 || start_us >= row_us + 100000) {
        model->row++;
        model->row_start_ns = start_ns;
    }
}

static inline enum breaker_cause model_verdict(const struct model *model, const struct window_sums *sums,
                                               bool failed, uint64_t now_ns) {
    const struct thresholds *thresholds = model->thresholds;
    bool enough = sums->calls >= thresholds->min_calls;
    if (thresholds->consecutive_errors != 0 && failed && model->row >= thresholds->consecutive_errors &&
        (!enough || thresholds->error_ratio == 0)) {
        return CAUSE_CONSECUTIVE_ERRORS;
    }
    if (enough && thresholds->error_ratio != 0 &&
        sums->errors * 10000 >= thresholds->error_ratio * sums->calls) {
        return CAUSE_ERROR_RATIO;
    }
    if (enough && thresholds->error_count != 0 && sums->errors >= thresholds->error_count) {
        return CAUSE_ERROR_COUNT;
    }
    return model_judges_slow(model, now_ns) && model_slow_trips(model, sums) ? CAUSE_SLOW_RATIO : CAUSE_NONE;
}

static inline void model_end_probe(struct model *model, bool failed, bool slow, bool past, uint64_t now_ns,
                                   struct model_answer *answer) {
    slow = slow && model_judges_slow(model, now_ns);
    if (failed || slow) {
        model_change(model, STATE_OPEN, failed ? CAUSE_PROBE_FAILED : CAUSE_PROBE_SLOW,
                     model->connect_only && !past, NULL, now_ns, answer);
        return;
    }
    model->out--;
    if (++model->passed == model->thresholds->probes) {
        model_change(model, STATE_CLOSED, CAUSE_PROBES_PASSED, false, NULL, now_ns, answer);
    }
}

static inline struct model_answer model_end(struct model *model, unsigned number,
                                            const struct trace_record *record, uint64_t now_ns,
                                            bool may_open) {
    const struct thresholds *thresholds = model->thresholds;
    struct model_call *call = &model->call[number];
    struct model_answer answer = {0};
    bool failed = record->outcome == OUTCOME_FAILURE;
    bool slow = thresholds->slow_call_ns != 0 && record->response_ns > thresholds->slow_call_ns;
    bool past = (failed && !record->connect) || (slow && !record->connect && thresholds->slow_written);
    call->outstanding = false;
    model->in_flight -= thresholds->max_in_flight != 0 && model->in_flight > 0;
    model->answered = model->answered || (record->outcome == OUTCOME_SUCCESS && !record->connect) ||
                      record->reason == REASON_STATUS;
    if (call->standing != STANDING_COUNTED || call->era != model->era) {
        return answer;
    }
    if (record->outcome == OUTCOME_IGNORED) {
        model->out -= call->probe;
        return answer;
    }
    if (call->probe) {
        model_end_probe(model, failed, slow, past, now_ns, &answer);
        return answer;
    }
    if (failed) {
        model_raise_row(model, call->start_ns);
    } else {
        model->row = 0;
    }
    model->result[model->results++] = (struct model_result){now_ns, failed, slow, past};
    bool any_past;
    struct window_sums sums = model_sums(model, now_ns, &any_past);
    enum breaker_cause cause = model_verdict(model, &sums, failed, now_ns);
    if (cause != CAUSE_NONE) {
        model_trip(model, cause, &sums, any_past, may_open, now_ns, &answer);
    }
    return answer;
}

#endif
