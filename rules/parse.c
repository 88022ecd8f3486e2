#include "rules/parse.h"

#include "rules/draft.h"
#include "rules/notes.h"
#include "rules/scan.h"

#include <string.h>

static void open_source(struct draft *draft, uint16_t source) {
    draft->seen[source] = true;
    draft->scan[source] = (struct scan){.source = &draft->sources->source[source]};
    draft->open[draft->opened++] = source;
}

static bool is_open(const struct draft *draft, uint16_t source) {
    for (uint16_t i = 0; i < draft->opened; i++) {
        if (draft->open[i] == source) {
            return true;
        }
    }
    return false;
}

/* The source of that path; the number of sources where there is none. */
static uint16_t find_source(const struct rules_sources *sources, const char *path) {
    uint16_t source = 0;
    while (source < sources->count && (strlen(sources->source[source].path) != strlen(path) ||
                                       memcmp(sources->source[source].path, path, strlen(path)) != 0)) {
        source++;
    }
    return source;
}

/* An included file is read where its `include` stands, and only the first time: what it holds cannot be said
 * twice. */
static void read_include(struct draft *draft, const struct line *line, uint16_t source) {
    struct place place = {line->number, line->name.column, source};
    const char *including = draft->sources->source[source].path;
    draft->current = DRAFT_NO_SECTION;
    if (!rules_include_path(including, line->name.bytes, line->name.size, draft->path, sizeof draft->path)) {
        notes_found(draft->notes, place, line->name, "the path of a file");
        return;
    }
    uint16_t included = find_source(draft->sources, draft->path);
    if (included == draft->sources->count || draft->sources->source[included].bytes == NULL) {
        notes_found(draft->notes, place, line->name, "a file that can be read");
    } else if (is_open(draft, included)) {
        notes_found(draft->notes, place, line->name, "a file that does not include this one");
    } else if (!draft->seen[included]) {
        open_source(draft, included);
    }
}

static void read_line(struct draft *draft, const struct line *line, uint16_t source) {
    switch (line->kind) {
    case LINE_SECTION:
        draft_read_section(draft, line, source);
        break;
    case LINE_SETTING:
        draft_read_setting(draft, line, source);
        break;
    case LINE_INCLUDE:
        read_include(draft, line, source);
        break;
    case LINE_BAD:
        notes_found(draft->notes, (struct place){line->number, line->name.column, source}, line->name,
                    line->expected);
        break;
    default:
        break;
    }
}

static void read_sources(struct draft *draft) {
    open_source(draft, 0);
    while (draft->opened > 0) {
        uint16_t source = draft->open[draft->opened - 1];
        struct line line;
        if (scan_line(&draft->scan[source], &line)) {
            read_line(draft, &line, source);
        } else {
            draft->opened--;
            draft->current = DRAFT_NO_SECTION;
        }
    }
}

static void compile_rule(struct draft *draft, uint32_t index) {
    const struct section *section = &draft->section[draft->section_of[index]];
    struct rule *rule = &draft->ruleset->rule[index];
    memset(rule, 0, sizeof *rule);
    rule->key = section->key;
    rule->thresholds = draft_thresholds(draft, draft->section_of[index]);
    rule->line = section->place.line;
    memcpy(rule->name, section->name, sizeof rule->name);
}

bool rules_parse(const struct rules_sources *sources, struct ruleset *ruleset, struct rules_notes *notes,
                 void *scratch) {
    struct draft *draft = scratch;
    notes_clear(notes);
    ruleset_defaults(ruleset);
    draft_begin(draft, sources, ruleset, notes);
    if (sources->count > 0 && sources->source[0].bytes != NULL) {
        read_sources(draft);
    }
    draft_bind(draft);
    for (uint32_t i = 0; i < ruleset->rules; i++) {
        compile_rule(draft, i);
    }
    draft_check(draft);
    notes_sort(notes);
    return notes->errors == 0;
}
