/* 16 threads in 4 processes at one breaker that opens and closes all the time, each of them held up now and then at any
 * instruction. Asserted: the lifetime totals are exact; never more than `probes` probes are out in one HALF_OPEN, nor end
 * in all; each change of state is a legal one and is reported exactly once.
 *
 *   engine_contend run|killed     ENGINE_ROUNDS, ENGINE_SEED
 */
#include "tests/programs/engine_breaker.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES       4
#define THREADS         4
#define CALLS           6000 /* a thread and round */
#define GENERATIONS_MAX 4000 /* a round ends before the number of a generation comes again */

struct generation {
    struct atomic64 out, most_out, ended;
};

static struct {
    struct breaker breaker;
    struct atomic64 calls, errors, slow, ignored, rejected, opened, changes, illegal;
    struct generation generations[CONTROL_GENERATION_MASK + 1];
} * shared;

static uint64_t seed;

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void count(struct atomic64 *counter) {
    atomic64_add_relaxed(counter, 1);
}

static bool is_legal(const struct transition *transition) {
    switch (transition->from) {
    case STATE_CLOSED:
        return transition->to == STATE_OPEN;
    case STATE_OPEN:
        return transition->to == STATE_HALF_OPEN && transition->cause == CAUSE_OPEN_FOR;
    default:
        return transition->to == (transition->cause == CAUSE_PROBES_PASSED ? STATE_CLOSED : STATE_OPEN);
    }
}

static void note_transition(struct transition transition) {
    if (transition.happened) {
        count(&shared->changes);
        atomic64_add_relaxed(&shared->opened, transition.to == STATE_OPEN);
        atomic64_add_relaxed(&shared->illegal, !is_legal(&transition));
    }
}

/* --- one call --- */

static void probe_begins(struct ticket ticket) {
    struct generation *generation = &shared->generations[ticket.generation];
    uint64_t out = atomic64_add_relaxed(&generation->out, 1) + 1;
    uint64_t most = atomic64_load_relaxed(&generation->most_out);
    while (out > most && !atomic64_swap_acq_rel(&generation->most_out, &most, out)) {
    }
}

static struct call_end some_end(uint64_t *random, uint64_t now_ns) {
    bool ill = now_ns / (4 * MS) % 2 != 0; /* for 4 ms, then well for 4 ms */
    struct call_end end = random_below(random, 100) < (ill ? 80 : 5) ? ended_reset : ended_well;
    end.past_connect = random_below(random, 2) != 0;
    end.response_ns = random_below(random, 20) == 0 ? 2 * SECOND : MS;
    end.started_ns = now_ns;
    return random_below(random, 50) ? end : ended_ignored;
}

static void make_call(uint64_t *random) {
    uint64_t now_ns = clock_ns();
    struct admission admission = breaker_admit(
        &shared->breaker, &rule, random_below(random, 4) ? ASK_CONNECT : ASK_REQUEST, true, 1, now_ns);
    struct ticket ticket = admission.ticket;
    note_transition(admission.transition);
    if (ticket.standing == STANDING_REJECTED) {
        count(&shared->rejected);
        usleep(20);
        return;
    }
    struct call_end end = some_end(random, now_ns);
    bool made = random_below(random, 50) != 0, ends = made && end.outcome != OUTCOME_IGNORED;
    if (ticket.permit != 0) {
        probe_begins(ticket);
        usleep((unsigned)random_below(random, 200));
        atomic64_add_relaxed(&shared->generations[ticket.generation].ended, ends);
        atomic64_add_relaxed(&shared->generations[ticket.generation].out, ends ? 0 : UINT64_MAX);
    }
    if (!made) {
        breaker_release(&shared->breaker, &rule, ticket);
        return;
    }
    atomic64_add_relaxed(&shared->ignored, !ends);
    atomic64_add_relaxed(&shared->calls, ends);
    atomic64_add_relaxed(&shared->errors, end.outcome == OUTCOME_FAILURE);
    atomic64_add_relaxed(&shared->slow, ends && end.response_ns > rule.slow_call_ns);
    note_transition(breaker_finish(&shared->breaker, &rule, ticket, &end, clock_ns()));
}

static void *make_calls(void *argument) {
    uint64_t random = *(uint64_t *)argument;
    for (unsigned i = 0; i < CALLS && atomic64_load_relaxed(&shared->changes) < GENERATIONS_MAX; i++) {
        make_call(&random);
    }
    return NULL;
}

