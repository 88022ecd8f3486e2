#include "shim/tool/doctor.h"
#include "shim/tool/elf_file.h"
#include "shim/tool/facts.h"
#include "shim/tool/output.h"
#include "shim/tool/running.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#define TREE_MAX 4096 /* processes of one tree that are looked at */

/* What was found so far. */
struct findings {
    bool not ;    /* nothing is protected */
    bool in_part; /* something is lost */
    bool observe; /* nothing is rejected, as its environment says */
};

/* --- the library ------------------------------------------------------------------------------------ */

/* Why there is no shim in it, as far as that shows. */
static void print_why_absent(const struct running *running) {
    char exe[64], preload[PATH_MAX];
    struct elf_file elf;
    snprintf(exe, sizeof exe, "/proc/%" PRIu32 "/exe", running->pid);
    if (elf_file_read(&elf, exe) != ELF_READ) {
        return;
    }
    if (!elf.loader[0]) {
        puts("          its program is statically linked: it loads no library");
    } else if (running_is_secure(running->pid, elf.bits == 32)) {
        puts("          it was started with rights that its starter lacked: the loader preloads nothing");
    } else if (!running_variable(running->pid, "LD_PRELOAD", preload, sizeof preload)) {
        puts("          it was started without LD_PRELOAD in its environment");
    } else {
        printf("          it was started with LD_PRELOAD=%s\n", shown(preload));
    }
}

static void print_library(const struct running *running, struct findings *findings) {
    if (!running->library[0]) {
        puts("library   none: it runs without cutout");
        print_why_absent(running);
        findings->not = true;
        return;
    }
    printf("library   %s\n", shown(running->library));
    if (running->library_deleted) {
        puts("          that file is gone or has been replaced since: until it is started anew, it goes on "
             "with the\n"
             "          library that it has loaded");
    }
    if (running->badge_known) {
        bool same = strcmp(running->badge.version, CUTOUT_VERSION) == 0;
        printf("version   %s%s\n", shown(running->badge.version), same ? "" : ", other than this command's");
    } else {
        printf("          its memory cannot be read (%s): what follows is seen from outside\n",
               strerror(running->memory_error ? running->memory_error : EIO));
    }
}

/* Whether the library does anything there; false where it does not. */
static bool print_state(const struct running *running, struct findings *findings) {
    static const char *const idle[] = {
        [BADGE_NOT_BEGUN] = "it has not begun: it was not preloaded, or the program is still being loaded",
        [BADGE_DISABLED] = "it does nothing: CUTOUT_DISABLE=1",
        [BADGE_OFF] = "it does nothing: CUTOUT_MODE=off",
        [BADGE_OLD_KERNEL] = "it does nothing: the kernel cannot tell it a forked child (before Linux 4.14)",
        [BADGE_NO_MEMORY] = ("it does nothing: a panel would take too much of its address space (ulimit -v), "
                             "or could not be had"),
        [BADGE_STRICT] =
            "it does nothing any more: the program has entered the kernel's strict mode (seccomp)",
        [BADGE_COPY] = "it does nothing: it leaves the work to another copy of it"};
    uint64_t state = running->badge_known ? atomic64_load_relaxed(&running->badge.state) : BADGE_ACTIVE;
    bool mapped = running->segment_count || running->has_private;
    if (state == BADGE_ACTIVE && (running->badge_known || mapped)) {
        return true;
    }
    findings->not = true;
    if (!running->badge_known) {
        puts("state     it does nothing: it has no panel");
    } else {
        printf("state     %s\n",
               state < sizeof idle / sizeof *idle ? idle[state] : "unknown to this version");
    }
    return false;
}

/* --- the panel -------------------------------------------------------------------------------------- */

