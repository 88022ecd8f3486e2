#include "rules/pattern.h"

#include <string.h>

#define HOST_MAX      253 /* longest host name that the domain name system can hold */
#define PATH_MAX_UNIX 107

struct scheme {
    const char *name;
    enum endpoint_scheme scheme;
};
static const struct scheme SCHEMES[] = {
    {"tcp", SCHEME_TCP}, {"udp", SCHEME_UDP}, {"unix", SCHEME_UNIX}, {"dns", SCHEME_DNS}};

static bool refuse(struct pattern_reading *reading, struct piece found, const char *expected) {
    reading->found = found;
    reading->expected = expected;
    return false;
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* Takes "SCHEME://" off the front; tcp where none is written. */
static bool read_scheme(struct piece *text, struct pattern_reading *reading) {
    reading->pattern.scheme = SCHEME_TCP;
    for (size_t at = 0; at + 3 <= text->size; at++) {
        if (memcmp(text->bytes + at, "://", 3) != 0) {
            continue;
        }
        struct piece name = piece_part(*text, 0, at);
        for (size_t i = 0; i < sizeof SCHEMES / sizeof SCHEMES[0]; i++) {
            if (piece_is(name, SCHEMES[i].name)) {
                reading->pattern.scheme = (uint8_t)SCHEMES[i].scheme;
                *text = piece_part(*text, at + 3, text->size);
                return true;
            }
        }
        return refuse(reading, name, "tcp, udp, unix or dns in front of '://'");
    }
    return true;
}

/* A number of at most 5 digits; false when it is none or not in low..high. */
static bool read_number(struct piece text, unsigned low, unsigned high, unsigned *number) {
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (i > 4 || !is_digit(text.bytes[i])) {
            return false;
        }
        *number = *number * 10 + (unsigned)(text.bytes[i] - '0');
    }
    return text.size > 0 && *number >= low && *number <= high;
}

static bool read_port(struct piece text, struct pattern_reading *reading) {
    unsigned low = 0, high = 0;
    size_t dash = piece_find(text, '-');
    struct piece first = piece_part(text, 0, dash);
    struct piece last = dash == text.size ? first : piece_part(text, dash + 1, text.size);
    if (!read_number(first, 1, 65535, &low)) {
        return refuse(reading, first, "a port from 1 to 65535");
    }
    if (!read_number(last, 1, 65535, &high)) {
        return refuse(reading, last, "a port from 1 to 65535");
    }
    if (low > high) {
        return refuse(reading, text, "a range of ports from the lower to the higher");
    }
    reading->pattern.port_low = (uint16_t)low;
    reading->pattern.port_high = (uint16_t)high;
    return true;
}

/* Clears the address's bits behind its prefix and notes whether there were any. */
static void clear_stray_bits(struct pattern_reading *reading) {
    uint8_t *bytes = reading->pattern.bytes;
    for (unsigned bit = reading->pattern.prefix; bit < 128; bit++) {
        uint8_t mask = (uint8_t)(0x80 >> (bit % 8));
        reading->has_stray_bits |= (bytes[bit / 8] & mask) != 0;
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] & ~mask);
    }
}

/* address is a literal, prefix what follows its '/', a piece without bytes where there is none. */
static bool read_address(struct piece address, struct piece prefix, struct pattern_reading *reading) {
    struct pattern *pattern = &reading->pattern;
    bool ipv6 = false;
    if (!endpoint_parse_address(address.bytes, address.size, pattern->bytes, &ipv6)) {
        return refuse(reading, address, "an address, as 10.0.0.5 or [2001:db8::1]");
    }
    /* An IPv4-mapped address is the IPv4 destination; its prefix counts the bits in front of that, too. */
    unsigned skipped = !ipv6 && address.bytes[0] == '[' ? 96 : 0;
    unsigned most = ipv6 ? 128 : 32 + skipped, bits = most;
    if (prefix.bytes != NULL && !read_number(prefix, skipped, most, &bits)) {
        return refuse(reading, prefix,
                      ipv6          ? "a prefix from 0 to 128"
                      : skipped > 0 ? "a prefix from 96 to 128"
                                    : "a prefix from 0 to 32");
    }
    pattern->kind = PATTERN_ADDRESS;
    pattern->ipv6 = ipv6;
    pattern->prefix = (uint8_t)(bits - skipped);
    clear_stray_bits(reading);
    return true;
}

/* True when the last label begins with a digit and holds nothing else: no host name does, addresses do. */
static bool looks_numeric(struct piece host) {
    size_t at = host.size;
    while (at > 0 && is_digit(host.bytes[at - 1])) {
        at--;
    }
    return at < host.size && (at == 0 || host.bytes[at - 1] == '.');
}

static bool is_host_byte(char byte) {
    char lower = (char)(byte | 0x20);
    return (lower >= 'a' && lower <= 'z') || is_digit(byte) || byte == '-' || byte == '_' || byte == '.';
}

