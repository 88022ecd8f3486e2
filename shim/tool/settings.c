#include "shim/tool/settings.h"

#include "shim/load.h"
#include "shim/tool/facts.h"
#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool complain(struct settings *settings, const char *format,
                                                           ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(settings->why, sizeof settings->why, format, values);
    va_end(values);
    return false;
}

/* A group's name becomes its number; a number stays. */
static bool read_group(struct settings *settings) {
    const char *name = getenv("CUTOUT_GROUP");
    char number[16];
    if (!name || !*name) {
        return true;
    }
    uint32_t group;
    if (!found_group(name, &group)) {
        return complain(settings, "CUTOUT_GROUP is %s, and there is no such group", shown(name));
    }
    snprintf(number, sizeof number, "%" PRIu32, group);
    setenv("CUTOUT_GROUP", number, 1);
    return true;
}

static bool check_mode(struct settings *settings) {
    const char *mode = getenv("CUTOUT_MODE");
    if (!mode || !*mode || settings->environment.mode != 0) {
        return true;
    }
    return complain(settings, "CUTOUT_MODE is %s, expected enforce, observe or off", shown(mode));
}

static bool check_deepbind(struct settings *settings) {
    const char *word = getenv("CUTOUT_DEEPBIND");
    if (!word || !*word || settings->environment.keeps_deepbind) {
        return true;
    }
    return complain(settings, "CUTOUT_DEEPBIND is %s, expected keep", shown(word));
}

/* Reads what the shim would read; the kill switch hides the rest from it, but not from a person who asks. */
static void read_environment(struct settings *settings) {
    const char *disable = getenv("CUTOUT_DISABLE");
    char *kept = disable ? strdup(disable) : NULL;
    unsetenv("CUTOUT_DISABLE");
    environment_read(&settings->environment);
    if (kept) {
        setenv("CUTOUT_DISABLE", kept, 1);
    }
    settings->disabled = kept && strcmp(kept, "1") == 0;
    free(kept);
}

bool settings_read(struct settings *settings, const char *rules, const char *panel, bool observe) {
    memset(settings, 0, sizeof *settings);
    if (rules) {
        setenv("CUTOUT_RULES", rules, 1);
    }
    if (panel) {
        setenv("CUTOUT_PANEL", panel, 1);
    }
    if (observe) {
        setenv("CUTOUT_MODE", "observe", 1);
    }
    bool good = read_group(settings);
    read_environment(settings);
    const char *named = getenv("CUTOUT_RULES");
    if (named && *named) {
        if (settings->environment.rules[0] != '/') {
            return complain(settings, "%s: no absolute path can be made of it", shown(named));
        }
        setenv("CUTOUT_RULES", settings->environment.rules, 1);
    }
    return good && check_mode(settings) && check_deepbind(settings);
}

bool settings_find_library(struct settings *settings) {
    return libraries_find(&settings->libraries, settings->why, sizeof settings->why);
}

static void report_notes(const struct load *load, bool errors, bool warnings) {
    const struct rules_notes *notes = load->notes;
    for (size_t i = 0; i < notes->count; i++) {
        char text[PATH_MAX + 512];
        const struct rules_note *note = &notes->note[i];
        if (note->warning ? !warnings : !errors) {
            continue;
        }
        rules_note_format(&load->sources, note, text, sizeof text);
        tool_error("%s", text);
    }
    size_t all = notes->errors + notes->warnings;
    if (errors && all > notes->count) {
        tool_error("%zu more", all - notes->count);
    }
}

bool settings_check_rules(struct settings *settings, bool report, bool warnings) {
    struct load load;
    const char *file = settings->environment.rules;
    if (!settings->environment.rules_named) {
        return true;
    }
    bool read = load_open(&load, file) == 0, good = read && load_compile(&load);
    if (read && load.notes && (report || warnings)) {
        load_warn(&load);
        report_notes(&load, report && !good, warnings);
    }
    if (!read && report) {
        tool_error("%s", shown(load.error));
    }
    if (!good) {
        complain(settings, "%s", shown(load.error));
    }
    load_close(&load);
    return good;
}

bool settings_check_panel(struct settings *settings, const struct found_panel *panel) {
    if (panel_would_crowd()) {
        return complain(
            settings,
            "the address space is limited (ulimit -v) to less than eight times the %zu MB of a panel",
            sizeof(struct panel) / 1000000);
    }
    if (!panel || !settings->environment.rules_named) {
        return true;
    }
    struct rules_facts rules = facts_of_rules(panel->attachment.panel);
    /* A panel without a file takes that of the first process that names one. */
    if (!rules.file[0] || strcmp(rules.file, settings->environment.rules) == 0) {
        return true;
    }
    return complain(settings, "panel %s runs under the rules of %s, not of %s: name another panel with -p",
                    shown(panel->name), shown(rules.file), shown(settings->environment.rules));
}

const char *settings_rules_text(const struct settings *settings) {
    return settings->environment.rules_named ? shown(settings->environment.rules) : "built-in defaults";
}
