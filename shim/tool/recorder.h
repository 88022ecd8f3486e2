/* Writing down the calls of a panel as a trace. */
#ifndef CUTOUT_SHIM_TOOL_RECORDER_H
#define CUTOUT_SHIM_TOOL_RECORDER_H

#include "lib/panel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How often recorder_step is to be called at least. */
#define RECORDER_STEP_MS 50

struct recorder {
    struct panel *panel; /* attached to write */
    const char *path;    /* for messages */
    int file;
    bool regular;       /* of a regular file: what a full disk cut off is taken back */
    uint64_t next;      /* number of the record to come */
    uint64_t waited_ns; /* since when its writer is waited for; 0 = he is not */
    uint64_t lost;      /* not yet said in the trace */
    uint64_t calls, lost_in_all;
    size_t used;
    char lines[1 << 16]; /* whole lines that are not written yet */
};

/* Opens FILE ("-": standard output) and starts recording; what it held is lost. False, with the error reported, when it
 * cannot be written. */
bool recorder_begin(struct recorder *recorder, struct panel *panel, const char *path);

/* Writes what has come. False, with the error reported, when it cannot be written. */
bool recorder_step(struct recorder *recorder);

/* Writes the rest and ends the recording. */
bool recorder_end(struct recorder *recorder);

#endif
