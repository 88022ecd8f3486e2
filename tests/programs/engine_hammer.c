/* 16 threads in 4 processes count into one window at once, while its buckets are recycled every 200 us, its generation
 * changes thousands of times and some clocks are up to 3 ms late. Then three things are asserted:
 *
 *   - each call that was said to be counted is counted once;
 *   - each bucket of each generation ended with exactly what was counted into it, `errors` and `slow` too;
 *   - no word of a bucket was ever replaced by an older one.
 *
 * For that lib/window.c is built into this program with its atomic accesses watched: each thread logs under which tag it
 * has counted, and what it found in the words it recycled. Before an access it sometimes gives up the processor, where a
 * thread that is held up would do most harm.
 *
 *   engine_hammer [ROUNDS]     ENGINE_SEED: seed of the first round
 */
#include "lib/atomic64.h"
#include "lib/control.h"
#include "tests/programs/check.h"
#include "tests/programs/engine_time.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- the watched window --- */

static uint64_t watched_load(const struct atomic64 *word);
static bool watched_swap(struct atomic64 *word, uint64_t *seen, uint64_t next);
static uint64_t watched_add(struct atomic64 *word, uint64_t amount);

/* The engine that every test program is linked with has functions of these names too. */
#define window_shape         watched_window_shape
#define window_bucket_number watched_window_bucket_number
#define window_covers        watched_window_covers
#define window_is_idle       watched_window_is_idle
#define window_add           watched_window_add
#define window_sums          watched_window_sums

#define atomic64_load_acquire watched_load
#define atomic64_swap_acq_rel watched_swap
#define atomic64_add_relaxed  watched_add
#include "lib/window.c" /* NOLINT(bugprone-suspicious-include) */
#undef atomic64_load_acquire
#undef atomic64_swap_acq_rel
#undef atomic64_add_relaxed

#define PROCESSES   4
#define THREADS     4
#define ALL_THREADS (PROCESSES * THREADS)
#define CALLS       20000 /* a thread and round */
#define BUCKETS     5
#define FIELDS      3 /* calls, errors, slow */
#define LOG_MAX     (CALLS * 8)

/* Counts under one tag of one word: found there, less those that a thread says to have put there. */
struct entry {
    uint64_t key; /* tag | word's number in the window */
    int64_t count;
};

struct log {
    uint64_t results[WINDOW_SCRIBBLED + 1];
    uint64_t evicted;
    uint64_t used;
    struct entry entries[LOG_MAX];
};

static struct {
    struct window window;
    struct atomic64 control;
    struct atomic64 generations;
    uint64_t calls_a_generation;
    struct log logs[ALL_THREADS];
} * shared;

/* Of this thread. */
static __thread struct log *mine;
static __thread uint64_t random_state;
static __thread uint64_t last_entry[FIELDS]; /* index + 1 of the last claim */
static __thread const struct atomic64 *seen_word;
static __thread uint64_t seen_value;

/* The number of a counting word in the window, -1 for any other word. */
static int number_of(const struct atomic64 *word) {
    for (int slot = 0; slot < BUCKETS; slot++) {
        const struct window_bucket *bucket = &shared->window.buckets[slot];
        const struct atomic64 *words[FIELDS] = {&bucket->calls, &bucket->errors, &bucket->slow};
        for (int field = 0; field < FIELDS; field++) {
            if (word == words[field]) {
                return slot * FIELDS + field;
            }
        }
    }
    return -1;
}

static void note(uint64_t word, int number, int64_t count) {
    CHECK(mine->used < LOG_MAX);
    mine->entries[mine->used++] = (struct entry){(word & TAG_MASK) | (unsigned)number, count};
}

static void note_claim(uint64_t word, int number) {
    uint64_t *last = &last_entry[number % FIELDS];
    if (*last == 0 || mine->entries[*last - 1].key != ((word & TAG_MASK) | (unsigned)number)) {
        note(word, number, 0);
        *last = mine->used;
    }
    mine->entries[*last - 1].count--;
}

