#include "shim/panel.h"

#include "lib/text.h"
#include "shim/clock.h"
#include "shim/raw_ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define KEY_ATTEMPTS 8
/* The panel is mapped whole. It takes at most this part of an address space that is limited. */
#define CROWDED_SHARE 8

/* On whose behalf a panel is sought. */
struct seeker {
    bool has_group;
    uint32_t group;
    uint32_t user;       /* effective */
    uint32_t user_group; /* effective */
};

static uint32_t seeker_id(const struct seeker *seeker) {
    return seeker->has_group ? seeker->group : seeker->user;
}

/* Who else may make what belongs to the user or the group. A member that is none of these only joins. */
static bool seeker_may_make(const struct seeker *seeker) {
    return !seeker->has_group || seeker->user == 0 || seeker->user_group == seeker->group;
}

static unsigned rights(const struct ipc_perm *owner) {
    return owner->mode & 0777u;
}

int32_t panel_key(const char *name, bool has_group, uint32_t id, unsigned attempt) {
    char bytes[PANEL_NAME_MAX + 64];
    struct text text = text_in(bytes, sizeof bytes);
    text_add(&text, "cutout ");
    text_add_number(&text, PANEL_LAYOUT);
    text_add(&text, has_group ? " group " : " user ");
    text_add_number(&text, id);
    text_add(&text, " ");
    text_add_number(&text, attempt);
    text_add(&text, " ");
    text_add(&text, name);
    uint32_t key = (uint32_t)text_hash(bytes, text.length);
    return key == (uint32_t)IPC_PRIVATE ? 1 : (int32_t)key;
}

/* --- the segment ------------------------------------------------------------------------------------ */

static long segment_status(int id, struct shmid_ds *status) {
    return raw_shmctl(id, IPC_STAT, status);
}

/* Root makes a group's segment and then gives it to the group; one that a killed process left in between is
 * given away by the next. True when it now is the group's. */
static bool segment_give(int id, struct shmid_ds *status, const struct seeker *seeker) {
    bool half_made = seeker->has_group && seeker->user == 0 && status->shm_perm.cuid == 0 &&
                     status->shm_perm.gid == status->shm_perm.cgid && rights(&status->shm_perm) == 0660 &&
                     status->shm_segsz == sizeof(struct panel);
    if (!half_made || status->shm_perm.gid == seeker->group) {
        return half_made;
    }
    status->shm_perm.gid = seeker->group;
    return !raw_failed(raw_shmctl(id, IPC_SET, status));
}

/* True when the segment is one that this process may trust: its creator cannot be forged. */
static bool segment_fits(int id, const struct seeker *seeker) {
    struct shmid_ds status;
    long result = segment_status(id, &status);
    for (unsigned i = 0; result == -EACCES && seeker->has_group && i < 3; i++) {
        /* Perhaps root has made it this instant and not given it to the group yet. */
        struct timespec moment = {.tv_nsec = 1000000};
        raw_call3(SYS_nanosleep, (long)&moment, 0, 0);
        result = segment_status(id, &status);
    }
    if (raw_failed(result) || (status.shm_perm.mode & SHM_DEST) || status.shm_segsz != sizeof(struct panel)) {
        return false;
    }
    const struct ipc_perm *owner = &status.shm_perm;
    if (!seeker->has_group) {
        return owner->cuid == seeker->user && rights(owner) == 0600;
    }
    return (owner->gid == seeker->group && rights(owner) == 0660 &&
            (owner->cuid == 0 || owner->cgid == seeker->group)) ||
           segment_give(id, &status, seeker);
}

static bool same_text(const char *a, const char *b, size_t room) {
    size_t i = 0;
    while (i < room && a[i] == b[i] && a[i] != '\0') {
        i++;
    }
    return i < room && a[i] == b[i];
}

/* Makes the panel say what it is, or finds that it says something else. All zero is a panel that nobody has
 * marked yet; several processes may mark it at once, each with the same words. */