/* --- processes --- */

static void hold_up(int signal_number) {
    (void)signal_number;
    usleep(1500);
}

static void run_process(unsigned process) {
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS], random = seed + process;
    struct sigaction action = {.sa_handler = hold_up, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = random_next(&random);
        CHECK(pthread_create(&threads[i], NULL, make_calls, &seeds[i]) == 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        usleep((unsigned)random_below(&random, 1000));
        pthread_kill(threads[random_below(&random, THREADS)],
                     SIGUSR1); /* ended or not, it is still to be joined */
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static void round_begin(pid_t children[PROCESSES]) {
    fresh();
    rule.probes = 3;
    rule.window_ms = 5;
    rule.buckets = 10;
    rule.consecutive_errors = 5;
    rule.open_for_ns = 300 * US;
    rule.probe_timeout_ns = 2 * MS;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    breaker_adopt(&shared->breaker, &rule);
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            run_process(i);
            _exit(0);
        }
    }
}

static bool is_same(const struct atomic64 *count_kept, const struct atomic64 *count_seen) {
    return atomic64_load_relaxed(count_kept) == atomic64_load_relaxed(count_seen);
}

static void check_probes(void) {
    for (unsigned i = 0; i <= CONTROL_GENERATION_MASK; i++) {
        CHECK_SEED(seed, atomic64_load_relaxed(&shared->generations[i].most_out) <= rule.probes);
        CHECK_SEED(seed, atomic64_load_relaxed(&shared->generations[i].ended) <= rule.probes);
    }
    CHECK_SEED(seed, atomic64_load_relaxed(&shared->illegal) == 0);
}

static void run_round(void) {
    pid_t children[PROCESSES];
    round_begin(children);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    const struct breaker_totals *totals = &shared->breaker.totals;
    CHECK_SEED(seed, is_same(&totals->calls, &shared->calls) && is_same(&totals->errors, &shared->errors));
    CHECK_SEED(seed, is_same(&totals->reasons[REASON_RESET], &shared->errors));
    CHECK_SEED(seed, is_same(&totals->slow, &shared->slow) && is_same(&totals->ignored, &shared->ignored));
    CHECK_SEED(seed, is_same(&totals->rejected, &shared->rejected));
    CHECK_SEED(seed, is_same(&totals->opened, &shared->opened));
    uint16_t generation = breaker_view(&shared->breaker, clock_ns()).generation;
    CHECK_SEED(seed, atomic64_load_relaxed(&shared->changes) == generation && generation > 10);
    check_probes();
    munmap(shared, sizeof *shared);
}

static void test_run(void) {
    uint64_t first = number_from("ENGINE_SEED", 1), rounds = number_from("ENGINE_ROUNDS", 4);
    for (seed = first; seed < first + rounds; seed++) {
        run_round();
    }
}

/* A process that is killed at any moment leaves nothing for the others to stumble over. */
static void test_killed(void) {
    uint64_t first = number_from("ENGINE_SEED", 1), rounds = number_from("ENGINE_ROUNDS", 10);
    for (seed = first; seed < first + rounds; seed++) {
        pid_t children[PROCESSES];
        int status;
        uint64_t random = seed;
        round_begin(children);
        for (unsigned i = 0; i < PROCESSES - 1; i++) {
            usleep((unsigned)random_below(&random, 10000));
            CHECK(kill(children[i], SIGKILL) == 0 && waitpid(children[i], &status, 0) == children[i]);
        }
        CHECK(waitpid(children[PROCESSES - 1], &status, 0) == children[PROCESSES - 1] && status == 0);
        check_probes();
        /* It opens for want of the probes that are gone, at the latest, and then gives new ones. */
        uint64_t deadline_ns = clock_ns() + SECOND;
        while (breaker_view(&shared->breaker, clock_ns()).state != STATE_CLOSED) {
            uint64_t now_ns = clock_ns();
            CHECK_SEED(seed, now_ns < deadline_ns);
            struct ticket ticket =
                breaker_admit(&shared->breaker, &rule, ASK_CONNECT, true, 1, now_ns).ticket;
            breaker_finish(&shared->breaker, &rule, ticket, &ended_well, now_ns);
        }
        munmap(shared, sizeof *shared);
    }
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"run", test_run}, {"killed", test_killed}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
