/* cutout record: the calls of running programs, as they end, as a trace. */
#include "shim/tool/found.h"
#include "shim/tool/output.h"
#include "shim/tool/recorder.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char help[] =
    "Usage: cutout record [-p PANEL] FILE\n"
    "\n"
    "Writes each call that ends in any process of the panel to FILE as one line of a trace, which\n"
    "`cutout replay` reads, until it is interrupted (SIGINT, SIGTERM). FILE may be - for standard\n"
    "output. Record programs that observe: what is rejected is not made, and not in the trace.\n"
    "Calls that the recorder was too slow for are counted in lines `# lost N`.\n"
    "\n"
    "  -p PANEL   of this panel: NAME or USER/NAME; needed where there are several\n"
    "\n"
    "Exit status: 0 written until interrupted, 1 failed, 2 usage.\n";

enum { OPTION_PANEL = 1 };

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
    (void)number;
    interrupted = 1;
}

/* Records until a signal comes. */
static int record(struct panel *panel, const char *path) {
    static struct recorder recorder;
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    bool well = recorder_begin(&recorder, panel, path);
    while (well && !interrupted) {
        struct timespec pause = {0, RECORDER_STEP_MS * 1000000L};
        nanosleep(&pause, NULL);
        well = recorder_step(&recorder);
    }
    return well && recorder_end(&recorder) ? TOOL_YES : TOOL_NO;
}

/* The one panel that is meant, attached to write. False, with the error reported, when there is none or there are
 * several. */
static bool attach(const char *selector, struct attachment *attachment) {
    struct found found;
    if (!found_open(&found, selector)) {
        return false;
    }
    bool one = found.count == 1;
    if (found.count == 0) {
        found_nothing(selector);
    } else if (!one) {
        tool_error("record: there are several panels, name one with -p:");
        for (size_t i = 0; i < found.count; i++) {
            fprintf(stderr, "  %s of %s\n", shown(found.panels[i].name), found_whose(&found.panels[i]));
        }
    } else {
        int result = panel_attach_id(attachment, found.panels[0].attachment.segment_id, false);
        if (result < 0) {
            tool_error("record: panel %s: %s", shown(found.panels[0].name), strerror(-result));
            one = false;
        }
    }
    found_close(&found);
    return one;
}

int command_record(int count, char **words) {
    static const struct tool_option options[] = {{"-p", OPTION_PANEL, true}};
    struct arguments arguments = {.command = "record",
                                  .help = help,
                                  .options = options,
                                  .option_count = 1,
                                  .count = count,
                                  .words = words};
    const char *selector = NULL, *path = NULL;
    for (;;) {
        int id = arguments_next(&arguments);
        if (id == ARGUMENT_END) {
            break;
        }
        if (id == ARGUMENT_HELP || id == ARGUMENT_WRONG) {
            return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
        if (id == OPTION_PANEL) {
            selector = arguments.value;
        } else if (path != NULL) {
            return tool_usage("record", "record: one FILE, not also %s", shown(arguments.value));
        } else {
            path = arguments.value;
        }
    }
    if (path == NULL) {
        return tool_usage("record", "record: which FILE?");
    }
    struct attachment attachment;
    if (!attach(selector, &attachment)) {
        return TOOL_NO;
    }
    int status = record(attachment.panel, path);
    panel_detach(&attachment);
    return status;
}
