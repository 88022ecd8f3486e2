/* Attaching the panel: a System V segment and semaphore set, or private memory shared with forked children.
 *
 * Everything here uses raw system calls, keeps no descriptor, and fails without a word: a guest without a
 * panel is inert. The layout of what is attached is lib/panel.h. */
#ifndef CUTOUT_SHIM_PANEL_H
#define CUTOUT_SHIM_PANEL_H

#include "lib/panel.h"
#include "shim/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PANEL_NO_SLOT PANEL_PROCESSES

enum panel_place {
    PANEL_NOWHERE = 0, /* no memory at all: inert */
    PANEL_SHARED,      /* a System V segment */
    PANEL_PRIVATE      /* anonymous shared memory: this process and its forked children */
};

struct attachment {
    struct panel *panel; /* NULL when place is PANEL_NOWHERE */
    enum panel_place place;
    int error;        /* why it is not PANEL_SHARED: an errno, else 0 */
    int segment_id;   /* of the segment; -1 when private */
    int semaphore_id; /* of the set; -1 when there is none */
    uint32_t slot;    /* this process's slot, PANEL_NO_SLOT when it has none */
    uint64_t slot_generation;
    const struct environment *environment; /* what panel_attach was given, which must stay; else NULL */
};

/* The key of the panel of that name that belongs to the user, or, when has_group, to the group; `attempt`
 * 0..7. */
int32_t panel_key(const char *name, bool has_group, uint32_t id, unsigned attempt);

/* True when the address space of this process is limited so tightly that the panel would take more than an eighth of it.
 * A program under such a limit needs the room itself. */
bool panel_would_crowd(void);

/* Attaches the panel that the environment names, making it where it does not exist; falls back to private
 * memory. Claims no slot. Returns 0, or -errno when even private memory cannot be had, or would crowd the program. */
int panel_attach(struct attachment *attachment, const struct environment *environment);

/* For the command: attaches an existing segment by its id, read-only or not, after checking size, magic and
 * layout (-EINVAL when it is no panel of ours). Returns 0 or -errno. */
int panel_attach_id(struct attachment *attachment, int segment_id, bool read_only);
void panel_detach(struct attachment *attachment);

/* Claims a slot for this process and fills in its entry. pid is the caller's own, mode as in struct process. A
 * slot that this very process already holds (it has been execed) is taken again. Without a semaphore set or a
 * free slot the attachment has PANEL_NO_SLOT. To be called after load_refresh, which settles whether the
 * process has named another rules file than the panel's. */
void panel_claim_slot(struct attachment *attachment, uint32_t pid, uint8_t mode);

/* What a permit of this process carries: slot and slot generation packed in 50 bits; 0 without a slot. */
uint64_t panel_holder(const struct attachment *attachment);

/* False only when the kernel says that the process behind that holder is gone. Asks one semaphore. */
bool panel_holder_lives(const struct attachment *attachment, uint64_t holder);

/* True when the process in that slot lives. */
bool panel_slot_lives(const struct attachment *attachment, uint32_t slot);

#endif
