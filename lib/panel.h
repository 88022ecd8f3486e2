/* The layout of the panel: the shared memory that holds all breakers of one application.
 *
 * A fixed layout of fixed-width fields, the same in 32- and 64-bit processes; indices instead of pointers;
 * all zero = valid and empty, so a panel is usable from the moment its memory exists, and every step of
 * filling it in may be done by whoever comes first. Sparse: what is not used is never touched. Any field may
 * have been scribbled over by another process: every index read from it is bounded before use. Anything that
 * changes the layout raises PANEL_LAYOUT, which is part of the segment's key: two versions live side by side.
 */
#ifndef CUTOUT_LIB_PANEL_H
#define CUTOUT_LIB_PANEL_H

#include "lib/atomic64.h"
#include "lib/breaker.h"
#include "lib/endpoint.h"
#include "lib/flight.h"
#include "lib/journal.h"
#include "lib/override.h"
#include "lib/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PANEL_MAGIC         UINT64_C(0x6375746f75743031) /* "cutout01" */
#define PANEL_LAYOUT        2
#define PANEL_BREAKERS      16384
#define PANEL_INDEX_CELLS   65536 /* a power of two; at most a quarter is ever used */
#define PANEL_PROBES        128   /* cells looked at for one breaker; the longest row ever met is under 20 */
#define PANEL_SPARES        16
#define PANEL_PROCESSES     1024
#define PANEL_NAME_MAX      256
#define PANEL_PATH_MAX      4096
#define PANEL_PROGRAM_MAX   128
#define PANEL_VERSION_MAX   16
#define PANEL_ERROR_MAX     512
#define PANEL_INCLUDES      16
#define PANEL_RULESETS      4
#define PANEL_RULESET_BYTES (1u << 20)
#define PANEL_NO_BREAKER    UINT32_MAX

/* One attached process; its index is its slot, and the number of its semaphore. Whether it lives is known by
 * the semaphore, not by these words. */
struct process {
    struct atomic64 generation; /* rises with every claim of the slot; never 0 once claimed */
    struct atomic64 pid;        /* as the process sees itself */
    struct atomic64 since_unix_ns;
    struct atomic64 mode;            /* CUTOUT_MODE: 0 none, else 1 + enum rule_mode */
    char program[PANEL_PROGRAM_MAX]; /* /proc/self/exe, cut at the front, NUL-terminated */
    char version[PANEL_VERSION_MAX];
    char rules_named[PANEL_PATH_MAX /
                     16]; /* another rules file than the panel's, that this process named; else "" */
};

/* What makes a rules file differ: of the file itself and, folded into `includes`, of each included one. */
struct rules_stamp {
    struct atomic64 device, inode, size, changed_ns, includes;
};

/* The compiled rules. `current` names the buffer in force; a buffer is filled by the one process that has
 * taken `claim`, and only published when whole. */
struct panel_rules {
    struct atomic64 current; /* version << 8 | buffer + 1; 0 = the built-in defaults, version 0 */
    struct atomic64 claim; /* monotonic ns when a loader took the right to load; 0 = free; stale after 5 s */
    struct atomic64 loaded_unix_ns;
    struct atomic64 looked_ns; /* when a running process last looked whether the file differs */
    struct atomic64 bad; /* not 0: the file last seen was refused (1) or not to be read (2); see `error` */
    struct atomic64 withheld; /* not 0: a file is named but no good rules were ever loaded: observe only */
    struct atomic64 named;    /* not 0: `file` is settled, for as long as the panel lives */
    struct rules_stamp stamp;
    char file[PANEL_PATH_MAX]; /* the panel's one rules file; "" = none */
    char error[PANEL_ERROR_MAX];
    /* The files that the last load read beside it, whose stamps are folded into `includes`; "" ends the list.
     */
    char included[PANEL_INCLUDES][PANEL_PATH_MAX];
    _Alignas(64) unsigned char buffers[PANEL_RULESETS][PANEL_RULESET_BYTES]; /* each a struct ruleset */
};

/* Counting the calls that hang. One process at a time counts, elected by `counted_ns`; readers of a breaker's `overdue`
 * never wait for it. */
struct panel_overdue {
    struct atomic64 counted_ns; /* when a count was last begun */
    struct atomic64 number;     /* of the last count that is whole; its mark is number % 7 + 1 */
    struct atomic64 flying[PANEL_PROCESSES / 64]; /* bit of a slot: it has ever had calls */
    /* Work of the counter: number << 40 | past their connect << 20 | calls, of each breaker. */
    struct atomic64 counts[PANEL_BREAKERS];
};

struct panel {
    struct atomic64 magic; /* PANEL_MAGIC, stored by whoever finds 0 */
    struct atomic64 layout;
    struct atomic64 created_unix_ns;
    struct atomic64 unprotected; /* how often a destination was turned away because the table was full */
    struct atomic64 no_slot;     /* processes that found no free slot */
    char name[PANEL_NAME_MAX];
    struct process processes[PANEL_PROCESSES];
    struct journal journal;
    struct atomic64 breakers_used;        /* number of breakers ever taken; the first ones of `breakers` */
    struct atomic64 recycle_hand;         /* where the last search for an idle breaker ended */
    struct atomic64 spares[PANEL_SPARES]; /* index + 1 of a place taken but not needed; 0 = none */
    struct atomic64 index[PANEL_INDEX_CELLS]; /* hash's high 32 bits << 32 | breaker's index + 1; 0 = free */
    struct overrides overrides;
    struct panel_overdue overdue;
    struct breaker breakers[PANEL_BREAKERS];
    struct flights flights[PANEL_PROCESSES]; /* by slot */
    struct recording recording;
    struct panel_rules rules;
};

/* The same in 32- and 64-bit processes: whoever changes a number here raises PANEL_LAYOUT. */
_Static_assert(sizeof(struct breaker) == 5632 && sizeof(struct process) == 432 &&
                   sizeof(struct journal_entry) == 128 && offsetof(struct panel, rules) == 113308352 &&
                   sizeof(struct panel) == 117572928,
               "the layout of the panel is fixed");

/* Finds the breaker of (endpoint, rule_key); PANEL_NO_BREAKER when there is none. */
uint32_t panel_find(const struct panel *panel, const struct endpoint *endpoint, uint64_t rule_key);

/* Finds it or makes it. endpoint_name is the text of a unix or dns endpoint (else NULL or ""), rule the
 * rule's name. PANEL_NO_BREAKER when the table is full; then the destination goes unprotected (counted in
 * `unprotected`). Two processes that make the same breaker at once get the same one. A process killed in the
 * middle costs one unused place. */
uint32_t panel_find_or_make(struct panel *panel, const struct endpoint *endpoint, const char *endpoint_name,
                            const char *rule, uint64_t rule_key);

/* Frees the place of a breaker that is idle for a minute, CLOSED and free of failures, for panel_find_or_make to give to
 * another destination. False when it met none among the 256 it looked at. now_ns is the monotonic time. */
bool panel_recycle(struct panel *panel, uint64_t now_ns);

/* The breaker with that index, or NULL when the index is out of range or not made. */
struct breaker *panel_breaker(struct panel *panel, uint32_t index);

/* How many breakers have been taken, never more than PANEL_BREAKERS. */
uint32_t panel_breakers_used(const struct panel *panel);

#endif
