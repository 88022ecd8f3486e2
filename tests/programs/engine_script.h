/* A conversation driven by a script in which time is a number.
 *
 * A script is a text of events, each "TIME EVENT [ARGUMENT...] [= RESULT]", separated by ';', times in milliseconds:
 *
 *   "0 connect; 5 up; 1000 send http; 1020 bytes = success 25 20 past heard"
 *
 * RESULT is all that the event brings, in this order; without one it must bring nothing:
 *
 *   OUTCOME RESPONSE_MS EXCHANGE_MS in|past [heard]   a call ended so: success, ignored or the reason of its failure;
 *                                                     in its connect or past it; heard: bytes were received
 *   asks       a call begins with this send             released   the send was no request: its ticket came back
 *   answered   TLS: bytes of a call that goes on
 *
 * Events: connect, up, fail REASON, send BYTES [SIZE] [until TIME], begin, sent BYTES [SIZE], blocked, receive,
 * bytes [at TIME], eof, timeout, shut, close [timed_out] [here] [answered] [arrived] [unconnected] [exchanged] [asked]
 * [wait MS] [ended REASON] [give_up MS], fork, and look, whose result says what the connection is in. BYTES are names of
 * samples joined by '+'. Every ticket must come back exactly once: with the end of its own call, or released.
 */
#ifndef CUTOUT_TESTS_ENGINE_SCRIPT_H
#define CUTOUT_TESTS_ENGINE_SCRIPT_H

#include "lib/conversation.h"
#include "lib/protocol.h"
#include "tests/programs/check.h"
#include "tests/programs/engine_samples.h"
#include "tests/programs/engine_time.h"

#define BYTES_MAX (256u * 1024)
#define WORDS_MAX 12

struct script {
    const char *title;
    enum rule_judge judge;
    enum rule_protocol protocol;
    const char *events;
};

/* How the bytes of each send are cut: not at all, into small pieces of one send, or into two sends. */
enum cut { CUT_NONE, CUT_PIECES, CUT_SENDS };

static struct {
    const struct script *script;
    enum cut cut;
    size_t cut_at;
    struct conversation conversation;
    uint8_t era;
    unsigned given; /* tickets */
    bool out[64];   /* those that have not come back */
    const char *event;
    char result[200];
} scripted;

static inline void script_fail(const char *wanted) {
    fprintf(stderr, "%s (cut %d at %zu): '%s' brings '%s', wanted '%s'\n", scripted.script->title,
            (int)scripted.cut, scripted.cut_at, scripted.event, scripted.result, wanted);
    exit(1);
}

/* Time 0 of a script is a day after boot. */
static inline uint64_t script_time(const char *text) {
    return (uint64_t)(strtod(text, NULL) * 1e6 + 0.5) + DAY;
}

static inline void result_add(const char *text) {
    size_t used = strlen(scripted.result);
    snprintf(scripted.result + used, sizeof scripted.result - used, "%s%s", used ? " " : "", text);
}

/* --- tickets: each one tells itself from the others --- */

static inline struct ticket ticket_give(void) {
    unsigned number = scripted.given++;
    CHECK(number < sizeof scripted.out / sizeof *scripted.out);
    scripted.out[number] = true;
    return (struct ticket){(uint16_t)(4000 + number), (uint8_t)(number % 33), STANDING_COUNTED};
}

static inline void ticket_back(struct ticket ticket) {
    unsigned number = ticket.generation - 4000u;
    if (ticket.standing != STANDING_COUNTED || number >= scripted.given || !scripted.out[number] ||
        number != scripted.given - 1 || ticket.permit != number % 33) {
        script_fail("its own ticket, once");
    }
    scripted.out[number] = false;
}

static inline void step_done(struct conversation_step step) {
    char text[100];
    if (!step.ended) {
        return;
    }
    ticket_back(step.ticket);
    const char *outcome = step.end.outcome == OUTCOME_FAILURE ? failure_reason_name(step.end.reason)
                                                              : outcome_name(step.end.outcome);
    snprintf(text, sizeof text, "%s %.12g %.12g %s%s", outcome, (double)step.end.response_ns / 1e6,
             (double)step.end.exchange_ns / 1e6, step.end.past_connect ? "past" : "in",
             step.end.exchange ? " heard" : "");
    CHECK((step.end.outcome == OUTCOME_FAILURE) == (step.end.reason != REASON_NONE));
    result_add(text);
}

/* --- sending --- */

static inline void send_begin(uint64_t now_ns) {
    bool asks;
    step_done(conversation_sending(&scripted.conversation, scripted.era, now_ns, &asks));
    if (asks) {
        result_add("asks");
        CHECK(conversation_request(&scripted.conversation, scripted.era, ticket_give(), now_ns));
    }
}

