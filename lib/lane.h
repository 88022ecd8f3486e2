/* One breaker in a replay: asked and told at times of the trace, its hung calls kept exactly. Between lib/replay.c, which
 * says when, and lib/breaker.h. */
#ifndef CUTOUT_LIB_LANE_H
#define CUTOUT_LIB_LANE_H

#include "lib/replay.h"

/* Asks for leave to make calls[index], at its start. Puts its ticket into it; returns how many changes followed. */
unsigned lane_ask(struct replay *replay, uint32_t index, enum breaker_ask ask,
                  struct replay_change changes[2]);

/* True when the call must be remembered: it will end, or may become overdue. */
bool lane_keeps(const struct replay *replay, uint32_t index);

/* calls[index] ends at now_ns. */
struct transition lane_end(struct replay *replay, uint32_t index, uint64_t now_ns);

/* Puts calls[index] among the free ones. */
void replay_free(struct replay *replay, uint32_t index);

#endif
