#include "lib/text.h"
#include "shim/clock.h"
#include "shim/load.h"
#include "shim/raw.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define CLAIM_STALE_NS UINT64_C(5000000000)
#define CLAIM_AHEAD_NS UINT64_C(1000000000)
#define FIRST_TRIES    20
#define LOOK_NS        UINT64_C(2000000000)
#define FIRST_TRY_NS   1000000

/* Values of panel_rules.bad. */
#define BAD_CONTENT 1
#define BAD_READ    2

/* --- the rules in force ----------------------------------------------------------------------------- */

static struct ruleset built_in; /* only its first rule is ever touched */
static struct atomic64 built_in_ready;

static const struct ruleset *built_in_rules(void) {
    if (atomic64_load_acquire(&built_in_ready) == 0) {
        /* In the constructor, where there is one thread. */
        ruleset_defaults(&built_in);
        /* Releases the defaults to whoever acquires the word above. */
        atomic64_store_release(&built_in_ready, 1);
    }
    return &built_in;
}

const struct ruleset *load_rules_in_force(const struct panel *panel, uint64_t *version) {
    /* Acquires the swap that published the buffer. */
    uint64_t current = atomic64_load_acquire(&panel->rules.current);
    uint64_t buffer = (current & 0xff) - 1;
    *version = current >> 8;
    if (buffer >= PANEL_RULESETS) {
        return built_in_rules();
    }
    return (const struct ruleset *)panel->rules.buffers[buffer];
}

/* --- one loader at a time --------------------------------------------------------------------------- */

struct claim {
    uint64_t ns;
    bool stolen; /* from a loader that was killed, or is stopped in the middle */
};

static bool claim_take(struct panel_rules *rules, struct claim *claim) {
    claim->ns = clock_monotonic_ns();
    uint64_t seen = atomic64_load_acquire(&rules->claim); /* the release of the loader before */
    bool ahead = seen > claim->ns + CLAIM_AHEAD_NS;
    if (seen != 0 && !ahead && seen + CLAIM_STALE_NS > claim->ns) {
        return false;
    }
    claim->stolen = seen != 0;
    return atomic64_swap_acq_rel(&rules->claim, &seen, claim->ns);
}

/* Only if it still is ours: it may have been stolen. */
static void claim_release(struct panel_rules *rules, const struct claim *claim) {
    uint64_t seen = claim->ns;
    atomic64_swap_acq_rel(&rules->claim, &seen, 0);
}

/* Another process is loading the panel's very first rules: what this one judges shall be judged by them. */
static void wait_for_first(const struct panel_rules *rules) {
    for (unsigned i = 0; i < FIRST_TRIES; i++) {
        if (atomic64_load_relaxed(&rules->current) != 0 || atomic64_load_relaxed(&rules->claim) == 0) {
            return;
        }
        struct timespec moment = {.tv_nsec = FIRST_TRY_NS};
        raw_call3(SYS_nanosleep, (long)&moment, 0, 0);
    }
}

/* --- has anything changed --------------------------------------------------------------------------- */

static bool stamp_is(const struct rules_stamp *held, const struct load_stamp *stamp) {
    return atomic64_load_relaxed(&held->device) == stamp->device &&
           atomic64_load_relaxed(&held->inode) == stamp->inode &&
           atomic64_load_relaxed(&held->size) == stamp->size &&
           atomic64_load_relaxed(&held->changed_ns) == stamp->changed_ns &&
           atomic64_load_relaxed(&held->includes) == stamp->includes;
}

static void stamp_keep(struct rules_stamp *held, const struct load_stamp *stamp) {
    atomic64_store_relaxed(&held->device, stamp->device);
    atomic64_store_relaxed(&held->inode, stamp->inode);
    atomic64_store_relaxed(&held->size, stamp->size);
    atomic64_store_relaxed(&held->changed_ns, stamp->changed_ns);
    atomic64_store_relaxed(&held->includes, stamp->includes);
}

/* True when the file and all it includes are those that were last looked at. What could be seen but not read
 * is tried again each time: perhaps this process may. */
static bool is_unchanged(const struct panel_rules *rules) {
    struct load_stamp stamp = load_stamp_of(rules->file);
    if (stamp.inode != 0 && atomic64_load_relaxed(&rules->bad) == BAD_READ) {
        return false;
    }
    for (size_t i = 0; i < PANEL_INCLUDES && rules->included[i][0] != '\0'; i++) {
        struct load_stamp included = load_stamp_of(rules->included[i]);
        load_stamp_fold(&stamp, &included);
    }
    return stamp_is(&rules->stamp, &stamp);
}

/* --- putting into force ----------------------------------------------------------------------------- */

static void copy_text(char *to, size_t room, const char *from) {
    struct text text = text_in(to, room);
    text_add(&text, from);
    memset(to + text.length, 0, room - text.length);
}

static void keep_included(struct panel_rules *rules, const struct load *load) {
    for (size_t i = 0; i < PANEL_INCLUDES; i++) {
        if (i + 1 < load->sources.count) {
            copy_text(rules->included[i], PANEL_PATH_MAX, load->sources.source[i + 1].path);
        } else {
            rules->included[i][0] = '\0';
        }
    }
}

/* Copies the compiled rules into a buffer that nobody reads and makes it the current one. Neither the current
 * one nor the one before it, which a slow reader may still be in; and not the one that a stopped loader, from
 * whom the claim was stolen, may still be writing to. */
