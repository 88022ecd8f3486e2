#include "lib/text.h"

#include <string.h>

struct text text_in(char *bytes, size_t room) {
    bytes[0] = '\0';
    return (struct text){.bytes = bytes, .room = room, .length = 0};
}

void text_add_bytes(struct text *text, const char *bytes, size_t size) {
    size_t left = text->room - 1 - text->length;
    if (size > left) {
        size = left;
    }
    memcpy(text->bytes + text->length, bytes, size);
    text->length += size;
    text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *string) {
    text_add_bytes(text, string, strlen(string));
}

/* Length of the whole UTF-8 sequence at bytes that shows as something: 0 where there is none (cut short, too
 * long a form, a surrogate, beyond U+10FFFF) or where it is a control character of U+0080..U+009F. */
static size_t utf8_length(const unsigned char *bytes, size_t size) {
    size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || size < length) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    unsigned start = (unsigned)bytes[0] << 8 | bytes[1];
    bool control = bytes[0] == 0xc2 && bytes[1] < 0xa0;
    bool too_long = (start >= 0xe080 && start < 0xe0a0) || (start >= 0xf080 && start < 0xf090);
    bool surrogate = start >= 0xeda0 && start <= 0xedbf;
    return control || too_long || surrogate || start > 0xf48f ? 0 : length;
}

void text_add_escaped(struct text *text, const char *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = (const unsigned char *)bytes;
    while (size > 0) {
        size_t used = 1;
        char piece[4] = {(char)at[0]};
        size_t piece_size = 1;
        if (at[0] == '\\') {
            piece[1] = '\\';
            piece_size = 2;
        } else if (at[0] >= 0x80 && (used = utf8_length(at, size)) > 0) {
            memcpy(piece, at, used);
            piece_size = used;
        } else if (at[0] < ' ' || at[0] >= 0x7f) {
            used = 1;
            piece[0] = '\\';
            piece[1] = 'x';
            piece[2] = digits[at[0] >> 4];
            piece[3] = digits[at[0] & 15];
            piece_size = 4;
        }
        if (piece_size > text->room - 1 - text->length) {
            /* Half an escape would read as something else, and so would what comes after it. */
            text->room = text->length + 1;
            return;
        }
        text_add_bytes(text, piece, piece_size);
        at += used;
        size -= used;
    }
}

/* At most room bytes, right-aligned in digits; returns where the number begins. */
static size_t number_digits(uint64_t number, unsigned base, char digits[20]) {
    size_t begin = 20;
    do {
        digits[--begin] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    return begin;
}

void text_add_number(struct text *text, uint64_t number) {
    char digits[20];
    size_t begin = number_digits(number, 10, digits);
    text_add_bytes(text, digits + begin, sizeof digits - begin);
}

void text_add_hex(struct text *text, uint64_t number) {
    char digits[20];
    size_t begin = number_digits(number, 16, digits);
    text_add_bytes(text, digits + begin, sizeof digits - begin);
}

/* number / scale with as many decimals as it takes; scale is a power of ten. */
static void text_add_decimal(struct text *text, uint64_t number, uint64_t scale) {
    text_add_number(text, number / scale);
    uint64_t rest = number % scale;
    if (rest > 0) {
        text_add(text, ".");
    }
    while (rest > 0) {
        scale /= 10;
        char digit = (char)('0' + rest / scale);
        text_add_bytes(text, &digit, 1);
        rest %= scale;
    }
}

void text_add_duration(struct text *text, uint64_t ns) {
    uint64_t us = ns / 1000;
    const uint64_t second = 1000000, minute = 60 * second, hour = 60 * minute;
    if (us > 0 && us % hour == 0) {
        text_add_number(text, us / hour);
        text_add(text, "h");
    } else if (us > 0 && us % minute == 0) {
        text_add_number(text, us / minute);
        text_add(text, "m");
    } else if (us == 0 || us >= second) {
        text_add_decimal(text, us, second);
        text_add(text, "s");
    } else {
        text_add_decimal(text, us, 1000);
        text_add(text, "ms");
    }
}

void text_add_ratio(struct text *text, uint32_t ratio) {
    text_add_decimal(text, ratio, 100);
    text_add(text, "%");
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that \xNN at bytes stands for; -1 where there is none. */
static int escaped_byte(const char *bytes, size_t size) {
    if (size < 4 || bytes[1] != 'x') {
        return -1;
    }
    int high = hex_value(bytes[2]), low = hex_value(bytes[3]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

size_t text_unescape(const char *bytes, size_t size, char *result, size_t room) {
    size_t length = 0;
    for (size_t at = 0; at < size; length++) {
        int byte = (unsigned char)bytes[at];
        size_t used = 1;
        if (byte == '\\' && size - at > 1 && bytes[at + 1] == '\\') {
            used = 2;
        } else if (byte == '\\') {
            byte = escaped_byte(bytes + at, size - at);
            used = 4;
        }
        if (byte <= 0 || length + 1 >= room) {
            result[0] = '\0';
            return 0;
        }
        result[length] = (char)byte;
        at += used;
    }
    result[length] = '\0';
    return length;
}
