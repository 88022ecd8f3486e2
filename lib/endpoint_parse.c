/* Endpoints and addresses read from text. */
#include "lib/endpoint.h"

#include "lib/text.h"

#include <string.h>

static bool parse_ipv4(const char *text, size_t size, uint8_t bytes[4]) {
    size_t at = 0;
    for (unsigned part = 0; part < 4; part++) {
        if (part > 0 && (at >= size || text[at++] != '.')) {
            return false;
        }
        unsigned value = 0;
        size_t begin = at;
        while (at < size && text[at] >= '0' && text[at] <= '9') {
            value = value * 10 + (unsigned)(text[at++] - '0');
            /* A leading zero is octal to some readers and decimal to others: refused. */
            if (value > 255 || (at - begin == 2 && text[begin] == '0')) {
                return false;
            }
        }
        if (at == begin) {
            return false;
        }
        bytes[part] = (uint8_t)value;
    }
    return at == size;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_ipv6(const char *text, size_t size, uint8_t bytes[16]) {
    uint8_t parts[16] = {0};
    size_t filled = 0, gap = SIZE_MAX, at = 0;
    if (size >= 2 && text[0] == ':' && text[1] == ':') {
        gap = 0;
        at = 2;
    }
    while (at < size) {
        unsigned value = 0;
        size_t begin = at;
        while (at < size && at - begin < 4 && hex_digit(text[at]) >= 0) {
            value = value << 4 | (unsigned)hex_digit(text[at++]);
        }
        if (at < size && text[at] == '.') {
            if (filled > 12 || !parse_ipv4(text + begin, size - begin, parts + filled)) {
                return false;
            }
            filled += 4;
            break;
        }
        if (at == begin || filled > 14) {
            return false;
        }
        parts[filled++] = (uint8_t)(value >> 8);
        parts[filled++] = (uint8_t)value;
        if (at == size) {
            break;
        }
        if (text[at++] != ':' || at == size) {
            return false;
        }
        if (text[at] == ':') {
            if (gap != SIZE_MAX) {
                return false;
            }
            gap = filled;
            at++;
        }
    }
    if (gap == SIZE_MAX ? filled != 16 : filled > 14) {
        return false;
    }
    size_t head = gap == SIZE_MAX ? filled : gap;
    memset(bytes, 0, 16);
    memcpy(bytes, parts, head);
    memcpy(bytes + 16 - (filled - head), parts + head, filled - head);
    return true;
}

bool endpoint_parse_address(const char *text, size_t size, uint8_t bytes[16], bool *ipv6) {
    uint8_t parsed[16] = {0};
    if (parse_ipv4(text, size, parsed)) {
        *ipv6 = false;
    } else {
        if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
            text++;
            size -= 2;
        }
        if (!parse_ipv6(text, size, parsed)) {
            return false;
        }
        /* An IPv4-mapped one is IPv4. */
        struct endpoint endpoint = endpoint_ipv6(SCHEME_TCP, parsed, 0, 0);
        *ipv6 = endpoint.ipv6 != 0;
        memcpy(parsed, endpoint.bytes, sizeof parsed);
    }
    memcpy(bytes, parsed, sizeof parsed);
    return true;
}

/* Cuts the prefix off. False when the text does not begin with it. */
static bool skip(const char **text, size_t *size, const char *prefix) {
    size_t length = strlen(prefix);
    if (*size < length || memcmp(*text, prefix, length) != 0) {
        return false;
    }
    *text += length;
    *size -= length;
    return true;
}

/* A whole decimal number up to `most`. */
static bool parse_number(const char *text, size_t size, uint64_t most, uint64_t *number) {
    *number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        *number = *number * 10 + (uint64_t)(text[i] - '0');
        if (*number > most) {
            return false;
        }
    }
    return size > 0;
}

/* A host name's last label never begins with a digit: "10.0.0.256" is a mistyped address. */
static bool is_host_name(const char *name, size_t size) {
    size_t label = size;
    while (label > 0 && name[label - 1] != '.') {
        label--;
    }
    return label < size && (name[label] < '0' || name[label] > '9');
}

static bool parse_bracketed(const char *text, size_t size, enum endpoint_scheme scheme, uint16_t port,
                            struct endpoint *endpoint) {
    uint8_t bytes[16];
    uint64_t zone = 0;
    size_t percent = 0;
    while (percent < size && text[percent] != '%') {
        percent++;
    }
    if (percent < size && !parse_number(text + percent + 1, size - percent - 1, UINT32_MAX, &zone)) {
        return false;
    }
    if (!parse_ipv6(text, percent, bytes)) {
        return false;
    }
    *endpoint = endpoint_ipv6(scheme, bytes, port, (uint32_t)zone);
    return true;
}

/* "10.0.0.5:443", "[::1]:80", "[fe80::1%3]:80", "db.internal:5432". */
static bool parse_place(const char *text, size_t size, enum endpoint_scheme scheme, struct endpoint *endpoint,
                        char name[ENDPOINT_NAME_MAX + 1]) {
    size_t colon = size;
    while (colon > 0 && text[colon - 1] != ':') {
        colon--;
    }
    uint64_t number;
    if (colon == 0 || !parse_number(text + colon, size - colon, UINT16_MAX, &number)) {
        return false;
    }
    uint16_t port = (uint16_t)number;
    size = colon - 1;
    if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
        return parse_bracketed(text + 1, size - 2, scheme, port, endpoint);
    }
    uint8_t bytes[4];
    if (parse_ipv4(text, size, bytes)) {
        *endpoint = endpoint_ipv4(scheme, bytes, port);
        return true;
    }
    char written[ENDPOINT_NAME_MAX + 1];
    size_t length = text_unescape(text, size, written, sizeof written);
    if (length == 0 || memchr(text, ':', size) != NULL || text[0] == '[') {
        return false;
    }
    length = endpoint_canonical_name(written, name, ENDPOINT_NAME_MAX + 1);
    if (!is_host_name(name, length)) {
        return false;
    }
    *endpoint = endpoint_by_name(scheme, name, length, port);
    return true;
}

bool endpoint_parse(const char *text, size_t size, struct endpoint *endpoint,
                    char name[ENDPOINT_NAME_MAX + 1]) {
    name[0] = '\0';
    if (skip(&text, &size, "tcp://")) {
        return parse_place(text, size, SCHEME_TCP, endpoint, name);
    }
    if (skip(&text, &size, "udp://")) {
        return parse_place(text, size, SCHEME_UDP, endpoint, name);
    }
    char written[ENDPOINT_NAME_MAX + 1];
    if (skip(&text, &size, "unix://")) {
        size_t length = text_unescape(text, size, name, ENDPOINT_NAME_MAX + 1);
        *endpoint = endpoint_named(SCHEME_UNIX, name, length);
        return length > 0;
    }
    if (!skip(&text, &size, "dns://") || text_unescape(text, size, written, sizeof written) == 0) {
        return false;
    }
    size_t length = endpoint_canonical_name(written, name, ENDPOINT_NAME_MAX + 1);
    *endpoint = endpoint_named(SCHEME_DNS, name, length);
    return true;
}
