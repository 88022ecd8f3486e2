#include "rules/notes.h"

#include <string.h>

#define FOUND_MAX 40 /* bytes of what was found that a message shows */

void notes_clear(struct rules_notes *notes) {
    notes->count = 0;
    notes->errors = 0;
    notes->warnings = 0;
}

static bool notes_hold(const struct rules_notes *notes, struct place place, bool warning, const char *text) {
    for (size_t i = 0; i < notes->count; i++) {
        const struct rules_note *note = &notes->note[i];
        if (note->source == place.source && note->line == place.line && note->column == place.column &&
            note->warning == warning && strlen(note->text) == strlen(text) &&
            memcmp(note->text, text, strlen(text)) == 0) {
            return true;
        }
    }
    return false;
}

/* Where the message may be written; NULL where there is no room for it. */
static struct rules_note *notes_room(struct rules_notes *notes, bool warning) {
    if (notes->count < RULES_NOTES) {
        return &notes->note[notes->count++];
    }
    for (size_t i = RULES_NOTES; !warning && i-- > 0;) {
        if (notes->note[i].warning) {
            return &notes->note[i];
        }
    }
    return NULL;
}

void notes_add(struct rules_notes *notes, struct place place, bool warning, const char *text) {
    if (notes_hold(notes, place, warning, text)) {
        return;
    }
    *(warning ? &notes->warnings : &notes->errors) += 1;
    struct rules_note *note = notes_room(notes, warning);
    if (note == NULL) {
        return;
    }
    note->warning = warning;
    note->source = place.source;
    note->line = place.line;
    note->column = place.column;
    struct text copy = text_in(note->text, sizeof note->text);
    text_add(&copy, text);
}

void notes_found(struct rules_notes *notes, struct place place, struct piece found, const char *expected) {
    char bytes[NOTE_TEXT_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    text_add(&text, "found ");
    text_add_found(&text, found);
    text_add(&text, ", expected ");
    text_add(&text, expected);
    notes_add(notes, place, false, bytes);
}

static bool note_precedes(const struct rules_note *a, const struct rules_note *b) {
    if (a->source != b->source) {
        return a->source < b->source;
    }
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

void notes_sort(struct rules_notes *notes) {
    for (size_t i = 1; i < notes->count; i++) {
        struct rules_note note = notes->note[i];
        size_t at = i;
        while (at > 0 && note_precedes(&note, &notes->note[at - 1])) {
            notes->note[at] = notes->note[at - 1];
            at--;
        }
        notes->note[at] = note;
    }
}

void text_add_found(struct text *text, struct piece found) {
    if (found.size == 0) {
        text_add(text, "nothing");
        return;
    }
    size_t size = found.size <= FOUND_MAX ? found.size : FOUND_MAX;
    /* Never half a UTF-8 sequence. */
    while (size > 0 && size < found.size && ((unsigned char)found.bytes[size] & 0xc0) == 0x80) {
        size--;
    }
    text_add(text, "'");
    text_add_escaped(text, found.bytes, size);
    text_add(text, size < found.size ? "...'" : "'");
}

void text_add_place(struct text *text, const struct rules_sources *sources, struct place place,
                    uint16_t here) {
    if (place.source != here && place.source < sources->count) {
        const char *path = sources->source[place.source].path;
        text_add_escaped(text, path, strlen(path));
        text_add(text, " ");
    }
    text_add(text, "line ");
    text_add_number(text, place.line);
}

size_t rules_note_format(const struct rules_sources *sources, const struct rules_note *note, char *text,
                         size_t room) {
    struct text line = text_in(text, room);
    const char *path = note->source < sources->count ? sources->source[note->source].path : "";
    text_add_escaped(&line, path, strlen(path));
    text_add(&line, ":");
    text_add_number(&line, note->line);
    text_add(&line, ":");
    text_add_number(&line, note->column);
    text_add(&line, note->warning ? ": warning: " : ": ");
    text_add(&line, note->text);
    return line.length;
}
