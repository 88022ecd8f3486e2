/* How a call ends: its outcome, and for a failure the reason. The names are those of the rules, the trace
 * format and all output. */
#ifndef CUTOUT_LIB_OUTCOME_H
#define CUTOUT_LIB_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

enum outcome { OUTCOME_SUCCESS = 0, OUTCOME_FAILURE = 1, OUTCOME_IGNORED = 2 };

/* Why a call failed. The order is that of the member "errors" in `cutout status --json`. */
enum failure_reason {
    REASON_NONE = 0,
    REASON_REFUSED,
    REASON_TIMEOUT,
    REASON_RESET,
    REASON_CLOSED,
    REASON_UNREACHABLE,
    REASON_DNS,
    REASON_STATUS,
    REASON_COUNT
};

/* The end of one call, as the conversation reports it and the breaker counts it. */
struct call_end {
    enum outcome outcome;
    enum failure_reason reason; /* REASON_NONE unless outcome is OUTCOME_FAILURE */
    bool past_connect;    /* the connect (and session set-up, or look-up) was done when the call ended */
    bool exchange;        /* bytes were received: the destination answered */
    bool kept;            /* a request on an established connection, not the one its connect began */
    bool answered;        /* its answer had begun before this (TLS): it was not in flight any more */
    bool was_overdue;     /* the last count of overdue calls has it */
    bool overdue_past;    /* and as one past its connect */
    uint64_t started_ns;  /* when the call began, monotonic */
    uint64_t response_ns; /* time spent waiting for the destination, in all */
    uint64_t exchange_ns; /* the part of it after the connect and session set-up */
};

/* "success", "failure", "ignored"; never NULL. */
const char *outcome_name(enum outcome outcome);

/* "refused", "timeout" …; "none" for REASON_NONE or a value out of range; never NULL. */
const char *failure_reason_name(enum failure_reason reason);

#endif