/* True when a is of a later era than b: in the generation, or in the same one in the lap. */
static bool is_later(uint64_t a, uint64_t b) {
    uint64_t ahead = (a >> 52) - (b >> 52);
    if ((ahead & CONTROL_GENERATION_MASK) != 0) {
        return (ahead & CONTROL_GENERATION_MASK) <= CONTROL_GENERATION_MASK / 2;
    }
    return (a & TAG_MASK) > (b & TAG_MASK);
}

static void be_held_up(uint64_t one_in) {
    if (random_below(&random_state, one_in) == 0) {
        sched_yield();
    }
}

static uint64_t watched_load(const struct atomic64 *word) {
    be_held_up(200);
    uint64_t value = atomic64_load_acquire(word);
    if (number_of(word) >= 0) {
        seen_word = word;
        seen_value = value;
    }
    return value;
}

static bool watched_swap(struct atomic64 *word, uint64_t *seen, uint64_t next) {
    int number = number_of(word);
    uint64_t was = *seen;
    bool recycles = number >= 0 && (was & TAG_MASK) != (next & TAG_MASK);
    be_held_up(200);
    if (recycles && random_below(&random_state, 8) == 0) {
        usleep(1500); /* a whole window */
    }
    bool swapped = atomic64_swap_acq_rel(word, seen, next);
    if (number >= 0 && swapped) {
        if (recycles) {
            note(was, number, (int64_t)(was & WINDOW_COUNT_MAX));
            mine->evicted += is_later(was, next);
        }
        note_claim(next, number);
    } else if (number >= 0) {
        seen_word = word;
        seen_value = *seen;
    }
    return swapped;
}

/* The window adds to no word without looking; a mistaken one that did would mean the tag it saw last. */
static uint64_t watched_add(struct atomic64 *word, uint64_t amount) {
    int number = number_of(word);
    be_held_up(50);
    uint64_t was = atomic64_add_relaxed(word, amount);
    if (number >= 0) {
        note_claim(word == seen_word ? seen_value : was, number);
    }
    return was;
}

/* --- one thread --- */

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void next_generation(void) {
    uint64_t seen = atomic64_load_acquire(&shared->control);
    uint64_t next = control_make(0, false, 0, (uint16_t)(control_generation(seen) + 1), 0);
    watched_add(&shared->generations, atomic64_swap_acq_rel(&shared->control, &seen, next));
}

static void *count_calls(void *argument) {
    mine = argument;
    random_state = number_from("ENGINE_SEED", 1) + (uint64_t)(mine - shared->logs) + (uint64_t)getpid();
    for (unsigned i = 0; i < CALLS; i++) {
        uint64_t now_ns = clock_ns();
        uint16_t generation = control_generation(atomic64_load_acquire(&shared->control));
        if (random_below(&random_state, 256) == 0) {
            now_ns -= random_below(&random_state, 3 * MS);
        }
        enum failure_reason reason = random_below(&random_state, 3) ? REASON_NONE : REASON_RESET;
        bool slow = random_below(&random_state, 3) == 0;
        mine->results[window_add(&shared->window, &shared->control, generation, now_ns, reason, slow)]++;
        if (random_below(&random_state, shared->calls_a_generation) == 0) {
            next_generation();
        }
        if (random_below(&random_state, 1000) == 0) {
            struct window_sums sums = window_sums(&shared->window, generation, clock_ns());
            CHECK(sums.errors <= sums.calls && sums.slow <= sums.calls);
        }
    }
    return NULL;
}