static void print_rules(const struct panel *panel, const struct process *process, struct findings *findings) {
    struct rules_facts rules = facts_of_rules(panel);
    if (!rules.file[0]) {
        puts("rules     built-in defaults");
    } else if (rules.loaded_unix_ns) {
        printf("rules     %s, loaded %s\n", shown(rules.file), shown_time(rules.loaded_unix_ns));
    } else {
        printf("rules     %s\n", shown(rules.file));
    }
    if (rules.error[0] && !rules.ok) {
        printf("          %s\n", shown(rules.error));
    }
    if (rules.withheld) {
        puts("          until they can be loaded, nothing is rejected");
        findings->in_part = true;
    } else if (!rules.ok) {
        puts("          the last good ones stay in force");
    }
    char named[sizeof process->rules_named];
    if (process) {
        copy_bounded(named, sizeof named, process->rules_named, sizeof process->rules_named);
        if (named[0]) {
            printf("          it named %s, and joined a panel that has these\n", shown(named));
        }
    }
}

/* The process's entry in the panel; NULL where it has none. */
static const struct process *find_entry(const struct running *running, const struct attachment *attachment) {
    uint64_t slot = running->badge_known ? atomic64_load_relaxed(&running->badge.slot) : 0;
    if (running->badge_known) {
        return slot > 0 && slot <= PANEL_PROCESSES ? &attachment->panel->processes[slot - 1] : NULL;
    }
    for (uint32_t i = 0; i < PANEL_PROCESSES; i++) {
        const struct process *process = &attachment->panel->processes[i];
        if (atomic64_load_relaxed(&process->pid) == running->inner_pid && panel_slot_lives(attachment, i)) {
            return process;
        }
    }
    return NULL;
}

static void print_slot(const struct running *running, const struct process *process) {
    if (running->badge_known && atomic64_load_relaxed(&running->badge.pid) != running->inner_pid) {
        puts("          a child that was forked: it gets a place of its own there with its first call");
    } else if (!process) {
        puts("          without a place of its own there: that it lives cannot be told by the others");
    }
}

/* The panel is one of this machine's: looked into. False where it cannot be. */
static bool print_shared(const struct running *running, int segment, struct findings *findings) {
    struct found_panel panel = {0};
    int error = panel_attach_id(&panel.attachment, segment, true);
    if (error) {
        printf("panel     shared memory %d, which cannot be looked into: %s\n", segment, strerror(-error));
        findings->in_part = true;
        return false;
    }
    const struct process *process = find_entry(running, &panel.attachment);
    copy_bounded(panel.name, sizeof panel.name, panel.attachment.panel->name, PANEL_NAME_MAX);
    uint32_t count = found_processes(&panel);
    printf("panel     %s, shared by %" PRIu32 " process%s now\n", shown(panel.name), count,
           count == 1 ? "" : "es");
    struct shmid_ds status;
    if (shmctl(segment, IPC_STAT, &status) == 0 && (status.shm_perm.mode & SHM_DEST)) {
        puts("          it has been removed: who comes now joins another one");
        findings->in_part = true;
    }
    print_slot(running, process);
    if (!running->badge_known && process) {
        char version[sizeof process->version];
        copy_bounded(version, sizeof version, process->version, sizeof process->version);
        printf("version   %s\n", shown(version));
        findings->observe = atomic64_load_relaxed(&process->mode) == 1 + MODE_OBSERVE;
    }
    print_rules(panel.attachment.panel, process, findings);
    panel_detach(&panel.attachment);
    return true;
}

static void print_private(const struct running *running, struct findings *findings) {
    uint64_t error = running->badge_known ? atomic64_load_relaxed(&running->badge.error) : 0;
    findings->in_part = true;
    puts("panel     private to this process and the children that it forks");
    if (running->badge_known && atomic64_load_relaxed(&running->badge.secure)) {
        puts("          it was started with rights that its starter lacked: it shares with nobody, by the "
             "built-in "
             "defaults");
    } else if (error > 0 && error < 4096) {
        printf("          no shared memory was to be had: %s\n", strerror((int)error));
    }
}

static void print_panel(const struct running *running, struct findings *findings) {
    uint64_t segment = running->badge_known ? atomic64_load_relaxed(&running->badge.segment) : 0;
    if (!running->badge_known && running->segment_count) {
        segment = (uint64_t)running->segments[0] + 1;
    }
    if (segment == 0) {
        print_private(running, findings);
    } else if (!running_shares_ipc(running->pid)) {
        printf("panel     %s, shared in another IPC namespace, where this command cannot look\n",
               running->badge_known ? shown(running->badge.panel) : "one");
    } else {
        print_shared(running, (int)(segment - 1), findings);
    }
}

