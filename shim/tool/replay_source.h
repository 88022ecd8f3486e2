/* The lines of a trace, in the order of the calls' starts.
 *
 * Read twice: first to see that every line is good and whether they are in order (source_check), then to replay them
 * (source_next). So a bad trace is refused before anything is made of it. In order, it streams through one buffer; out of
 * order, the whole of it is held in memory and sorted. What cannot be read twice is copied to a nameless file first. */
#ifndef CUTOUT_SHIM_TOOL_REPLAY_SOURCE_H
#define CUTOUT_SHIM_TOOL_REPLAY_SOURCE_H

#include "lib/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_BUFFER   (1u << 20)
#define SOURCE_LINE_MAX (1u << 16)

/* Where a call's line lies, and when it starts. */
struct source_place {
    uint64_t start_ns;
    uint64_t offset;
};

struct source {
    const char *path; /* as it is printed */
    int descriptor;
    uint64_t begin;  /* offset of the first byte in the file */
    uint64_t offset; /* of the next byte to read into the buffer */
    uint64_t end;    /* where the second reading stops; UINT64_MAX in the first */
    uint64_t line;   /* number of the line read last */
    char *buffer;
    size_t from, filled; /* what is not yet read of the buffer */
    uint64_t newest_ns;  /* latest start so far */
    uint64_t calls;      /* in the whole trace */
    uint64_t lost;       /* that recorders say they lost */
    uint64_t unsorted;   /* number of the first line that starts before an earlier one; 0 = in order */
    struct source_place *places; /* of an unsorted trace, by start */
    uint64_t next;               /* of the places */
};

/* Opens a trace, "-" being standard input. False, with the error reported, when it cannot be read. source_close must follow
 * either way. */
bool source_open(struct source *source, const char *path);

/* Decides whether the target of a call is good; false with *error filled in. */
typedef bool source_target(void *context, const struct trace_record *record, struct trace_error *error);

/* Reads the whole trace and reports every bad line, up to a limit. False when there was one, or reading failed. From then
 * on source_next gives the calls in order. */
bool source_check(struct source *source, source_target *target, void *context);

enum source_got { SOURCE_CALL, SOURCE_END, SOURCE_FAILED /* and reported */ };

/* The next call. What the record points to is valid until the next one is asked for. */
enum source_got source_next(struct source *source, struct trace_record *record);

void source_close(struct source *source);

#endif
