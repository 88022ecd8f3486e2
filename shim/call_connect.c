#include "shim/address.h"
#include "shim/call.h"
#include "shim/clock.h"
#include "shim/connection.h"
#include "shim/error.h"
#include "shim/guest.h"
#include "shim/overdue.h"
#include "shim/raw.h"
#include "shim/route.h"

#include <errno.h>
#include <string.h>

/* The kind of fd, from socket() or, where the guest did not see it made, from the kernel. KIND_UNKNOWN: no socket. */
static enum descriptor_kind kind_of(int fd, bool sure) {
    enum descriptor_kind kind = descriptor_kind(fd);
    if (kind != KIND_UNKNOWN && !sure) {
        return kind;
    }
    int type = 0;
    socklen_t size = sizeof type;
    if (raw_failed(raw_call6(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, (long)&type, (long)&size, 0))) {
        return KIND_UNKNOWN;
    }
    return type == SOCK_STREAM ? KIND_STREAM : type == SOCK_DGRAM ? KIND_DATAGRAM : KIND_OTHER;
}

/* Notes fd as a connection to the endpoint, its connect about to be made (or, in a sandbox, just made). */
static struct connection *track(int fd, enum descriptor_kind kind, const struct endpoint *endpoint,
                                const struct route *route, struct ticket ticket, uint64_t now_ns) {
    uint32_t use;
    struct connection *connection = descriptor_take(fd, &use);
    if (connection == NULL) {
        return NULL;
    }
    connection->endpoint = *endpoint;
    atomic64_store_relaxed(&connection->datagram, kind == KIND_DATAGRAM);
    atomic64_store_relaxed(&connection->looked, 0);
    atomic64_store_relaxed(&connection->streamed, 0);
    atomic64_store_relaxed(&connection->place, route->place);
    conversation_connect(&connection->conversation, guest_era(), (enum rule_judge)route->thresholds->judge,
                         (enum rule_protocol)route->thresholds->protocol, ticket, now_ns);
    connection_let_go(descriptor_set(fd, connection, kind), fd, &connection_elsewhere);
    overdue_show(connection);
    return connection;
}

/* A first connect: finds its breaker and asks. False: rejected, errno set. */
static bool begin_attempt(struct connect_call *call, int fd, const struct sockaddr *address,
                          socklen_t length) {
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];
    enum descriptor_kind kind = kind_of(fd, false);
    if (kind == KIND_UNKNOWN || !address_is_readable(address, length) ||
        !address_endpoint(address, length, kind, &endpoint, text)) {
        return true;
    }
    call->before_ns = clock_monotonic_ns();
    guest_look_at_rules(call->before_ns);
    struct route route = route_to(&endpoint, text);
    if (route.breaker == NULL || !guest_is_self()) {
        return true;
    }
    struct ticket ticket = route_admit(&route, ASK_CONNECT, call->before_ns);
    if (ticket.standing == STANDING_REJECTED) {
        /* As the kernel would: a bad descriptor stays one. Whatever the table believes, the kernel is asked. */
        if (kind_of(fd, true) == KIND_UNKNOWN) {
            return true;
        }
        call_cancellation_point();
        errno = route_refusal(&route);
        return false;
    }
    call->connection = track(fd, kind, &endpoint, &route, ticket, call->before_ns);
    if (call->connection == NULL) {
        breaker_release(route.breaker, route.thresholds, ticket);
        return true;
    }
    thread_waits.fd = -1;
    thread_waits.waiting = true;
    return true;
}

/* True when the table means a connection that is there or on its way, and this connect is a new socket's: the number was
 * given out again unseen. Who asks how a connect goes names the same address again. */
static bool is_another(const struct connection *connection, int fd, const struct sockaddr *address,
                       socklen_t length) {
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];
    bool datagram = atomic64_load_relaxed(&connection->datagram) != 0;
    if (datagram || guest_is_sandboxed() || conversation_is_over(&connection->conversation, guest_era())) {
        return false;
    }
    if (conversation_is_connecting(&connection->conversation, guest_era()) &&
        (!address_is_readable(address, length) ||
         !address_endpoint(address, length, KIND_STREAM, &endpoint, text) ||
         endpoint_equal(&endpoint, &connection->endpoint))) {
        return false;
    }
    return !connection_is_still(connection, fd);
}

