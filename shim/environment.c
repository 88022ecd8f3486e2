#include "shim/environment.h"

#include "lib/text.h"
#include "lib/thresholds.h"
#include "shim/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static bool begins_with(const char *text, const char *head, size_t length) {
    size_t i = 0;
    while (i < length && text[i] == head[i]) {
        i++;
    }
    return i == length;
}

static bool is_word(const char *text, const char *word) {
    return begins_with(text, word, strlen(word) + 1);
}

/* The value of a variable, or NULL; an empty one counts as not set. The first of that name decides, as in
 * getenv(). */
static const char *variable_value(const char *name) {
    size_t length = strlen(name);
    for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
        if (begins_with(*variable, name, length) && (*variable)[length] == '=') {
            const char *value = *variable + length + 1;
            return value[0] == '\0' ? NULL : value;
        }
    }
    return NULL;
}

/* --- paths ------------------------------------------------------------------------------------------ */

/* Appends the parts of path to the absolute path in result, of which length bytes are there; "/" has length
 * 0. */
static bool path_append(char *result, size_t room, size_t length, const char *path) {
    while (*path != '\0') {
        size_t part = 0;
        while (path[part] != '\0' && path[part] != '/') {
            part++;
        }
        if (part == 2 && path[0] == '.' && path[1] == '.') {
            while (length > 0 && result[--length] != '/') {
            }
        } else if (part > 0 && !(part == 1 && path[0] == '.')) {
            if (length + 1 + part + 1 > room) {
                return false;
            }
            result[length++] = '/';
            memcpy(result + length, path, part);
            length += part;
        }
        path += part + (path[part] == '/');
    }
    if (length == 0) {
        result[length++] = '/';
    }
    result[length] = '\0';
    return true;
}

bool environment_resolve_path(const char *path, char *result, size_t room) {
    return room >= 2 && path[0] == '/' && path_append(result, room, 0, path);
}

/* The file that CUTOUT_RULES names. Where no absolute path can be made of it (too long, the working directory
 * is gone), it stays as it was written: named, and not to be opened. */
static void read_rules(struct environment *environment, const char *path) {
    char *rules = environment->rules;
    size_t room = sizeof environment->rules;
    bool resolved = false;
    if (path[0] == '/') {
        resolved = environment_resolve_path(path, rules, room);
    } else {
        /* Returns the size with the terminating zero; a directory out of reach does not begin with '/'. */
        long size = raw_call3(SYS_getcwd, (long)rules, (long)room, 0);
        if (!raw_failed(size) && size >= 2 && rules[0] == '/') {
            size_t length = size == 2 ? 0 : (size_t)size - 1;
            resolved = path_append(rules, room, length, path);
        }
    }
    if (!resolved) {
        struct text text = text_in(rules, room);
        text_add(&text, path);
    }
    environment->rules_named = true;
}

/* True unless the kernel says that there is nothing of that name. A link that leads nowhere is there, and so
 * is what may not be looked at: both are rules that somebody meant to be in force. */
static bool file_exists(const char *path) {
    struct stat64 status;
    long result = raw_call4(RAW_FSTATAT, AT_FDCWD, (long)path, (long)&status, AT_SYMLINK_NOFOLLOW);
    return result != -ENOENT && result != -ENOTDIR;
}

/* --- the variables ---------------------------------------------------------------------------------- */

/* A group's number; anything else is no group. (gid_t)-1 means "unchanged" to the kernel, never a group. */
static bool read_group(const char *text, uint32_t *group) {
    uint64_t number = 0;
    size_t digits = 0;
    while (text[digits] >= '0' && text[digits] <= '9' && digits < 11) {
        number = number * 10 + (uint64_t)(text[digits++] - '0');
    }
    if (digits == 0 || text[digits] != '\0' || number >= UINT32_MAX) {
        return false;
    }
    *group = (uint32_t)number;
    return true;
}

static uint8_t read_mode(const char *word) {
    if (is_word(word, "enforce")) {
        return 1 + MODE_ENFORCE;
    }
    if (is_word(word, "observe")) {
        return 1 + MODE_OBSERVE;
    }
    return is_word(word, "off") ? 1 + MODE_OFF : 0;
}

static void set_panel(struct environment *environment, const char *name) {
    const size_t hashed = 17; /* '~' and 16 digits, less if the hash has leading zeros */
    size_t length = strlen(name);
    struct text text = text_in(environment->panel, sizeof environment->panel);
    if (length < sizeof environment->panel) {
        text_add(&text, name);
    } else {
        text_add_bytes(&text, name, sizeof environment->panel - 1 - hashed);
        text_add(&text, "~");
        text_add_hex(&text, text_hash(name, length));
    }
}

void environment_read(struct environment *environment) {
    memset(environment, 0, sizeof *environment);
    set_panel(environment, "default");
    environment->secure = getauxval(AT_SECURE) != 0;
    if (environment->secure) {
        return;
    }
    const char *value = variable_value("CUTOUT_DISABLE");
    if (value != NULL && is_word(value, "1")) {
        environment->disabled = true;
        return;
    }
    value = variable_value("CUTOUT_RULES");
    if (value != NULL) {
        read_rules(environment, value);
        set_panel(environment, environment->rules);
    } else if (file_exists(ENVIRONMENT_RULES_FILE)) {
        read_rules(environment, ENVIRONMENT_RULES_FILE);
    }
    value = variable_value("CUTOUT_PANEL");
    if (value != NULL) {
        set_panel(environment, value);
    }
    value = variable_value("CUTOUT_GROUP");
    environment->has_group = value != NULL && read_group(value, &environment->group);
    value = variable_value("CUTOUT_DEEPBIND");
    environment->keeps_deepbind = value != NULL && is_word(value, "keep");
    value = variable_value("CUTOUT_MODE");
    environment->mode = value != NULL ? read_mode(value) : 0;
}
