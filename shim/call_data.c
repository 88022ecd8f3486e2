#include "lib/conversation.h"
#include "shim/call.h"
#include "shim/clock.h"
#include "shim/connection.h"
#include "shim/error.h"
#include "shim/guest.h"
#include "shim/overdue.h"
#include "shim/route.h"

#include <errno.h>

/* The engine's view of the program's buffers is the kernel's. */
_Static_assert(sizeof(struct sent_piece) == sizeof(struct iovec) &&
                   offsetof(struct sent_piece, bytes) == offsetof(struct iovec, iov_base) &&
                   offsetof(struct sent_piece, size) == offsetof(struct iovec, iov_len),
               "a piece of what was sent must be laid out like struct iovec");

/* --- sending --- */

/* The route of a new request: a connection takes its new rule at its next call. */
static struct route route_of_request(struct connection *connection) {
    uint64_t place = atomic64_load_relaxed(&connection->place);
    if (route_is_current(place)) {
        return route_back(place);
    }
    struct route old = route_back(place);
    const char *text = old.breaker != NULL ? old.breaker->endpoint_name : NULL;
    struct route route = route_to(&connection->endpoint, text);
    if (route.breaker != NULL) {
        atomic64_store_relaxed(&connection->place, route.place);
    }
    return route;
}

/* True when fd has become something else unseen; it is then forgotten. Asked of the kernel before a call is said to have
 * failed, which is rare. */
static bool is_elsewhere(const struct connection *connection, int fd, uint32_t use) {
    if (!conversation_is_outstanding(&connection->conversation, guest_era()) ||
        connection_is_still(connection, fd)) {
        return false;
    }
    connection_forget(connection, fd, use);
    return true;
}

/* Asks for a request on an established connection. False: rejected, errno set. A write to what has become something else
 * unseen is neither rejected nor a probe; *judged is then false. */
static bool ask(struct connection *connection, const struct data_call *call, int fd, uint8_t era,
                bool *judged) {
    struct route route = route_of_request(connection);
    if (route.breaker == NULL) {
        return true;
    }
    struct ticket ticket = route_admit(&route, ASK_REQUEST, call->before_ns);
    bool rejected = ticket.standing == STANDING_REJECTED;
    if ((rejected || ticket.permit != 0) && !connection_is_still(connection, fd)) {
        if (!rejected) {
            breaker_release(route.breaker, route.thresholds, ticket);
        }
        connection_forget(connection, fd, call->use);
        *judged = false;
        return true;
    }
    if (rejected) {
        call_cancellation_point();
        errno = route_refusal(&route);
        return false;
    }
    if (!conversation_request(&connection->conversation, era, ticket, call->before_ns)) {
        breaker_release(route.breaker, route.thresholds, ticket);
    }
    return true;
}

static void release(const struct connection *connection, struct ticket ticket) {
    struct route route = route_back(atomic64_load_relaxed(&connection->place));
    if (route.breaker != NULL) {
        breaker_release(route.breaker, route.thresholds, ticket);
    }
}

bool call_send_begin(struct data_call *call, int fd) {
    call->connection = NULL;
    if (!guest_is_active()) {
        return true;
    }
    struct connection *connection = descriptor_connection(fd, &call->use);
    if (connection == NULL) {
        return true;
    }
    uint8_t era = guest_era();
    if (conversation_is_left_out(&connection->conversation, era)) {
        return true;
    }
    call->connection = connection;
    call->before_ns = clock_monotonic_ns();
    bool asks;
    struct conversation_step step =
        conversation_sending(&connection->conversation, era, call->before_ns, &asks);
    connection_step(connection, &step, call->before_ns);
    bool judged = true;
    if (asks && !ask(connection, call, fd, era, &judged)) {
        call->connection = NULL;
        return false;
    }
    if (!judged) {
        call->connection = NULL;
        return true;
    }
    overdue_show(connection);
    thread_waits.fd = -1;
    thread_waits.waiting = true;
    return true;
}

/* A send that moved nothing. */
static void send_failed(struct connection *connection, const struct data_call *call, int fd, int flags,
                        int error) {
    uint8_t era = guest_era();
    uint64_t now_ns = clock_monotonic_ns();
    struct conversation_step step = {0};
    struct ticket ticket;
    enum failure_reason reason;
    enum error_kind kind = error_kind(error, &reason);
    if (kind == ERROR_FAILURE) {
        if (!is_elsewhere(connection, fd, call->use)) {
            step = conversation_failed(&connection->conversation, era, reason, now_ns);
        }
    } else if (error == EAGAIN && (flags & MSG_DONTWAIT) == 0 &&
               connection_timed_out(fd, call->before_ns, now_ns)) {
        thread_waits.timed_out = true;
        if (!is_elsewhere(connection, fd, call->use)) {
            step = conversation_timed_out(&connection->conversation, era, now_ns);
        }
    } else {
        thread_waits.timed_out |= error == EINTR;
        if (conversation_unsent(&connection->conversation, era, &ticket)) {
            release(connection, ticket);
        }
    }
    connection_step(connection, &step, now_ns);
    overdue_show(connection);
}

