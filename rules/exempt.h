/* Times of day in which slow calls do not trip, as slow_exempt lists them: read from text and written back. */
#ifndef CUTOUT_RULES_EXEMPT_H
#define CUTOUT_RULES_EXEMPT_H

#include "lib/text.h"
#include "lib/thresholds.h"
#include "rules/scan.h"

#include <stdbool.h>

/* Reads one span: "02:00-02:10", "Mon-Fri 14:00-14:10 +08:00". False when it is none: then *found is the part that is
 * wrong, and *expected what should stand there. */
bool exempt_read(struct piece text, struct exempt_span *span, struct piece *found, const char **expected);

/* Appends the spans as a list of what exempt_read reads; "off" where there is none. */
void exempt_write(struct text *text, const struct exempt_span *spans, unsigned count);

/* True when the span is every minute of every day. */
bool exempt_is_always(const struct exempt_span *span);

#endif
