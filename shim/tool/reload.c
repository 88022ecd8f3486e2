/* cutout reload: rules into force at once, in every process of a panel. */
#include "shim/load.h"
#include "shim/tool/facts.h"
#include "shim/tool/output.h"
#include "shim/tool/parsed.h"
#include "shim/tool/target.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "Usage: cutout reload [-p PANEL] [-r FILE]\n"
    "\n"
    "Puts the panel's rules file into force, in every process of the panel from its next call. States\n"
    "and counts stay. A bad file changes nothing, and every error is printed.\n"
    "\n"
    "  -p PANEL   of this panel: NAME or USER/NAME; needed where there are several\n"
    "  -r FILE    make FILE the panel's rules file\n"
    "\n"
    "Exit status: 0 in force, 1 failed, 2 usage.\n";

enum { OPTION_PANEL = 1, OPTION_RULES };

/* A loader that is stopped in the middle is overtaken after 5 s. */
#define TRIES  120
#define TRY_NS 50000000L

/* The file is read with the rights of whoever the panel belongs to: an error message quotes what it holds, and the
 * panel's owner can read that. */
static bool become_owner(const struct found_panel *panel) {
    if (geteuid() != 0 || panel->user_id == 0) {
        return true;
    }
    const struct passwd *user = getpwuid(panel->user_id);
    gid_t group = user ? user->pw_gid : panel->group_id;
    bool well = (user ? initgroups(user->pw_name, group) : setgroups(1, &group)) == 0 &&
                setegid(group) == 0 && seteuid(panel->user_id) == 0;
    if (!well) {
        tool_error("reload: cannot act as %s: %s", shown(panel->user), strerror(errno));
    }
    return well;
}

/* The path as a program's CUTOUT_RULES would be taken: absolute, symbolic links left alone. */
static const char *absolute(const char *path) {
    static struct environment environment;
    setenv("CUTOUT_RULES", path, 1);
    unsetenv("CUTOUT_DISABLE"); /* with it nothing else would be read */
    environment_read(&environment);
    return environment.rules;
}

static bool change(struct panel *panel, const char *path) {
    for (unsigned i = 0; i < TRIES; i++) {
        if (load_change_file(panel, path, (uint32_t)getpid())) {
            return true;
        }
        struct timespec pause = {0, TRY_NS};
        nanosleep(&pause, NULL);
    }
    tool_error("reload: another process is loading rules, and does not come to an end");
    return false;
}

/* path NULL: the panel's own file. */
static int reload(const struct target *target, const char *path) {
    struct panel *panel = target->attachment.panel;
    struct rules_facts before = facts_of_rules(panel);
    const char *file = path ? path : before.file;
    if (!file[0]) {
        tool_error("reload: panel %s has no rules file; give it one with -r FILE",
                   shown(target->panel->name));
        return TOOL_NO;
    }
    struct parsed *parsed = parsed_open(file);
    bool good = parsed != NULL;
    if (good) {
        parsed_close(parsed);
    } else if (path) {
        return TOOL_NO; /* the panel keeps its own file */
    }
    /* A bad file of the panel's own is noted there, for status and events. */
    if (!change(panel, path) || !good) {
        return TOOL_NO;
    }
    struct rules_facts after = facts_of_rules(panel);
    if (!after.ok) {
        tool_error("reload: %s", shown(after.error));
        return TOOL_NO;
    }
    uint32_t processes = found_processes(target->panel);
    printf("rules %s: in force%s; %" PRIu32 " process%s attached to panel %s\n", shown(file),
           before.ok && before.loaded_unix_ns == after.loaded_unix_ns ? " already, unchanged" : "", processes,
           processes == 1 ? "" : "es", shown(target->panel->name));
    return TOOL_YES;
}

int command_reload(int count, char **words) {
    static const struct tool_option options[] = {{"-p", OPTION_PANEL, true}, {"-r", OPTION_RULES, true}};
    struct arguments arguments = {.command = "reload",
                                  .help = help,
                                  .options = options,
                                  .option_count = 2,
                                  .count = count,
                                  .words = words};
    const char *selector = NULL, *path = NULL;
    for (int id = arguments_next(&arguments); id != ARGUMENT_END; id = arguments_next(&arguments)) {
        if (id == OPTION_PANEL) {
            selector = arguments.value;
        } else if (id == OPTION_RULES) {
            path = arguments.value;
        } else if (id == ARGUMENT_WORD) {
            return tool_usage("reload", "reload: unexpected %s", shown(arguments.value));
        } else {
            return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
    }
    struct target target;
    if (!target_open(&target, "reload", selector, NULL)) {
        return TOOL_NO;
    }
    if (path) {
        path = absolute(path);
        if (!path[0]) {
            tool_error("reload: the name of the rules file is too long");
        }
    }
    int status = TOOL_NO;
    if ((!path || path[0]) && become_owner(target.panel)) {
        status = reload(&target, path);
    }
    target_close(&target);
    return status;
}
