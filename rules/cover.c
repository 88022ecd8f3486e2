/* Patterns compared with one another and written back. */
#include "rules/pattern.h"

#include <string.h>

bool pattern_bits_agree(const uint8_t a[16], const uint8_t b[16], unsigned bits) {
    unsigned whole = bits / 8;
    uint8_t mask = (uint8_t)(0xff00 >> (bits % 8));
    return memcmp(a, b, whole) == 0 && (bits % 8 == 0 || ((a[whole] ^ b[whole]) & mask) == 0);
}

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

static void write_ipv6(struct text *text, const uint8_t bytes[16]) {
    /* The longest run of zero groups is left out. */
    unsigned gap = 8, gap_groups = 1;
    for (unsigned i = 0; i < 8; i++) {
        unsigned end = i;
        while (end < 8 && bytes[2 * end] == 0 && bytes[2 * end + 1] == 0) {
            end++;
        }
        if (end - i > gap_groups) {
            gap = i;
            gap_groups = end - i;
        }
    }
    text_add(text, "[");
    for (unsigned i = 0; i < 8; i++) {
        if (i == gap) {
            text_add(text, "::");
            i += gap_groups - 1;
            continue;
        }
        text_add(text, i > 0 && i != gap + gap_groups ? ":" : "");
        text_add_hex(text, (uint64_t)bytes[2 * i] << 8 | bytes[2 * i + 1]);
    }
    text_add(text, "]");
}

static void write_address(struct text *text, const struct pattern *pattern) {
    if (pattern->ipv6 != 0) {
        write_ipv6(text, pattern->bytes);
    }
    for (unsigned i = 0; i < 4 && pattern->ipv6 == 0; i++) {
        text_add(text, i > 0 ? "." : "");
        text_add_number(text, pattern->bytes[i]);
    }
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
