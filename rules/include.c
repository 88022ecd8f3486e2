/* Which files a source includes, and by which paths. */
#include "rules/scan.h"

#include <string.h>

bool rules_next_include(const struct rules_source *source, size_t *offset, const char **path, size_t *size) {
    struct scan scan = {.source = source, .offset = *offset};
    struct line line;
    while (scan_line(&scan, &line)) {
        *offset = scan.offset < source->size ? scan.offset : source->size;
        if (line.kind == LINE_INCLUDE && line.name.size > 0) {
            *path = line.name.bytes;
            *size = line.name.size;
            return true;
        }
    }
    return false;
}

/* Where the last part of a path of that length begins, behind its slash. */
static size_t last_part(const char *path, size_t length) {
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    return length;
}

/* Drops "." and repeated slashes, and ".." with the part before it, by text. Never makes the path longer. */
static void resolve(char *path) {
    size_t root = path[0] == '/', length = root, at = root;
    while (path[at] != '\0') {
        size_t size = 0;
        while (path[at + size] != '\0' && path[at + size] != '/') {
            size++;
        }
        size_t last = last_part(path, length);
        bool above = length - last == 2 && memcmp(path + last, "..", 2) == 0;
        if (size == 2 && memcmp(path + at, "..", 2) == 0 && !above && length > root) {
            length = last > root ? last - 1 : root;
        } else if (size == 2 && memcmp(path + at, "..", 2) == 0 && root > 0 && length == root) {
            /* Above the root is the root. */
        } else if (size > 0 && !(size == 1 && path[at] == '.')) {
            if (length > root) {
                path[length++] = '/';
            }
            memmove(path + length, path + at, size);
            length += size;
        }
        at += size + (path[at + size] == '/');
    }
    path[length] = '\0';
}

bool rules_include_path(const char *including, const char *path, size_t size, char *result, size_t room) {
    size_t directory = size > 0 && path[0] == '/' ? 0 : last_part(including, strlen(including));
    if (size == 0 || directory >= room || size >= room - directory) {
        return false;
    }
    memcpy(result, including, directory);
    memcpy(result + directory, path, size);
    result[directory + size] = '\0';
    resolve(result);
    return result[0] != '\0';
}
