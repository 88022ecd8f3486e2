#include "lib/protocol.h"

#include <string.h>

static bool begins_with(const unsigned char *bytes, size_t size, const char *word) {
    size_t length = strlen(word);
    return size >= length && memcmp(bytes, word, length) == 0;
}

static bool is_http(const unsigned char *bytes, size_t size) {
    /* RFC 9110, section 9.3, and PATCH (RFC 5789); CONNECT opens a tunnel, which does not take turns. */
    static const char *const methods[] = {"GET ",    "POST ",    "PUT ",   "HEAD ",
                                          "DELETE ", "OPTIONS ", "PATCH ", "TRACE "};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (begins_with(bytes, size, methods[i])) {
            return true;
        }
    }
    return false;
}

static bool is_digit(unsigned char byte) {
    return byte >= '0' && byte <= '9';
}

/* An array of bulk strings, as every Redis client library sends commands: "*1\r\n$4…", "*12\r\n$…". */
static bool is_redis(const unsigned char *bytes, size_t size) {
    size_t at = 1;
    if (size < 4 || bytes[0] != '*' || bytes[1] == '0') {
        return false;
    }
    while (at < size && at < 7 && is_digit(bytes[at])) {
        at++;
    }
    return at > 1 && at + 1 < size && bytes[at] == '\r' && bytes[at + 1] == '\n';
}

enum rule_protocol protocol_recognise(const unsigned char *bytes, size_t size) {
    if (is_http(bytes, size)) {
        return PROTOCOL_HTTP;
    }
    return is_redis(bytes, size) ? PROTOCOL_REDIS : PROTOCOL_NONE;
}

bool protocol_is_client_hello(const unsigned char *bytes, size_t size) {
    /* Record type handshake, version 3.x, and the message type ClientHello (RFC 8446, sections 4 and 5.1). */
    return size >= 6 && bytes[0] == 22 && bytes[1] == 3 && bytes[2] <= 4 && bytes[5] == 1;
}

const char *protocol_name(enum rule_protocol protocol) {
    static const char *const names[] = {"auto", "none", "http", "redis"};
    return (unsigned)protocol < sizeof names / sizeof *names ? names[protocol] : "none";
}
