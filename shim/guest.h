/* This process as a guest of the panel: what was read from the environment, where the panel is, who we are now.
 *
 * Written by the constructor before anything is tracked, then only by a forked child at its first call (guest_is_self).
 * No field needs another one to be read with it. */
#ifndef CUTOUT_SHIM_GUEST_H
#define CUTOUT_SHIM_GUEST_H

#include "lib/atomic64.h"
#include "lib/panel.h"
#include "shim/badge.h"
#include "shim/environment.h"
#include "shim/panel.h"

#include <stdbool.h>
#include <stdint.h>

struct guest {
    struct badge badge;     /* first: the note in guest.c points there; its words are used as such, too */
    struct atomic64 holder; /* what a permit of this process carries, see panel_holder */
    struct attachment attachment;
    struct environment environment;
};

extern struct guest guest;

/* An option of prctl that no kernel has. A copy of this library answers it with the option itself: so one copy learns of
 * another that is preloaded behind it, and leaves the work to that. */
#define GUEST_PRCTL 0x6375

/* The process as the kernel sees it: its PID in a page that is zero in a forked child (MADV_WIPEONFORK), and the same
 * page in a vfork child, which shares this memory but has descriptors of its own. */
extern struct atomic64 *guest_pid;

static inline bool guest_is_active(void) {
    return atomic64_load_acquire(&guest.badge.state) == BADGE_ACTIVE;
}

static inline bool guest_is_sandboxed(void) {
    return atomic64_load_relaxed(&guest.badge.sandboxed) != 0;
}

/* The era of this process, a forked child recognised: before anything is done with a conversation. Only while active. */
uint8_t guest_era(void);

/* False in a vfork child: it must change nothing in this memory. A forked child takes up its own life here. Costs one
 * getpid. Only while active. */
bool guest_is_self(void);

/* In connect and look-ups: has the rules file changed? Asks the kernel at most once in 2 s a panel. */
void guest_look_at_rules(uint64_t now_ns);

/* The process's own mode (CUTOUT_MODE), or the rule's. */
bool guest_has_mode(uint8_t *mode);

#endif
