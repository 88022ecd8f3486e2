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

/* The breaker that a cell names if it is the one asked for, else PANEL_NO_BREAKER. One whose place is being given to
 * another destination meanwhile is not. */
static uint32_t cell_match(const struct panel *panel, uint64_t cell, uint32_t tag,
                           const struct endpoint *endpoint, uint64_t rule_key) {
    uint32_t index = (uint32_t)cell - 1;
    if ((uint32_t)(cell >> 32) != tag || index >= PANEL_BREAKERS) {
        return PANEL_NO_BREAKER;
    }
    const struct breaker *breaker = &panel->breakers[index];
    uint64_t made = atomic64_load_acquire(&breaker->made);
    bool same = breaker->rule_key == rule_key && endpoint_equal(&breaker->endpoint, endpoint);
    return same && atomic64_load_acquire(&breaker->made) == made ? index : PANEL_NO_BREAKER;
}

/* True when the cell's breaker has become another destination's: the cell may be used again. */
static bool cell_is_stale(const struct panel *panel, uint64_t cell) {
    uint32_t index = (uint32_t)cell - 1;
    if (index >= PANEL_BREAKERS) {
        return true; /* a scribble */
    }
    const struct breaker *breaker = &panel->breakers[index];
    uint64_t made = atomic64_load_acquire(&breaker->made);
    return breaker_is_made(made) &&
           probe_of(&breaker->endpoint, breaker->rule_key).tag != (uint32_t)(cell >> 32) &&
           atomic64_load_acquire(&breaker->made) == made;
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
            bool made = breaker_is_made(atomic64_load_relaxed(&panel->breakers[index].made));
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
            if (index < PANEL_BREAKERS &&
                !breaker_is_made(atomic64_load_relaxed(&panel->breakers[index].made))) {
                return (uint32_t)index;
            }
        }
    }
    uint64_t used = atomic64_load_relaxed(&panel->breakers_used);
    while (used < PANEL_BREAKERS) {
        if (atomic64_swap_acq_rel(&panel->breakers_used, &used, used + 1)) {
            /* A place that is in use already means that the counter was scribbled over: on to the next. */
            if (!breaker_is_made(atomic64_load_relaxed(&panel->breakers[used].made))) {
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

/* Writes an identity into a place that nobody finds yet. */
static void place_fill(struct breaker *breaker, const struct endpoint *endpoint, const char *endpoint_name,
                       const char *rule, uint64_t rule_key) {
    breaker->endpoint = *endpoint;
    breaker->rule_key = rule_key;
    copy_text(breaker->rule, sizeof breaker->rule, rule);
    copy_text(breaker->endpoint_name, sizeof breaker->endpoint_name, endpoint_name);
}

/* Where a probe ended: at the breaker asked for, or at a cell that may be taken, which held `cell`. */
struct seat {
    uint32_t index;        /* PANEL_NO_BREAKER: not there */
    struct atomic64 *word; /* NULL: no cell is free */
    uint64_t cell;
};

static struct seat seat_find(struct panel *panel, struct probe probe, const struct endpoint *endpoint,
                             uint64_t rule_key) {
    struct seat seat = {PANEL_NO_BREAKER, NULL, 0};
    for (uint32_t i = 0; i < PANEL_PROBES; i++) {
        struct atomic64 *word = &panel->index[(probe.cell + i) % PANEL_INDEX_CELLS];
        uint64_t cell = atomic64_load_acquire(word); /* as in panel_find */
        if (cell != 0) {
            seat.index = cell_match(panel, cell, probe.tag, endpoint, rule_key);
            if (seat.index != PANEL_NO_BREAKER) {
                return seat;
            }
        }
        if (seat.word == NULL && (cell == 0 || cell_is_stale(panel, cell))) {
            seat.word = word;
            seat.cell = cell;
        }
        if (cell == 0) {
            break;
        }
    }
    return seat;
}

uint32_t panel_find_or_make(struct panel *panel, const struct endpoint *endpoint, const char *endpoint_name,
                            const char *rule, uint64_t rule_key) {
    struct probe probe = probe_of(endpoint, rule_key);
    uint32_t place = PANEL_NO_BREAKER;
    uint32_t result = PANEL_NO_BREAKER;
    for (uint32_t turn = 0; turn < PANEL_PROBES && result == PANEL_NO_BREAKER; turn++) {
        struct seat seat = seat_find(panel, probe, endpoint, rule_key);
        result = seat.index;
        if (result != PANEL_NO_BREAKER || seat.word == NULL) {
            break;
        }
        if (place == PANEL_NO_BREAKER) {
            place = place_take(panel);
            if (place == PANEL_NO_BREAKER) {
                break;
            }
            place_fill(&panel->breakers[place], endpoint, endpoint_name, rule, rule_key);
        }
        /* Releases the identity to whoever acquires the cell. Fails when somebody was faster, perhaps with this very
         * breaker: the next turn finds it. */
        if (atomic64_swap_acq_rel(seat.word, &seat.cell, (uint64_t)probe.tag << 32 | (place + 1))) {
            result = place;
            place = PANEL_NO_BREAKER;
        }
    }
    if (place != PANEL_NO_BREAKER) {
        place_spare(panel, place);
    }
    if (result == PANEL_NO_BREAKER) {
        atomic64_add_relaxed(&panel->unprotected, 1);
        return result;
    }
    /* Releases the identity to whoever goes through `breakers` without the index (panel_breaker). */
    uint64_t made = atomic64_load_relaxed(&panel->breakers[result].made);
    if (!breaker_is_made(made)) {
        atomic64_swap_acq_rel(&panel->breakers[result].made, &made, made + 1);
    }
    return result;
}

/* --- giving places to others ------------------------------------------------------------------------ */

/* How many places one search for a victim looks at. */
#define RECYCLE_LOOKS 256
/* A breaker is idle when nobody has counted in its window for that long. */
#define RECYCLE_IDLE_NS UINT64_C(60000000000)

static bool may_recycle(const struct breaker *breaker, uint64_t now_ns) {
    struct breaker_view view = breaker_view(breaker, now_ns);
    return view.state == STATE_CLOSED && view.sums.errors == 0 && breaker_row(breaker) == 0 &&
           atomic64_load_relaxed(&breaker->override) == 0 &&
           window_is_idle(&breaker->window, now_ns, RECYCLE_IDLE_NS);
}

bool panel_recycle(struct panel *panel, uint64_t now_ns) {
    for (uint32_t look = 0; look < RECYCLE_LOOKS; look++) {
        uint32_t index = (uint32_t)(atomic64_add_relaxed(&panel->recycle_hand, 1) % PANEL_BREAKERS);
        struct breaker *breaker = &panel->breakers[index];
        uint64_t made = atomic64_load_acquire(&breaker->made);
        if (!breaker_is_made(made) || !may_recycle(breaker, now_ns)) {
            continue;
        }
        /* Whoever wins this swap has the place alone: to all others it is not made. */
        if (atomic64_swap_acq_rel(&breaker->made, &made, made + 1)) {
            breaker_wipe(breaker);
            place_spare(panel, index);
            return true;
        }
    }
    return false;
}

struct breaker *panel_breaker(struct panel *panel, uint32_t index) {
    if (index >= PANEL_BREAKERS) {
        return NULL;
    }
    struct breaker *breaker = &panel->breakers[index];
    /* Acquires the release that ends panel_find_or_make. */
    return breaker_is_made(atomic64_load_acquire(&breaker->made)) ? breaker : NULL;
}

uint32_t panel_breakers_used(const struct panel *panel) {
    uint64_t used = atomic64_load_relaxed(&panel->breakers_used);
    return used < PANEL_BREAKERS ? (uint32_t)used : PANEL_BREAKERS;
}
