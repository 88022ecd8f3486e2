/* Bounded text building without stdio or locale, for code that must run anywhere. */
#ifndef CUTOUT_LIB_TEXT_H
#define CUTOUT_LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where text is built: always NUL-terminated, cut at room-1 bytes. room must be at least 1. */
struct text {
    char *bytes;
    size_t room;
    size_t length;
};

struct text text_in(char *bytes, size_t room);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t size);
/* Control characters, DEL and bytes from 128 up that are no whole UTF-8 sequence as \xNN, backslash doubled.
 */
void text_add_escaped(struct text *text, const char *bytes, size_t size);
void text_add_number(struct text *text, uint64_t number);
void text_add_hex(struct text *text, uint64_t number);
/* A duration as the rules write it: "700ms", "1.5s", "2m", "1h"; exact to the microsecond ("12.5ms", "250us"
 * is not a rules unit and is written as "0.25ms"). */
void text_add_duration(struct text *text, uint64_t ns);
/* Hundredths of a percent: "50%", "0.25%". */
void text_add_ratio(struct text *text, uint32_t ratio);

/* Takes text_add_escaped back: at most room - 1 bytes and a terminating zero. Returns the length; 0, with nothing in
 * result, where it is empty, too long, badly escaped, or holds a zero. */
size_t text_unescape(const char *bytes, size_t size, char *result, size_t room);

#endif
