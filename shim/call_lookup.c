#include "lib/endpoint.h"
#include "lib/panel.h"
#include "shim/call.h"
#include "shim/clock.h"
#include "shim/guest.h"
#include "shim/names.h"
#include "shim/overdue.h"
#include "shim/route.h"

#include <string.h>

/* True for what getaddrinfo takes as an address in some spelling: "10.1", "0x7f000001", "fe80::1%eth0". A host name's
 * last label is never a number. */
static bool is_numeric(const char *name, size_t size) {
    uint8_t bytes[16];
    bool ipv6;
    if (memchr(name, ':', size) != NULL || endpoint_parse_address(name, size, bytes, &ipv6)) {
        return true;
    }
    size_t from = size;
    while (from > 0 && name[from - 1] != '.') {
        from--;
    }
    return from < size && name[from] >= '0' && name[from] <= '9';
}

/* Every machine knows that name by itself: no look-up, but a name that rules may match. */
static bool is_localhost(const char *name, size_t size) {
    return size == 9 && memcmp(name, "localhost", 9) == 0;
}

bool call_lookup_begin(struct lookup_call *call, const char *node) {
    call->named = false;
    call->judged = false;
    if (node == NULL || !guest_is_active()) {
        return true;
    }
    size_t size = endpoint_canonical_name(node, call->name, sizeof call->name);
    if (size == 0 || is_numeric(call->name, size)) {
        return true;
    }
    call->named = true;
    if (is_localhost(call->name, size)) {
        return true;
    }
    struct endpoint endpoint = endpoint_named(SCHEME_DNS, call->name, size);
    guest_era();
    call->before_ns = clock_monotonic_ns();
    guest_look_at_rules(call->before_ns);
    struct route route = route_to(&endpoint, call->name);
    if (route.breaker == NULL) {
        return true;
    }
    call->place = route.place;
    call->ticket = route_admit(&route, ASK_CONNECT, call->before_ns);
    call->judged = call->ticket.standing != STANDING_REJECTED;
    call->shown = call->judged ? overdue_lookup_begun(&route, call->ticket, call->before_ns) : 0;
    return call->judged;
}

void call_lookup_end(struct lookup_call *call, enum lookup_end end) {
    if (!call->judged) {
        return;
    }
    struct route route = route_back(call->place);
    if (route.breaker == NULL) {
        return;
    }
    uint64_t now_ns = clock_monotonic_ns();
    struct call_end result = {.past_connect = true, .exchange = true, .started_ns = call->before_ns};
    result.response_ns = result.exchange_ns = now_ns - call->before_ns;
    if (end == LOOKUP_FAILED) {
        result.outcome = OUTCOME_FAILURE;
        result.reason = REASON_DNS;
        result.exchange = false;
    } else if (end == LOOKUP_OWN_FAULT) {
        result.outcome = OUTCOME_IGNORED;
        result.exchange = false;
    }
    overdue_lookup_ended(call->shown, &result);
    route_finish(&route, call->ticket, &result, now_ns);
}

void call_lookup_address(const struct lookup_call *call, const void *address, bool ipv6) {
    if (call->named) {
        names_note(call->name, address, ipv6);
    }
}
