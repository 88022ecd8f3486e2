/* Traces: calls as text, one a line, so that a person can write one.
 *
 *   # cutout trace 1
 *   # start_s  destination            outcome          response_time
 *   0.150      tcp://10.0.0.5:443     failure:timeout  1s
 *   7.000      tcp://10.0.0.5:443     success          -          kept name=api.internal   # never returned
 *
 * A line is read in one pass and nothing is copied: what a record points to lies in the line. What the destination and the
 * name mean is looked at apart (trace_target), so that whoever meets the same text again need not read it again.
 */
#ifndef CUTOUT_LIB_TRACE_H
#define CUTOUT_LIB_TRACE_H

#include "lib/breaker.h"
#include "lib/endpoint.h"
#include "lib/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NEVER          UINT64_MAX            /* as a response time: the call never returned */
#define TRACE_START_MAX_S    UINT64_C(9999999999)  /* seconds; the year 2286 where they count from 1970 */
#define TRACE_RESPONSE_MAX_S UINT64_C(366 * 86400) /* a response time takes at most a year */
#define TRACE_HEADER         "# cutout trace 1\n"

/* A part of a line. */
struct trace_piece {
    const char *bytes;
    size_t size;
    uint32_t column; /* of its first byte, from 1 */
};

struct trace_record {
    uint64_t start_ns;
    uint64_t response_ns;           /* or TRACE_NEVER */
    struct trace_piece destination; /* "tcp://10.0.0.5:443", as it is written */
    struct trace_piece name;        /* of name=HOST; size 0 where none is written */
    struct trace_piece rule; /* of rule=NAME, where the destination is "*"; size 0 where none is written */
    enum outcome outcome;
    enum failure_reason reason; /* REASON_NONE unless it is a failure */
    bool kept;                  /* an exchange on an established connection */
    bool connect;  /* ended in its connect phase, by that word or because of a failure that says so */
    uint64_t lost; /* of a "# lost N" line */
};

/* What was found where, and what should have stood there. */
struct trace_error {
    struct trace_piece found; /* size 0: the line ends there */
    const char *expected;
};

enum trace_line {
    TRACE_BLANK, /* nothing, or a comment */
    TRACE_CALL,
    TRACE_LOST, /* a recorder says that it lost calls here */
    TRACE_BAD
};

/* Reads a line, without its line feed. *record is filled in for TRACE_CALL and TRACE_LOST, *error for TRACE_BAD. */
enum trace_line trace_read(const char *line, size_t size, struct trace_record *record,
                           struct trace_error *error);

/* Whom a call was made to. */
struct trace_target {
    struct endpoint endpoint;
    char
        text[ENDPOINT_NAME_MAX + 1]; /* path or host name of a unix or dns endpoint or one by name, else "" */
    char host[ENDPOINT_NAME_MAX + 1]; /* canonical host name under which its address was found, "" = none */
    char rule[BREAKER_RULE_MAX]; /* of endpoint_any: the rule whose destinations it stands for, else "" */
};

/* Reads the record's destination, name and rule. False, with *error filled in, when they are none. */
bool trace_target(const struct trace_record *record, struct trace_target *target, struct trace_error *error);

#define TRACE_ERROR_MAX 256

/* "found 'X', expected Y", NUL-terminated, X escaped and at most 40 bytes of it. Returns the length. */
size_t trace_error_format(const struct trace_error *error, char *text, size_t room);

#define TRACE_LINE_MAX 4096

/* Writes the line that trace_read makes such a record of, with its line feed and a terminating zero. destination is as
 * endpoint_format writes it, name and rule plain text (as trace_target gives them), all without columns; `connect` is written only
 * where it is not implied. No line is longer than TRACE_LINE_MAX. Returns the length. */
size_t trace_write(const struct trace_record *record, char *line, size_t room);

#endif