/* --- what it has seen ------------------------------------------------------------------------------- */

static void print_badge(const struct badge *badge, unsigned seccomp, struct findings *findings) {
    static const char *const modes[] = {NULL, "enforce", "observe", "off"};
    const char *mode = modes[atomic64_load_relaxed(&badge->mode) & 3];
    uint64_t seen = atomic64_load_relaxed(&badge->connections) - atomic64_load_relaxed(&badge->inherited);
    if (mode) {
        printf("mode      %s, by CUTOUT_MODE\n", mode);
        findings->observe = strcmp(mode, "observe") == 0;
    }
    if (atomic64_load_relaxed(&badge->sandboxed)) {
        printf("sandbox   %s\n          new connections are counted, and no longer rejected\n",
               seccomp ? "it has installed a system-call filter (seccomp):"
                       : "it was about to install a system-call filter (seccomp):");
        findings->in_part = true;
    } else if (seccomp) {
        puts("sandbox   a system-call filter (seccomp) from before its start, which changes nothing");
    }
    uint64_t deepbound = atomic64_load_relaxed(&badge->deepbound);
    if (deepbound) {
        printf("deepbind  %" PRIu64 " module%s opened with RTLD_DEEPBIND: what they call passes unseen\n",
               deepbound, deepbound == 1 ? "" : "s");
        findings->in_part = true;
    }
    printf("seen      %" PRIu64 " connection%s%s\n", seen, seen == 1 ? "" : "s",
           seen ? ", each duplicate of a descriptor one more" : " so far");
}

static void print_running(const struct running *running, struct findings *findings) {
    printf("process   %" PRIu32 " %s\n", running->pid,
           running->program[0] ? shown(running->program) : "(its program cannot be read)");
    print_library(running, findings);
    if (!running->library[0] || !print_state(running, findings)) {
        return;
    }
    print_panel(running, findings);
    if (running->badge_known) {
        print_badge(&running->badge, running->seccomp, findings);
    }
}

/* --- the command ------------------------------------------------------------------------------------ */

static int report_unread(uint32_t pid, int error) {
    if (error == ESRCH) {
        if (pid > INT32_MAX) {
            tool_error("there is no process of that number");
        } else {
            tool_error("there is no process %" PRIu32, pid);
        }
    } else if (error == ENOEXEC) {
        tool_error("process %" PRIu32 " runs no program: it is one of the kernel's, or has ended", pid);
    } else {
        tool_error("process %" PRIu32 " is not yours to look into: %s", pid, strerror(error));
    }
    return TOOL_NO;
}

/* *running has been read. */
static int judge(const struct running *running) {
    struct findings findings = {0};
    print_running(running, &findings);
    printf("verdict   %s\n", findings.not       ? "is not protected"
                             : findings.in_part ? "is protected in part"
                             : findings.observe ? "is watched: nothing is rejected"
                                                : "is protected");
    return findings.not || findings.in_part ? TOOL_NO : TOOL_YES;
}

int doctor_process(uint32_t pid) {
    static struct running running;
    int error = running_read(&running, pid);
    return error ? report_unread(pid, error) : judge(&running);
}

int doctor_tree(uint32_t pid) {
    static struct running running;
    static uint32_t pids[TREE_MAX];
    size_t count = running_tree(pid, pids, TREE_MAX), seen = 0, protected = 0;
    for (size_t i = 0; i < count; i++) {
        int error = running_read(&running, pids[i]);
        if (error && i == 0) {
            return report_unread(pid, error);
        }
        if (error == ESRCH || error == ENOEXEC) {
            continue; /* it has ended since */
        }
        seen++;
        if (error) {
            report_unread(pids[i], error);
            continue;
        }
        if (i > 0) {
            putchar('\n');
        }
        protected += judge(&running) == TOOL_YES;
    }
    printf("\n%zu of %zu processes %s protected\n", protected, seen, protected == 1 ? "is" : "are");
    return protected == seen ? TOOL_YES : TOOL_NO;
}
