/* The same calls made by one thread and by four: as long as no two times are the same, the result is the same.
 *
 *   replay_threads TRACES [SEED]     ends with 1 and the trace's seed when it is not
 *
 * Each thread makes its own calls and ends them, in virtual time: it goes on when what it has to do next comes before what
 * any other has to do next.
 */
#include "lib/breaker.h"
#include "tests/programs/replay_trial.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS     4
#define CHANGES_MAX (4 * CALLS_MAX)

/* What came of a run. Written by whoever's turn it is, and handed on with the turn. */
struct outcome_of_run {
    unsigned changes;
    struct transition change[CHANGES_MAX];
    uint8_t standing[CALLS_MAX];
};

struct crew {
    const struct trial *trial;
    unsigned threads;
    unsigned maker[CALLS_MAX]; /* which thread makes the call */
    struct breaker breakers[LANES];
    struct atomic64 next_ns
        [THREADS]; /* when each thread has something to do next; released after it has done the former */
    struct outcome_of_run result;
};

struct worker {
    struct crew *crew;
    unsigned number;
    bool out[CALLS_MAX]; /* its calls that are outstanding */
    struct ticket ticket[CALLS_MAX];
};

static uint64_t end_ns(const struct trace_record *record) {
    return record->response_ns == TRACE_NEVER ? UINT64_MAX : record->start_ns + record->response_ns;
}

static void note(struct crew *crew, struct breaker *breaker, struct transition transition, uint64_t now_ns) {
    if (transition.pending) {
        transition = breaker_trip(breaker, &crew->trial->thresholds, &transition, now_ns);
    }
    if (transition.happened && crew->result.changes < CHANGES_MAX) {
        crew->result.change[crew->result.changes++] = transition;
    }
}

static void begin_call(struct worker *worker, unsigned call) {
    struct crew *crew = worker->crew;
    const struct trace_record *record = &crew->trial->record[call];
    struct breaker *breaker = &crew->breakers[crew->trial->lane[call]];
    struct admission admission =
        breaker_admit(breaker, &crew->trial->thresholds, record->kept ? ASK_REQUEST : ASK_CONNECT, true,
                      worker->number + 1, record->start_ns);
    note(crew, breaker, admission.transition, record->start_ns);
    worker->ticket[call] = admission.ticket;
    worker->out[call] = admission.ticket.standing != STANDING_REJECTED;
    crew->result.standing[call] = admission.ticket.standing;
}

static void end_call(struct worker *worker, unsigned call) {
    struct crew *crew = worker->crew;
    const struct trace_record *record = &crew->trial->record[call];
    struct breaker *breaker = &crew->breakers[crew->trial->lane[call]];
    struct call_end end = {.outcome = record->outcome,
                           .reason = record->reason,
                           .past_connect = !record->connect,
                           .started_ns = record->start_ns,
                           .response_ns = record->response_ns,
                           .exchange_ns = record->connect ? 0 : record->response_ns};
    worker->out[call] = false;
    note(crew, breaker,
         breaker_finish(breaker, &crew->trial->thresholds, worker->ticket[call], &end, end_ns(record)),
         end_ns(record));
}

/* What the worker has to do next: *call begins or, where it is out, ends. Returns when; UINT64_MAX for never. */
static uint64_t next_task(const struct worker *worker, unsigned from, unsigned *call) {
    const struct trial *trial = worker->crew->trial;
    uint64_t soonest = UINT64_MAX;
    for (unsigned i = 0; i < trial->calls; i++) {
        bool begins = i >= from && worker->crew->maker[i] == worker->number;
        uint64_t due = worker->out[i] ? end_ns(&trial->record[i])
                       : begins       ? trial->record[i].start_ns
                                      : UINT64_MAX;
        if (due < soonest) {
            soonest = due;
            *call = i;
        }
    }
    return soonest;
}

static bool is_first(const struct crew *crew, unsigned number, uint64_t due_ns) {
    for (unsigned i = 0; i < crew->threads; i++) {
        /* Acquires what that thread has done before. */
        if (i != number && atomic64_load_acquire(&crew->next_ns[i]) < due_ns) {
            return false;
        }
    }
    return true;
}

