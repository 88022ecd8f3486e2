/* The rules language under damaged input: never a crash, and whatever is refused is refused with a place that
 * exists. The seed is fixed: rules_fuzz_test [SEED [ROUNDS]] repeats a run, or makes another. */
#include "tests/programs/rules_reading.h"

static const char *const SEEDS[] = {
    "# a comment\ninclude inc\n[default]\nwindow = 10s\n\n[payments]  # x\nmatch = payments.internal:443, "
    "10.1.0.0/16:8443\nlike = t\nslow_call = 700ms\n[t]\nslow_ratio = 50%\nprobes = 3\n",
    "\xef\xbb\xbf[r]\r\nmatch = *.svc.local:443, [2001:db8::]/32:5432, :6379, *, udp://:8000-8099\r\nmode = "
    "observe\r\njudge = every\r\ngate = connect, request\r\nprotocol = http",
    "[a]\nmatch = unix:///run/mysqld/*.sock, dns://*.internal, unix://@x # c\nlike = b\n[b]\nlike = "
    "c\n[c]\nlike = "
    "d\n[d]\nerror_ratio = 0.5\nconsecutive_errors = off\nmin_calls = 1000000\n",
    "[default]\nscope = rule\nwarmup = 1m\nslow_exempt = Mon-Fri 14:00-14:10 +08:00, 22:00-2:00 , Sat "
    "0:00-24:00 "
    "-3:30\n[a]\nmatch = dns://*, *\nmax_open = 50%\nopen_backoff = 1.5\nopen_max = 10m\n",
    "[b]\nmatch = b\nlike = c\nopen_for = 20s\nopen_jitter = 0\nforget_after = 720h\n[c]\nerror_count = "
    "5\nmax_in_flight = 100\nscope = name\nslow_exempt = off\nslow_call = 1s\nopen_max = 20s\n",
    "[x]\nmatch = a\nbuckets = 60\nopen_for = 1.5s\nprobe_timeout = 2m\nrefuse_with = "
    "ETIMEDOUT\nmin_slow_calls = "
    "1\nslow_call = off\n[y]\nmatch=[::1]/128:1-65535,10.0.0.5\n",
};
static const char *const PIECES[] = {"[",
                                     "]",
                                     "=",
                                     ",",
                                     "#",
                                     "\n",
                                     "\r\n",
                                     "off",
                                     "include inc\n",
                                     "like = a\n",
                                     "[default]\n",
                                     "match = ",
                                     "tcp://",
                                     "unix://",
                                     "dns://",
                                     ":",
                                     "-",
                                     "/",
                                     "*",
                                     "::",
                                     "%",
                                     "ms",
                                     "99999999999999999999",
                                     "0.",
                                     "\xff",
                                     "\xc2\x9b",
                                     " ",
                                     "+14:00",
                                     "Sun-Mon ",
                                     "24:00",
                                     "23:59-",
                                     "open_max = ",
                                     "window = ",
                                     "probes = 1\n",
                                     "[r]\nmatch = *\n"};

static uint64_t state;

static uint32_t random_below(uint32_t limit) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(((state >> 32) * limit) >> 32);
}

/* Puts size bytes in place of `cut` bytes at `at`. */
static size_t splice(char *text, size_t length, size_t room, size_t at, size_t cut, const char *bytes,
                     size_t size) {
    cut = cut > length - at ? length - at : cut;
    if (length - cut + size > room) {
        return length;
    }
    memmove(text + at + size, text + at + cut, length - at - cut);
    memcpy(text + at, bytes, size);
    return length - cut + size;
}

static size_t mutate(char *text, size_t length, size_t room) {
    size_t at = random_below((uint32_t)length + 1);
    char copy[64];
    size_t size = random_below(sizeof copy), from = random_below((uint32_t)length + 1);
    const char *piece = PIECES[random_below(sizeof PIECES / sizeof PIECES[0])];
    while (from < length && (text[from] < '0' || text[from] > '9')) {
        from++;
    }
    switch (random_below(8)) {
    case 5:
    case 6:
    case 7:
        copy[0] = (char)('0' + random_below(10));
        return splice(text, length, room, from, from < length, copy, from < length);
    case 0:
        copy[0] = (char)random_below(256);
        return splice(text, length, room, at, 1, copy, 1);
    case 1:
        return splice(text, length, room, at, size, "", 0);
    case 2:
        size = size > length - from ? length - from : size;
        memcpy(copy, text + from, size);
        return splice(text, length, room, at, 0, copy, size);
    default:
        return splice(text, length, room, at, random_below(4), piece, strlen(piece));
    }
}

static size_t lines_of(const struct rules_source *source) {
    size_t lines = 1;
    for (size_t i = 0; i < source->size; i++) {
        lines += source->bytes[i] == '\n';
    }
    return lines;
}

static void check_note(const struct rules_note *note) {
    char line[1024];
    CHECK(note->source < sources.count && note->line >= 1 && note->column >= 1);
    CHECK(note->line <= lines_of(&sources.source[note->source]));
    CHECK(note->column <= sources.source[note->source].size + 1);
    CHECK(strstr(note->text, "expected") != NULL);
    size_t length = rules_note_format(&sources, note, line, sizeof line);
    CHECK(length == strlen(line));
    for (size_t i = 0; i < length; i++) {
        CHECK((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
    }
}

static void check_one(const char *text, size_t length, const char *included, size_t included_length) {
    /* Copies of the exact size, so that a sanitizer sees one byte too many. */
    char *bytes[2] = {malloc(length + !length), malloc(included_length + !included_length)};
    memcpy(bytes[0], text, length);
    memcpy(bytes[1], included, included_length);
    sources.count = 2;
    sources.source[0] = (struct rules_source){"t", bytes[0], length};
    sources.source[1] = (struct rules_source){"inc", bytes[1], included_length};
    bool good = rules_parse(&sources, &ruleset, &notes, scratch);
    rules_warn(scratch);
    CHECK(good == (notes.errors == 0));
    CHECK(notes.count <= RULES_NOTES && notes.count <= notes.errors + notes.warnings);
    for (size_t i = 0; i < notes.count; i++) {
        check_note(&notes.note[i]);
    }
    if (good) {
        check_round_trip();
    }
    free(bytes[0]);
    free(bytes[1]);
}

int main(int argc, char **argv) {
    static char text[4096], included[1024];
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000, good = 0;
    size_t length = 0, included_length = 0;
    for (unsigned long round = 0; round < rounds; round++) {
        /* Damage upon damage for a while, then a fresh start. */
        if (round % 4 == 0) {
            const char *seed = SEEDS[random_below(sizeof SEEDS / sizeof SEEDS[0])];
            length = strlen(seed);
            memcpy(text, seed, length);
            included_length = splice(included, 0, sizeof included, 0, 0, "[t2]\nprobes = 2\n", 16);
        }
        length = mutate(text, length, sizeof text);
        if (random_below(8) == 0) {
            included_length = mutate(included, included_length, sizeof included);
        }
        check_one(text, length, included, included_length);
        good += notes.errors == 0;
    }
    printf("%lu of %lu accepted\n", good, rounds);
    return 0;
}
