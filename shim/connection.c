#include "shim/connection.h"

#include "lib/panel.h"
#include "shim/address.h"
#include "shim/clock.h"
#include "shim/guest.h"
#include "shim/overdue.h"
#include "shim/raw.h"
#include "shim/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* An EAGAIN that comes faster than this is no time-out (hazards, section 1, item 8). */
#define TIMED_OUT_NS UINT64_C(1000000)
/* The kernel dates arrivals in its own ticks, of up to 10 ms. */
#define TICK_NS UINT64_C(10000000)
/* Of the kernel's socket.h; glibc has it, musl not always. The peer also of a connection that is over. */
#ifndef SO_PEERNAME
#define SO_PEERNAME 28
#endif

const struct conversation_facts connection_no_facts = {0};
const struct conversation_facts connection_elsewhere = {.arrived = true};

__thread struct thread_waits thread_waits = {-1, false, false};

void connection_step(const struct connection *connection, const struct conversation_step *step,
                     uint64_t now_ns) {
    if (!step->ended) {
        return;
    }
    struct route route = route_back(atomic64_load_relaxed(&connection->place));
    if (route.breaker != NULL) {
        enum rule_protocol protocol = conversation_protocol(&connection->conversation);
        if (protocol > PROTOCOL_NONE && atomic64_load_relaxed(&route.breaker->protocol_seen) != protocol) {
            atomic64_store_relaxed(&route.breaker->protocol_seen, protocol);
        }
        struct call_end end = step->end;
        overdue_hide(connection, &end);
        route_finish(&route, step->ticket, &end, now_ns);
    }
}

bool connection_timed_out(int fd, uint64_t before_ns, uint64_t now_ns) {
    if (now_ns < before_ns + TIMED_OUT_NS || guest_is_sandboxed()) {
        return false;
    }
    long flags = raw_call3(SYS_fcntl, fd, F_GETFL, 0);
    return !raw_failed(flags) && (flags & O_NONBLOCK) == 0;
}

/* --- what the kernel knows --- */

/* False where there is nothing to know: no TCP, a sandbox. */
static bool look(const struct connection *connection, int fd, struct tcp_view *view) {
    return connection->endpoint.scheme == SCHEME_TCP && !guest_is_sandboxed() && tcp_look(fd, view);
}

union peer_name {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
    struct sockaddr_storage storage;
};

/* The peer's name, by getpeername: not on every kernel does SO_PEERNAME tell it, which knows the peer of a connection
 * that is over too, but wants the size of the name. */
static long ask_peer(int fd, union peer_name *name, enum endpoint_scheme scheme, socklen_t *size) {
    *size = scheme == SCHEME_UNIX ? sizeof name->any.sa_family : sizeof name->ipv4;
    long result = raw_call6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERNAME, (long)name, (long)size, 0);
    if (result == 0 && scheme != SCHEME_UNIX && name->any.sa_family == AF_INET6) {
        *size = sizeof name->ipv6;
        result = raw_call6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERNAME, (long)name, (long)size, 0);
    }
    if (result == -ENOPROTOOPT || result == -EOPNOTSUPP) {
        *size = sizeof *name;
        result = raw_call3(SYS_getpeername, fd, (long)name, (long)size);
        return result == -ENOTCONN ? -ENOPROTOOPT : result;
    }
    return result;
}

/* The peer is the one that was asked for; of "any address" only the port is known. */
static bool is_peer(const struct endpoint *endpoint, const struct endpoint *peer) {
    static const uint8_t any[sizeof endpoint->bytes] = {0};
    if (endpoint->port != peer->port || endpoint->scheme != peer->scheme) {
        return false;
    }
    return memcmp(endpoint->bytes, any, sizeof any) == 0 ||
           (endpoint->ipv6 == peer->ipv6 && memcmp(endpoint->bytes, peer->bytes, sizeof any) == 0);
}

enum peer {
    PEER_SAME,
    PEER_OTHER, /* or not a descriptor of the kernel's, as some preloads make them */
    PEER_NONE   /* no socket, no connection, or one whose name is too short for what it should be */
};