static inline void send_end(const unsigned char *bytes, size_t size, uint64_t now_ns, uint64_t until_ns) {
    static struct sent_piece pieces[BYTES_MAX + 1];
    size_t count = 0, step = scripted.cut == CUT_PIECES ? scripted.cut_at : size;
    for (size_t at = 0; at < size; at += step) {
        pieces[count++] = (struct sent_piece){bytes + at, size - at < step ? size - at : step};
    }
    pieces[count++] = (struct sent_piece){bytes, 1000}; /* what was not sent any more */
    if (!conversation_is_long(&scripted.conversation, size)) {
        until_ns = now_ns;
    }
    struct ticket ticket;
    if (conversation_sent(&scripted.conversation, scripted.era, pieces, count, size, now_ns, until_ns,
                          &ticket)) {
        ticket_back(ticket);
        result_add("released");
    }
}

/* BYTES [SIZE] [until TIME]; begins says whether the send is seen to begin. */
static inline void script_send(char **words, uint64_t now_ns, bool begins) {
    static unsigned char bytes[BYTES_MAX];
    size_t size = 0;
    char *rest = NULL;
    for (char *name = strtok_r(words[0], "+", &rest); name != NULL; name = strtok_r(NULL, "+", &rest)) {
        size += sample_add(bytes + size, name);
    }
    unsigned next = 1;
    if (words[next] != NULL && strcmp(words[next], "until") != 0) {
        size_t whole = strtoul(words[next++], NULL, 10);
        CHECK(whole >= size && whole <= BYTES_MAX - 1000);
        memset(bytes + size, 0, whole - size);
        size = whole;
    }
    uint64_t until_ns = words[next] != NULL ? script_time(words[next + 1]) : now_ns;
    size_t first = begins && scripted.cut == CUT_SENDS && scripted.cut_at < size ? scripted.cut_at : 0;
    if (begins) {
        send_begin(now_ns);
    }
    if (first > 0) {
        send_end(bytes, first, now_ns, until_ns);
        send_begin(now_ns);
    }
    send_end(bytes + first, size - first, now_ns, until_ns);
}

static inline void script_blocked(uint64_t now_ns) {
    struct ticket ticket;
    send_begin(now_ns);
    if (conversation_unsent(&scripted.conversation, scripted.era, &ticket)) {
        ticket_back(ticket);
        result_add("released");
    }
}

/* --- the other events --- */

static inline enum failure_reason reason_of(const char *name) {
    for (unsigned reason = 0; reason < REASON_COUNT; reason++) {
        if (strcmp(failure_reason_name((enum failure_reason)reason), name) == 0) {
            return (enum failure_reason)reason;
        }
    }
    fprintf(stderr, "no such reason: %s\n", name);
    exit(2);
}

static inline void script_close(char **words, uint64_t now_ns) {
    struct conversation_leave leave = {.give_up_ns = CONVERSATION_GIVE_UP};
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], "give_up") == 0) {
            leave.give_up_ns = script_time(words[++i]) - DAY;
            continue;
        }
        if (strcmp(words[i], "wait") == 0) {
            leave.facts.wait_ns = script_time(words[++i]) - DAY;
            continue;
        }
        if (strcmp(words[i], "ended") == 0) {
            leave.facts.ended = reason_of(words[++i]);
            continue;
        }
        bool *flag = strcmp(words[i], "timed_out") == 0     ? &leave.timed_out
                     : strcmp(words[i], "here") == 0        ? &leave.waited_here
                     : strcmp(words[i], "answered") == 0    ? &leave.answered
                     : strcmp(words[i], "arrived") == 0     ? &leave.facts.arrived
                     : strcmp(words[i], "unconnected") == 0 ? &leave.facts.unconnected
                     : strcmp(words[i], "exchanged") == 0   ? &leave.facts.exchanged
                     : strcmp(words[i], "asked") == 0       ? &leave.facts.asked
                                                            : NULL;
        CHECK(flag != NULL);
        *flag = true;
    }
    step_done(conversation_left(&scripted.conversation, scripted.era, &leave, now_ns));
}

static inline void script_bytes(char **words, uint64_t now_ns) {
    bool answered;
    uint64_t arrived_ns = words[0] != NULL ? script_time(words[1]) : now_ns;
    struct conversation_step step =
        conversation_received(&scripted.conversation, scripted.era, now_ns, arrived_ns, &answered);
    step_done(step);
    if (answered) {
        CHECK(!step.ended && scripted.out[step.ticket.generation - 4000u]);
        result_add("answered");
    }
}

