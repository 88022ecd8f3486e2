/* Leave to make one probe: the permits of a breaker in HALF_OPEN.
 *
 * One word each, 63..52 generation | 51..50 state | 49..0 holder. A permit of another generation than the
 * breaker's is free, whatever it says: a change of state revokes all at once. There are only as many words as
 * probes, so there are never more probes. Permits are numbered from 1, as tickets carry them.
 */
#ifndef CUTOUT_LIB_PERMIT_H
#define CUTOUT_LIB_PERMIT_H

#include "lib/atomic64.h"

#include <stdbool.h>
#include <stdint.h>

/* Takes a free permit among the first `probes`; returns its number, 0 when none is free, or when that generation
 * of the breaker whose control word is `control` is over. */
unsigned permit_take(struct atomic64 *permits, unsigned probes, const struct atomic64 *control,
                     uint16_t generation, uint64_t holder);

/* Before the breaker may move on from the control word `seen`: frees what bears the next generation's number since
 * 4,096 changes of state ago. Nothing happens once control has moved. */
void permit_forget(struct atomic64 *permits, const struct atomic64 *control, uint64_t seen);

/* The probe passed. */
void permit_pass(struct atomic64 *permits, unsigned number, uint16_t generation);

/* The probe's destination has answered; the call goes on (TLS). */
void permit_answered(struct atomic64 *permits, unsigned number, uint16_t generation);

/* The probe ended as ignored: the permit is free again. */
void permit_give_back(struct atomic64 *permits, unsigned number, uint16_t generation);

/* True when each of the first `probes` has passed, or (count_answered) has been answered at least. */
bool permit_all_passed(const struct atomic64 *permits, unsigned probes, uint16_t generation,
                       bool count_answered);

/* True when one of the first `probes` is free. */
bool permit_any_free(const struct atomic64 *permits, unsigned probes, uint16_t generation);

/* Who holds a permit that is out (answered or not); 0 when it is not out or nobody is known. */
uint64_t permit_holder(const struct atomic64 *permit, uint16_t generation, uint64_t *word);

/* Frees a permit if its word is still the one seen. */
bool permit_free(struct atomic64 *permit, uint64_t word);

#endif
