/* Writes JSON to standard output, member by member. Commas and quoting are its business; a key is NULL inside
 * an array and at the top. */
#ifndef CUTOUT_SHIM_TOOL_JSON_H
#define CUTOUT_SHIM_TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero = nothing written yet. */
struct json {
    bool more; /* the next member needs a comma before it */
};

void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);

/* value NULL is null. Bytes that are no UTF-8 become U+FFFD. */
void json_string(struct json *json, const char *key, const char *value);
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_number(struct json *json, const char *key, uint64_t value);
/* value / 10^decimals, without trailing zeros: (75, 2) is 0.75. */
void json_decimal(struct json *json, const char *key, uint64_t value, unsigned decimals);
/* part / whole cut to three decimals; 0 where whole is 0. */
void json_share(struct json *json, const char *key, uint64_t part, uint64_t whole);
/* A wall-clock time as text; null for 0. */
void json_time(struct json *json, const char *key, uint64_t unix_ns);

#endif
