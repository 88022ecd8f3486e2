/* cutout panels: all panels, and their removal. */
#include "shim/clock.h"
#include "shim/tool/facts.h"
#include "shim/tool/found.h"
#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>

static const char help[] =
    "Usage: cutout panels [--prune] [--remove NAME]\n"
    "\n"
    "Lists the panels of this user (root: of every user): processes attached, breakers, memory in use,\n"
    "when a call was last counted, and the rules file.\n"
    "\n"
    "  --prune         remove the panels that no process is attached to\n"
    "  --remove NAME   remove this one, NAME or USER/NAME, in use or not; processes that are attached\n"
    "                  go on with it unseen\n"
    "\n"
    "Exit status: 0 listed or removed, 1 there is none or it cannot be removed, 2 usage.\n";

/* When a call was last counted, to the length of a bucket; 0 = never, or not known. */
static uint64_t last_call_ns(struct panel *panel, uint64_t now_ns) {
    uint64_t last_ns = 0;
    uint32_t used = panel_breakers_used(panel);
    for (uint32_t index = 0; index < used; index++) {
        const struct breaker *breaker = panel_breaker(panel, index);
        if (!breaker) {
            continue;
        }
        uint64_t bucket_us = atomic64_load_relaxed(&breaker->window.shape) >> 32;
        uint64_t number = atomic64_load_relaxed(&breaker->window.pace);
        if (bucket_us == 0 || number > now_ns / 1000 / bucket_us) {
            continue;
        }
        uint64_t begun_ns = number * bucket_us * 1000;
        last_ns = begun_ns > last_ns ? begun_ns : last_ns;
    }
    return last_ns;
}

static void print_panel(const struct found_panel *found) {
    struct panel *panel = found->attachment.panel;
    struct rules_facts rules = facts_of_rules(panel);
    uint64_t now_ns = clock_monotonic_ns(), last_ns = last_call_ns(panel, now_ns);
    const char *name = shown(found->name);
    if (columns_of(name) > 24) {
        puts(name);
        name = "";
    }
    printf("%-24s %-12s %9" PRIu32 " %8" PRIu32 " %9s %9s\n", name, shown(found->user),
           found_processes(found), panel_breakers_used(panel),
           found->resident_bytes ? shown_size(found->resident_bytes) : "-",
           last_ns ? shown_span(now_ns - last_ns) : "-");
    if (found->group[0]) {
        printf("  of the group %s\n", shown(found->group));
    }
    printf("  rules %s%s\n", rules.file[0] ? shown(rules.file) : "built in",
           rules.ok ? "" : ", refused as it stands");
}

static int list(const struct found *found) {
    if (found->count == 0) {
        return found_nothing(NULL);
    }
    printf("%-24s %-12s %9s %8s %9s %9s\n", "PANEL", "USER", "PROCESSES", "BREAKERS", "RESIDENT",
           "LAST CALL");
    for (size_t i = 0; i < found->count; i++) {
        print_panel(&found->panels[i]);
    }
    return TOOL_YES;
}

/* Removes segment and semaphores. The memory goes with the last process that has it mapped. */
static bool remove_panel(const struct found_panel *found) {
    if (shmctl(found->attachment.segment_id, IPC_RMID, NULL) != 0 && errno != EINVAL && errno != EIDRM) {
        tool_error("cannot remove panel %s of %s: %s", shown(found->name), shown(found->user),
                   strerror(errno));
        return false;
    }
    if (found->attachment.semaphore_id >= 0) {
        semctl(found->attachment.semaphore_id, 0, IPC_RMID);
    }
    return true;
}

/* How many others have the panel mapped now. */
static uint64_t attached_now(const struct found_panel *found) {
    struct shmid_ds segment;
    if (shmctl(found->attachment.segment_id, IPC_STAT, &segment) != 0) {
        return found->attached;
    }
    return segment.shm_nattch > 0 ? segment.shm_nattch - 1 : 0; /* one is ours */
}

static int prune(const struct found *found) {
    int status = TOOL_YES;
    for (size_t i = 0; i < found->count; i++) {
        const struct found_panel *panel = &found->panels[i];
        if (attached_now(panel) > 0 || found_processes(panel) > 0) {
            continue;
        }
        if (remove_panel(panel)) {
            printf("removed %s of %s\n", shown(panel->name), shown(panel->user));
        } else {
            status = TOOL_NO;
        }
    }
    return status;
}

static int remove_named(const struct found *found, const char *name) {
    if (found->count == 0) {
        return found_nothing(name);
    }
    if (found->count > 1) {
        tool_error("more than one panel is called %s; say which:", shown(name));
        for (size_t i = 0; i < found->count; i++) {
            const struct found_panel *panel = &found->panels[i];
            if (panel->group[0]) {
                fprintf(stderr, "  CUTOUT_GROUP=%s %s\n", shown(panel->group), shown(panel->name));
            } else {
                fprintf(stderr, "  %s/%s\n", shown(panel->user), shown(panel->name));
            }
        }
        return TOOL_NO;
    }
    uint64_t attached = attached_now(&found->panels[0]);
    if (!remove_panel(&found->panels[0])) {
        return TOOL_NO;
    }
    printf("removed %s of %s", shown(found->panels[0].name), shown(found->panels[0].user));
    if (attached > 0) {
        printf("; %" PRIu64 " process%s with it, unseen, to the end", attached,
               attached == 1 ? " goes on" : "es go on");
    }
    putchar('\n');
    return TOOL_YES;
}

enum { OPTION_PRUNE = 1, OPTION_REMOVE };

int command_panels(int count, char **words) {
    static const struct tool_option options[] = {{"--prune", OPTION_PRUNE, false},
                                                 {"--remove", OPTION_REMOVE, true}};
    struct arguments arguments = {.command = "panels",
                                  .help = help,
                                  .options = options,
                                  .option_count = 2,
                                  .count = count,
                                  .words = words};
    const char *name = NULL;
    bool pruning = false;
    for (int id = arguments_next(&arguments); id != ARGUMENT_END; id = arguments_next(&arguments)) {
        if (id == OPTION_PRUNE) {
            pruning = true;
        } else if (id == OPTION_REMOVE) {
            name = arguments.value;
        } else if (id == ARGUMENT_WORD) {
            return tool_usage("panels", "panels: unexpected %s", shown(arguments.value));
        } else {
            return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
    }
    if (pruning && name) {
        return tool_usage("panels", "panels: --prune and --remove exclude each other");
    }
    struct found found;
    if (!found_open(&found, name)) {
        return TOOL_NO;
    }
    int status = pruning ? prune(&found) : name ? remove_named(&found, name) : list(&found);
    found_close(&found);
    return status;
}
