#include "lib/endpoint.h"

#include "lib/text.h"

#include <string.h>

static const uint8_t MAPPED_PREFIX[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct endpoint endpoint_ipv4(enum endpoint_scheme scheme, const uint8_t address[4], uint16_t port) {
    struct endpoint endpoint = {.scheme = (uint8_t)scheme, .port = port};
    memcpy(endpoint.bytes, address, 4);
    return endpoint;
}

struct endpoint endpoint_ipv6(enum endpoint_scheme scheme, const uint8_t address[16], uint16_t port,
                              uint32_t zone) {
    if (memcmp(address, MAPPED_PREFIX, sizeof MAPPED_PREFIX) == 0) {
        return endpoint_ipv4(scheme, address + 12, port);
    }
    struct endpoint endpoint = {.scheme = (uint8_t)scheme, .ipv6 = 1, .port = port};
    memcpy(endpoint.bytes, address, 16);
    bool link_local = address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
    endpoint.zone = link_local ? zone : 0;
    return endpoint;
}

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b) {
    return a->scheme == b->scheme && a->ipv6 == b->ipv6 && a->port == b->port && a->zone == b->zone &&
           memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* --- hashing ---------------------------------------------------------------------------------------- */

/* Odd constants without structure: digits of the fractional parts of pi. */
#define MIX_A UINT64_C(0x243f6a8885a308d3)
#define MIX_B UINT64_C(0x13198a2e03707345)
#define MIX_C UINT64_C(0xa4093822299f31d1)
#define MIX_D UINT64_C(0x082efa98ec4e6c89)

/* Both halves of the 128-bit product folded together: every bit of both factors reaches every bit. A product
 * of 64 bits alone loses what is high, and consecutive addresses would lie in rows. */
static uint64_t mix(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t low = a_low * b_low;
    uint64_t middle = a_high * b_low + (low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    return (other << 32 | (uint32_t)low) ^ (a_high * b_high + (middle >> 32) + (other >> 32));
#endif
}

static uint64_t hash_bytes(const char *text, size_t size, uint64_t seed) {
    uint64_t hash = mix(seed ^ MIX_A, (uint64_t)size ^ MIX_B);
    while (size > 0) {
        uint64_t block[2] = {0, 0};
        size_t taken = size < sizeof block ? size : sizeof block;
        memcpy(block, text, taken);
        hash = mix(hash ^ block[0] ^ MIX_C, block[1] ^ MIX_D);
        text += taken;
        size -= taken;
    }
    return mix(hash ^ MIX_B, MIX_A);
}

uint64_t text_hash(const char *text, size_t size) {
    return hash_bytes(text, size, 0);
}

uint64_t endpoint_hash(const struct endpoint *endpoint, uint64_t seed) {
    uint64_t words[2];
    memcpy(words, endpoint->bytes, sizeof words);
    uint64_t kind = (uint64_t)endpoint->scheme << 56 | (uint64_t)endpoint->ipv6 << 48 |
                    (uint64_t)endpoint->port << 32 | endpoint->zone;
    uint64_t hash = mix(kind ^ MIX_A, seed ^ MIX_B);
    hash = mix(hash ^ words[0] ^ MIX_C, words[1] ^ MIX_D);
    return mix(hash ^ MIX_B, MIX_A);
}

/* --- names ------------------------------------------------------------------------------------------ */

struct endpoint endpoint_named(enum endpoint_scheme scheme, const char *text, size_t size) {
    if (size > ENDPOINT_NAME_MAX) {
        size = ENDPOINT_NAME_MAX;
    }
    /* Two independent hashes: with 128 bits no two names are ever taken for one. */
    uint64_t digest[2] = {hash_bytes(text, size, MIX_C), hash_bytes(text, size, MIX_D)};
    struct endpoint endpoint = {.scheme = (uint8_t)scheme};
    memcpy(endpoint.bytes, digest, sizeof endpoint.bytes);
    return endpoint;
}

struct endpoint endpoint_by_name(enum endpoint_scheme scheme, const char *name, size_t size, uint16_t port) {
    struct endpoint endpoint = endpoint_named(scheme, name, size);
    endpoint.ipv6 = ENDPOINT_BY_NAME;
    endpoint.port = port;
    return endpoint;
}

struct endpoint endpoint_any(void) {
    struct endpoint endpoint = {.scheme = SCHEME_NONE};
    return endpoint;
}

size_t endpoint_canonical_name(const char *text, char *name, size_t room) {
    size_t length = 0;
    while (length + 1 < room && text[length] != '\0') {
        char c = text[length];
        name[length++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    if (length > 1 && text[length] == '\0' && name[length - 1] == '.') {
        length--;
    }
    name[length] = '\0';
    return length;
}

/* --- text ------------------------------------------------------------------------------------------- */

/* RFC 5952: lower case, no leading zeros, the first longest run of two or more zero groups as "::". */
static void add_ipv6(struct text *text, const uint8_t bytes[16]) {
    unsigned group[8], run_begin = 8, run_length = 1;
    for (unsigned i = 0; i < 8; i++) {
        group[i] = (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
    }
    for (unsigned i = 0; i < 8; i++) {
        unsigned length = 0;
        while (i + length < 8 && group[i + length] == 0) {
            length++;
        }
        if (length > run_length) {
            run_begin = i;
            run_length = length;
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        if (i == run_begin) {
            text_add(text, "::");
            i += run_length - 1;
            continue;
        }
        if (i > 0 && i != run_begin + run_length) {
            text_add(text, ":");
        }
        text_add_hex(text, group[i]);
    }
}

static void add_address(struct text *text, const struct endpoint *endpoint) {
    if (endpoint->ipv6) {
        text_add(text, "[");
        add_ipv6(text, endpoint->bytes);
        if (endpoint->zone != 0) {
            text_add(text, "%");
            text_add_number(text, endpoint->zone);
        }
        text_add(text, "]");
    } else {
        for (unsigned i = 0; i < 4; i++) {
            text_add(text, i > 0 ? "." : "");
            text_add_number(text, endpoint->bytes[i]);
        }
    }
    text_add(text, ":");
    text_add_number(text, endpoint->port);
}

size_t endpoint_format(const struct endpoint *endpoint, const char *name, char *bytes, size_t room) {
    static const char schemes[][8] = {"none://", "tcp://", "udp://", "unix://", "dns://"};
    struct text text = text_in(bytes, room);
    if (endpoint->scheme == SCHEME_NONE) {
        text_add(&text, "*");
        return text.length;
    }
    text_add(&text, schemes[endpoint->scheme <= SCHEME_DNS ? endpoint->scheme : SCHEME_NONE]);
    bool by_name = endpoint->ipv6 == ENDPOINT_BY_NAME;
    if ((endpoint->scheme == SCHEME_TCP || endpoint->scheme == SCHEME_UDP) && !by_name) {
        add_address(&text, endpoint);
    } else if (name != NULL && name[0] != '\0') {
        text_add_escaped(&text, name, strlen(name));
    } else {
        /* Whoever kept the text has lost it; the digest still tells two of them apart. */
        uint64_t digest;
        memcpy(&digest, endpoint->bytes, sizeof digest);
        text_add(&text, "#");
        text_add_hex(&text, digest);
    }
    if (by_name) {
        text_add(&text, ":");
        text_add_number(&text, endpoint->port);
    }
    return text.length;
}
