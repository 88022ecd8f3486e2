/* What operators have said of a panel, as `cutout status` shows it. */
#ifndef CUTOUT_SHIM_TOOL_OVERRIDDEN_H
#define CUTOUT_SHIM_TOOL_OVERRIDDEN_H

#include "lib/override.h"
#include "shim/tool/found.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct overridden {
    enum override says;
    uint64_t left_ns;  /* UINT64_MAX: without end */
    const char *scope; /* "all", "rule", "destination"; NULL where nothing is said */
};

/* What holds for everything in the panel. */
struct overridden overridden_all(const struct panel *panel, uint64_t now_ns);

/* What holds for one breaker, by whichever word goes first. */
struct overridden overridden_breaker(const struct panel *panel, const struct breaker *breaker,
                                     uint64_t now_ns);

/* "open for 59m more", "off". */
const char *overridden_text(const struct overridden *overridden);

/* A line for each word in force, the strongest first. */
void overridden_print(const struct found_panel *panel, uint64_t now_ns);

#endif