static bool publish(struct panel_rules *rules, const struct ruleset *ruleset, const struct claim *claim) {
    uint64_t current = atomic64_load_acquire(&rules->current);
    uint64_t buffer = ((current & 0xff) + (claim->stolen ? 1 : 0)) % PANEL_RULESETS;
    ruleset_copy((struct ruleset *)rules->buffers[buffer], ruleset);
    uint64_t version = (current >> 8) + 1;
    /* Releases the copy; fails when this loader was stopped for so long that another one has published. */
    return atomic64_swap_acq_rel(&rules->current, &current, version << 8 | (buffer + 1));
}

static void journal_rules(struct panel *panel, enum event_kind kind, uint32_t pid) {
    struct event event = {
        .unix_ns = clock_unix_ns(),
        .at_ns = clock_monotonic_ns(),
        .kind = kind,
        .breaker = PANEL_NO_BREAKER,
        .pid = pid,
    };
    journal_append(&panel->journal, &event);
}

static void note_good(struct panel *panel, uint32_t pid) {
    struct panel_rules *rules = &panel->rules;
    atomic64_store_relaxed(&rules->loaded_unix_ns, clock_unix_ns());
    atomic64_store_relaxed(&rules->bad, 0);
    copy_text(rules->error, sizeof rules->error, "");
    atomic64_store_relaxed(&rules->withheld, 0);
    journal_rules(panel, EVENT_RULES_LOADED, pid);
}

static void note_bad(struct panel *panel, const struct load *load, uint64_t bad, uint32_t pid) {
    struct panel_rules *rules = &panel->rules;
    bool known = atomic64_load_relaxed(&rules->bad) == bad && stamp_is(&rules->stamp, &load->stamp);
    copy_text(rules->error, sizeof rules->error, load->error);
    atomic64_store_relaxed(&rules->bad, bad);
    if (!known) {
        journal_rules(panel, EVENT_RULES_REFUSED, pid);
    }
}

/* Reads, compiles and publishes the panel's file, or notes why not. */
static void reload(struct panel *panel, const struct claim *claim, uint32_t pid) {
    static struct load load; /* too large for a host's stack; whoever has the claim is alone */
    struct panel_rules *rules = &panel->rules;
    rules->file[PANEL_PATH_MAX - 1] = '\0'; /* whatever has been scribbled there */
    bool is_read = load_open(&load, rules->file) == 0;
    bool good = is_read && load_compile(&load);
    if (!good) {
        note_bad(panel, &load, is_read ? BAD_CONTENT : BAD_READ, pid);
    } else if (publish(rules, load.ruleset, claim)) {
        note_good(panel, pid);
    }
    keep_included(rules, &load);
    stamp_keep(&rules->stamp, &load.stamp);
    load_close(&load);
}

/* The file of the first process that names one becomes the panel's. Until it is loaded, nothing is enforced:
 * what its author wants is not known yet. */
static void settle_file(struct panel_rules *rules, const struct environment *environment) {
    if (atomic64_load_relaxed(&rules->named) != 0) {
        return;
    }
    copy_text(rules->file, sizeof rules->file, environment->rules);
    if (atomic64_load_relaxed(&rules->current) == 0) {
        atomic64_store_relaxed(&rules->withheld, 1);
    }
    /* Releases the path (acquired in load_refresh). */
    atomic64_store_release(&rules->named, 1);
}

void load_refresh(struct panel *panel, const struct environment *environment, uint32_t pid) {
    built_in_rules();
    if (panel == NULL || environment->secure) {
        return;
    }
    struct panel_rules *rules = &panel->rules;
    bool named = atomic64_load_acquire(&rules->named) != 0;
    if (named ? is_unchanged(rules) : environment->rules[0] == '\0') {
        return;
    }
    struct claim claim;
    if (!claim_take(rules, &claim)) {
        wait_for_first(rules);
        return;
    }
    settle_file(rules, environment);
    /* Another process may have been faster. In a new panel the stamp is all zero, which no file's is. */
    if (!is_unchanged(rules)) {
        reload(panel, &claim, pid);
    }
    claim_release(rules, &claim);
}

bool load_change_file(struct panel *panel, const char *path, uint32_t pid) {
    struct panel_rules *rules = &panel->rules;
    struct claim claim;
    built_in_rules();
    if (!claim_take(rules, &claim)) {
        return false;
    }
    if (path != NULL) {
        copy_text(rules->file, sizeof rules->file, path);
        /* Releases the path, as in settle_file. */
        atomic64_store_release(&rules->named, 1);
    }
    if (path != NULL || !is_unchanged(rules)) {
        reload(panel, &claim, pid);
    }
    claim_release(rules, &claim);
    return true;
}

/* --- while the program runs --------------------------------------------------------------------------- */

/* The root directory as the constructor saw it: after a chroot the path would name another file. */
static struct load_stamp root_at_start;

void load_remember_root(void) {
    root_at_start = load_stamp_of("/");
}

static bool is_in_other_root(void) {
    struct load_stamp root = load_stamp_of("/");
    return root.device != root_at_start.device || root.inode != root_at_start.inode;
}

void load_look(struct panel *panel, const struct environment *environment, uint32_t pid, uint64_t now_ns) {
    struct panel_rules *rules = &panel->rules;
    uint64_t looked_ns = atomic64_load_relaxed(&rules->looked_ns);
    bool recent = now_ns >= looked_ns && now_ns - looked_ns < LOOK_NS;
    if (recent || environment->secure || atomic64_load_relaxed(&rules->named) == 0 ||
        !atomic64_swap_acq_rel(&rules->looked_ns, &looked_ns, now_ns)) {
        return;
    }
    /* A file that this process cannot see (any more) is no news: it may have given up the right to. */
    struct load_stamp stamp = load_stamp_of(rules->file);
    if (stamp.inode != 0 && !is_in_other_root()) {
        load_refresh(panel, environment, pid);
    }
}
