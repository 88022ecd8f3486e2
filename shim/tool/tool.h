/* What the subcommands of the command share: their one signature, exit statuses, messages, and the reading of
 * a command line. */
#ifndef CUTOUT_SHIM_TOOL_TOOL_H
#define CUTOUT_SHIM_TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of every command but `run`, which ends as env(1) does. */
enum {
    TOOL_YES = 0, /* yes, or done */
    TOOL_NO = 1,  /* no, or failed */
    TOOL_USAGE = 2
};
enum { RUN_FAILED = 125, RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

/* One subcommand. words[0] is its name, words[1..count-1] what follows it; returns the exit status. What it
 * leaves in stdout is flushed, and a failure to write reported, by main. */
int command_run(int count, char **words);
int command_status(int count, char **words);
int command_events(int count, char **words);
int command_rules(int count, char **words);
int command_doctor(int count, char **words);
int command_panels(int count, char **words);
int command_record(int count, char **words);
int command_replay(int count, char **words);
int command_set(int count, char **words);
int command_reset(int count, char **words);
int command_reload(int count, char **words);

/* "cutout: message" and a line feed on standard error. Text from outside goes through shown() (output.h). */
__attribute__((format(printf, 1, 2))) void tool_error(const char *format, ...);

/* The same, and where to find help: "cutout: message" / "Try 'cutout COMMAND --help'." command may be NULL.
 * Returns TOOL_USAGE. */
__attribute__((format(printf, 2, 3))) int tool_usage(const char *command, const char *format, ...);

/* True when name is near enough to a mistyped word to be meant by it, and nearer than the best seen so far,
 * which it then is. *best is SIZE_MAX at first. */
bool tool_is_nearer(const char *word, const char *name, size_t *best);

/* One option of a command: "-p" or "--json". id is what arguments_next returns for it, from 1 up. */
struct tool_option {
    const char *name;
    int id;
    bool takes_value;
};

/* A command line, read from left to right. Zero but for command, help, options, count and words (as handed to
 * the command), and set by arguments_next from then on. */
struct arguments {
    const char *command; /* for messages: "status", "rules check" */
    const char *help;    /* what --help prints */
    const struct tool_option *options;
    size_t option_count;
    int count;
    char **words;
    int next;            /* index of the next word; 0 at first, words[0] is passed over */
    const char *value;   /* of the option or word just returned */
    const char *cluster; /* rest of several one-letter options in one word */
    bool only_words;     /* "--" was read */
};

enum {
    ARGUMENT_END = 0,   /* nothing is left */
    ARGUMENT_WORD = -1, /* not an option: in value; words[next - 1] is it */
    ARGUMENT_HELP = -2, /* --help was asked for and has been printed: return TOOL_YES */
    ARGUMENT_WRONG = -3 /* an error has been reported: return TOOL_USAGE */
};

/* The id of the next option, or one of the above. Takes `-p NAME`, `-pNAME`, `--remove NAME` and
 * `--remove=NAME`; options may stand behind words until `--`. */
int arguments_next(struct arguments *arguments);

#endif