static enum peer look_at_peer(const struct connection *connection, int fd) {
    enum endpoint_scheme scheme = (enum endpoint_scheme)connection->endpoint.scheme;
    union peer_name name;
    socklen_t size;
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];
    long result = ask_peer(fd, &name, scheme, &size);
    if (result == -ENOTSOCK || result == -ENOTCONN || result == -EINVAL) {
        return PEER_NONE;
    }
    if (raw_failed(result) || size > sizeof name) {
        return result == -ENOPROTOOPT ? PEER_SAME : PEER_OTHER;
    }
    if (scheme == SCHEME_UNIX) {
        return name.any.sa_family == AF_UNIX ? PEER_SAME : PEER_OTHER; /* one path has many spellings */
    }
    enum descriptor_kind kind =
        atomic64_load_relaxed(&connection->datagram) != 0 ? KIND_DATAGRAM : KIND_STREAM;
    bool same =
        address_endpoint(&name.any, size, kind, &endpoint, text) && is_peer(&connection->endpoint, &endpoint);
    return same ? PEER_SAME : PEER_OTHER;
}

/* What the breaker knows of its connections' other ends. */
static enum breaker_answered answered_by(const struct breaker *breaker) {
    return (enum breaker_answered)atomic64_load_relaxed(&breaker->answered);
}

bool connection_is_still(const struct connection *connection, int fd) {
    struct route route = route_back(atomic64_load_relaxed(&connection->place));
    if (guest_is_sandboxed() || route.breaker == NULL ||
        answered_by(route.breaker) >= BREAKER_ANSWERED_ELSEWHERE) {
        return true;
    }
    enum peer peer = look_at_peer(connection, fd);
    return peer == PEER_SAME || (peer == PEER_OTHER && answered_by(route.breaker) == BREAKER_UNANSWERED);
}

/* At the destination's first answer: is that how the kernel knows the other end? Asked once a connection: with TLS it may
 * be long until the answer has ended. False when it is no connection. */
static bool learn_peer(struct connection *connection, int fd, struct breaker *breaker) {
    uint64_t never = BREAKER_UNANSWERED;
    if (guest_is_sandboxed() || atomic64_load_relaxed(&connection->looked) != 0) {
        return true;
    }
    enum peer peer = look_at_peer(connection, fd);
    if (peer == PEER_OTHER) {
        atomic64_swap_acq_rel(&breaker->answered, &never, BREAKER_ANSWERED_ELSEWHERE);
    }
    atomic64_store_relaxed(&connection->looked, 1);
    return peer != PEER_NONE;
}

void connection_forget(const struct connection *connection, int fd, uint32_t use) {
    uint64_t word;
    if (guest_is_self() && descriptor_clear_of(fd, connection, use, &word)) {
        connection_let_go(word, fd, &connection_elsewhere);
    }
}

uint64_t connection_arrived_ns(struct connection *connection, int fd, uint64_t now_ns, bool *late) {
    struct route route = route_back(atomic64_load_relaxed(&connection->place));
    uint64_t response_ns = conversation_response_ns(&connection->conversation, now_ns);
    struct tcp_view view;
    *late = false;
    if (route.breaker == NULL) {
        return now_ns;
    }
    if (answered_by(route.breaker) == BREAKER_UNANSWERED && !learn_peer(connection, fd, route.breaker)) {
        return 0;
    }
    bool probe = conversation_is_probe(&connection->conversation, guest_era());
    bool slow = route.thresholds->slow_call_ns != 0 && response_ns > route.thresholds->slow_call_ns;
    if (!slow && !probe) {
        return now_ns;
    }
    if (!connection_is_still(connection, fd)) {
        return 0;
    }
    if (!slow || !look(connection, fd, &view)) {
        return now_ns;
    }
    uint64_t quiet_ns = view.received_ago_ns < response_ns ? view.received_ago_ns : response_ns;
    *late = response_ns - quiet_ns <= route.thresholds->slow_call_ns;
    if (*late) {
        atomic64_add_relaxed(&route.breaker->totals.late_reads, 1);
    }
    return now_ns - quiet_ns;
}

/* Data came in, and nothing tells that it was seen: did it reach the program by another way? */
static void ask_taken(int fd, const struct tcp_view *view, bool heard, uint64_t wait_ns,
                      struct conversation_facts *facts) {
    uint64_t unread_bytes = tcp_unread_bytes(fd);
    uint64_t ends = view->state >= TCP_STATE_CLOSE; /* the peer's end of stream among them */
    if (heard) {
        facts->exchanged = unread_bytes == 0;
    } else {
        facts->exchanged = unread_bytes <= view->received_bytes && view->received_bytes - unread_bytes > ends;
    }
    /* Of an answer in one segment the kernel knows when it began. */
    uint64_t asked_ago_ns = wait_ns != 0 ? wait_ns : view->sent_ago_ns;
    if (view->received_segments == 1 && view->sent_segments > 0 && asked_ago_ns > view->received_ago_ns) {
        facts->wait_ns = asked_ago_ns - view->received_ago_ns;
    }
}

