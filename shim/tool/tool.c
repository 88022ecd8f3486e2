#include "shim/tool/tool.h"

#include "shim/tool/output.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 32 /* longer words are no misspelt name of ours */

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list values) {
    fputs("cutout: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
}

void tool_error(const char *format, ...) {
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
}

int tool_usage(const char *command, const char *format, ...) {
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
    if (command) {
        fprintf(stderr, "Try 'cutout %s --help'.\n", command);
    } else {
        fputs("Try 'cutout --help'.\n", stderr);
    }
    return TOOL_USAGE;
}

/* How many bytes must be inserted, removed or changed to make one word the other. */
static size_t word_distance(const char *a, const char *b) {
    size_t row[WORD_MAX + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[width];
}

bool tool_is_nearer(const char *word, const char *name, size_t *best) {
    if (strlen(word) > WORD_MAX || strlen(name) > WORD_MAX) {
        return false;
    }
    size_t distance = word_distance(word, name);
    if (distance > 2 || distance * 2 > strlen(name) || distance >= *best) {
        return false;
    }
    *best = distance;
    return true;
}
