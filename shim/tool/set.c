/* cutout set: an operator's word on what is rejected, in force from the next call of every attached process. */
#include "rules/value.h"
#include "shim/clock.h"
#include "shim/tool/output.h"
#include "shim/tool/target.h"
#include "shim/tool/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: cutout set NAME|DESTINATION|--all open|off|observe|enforce|auto [--for D] [-p PANEL]\n"
    "\n"
    "Goes before rules and environment, from the next call of every process of the panel:\n"
    "  open      reject everything, for 1 hour where --for does not say otherwise\n"
    "  off       admit everything, judge nothing\n"
    "  observe   judge, reject nothing\n"
    "  enforce   reject what the breakers say, whatever the mode\n"
    "  auto      lift any of these\n"
    "NAME is a rule: all its breakers, also those to come. DESTINATION (or a host name) is what\n"
    "status shows. --all goes before a NAME, that before a DESTINATION; each is kept apart.\n"
    "\n"
    "  --for D    end it after this time: 90s, 15m, 2h; at most 720h\n"
    "  -p PANEL   of this panel: NAME or USER/NAME; needed where several know what is named\n"
    "\n"
    "Exit status: 0 set, 1 failed, or some processes cannot be reached, 2 usage.\n";

#define HOUR_NS UINT64_C(3600000000000)

enum { OPTION_PANEL = 1, OPTION_ALL, OPTION_FOR };

struct request {
    const char *word; /* NULL with `all` */
    const char *selector;
    enum override says;
    bool all, has_says;
    uint64_t for_ns; /* 0: not given */
};

static bool read_says(const char *word, enum override *says) {
    for (unsigned i = OVERRIDE_NONE; i <= OVERRIDE_ENFORCE; i++) {
        if (strcmp(override_name((enum override)i), word) == 0) {
            *says = (enum override)i;
            return true;
        }
    }
    return false;
}

/* A duration as the rules write it. */
static bool read_for(const char *word, uint64_t *for_ns) {
    static const struct key how_long = {
        .name = "--for", .kind = VALUE_DURATION, .low = 1000000, .high = 720 * HOUR_NS, .step = 1000000};
    char bytes[128];
    struct text expected = text_in(bytes, sizeof bytes);
    struct piece piece = {.bytes = word, .size = strlen(word)};
    if (value_read(&how_long, piece, for_ns, &expected)) {
        return true;
    }
    tool_usage("set", "set: --for %s: expected %s", shown(word), bytes);
    return false;
}

/* A word of the command line: first whom, then what. False, reported, when it is neither. */
static bool read_word(struct request *request, const char *word) {
    if (!request->all && !request->word) {
        request->word = word;
        return true;
    }
    if (request->has_says) {
        tool_usage("set", "set: unexpected %s", shown(word));
        return false;
    }
    request->has_says = read_says(word, &request->says);
    if (!request->has_says) {
        tool_usage("set", "set: open, off, observe, enforce or auto, not %s", shown(word));
    }
    return request->has_says;
}

/* --all may stand behind the word that it is followed by elsewhere. */
static bool settle(struct request *request) {
    if (request->all && request->word) {
        const char *word = request->word;
        request->word = NULL;
        if (request->has_says) {
            tool_usage("set", "set: either %s or --all", shown(word));
            return false;
        }
        return read_word(request, word);
    }
    return true;
}

/* Returns an ARGUMENT_ value: ARGUMENT_END when all is well. */
static int read_request(int count, char **words, struct request *request) {
    static const struct tool_option options[] = {
        {"-p", OPTION_PANEL, true}, {"--all", OPTION_ALL, false}, {"--for", OPTION_FOR, true}};
    struct arguments arguments = {.command = "set",
                                  .help = help,
                                  .options = options,
                                  .option_count = 3,
                                  .count = count,
                                  .words = words};
    for (;;) {
        int id = arguments_next(&arguments);
        bool well = true;
        if (id == ARGUMENT_END) {
            break;
        }
        if (id == OPTION_PANEL) {
            request->selector = arguments.value;
        } else if (id == OPTION_ALL) {
            request->all = true;
            well = settle(request);
        } else if (id == OPTION_FOR) {
            well = read_for(arguments.value, &request->for_ns);
        } else if (id == ARGUMENT_WORD) {
            well = read_word(request, arguments.value);
        } else {
            return id;
        }
        if (!well) {
            return ARGUMENT_WRONG;
        }
    }
    if (!request->all && !request->word) {
        tool_usage("set", "set: what? A NAME, a DESTINATION or --all");
    } else if (!request->has_says) {
        tool_usage("set", "set: open, off, observe, enforce or auto?");
    } else if (request->says == OVERRIDE_NONE && request->for_ns != 0) {
        tool_usage("set", "set: auto has no --for");
    } else {
        return ARGUMENT_END;
    }
    return ARGUMENT_WRONG;
}

/* False, reported, when there is no room for one more rule's. */
static bool put(const struct target *target, uint64_t word) {
    struct panel *panel = target->attachment.panel;
    if (!target->word) {
        override_set_all(&panel->overrides, word);
    } else if (target->is_rule) {
        if (!override_set_rule(&panel->overrides, target->rule_key, word)) {
            tool_error("set: %d rules of panel %s have had a word of their own: that is all it has room for",
                       OVERRIDE_RULES, shown(target->panel->name));
            return false;
        }
    } else {
        for (size_t i = 0; i < target->count; i++) {
            struct breaker *breaker = panel_breaker(panel, target->breakers[i]);
            if (breaker) {
                override_set_one(&panel->overrides, &breaker->override, word);
            }
        }
    }
    return true;
}

/* Panels of the same name that another version of cutout made: their processes read other words. */
static int tell_unreached(const struct target *target) {
    size_t others = found_other_layouts(target->panel);
    if (others == 0) {
        return TOOL_YES;
    }
    tool_error(
        "set: not reached: the processes of %zu panel%s of that name that another version of cutout has "
        "made; use its own command",
        others, others == 1 ? "" : "s");
    return TOOL_NO;
}

int command_set(int count, char **words) {
    struct request request = {0};
    int id = read_request(count, words, &request);
    if (id != ARGUMENT_END) {
        return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
    }
    struct target target;
    if (!target_open(&target, "set", request.selector, request.word)) {
        return TOOL_NO;
    }
    if (request.says == OVERRIDE_OPEN && request.for_ns == 0) {
        request.for_ns = HOUR_NS;
    }
    int status = TOOL_NO;
    if (put(&target, override_word(request.says, request.for_ns, clock_monotonic_ns()))) {
        uint32_t processes = found_processes(target.panel);
        printf("%s: %s", target_text(&target), override_name(request.says));
        if (request.for_ns) {
            printf(" for %s", shown_duration(request.for_ns));
        }
        printf("; %" PRIu32 " process%s attached to panel %s\n", processes, processes == 1 ? "" : "es",
               shown(target.panel->name));
        if (request.says != OVERRIDE_NONE && request.says != OVERRIDE_OFF &&
            atomic64_load_relaxed(&target.attachment.panel->rules.withheld)) {
            printf("nothing is rejected all the same until the panel's rules file is put right\n");
        }
        status = tell_unreached(&target);
    }
    target_close(&target);
    return status;
}