static void *work(void *argument) {
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    unsigned from = 0, call = 0;
    uint64_t due_ns;
    while ((due_ns = next_task(worker, from, &call)) != UINT64_MAX) {
        atomic64_store_release(&crew->next_ns[worker->number], due_ns);
        while (!is_first(crew, worker->number, due_ns)) {
            sched_yield();
        }
        if (worker->out[call]) {
            end_call(worker, call);
        } else {
            begin_call(worker, call);
            from = call + 1;
        }
    }
    atomic64_store_release(&crew->next_ns[worker->number], UINT64_MAX);
    return NULL;
}

static void run_crew(struct crew *crew, const struct trial *trial, unsigned threads) {
    static struct worker workers[THREADS];
    pthread_t handles[THREADS];
    memset(crew, 0, sizeof *crew);
    memset(workers, 0, sizeof workers);
    crew->trial = trial;
    crew->threads = threads;
    for (unsigned i = 0; i < trial->calls; i++) {
        crew->maker[i] = (unsigned)below(threads);
    }
    for (unsigned i = 0; i < trial->lanes; i++) {
        crew->breakers[i].endpoint.port = (uint16_t)i;
        breaker_adopt(&crew->breakers[i], &trial->thresholds);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].crew = crew;
        workers[i].number = i;
    }
    for (unsigned i = 1; i < threads; i++) {
        if (pthread_create(&handles[i], NULL, work, &workers[i]) != 0) {
            exit(2);
        }
    }
    work(&workers[0]);
    for (unsigned i = 1; i < threads; i++) {
        pthread_join(handles[i], NULL);
    }
}

/* Every start and every end at a time of its own. */
static bool times_are_distinct(const struct trial *trial) {
    for (unsigned i = 0; i < trial->calls; i++) {
        uint64_t times[] = {trial->record[i].start_ns, end_ns(&trial->record[i])};
        for (unsigned j = 0; j <= i; j++) {
            for (unsigned k = 0; k < 2; k++) {
                bool met = (j < i && (trial->record[j].start_ns == times[k] ||
                                      (times[k] != UINT64_MAX && end_ns(&trial->record[j]) == times[k]))) ||
                           (j == i && times[0] == times[1]);
                if (met) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Moves the calls apart by odd steps. */
static void part(struct trial *trial) {
    uint64_t later_ns = 0;
    for (unsigned i = 0; i < trial->calls; i++) {
        later_ns += 1 + below(1000) * 1009;
        trial->record[i].start_ns += later_ns;
        if (trial->record[i].response_ns != TRACE_NEVER) {
            trial->record[i].response_ns += 1 + below(1000) * 101;
        }
    }
}

static bool is_same(const struct outcome_of_run *a, const struct outcome_of_run *b) {
    bool same = a->changes == b->changes && memcmp(a->standing, b->standing, sizeof a->standing) == 0;
    for (unsigned i = 0; same && i < a->changes; i++) {
        const struct transition *x = &a->change[i], *y = &b->change[i];
        same = x->from == y->from && x->to == y->to && x->cause == y->cause && x->at_ns == y->at_ns &&
               x->connect_only == y->connect_only && x->retry_ns == y->retry_ns &&
               x->sums.calls == y->sums.calls && x->sums.errors == y->sums.errors &&
               x->sums.slow == y->sums.slow;
    }
    return same;
}

int main(int argc, char **argv) {
    static struct trial trial;
    static struct crew alone, together;
    uint64_t traces = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t compared = 0, changes = 0;
    for (uint64_t i = 0; compared < traces; i++) {
        chance_state = seed + i;
        random_trial(&trial);
        part(&trial);
        if (!times_are_distinct(&trial)) {
            continue;
        }
        run_crew(&alone, &trial, 1);
        run_crew(&together, &trial, THREADS);
        if (!is_same(&alone.result, &together.result)) {
            fprintf(stderr, "trace of seed %" PRIu64 ": four threads make something else of it\n", seed + i);
            return 1;
        }
        compared++;
        changes += alone.result.changes;
    }
    printf("%" PRIu64 " traces, %" PRIu64 " changes of state\n", compared, changes);
    return 0;
}
