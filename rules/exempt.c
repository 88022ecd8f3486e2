#include "rules/exempt.h"

#define ALL_DAYS    0x7f
#define OFFSET_WEST (12 * 60) /* the furthest west of UTC, and east of it, that a clock is set to */
#define OFFSET_EAST (14 * 60)

#define EXPECTED_SPAN   "a span of the day, as 02:00-02:10 or Mon-Fri 14:00-14:10 +08:00"
#define EXPECTED_DAYS   "Mon, Tue, Wed, Thu, Fri, Sat, Sun, or a range of them as Mon-Fri"
#define EXPECTED_OFFSET "an offset from UTC from -12:00 to +14:00, as +08:00"

static const char DAYS[7][4] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* Takes the part up to the next space off the front. */
static struct piece next_word(struct piece *rest) {
    size_t end = 0;
    while (end < rest->size && rest->bytes[end] != ' ' && rest->bytes[end] != '\t') {
        end++;
    }
    struct piece word = piece_part(*rest, 0, end);
    *rest = piece_trim(piece_part(*rest, end, rest->size));
    return word;
}

/* The number of a day from 0, whatever its case; 7 where it is none. */
static unsigned day_of(struct piece name) {
    unsigned day = 0;
    for (; name.size == 3 && day < 7; day++) {
        bool same = true;
        for (unsigned i = 0; i < 3; i++) {
            same = same && (name.bytes[i] | 0x20) == (DAYS[day][i] | 0x20);
        }
        if (same) {
            return day;
        }
    }
    return 7;
}

static bool read_days(struct piece text, uint8_t *days) {
    size_t dash = piece_find(text, '-');
    unsigned first = day_of(piece_part(text, 0, dash)), last = first;
    if (dash < text.size) {
        last = day_of(piece_part(text, dash + 1, text.size));
    }
    if (first == 7 || last == 7) {
        return false;
    }
    *days = 0;
    for (unsigned day = first;; day = (day + 1) % 7) {
        *days = (uint8_t)(*days | 1u << day);
        if (day == last) {
            return true;
        }
    }
}

static bool read_digits(struct piece text, unsigned *number) {
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') {
            return false;
        }
        *number = *number * 10 + (unsigned)(text.bytes[i] - '0');
    }
    return text.size > 0 && text.size <= 2;
}

/* "7:05" or "07:05" in minutes; hours beyond 99 and minutes beyond 59 are none. */
static bool read_clock(struct piece text, unsigned *minutes) {
    size_t colon = piece_find(text, ':');
    unsigned hour, minute;
    if (text.size != colon + 3 || !read_digits(piece_part(text, 0, colon), &hour) ||
        !read_digits(piece_part(text, colon + 1, text.size), &minute)) {
        return false;
    }
    *minutes = hour * 60 + minute;
    return minute < 60;
}

static const char *read_times(struct piece text, struct exempt_span *span) {
    size_t dash = piece_find(text, '-');
    unsigned begin, end;
    if (dash == text.size || !read_clock(piece_part(text, 0, dash), &begin) ||
        !read_clock(piece_part(text, dash + 1, text.size), &end)) {
        return EXPECTED_SPAN;
    }
    if (begin >= DAY_MINUTES || end > DAY_MINUTES) {
        return "times from 00:00 to 23:59, the end to 24:00";
    }
    if (begin == end) {
        return "an end that is not the beginning; all day is 00:00-24:00";
    }
    span->begin_minute = (uint16_t)begin;
    span->end_minute = (uint16_t)(end % DAY_MINUTES);
    return NULL;
}

static bool read_offset(struct piece text, int16_t *offset_minutes) {
    unsigned minutes;
    if (text.size == 0 || piece_is(text, "UTC")) {
        *offset_minutes = 0;
        return true;
    }
    bool west = text.bytes[0] == '-';
    if ((!west && text.bytes[0] != '+') || !read_clock(piece_part(text, 1, text.size), &minutes) ||
        minutes > (west ? OFFSET_WEST : OFFSET_EAST)) {
        return false;
    }
    *offset_minutes = (int16_t)(west ? -(int)minutes : (int)minutes);
    return true;
}

static bool is_letter(char byte) {
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

bool exempt_read(struct piece text, struct exempt_span *span, struct piece *found, const char **expected) {
    *span = (struct exempt_span){.days = ALL_DAYS};
    *found = text;
    *expected = EXPECTED_SPAN;
    if (text.size == 0) {
        return false;
    }
    struct piece word = next_word(&text);
    if (is_letter(word.bytes[0])) {
        if (!read_days(word, &span->days)) {
            *found = word;
            *expected = EXPECTED_DAYS;
            return false;
        }
        if (text.size == 0) {
            return false; /* days alone: what was found is the whole */
        }
        word = next_word(&text);
    }
    *expected = read_times(word, span);
    if (*expected != NULL) {
        *found = word;
        return false;
    }
    *found = text;
    *expected = EXPECTED_OFFSET;
    return read_offset(text, &span->offset_minutes);
}

static void write_clock(struct text *text, unsigned minutes) {
    text_add(text, minutes < 600 ? "0" : "");
    text_add_number(text, minutes / 60);
    text_add(text, minutes % 60 < 10 ? ":0" : ":");
    text_add_number(text, minutes % 60);
}

/* Days that were read are one range, which may pass the end of the week. */
static void write_days(struct text *text, uint8_t days) {
    unsigned first = 0, last;
    while (first < 6 && ((days >> first & 1) == 0 || (days >> (first + 6) % 7 & 1) != 0)) {
        first++;
    }
    last = first;
    while ((days >> (last + 1) % 7 & 1) != 0) {
        last = (last + 1) % 7;
    }
    text_add(text, DAYS[first]);
    if (last != first) {
        text_add(text, "-");
        text_add(text, DAYS[last]);
    }
    text_add(text, " ");
}

static void write_span(struct text *text, const struct exempt_span *span) {
    if ((span->days & ALL_DAYS) != ALL_DAYS) {
        write_days(text, span->days);
    }
    write_clock(text, span->begin_minute);
    text_add(text, "-");
    write_clock(text, span->end_minute == 0 ? DAY_MINUTES : span->end_minute);
    if (span->offset_minutes != 0) {
        bool west = span->offset_minutes < 0;
        text_add(text, west ? " -" : " +");
        write_clock(text, (unsigned)(west ? -span->offset_minutes : span->offset_minutes));
    }
}

void exempt_write(struct text *text, const struct exempt_span *spans, unsigned count) {
    text_add(text, count == 0 ? "off" : "");
    for (unsigned i = 0; i < count && i < EXEMPT_MAX; i++) {
        text_add(text, i > 0 ? ", " : "");
        write_span(text, &spans[i]);
    }
}

bool exempt_is_always(const struct exempt_span *span) {
    return (span->days & ALL_DAYS) == ALL_DAYS && span->begin_minute == span->end_minute;
}
