/* Hung calls: who is outstanding, and how many for too long. */
#ifndef CUTOUT_SHIM_OVERDUE_H
#define CUTOUT_SHIM_OVERDUE_H

#include "lib/panel.h"
#include "lib/thresholds.h"
#include "shim/descriptors.h"
#include "shim/route.h"

#include <stdbool.h>
#include <stdint.h>

/* This process takes up that slot (PANEL_NO_SLOT: nothing): what its former process left there is cleared. */
void overdue_enter(struct panel *panel, uint32_t slot);

/* Shows outside what the connection is in, after any event that may have changed it. */
void overdue_show(const struct connection *connection);

/* A call has ended: no longer shown. Tells in *end whether the last count has it as overdue. */
void overdue_hide(const struct connection *connection, struct call_end *end);

/* A look-up begins; returns what overdue_lookup_ended wants (0 = not shown). */
uint32_t overdue_lookup_begun(const struct route *route, struct ticket ticket, uint64_t now_ns);
void overdue_lookup_ended(uint32_t shown, struct call_end *end);

/* Counts the hung calls of all breakers anew, when the last count is older than this rule's slow_call allows and nobody
 * else does: to be called before a breaker is asked or told. */
void overdue_count(const struct thresholds *thresholds, uint64_t now_ns);

/* Counts those of one breaker among living processes only, and clears what the dead have left. */
void overdue_count_living(const struct route *route, uint64_t now_ns);

/* Sets the breaker's count of outstanding calls to those of living processes: where max_in_flight is reached. */
void overdue_recount(const struct route *route, uint64_t now_ns);

#endif
