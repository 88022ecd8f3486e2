/* The breakers of a replay: made when a destination is first met, and found again by the text of a trace. */
#ifndef CUTOUT_SHIM_TOOL_REPLAY_TABLE_H
#define CUTOUT_SHIM_TOOL_REPLAY_TABLE_H

#include "lib/replay.h"
#include "lib/trace.h"
#include "rules/ruleset.h"

#include <stdbool.h>
#include <stdint.h>

/* Whose breaker a lane is, for people. */
struct table_name {
    uint32_t rule;
    char *destination; /* as endpoint_format writes it */
    char *host;        /* host name and port under which it was first met, NULL where none is known */
};

/* What was made of a text before: a hint that other texts with the same place overwrite. */
struct table_hint {
    _Alignas(128) uint64_t hash;
    uint32_t lane;
    uint16_t destination_size, name_size;
    char text[112]; /* destination and name, one behind the other */
};
#define TABLE_HINTS 32768u /* in pairs: a text may lie in either place of its pair */

/* Where breakers lie, many in one piece: thousands of them would each cost a page, and half of a replay's time. */
struct table_block {
    _Alignas(64) struct table_block *next;
    size_t used; /* bytes, this head included */
};
#define TABLE_BLOCK_BYTES (2u << 20)

struct table {
    const struct ruleset *rules;
    bool observe; /* nothing is rejected, whatever the rules say */
    uint32_t count, room;
    struct replay_lane *lanes; /* `count` of them; moves when it grows */
    struct table_name *names;  /* likewise */
    uint32_t *cells;           /* open hash of the lanes: index + 1, 0 = free */
    uint32_t cell_count;       /* a power of two, more than twice `count` */
    struct table_hint *hints;
    struct table_block *blocks; /* the one in use first */
    struct replay_rule shares[RULESET_RULES];
};

#define TABLE_NOT_JUDGED UINT32_MAX       /* no rule covers it, or the rule is off */
#define TABLE_BAD        (UINT32_MAX - 1) /* *error says why */
#define TABLE_NO_MEMORY  (UINT32_MAX - 2)

/* False without memory. table_close must follow either way. */
bool table_open(struct table *table, const struct ruleset *rules, bool observe);

/* The lane of the record's destination, made if it is not there yet. */
uint32_t table_find(struct table *table, const struct trace_record *record, struct trace_error *error);

void table_close(struct table *table);

#endif
