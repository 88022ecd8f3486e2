#include "shim/tool/parsed.h"

#include "shim/environment.h"
#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE_ROOM 8192 /* a path with every byte escaped may be cut, a message never is */

void parsed_print_notes(const struct rules_sources *sources, const struct rules_notes *notes, bool checking) {
    static char line[NOTE_ROOM];
    size_t shown_errors = 0;
    for (size_t i = 0; i < notes->count; i++) {
        const struct rules_note *note = &notes->note[i];
        rules_note_format(sources, note, line, sizeof line);
        shown_errors += !note->warning;
        if (checking) {
            puts(line);
        } else if (!note->warning) {
            tool_error("%s", line);
        }
    }
    size_t more = checking ? notes->errors + notes->warnings - notes->count : notes->errors - shown_errors;
    if (more > 0 && checking) {
        printf("and %zu more\n", more);
    } else if (more > 0) {
        tool_error("and %zu more", more);
    }
}

/* Where in the source the file at `path` is included; false where it is not. */
static bool find_include(const struct rules_source *source, const char *path, size_t *line, size_t *column) {
    static char result[PANEL_PATH_MAX];
    size_t offset = 0, size;
    const char *written;
    while (source->bytes && rules_next_include(source, &offset, &written, &size)) {
        if (!rules_include_path(source->path, written, size, result, sizeof result) ||
            strcmp(result, path) != 0) {
            continue;
        }
        const char *start = source->bytes;
        *line = 1;
        for (const char *at = source->bytes; at < written; at++) {
            if (*at == '\n') {
                start = at + 1;
                *line += 1;
            }
        }
        *column = (size_t)(written - start) + 1;
        return true;
    }
    return false;
}

void parsed_report_unreadable(const struct load *load) {
    const struct rules_sources *sources = &load->sources;
    size_t failed = 0, line, column;
    while (failed < sources->count && sources->source[failed].bytes) {
        failed++;
    }
    for (size_t i = 0; failed > 0 && failed < sources->count && i < failed; i++) {
        if (find_include(&sources->source[i], sources->source[failed].path, &line, &column)) {
            tool_error("%s:%zu:%zu: cannot include %s", shown(sources->source[i].path), line, column,
                       shown(load->error));
            return;
        }
    }
    tool_error("%s", shown(load->error));
}

struct parsed *parsed_open(const char *path) {
    struct parsed *parsed = aligned_alloc(64, sizeof *parsed);
    if (!parsed) {
        tool_error("out of memory");
        return NULL;
    }
    parsed->load = (struct load){0};
    parsed->none.count = 0;
    const struct rules_sources *sources = path ? &parsed->load.sources : &parsed->none;
    if (path && load_open(&parsed->load, path) < 0) {
        parsed_report_unreadable(&parsed->load);
    } else if (rules_parse(sources, &parsed->ruleset, &parsed->notes, parsed->scratch)) {
        return parsed;
    } else {
        parsed_print_notes(sources, &parsed->notes, false);
    }
    parsed_close(parsed);
    return NULL;
}

void parsed_close(struct parsed *parsed) {
    load_close(&parsed->load);
    free(parsed);
}

void parsed_print(struct rules_print *print, uint32_t last) {
    char bytes[RULES_PRINT_ROOM];
    struct text piece = text_in(bytes, sizeof bytes);
    while (print->rule <= last && rules_print_next(print, &piece)) {
        fwrite(piece.bytes, 1, piece.length, stdout);
    }
}

const char *parsed_file_in_force(void) {
    const char *named = getenv("CUTOUT_RULES");
    if (named && named[0]) {
        return named;
    }
    return access(ENVIRONMENT_RULES_FILE, F_OK) == 0 ? ENVIRONMENT_RULES_FILE : NULL;
}
