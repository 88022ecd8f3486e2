/* Patterns compared with one another and written back. */
#include "rules/pattern.h"

#include <string.h>

#define ENDPOINT_ADDRESS_ROOM 64 /* holds any "tcp://[ADDRESS]:PORT" */

bool pattern_glob_fits(const char *glob, size_t glob_size, const char *path, size_t size) {
    size_t at = 0, star = SIZE_MAX, retry = 0, in = 0;
    while (at < size) {
        if (in < glob_size && glob[in] == '*') {
            star = in++;
            retry = at;
        } else if (in < glob_size && glob[in] == path[at]) {
            in++;
            at++;
        } else if (star != SIZE_MAX && path[retry] != '/') {
            /* The last star takes one byte more. An earlier one never has to: the last can take over. */
            at = ++retry;
            in = star + 1;
        } else {
            return false;
        }
    }
    while (in < glob_size && glob[in] == '*') {
        in++;
    }
    return in == glob_size;
}

static bool suffix_fits(const char *suffix, size_t suffix_size, const char *name, size_t size) {
    return size > suffix_size && memcmp(name + size - suffix_size, suffix, suffix_size) == 0;
}

bool pattern_covers(const struct ruleset *ruleset, const struct pattern *wide, const struct pattern *narrow) {
    if (wide->scheme != narrow->scheme || wide->port_low > narrow->port_low ||
        wide->port_high < narrow->port_high) {
        return false;
    }
    if (wide->kind == PATTERN_ANY) {
        return true;
    }
    if (wide->kind == PATTERN_ADDRESS) {
        return narrow->kind == PATTERN_ADDRESS && wide->ipv6 == narrow->ipv6 &&
               wide->prefix <= narrow->prefix && pattern_bits_agree(wide->bytes, narrow->bytes, wide->prefix);
    }
    if (narrow->kind == PATTERN_ANY || narrow->kind == PATTERN_ADDRESS) {
        return false;
    }
    const char *text = ruleset->text + wide->text, *other = ruleset->text + narrow->text;
    if (wide->kind == PATTERN_SUFFIX) {
        bool same = narrow->kind == PATTERN_SUFFIX && narrow->length == wide->length;
        return same ? memcmp(text, other, wide->length) == 0
                    : suffix_fits(text, wide->length, other, narrow->length);
    }
    if (wide->kind == PATTERN_GLOB && narrow->kind == PATTERN_NAME) {
        return pattern_glob_fits(text, wide->length, other, narrow->length);
    }
    return wide->kind == narrow->kind && wide->length == narrow->length &&
           memcmp(text, other, wide->length) == 0;
}

static void write_address(struct text *text, const struct pattern *pattern) {
    static const char scheme[] = "tcp://", port[] = ":0";
    char bytes[ENDPOINT_ADDRESS_ROOM];
    struct endpoint endpoint = {.scheme = SCHEME_TCP, .ipv6 = pattern->ipv6};
    memcpy(endpoint.bytes, pattern->bytes, sizeof endpoint.bytes);
    size_t size = endpoint_format(&endpoint, NULL, bytes, sizeof bytes);
    text_add_bytes(text, bytes + sizeof scheme - 1, size - (sizeof scheme - 1) - (sizeof port - 1));
    if (pattern->prefix < (pattern->ipv6 != 0 ? 128 : 32)) {
        text_add(text, "/");
        text_add_number(text, pattern->prefix);
    }
}

void pattern_write(struct text *text, const struct ruleset *ruleset, const struct pattern *pattern) {
    static const char *const schemes[] = {"", "", "udp://", "unix://", "dns://"};
    text_add(text, pattern->scheme <= SCHEME_DNS ? schemes[pattern->scheme] : "");
    bool any_port = pattern->port_low == 0;
    if (pattern->kind == PATTERN_ADDRESS) {
        write_address(text, pattern);
    } else if (pattern->kind == PATTERN_ANY) {
        text_add(text, any_port ? "*" : "");
    } else {
        text_add(text, pattern->kind == PATTERN_SUFFIX ? "*" : "");
        text_add_bytes(text, ruleset->text + pattern->text, pattern->length);
    }
    if (!any_port) {
        text_add(text, ":");
        text_add_number(text, pattern->port_low);
        if (pattern->port_high > pattern->port_low) {
            text_add(text, "-");
            text_add_number(text, pattern->port_high);
        }
    }
}
