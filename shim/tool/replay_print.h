/* What `cutout replay` prints: changes of state as they happen, and what was made of each breaker's calls. */
#ifndef CUTOUT_SHIM_TOOL_REPLAY_PRINT_H
#define CUTOUT_SHIM_TOOL_REPLAY_PRINT_H

#include "shim/tool/replay_table.h"

#include <stdbool.h>
#include <stdint.h>

/* One change: a line as `cutout events` prints it, or an object, with the seconds of the trace for the time of day. */
void replay_print_change(const struct table *table, const struct replay_change *change, bool json);

/* What else is to be told at the end. */
struct replay_end {
    uint64_t not_judged; /* calls that no rule judges */
    uint64_t lost;       /* calls that the trace's recorder lost */
    uint64_t end_ns;     /* when the last call started or ended */
};

/* The breakers, in the order in which the trace names them. */
void replay_print_summary(const struct table *table, const struct replay_end *end, bool json);

#endif