void call_send_end(struct data_call *call, int fd, const struct iovec *pieces, size_t count, int flags,
                   ssize_t result) {
    const int error = errno;
    struct connection *connection = call->connection;
    if (connection == NULL) {
        return;
    }
    thread_waits.waiting = false;
    if (!connection_is_current(connection, call->use)) {
        return;
    }
    if (result <= 0) {
        send_failed(connection, call, fd, flags, result < 0 ? error : EAGAIN);
        return;
    }
    size_t size = (size_t)result;
    struct ticket ticket;
    uint64_t after_ns =
        conversation_is_long(&connection->conversation, size) ? clock_monotonic_ns() : call->before_ns;
    if (conversation_sent(&connection->conversation, guest_era(), (const struct sent_piece *)pieces, count,
                          size, call->before_ns, after_ns, &ticket)) {
        release(connection, ticket);
    }
    overdue_show(connection);
}

/* --- receiving --- */

void call_receive_begin(struct data_call *call, int fd, int flags) {
    call->connection = NULL;
    if (!guest_is_active()) {
        return;
    }
    struct connection *connection = descriptor_connection(fd, &call->use);
    if (connection == NULL) {
        return;
    }
    uint8_t era = guest_era();
    if (conversation_is_left_out(&connection->conversation, era)) {
        return;
    }
    call->connection = connection;
    call->before_ns = clock_monotonic_ns();
    /* A peek at a connection that has not been used yet asks whether it still lives: nobody waits for a greeting. */
    if ((flags & MSG_PEEK) == 0 && conversation_is_fresh(&connection->conversation, era)) {
        conversation_receiving(&connection->conversation, era, call->before_ns);
        overdue_show(connection);
    }
    thread_waits.fd = fd;
    thread_waits.waiting = true;
}

static void received(struct connection *connection, int fd, uint32_t use) {
    uint8_t era = guest_era();
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t arrived_ns = now_ns;
    bool late = false;
    if (conversation_is_outstanding(&connection->conversation, era)) {
        arrived_ns = connection_arrived_ns(connection, fd, now_ns, &late);
        if (arrived_ns == 0) {
            /* The number has been given to another connection unseen: the one that was here is over. */
            connection_forget(connection, fd, use);
            return;
        }
    }
    bool tls_answered;
    struct conversation_step step =
        conversation_received(&connection->conversation, era, now_ns, arrived_ns, &tls_answered);
    if (tls_answered) {
        struct route route = route_back(atomic64_load_relaxed(&connection->place));
        if (route.breaker != NULL) {
            breaker_call_answered(route.breaker, route.thresholds, step.ticket);
        }
        overdue_show(connection);
    }
    connection_step(connection, &step, now_ns);
}

static void receive_failed(struct connection *connection, const struct data_call *call, int fd, int flags,
                           int error) {
    uint8_t era = guest_era();
    struct conversation_step step = {0};
    enum failure_reason reason;
    uint64_t now_ns = clock_monotonic_ns();
    enum error_kind kind = error_kind(error, &reason);
    if (kind == ERROR_FAILURE) {
        if (!is_elsewhere(connection, fd, call->use)) {
            step = conversation_failed(&connection->conversation, era, reason, now_ns);
        }
    } else if (error == EINTR) {
        thread_waits.timed_out = true;
    } else if (error == EAGAIN && (flags & MSG_DONTWAIT) == 0 &&
               connection_timed_out(fd, call->before_ns, now_ns)) {
        thread_waits.timed_out = true;
        if (!is_elsewhere(connection, fd, call->use)) {
            step = conversation_timed_out(&connection->conversation, era, now_ns);
        }
    }
    connection_step(connection, &step, now_ns);
}

void call_receive_end(struct data_call *call, int fd, size_t wanted, int flags, ssize_t result) {
    const int error = errno;
    struct connection *connection = call->connection;
    if (connection == NULL) {
        return;
    }
    thread_waits.waiting = false;
    if (!connection_is_current(connection, call->use)) {
        return;
    }
    bool datagram = atomic64_load_relaxed(&connection->datagram) != 0;
    if (result > 0 || (result == 0 && datagram)) {
        thread_waits.timed_out = false;
        received(connection, fd, call->use);
    } else if (result < 0) {
        receive_failed(connection, call, fd, flags, error);
    } else if (wanted > 0) {
        thread_waits.timed_out = false;
        if (is_elsewhere(connection, fd, call->use)) {
            return;
        }
        uint64_t now_ns = clock_monotonic_ns();
        struct conversation_step step =
            conversation_end_of_stream(&connection->conversation, guest_era(), now_ns);
        connection_step(connection, &step, now_ns);
    }
}
