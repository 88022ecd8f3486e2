/* Cases of shim/panel.c, each in an IPC namespace of its own. Needs root, to be other users. */
#include "tests/programs/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#define GROUP 4711

static struct shmid_ds status_of(int segment) {
    struct shmid_ds status;
    CHECK(shmctl(segment, IPC_STAT, &status) == 0);
    return status;
}

static unsigned open_descriptors(void) {
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

/* --- finding it -------------------------------------------------------------------------------------- */

static void step_join(void) {
    struct attachment joined = attach("shared");
    CHECK(joined.place == PANEL_SHARED && joined.segment_id == first.segment_id);
    CHECK(joined.semaphore_id == first.semaphore_id && joined.panel != first.panel);
    CHECK(atomic64_load_relaxed(&joined.panel->unprotected) == 5);
    atomic64_store_relaxed(&joined.panel->unprotected, 6);
    panel_detach(&joined);
    CHECK(joined.panel == NULL && joined.place == PANEL_NOWHERE);
}

static void test_share(void) {
    unsigned descriptors = open_descriptors();
    errno = 12345;
    first = attach("shared");
    CHECK(errno == 12345 && open_descriptors() == descriptors);
    CHECK(first.place == PANEL_SHARED && first.error == 0 && first.semaphore_id >= 0);
    CHECK(first.slot == PANEL_NO_SLOT && panel_holder(&first) == 0);
    check_text(first.panel->name, "shared");
    CHECK(atomic64_load_relaxed(&first.panel->magic) == PANEL_MAGIC);
    CHECK(atomic64_load_relaxed(&first.panel->created_unix_ns) != 0);
    struct shmid_ds status = status_of(first.segment_id);
    CHECK((status.shm_perm.mode & 0777) == 0600 && status.shm_segsz == sizeof(struct panel));
    atomic64_store_relaxed(&first.panel->unprotected, 5);
    in_child(step_join);
    CHECK(atomic64_load_relaxed(&first.panel->unprotected) == 6);
    struct attachment other = attach("other");
    CHECK(other.segment_id != first.segment_id && atomic64_load_relaxed(&other.panel->unprotected) == 0);
    /* It outlives the processes. */
    panel_detach(&first);
    first = attach("shared");
    CHECK(atomic64_load_relaxed(&first.panel->unprotected) == 6);
}

static void test_parallel(void) {
    for (unsigned round = 0; round < 20; round++) {
        char name[32];
        snprintf(name, sizeof name, "parallel%u", round);
        int ids[2];
        CHECK(pipe(ids) == 0);
        for (unsigned i = 0; i < 16; i++) {
            if (fork() == 0) {
                struct attachment attachment = attach(name);
                int found[2] = {attachment.segment_id, attachment.semaphore_id};
                _exit(write(ids[1], found, sizeof found) != sizeof found);
            }
        }
        int one[2] = {-1, -1};
        for (unsigned i = 0; i < 16; i++) {
            int found[2], status;
            CHECK(wait(&status) > 0 && status == 0);
            CHECK(read(ids[0], found, sizeof found) == sizeof found);
            CHECK(found[0] >= 0 && found[1] >= 0 && (i == 0 || memcmp(found, one, sizeof one) == 0));
            memcpy(one, found, sizeof one);
        }
        close(ids[0]);
        close(ids[1]);
    }
}

static unsigned squatted;

static void step_squat(void) {
    become(STRANGER, STRANGER, 0, NULL);
    for (unsigned i = 0; i < squatted; i++) {
        int32_t key = panel_key("wanted", false, 0, i);
        int segment = shmget(key, sizeof(struct panel), IPC_CREAT | IPC_EXCL | (i % 2 ? 0600 : 0666));
        CHECK(segment >= 0 && semget(key, PANEL_PROCESSES, IPC_CREAT | IPC_EXCL | 0666) >= 0);
        struct panel *panel = shmat(segment, NULL, 0);
        atomic64_store_relaxed(&panel->magic, PANEL_MAGIC);
        atomic64_store_relaxed(&panel->layout, PANEL_LAYOUT);
        strcpy(panel->name, "wanted");
    }
}

static void test_squat(void) {
    squatted = 3;
    in_child(step_squat);
    struct attachment attachment = attach("wanted");
    CHECK(attachment.place == PANEL_SHARED && status_of(attachment.segment_id).shm_perm.cuid == 0);
    CHECK(attachment.semaphore_id >= 0);
    int id = attachment.segment_id;
    panel_detach(&attachment);
    attachment = attach("wanted");
    CHECK(attachment.segment_id == id);
    /* Still found when what was in the way has gone. */
    CHECK(shmctl(shmget(panel_key("wanted", false, 0, 0), 0, 0), IPC_RMID, NULL) == 0);
    panel_detach(&attachment);
    attachment = attach("wanted");
    CHECK(attachment.segment_id == id);
}

static void test_squat_all(void) {
    squatted = 8;
    in_child(step_squat);
    struct attachment attachment = attach("wanted");
    CHECK(attachment.place == PANEL_PRIVATE && attachment.error == EEXIST);
    CHECK(attachment.segment_id == -1 && attachment.semaphore_id == -1);
}

static void step_squat_semaphores(void) {
    become(STRANGER, STRANGER, 0, NULL);
    for (unsigned i = 0; i < 2; i++) {
        int32_t key = panel_key(i == 0 ? "closed" : "open", false, 0, 0);
        CHECK(semget(key, PANEL_PROCESSES, IPC_CREAT | IPC_EXCL | (i == 0 ? 0600 : 0666)) >= 0);
    }
}

/* A stranger's semaphores could say that the living are dead: better none. */
static void test_squat_semaphores(void) {
    in_child(step_squat_semaphores);
    /* Nor an own set with fewer of them than there are slots. */
    CHECK(semget(panel_key("few", false, 0, 0), 1, IPC_CREAT | IPC_EXCL | 0666) >= 0);
    static const char *const names[] = {"closed", "open", "few"};
    for (unsigned i = 0; i < 3; i++) {
        struct attachment attachment = attach(names[i]);
        CHECK(attachment.place == PANEL_SHARED && attachment.semaphore_id == -1);
        panel_claim_slot(&attachment, (uint32_t)getpid(), 0);
        CHECK(attachment.slot == PANEL_NO_SLOT && panel_holder_lives(&attachment, 1));
    }
}

static void test_odd(void) {
    /* Own segments that are something else: another size, other rights, another name, another layout. */
    int32_t key = panel_key("odd", false, 0, 0);
    CHECK(shmget(key, 4096, IPC_CREAT | 0600) >= 0);
    CHECK(shmget(panel_key("odd", false, 0, 1), sizeof(struct panel), IPC_CREAT | 0666) >= 0);
    int named = shmget(panel_key("odd", false, 0, 2), sizeof(struct panel), IPC_CREAT | 0600);
    int older = shmget(panel_key("odd", false, 0, 3), sizeof(struct panel), IPC_CREAT | 0600);
    struct panel *panel = shmat(named, NULL, 0);
    strcpy(panel->name, "another");
    atomic64_store_relaxed(&panel->layout, PANEL_LAYOUT);
    atomic64_store_relaxed(&panel->magic, PANEL_MAGIC);
    struct panel *old = shmat(older, NULL, 0);
    strcpy(old->name, "odd");
    atomic64_store_relaxed(&old->layout, PANEL_LAYOUT + 1);
    atomic64_store_relaxed(&old->magic, PANEL_MAGIC);
    struct attachment attachment = attach("odd");
    CHECK(attachment.place == PANEL_SHARED);
    CHECK(attachment.segment_id == shmget(panel_key("odd", false, 0, 4), 0, 0));
    check_text(panel->name, "another");
    /* Removed while it is attached: the next one makes a new one. */
    struct attachment last = attach("last");
    CHECK(shmctl(last.segment_id, IPC_RMID, NULL) == 0);
    atomic64_store_relaxed(&last.panel->unprotected, 1);
    struct attachment next = attach("last");
    CHECK(next.place == PANEL_SHARED && next.segment_id != last.segment_id);
}

static void test_by_id(void) {
    struct attachment attachment = attach("watched"), watching, none;
    CHECK(panel_attach_id(&watching, attachment.segment_id, true) == 0);
    CHECK(watching.semaphore_id == attachment.semaphore_id && watching.panel != NULL);
    panel_claim_slot(&attachment, (uint32_t)getpid(), 0);
    CHECK(panel_slot_lives(&watching, attachment.slot) && !panel_slot_lives(&watching, attachment.slot + 1));
    panel_detach(&watching);
    CHECK(panel_attach_id(&none, shmget(IPC_PRIVATE, 4096, 0600), true) == -EINVAL && none.panel == NULL);
    CHECK(panel_attach_id(&none, shmget(IPC_PRIVATE, sizeof(struct panel), 0600), false) == -EINVAL);
    CHECK(none.panel == NULL && panel_attach_id(&none, 0x7fffff00, true) == -EINVAL);
}

/* --- private memory ---------------------------------------------------------------------------------- */

static void step_write(void) {
    atomic64_store_relaxed(&first.panel->unprotected, 9);
}

static void test_private(void) {
    int fd = open("/proc/sys/kernel/shmmni", O_WRONLY);
    CHECK(fd >= 0 && write(fd, "0\n", 2) == 2 && close(fd) == 0);
    first = attach("nowhere");
    CHECK(first.place == PANEL_PRIVATE && first.error == ENOSPC && first.panel != NULL);
    in_child(step_write);
    CHECK(atomic64_load_relaxed(&first.panel->unprotected) == 9);
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    CHECK(first.slot == PANEL_NO_SLOT && panel_holder(&first) == 0 && panel_holder_lives(&first, 77));
    panel_detach(&first);
    environment.secure = true;
    first = attach("secure");
    CHECK(first.place == PANEL_PRIVATE && first.error == EPERM);
}

static void test_no_memory(void) {
    struct rlimit limit = {.rlim_cur = 30000000, .rlim_max = 30000000};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    struct attachment attachment;
    strcpy(environment.panel, "big");
    CHECK(panel_attach(&attachment, &environment) == -ENOMEM);
    CHECK(attachment.panel == NULL && attachment.place == PANEL_NOWHERE && attachment.error == ENOMEM);
    panel_claim_slot(&attachment, 1, 0);
    CHECK(attachment.slot == PANEL_NO_SLOT && panel_holder_lives(&attachment, 1));
}

/* --- groups ------------------------------------------------------------------------------------------ */

static void step_member(void) {
    become(1001, 1001, 1, (const gid_t[]){GROUP});
    struct attachment joined = attach("team");
    CHECK(joined.place == PANEL_SHARED && joined.segment_id == first.segment_id);
    panel_claim_slot(&joined, (uint32_t)getpid(), 0);
    CHECK(joined.slot != PANEL_NO_SLOT);
}

static void step_outsider(void) {
    become(1002, 1002, 0, NULL);
    struct attachment attachment = attach("team");
    CHECK(attachment.place == PANEL_PRIVATE && attachment.error == EACCES);
}

/* Gives a segment of his own to the group: only the creator's group cannot be forged. */
static void step_forger(void) {
    become(1002, 1002, 0, NULL);
    int segment =
        shmget(panel_key("team", true, GROUP, 0), sizeof(struct panel), IPC_CREAT | IPC_EXCL | 0660);
    struct shmid_ds status = status_of(segment);
    status.shm_perm.gid = GROUP;
    CHECK(shmctl(segment, IPC_SET, &status) == 0);
    first.segment_id = segment;
}

static void step_group_maker(void) {
    become(1003, GROUP, 0, NULL);
    struct attachment attachment = attach("team");
    CHECK(attachment.place == PANEL_SHARED && attachment.semaphore_id >= 0);
    struct shmid_ds status = status_of(attachment.segment_id);
    CHECK(status.shm_perm.cuid == 1003 && status.shm_perm.gid == GROUP);
}

static void test_group(void) {
    environment.has_group = true;
    environment.group = GROUP;
    first = attach("team");
    struct shmid_ds status = status_of(first.segment_id);
    CHECK(status.shm_perm.cuid == 0 && status.shm_perm.gid == GROUP && (status.shm_perm.mode & 0777) == 0660);
    in_child(step_member);
    in_child(step_outsider);
    /* Root was killed between making it and giving it away: the next root gives it. */
    status.shm_perm.gid = 0;
    CHECK(shmctl(first.segment_id, IPC_SET, &status) == 0);
    struct attachment again = attach("team");
    CHECK(again.segment_id == first.segment_id && status_of(first.segment_id).shm_perm.gid == GROUP);
}

static void test_group_forged(void) {
    environment.has_group = true;
    environment.group = GROUP;
    in_child(step_forger);
    in_child(step_group_maker);
    first = attach("team");
    CHECK(first.place == PANEL_SHARED && status_of(first.segment_id).shm_perm.cuid == 1003);
    in_child(step_member);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"share", test_share},
                                             {"parallel", test_parallel},
                                             {"squat", test_squat},
                                             {"squat_all", test_squat_all},
                                             {"squat_semaphores", test_squat_semaphores},
                                             {"odd", test_odd},
                                             {"by_id", test_by_id},
                                             {"private", test_private},
                                             {"no_memory", test_no_memory},
                                             {"group", test_group},
                                             {"group_forged", test_group_forged}};
    CHECK(unshare(CLONE_NEWIPC) == 0);
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
