/* What is going on on one connection: when a call begins, what it waits for, and how it ends.
 *
 * Fed the events of a connection with the time of each; says when to ask for admission and reports each
 * call's end exactly once, however many threads send and receive. It knows no socket and no errno: the caller
 * has classified what it saw. Lives in memory private to a process; all zero = no connection.
 *
 *   talk   63..48 sequence, rises with every call begun | 47..36 ticket's generation | 35..30 permit
 *          29..27 standing | 26..24 phase | 23..16 era (rises in a forked child) | 15..0 flags
 *
 * `talk` decides; it changes by compare-and-swap, and whoever ends a call by it is the one who reports the
 * end. The other words are times and sizes beside it: a race between a sender and a receiver on one
 * connection can make them a little wrong, never the count.
 */
#ifndef CUTOUT_LIB_CONVERSATION_H
#define CUTOUT_LIB_CONVERSATION_H

#include "lib/atomic64.h"
#include "lib/breaker.h"
#include "lib/outcome.h"
#include "lib/thresholds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conversation {
    struct atomic64 talk;
    struct atomic64 started_ns; /* when the current call began */
    struct atomic64 wait_ns;    /* when the current wait began; 0 = nothing is waited for */
    struct atomic64 waited_ns;  /* waits of this call that are over: connect and session set-up */
    struct atomic64 longest_ns; /* TLS: longest single wait since the last send */
    struct atomic64 idle_ns;    /* when the last call ended, or bytes last came in after it */
    struct atomic64 sent_bytes; /* of the current request */
    /* TLS: where the bytes sent stand in the stream of records, see tls_records.h. Until the first bytes out tell what
     * is spoken: 63..56 how many of them are kept, 55..0 these, the first lowest. */
    struct atomic64 records;
};

enum conversation_phase {
    PHASE_NONE = 0,   /* no connection, or one that has failed: nothing is judged until the next connect */
    PHASE_CONNECTING, /* connect asked for, result unknown; the call is outstanding */
    PHASE_FRESH,      /* connected, no byte either way yet; the call is outstanding */
    PHASE_REQUEST,    /* a request is out, no byte of the answer in; the call is outstanding */
    PHASE_IDLE,       /* nothing outstanding */
    PHASE_LEFT_OUT    /* `judge` leaves the rest of this connection out */
};

/* What an event brought: when ended is set, one call has ended and its ticket must be given to
 * breaker_finish. */
struct conversation_step {
    bool ended;
    struct ticket ticket;
    struct call_end end;
};

/* A connect is about to be made under that ticket. */
void conversation_connect(struct conversation *conversation, uint8_t era, enum rule_judge judge,
                          enum rule_protocol protocol, struct ticket ticket, uint64_t now_ns);

/* The connection is known to be there. Ends the call only under judge = connect. */
struct conversation_step conversation_established(struct conversation *conversation, uint8_t era,
                                                  uint64_t now_ns);

/* An error that ends the connect or the connection: failed with reason, or ignored when reason is
 * REASON_NONE. */
struct conversation_step conversation_failed(struct conversation *conversation, uint8_t era,
                                             enum failure_reason reason, uint64_t now_ns);

/* True while the result of the connect is not known. */
bool conversation_is_connecting(const struct conversation *conversation, uint8_t era);

/* True when a call is outstanding. */
bool conversation_is_outstanding(const struct conversation *conversation, uint8_t era);

/* True when there is no connection, or it has failed. */
bool conversation_is_over(const struct conversation *conversation, uint8_t era);

/* True when nothing on this connection can change any more: the caller need not even read the clock. */
bool conversation_is_left_out(const struct conversation *conversation, uint8_t era);

/* The program is about to send. May end the call before (TLS); *asks is set when the send would begin a call,
 * for which the caller asks admission and then calls conversation_request. */
struct conversation_step conversation_sending(struct conversation *conversation, uint8_t era, uint64_t now_ns,
                                              bool *asks);

/* A call begins with the send that is about to be made. False when another thread began one meanwhile: then
 * the ticket goes back (breaker_release) and the send belongs to that call. */
bool conversation_request(struct conversation *conversation, uint8_t era, struct ticket ticket,
                          uint64_t now_ns);

/* The send that began a call moved nothing: takes the call back. True when it did: the ticket goes back. */
bool conversation_unsent(struct conversation *conversation, uint8_t era, struct ticket *ticket);

/* One piece of what was sent. */
struct sent_piece {
    const unsigned char *bytes;
    size_t size;
};

