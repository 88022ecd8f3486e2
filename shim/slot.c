#include "lib/text.h"
#include "shim/clock.h"
#include "shim/panel.h"
#include "shim/raw_ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* A holder: generation of the slot in 49..12, slot + 1 in 11..0; so it is never 0. */
#define HOLDER_SLOT_BITS       12
#define HOLDER_GENERATION_MASK ((UINT64_C(1) << 38) - 1)
#define PATH_READ_MAX          4096

/* --- asking the kernel ------------------------------------------------------------------------------ */

/* GETVAL or GETPID of a slot's semaphore: the number, or -errno. */
static long slot_ask(const struct attachment *attachment, uint32_t slot, int what) {
    return raw_semctl(attachment->semaphore_id, slot, what, NULL);
}

/* Raises the slot's semaphore from 0, to be lowered by the kernel however this process ends. 0 or -errno;
 * -EAGAIN when somebody holds it. */
static long slot_take(const struct attachment *attachment, uint32_t slot) {
    struct sembuf steps[2] = {
        {.sem_num = (unsigned short)slot, .sem_op = 0, .sem_flg = IPC_NOWAIT},
        {.sem_num = (unsigned short)slot, .sem_op = 1, .sem_flg = IPC_NOWAIT | SEM_UNDO},
    };
    return raw_semop(attachment->semaphore_id, steps, 2);
}

bool panel_slot_lives(const struct attachment *attachment, uint32_t slot) {
    return attachment->semaphore_id >= 0 && slot < PANEL_PROCESSES && slot_ask(attachment, slot, GETVAL) > 0;
}

/* --- claiming --------------------------------------------------------------------------------------- */

/* The slot that this process claimed before an exec; PANEL_NO_SLOT if it has none. It lies on the way that
 * claiming goes, before the first slot that nobody ever had. */
static uint32_t slot_of_own(const struct attachment *attachment, uint32_t pid) {
    for (uint32_t i = 0; i < PANEL_PROCESSES; i++) {
        uint32_t slot = (pid + i) % PANEL_PROCESSES;
        const struct process *process = &attachment->panel->processes[slot];
        if (atomic64_load_relaxed(&process->generation) == 0) {
            break;
        }
        /* The entry may be that of a namesake in another PID namespace; the kernel translates. */
        if (atomic64_load_relaxed(&process->pid) == pid && slot_ask(attachment, slot, GETPID) == (long)pid &&
            slot_ask(attachment, slot, GETVAL) == 1) {
            return slot;
        }
    }
    return PANEL_NO_SLOT;
}

static uint32_t slot_claim(const struct attachment *attachment, uint32_t pid) {
    for (uint32_t i = 0; i < PANEL_PROCESSES; i++) {
        uint32_t slot = (pid + i) % PANEL_PROCESSES;
        long result = slot_take(attachment, slot);
        if (result == 0) {
            return slot;
        }
        if (result != -EAGAIN) {
            return PANEL_NO_SLOT;
        }
    }
    atomic64_add_relaxed(&attachment->panel->no_slot, 1);
    return PANEL_NO_SLOT;
}

/* Fills a text of the panel to its end, so that what a reader finds there always ends in a zero byte. Of a
 * longer one the tail is kept: a program's or file's own name stands there. */
static void copy_tail(char *to, size_t room, const char *from, size_t size) {
    if (size > room - 1) {
        from += size - (room - 1);
        size = room - 1;
    }
    memcpy(to, from, size);
    memset(to + size, 0, room - size);
}

static long read_program(char *path, size_t room) {
    return raw_call4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, (long)room);
}

static void fill_program(struct process *process) {
    char path[PANEL_PROGRAM_MAX + 1];
    long size = read_program(path, sizeof path);
    if (raw_failed(size)) {
        size = 0;
    }
    if ((size_t)size < sizeof path) {
        copy_tail(process->program, sizeof process->program, path, (size_t)size);
        return;
    }
    /* A long path: its tail is only to be had by way of the whole, which is too much for a guest's stack. */
    long memory =
        raw_call6(RAW_MMAP, 0, PATH_READ_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw_failed(memory)) {
        copy_tail(process->program, sizeof process->program, path, (size_t)size);
        return;
    }
    size = read_program((char *)memory, PATH_READ_MAX);
    if (!raw_failed(size)) {
        copy_tail(process->program, sizeof process->program, (const char *)memory, (size_t)size);
    }
    raw_call3(SYS_munmap, memory, PATH_READ_MAX, 0);
}

/* The rules file that the process asked for, where it is not the one it gets. */
static void fill_rules_named(struct process *process, const struct attachment *attachment) {
    const char *named = attachment->environment != NULL ? attachment->environment->rules : "";
    const char *file = attachment->panel->rules.file;
    size_t size = strlen(named), same = 0;
    while (same < size && same < PANEL_PATH_MAX && named[same] == file[same]) {
        same++;
    }
    if (same == size && same < PANEL_PATH_MAX && file[same] == '\0') {
        size = 0;
    }
    copy_tail(process->rules_named, sizeof process->rules_named, named, size);
}

void panel_claim_slot(struct attachment *attachment, uint32_t pid, uint8_t mode) {
    attachment->slot = PANEL_NO_SLOT;
    attachment->slot_generation = 0;
    if (attachment->panel == NULL || attachment->semaphore_id < 0) {
        return;
    }
    uint32_t slot = slot_of_own(attachment, pid);
    if (slot == PANEL_NO_SLOT) {
        slot = slot_claim(attachment, pid);
    }
    if (slot == PANEL_NO_SLOT) {
        return;
    }
    struct process *process = &attachment->panel->processes[slot];
    /* First of all: what the slot's former process held is free from now on. */
    uint64_t generation;
    do {
        generation = (atomic64_add_relaxed(&process->generation, 1) + 1) & HOLDER_GENERATION_MASK;
    } while (generation == 0);
    atomic64_store_relaxed(&process->pid, pid);
    atomic64_store_relaxed(&process->since_unix_ns, clock_unix_ns());
    atomic64_store_relaxed(&process->mode, mode);
    fill_program(process);
    copy_tail(process->version, sizeof process->version, CUTOUT_VERSION, sizeof CUTOUT_VERSION - 1);
    fill_rules_named(process, attachment);
    attachment->slot = slot;
    attachment->slot_generation = generation;
}

/* --- holders of permits ----------------------------------------------------------------------------- */

uint64_t panel_holder(const struct attachment *attachment) {
    if (attachment->slot >= PANEL_PROCESSES) {
        return 0;
    }
    return (attachment->slot_generation & HOLDER_GENERATION_MASK) << HOLDER_SLOT_BITS |
           (attachment->slot + 1);
}

bool panel_holder_lives(const struct attachment *attachment, uint64_t holder) {
    uint64_t slot = (holder & ((UINT64_C(1) << HOLDER_SLOT_BITS) - 1)) - 1;
    if (attachment->panel == NULL || attachment->semaphore_id < 0 || slot >= PANEL_PROCESSES) {
        return true;
    }
    /* Claimed again since: the kernel gave it away only after the holder had ended. */
    uint64_t generation =
        atomic64_load_relaxed(&attachment->panel->processes[slot].generation) & HOLDER_GENERATION_MASK;
    if (generation != (holder >> HOLDER_SLOT_BITS & HOLDER_GENERATION_MASK)) {
        return false;
    }
    return slot_ask(attachment, (uint32_t)slot, GETVAL) != 0;
}
