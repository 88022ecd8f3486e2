/* One event of a panel's journal, as `cutout events` prints it. */
#ifndef CUTOUT_SHIM_TOOL_EVENT_PRINT_H
#define CUTOUT_SHIM_TOOL_EVENT_PRINT_H

#include "lib/journal.h"
#include "shim/tool/found.h"

#include <stdbool.h>

/* One line for people; name_panel: say at its end which panel it is of. */
void event_print_text(const struct event *event, const struct found_panel *panel, bool name_panel);

/* One JSON object on a line of its own. */
void event_print_json(const struct event *event, const struct found_panel *panel);

#endif
