#include "lib/panel.h"

#include <string.h>

/* A destination's way through the index: where to begin, and what its cell must begin with. */
struct probe {
    uint32_t cell;
    uint32_t tag;
};

static struct probe probe_of(const struct endpoint *endpoint, uint64_t rule_key) {
    uint64_t hash = endpoint_hash(endpoint, rule_key);
    return (struct probe){.cell = (uint32_t)hash, .tag = (uint32_t)(hash >> 32)};
}

/* The breaker that a cell names if it is the one asked for, else PANEL_NO_BREAKER. */
static uint32_t cell_match(const struct panel *panel, uint64_t cell, uint32_t tag,
                           const struct endpoint *endpoint, uint64_t rule_key) {
    uint32_t index = (uint32_t)cell - 1;
    if ((uint32_t)(cell >> 32) != tag || index >= PANEL_BREAKERS) {
        return PANEL_NO_BREAKER;
    }
    const struct breaker *breaker = &panel->breakers[index];
    bool same = breaker->rule_key == rule_key && endpoint_equal(&breaker->endpoint, endpoint);
    return same ? index : PANEL_NO_BREAKER;
}

uint32_t panel_find(const struct panel *panel, const struct endpoint *endpoint, uint64_t rule_key) {
    struct probe probe = probe_of(endpoint, rule_key);
    for (uint32_t i = 0; i < PANEL_PROBES; i++) {
        const struct atomic64 *word = &panel->index[(probe.cell + i) % PANEL_INDEX_CELLS];
        /* Acquires the swap that published the cell: the identity behind it is whole. */
        uint64_t cell = atomic64_load_acquire(word);
        if (cell == 0) {
            return PANEL_NO_BREAKER;
        }
        uint32_t index = cell_match(panel, cell, probe.tag, endpoint, rule_key);
        if (index != PANEL_NO_BREAKER) {
            /* Its maker was killed between publishing it and saying so: panel_find_or_make mends that. */
            bool made = atomic64_load_relaxed(&panel->breakers[index].made) != 0;
            return made ? index : PANEL_NO_BREAKER;
        }
    }
    return PANEL_NO_BREAKER;
}

/* --- places ----------------------------------------------------------------------------------------- */

/* A place that a loser of a race left, or the next one never taken. */
static uint32_t place_take(struct panel *panel) {
    for (unsigned i = 0; i < PANEL_SPARES; i++) {
        uint64_t spare = atomic64_load_relaxed(&panel->spares[i]);
        /* Acquires place_spare's swap: the other's writing of an identity is over. */
        if (spare != 0 && atomic64_swap_acq_rel(&panel->spares[i], &spare, 0)) {
            uint64_t index = spare - 1;
            if (index < PANEL_BREAKERS && atomic64_load_relaxed(&panel->breakers[index].made) == 0) {
                return (uint32_t)index;
            }
        }
    }
    uint64_t used = atomic64_load_relaxed(&panel->breakers_used);
    while (used < PANEL_BREAKERS) {
        if (atomic64_swap_acq_rel(&panel->breakers_used, &used, used + 1)) {
            /* A place that is in use already means that the counter was scribbled over: on to the next. */
            if (atomic64_load_relaxed(&panel->breakers[used].made) == 0) {
                return (uint32_t)used;
            }
            used++;
        }
    }
    return PANEL_NO_BREAKER;
}

/* Leaves an unneeded place to the next who makes a breaker; with all spares taken it stays unused. */
static void place_spare(struct panel *panel, uint32_t index) {
    for (unsigned i = 0; i < PANEL_SPARES; i++) {
        uint64_t spare = 0;
        if (atomic64_load_relaxed(&panel->spares[i]) == 0 &&
            atomic64_swap_acq_rel(&panel->spares[i], &spare, (uint64_t)index + 1)) {
            return;
        }
    }
}

static void copy_text(char *to, size_t room, const char *from) {
    size_t size = from == NULL ? 0 : strlen(from);
    if (size > room - 1) {
        size = room - 1;
    }
    if (size > 0) {
        memcpy(to, from, size);
    }
    memset(to + size, 0, room - size);
}

/* --- making ----------------------------------------------------------------------------------------- */

uint32_t panel_find_or_make(struct panel *panel, const struct endpoint *endpoint, const char *endpoint_name,
                            const char *rule, uint64_t rule_key) {
    struct probe probe = probe_of(endpoint, rule_key);
    uint32_t place = PANEL_NO_BREAKER;
    uint32_t result = PANEL_NO_BREAKER;
    for (uint32_t i = 0; i < PANEL_PROBES && result == PANEL_NO_BREAKER; i++) {
        struct atomic64 *word = &panel->index[(probe.cell + i) % PANEL_INDEX_CELLS];
        uint64_t cell = atomic64_load_acquire(word); /* as in panel_find */
        if (cell == 0) {
            if (place == PANEL_NO_BREAKER) {
                place = place_take(panel);
                if (place == PANEL_NO_BREAKER) {
                    break;
                }
                struct breaker *breaker = &panel->breakers[place];
                breaker->endpoint = *endpoint;
                breaker->rule_key = rule_key;
                copy_text(breaker->rule, sizeof breaker->rule, rule);
                copy_text(breaker->endpoint_name, sizeof breaker->endpoint_name, endpoint_name);
            }
            /* Releases the identity to whoever acquires the cell. */
            if (atomic64_swap_acq_rel(word, &cell, (uint64_t)probe.tag << 32 | (place + 1))) {
                result = place;
                place = PANEL_NO_BREAKER;
                break;
            }
            /* Somebody was faster, perhaps with this very breaker: `cell` is now theirs, acquired. */
        }
        result = cell_match(panel, cell, probe.tag, endpoint, rule_key);
    }
    if (place != PANEL_NO_BREAKER) {
        place_spare(panel, place);
    }
    if (result == PANEL_NO_BREAKER) {
        atomic64_add_relaxed(&panel->unprotected, 1);
    } else if (atomic64_load_relaxed(&panel->breakers[result].made) == 0) {
        /* Releases the identity to whoever goes through `breakers` without the index (panel_breaker). */
        atomic64_store_release(&panel->breakers[result].made, 1);
    }
    return result;
}

struct breaker *panel_breaker(struct panel *panel, uint32_t index) {
    if (index >= PANEL_BREAKERS) {
        return NULL;
    }
    struct breaker *breaker = &panel->breakers[index];
    /* Acquires the release that ends panel_find_or_make. */
    return atomic64_load_acquire(&breaker->made) != 0 ? breaker : NULL;
}

uint32_t panel_breakers_used(const struct panel *panel) {
    uint64_t used = atomic64_load_relaxed(&panel->breakers_used);
    return used < PANEL_BREAKERS ? (uint32_t)used : PANEL_BREAKERS;
}
