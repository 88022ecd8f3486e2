/* Random events on one connection after another: whatever comes in whatever order, each call ends once, and no wait is
 * longer than the time that passed. ENGINE_ROUNDS connections, the first with the seed ENGINE_SEED. */
#include "lib/conversation.h"
#include "tests/programs/check.h"
#include "tests/programs/engine_samples.h"
#include "tests/programs/engine_time.h"

#define EVENTS 100

static struct {
    struct conversation conversation;
    uint8_t era;
    uint64_t seed, random, now_ns;
    unsigned given;    /* tickets */
    bool out;          /* the last of them has not come back */
    uint64_t begun_ns; /* when its call began */
} life;

#define HOLDS(condition) CHECK_SEED(life.seed, condition)

static uint64_t below(uint64_t limit) {
    return random_below(&life.random, limit);
}

static void pass_time(void) {
    static const uint64_t most[] = {1, US, MS, 100 * MS, SECOND, 10 * SECOND, HOUR};
    life.now_ns += below(2) ? 0 : below(most[below(sizeof most / sizeof *most)]);
}

static struct ticket give(void) {
    HOLDS(!life.out);
    life.out = true;
    life.begun_ns = life.now_ns;
    life.given++;
    return (struct ticket){(uint16_t)(life.given & 0xfff), (uint8_t)(life.given % 33), STANDING_COUNTED};
}

static void back(struct ticket ticket) {
    HOLDS(life.out && ticket.generation == (life.given & 0xfff) && ticket.permit == life.given % 33);
    HOLDS(ticket.standing == STANDING_COUNTED);
    life.out = false;
}

static void step_done(struct conversation_step step) {
    const struct call_end *end = &step.end;
    if (step.ended) {
        back(step.ticket);
        HOLDS(end->started_ns == life.begun_ns && end->response_ns <= life.now_ns - life.begun_ns);
        HOLDS(end->exchange_ns <= end->response_ns && (end->past_connect || end->exchange_ns == 0));
        HOLDS((end->outcome == OUTCOME_FAILURE) == (end->reason != REASON_NONE));
        HOLDS(!end->exchange || end->outcome == OUTCOME_SUCCESS);
    }
}

/* The bytes of a send; some of them are only the end of the sample, as after a short write. */
static size_t some_bytes(unsigned char *bytes) {
    static const char *const names[] = {"http", "redis",        "plain",    "tiny",        "hello",
                                        "ccs",  "key_exchange", "finished", "finished_01", "data",
                                        "data", "data_long",    "alert",    "hello_long"};
    size_t size = 0;
    for (uint64_t count = 1 + below(3); count > 0; count--) {
        size += sample_add(bytes + size, names[below(sizeof names / sizeof *names)]);
    }
    size_t skipped = below(4) ? 0 : below(size);
    memmove(bytes, bytes + skipped, size - skipped);
    return size - skipped;
}

static void do_send(void) {
    static unsigned char bytes[4 * 16406];
    struct ticket ticket;
    bool asks;
    step_done(conversation_sending(&life.conversation, life.era, life.now_ns, &asks));
    HOLDS(!(asks && life.out));
    if (asks && !conversation_request(&life.conversation, life.era, give(), life.now_ns)) {
        HOLDS(false); /* nobody else is there to begin one */
    }
    if (below(5) == 0) {
        if (conversation_unsent(&life.conversation, life.era, &ticket)) {
            back(ticket);
        }
        return;
    }
    size_t size = some_bytes(bytes), sent = below(3) ? size : 1 + below(size);
    uint64_t before_ns = life.now_ns;
    pass_time();
    struct sent_piece pieces[2] = {{bytes, size / 2}, {bytes + size / 2, size - size / 2}};
    if (conversation_sent(&life.conversation, life.era, pieces, 2, sent, before_ns, life.now_ns, &ticket)) {
        back(ticket);
    }
}

static void do_receive(void) {
    bool answered;
    uint64_t arrived_ns = below(3) ? life.now_ns : life.now_ns - below(SECOND);
    step_done(conversation_received(&life.conversation, life.era, life.now_ns, arrived_ns, &answered));
    HOLDS(!answered || life.out);
}

static void do_leave(void) {
    struct conversation_leave leave = {.timed_out = below(2) != 0,
                                       .waited_here = below(2) != 0,
                                       .answered = below(2) != 0,
                                       .facts = {.arrived = below(4) == 0,
                                                 .unconnected = below(4) == 0,
                                                 .exchanged = below(4) == 0,
                                                 .asked = below(4) == 0,
                                                 .ended = below(4) == 0 ? REASON_CLOSED : REASON_NONE,
                                                 .wait_ns = below(SECOND)},
                                       .give_up_ns = below(2) ? CONVERSATION_GIVE_UP : SECOND};
    step_done(conversation_left(&life.conversation, life.era, &leave, life.now_ns));
    HOLDS(!life.out);
}

static void do_event(void) {
    struct conversation *conversation = &life.conversation;
    switch (below(16)) {
    case 0:
        step_done(conversation_established(conversation, life.era, life.now_ns));
        break;
    case 1:
        conversation_receiving(conversation, life.era, life.now_ns);
        break;
    case 2:
        step_done(conversation_timed_out(conversation, life.era, life.now_ns));
        break;
    case 3:
        if (below(8) == 0) {
            step_done(conversation_end_of_stream(conversation, life.era, life.now_ns));
        }
        break;
    case 4:
        if (below(8) == 0) {
            enum failure_reason reason = (enum failure_reason)below(REASON_COUNT);
            step_done(conversation_failed(conversation, life.era, reason, life.now_ns));
            HOLDS(!life.out);
        }
        break;
    case 5:
        if (below(4) == 0) {
            conversation_half_closed(conversation, life.era);
        }
        break;
    case 6:
        if (below(8) == 0) {
            life.era++;
            life.out = false; /* the parent's */
        }
        break;
    case 7:
    case 8:
    case 9:
    case 10:
        do_receive();
        break;
    default:
        do_send();
    }
}

/* One connection, from connect to close. */
static void live(void) {
    enum rule_judge judge = (enum rule_judge)below(4);
    enum rule_protocol protocol = (enum rule_protocol)below(4);
    conversation_connect(&life.conversation, life.era, judge, protocol, give(), life.now_ns);
    for (uint64_t events = below(EVENTS); events > 0; events--) {
        do_event();
        HOLDS(conversation_is_outstanding(&life.conversation, life.era) == life.out);
        HOLDS(!conversation_is_left_out(&life.conversation, life.era) || !life.out);
        HOLDS(conversation_response_ns(&life.conversation, life.now_ns) <= life.now_ns);
        pass_time();
    }
    do_leave();
}

int main(void) {
    uint64_t seed = number_from("ENGINE_SEED", 1), rounds = number_from("ENGINE_ROUNDS", 30000);
    for (uint64_t i = 0; i < rounds; i++) {
        memset(&life, 0, sizeof life);
        life.seed = life.random = seed + i;
        life.now_ns = DAY;
        live();
        pass_time();
        live(); /* the same descriptor again */
    }
    return 0;
}
