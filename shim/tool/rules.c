/* cutout rules: checks a rules file, and shows what is in force. */
#include "rules/parse.h"
#include "rules/print.h"
#include "shim/environment.h"
#include "shim/load.h"
#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE_ROOM 8192 /* a path with every byte escaped may be cut, a message never is */

static const char help[] =
    "Usage: cutout rules check FILE\n"
    "       cutout rules show [-r FILE]\n"
    "\n"
    "  check FILE      every error and warning of a rules file, as FILE:LINE:COLUMN: what was found,\n"
    "                  what was expected\n"
    "  show [-r FILE]  the effective rules as a rules file, each value with where it comes from; without\n"
    "                  -r those of CUTOUT_RULES, else of " ENVIRONMENT_RULES_FILE "\n"
    "                  if it exists, else the built-in defaults\n"
    "\n"
    "The language is described in cutout.rules(5).\n"
    "\n"
    "Exit status: 0 fine, 1 bad or not readable, 2 usage.\n";

/* Prints the messages: of `check` they are what was asked for, elsewhere only errors are. */
static void print_notes(const struct rules_sources *sources, const struct rules_notes *notes, bool checking) {
    static char line[NOTE_ROOM];
    size_t shown_errors = 0;
    for (size_t i = 0; i < notes->count; i++) {
        const struct rules_note *note = &notes->note[i];
        rules_note_format(sources, note, line, sizeof line);
        shown_errors += !note->warning;
        if (checking) {
            puts(line);
        } else if (!note->warning) {
            tool_error("%s", line);
        }
    }
    size_t more = checking ? notes->errors + notes->warnings - notes->count : notes->errors - shown_errors;
    if (more > 0 && checking) {
        printf("and %zu more\n", more);
    } else if (more > 0) {
        tool_error("and %zu more", more);
    }
}

static const char *plural(size_t number) {
    return number == 1 ? "" : "s";
}

static void print_verdict(const char *path, const struct load *load) {
    const struct rules_notes *notes = load->notes;
    printf("%s: ", shown(path));
    if (notes->errors > 0) {
        printf("bad, %zu error%s", notes->errors, plural(notes->errors));
    } else {
        uint32_t rules = load->ruleset->rules - 1;
        printf("fine, %" PRIu32 " rule%s", rules, plural(rules));
    }
    if (notes->warnings > 0) {
        printf(", %zu warning%s", notes->warnings, plural(notes->warnings));
    }
    putchar('\n');
}

/* Where in the source the file at `path` is included; false where it is not. */
static bool find_include(const struct rules_source *source, const char *path, size_t *line, size_t *column) {
    static char result[PANEL_PATH_MAX];
    size_t offset = 0, size;
    const char *written;
    while (source->bytes && rules_next_include(source, &offset, &written, &size)) {
        if (!rules_include_path(source->path, written, size, result, sizeof result) ||
            strcmp(result, path) != 0) {
            continue;
        }
        const char *start = source->bytes;
        *line = 1;
        for (const char *at = source->bytes; at < written; at++) {
            if (*at == '\n') {
                start = at + 1;
                *line += 1;
            }
        }
        *column = (size_t)(written - start) + 1;
        return true;
    }
    return false;
}

/* Says why the files could not be read, with the place of the include where it is an included one. */
static void report_unreadable(const struct load *load) {
    const struct rules_sources *sources = &load->sources;
    size_t failed = 0, line, column;
    while (failed < sources->count && sources->source[failed].bytes) {
        failed++;
    }
    for (size_t i = 0; failed > 0 && failed < sources->count && i < failed; i++) {
        if (find_include(&sources->source[i], sources->source[failed].path, &line, &column)) {
            tool_error("%s:%zu:%zu: cannot include %s", shown(sources->source[i].path), line, column,
                       shown(load->error));
            return;
        }
    }
    tool_error("%s", shown(load->error));
}

