/* A destination as a fixed-size key: what a program talks to.
 *
 * TCP and UDP destinations hold their address in the bytes; unix sockets and look-ups hold a 128-bit digest
 * of their text (path or host name), and whoever needs the text keeps it beside. An IPv4-mapped IPv6 address
 * is made IPv4 by endpoint_ipv6, so both spellings are one destination.
 */
#ifndef CUTOUT_LIB_ENDPOINT_H
#define CUTOUT_LIB_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum endpoint_scheme { SCHEME_NONE = 0, SCHEME_TCP, SCHEME_UDP, SCHEME_UNIX, SCHEME_DNS };

struct endpoint {
    uint8_t scheme; /* enum endpoint_scheme */
    uint8_t ipv6; /* 1: bytes are an IPv6 address; 0: IPv4 in the first four, or a digest; ENDPOINT_BY_NAME */
    uint16_t port; /* host order; 0 for unix and dns */
    uint32_t zone; /* interface index of a link-local IPv6 address, else 0 */
    uint8_t bytes[16];
};

/* In `ipv6`: all addresses of one host name, whose digest the bytes are, at that port. */
#define ENDPOINT_BY_NAME 2

/* Longest text endpoint_format writes, its terminating zero included: a scheme, a name with every byte escaped as \xNN, a
 * port. */
#define ENDPOINT_TEXT_MAX 1040
/* Longest text (path or name) an endpoint is made of, in bytes without a terminating zero. Longer is cut. */
#define ENDPOINT_NAME_MAX 255

/* TCP or UDP over IPv4: address is 4 bytes in network order, port in host order. */
struct endpoint endpoint_ipv4(enum endpoint_scheme scheme, const uint8_t address[4], uint16_t port);

/* TCP or UDP over IPv6: address is 16 bytes in network order, port in host order, zone the sin6_scope_id
 * (kept only for link-local addresses). An IPv4-mapped address gives the IPv4 endpoint. */
struct endpoint endpoint_ipv6(enum endpoint_scheme scheme, const uint8_t address[16], uint16_t port,
                              uint32_t zone);

/* A unix socket's path (an abstract name begins with a zero byte) or a look-up's host name; size in bytes,
 * cut at ENDPOINT_NAME_MAX. Host names: pass what endpoint_canonical_name made. */
struct endpoint endpoint_named(enum endpoint_scheme scheme, const char *text, size_t size);

/* TCP or UDP to all addresses of a host name (canonical form) at that port. */
struct endpoint endpoint_by_name(enum endpoint_scheme scheme, const char *name, size_t size, uint16_t port);

/* All destinations of a rule together; its text is "*". */
struct endpoint endpoint_any(void);

/* Lower-cases ASCII and drops one trailing dot. Copies at most room-1 bytes of text and a zero into name;
 * returns the length. */
size_t endpoint_canonical_name(const char *text, char *name, size_t room);

/* True when both are the same destination. */
bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);

/* 64 well-mixed bits of the endpoint and a seed (a rule's key, a name's hash, or 0): 10,000 consecutive
 * addresses spread like random ones. */
uint64_t endpoint_hash(const struct endpoint *endpoint, uint64_t seed);

/* 64 well-mixed bits of any text. */
uint64_t text_hash(const char *text, size_t size);

/* Reads an IPv4 or IPv6 literal ("10.0.0.5", "::1", "[::1]", "fe80::1%2" is not one) of size bytes into bytes
 * and *ipv6. False if it is none. */
bool endpoint_parse_address(const char *text, size_t size, uint8_t bytes[16], bool *ipv6);

/* Writes "tcp://10.0.0.5:443", "tcp://[::1]:80", "unix:///run/db.sock", "dns://name" into text, at most room
 * bytes with the zero; name (may be NULL) is the text of a unix or dns endpoint, NUL-terminated or for an
 * abstract socket beginning with '@'. Control characters are escaped. Returns the length. */
size_t endpoint_format(const struct endpoint *endpoint, const char *name, char *text, size_t room);

/* Reads what endpoint_format writes of one destination ("*" is none). The path of a unix endpoint, or the canonical host
 * name of a dns endpoint or of one by name, goes to name, else "". False, and both undefined, when it is none. */
bool endpoint_parse(const char *text, size_t size, struct endpoint *endpoint,
                    char name[ENDPOINT_NAME_MAX + 1]);

#endif
