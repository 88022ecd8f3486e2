/* Cases of shim/slot.c, each in an IPC namespace of its own. Needs root, to be other users. */
#include "tests/programs/attach.h"

#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>

/* A process that has claimed a slot and waits to be killed. */
static pid_t start_holder(struct attachment *holder, bool as_parent) {
    struct attachment *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        struct attachment mine = attach("slots");
        panel_claim_slot(&mine, (uint32_t)(as_parent ? getppid() : getpid()), 2);
        *shared = mine;
        kill(getpid(), SIGSTOP);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
    *holder = *shared;
    return child;
}

static void test_killed(void) {
    first = attach("slots");
    struct attachment dead;
    pid_t child = start_holder(&dead, false);
    uint64_t holder = panel_holder(&dead);
    CHECK(dead.slot == (uint32_t)child % PANEL_PROCESSES && holder != 0 && holder <= PERMIT_HOLDER_MAX);
    CHECK(panel_slot_lives(&first, dead.slot) && panel_holder_lives(&first, holder));
    const struct process *process = &first.panel->processes[dead.slot];
    CHECK(atomic64_load_relaxed(&process->pid) == (uint64_t)child &&
          atomic64_load_relaxed(&process->mode) == 2);
    check_text(process->version, CUTOUT_VERSION);
    CHECK(strstr(process->program, "shim_slot") != NULL);
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(!panel_slot_lives(&first, dead.slot) && !panel_holder_lives(&first, holder));
    /* Another process takes the slot: the former one's permits stay gone. */
    panel_claim_slot(&first, (uint32_t)child, 0);
    CHECK(first.slot == dead.slot && first.slot_generation == dead.slot_generation + 1);
    CHECK(!panel_holder_lives(&first, holder) && panel_holder_lives(&first, panel_holder(&first)));
    /* Nobody known, or scribbled: not said to be gone. */
    CHECK(panel_holder_lives(&first, 0) && panel_holder_lives(&first, 0xfff));
    CHECK(!panel_slot_lives(&first, PANEL_PROCESSES));
}

/* Another PID namespace's process of the same number has the slot that would be this one's. */
static void test_namesake(void) {
    first = attach("slots");
    struct attachment namesake;
    pid_t child = start_holder(&namesake, true);
    CHECK(namesake.slot == (uint32_t)getpid() % PANEL_PROCESSES);
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    CHECK(first.slot != PANEL_NO_SLOT && first.slot != namesake.slot);
    CHECK(panel_holder_lives(&first, panel_holder(&namesake)));
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child && !panel_slot_lives(&first, namesake.slot));
}

static uint32_t *child_slot;

static void step_forked(void) {
    struct attachment mine = first;
    panel_claim_slot(&mine, (uint32_t)getpid(), 0);
    CHECK(mine.slot != PANEL_NO_SLOT && mine.slot != first.slot);
    CHECK(panel_slot_lives(&mine, mine.slot) && panel_slot_lives(&mine, first.slot));
    *child_slot = mine.slot;
}

/* A forked child's slot is not its parent's, and is free after it. */
static void test_forked(void) {
    child_slot = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    first = attach("slots");
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    CHECK(first.slot == (uint32_t)getpid() % PANEL_PROCESSES);
    in_child(step_forked);
    CHECK(!panel_slot_lives(&first, *child_slot) && panel_slot_lives(&first, first.slot));
}

static void test_exec(void) {
    first = attach("slots");
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    char slot[16], generation[32];
    snprintf(slot, sizeof slot, "%u", first.slot);
    snprintf(generation, sizeof generation, "%llu", (unsigned long long)first.slot_generation);
    execl("/proc/self/exe", "shim_slot", "execed", slot, generation, (char *)NULL);
    CHECK(0);
}

static int execed(const char *slot, const char *generation) {
    first = attach("slots");
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    CHECK(first.slot == strtoul(slot, NULL, 10));
    CHECK(first.slot_generation == strtoull(generation, NULL, 10) + 1);
    CHECK(semctl(first.semaphore_id, (int)first.slot, GETVAL) == 1);
    CHECK(!panel_slot_lives(&first, (first.slot + 1) % PANEL_PROCESSES));
    return 0;
}

static void step_dropped(void) {
    become(STRANGER, STRANGER, 0, NULL);
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    CHECK(first.slot != PANEL_NO_SLOT && panel_slot_lives(&first, first.slot));
}

/* A worker claims its slot after it has given up root's rights, and changed its root. */
static void test_dropped(void) {
    first = attach("slots");
    in_child(step_dropped);
}

static void test_no_free_slot(void) {
    first = attach("slots");
    unsigned short values[PANEL_PROCESSES];
    for (unsigned i = 0; i < PANEL_PROCESSES; i++) {
        values[i] = 1;
    }
    CHECK(semctl(first.semaphore_id, 0, SETALL, values) == 0);
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    CHECK(first.slot == PANEL_NO_SLOT && panel_holder(&first) == 0);
    CHECK(atomic64_load_relaxed(&first.panel->no_slot) == 1);
    /* The one that is free is found wherever it is. */
    uint32_t free_slot = ((uint32_t)getpid() + 700) % PANEL_PROCESSES;
    CHECK(semctl(first.semaphore_id, (int)free_slot, SETVAL, 0) == 0);
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    CHECK(first.slot == free_slot);
    /* The set is removed: nobody is said to be gone. */
    uint64_t holder = panel_holder(&first);
    CHECK(semctl(first.semaphore_id, 0, IPC_RMID) == 0);
    CHECK(panel_holder_lives(&first, holder));
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    CHECK(first.slot == PANEL_NO_SLOT);
}

static void test_rules_named(void) {
    strcpy(environment.rules, "/etc/one.rules");
    first = attach("slots");
    strcpy(first.panel->rules.file, "/etc/one.rules");
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    check_text(first.panel->processes[first.slot].rules_named, "");
    strcpy(environment.rules, "/etc/one.rule");
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    check_text(first.panel->processes[first.slot].rules_named, "/etc/one.rule");
    environment.rules[0] = '\0';
    panel_claim_slot(&first, (uint32_t)getpid(), 0);
    check_text(first.panel->processes[first.slot].rules_named, "");
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"killed", test_killed},          {"namesake", test_namesake},
        {"forked", test_forked},          {"exec", test_exec},
        {"dropped", test_dropped},        {"no_free_slot", test_no_free_slot},
        {"rules_named", test_rules_named}};
    if (argc == 4 && strcmp(argv[1], "execed") == 0) {
        return execed(argv[2], argv[3]);
    }
    CHECK(unshare(CLONE_NEWIPC) == 0);
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
