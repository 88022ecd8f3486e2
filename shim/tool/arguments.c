#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int unknown_option(const struct arguments *arguments, const char *word) {
    static const char asked[] = "--help";
    size_t best = SIZE_MAX;
    const char *meant = tool_is_nearer(word, asked, &best) ? asked : NULL;
    for (size_t i = 0; i < arguments->option_count; i++) {
        if (tool_is_nearer(word, arguments->options[i].name, &best)) {
            meant = arguments->options[i].name;
        }
    }
    /* Of two letters one changed is half the word: only long options are worth a guess. */
    if (meant && meant[1] == '-') {
        tool_usage(arguments->command, "%s: unknown option %s; did you mean %s?", arguments->command,
                   shown(word), meant);
    } else {
        tool_usage(arguments->command, "%s: unknown option %s", arguments->command, shown(word));
    }
    return ARGUMENT_WRONG;
}

static const struct tool_option *find_option(const struct arguments *arguments, const char *name,
                                             size_t size) {
    for (size_t i = 0; i < arguments->option_count; i++) {
        const struct tool_option *option = &arguments->options[i];
        if (strlen(option->name) == size && memcmp(option->name, name, size) == 0) {
            return option;
        }
    }
    return NULL;
}

/* The value of an option that needs one: `attached` if it stands in the same word, else the next word. */
static int with_value(struct arguments *arguments, const struct tool_option *option, const char *attached) {
    if (!attached && arguments->next < arguments->count) {
        attached = arguments->words[arguments->next++];
    }
    if (!attached || !*attached) {
        tool_usage(arguments->command, "%s: option %s needs a value", arguments->command, option->name);
        return ARGUMENT_WRONG;
    }
    arguments->value = attached;
    return option->id;
}

static int long_option(struct arguments *arguments, const char *word) {
    const char *equals = strchr(word, '=');
    const struct tool_option *option =
        find_option(arguments, word, equals ? (size_t)(equals - word) : strlen(word));
    if (!option) {
        return unknown_option(arguments, word);
    }
    if (option->takes_value) {
        return with_value(arguments, option, equals ? equals + 1 : NULL);
    }
    if (!equals) {
        return option->id;
    }
    tool_usage(arguments->command, "%s: option %s takes no value", arguments->command, option->name);
    return ARGUMENT_WRONG;
}

/* The next of the letters behind one dash. */
static int short_option(struct arguments *arguments) {
    char name[3] = {'-', *arguments->cluster, 0};
    const struct tool_option *option = find_option(arguments, name, 2);
    if (!option) {
        return unknown_option(arguments, arguments->words[arguments->next - 1]);
    }
    const char *rest = arguments->cluster + 1;
    arguments->cluster = *rest && !option->takes_value ? rest : NULL;
    return option->takes_value ? with_value(arguments, option, *rest ? rest : NULL) : option->id;
}

int arguments_next(struct arguments *arguments) {
    if (arguments->cluster) {
        return short_option(arguments);
    }
    if (arguments->next == 0) {
        arguments->next = 1;
    }
    if (arguments->next >= arguments->count) {
        return ARGUMENT_END;
    }
    const char *word = arguments->words[arguments->next++];
    arguments->value = word;
    if (arguments->only_words || word[0] != '-' || word[1] == 0) {
        return ARGUMENT_WORD;
    }
    if (strcmp(word, "--") == 0) {
        arguments->only_words = true;
        return arguments_next(arguments);
    }
    if (strcmp(word, "--help") == 0) {
        fputs(arguments->help, stdout);
        return ARGUMENT_HELP;
    }
    if (word[1] == '-') {
        return long_option(arguments, word);
    }
    arguments->cluster = word + 1;
    return short_option(arguments);
}
