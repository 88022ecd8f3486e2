/* cutout: the command. One subcommand a file; this is their table. */
#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    int (*function)(int count, char **words);
    const char *what;
} commands[] = {
    {"run", command_run, "run a program behind circuit breakers"},
    {"status", command_status, "breakers, their states and windows"},
    {"events", command_events, "what has happened, with the causes"},
    {"set", command_set, "reject everything, or nothing, until told otherwise"},
    {"reset", command_reset, "close breakers and empty their windows"},
    {"reload", command_reload, "put a changed rules file into force at once"},
    {"rules", command_rules, "check, show and explain rules files"},
    {"doctor", command_doctor, "can a program be protected, why not"},
    {"panels", command_panels, "list and remove panels"},
    {"record", command_record, "write calls down as a trace"},
    {"replay", command_replay, "put a trace's calls to the breakers"},
};
#define COMMANDS (sizeof commands / sizeof *commands)

static void print_help(FILE *to) {
    fputs("Usage: cutout COMMAND [OPTION...]\n"
          "\n"
          "A circuit breaker around what unmodified programs call.\n"
          "\n",
          to);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].what);
    }
    fputs("\n"
          "  cutout COMMAND --help tells more of one, cutout(1) all. --version prints the version.\n",
          to);
}

static int unknown_word(const char *word) {
    static const char *const options[] = {"--help", "--version"};
    const char *meant = NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < 2; i++) {
        if (tool_is_nearer(word, options[i], &best)) {
            meant = options[i];
        }
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (tool_is_nearer(word, commands[i].name, &best)) {
            meant = commands[i].name;
        }
    }
    const char *what = word[0] == '-' ? "option" : "command";
    if (meant) {
        return tool_usage(NULL, "unknown %s %s; did you mean %s?", what, shown(word), meant);
    }
    return tool_usage(NULL, "unknown %s %s", what, shown(word));
}

static int dispatch(int count, char **words) {
    if (count < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(words[1], "--help") == 0) {
        print_help(stdout);
        return TOOL_YES;
    }
    if (strcmp(words[1], "--version") == 0) {
        puts("cutout " CUTOUT_VERSION);
        return TOOL_YES;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(words[1], commands[i].name) == 0) {
            return commands[i].function(count - 1, words + 1);
        }
    }
    return unknown_word(words[1]);
}

int main(int count, char **words) {
    int status = dispatch(count, words);
    /* Half an answer must not look like a whole one. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        tool_error("cannot write the output: %s", strerror(errno));
        return TOOL_NO;
    }
    return status;
}