static void run_process(unsigned process) {
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        struct log *log = &shared->logs[process * THREADS + i];
        CHECK(pthread_create(&threads[i], NULL, count_calls, log) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

/* --- the reckoning --- */

static int by_key(const void *a, const void *b) {
    uint64_t key_a = ((const struct entry *)a)->key, key_b = ((const struct entry *)b)->key;
    return key_a < key_b ? -1 : key_a > key_b;
}

/* Adds what the words still hold; returns how many (generation, bucket, word) were counted into, and in *wrong in how
 * many of them something else was found than was put there. */
static uint64_t reckon(struct entry *entries, size_t used, uint64_t *wrong) {
    uint64_t groups = 0;
    for (int slot = 0; slot < BUCKETS; slot++) {
        const struct window_bucket *bucket = &shared->window.buckets[slot];
        const struct atomic64 *words[FIELDS] = {&bucket->calls, &bucket->errors, &bucket->slow};
        for (int field = 0; field < FIELDS; field++) {
            uint64_t word = atomic64_load_acquire(words[field]);
            entries[used++] = (struct entry){(word & TAG_MASK) | (unsigned)(slot * FIELDS + field),
                                             (int64_t)(word & WINDOW_COUNT_MAX)};
        }
    }
    qsort(entries, used, sizeof *entries, by_key);
    for (size_t at = 0; at < used; groups++) {
        int64_t sum = 0;
        size_t end = at;
        while (end < used && entries[end].key == entries[at].key) {
            sum += entries[end++].count;
        }
        *wrong += sum != 0;
        at = end;
    }
    return groups;
}

static void check_round(void) {
    uint64_t results[WINDOW_SCRIBBLED + 1] = {0}, evicted = 0, wrong = 0;
    int64_t claimed = 0;
    size_t used = 0;
    struct entry *entries = malloc((ALL_THREADS * LOG_MAX + BUCKETS * FIELDS) * sizeof *entries);
    CHECK(entries != NULL);
    for (unsigned i = 0; i < ALL_THREADS; i++) {
        const struct log *log = &shared->logs[i];
        for (unsigned result = 0; result <= WINDOW_SCRIBBLED; result++) {
            results[result] += log->results[result];
        }
        for (uint64_t entry = 0; entry < log->used; entry++) {
            entries[used++] = log->entries[entry];
            bool is_calls = (log->entries[entry].key & WINDOW_COUNT_MAX) % FIELDS == 0;
            claimed -= is_calls && log->entries[entry].count < 0 ? log->entries[entry].count : 0;
        }
        evicted += log->evicted;
    }
    uint64_t groups = reckon(entries, used, &wrong);
    free(entries);
    printf(
        "%llu counted, %llu late, %llu generations, %llu words: %llu wrong, %llu replaced by an older one\n",
        (unsigned long long)results[WINDOW_ADDED], (unsigned long long)results[WINDOW_LATE],
        (unsigned long long)atomic64_load_relaxed(&shared->generations), (unsigned long long)groups,
        (unsigned long long)wrong, (unsigned long long)evicted);
    CHECK(results[WINDOW_ADDED] + results[WINDOW_LATE] + results[WINDOW_SCRIBBLED] == ALL_THREADS * CALLS);
    CHECK(results[WINDOW_ADDED] == (uint64_t)claimed);
    CHECK(wrong == 0);
    CHECK(evicted == 0);
}

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
    for (unsigned long round = 0; round < rounds; round++) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CHECK(shared != MAP_FAILED);
        atomic64_store_relaxed(&shared->window.shape, window_shape(1, BUCKETS));
        atomic64_store_relaxed(&shared->control, control_make(0, false, 0, 1, 0));
        /* By turns generations change so often that their number comes again, and so seldom that only the pace tells a
         * late writer. */
        shared->calls_a_generation = round % 2 == 0 ? 64 : 20000;
        pid_t children[PROCESSES];
        for (unsigned i = 0; i < PROCESSES; i++) {
            fflush(stdout);
            children[i] = fork();
            CHECK(children[i] >= 0);
            if (children[i] == 0) {
                run_process(i);
                _exit(0);
            }
        }
        for (unsigned i = 0; i < PROCESSES; i++) {
            int status;
            CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
        }
        check_round();
        munmap(shared, sizeof *shared);
    }
    return 0;
}