static int check(const char *path) {
    struct load load;
    int status = TOOL_NO;
    if (load_open(&load, path) < 0) {
        report_unreadable(&load);
    } else {
        status = load_compile(&load) ? TOOL_YES : TOOL_NO;
        print_notes(&load.sources, load.notes, true);
        print_verdict(path, &load);
    }
    load_close(&load);
    return status;
}

/* What rules_parse works in, kept for rules_print_next to look at. */
struct parsed {
    struct ruleset ruleset;
    struct rules_notes notes;
    _Alignas(64) unsigned char scratch[RULES_SCRATCH];
};

static int show_sources(const struct rules_sources *sources) {
    struct parsed *parsed = aligned_alloc(64, sizeof *parsed);
    if (!parsed) {
        tool_error("out of memory");
        return TOOL_NO;
    }
    bool good = rules_parse(sources, &parsed->ruleset, &parsed->notes, parsed->scratch);
    if (good) {
        char bytes[RULES_PRINT_ROOM];
        struct text piece = text_in(bytes, sizeof bytes);
        struct rules_print print = {.ruleset = &parsed->ruleset, .scratch = parsed->scratch};
        while (rules_print_next(&print, &piece)) {
            fwrite(piece.bytes, 1, piece.length, stdout);
        }
    } else {
        print_notes(sources, &parsed->notes, false);
    }
    free(parsed);
    return good ? TOOL_YES : TOOL_NO;
}

/* path is NULL where no file is named and none exists. */
static int show(const char *path) {
    if (!path) {
        puts("# the built-in defaults: no rules file is named, and there is no " ENVIRONMENT_RULES_FILE);
        return show_sources(&(struct rules_sources){.count = 0});
    }
    struct load load;
    int status = TOOL_NO;
    if (load_open(&load, path) < 0) {
        report_unreadable(&load);
    } else {
        status = show_sources(&load.sources);
    }
    load_close(&load);
    return status;
}

/* The rules file of a program started here and now. */
static const char *file_in_force(void) {
    const char *named = getenv("CUTOUT_RULES");
    if (named && named[0]) {
        return named;
    }
    return access(ENVIRONMENT_RULES_FILE, F_OK) == 0 ? ENVIRONMENT_RULES_FILE : NULL;
}

static int command_check(int count, char **words) {
    struct arguments arguments = {.command = "rules check", .help = help, .count = count, .words = words};
    const char *path = NULL;
    int argument;
    while ((argument = arguments_next(&arguments)) != ARGUMENT_END) {
        if (argument != ARGUMENT_WORD) {
            return argument == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
        if (path) {
            return tool_usage("rules check", "rules check: one FILE at a time");
        }
        path = arguments.value;
    }
    return path ? check(path) : tool_usage("rules check", "rules check: which FILE?");
}

static int command_show(int count, char **words) {
    enum { OPTION_RULES = 1 };
    static const struct tool_option options[] = {{"-r", OPTION_RULES, true}};
    struct arguments arguments = {.command = "rules show",
                                  .help = help,
                                  .options = options,
                                  .option_count = 1,
                                  .count = count,
                                  .words = words};
    const char *path = NULL;
    int argument;
    while ((argument = arguments_next(&arguments)) != ARGUMENT_END) {
        if (argument == OPTION_RULES) {
            path = arguments.value;
        } else if (argument == ARGUMENT_WORD) {
            return tool_usage("rules show", "rules show: '%s' is one word too many", shown(arguments.value));
        } else {
            return argument == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
    }
    return show(path ? path : file_in_force());
}

int command_rules(int count, char **words) {
    const char *action = count > 1 ? words[1] : "";
    if (strcmp(action, "check") == 0) {
        return command_check(count - 1, words + 1);
    }
    if (strcmp(action, "show") == 0) {
        return command_show(count - 1, words + 1);
    }
    if (strcmp(action, "--help") == 0) {
        fputs(help, stdout);
        return TOOL_YES;
    }
    if (!action[0]) {
        return tool_usage("rules", "rules: check or show?");
    }
    return tool_usage("rules", "rules: '%s' is neither check nor show", shown(action));
}
