#include "shim/guest.h"

#include "shim/call.h"
#include "shim/clock.h"
#include "shim/load.h"
#include "shim/overdue.h"
#include "shim/raw.h"
#include "shim/real.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Since Linux 4.14; missing from the headers of older systems. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define PAGE_BYTES 4096
/* In the page while a forked child takes up its life. Above every PID: in a container the program itself is often 1. Its
 * low half is 0, which is what the events of a child in a sandbox say. */
#define PID_BEING_SET (UINT64_C(1) << 32)

struct guest guest;
struct atomic64 *guest_pid;

/* The note that tells where the badge lies, for badge.h: name, content and type as ELF has it. */
__asm__(".pushsection .note.cutout, \"a\", %note\n\t"
        ".balign 4\n\t"
        ".long 7, 8, 1\n\t"
        ".asciz \"" BADGE_NOTE_NAME "\"\n\t"
        ".balign 4\n\t"
        ".long 1\n\t"
        ".long guest - .\n\t"
        ".popsection");
_Static_assert(sizeof BADGE_NOTE_NAME == 7 && offsetof(struct guest, badge) == 0, "as the note above says");
_Static_assert(BADGE_NOTE_TYPE == 1, "as the note above says");
_Static_assert(BADGE_NOTE_LAYOUT == 1, "as the note above says");

static uint32_t own_pid(void) {
    return (uint32_t)raw_call3(SYS_getpid, 0, 0, 0);
}

/* The page that tells fork from vfork. False on a kernel that cannot: then the guest stays inert, because it would lose
 * its descriptors to every vfork child, or take a forked child's for its own. */
static bool map_pid_page(void) {
    long page =
        raw_call6(RAW_MMAP, 0, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw_failed(page)) {
        return false;
    }
    if (raw_failed(raw_call3(SYS_madvise, page, PAGE_BYTES, MADV_WIPEONFORK))) {
        raw_call3(SYS_munmap, page, PAGE_BYTES, 0);
        return false;
    }
    guest_pid = (struct atomic64 *)(uintptr_t)page;
    atomic64_store_relaxed(guest_pid, own_pid());
    return true;
}

static void claim(uint32_t pid) {
    panel_claim_slot(&guest.attachment, pid, guest.environment.mode);
    overdue_enter(guest.attachment.panel, guest.attachment.slot);
    atomic64_store_relaxed(&guest.holder, panel_holder(&guest.attachment));
    atomic64_store_relaxed(&guest.badge.pid, pid);
    atomic64_store_relaxed(&guest.badge.slot,
                           guest.attachment.slot < PANEL_PROCESSES ? guest.attachment.slot + 1 : 0);
}

static void note_made(struct panel *panel, uint32_t pid) {
    struct event event = {0};
    event.kind = EVENT_ATTACHED;
    event.pid = pid;
    event.unix_ns = clock_unix_ns();
    event.at_ns = clock_monotonic_ns();
    journal_append(&panel->journal, &event);
}

static bool has_copy_behind(void) {
    const int error = errno;
    const bool answered = REAL(guest_prctl)(GUEST_PRCTL, 0, 0, 0, 0) == GUEST_PRCTL;
    errno = error;
    return answered;
}

/* Finds out whether the guest is to do anything here, and if so attaches its panel. */
static enum badge_state attach(void) {
    if (!real_is_preloaded()) {
        return BADGE_NOT_BEGUN;
    }
    if (guest.environment.disabled) {
        return BADGE_DISABLED;
    }
    if (guest.environment.mode == 1 + MODE_OFF) {
        return BADGE_OFF;
    }
    if (has_copy_behind()) {
        return BADGE_COPY;
    }
    if (!map_pid_page()) {
        return BADGE_OLD_KERNEL;
    }
    clock_check();
    bool well = panel_attach(&guest.attachment, &guest.environment) == 0 && descriptors_begin();
    return well ? BADGE_ACTIVE : BADGE_NO_MEMORY;
}

