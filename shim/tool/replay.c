/* cutout replay: what the rules would have made of the calls of a trace. */
#include "lib/replay.h"
#include "shim/environment.h"
#include "shim/load.h"
#include "shim/tool/output.h"
#include "shim/tool/replay_print.h"
#include "shim/tool/replay_source.h"
#include "shim/tool/replay_table.h"
#include "shim/tool/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM 1024u

static const char help[] =
    "Usage: cutout replay [-r FILE] [--observe] [--seed N] [--json] [-v] TRACE\n"
    "\n"
    "Puts the calls of a trace to the breakers of a rules file, in the trace's time, and prints every "
    "change\n"
    "of state and how many calls each breaker admitted and rejected. TRACE may be -, standard input.\n"
    "\n"
    "  -r FILE    the rules; without -r those of CUTOUT_RULES, else of " ENVIRONMENT_RULES_FILE "\n"
    "             if it exists, else the built-in defaults\n"
    "  --observe  judge, but reject nothing\n"
    "  --seed N   draw open_jitter from this number; 0, the default, means no jitter\n"
    "  --json     one JSON object a line, the last one the summary\n"
    "  -v         say on standard error what is done\n"
    "\n"
    "A trace is text, one call a line:\n"
    "\n"
    "  # start_s  destination         outcome          response_time\n"
    "  0.150      tcp://10.0.0.5:443  failure:timeout  1s\n"
    "  0.200      tcp://10.0.0.5:443  success          12ms\n"
    "\n"
    "cutout(1) has the whole of it.\n"
    "\n"
    "Exit status: 0 replayed, 1 the rules or the trace are bad or cannot be read, 2 usage.\n";

struct options {
    const char *rules; /* NULL: those in force here */
    const char *trace;
    bool observe;
    bool json;
    bool verbose;
    uint64_t seed;
};

/* --- rules --- */

/* Reports errors or warnings; returns how many. */
static size_t report_notes(const struct load *load, bool warnings) {
    static char text[PANEL_PATH_MAX + PANEL_ERROR_MAX];
    const struct rules_notes *notes = load->notes;
    size_t reported = 0;
    for (size_t i = 0; notes && i < notes->count; i++) {
        if (notes->note[i].warning == warnings) {
            rules_note_format(&load->sources, &notes->note[i], text, sizeof text);
            tool_error("%s", text);
            reported++;
        }
    }
    return reported;
}

static void report_bad_rules(const struct load *load) {
    size_t reported = report_notes(load, false);
    if (reported == 0) {
        tool_error("%s", shown(load->error));
    } else if (load->notes->errors > reported) {
        tool_error("and %zu more", load->notes->errors - reported);
    }
}

/* The rules of the file that was named, or that a program started here would get; NULL with the error reported. *load must
 * be closed either way. */
static struct ruleset *read_rules(const struct options *options, struct load *load,
                                  struct ruleset *built_in) {
    static struct environment environment;
    const char *path = options->rules;
    *load = (struct load){0};
    if (!path) {
        environment_read(&environment);
        path = environment.rules_named ? environment.rules : NULL;
    }
    if (options->verbose) {
        fprintf(stderr, "rules: %s\n", path ? shown(path) : "the built-in defaults");
    }
    if (!path) {
        ruleset_defaults(built_in);
        return built_in;
    }
    if (load_open(load, path) < 0 || !load_compile(load)) {
        report_bad_rules(load);
        return NULL;
    }
    if (options->verbose) {
        load_warn(load);
        report_notes(load, true);
    }
    return load->ruleset;
}

/* Jitter comes from the seed alone. */
static void settle_chance(struct ruleset *rules, uint64_t seed) {
    for (uint32_t i = 0; i < rules->rules; i++) {
        rules->rule[i].thresholds.seed = seed;
        if (seed == 0) {
            rules->rule[i].thresholds.open_jitter = 0;
        }
    }
}

/* --- the run --- */

struct run {
    const struct options *options;
    struct source source;
    struct table table;
    struct replay replay;
    struct replay_end end;
    bool out_of_memory;
};

static bool target_is_good(void *context, const struct trace_record *record, struct trace_error *error) {
    struct run *run = context;
    uint32_t lane = table_find(&run->table, record, error);
    run->out_of_memory = run->out_of_memory || lane == TABLE_NO_MEMORY;
    return lane != TABLE_BAD;
}

static bool give_room(struct replay *replay) {
    uint32_t room = replay->room ? replay->room * 2 : FIRST_ROOM;
    struct replay_call *calls = room <= REPLAY_ROOM_MAX ? realloc(replay->calls, room * sizeof *calls) : NULL;
    replay->calls = calls ? calls : replay->calls;
    struct replay_due *due = calls ? realloc(replay->due, room * sizeof *due) : NULL;
    if (!due) {
        return false;
    }
    replay_give_room(replay, calls, due, room);
    return true;
}

static void print_changes(struct run *run, const struct replay_change *changes, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        replay_print_change(&run->table, &changes[i], run->options->json);
    }
}

static void end_calls(struct run *run, uint64_t until_ns) {
    struct replay_change change;
    while (replay_end_due(&run->replay, until_ns, &change)) {
        print_changes(run, &change, change.transition.happened);
        run->end.end_ns = change.now_ns;
    }
}

