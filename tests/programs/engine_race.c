/* Two senders, a receiver and one who closes, all on one connection at once: however they race, each call that was begun
 * ends exactly once, and with its own ticket. ENGINE_ROUNDS connections, the first with the seed ENGINE_SEED. */
#include "lib/conversation.h"
#include "tests/programs/check.h"
#include "tests/programs/engine_samples.h"
#include "tests/programs/engine_time.h"

#include <pthread.h>

#define THREADS     4
#define EVENTS      40
#define TICKETS_MAX 1024

static struct {
    struct conversation conversation;
    struct atomic64 now_ns;
    struct atomic64 given;                 /* tickets */
    struct atomic64 returned[TICKETS_MAX]; /* how often each came back */
    struct atomic64 ended;                 /* calls */
    pthread_barrier_t gate;
    uint64_t seed, rounds;
} shared;

struct player {
    unsigned role;
    uint64_t random;
};

static uint64_t clock_now(void) {
    return atomic64_add_relaxed(&shared.now_ns, 100 * US);
}

static struct ticket give(void) {
    uint64_t number = atomic64_add_relaxed(&shared.given, 1);
    CHECK(number < TICKETS_MAX);
    return (struct ticket){(uint16_t)number, (uint8_t)(number % 33), STANDING_COUNTED};
}

static void back(struct ticket ticket) {
    CHECK(ticket.standing == STANDING_COUNTED && ticket.generation < TICKETS_MAX);
    CHECK(ticket.permit == ticket.generation % 33);
    atomic64_add_relaxed(&shared.returned[ticket.generation], 1);
}

static void step_done(struct conversation_step step) {
    if (step.ended) {
        atomic64_add_relaxed(&shared.ended, 1);
        back(step.ticket);
    }
}

static void do_send(struct player *player) {
    static const char *const names[] = {"http", "redis", "data", "alert", "hello", "tiny"};
    static const size_t count = sizeof names / sizeof *names;
    unsigned char bytes[512];
    struct ticket ticket;
    bool asks;
    size_t size = sample_add(bytes, names[random_below(&player->random, count)]);
    step_done(conversation_sending(&shared.conversation, 0, clock_now(), &asks));
    if (asks) {
        ticket = give();
        if (!conversation_request(&shared.conversation, 0, ticket, clock_now())) {
            back(ticket);
        }
    }
    struct sent_piece piece = {bytes, size};
    uint64_t now_ns = clock_now();
    if (random_below(&player->random, 4) == 0
            ? conversation_unsent(&shared.conversation, 0, &ticket)
            : conversation_sent(&shared.conversation, 0, &piece, 1, size, now_ns, now_ns, &ticket)) {
        back(ticket);
    }
}

static void do_receive(struct player *player) {
    bool answered;
    uint64_t now_ns = clock_now();
    conversation_receiving(&shared.conversation, 0, now_ns);
    switch (random_below(&player->random, 16)) {
    case 0:
        step_done(conversation_timed_out(&shared.conversation, 0, now_ns));
        break;
    case 1:
        conversation_half_closed(&shared.conversation, 0);
        break;
    default:
        step_done(conversation_received(&shared.conversation, 0, now_ns, now_ns, &answered));
    }
}

/* The one who closes: at last, and sometimes with an error before. */
static void do_close(struct player *player) {
    struct conversation_leave leave = {.timed_out = random_below(&player->random, 2) != 0,
                                       .give_up_ns = CONVERSATION_GIVE_UP};
    for (uint64_t turns = random_below(&player->random, EVENTS * 4); turns > 0; turns--) {
        conversation_is_outstanding(&shared.conversation, 0);
        if (random_below(&player->random, 8) == 0) {
            step_done(conversation_established(&shared.conversation, 0, clock_now()));
        }
    }
    if (random_below(&player->random, 3) == 0) {
        step_done(conversation_failed(&shared.conversation, 0, REASON_RESET, clock_now()));
    }
    step_done(conversation_left(&shared.conversation, 0, &leave, clock_now()));
}

static void round_begin(uint64_t *random) {
    for (uint64_t number = atomic64_load_relaxed(&shared.given); number > 0; number--) {
        atomic64_store_relaxed(&shared.returned[number - 1], 0);
    }
    atomic64_store_relaxed(&shared.given, 0);
    enum rule_judge judge = (enum rule_judge)random_below(random, 4);
    enum rule_protocol protocol = (enum rule_protocol)random_below(random, 4);
    conversation_connect(&shared.conversation, 0, judge, protocol, give(), clock_now());
    if (random_below(random, 2)) {
        step_done(conversation_established(&shared.conversation, 0, clock_now()));
    }
}

static void round_end(uint64_t seed) {
    CHECK_SEED(seed, !conversation_is_outstanding(&shared.conversation, 0));
    for (uint64_t number = 0; number < atomic64_load_relaxed(&shared.given); number++) {
        CHECK_SEED(seed, atomic64_load_relaxed(&shared.returned[number]) == 1);
    }
}

static void *play(void *argument) {
    struct player *player = argument;
    for (uint64_t round = 0; round < shared.rounds; round++) {
        uint64_t seed = shared.seed + round;
        player->random = seed * THREADS + player->role;
        if (player->role == 0) {
            round_begin(&player->random);
        }
        pthread_barrier_wait(&shared.gate);
        for (unsigned event = 0; event < EVENTS && player->role != 0; event++) {
            player->role == 1 ? do_receive(player) : do_send(player);
        }
        if (player->role == 0) {
            do_close(player);
        }
        pthread_barrier_wait(&shared.gate);
        if (player->role == 0) {
            round_end(seed);
        }
    }
    return NULL;
}

int main(void) {
    struct player players[THREADS];
    pthread_t threads[THREADS];
    shared.seed = number_from("ENGINE_SEED", 1);
    shared.rounds = number_from("ENGINE_ROUNDS", 10000);
    atomic64_store_relaxed(&shared.now_ns, DAY);
    CHECK(pthread_barrier_init(&shared.gate, NULL, THREADS) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        players[i].role = i;
        CHECK(pthread_create(&threads[i], NULL, play, &players[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(atomic64_load_relaxed(&shared.ended) >= shared.rounds);
    return 0;
}