static void wear_badge(enum badge_state state) {
    struct badge *badge = &guest.badge;
    memcpy(badge->version, CUTOUT_VERSION, sizeof CUTOUT_VERSION);
    memcpy(badge->panel, guest.environment.panel, sizeof badge->panel);
    atomic64_store_relaxed(&badge->mode, guest.environment.mode);
    atomic64_store_relaxed(&badge->secure, guest.environment.secure);
    atomic64_store_relaxed(&badge->place, guest.attachment.place);
    atomic64_store_relaxed(&badge->error, (uint64_t)guest.attachment.error);
    atomic64_store_relaxed(&badge->segment, guest.attachment.place == PANEL_SHARED
                                                ? (uint64_t)guest.attachment.segment_id + 1
                                                : 0);
    if (state != BADGE_ACTIVE) { /* that comes last of all */
        atomic64_store_relaxed(&badge->state, state);
    }
}

/* Everything is set up here, before main and before the program drops privileges, changes its root or enters a
 * sandbox. Calls made earlier, by the constructors of other libraries, go through unseen. */
__attribute__((constructor)) static void guest_begin(void) {
    if (guest_is_active()) {
        return;
    }
    environment_read(&guest.environment);
    enum badge_state state = attach();
    wear_badge(state);
    if (state != BADGE_ACTIVE) {
        return;
    }
    uint32_t pid = own_pid();
    struct panel *panel = guest.attachment.panel;
    load_remember_root();
    load_refresh(panel, &guest.environment, pid);
    claim(pid);
    if (journal_end(&panel->journal) == 0) {
        note_made(panel, pid);
    }
    atomic64_store_release(&guest.badge.state, BADGE_ACTIVE);
}

/* A call outstanding at the fork, and its permit, stay the parent's: the era tells them apart. One thread does it; there
 * is only one right after a fork, but a signal handler may come in between. */
static void forked(void) {
    uint64_t seen = 0;
    if (!atomic64_swap_acq_rel(guest_pid, &seen, PID_BEING_SET)) {
        return;
    }
    atomic64_store_relaxed(&guest.badge.era, atomic64_load_relaxed(&guest.badge.era) + 1);
    atomic64_store_relaxed(&guest.holder, 0);
    atomic64_store_relaxed(&guest.badge.slot, 0);
    atomic64_store_relaxed(&guest.badge.inherited, atomic64_load_relaxed(&guest.badge.connections));
    if (guest_is_sandboxed()) {
        return; /* no getpid, no semop: permits of this process end by probe_timeout */
    }
    uint32_t pid = own_pid();
    claim(pid);
    atomic64_store_release(guest_pid, pid);
}

uint8_t guest_era(void) {
    if (atomic64_load_relaxed(guest_pid) == 0) {
        forked();
    }
    return (uint8_t)atomic64_load_relaxed(&guest.badge.era);
}

bool guest_is_self(void) {
    uint64_t pid = atomic64_load_relaxed(guest_pid);
    if (pid == 0) {
        forked();
        return true;
    }
    return pid == PID_BEING_SET || guest_is_sandboxed() || pid == own_pid();
}

void guest_look_at_rules(uint64_t now_ns) {
    if (!guest_is_sandboxed()) {
        load_look(guest.attachment.panel, &guest.environment, (uint32_t)atomic64_load_relaxed(guest_pid),
                  now_ns);
    }
}

bool guest_has_mode(uint8_t *mode) {
    if (guest.environment.mode == 0) {
        return false;
    }
    *mode = (uint8_t)(guest.environment.mode - 1);
    return true;
}

void call_sandbox_begins(bool strict) {
    uint64_t active = BADGE_ACTIVE;
    atomic64_add_relaxed(&guest.badge.sandboxed, 1);
    clock_allow_kernel(false);
    if (strict) {
        atomic64_swap_acq_rel(&guest.badge.state, &active, BADGE_STRICT);
    }
}

void call_sandbox_failed(bool strict) {
    uint64_t done = BADGE_STRICT;
    atomic64_add_relaxed(&guest.badge.sandboxed, UINT64_MAX);
    clock_allow_kernel(!guest_is_sandboxed());
    if (strict) {
        atomic64_swap_acq_rel(&guest.badge.state, &done, BADGE_ACTIVE);
    }
}
