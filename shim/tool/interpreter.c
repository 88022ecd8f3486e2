#include "shim/tool/interpreter.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool interpreter_read(struct interpreter *interpreter, const char *path) {
    char line[INTERPRETER_LINE];
    memset(interpreter, 0, sizeof *interpreter);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return false;
    }
    ssize_t size = read(fd, line, sizeof line - 1);
    close(fd);
    if (size < 2 || line[0] != '#' || line[1] != '!') {
        return false;
    }
    line[size] = 0;
    line[strcspn(line, "\n")] = 0;
    for (size_t end = strlen(line); end > 2 && (line[end - 1] == ' ' || line[end - 1] == '\t'); end--) {
        line[end - 1] = 0;
    }
    const char *begin = line + 2 + strspn(line + 2, " \t");
    size_t length = strcspn(begin, " \t");
    memcpy(interpreter->path, begin, length);
    const char *argument = begin + length + strspn(begin + length, " \t");
    memcpy(interpreter->argument, argument, strlen(argument) + 1);
    return length > 0;
}

bool interpreter_is_env(const struct interpreter *interpreter) {
    const char *slash = strrchr(interpreter->path, '/');
    return strcmp(slash ? slash + 1 : interpreter->path, "env") == 0;
}

/* The text behind "-S" (alone, behind other letters, or spelt out), which env splits at blanks; NULL when it
 * is not asked to. */
static const char *split_string(const char *argument) {
    if (strncmp(argument, "--split-string=", 15) == 0) {
        return argument + 15;
    }
    if (argument[0] != '-' || argument[1] == '-') {
        return NULL;
    }
    const char *letter = strchr(argument, 'S');
    return letter && letter < argument + strcspn(argument, " \t") ? letter + 1 : NULL;
}

/* The next word of *rest, its length in *length; NULL at the end. */
static const char *next_word(const char **rest, size_t *length) {
    const char *word = *rest + strspn(*rest, " \t");
    *length = strcspn(word, " \t");
    *rest = word + *length;
    return *length ? word : NULL;
}

enum env_target interpreter_env_target(const struct interpreter *interpreter, char target[PATH_MAX]) {
    const char *rest = split_string(interpreter->argument);
    size_t length;
    if (!rest) { /* one word, blanks and all */
        strcpy(target, interpreter->argument);
        return target[0] && target[0] != '-' && !strchr(target, '=') ? ENV_TARGET : ENV_NOTHING;
    }
    if (memchr(interpreter->argument, 'i', (size_t)(rest - interpreter->argument)) &&
        interpreter->argument[1] != '-') {
        return ENV_CLEARS; /* "-iS" */
    }
    for (const char *word = next_word(&rest, &length); word; word = next_word(&rest, &length)) {
        if (memchr(word, '=', length)) {
            continue; /* a variable, or a long option with its value */
        }
        if (word[0] != '-') {
            memcpy(target, word, length);
            target[length] = 0;
            return strpbrk(target, "\"'\\$") ? ENV_NOTHING : ENV_TARGET;
        }
        if ((length == 1 || memchr(word, 'i', length)) && word[1] != '-') {
            return ENV_CLEARS;
        }
        if (length == 2 && (word[1] == 'u' || word[1] == 'C')) {
            next_word(&rest, &length); /* its value */
        }
    }
    return ENV_NOTHING;
}