static bool read_host(struct piece host, struct pattern_reading *reading) {
    struct piece name = host;
    reading->pattern.kind = PATTERN_NAME;
    if (piece_is(host, "*")) {
        reading->pattern.kind = PATTERN_ANY;
        return true;
    }
    if (host.size >= 2 && host.bytes[0] == '*' && host.bytes[1] == '.') {
        reading->pattern.kind = PATTERN_SUFFIX;
        host = piece_part(host, 1, host.size);
        name = piece_part(host, 1, host.size);
    }
    if (name.size > 1 && name.bytes[name.size - 1] == '.') {
        host.size--;
        name.size--;
    }
    for (size_t i = 0; i < name.size; i++) {
        if (name.bytes[i] == '*') {
            return refuse(reading, host, "a '*' only as a whole host or in front, as *.svc.local");
        }
        if (((unsigned char)name.bytes[i] & 0x80) != 0) {
            return refuse(reading, host, "a host name in ASCII (its xn-- form)");
        }
        if (!is_host_byte(name.bytes[i])) {
            bool blank = name.bytes[i] == ' ' || name.bytes[i] == '\t';
            return refuse(reading, piece_part(name, i, name.size),
                          blank ? "a comma between patterns"
                                : "letters, digits, '-', '_' and '.' in a host name");
        }
        if (name.bytes[i] == '.' && (i == 0 || name.bytes[i - 1] == '.' || i + 1 == name.size)) {
            return refuse(reading, host, "a host name without empty parts");
        }
    }
    if (name.size == 0 || piece_is(name, ".")) {
        return refuse(reading, host, "a host name");
    }
    if (looks_numeric(name)) {
        return refuse(reading, host, "an IPv4 address of four numbers up to 255, as 10.0.0.5 or 10.0.0.0/8");
    }
    if (name.size > HOST_MAX) {
        return refuse(reading, host, "a host name of at most 253 bytes");
    }
    reading->text = host;
    return true;
}

/* Host, address or nothing, then a port or none: tcp and udp. */
static bool read_inet(struct piece text, struct pattern_reading *reading) {
    size_t end = piece_find(text, text.size > 0 && text.bytes[0] == '[' ? ']' : ':');
    if (text.size > 0 && text.bytes[0] == '[' && end < text.size) {
        struct piece rest = piece_part(text, end + 1, text.size);
        end = end + 1 + piece_find(rest, ':');
    }
    struct piece host = piece_part(text, 0, end);
    if (end < text.size && !(text.size > 0 && text.bytes[0] == '[')) {
        struct piece port = piece_part(text, end + 1, text.size);
        if (piece_find(port, ':') < port.size) {
            return refuse(reading, text,
                          "an IPv6 address in brackets, as [2001:db8::1] or [2001:db8::]/32:443");
        }
    }
    if (end < text.size && !read_port(piece_part(text, end + 1, text.size), reading)) {
        return false;
    }
    size_t slash = piece_find(host, '/');
    if (host.size > 0 && (host.bytes[0] == '[' || slash < host.size)) {
        struct piece prefix = slash < host.size ? piece_part(host, slash + 1, host.size) : (struct piece){0};
        return read_address(piece_part(host, 0, slash), prefix, reading);
    }
    if (host.size == 0) {
        reading->pattern.kind = PATTERN_ANY;
        return end < text.size || refuse(reading, text, "a host, an address, a ':PORT' or '*'");
    }
    uint8_t bytes[16];
    bool ipv6;
    if (endpoint_parse_address(host.bytes, host.size, bytes, &ipv6)) {
        return read_address(host, (struct piece){0}, reading);
    }
    return read_host(host, reading);
}

static bool read_unix(struct piece path, struct pattern_reading *reading) {
    bool absolute = path.size > 1 && (path.bytes[0] == '/' || path.bytes[0] == '@');
    if (piece_is(path, "*")) {
        reading->pattern.kind = PATTERN_ANY;
        return true;
    }
    if (!absolute) {
        return refuse(reading, path, "an absolute path, as unix:///run/db.sock, an abstract @name or '*'");
    }
    if (!piece_is_text(path, PATH_MAX_UNIX)) {
        return refuse(reading, path, "a path of at most 107 bytes of UTF-8 without control characters");
    }
    reading->pattern.kind = piece_find(path, '*') < path.size ? PATTERN_GLOB : PATTERN_NAME;
    reading->text = path;
    return true;
}

static bool read_lookup(struct piece host, struct pattern_reading *reading) {
    uint8_t bytes[16];
    bool ipv6;
    size_t colon = piece_find(host, ':');
    if (endpoint_parse_address(host.bytes, host.size, bytes, &ipv6)) {
        return refuse(reading, host, "a host name: an address is never looked up");
    }
    if (colon < host.size) {
        return refuse(reading, piece_part(host, colon, host.size), "no port: a look-up has none");
    }
    return read_host(host, reading);
}

bool pattern_read(struct piece text, struct pattern_reading *reading) {
    *reading = (struct pattern_reading){.pattern = {.port_high = 65535}};
    if (text.size == 0) {
        return refuse(reading, text, "a pattern, as payments.internal:443, 10.0.0.0/8 or *");
    }
    if (!read_scheme(&text, reading)) {
        return false;
    }
    bool read = reading->pattern.scheme == SCHEME_UNIX  ? read_unix(text, reading)
                : reading->pattern.scheme == SCHEME_DNS ? read_lookup(text, reading)
                                                        : read_inet(text, reading);
    reading->pattern.length = (uint16_t)reading->text.size;
    return read;
}