/* No data came in: was the program told that none will come, where nobody saw it? */
static enum failure_reason ask_ended(int fd, const struct tcp_view *view, bool heard) {
    bool end_of_stream = view->state == TCP_STATE_CLOSE_WAIT || view->state == TCP_STATE_LAST_ACK ||
                         (view->state == TCP_STATE_CLOSE && !heard && view->received_bytes > 0);
    if (end_of_stream) {
        return tcp_is_read_out(fd) ? REASON_CLOSED : REASON_NONE;
    }
    bool reset = view->state == TCP_STATE_CLOSE && !heard;
    return reset && !tcp_has_error(fd) ? REASON_RESET : REASON_NONE;
}

struct conversation_facts connection_ask(const struct connection *connection, int fd) {
    const struct conversation *conversation = &connection->conversation;
    uint8_t era = guest_era();
    struct conversation_facts facts = connection_no_facts;
    struct tcp_view view;
    if (!conversation_is_outstanding(conversation, era)) {
        return facts;
    }
    bool known = look(connection, fd, &view);
    facts.unconnected = known && view.state == TCP_STATE_SYN_SENT;
    if (!facts.unconnected && !connection_is_still(connection, fd)) {
        return connection_elsewhere;
    }
    if (!known || facts.unconnected) {
        return facts;
    }
    bool heard = conversation_is_heard(conversation, era);
    uint64_t wait_ns = conversation_wait_ns(conversation, clock_monotonic_ns());
    facts.arrived = view.received_ago_ns + TICK_NS < wait_ns;
    if (!view.counts) {
        facts.arrived = facts.arrived && view.received_ago_ns != 0;
        return facts;
    }
    facts.arrived = facts.arrived && view.received_segments > 0;
    if (!heard) {
        facts.arrived = view.received_segments > 0;
        facts.asked = !facts.arrived && view.sent_segments > 0;
        facts.wait_ns = facts.asked ? view.sent_ago_ns : 0;
    }
    if (facts.arrived) {
        ask_taken(fd, &view, heard, conversation_is_fresh(conversation, era) ? 0 : wait_ns, &facts);
    } else {
        facts.ended = ask_ended(fd, &view, heard);
    }
    return facts;
}

/* --- leaving --- */

void connection_leave(struct connection *connection, int fd, const struct conversation_facts *facts) {
    uint8_t era = guest_era();
    if (!conversation_is_outstanding(&connection->conversation, era)) {
        return;
    }
    struct route route = route_back(atomic64_load_relaxed(&connection->place));
    struct conversation_leave leave = {0};
    leave.timed_out = thread_waits.timed_out || thread_waits.waiting;
    leave.waited_here = thread_waits.fd == fd;
    leave.facts = *facts;
    leave.give_up_ns = CONVERSATION_GIVE_UP;
    if (route.breaker != NULL) {
        leave.answered = answered_by(route.breaker) != BREAKER_UNANSWERED;
        if (facts->exchanged && !leave.answered) {
            learn_peer(connection, fd, route.breaker);
        }
        /* slow_call = off: no length of time is too long. */
        if (route.thresholds->slow_call_ns == 0) {
            leave.give_up_ns = UINT64_MAX;
        } else if (route.thresholds->slow_written) {
            leave.give_up_ns = route.thresholds->slow_call_ns;
        }
    }
    uint64_t now_ns = clock_monotonic_ns();
    struct conversation_step step = conversation_left(&connection->conversation, era, &leave, now_ns);
    connection_step(connection, &step, now_ns);
}

void connection_let_go(uint64_t word, int fd, const struct conversation_facts *facts) {
    struct connection *connection = descriptor_drop(word);
    if (connection != NULL) {
        connection_leave(connection, fd, facts);
        descriptor_free(connection);
    }
}

/* As if the program closed what it leaves open when it exits. A vfork child that exits so changes nothing. */
__attribute__((destructor)) static void connections_end(void) {
    if (!guest_is_active() || !guest_is_self()) {
        return;
    }
    int end = descriptor_end();
    for (int fd = 0; fd < end; fd++) {
        uint32_t use;
        struct connection *connection = descriptor_connection(fd, &use);
        if (connection != NULL && conversation_is_outstanding(&connection->conversation, guest_era())) {
            struct conversation_facts facts = connection_ask(connection, fd);
            connection_leave(connection, fd, &facts);
        }
    }
}