static bool start_call(struct run *run, const struct trace_record *record) {
    struct trace_error error;
    struct replay_change changes[2];
    uint32_t lane = table_find(&run->table, record, &error);
    if (lane == TABLE_NOT_JUDGED) {
        run->end.not_judged++;
        return true;
    }
    if (lane == TABLE_BAD || lane == TABLE_NO_MEMORY ||
        (replay_is_full(&run->replay) && !give_room(&run->replay))) {
        run->out_of_memory = lane != TABLE_BAD;
        return false;
    }
    print_changes(run, changes, replay_start(&run->replay, lane, record, changes));
    return true;
}

static int run_calls(struct run *run) {
    struct trace_record record;
    enum source_got got;
    run->replay.lanes = run->table.lanes;
    while ((got = source_next(&run->source, &record)) == SOURCE_CALL) {
        end_calls(run, record.start_ns);
        run->end.end_ns = record.start_ns;
        if (!start_call(run, &record)) {
            break;
        }
    }
    if (got != SOURCE_END) {
        return TOOL_NO;
    }
    end_calls(run, UINT64_MAX);
    run->end.lost = run->source.lost;
    replay_print_summary(&run->table, &run->end, run->options->json);
    return TOOL_YES;
}

static int replay_trace(struct run *run) {
    const struct source *source = &run->source;
    if (!source_open(&run->source, run->options->trace) || !source_check(&run->source, target_is_good, run) ||
        run->out_of_memory) {
        return TOOL_NO;
    }
    if (run->options->verbose) {
        fprintf(stderr, "trace: %s, %" PRIu64 " calls to %" PRIu32 " breakers\n", shown(source->path),
                source->calls, run->table.count);
        if (source->unsorted) {
            fprintf(stderr,
                    "trace: line %" PRIu64 " starts before an earlier one: sorted by start, in memory\n",
                    source->unsorted);
        }
    }
    return run_calls(run);
}

static int replay_under(const struct options *options, const struct ruleset *rules) {
    struct run run = {.options = options, .source.descriptor = -1};
    int status = TOOL_NO;
    if (table_open(&run.table, rules, options->observe)) {
        status = replay_trace(&run);
    } else {
        run.out_of_memory = true;
    }
    if (run.out_of_memory) {
        tool_error("out of memory");
    }
    source_close(&run.source);
    table_close(&run.table);
    free(run.replay.calls);
    free(run.replay.due);
    return status;
}

/* --- the command --- */

static bool read_seed(const char *text, uint64_t *seed) {
    *seed = 0;
    for (const char *at = text; *at; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (*at < '0' || *at > '9' || *seed > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *seed = *seed * 10 + digit;
    }
    return true;
}

enum { OPTION_RULES = 1, OPTION_OBSERVE, OPTION_SEED, OPTION_JSON, OPTION_VERBOSE };

/* Reads the command line. True when it is to be replayed; else *status is how the command ends. */
static bool read_options(int count, char **words, struct options *options, int *status) {
    static const struct tool_option known[] = {{"-r", OPTION_RULES, true},
                                               {"--observe", OPTION_OBSERVE, false},
                                               {"--seed", OPTION_SEED, true},
                                               {"--json", OPTION_JSON, false},
                                               {"-v", OPTION_VERBOSE, false}};
    struct arguments arguments = {.command = "replay",
                                  .help = help,
                                  .options = known,
                                  .option_count = sizeof known / sizeof *known,
                                  .count = count,
                                  .words = words};
    *status = TOOL_USAGE;
    for (int id = arguments_next(&arguments); id != ARGUMENT_END; id = arguments_next(&arguments)) {
        if (id == OPTION_RULES) {
            options->rules = arguments.value;
        } else if (id == OPTION_OBSERVE) {
            options->observe = true;
        } else if (id == OPTION_JSON) {
            options->json = true;
        } else if (id == OPTION_VERBOSE) {
            options->verbose = true;
        } else if (id == OPTION_SEED && !read_seed(arguments.value, &options->seed)) {
            tool_usage("replay", "replay: --seed %s is no whole number", shown(arguments.value));
            return false;
        } else if (id == ARGUMENT_WORD && options->trace) {
            tool_usage("replay", "replay: one TRACE at a time");
            return false;
        } else if (id == ARGUMENT_WORD) {
            options->trace = arguments.value;
        } else if (id == ARGUMENT_HELP || id == ARGUMENT_WRONG) {
            *status = id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
            return false;
        }
    }
    if (!options->trace) {
        tool_usage("replay", "replay: which TRACE?");
    }
    return options->trace != NULL;
}

int command_replay(int count, char **words) {
    struct options options = {0};
    struct load load;
    int status;
    if (!read_options(count, words, &options, &status)) {
        return status;
    }
    struct ruleset *built_in = malloc(sizeof *built_in);
    if (!built_in) {
        tool_error("out of memory");
        return TOOL_NO;
    }
    struct ruleset *rules = read_rules(&options, &load, built_in);
    status = TOOL_NO;
    if (rules) {
        settle_chance(rules, options.seed);
        status = replay_under(&options, rules);
    }
    load_close(&load);
    free(built_in);
    return status;
}