/* `size` bytes went out, in these pieces (whose sizes add up to at least size; none: what they are is not known). before_ns and after_ns are
 * the times around the real call; after_ns is only needed, and only then need differ, when *size* or the
 * request so far exceeds CONVERSATION_LONG_REQUEST. Returns true when the send turned out to be no request
 * (TLS: an alert or key update): *ticket then goes back. */
bool conversation_sent(struct conversation *conversation, uint8_t era, const struct sent_piece *pieces,
                       size_t count, size_t size, uint64_t before_ns, uint64_t after_ns,
                       struct ticket *ticket);

/* A request longer than this waits from its last send, not its first (semantics, section 2). */
#define CONVERSATION_LONG_REQUEST (64u * 1024u)

/* True when conversation_sent wants after_ns for a send of that size. */
bool conversation_is_long(const struct conversation *conversation, size_t size);

/* The program is about to receive: where the server speaks first, the wait begins here. */
void conversation_receiving(struct conversation *conversation, uint8_t era, uint64_t now_ns);

/* How long the destination has been waited for if the wait ended at now_ns: what the response time would be. */
uint64_t conversation_response_ns(const struct conversation *conversation, uint64_t now_ns);

/* How long the wait that is going on has lasted; 0 when nothing is waited for. */
uint64_t conversation_wait_ns(const struct conversation *conversation, uint64_t now_ns);

/* True when the connection is there and no byte has moved: only then does conversation_receiving matter. */
bool conversation_is_fresh(const struct conversation *conversation, uint8_t era);

/* Bytes came in, peeked at or not; they arrived at arrived_ns (now_ns unless the caller knows that they lay unread).
 * *tls_answered is set when they belong to a TLS call that stays open: breaker_call_answered is told,
 * with the step's ticket. */
struct conversation_step conversation_received(struct conversation *conversation, uint8_t era,
                                               uint64_t now_ns, uint64_t arrived_ns, bool *tls_answered);

/* The peer ended its side. */
struct conversation_step conversation_end_of_stream(struct conversation *conversation, uint8_t era,
                                                    uint64_t now_ns);

/* The receive or send time-out of a blocking socket struck. The connection stays. */
struct conversation_step conversation_timed_out(struct conversation *conversation, uint8_t era,
                                                uint64_t now_ns);

/* True once bytes have been seen to come in on this connection. */
bool conversation_is_heard(const struct conversation *conversation, uint8_t era);

/* True while a call is outstanding that is a probe. */
bool conversation_is_probe(const struct conversation *conversation, uint8_t era);

/* What the kernel tells of a connection that is about to be left. It knows of bytes that no event told of, because they
 * passed where nobody sees them: inside stdio, or in a child's program. All zero: it tells nothing. */
struct conversation_facts {
    bool arrived;     /* bytes that arrived after the request began lie unread */
    bool unconnected; /* the connection never came about */
    bool exchanged;   /* unseen, the program has taken bytes in */
    bool asked;       /* unseen, bytes went out, and none ever came in */
    /* Unseen, the program was told that the peer has ended the connection without a word: REASON_CLOSED or
     * REASON_RESET; else REASON_NONE. */
    enum failure_reason ended;
    uint64_t
        wait_ns; /* exchanged: how long the answer took; asked: since the last bytes went out; 0 = not known */
};

/* What is known when the program gives a connection up. */
struct conversation_leave {
    bool timed_out;   /* its last wait on this thread ended by time-out or was left by a signal handler */
    bool waited_here; /* that wait was for this very descriptor to become readable */
    bool answered;    /* the destination has answered some call before */
    struct conversation_facts facts;
    uint64_t give_up_ns; /* the written slow_call, or CONVERSATION_GIVE_UP */
};
#define CONVERSATION_GIVE_UP UINT64_C(5000000000)

/* The program closes the connection, or shuts it down for reading, or exits. */
struct conversation_step conversation_left(struct conversation *conversation, uint8_t era,
                                           const struct conversation_leave *leave, uint64_t now_ns);

/* The program ended its side (SHUT_WR): an end of stream is then no failure. */
void conversation_half_closed(struct conversation *conversation, uint8_t era);

/* What is outstanding, as it is shown to other processes. */
struct conversation_flight {
    bool outstanding;
    bool waits;        /* the destination is waited for now */
    bool past_connect; /* the connect and session set-up are over */
    struct ticket ticket;
    uint64_t since_ns; /* when the wait began, earlier waits of the call added on */
};
struct conversation_flight conversation_flight(const struct conversation *conversation, uint8_t era);

/* The protocol recognised on this connection: PROTOCOL_AUTO while nothing was sent. */
enum rule_protocol conversation_protocol(const struct conversation *conversation);

#endif
