/* How a call on a connection ends: what the two halves of lib/conversation.h share. */
#ifndef CUTOUT_LIB_EXCHANGE_H
#define CUTOUT_LIB_EXCHANGE_H

#include "lib/conversation.h"

#include <stdbool.h>
#include <stdint.h>

/* A step in which nothing has ended. */
extern const struct conversation_step exchange_no_step;

/* How long the current wait has lasted at now_ns; 0 when nothing is waited for. */
uint64_t exchange_wait_ns(const struct conversation *conversation, uint64_t now_ns);

/* True for a TLS call whose answer has begun. */
bool exchange_is_answered(uint64_t talk);

/* What remains to be judged once a call has ended well. */
enum conversation_phase exchange_phase_after(uint64_t talk);

/* The end of a call whose last wait lasted last_ns. */
struct call_end exchange_result(const struct conversation *conversation, uint64_t talk, enum outcome outcome,
                                enum failure_reason reason, uint64_t last_ns);

/* The end of an answered TLS call: it ends well, whatever happens next, and after its last record nothing was waited
 * for. */
struct call_end exchange_answered_result(const struct conversation *conversation, uint64_t talk);

/* Ends the current call: moves talk from *seen (`talk` as the era sees it) to `phase` and sets the flags in `set`. True,
 * and *step is filled in, for the one who succeeds; else *seen is what talk is now. */
bool exchange_end(struct conversation *conversation, uint64_t *seen, uint64_t talk,
                  enum conversation_phase phase, uint64_t set, struct conversation_step *step,
                  struct call_end end);

#endif
