/* The panels of this machine, found in the kernel's list of shared memory and attached to read.
 *
 * A panel belongs to the user who made it, or to a group; others' are passed over, except for root. Memory
 * that is private to a process cannot be found from outside. */
#ifndef CUTOUT_SHIM_TOOL_FOUND_H
#define CUTOUT_SHIM_TOOL_FOUND_H

#include "lib/panel.h"
#include "shim/panel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOUND_WHO_MAX 64

struct found_panel {
    struct attachment attachment; /* read-only; panel is never NULL */
    struct outstanding
        *outstanding;  /* its calls under way, for who has counted them (outstanding.h); else NULL */
    uint64_t attached; /* processes that had it mapped when the list was read */
    uint64_t size_bytes;
    uint64_t resident_bytes; /* of it in memory or swapped out */
    uint32_t user_id, group_id;
    char name[PANEL_NAME_MAX];
    char user[FOUND_WHO_MAX];  /* who made it: a name, or a number that has none */
    char group[FOUND_WHO_MAX]; /* whose it is, "" where it is the user's own */
};

struct found {
    struct found_panel *panels; /* by user and name */
    size_t count;
};

/* Finds the panels that the selector names: NULL for all; NAME, of any owner; or USER/NAME, that user's own
 * (cut at the first slash that is not the first character). With CUTOUT_GROUP set a selector means that
 * group's. False, with the error reported, when the kernel's list cannot be read. */
bool found_open(struct found *found, const char *selector);
void found_close(struct found *found);

/* How many panels of the same name and owner there are that another version of cutout has made, for itself. */
size_t found_other_layouts(const struct found_panel *panel);

/* The number of a group that is given by its name or its number. False when there is none. */
bool found_group(const char *text, uint32_t *group_id);

/* Reports on standard error that found_open found nothing. Returns TOOL_NO. */
int found_nothing(const char *selector);

/* How many of the panel's processes live. */
uint32_t found_processes(const struct found_panel *panel);

/* The panel that a process of these settings would join; NULL when it would make a new one. */
const struct found_panel *found_joined(const struct found *found, const struct environment *environment);

/* "www-data", "the group web (made by root)". */
const char *found_whose(const struct found_panel *panel);

#endif