static bool panel_mark(struct panel *panel, const char *name) {
    /* Acquires the release below: with the magic, the name is whole. */
    uint64_t magic = atomic64_load_acquire(&panel->magic);
    if (magic != 0) {
        return magic == PANEL_MAGIC && atomic64_load_relaxed(&panel->layout) == PANEL_LAYOUT &&
               same_text(panel->name, name, sizeof panel->name);
    }
    memcpy(panel->name, name, strlen(name) + 1);
    uint64_t never = 0;
    atomic64_swap_acq_rel(&panel->created_unix_ns, &never, clock_unix_ns());
    atomic64_store_relaxed(&panel->layout, PANEL_LAYOUT);
    atomic64_store_release(&panel->magic, PANEL_MAGIC);
    return true;
}

/* Maps the segment. Returns 0 or -errno. */
static int segment_map(struct attachment *attachment, int id, int flags) {
    long address = raw_shmat(id, flags);
    if (raw_failed(address)) {
        return (int)address;
    }
    attachment->panel = (struct panel *)address;
    attachment->segment_id = id;
    attachment->place = PANEL_SHARED;
    /* A host's core dump shall not grow by what is ours. */
    raw_call3(SYS_madvise, address, sizeof(struct panel), MADV_DONTDUMP);
    return 0;
}

/* Returns 0, -EEXIST when the segment is not ours and to be passed over, or why ours cannot be had. */
static int segment_attach(struct attachment *attachment, int id, const struct seeker *seeker,
                          const char *name) {
    if (!segment_fits(id, seeker)) {
        return -EEXIST;
    }
    int result = segment_map(attachment, id, 0);
    if (result == -EINVAL || result == -EIDRM) {
        return -EEXIST; /* removed since we looked */
    }
    if (result == 0 && !panel_mark(attachment->panel, name)) {
        panel_detach(attachment);
        return -EEXIST;
    }
    return result;
}

/* Finds the panel's segment under one of its keys. */
static int segment_find(struct attachment *attachment, const struct seeker *seeker, const char *name,
                        int32_t *key) {
    int result = -EEXIST;
    for (unsigned i = 0; i < KEY_ATTEMPTS && result == -EEXIST; i++) {
        *key = panel_key(name, seeker->has_group, seeker_id(seeker), i);
        long segment = raw_shmget(*key, 0, 0);
        if (!raw_failed(segment)) {
            result = segment_attach(attachment, (int)segment, seeker, name);
        }
    }
    return result;
}

/* Makes the panel's segment under the first of its keys that nobody has taken. */
static int segment_make(struct attachment *attachment, const struct seeker *seeker, const char *name,
                        int32_t *key) {
    int flags = IPC_CREAT | IPC_EXCL | SHM_NORESERVE | (seeker->has_group ? 0660 : 0600);
    int result = -EEXIST;
    for (unsigned i = 0; i < KEY_ATTEMPTS && result == -EEXIST; i++) {
        *key = panel_key(name, seeker->has_group, seeker_id(seeker), i);
        long segment = raw_shmget(*key, sizeof(struct panel), flags);
        bool made = !raw_failed(segment);
        if (segment == -EEXIST) {
            /* Somebody else's, or made by one of ours since we looked. */
            segment = raw_shmget(*key, 0, 0);
        }
        if (raw_failed(segment)) {
            result = segment == -ENOENT ? -EEXIST : (int)segment;
            continue;
        }
        result = segment_attach(attachment, (int)segment, seeker, name);
        if (made && result == -EEXIST) {
            /* Not to be had though it is ours: another one would fare no better. */
            return -EIDRM;
        }
    }
    return result;
}

/* --- the semaphores --------------------------------------------------------------------------------- */

/* The set of that key if it is one that tells the truth about who lives; -1 if not. */
static int semaphores_find(int32_t key, const struct seeker *seeker) {
    struct semid_ds status;
    long set = raw_semget(key, 0, 0);
    if (raw_failed(set) || raw_failed(raw_semctl((int)set, 0, IPC_STAT, &status)) ||
        status.sem_nsems != PANEL_PROCESSES) {
        return -1;
    }
    const struct ipc_perm *owner = &status.sem_perm;
    bool fits = !seeker->has_group && owner->cuid == seeker->user && rights(owner) == 0600;
    if (owner->cuid == 0 && (seeker->has_group || seeker->user == 0)) {
        fits = rights(owner) == 0666;
    } else if (seeker->has_group) {
        fits = owner->cgid == seeker->group && owner->gid == seeker->group && rights(owner) == 0660;
    }
    return fits ? (int)set : -1;
}

/* Root's set is open to all: its workers claim their slots after they have given up root's rights. It holds
 * no secret. */
