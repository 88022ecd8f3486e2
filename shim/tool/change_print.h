/* A breaker's change of state, as `cutout events` and `cutout replay` print it. */
#ifndef CUTOUT_SHIM_TOOL_CHANGE_PRINT_H
#define CUTOUT_SHIM_TOOL_CHANGE_PRINT_H

#include "lib/journal.h"
#include "shim/tool/json.h"

/* "payments tcp://10.1.0.5:8443 closed -> open (error_ratio 75.0% >= 50%, 9 of 12 calls in 10s: timeout 9; next probe in
 * 10s)", without a time before it and a line feed behind. The destination is printed as it is. */
void change_print_text(const struct event *event, const char *rule, const char *destination);

/* The members of an event's object that tell of the change, from "rule" to "retry_in_ms". */
void change_print_json(struct json *json, const struct event *event, const char *rule,
                       const char *destination);

#endif
