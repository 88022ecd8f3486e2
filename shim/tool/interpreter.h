/* The "#!" line of a script. */
#ifndef CUTOUT_SHIM_TOOL_INTERPRETER_H
#define CUTOUT_SHIM_TOOL_INTERPRETER_H

#include <limits.h>
#include <stdbool.h>

#define INTERPRETER_LINE 256 /* as much of the file as the kernel looks at */

struct interpreter {
    char path[INTERPRETER_LINE];
    char argument[INTERPRETER_LINE]; /* all that follows it, as one word; "" = none */
};

/* False when the file has no "#!" line. */
bool interpreter_read(struct interpreter *interpreter, const char *path);

/* True for /usr/bin/env, wherever it is. */
bool interpreter_is_env(const struct interpreter *interpreter);

enum env_target {
    ENV_TARGET,  /* it starts the program in target */
    ENV_CLEARS,  /* it empties the environment first */
    ENV_NOTHING, /* it starts nothing, or what it starts cannot be told */
};
/* What env(1) is told to start. */
enum env_target interpreter_env_target(const struct interpreter *interpreter, char target[PATH_MAX]);

#endif
