#include "shim/connection.h"

#include "lib/panel.h"
#include "shim/address.h"
#include "shim/clock.h"
#include "shim/guest.h"
#include "shim/overdue.h"
#include "shim/raw.h"

#include <fcntl.h>
#include <linux/tcp.h> /* the C library's own lacks the later fields of struct tcp_info */
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* An EAGAIN that comes faster than this is no time-out (hazards, section 1, item 8). */
#define TIMED_OUT_NS UINT64_C(1000000)
#define MS_NS        UINT64_C(1000000)
/* The kernel dates arrivals in its own ticks, of up to 10 ms. */
#define TICK_NS  UINT64_C(10000000)
#define SYN_SENT 2 /* tcpi_state: TCP_SYN_SENT of the kernel's tcp_states.h */

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

struct tcp_facts {
    uint8_t state;
    uint64_t quiet_ns; /* since data last came in */
    bool received;     /* any at all */
};

/* False where there is nothing to know: no TCP, a sandbox, not the connection that the table means. */
static bool ask_tcp(const struct connection *connection, int fd, struct tcp_facts *facts) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (connection->endpoint.scheme != SCHEME_TCP || guest_is_sandboxed()) {
        return false;
    }
    memset(&info, 0, sizeof info);
    if (raw_failed(raw_call6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, (long)&info, (long)&size, 0)) ||
        size < offsetof(struct tcp_info, tcpi_last_ack_recv)) {
        return false;
    }
    facts->state = info.tcpi_state;
    facts->quiet_ns = info.tcpi_last_data_recv * MS_NS;
    /* Bytes received are told since Linux 4.1. */
    facts->received = size < offsetof(struct tcp_info, tcpi_segs_out) || info.tcpi_bytes_received > 0;
    return true;
}

/* False when fd's peer is another than the table believes: its close was not seen. */
static bool is_still_peer(const struct connection *connection, int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
    } peer;
    socklen_t size = sizeof peer;
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];
    return !raw_failed(raw_call3(SYS_getpeername, fd, (long)&peer, (long)&size)) && size <= sizeof peer &&
           address_endpoint(&peer.any, size, KIND_STREAM, &endpoint, text) &&
           endpoint_equal(&endpoint, &connection->endpoint);
}

uint64_t connection_arrived_ns(const struct connection *connection, int fd, uint64_t now_ns, bool *late) {
    struct route route = route_back(atomic64_load_relaxed(&connection->place));
    uint64_t response_ns = conversation_response_ns(&connection->conversation, now_ns);
    struct tcp_facts facts;
    *late = false;
    if (route.breaker == NULL || route.thresholds->slow_call_ns == 0 ||
        response_ns <= route.thresholds->slow_call_ns || !ask_tcp(connection, fd, &facts) ||
        facts.quiet_ns == 0) {
        return now_ns;
    }
    if (!is_still_peer(connection, fd)) {
        return 0;
    }
    uint64_t quiet_ns = facts.quiet_ns < response_ns ? facts.quiet_ns : response_ns;
    *late = response_ns - quiet_ns <= route.thresholds->slow_call_ns;
    if (*late) {
        atomic64_add_relaxed(&route.breaker->totals.late_reads, 1);
    }
    return now_ns - quiet_ns;
}

struct connection_facts connection_ask(const struct connection *connection, int fd) {
    struct connection_facts facts = {false, false};
    struct tcp_facts tcp;
    if (!conversation_is_outstanding(&connection->conversation, guest_era()) ||
        !ask_tcp(connection, fd, &tcp)) {
        return facts;
    }
    facts.unconnected = tcp.state == SYN_SENT;
    uint64_t wait_ns = conversation_wait_ns(&connection->conversation, clock_monotonic_ns());
    facts.arrived = tcp.received && tcp.quiet_ns + TICK_NS < wait_ns;
    /* Not the connection that the table means: nothing can be said of it. */
    if (!facts.unconnected && !is_still_peer(connection, fd)) {
        facts.arrived = true;
    }
    return facts;
}

/* --- leaving --- */

void connection_leave(struct connection *connection, int fd, struct connection_facts facts) {
    uint8_t era = guest_era();
    if (!conversation_is_outstanding(&connection->conversation, era)) {
        return;
    }
    struct route route = route_back(atomic64_load_relaxed(&connection->place));
    struct conversation_leave leave = {0};
    leave.timed_out = thread_waits.timed_out || thread_waits.waiting;
    leave.waited_here = thread_waits.fd == fd;
    leave.arrived = facts.arrived;
    leave.unconnected = facts.unconnected;
    leave.give_up_ns = CONVERSATION_GIVE_UP;
    if (route.breaker != NULL) {
        leave.answered = atomic64_load_relaxed(&route.breaker->answered) != 0;
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

void connection_let_go(uint64_t word, int fd, struct connection_facts facts) {
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
            connection_leave(connection, fd, connection_ask(connection, fd));
        }
    }
}
