/* Any bytes as rules files: nothing is read beyond them, every refusal names line and column, and what is accepted, printed
 * and parsed again says the same. A zero byte begins the next file: main, a.rules and b.rules, which may include each
 * other. */
#include "rules/parse.h"
#include "rules/print.h"
#include "tests/programs/fuzz.h"

#include <string.h>

#define FILES        3
#define PRINTED_ROOM (4u << 20)

/* What one parse fills. */
struct parse {
    struct ruleset ruleset;
    struct rules_notes notes;
    _Alignas(64) unsigned char scratch[RULES_SCRATCH];
};

static struct parse parse, again;
static char printed[PRINTED_ROOM];

static void check_notes(const struct rules_sources *sources, const struct rules_notes *notes) {
    MUST(notes->count <= RULES_NOTES && notes->errors + notes->warnings >= notes->count);
    MUST(notes->errors == 0 || notes->count > 0);
    for (size_t i = 0; i < notes->count; i++) {
        const struct rules_note *note = &notes->note[i];
        char text[1024];
        MUST(note->source < sources->count && note->line >= 1 && note->column >= 1);
        MUST(note->text[0] != '\0' && memchr(note->text, 0, sizeof note->text) != NULL);
        MUST(rules_note_format(sources, note, text, sizeof text) == strlen(text));
    }
}

static size_t print_rules(void) {
    char piece_bytes[RULES_PRINT_ROOM];
    struct text piece = text_in(piece_bytes, sizeof piece_bytes);
    struct rules_print print = {.ruleset = &parse.ruleset, .scratch = parse.scratch};
    size_t length = 0;
    while (rules_print_next(&print, &piece)) {
        MUST(length + piece.length <= sizeof printed);
        memcpy(printed + length, piece.bytes, piece.length);
        length += piece.length;
    }
    return length;
}

/* The rules as they are printed are the same rules. */
static void check_printing(void) {
    struct rules_sources sources = {.count = 1};
    sources.source[0] = (struct rules_source){"printed", printed, print_rules()};
    MUST(rules_parse(&sources, &again.ruleset, &again.notes, again.scratch));
    MUST(again.ruleset.rules == parse.ruleset.rules && again.ruleset.patterns == parse.ruleset.patterns);
    for (uint32_t i = 0; i < parse.ruleset.rules; i++) {
        const struct rule *a = &parse.ruleset.rule[i], *b = &again.ruleset.rule[i];
        MUST(a->key == b->key && strcmp(a->name, b->name) == 0);
        MUST(memcmp(&a->thresholds, &b->thresholds, sizeof a->thresholds) == 0);
    }
}

/* The paths that the sources include must be readable text of bounded length. */
static void check_includes(const struct rules_source *source) {
    size_t offset = 0, size;
    const char *path;
    char result[256];
    while (rules_next_include(source, &offset, &path, &size)) {
        MUST(path >= source->bytes && path + size <= source->bytes + source->size);
        rules_include_path(source->path, path, size, result, sizeof result);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const char *const paths[FILES] = {"main", "a.rules", "b.rules"};
    struct rules_sources sources = {0};
    char *copies[FILES] = {0};
    for (size_t left = size; sources.count < FILES;) {
        const uint8_t *zero = left > 0 && sources.count + 1 < FILES ? memchr(bytes, 0, left) : NULL;
        size_t length = zero != NULL ? (size_t)(zero - bytes) : left;
        char *copy =
            malloc(length + 1); /* of its own: one byte more, or an empty file would be an unread one */
        char *begin = copy + 1; /* and its end is the end of the memory */
        if (length > 0) {
            memcpy(begin, bytes, length);
        }
        copies[sources.count] = copy;
        sources.source[sources.count] = (struct rules_source){paths[sources.count], begin, length};
        sources.count++;
        if (zero == NULL) {
            break;
        }
        bytes += length + 1;
        left -= length + 1;
    }
    for (size_t i = 0; i < sources.count; i++) {
        check_includes(&sources.source[i]);
    }
    bool good = rules_parse(&sources, &parse.ruleset, &parse.notes, parse.scratch);
    rules_warn(parse.scratch);
    check_notes(&sources, &parse.notes);
    MUST(good == (parse.notes.errors == 0));
    if (good) {
        check_printing();
    }
    for (size_t i = 0; i < FILES; i++) {
        free(copies[i]);
    }
    return 0;
}
