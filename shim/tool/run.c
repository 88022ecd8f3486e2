/* cutout run: becomes the program, with the shim preloaded. */
#include "shim/tool/output.h"
#include "shim/tool/parent.h"
#include "shim/tool/program.h"
#include "shim/tool/recorder.h"
#include "shim/tool/settings.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: cutout run [-r FILE] [-p PANEL] [--observe] [--record FILE] [--if-possible] [-v]\n"
    "                  [--] PROGRAM [ARG...]\n"
    "\n"
    "Runs PROGRAM with every TCP destination it calls behind a circuit breaker. cutout replaces itself\n"
    "by the program: its PID, signals and exit status are the program's.\n"
    "\n"
    "  -r FILE         rules file (else CUTOUT_RULES, /etc/cutout/cutout.rules, the built-in defaults)\n"
    "  -p PANEL        name of the panel, which programs share that belong together\n"
    "  --observe       judge, but reject nothing\n"
    "  --record FILE   write the calls to FILE as a trace; cutout then stays as the parent, passes\n"
    "                  signals on and ends as the program ends\n"
    "  --if-possible   run PROGRAM even where it cannot be protected, and say so in one line\n"
    "  -v              say what is done\n"
    "\n"
    "Exit status: the program's; 125 it cannot be protected or the rules are bad, 126 it is not\n"
    "executable, 127 it is not found, 2 usage.\n";

struct request {
    const char *rules;
    const char *panel;
    const char *record;
    bool observe, if_possible, verbose;
    char **program; /* its name and arguments */
};

enum { OPTION_RULES = 1, OPTION_PANEL, OPTION_OBSERVE, OPTION_RECORD, OPTION_IF_POSSIBLE, OPTION_VERBOSE };

/* ARGUMENT_END when the command line is whole, ARGUMENT_HELP or ARGUMENT_WRONG. */
static int read_request(int count, char **words, struct request *request) {
    static const struct tool_option options[] = {{"-r", OPTION_RULES, true},
                                                 {"-p", OPTION_PANEL, true},
                                                 {"--observe", OPTION_OBSERVE, false},
                                                 {"--record", OPTION_RECORD, true},
                                                 {"--if-possible", OPTION_IF_POSSIBLE, false},
                                                 {"-v", OPTION_VERBOSE, false}};
    struct arguments arguments = {.command = "run",
                                  .help = help,
                                  .options = options,
                                  .option_count = sizeof options / sizeof *options,
                                  .count = count,
                                  .words = words};
    for (;;) {
        int id = arguments_next(&arguments);
        switch (id) {
        case OPTION_RULES:
            request->rules = arguments.value;
            break;
        case OPTION_PANEL:
            request->panel = arguments.value;
            break;
        case OPTION_OBSERVE:
            request->observe = true;
            break;
        case OPTION_RECORD:
            request->record = arguments.value;
            break;
        case OPTION_IF_POSSIBLE:
            request->if_possible = true;
            break;
        case OPTION_VERBOSE:
            request->verbose = true;
            break;
        case ARGUMENT_WORD: /* the program: what follows is its own */
            request->program = words + arguments.next - 1;
            return ARGUMENT_END;
        case ARGUMENT_END:
            tool_usage("run", "run: which PROGRAM?");
            return ARGUMENT_WRONG;
        default:
            return id;
        }
    }
}

/* What stands in the way, and with which status to end for it; 0: nothing. */
struct obstacle {
    int status;
    bool reported; /* on standard error already */
    bool preload;  /* the shim can come along all the same, and decides for itself */
    const char *why;
};

static struct obstacle obstacle_of_program(const struct program *program) {
    switch (program->verdict) {
    case PROGRAM_FITS:
    case PROGRAM_NOT_READABLE:
        return (struct obstacle){0};
    case PROGRAM_NOT_FOUND:
        return (struct obstacle){.status = RUN_NOT_FOUND, .why = program->why};
    case PROGRAM_NOT_EXECUTABLE:
        return (struct obstacle){.status = RUN_NOT_EXECUTABLE, .why = program->why};
    default:
        return (struct obstacle){.status = RUN_FAILED, .why = program->why};
    }
}

/* The rules file and the panel. */
static struct obstacle obstacle_of_rules(struct settings *settings, const struct request *request) {
    struct obstacle obstacle = {.status = RUN_FAILED, .preload = true, .why = settings->why};
    if (!settings_check_rules(settings, !request->if_possible, request->verbose)) {
        obstacle.reported = !request->if_possible;
        return obstacle;
    }
    struct found found;
    if (!found_open(&found, NULL)) {
        return (struct obstacle){0}; /* reported; a panel that cannot be seen is none to quarrel with */
    }
    const struct found_panel *panel = found_joined(&found, &settings->environment);
    settings->joins = panel != NULL;
    bool fits = settings_check_panel(settings, panel);
    found_close(&found);
    return fits ? (struct obstacle){0} : obstacle;
}

