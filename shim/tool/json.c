#include "shim/tool/json.h"

#include "shim/tool/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Length of the whole UTF-8 sequence that begins here, 0 when there is none. */
static size_t utf8_length(const unsigned char *text) {
    if (text[0] < 0x80) {
        return 1;
    }
    size_t length = text[0] >= 0xf0 && text[0] < 0xf5   ? 4
                    : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                    : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                                                        : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0; /* also at the terminating zero */
        }
    }
    if (length == 3 && text[0] == 0xe0 && text[1] < 0xa0) {
        return 0; /* overlong */
    }
    if (length == 3 && text[0] == 0xed && text[1] > 0x9f) {
        return 0; /* surrogate */
    }
    if (length == 4 && ((text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))) {
        return 0; /* overlong, or beyond U+10FFFF */
    }
    return length;
}

static void write_string(const char *value) {
    const unsigned char *at = (const unsigned char *)value;
    putchar('"');
    while (*at) {
        size_t length = utf8_length(at);
        if (length == 0) {
            fputs("\\ufffd", stdout);
            at++;
            continue;
        }
        if (*at == '"' || *at == '\\') {
            printf("\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            printf("\\u%04x", *at);
        } else if (length == 2 && at[0] == 0xc2 && at[1] < 0xa0) { /* C1 controls: a terminal may obey them */
            printf("\\u%04x", at[1]);
        } else {
            fwrite(at, 1, length, stdout);
        }
        at += length;
    }
    putchar('"');
}

static void begin(struct json *json, const char *key) {
    if (json->more) {
        putchar(',');
    }
    json->more = true;
    if (key) {
        write_string(key);
        putchar(':');
    }
}

void json_begin_object(struct json *json, const char *key) {
    begin(json, key);
    putchar('{');
    json->more = false;
}

void json_end_object(struct json *json) {
    putchar('}');
    json->more = true;
}

void json_begin_array(struct json *json, const char *key) {
    begin(json, key);
    putchar('[');
    json->more = false;
}

void json_end_array(struct json *json) {
    putchar(']');
    json->more = true;
}

void json_string(struct json *json, const char *key, const char *value) {
    begin(json, key);
    if (value) {
        write_string(value);
    } else {
        fputs("null", stdout);
    }
}

void json_null(struct json *json, const char *key) {
    json_string(json, key, NULL);
}

void json_bool(struct json *json, const char *key, bool value) {
    begin(json, key);
    fputs(value ? "true" : "false", stdout);
}

void json_number(struct json *json, const char *key, uint64_t value) {
    begin(json, key);
    printf("%" PRIu64, value);
}

void json_decimal(struct json *json, const char *key, uint64_t value, unsigned decimals) {
    uint64_t unit = 1;
    for (unsigned i = 0; i < decimals; i++) {
        unit *= 10;
    }
    begin(json, key);
    printf("%" PRIu64, value / unit);
    uint64_t rest = value % unit;
    if (rest == 0) {
        return;
    }
    for (; rest % 10 == 0; decimals--) {
        rest /= 10;
    }
    printf(".%0*" PRIu64, (int)decimals, rest);
}

void json_share(struct json *json, const char *key, uint64_t part, uint64_t whole) {
    json_decimal(json, key, whole ? part * 1000 / whole : 0, 3);
}

void json_time(struct json *json, const char *key, uint64_t unix_ns) {
    json_string(json, key, unix_ns ? shown_time(unix_ns) : NULL);
}