static inline void script_look(void) {
    const struct conversation *conversation = &scripted.conversation;
    uint8_t era = scripted.era;
    if (conversation_is_connecting(conversation, era)) {
        result_add("connecting");
    }
    if (conversation_is_fresh(conversation, era)) {
        result_add("fresh");
    }
    if (conversation_is_outstanding(conversation, era)) {
        result_add("outstanding");
    }
    if (conversation_is_left_out(conversation, era)) {
        result_add("left_out");
    }
    if (conversation_is_over(conversation, era)) {
        result_add("over");
    }
    result_add(protocol_name(conversation_protocol(conversation)));
}

static inline void script_event(const char *name, char **words, uint64_t now_ns) {
    struct conversation *conversation = &scripted.conversation;
    uint8_t era = scripted.era;
    if (strcmp(name, "connect") == 0) {
        conversation_connect(conversation, era, scripted.script->judge, scripted.script->protocol,
                             ticket_give(), now_ns);
    } else if (strcmp(name, "up") == 0) {
        step_done(conversation_established(conversation, era, now_ns));
    } else if (strcmp(name, "fail") == 0) {
        step_done(conversation_failed(conversation, era, reason_of(words[0]), now_ns));
    } else if (strcmp(name, "send") == 0 || strcmp(name, "sent") == 0) {
        script_send(words, now_ns, strcmp(name, "send") == 0);
    } else if (strcmp(name, "begin") == 0) {
        send_begin(now_ns);
    } else if (strcmp(name, "blocked") == 0) {
        script_blocked(now_ns);
    } else if (strcmp(name, "receive") == 0) {
        conversation_receiving(conversation, era, now_ns);
    } else if (strcmp(name, "bytes") == 0) {
        script_bytes(words, now_ns);
    } else if (strcmp(name, "eof") == 0) {
        step_done(conversation_end_of_stream(conversation, era, now_ns));
    } else if (strcmp(name, "timeout") == 0) {
        step_done(conversation_timed_out(conversation, era, now_ns));
    } else if (strcmp(name, "shut") == 0) {
        conversation_half_closed(conversation, era);
    } else if (strcmp(name, "close") == 0) {
        script_close(words, now_ns);
    } else if (strcmp(name, "fork") == 0) {
        scripted.era++;
        memset(scripted.out, 0, sizeof scripted.out); /* those are the parent's */
    } else {
        CHECK(strcmp(name, "look") == 0);
        script_look();
    }
}

/* --- a whole script --- */

static inline void script_run(const struct script *script, enum cut cut, size_t cut_at) {
    static char text[4000];
    char *rest = NULL;
    memset(&scripted, 0, sizeof scripted);
    scripted.script = script;
    scripted.cut = cut;
    scripted.cut_at = cut_at;
    CHECK(strlen(script->events) < sizeof text);
    strcpy(text, script->events);
    for (char *event = strtok_r(text, ";", &rest); event != NULL; event = strtok_r(NULL, ";", &rest)) {
        char copy[200], *words[WORDS_MAX + 1] = {NULL}, *next = NULL;
        unsigned count = 0;
        CHECK(strlen(event) < sizeof copy);
        strcpy(copy, event);
        scripted.event = copy;
        scripted.result[0] = 0;
        char *wanted = strstr(event, " = ");
        if (wanted != NULL) {
            *wanted = 0;
            wanted += 3;
        }
        for (char *word = strtok_r(event, " ", &next); word != NULL; word = strtok_r(NULL, " ", &next)) {
            CHECK(count < WORDS_MAX);
            words[count++] = word;
        }
        CHECK(count >= 2);
        script_event(words[1], words + 2, script_time(words[0]));
        if (strcmp(scripted.result, wanted != NULL ? wanted : "") != 0) {
            script_fail(wanted != NULL ? wanted : "nothing");
        }
    }
    bool outstanding = conversation_is_outstanding(&scripted.conversation, scripted.era);
    for (unsigned number = 0; number < scripted.given; number++) {
        if (scripted.out[number] && !(outstanding && number == scripted.given - 1)) {
            scripted.event = "end of the script";
            script_fail("every ticket back");
        }
    }
}

/* Each script with its sends whole, in pieces of 1 to 9 bytes, and cut in two sends after 1 to 9 bytes. */
static inline void scripts_run(const struct script *scripts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        script_run(&scripts[i], CUT_NONE, 0);
        for (size_t at = 1; at < 10; at++) {
            script_run(&scripts[i], CUT_PIECES, at);
            script_run(&scripts[i], CUT_SENDS, at);
        }
    }
}

#endif