bool call_connect_begin(struct connect_call *call, int fd, const struct sockaddr *address, socklen_t length) {
    uint32_t use;
    call->connection = NULL;
    call->address = address;
    call->length = length;
    call->unseen = false;
    if (!guest_is_active() || (unsigned)fd >= DESCRIPTORS) {
        return true;
    }
    uint8_t era = guest_era();
    struct connection *connection = descriptor_connection(fd, &use);
    if (connection != NULL && is_another(connection, fd, address, length)) {
        connection_forget(connection, fd, use);
        connection = NULL;
    }
    if (connection != NULL && conversation_is_connecting(&connection->conversation, era)) {
        /* The program asks how its connect went: never rejected. */
        call->connection = connection;
        call->use = use;
        call->before_ns = clock_monotonic_ns();
        return true;
    }
    if (guest_is_sandboxed()) {
        call->unseen = true; /* noted after it has succeeded */
        return true;
    }
    if (connection != NULL && !conversation_is_over(&connection->conversation, era) &&
        atomic64_load_relaxed(&connection->datagram) == 0) {
        if (address_is_readable(address, length) && address->sa_family == AF_UNSPEC) {
            /* The program dissolves the connection and keeps the socket. */
            struct conversation_facts facts = connection_ask(connection, fd);
            connection_let_go(descriptor_clear(fd), fd, &facts);
        }
        return true; /* EISCONN, or so: the kernel answers */
    }
    bool go = begin_attempt(call, fd, address, length);
    if (call->connection != NULL) {
        descriptor_connection(fd, &call->use);
    }
    return go;
}

/* In a sandbox: the address was good, for the kernel took it. Counted in the totals only. */
static void note_unseen(int fd, const struct sockaddr *address, socklen_t length, bool connecting) {
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];
    enum descriptor_kind kind = descriptor_kind(fd);
    if (kind == KIND_UNKNOWN || address == NULL ||
        !address_endpoint(address, length, kind, &endpoint, text)) {
        return;
    }
    struct route route = route_to(&endpoint, text);
    if (route.breaker == NULL) {
        return;
    }
    uint64_t now_ns = clock_monotonic_ns();
    struct ticket ticket = {0, 0, STANDING_PASSED};
    struct connection *connection = track(fd, kind, &endpoint, &route, ticket, now_ns);
    if (connection != NULL && !connecting) {
        struct conversation_step step =
            conversation_established(&connection->conversation, guest_era(), now_ns);
        connection_step(connection, &step, now_ns);
    }
}

void call_connect_end(struct connect_call *call, int fd, int result) {
    const int error = errno;
    struct connection *connection = call->connection;
    if (call->unseen && (result == 0 || error == EINPROGRESS)) {
        note_unseen(fd, call->address, call->length, result != 0);
    }
    if (connection == NULL) {
        return;
    }
    thread_waits.waiting = false;
    if (!connection_is_current(connection, call->use)) {
        return;
    }
    uint8_t era = guest_era();
    uint64_t now_ns = clock_monotonic_ns();
    struct conversation_step step = {0};
    enum failure_reason reason;
    if (result == 0 || error == EISCONN) {
        thread_waits.timed_out = false;
        step = conversation_established(&connection->conversation, era, now_ns);
    } else if (error_kind(error, &reason) != ERROR_PENDING) {
        thread_waits.timed_out = false;
        step = conversation_failed(&connection->conversation, era, reason, now_ns);
    } else if (error == EINTR) {
        thread_waits.timed_out = true;
    } else if (error == EINPROGRESS && connection_timed_out(fd, call->before_ns, now_ns)) {
        step = conversation_failed(&connection->conversation, era, REASON_TIMEOUT, now_ns); /* SO_SNDTIMEO */
    }
    connection_step(connection, &step, now_ns);
    overdue_show(connection);
}

void call_so_error(int fd, int error) {
    uint32_t use;
    if (!guest_is_active()) {
        return;
    }
    struct connection *connection = descriptor_connection(fd, &use);
    if (connection == NULL) {
        return;
    }
    uint8_t era = guest_era();
    if (!conversation_is_outstanding(&connection->conversation, era)) {
        return;
    }
    uint64_t now_ns = clock_monotonic_ns();
    struct conversation_step step = {0};
    enum failure_reason reason;
    if (error != 0) {
        if (!connection_is_still(connection, fd)) {
            connection_forget(connection, fd, use);
        } else if (error_kind(error, &reason) != ERROR_PENDING) {
            step = conversation_failed(&connection->conversation, era, reason, now_ns);
        }
    } else if (!thread_waits.timed_out) {
        /* After a wait that timed out, no error only means that the connect still goes on. */
        step = conversation_established(&connection->conversation, era, now_ns);
    }
    connection_step(connection, &step, now_ns);
    overdue_show(connection);
}

void call_socket(int fd, int domain, int type) {
    if (fd < 0 || fd >= DESCRIPTORS || !guest_is_active()) {
        return;
    }
    if (descriptor_is_tracked(fd)) {
        if (!guest_is_self()) {
            return;
        }
        connection_let_go(descriptor_clear(fd), fd, &connection_no_facts);
    }
    enum descriptor_kind kind = KIND_UNKNOWN;
    if (domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX) {
        int base = type & 0xf; /* SOCK_TYPE_MASK of the kernel: the rest are flags */
        kind = base == SOCK_STREAM ? KIND_STREAM : base == SOCK_DGRAM ? KIND_DATAGRAM : KIND_OTHER;
    }
    descriptor_note_kind(fd, kind);
}
