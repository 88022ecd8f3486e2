#include "shim/tool/output.h"

#include "lib/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS      UINT64_C(1000000000)
#define MILLISECOND_NS UINT64_C(1000000)

#define SHOWN_BUFFERS 16
#define SHOWN_MAX     4608 /* a whole path of ordinary letters */

/* The next of the buffers that are used in turn. */
static char *next_buffer(void) {
    static char buffers[SHOWN_BUFFERS][SHOWN_MAX];
    static unsigned next;
    return buffers[next++ % SHOWN_BUFFERS];
}

const char *shown(const char *text) {
    struct text out = text_in(next_buffer(), SHOWN_MAX);
    text_add_escaped(&out, text, strlen(text));
    return out.bytes;
}

const char *shown_time(uint64_t unix_ns) {
    char *result = next_buffer();
    time_t seconds = (time_t)(unix_ns / SECOND_NS);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc)) {
        memset(&utc, 0, sizeof utc);
    }
    snprintf(result, SHOWN_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", utc.tm_year + 1900, utc.tm_mon + 1,
             utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
             (unsigned)(unix_ns % SECOND_NS / MILLISECOND_NS));
    return result;
}

const char *shown_duration(uint64_t ns) {
    struct text out = text_in(next_buffer(), SHOWN_MAX);
    text_add_duration(&out, ns - ns % MILLISECOND_NS);
    return out.bytes;
}

const char *shown_span(uint64_t ns) {
    char *result = next_buffer();
    uint64_t tenths = ns / (SECOND_NS / 10), seconds = tenths / 10;
    if (tenths < 100) {
        snprintf(result, SHOWN_MAX, "%" PRIu64 ".%" PRIu64 "s", seconds, tenths % 10);
    } else if (seconds < 120) {
        snprintf(result, SHOWN_MAX, "%" PRIu64 "s", seconds);
    } else if (seconds < 7200) {
        snprintf(result, SHOWN_MAX, "%" PRIu64 "m", seconds / 60);
    } else if (seconds < 172800) {
        snprintf(result, SHOWN_MAX, "%" PRIu64 "h", seconds / 3600);
    } else {
        snprintf(result, SHOWN_MAX, "%" PRIu64 "d", seconds / 86400);
    }
    return result;
}

const char *shown_share(uint64_t part, uint64_t whole) {
    char *result = next_buffer();
    uint64_t tenths = whole ? part * 1000 / whole : 0;
    snprintf(result, SHOWN_MAX, "%" PRIu64 ".%" PRIu64 "%%", tenths / 10, tenths % 10);
    return result;
}

const char *shown_ratio(uint32_t ratio) {
    struct text out = text_in(next_buffer(), SHOWN_MAX);
    text_add_ratio(&out, ratio);
    return out.bytes;
}

const char *shown_size(uint64_t bytes) {
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    char *result = next_buffer();
    uint64_t tenths = bytes * 10 / 1024;
    size_t unit = 0;
    for (; tenths >= 10240 && unit < 3; unit++) {
        tenths /= 1024;
    }
    snprintf(result, SHOWN_MAX, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[unit]);
    return result;
}

size_t columns_of(const char *text) {
    size_t columns = 0;
    for (; *text; text++) {
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return columns;
}

bool output_wants_colour(void) {
    const char *unwanted = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && (!unwanted || !*unwanted);
}

void copy_bounded(char *result, size_t room, const char *bytes, size_t size) {
    size_t length = 0;
    while (length < size && length < room - 1 && bytes[length]) {
        result[length] = bytes[length];
        length++;
    }
    result[length] = 0;
}
