/* The three ways in which `cutout status` prints what it gathered. */
#ifndef CUTOUT_SHIM_TOOL_STATUS_H
#define CUTOUT_SHIM_TOOL_STATUS_H

#include "shim/tool/facts.h"
#include "shim/tool/found.h"

#include <stddef.h>
#include <stdint.h>

/* The breakers of one panel that were asked for, in the order in which they are printed. */
struct status_panel {
    const struct found_panel *panel;
    uint32_t *breakers; /* indices in the panel */
    size_t count;
};

/* One object with everything. */
void status_print_json(const struct status_panel *panels, size_t count, const struct moment *moment);

/* A few lines on the panel, then a row for each breaker, in 80 columns. */
void status_print_table(const struct status_panel *panel, const struct moment *moment);

/* One breaker in full: each threshold beside its value now. */
void status_print_breaker(const struct found_panel *panel, uint32_t breaker, const struct moment *moment);

/* "open (connect)", "half_open" … */
const char *status_state(const struct breaker_facts *facts);

/* When the next probe is due: "7.2s", "due", or "-" where none is. */
const char *status_next_probe(const struct breaker_facts *facts);

#endif