static struct obstacle find_obstacle(const struct request *request, struct settings *settings,
                                     struct program *program) {
    bool well = settings_read(settings, request->rules, request->panel, request->observe);
    struct obstacle wrong = {.status = RUN_FAILED, .why = settings->why};
    if (!settings_find_library(settings)) {
        return wrong;
    }
    program_examine(program, request->program[0], &settings->libraries);
    struct obstacle obstacle = obstacle_of_program(program);
    if (obstacle.status != 0) {
        return obstacle;
    }
    wrong.preload = true;
    return well ? obstacle_of_rules(settings, request) : wrong;
}

static void say_what_is_done(const struct settings *settings, const struct program *program) {
    static const char *const modes[] = {"as the rules say", "enforce", "observe", "off"};
    for (size_t i = 0; i < program->files; i++) {
        tool_error("%s %s", i == 0 ? "program" : "run by", shown(program->file[i]));
    }
    const struct library *library = libraries_for(&settings->libraries, &program->elf);
    tool_error("library %s", shown(library ? library->path : settings->libraries.own.path));
    tool_error("panel %s, %s", shown(settings->environment.panel),
               settings->joins ? "which exists already" : "which is new");
    tool_error("rules %s", settings_rules_text(settings));
    tool_error("mode %s", modes[settings->environment.mode & 3]);
    if (program->verdict == PROGRAM_NOT_READABLE) {
        tool_error("%s", program->why);
    }
    if (program->elf.go) {
        tool_error("a Go program makes its calls by itself: most of them go unseen");
    }
    if (settings->disabled) {
        tool_error("CUTOUT_DISABLE=1: the library will do nothing");
    }
}

/* As execvp(): what the kernel does not know is a shell script. */
static int become(const char *path, char **words) {
    execv(path, words);
    int error = errno;
    if (error == ENOEXEC) {
        size_t count = 0;
        while (words[count]) {
            count++;
        }
        char **shell = calloc(count + 2, sizeof *shell);
        if (shell) {
            static char name[] = "/bin/sh";
            shell[0] = name;
            shell[1] = (char *)(uintptr_t)path;
            memcpy(shell + 2, words + 1, count * sizeof *shell);
            execv(name, shell);
            error = errno;
            free(shell);
        }
    }
    tool_error("%s: %s", shown(path), strerror(error));
    return error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/* --- recording --- */

struct start {
    const char *path;
    char **words;
};

static int start(void *argument) {
    const struct start *start = argument;
    return become(start->path, start->words);
}

static void step(void *context) {
    struct recorder *recorder = context;
    /* A recording that has failed, and said so, does not end the program. */
    if (recorder->file >= 0 && !recorder_step(recorder)) {
        recorder->file = -1;
    }
}

/* Runs the program as a child and writes its calls down. The panel is there before the program is, so none is missed. */
static int run_recorded(const struct settings *settings, const struct start *program, const char *path) {
    static struct recorder recorder;
    struct attachment attachment;
    if (panel_attach(&attachment, &settings->environment) < 0 || attachment.place != PANEL_SHARED) {
        tool_error("cannot record: the panel cannot be shared: %s", strerror(attachment.error));
        return RUN_FAILED;
    }
    if (!recorder_begin(&recorder, attachment.panel, path)) {
        return RUN_FAILED;
    }
    struct start copy = *program;
    int status = parent_run(start, &copy, step, &recorder);
    if (status == -1) {
        return RUN_FAILED;
    }
    if (recorder.file >= 0) {
        recorder_end(&recorder);
    }
    return parent_end(status);
}

int command_run(int count, char **words) {
    static struct settings settings;
    static struct program program;
    struct request request = {0};
    int id = read_request(count, words, &request);
    if (id != ARGUMENT_END) {
        return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
    }
    struct obstacle obstacle = find_obstacle(&request, &settings, &program);
    bool runs = request.if_possible && obstacle.status == RUN_FAILED;
    if (obstacle.status != 0 && !runs) {
        if (!obstacle.reported) {
            tool_error("%s", obstacle.why);
        }
        return obstacle.status;
    }
    if (runs) {
        tool_error("%s: %s", obstacle.preload ? "running it all the same" : "running it unprotected",
                   obstacle.why);
    }
    if (!program.files) { /* without a library to hold it against, it has not been looked for yet */
        program_examine(&program, request.program[0], &settings.libraries);
    }
    if (!program.files) {
        tool_error("%s", program.why);
        return program.verdict == PROGRAM_NOT_FOUND ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
    }
    if (obstacle.status == 0 || obstacle.preload) {
        libraries_preload(&settings.libraries, &program.elf);
    }
    if (request.verbose) {
        say_what_is_done(&settings, &program);
    }
    if (request.record) {
        struct start recorded = {program.file[0], request.program};
        return run_recorded(&settings, &recorded, request.record);
    }
    return become(program.file[0], request.program);
}