static int semaphores_find_or_make(int32_t key, const struct seeker *seeker) {
    int found = semaphores_find(key, seeker);
    if (found >= 0) {
        return found;
    }
    int mode = seeker->user == 0 ? 0666 : seeker->has_group ? 0660 : 0600;
    if (seeker_may_make(seeker)) {
        long set = raw_semget(key, PANEL_PROCESSES, IPC_CREAT | IPC_EXCL | mode);
        if (!raw_failed(set)) {
            return (int)set;
        }
    }
    return semaphores_find(key, seeker);
}

/* --- attaching -------------------------------------------------------------------------------------- */

static struct attachment nothing_attached(void) {
    return (struct attachment){.segment_id = -1, .semaphore_id = -1, .slot = PANEL_NO_SLOT};
}

/* Memory that this process shares with the children it forks, and with nobody else. */
static int private_attach(struct attachment *attachment, const char *name) {
    long address = raw_call6(RAW_MMAP, 0, sizeof(struct panel), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw_failed(address)) {
        return (int)address;
    }
    raw_call3(SYS_madvise, address, sizeof(struct panel), MADV_DONTDUMP);
    attachment->panel = (struct panel *)address;
    attachment->place = PANEL_PRIVATE;
    panel_mark(attachment->panel, name);
    return 0;
}

bool panel_would_crowd(void) {
    struct rlimit64 limit = {RLIM64_INFINITY, RLIM64_INFINITY};
    raw_call4(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit);
    return limit.rlim_cur / CROWDED_SHARE < sizeof(struct panel);
}

int panel_attach(struct attachment *attachment, const struct environment *environment) {
    *attachment = nothing_attached();
    attachment->environment = environment;
    if (panel_would_crowd()) {
        attachment->error = ENOMEM;
        return -ENOMEM;
    }
    struct seeker seeker = {
        .has_group = environment->has_group,
        .group = environment->group,
        .user = (uint32_t)raw_call3(SYS_geteuid, 0, 0, 0),
        .user_group = (uint32_t)raw_call3(SYS_getegid, 0, 0, 0),
    };
    int32_t key = 0;
    int result;
    if (environment->secure) {
        /* Whoever starts a set-user-ID program shall not trip the breakers of the user it runs as. */
        result = -EPERM;
    } else {
        result = segment_find(attachment, &seeker, environment->panel, &key);
        if (result == -EEXIST) {
            result = seeker_may_make(&seeker) ? segment_make(attachment, &seeker, environment->panel, &key)
                                              : -EACCES;
        }
    }
    if (result == 0) {
        attachment->semaphore_id = semaphores_find_or_make(key, &seeker);
        return 0;
    }
    attachment->error = -result;
    return private_attach(attachment, environment->panel);
}

int panel_attach_id(struct attachment *attachment, int segment_id, bool read_only) {
    *attachment = nothing_attached();
    struct shmid_ds status;
    long result = segment_status(segment_id, &status);
    if (raw_failed(result)) {
        return (int)result;
    }
    if (status.shm_segsz != sizeof(struct panel)) {
        return -EINVAL;
    }
    result = segment_map(attachment, segment_id, read_only ? SHM_RDONLY : 0);
    if (raw_failed(result)) {
        return (int)result;
    }
    if (atomic64_load_relaxed(&attachment->panel->magic) != PANEL_MAGIC ||
        atomic64_load_relaxed(&attachment->panel->layout) != PANEL_LAYOUT) {
        panel_detach(attachment);
        return -EINVAL;
    }
    /* As the segment's owner or group sees it. */
    bool has_group = rights(&status.shm_perm) == 0660;
    struct seeker seeker = {
        .has_group = has_group, .group = status.shm_perm.gid, .user = status.shm_perm.cuid};
    attachment->semaphore_id = semaphores_find(status.shm_perm.__key, &seeker);
    return 0;
}

void panel_detach(struct attachment *attachment) {
    if (attachment->place == PANEL_SHARED) {
        raw_shmdt(attachment->panel);
    } else if (attachment->place == PANEL_PRIVATE) {
        raw_call3(SYS_munmap, (long)attachment->panel, sizeof(struct panel), 0);
    }
    const struct environment *environment = attachment->environment;
    *attachment = nothing_attached();
    attachment->environment = environment;
}
