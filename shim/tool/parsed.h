/* A rules file read and parsed for people: what is wrong with it is reported, and it stays for whoever asks where a value
 * comes from. */
#ifndef CUTOUT_SHIM_TOOL_PARSED_H
#define CUTOUT_SHIM_TOOL_PARSED_H

#include "rules/parse.h"
#include "rules/print.h"
#include "shim/load.h"

#include <stdbool.h>

struct parsed {
    struct load load; /* of a file: its memory */
    struct rules_sources none;
    struct ruleset ruleset;
    struct rules_notes notes;
    _Alignas(64) unsigned char scratch[RULES_SCRATCH]; /* for rules_print and explain */
};

/* Reads and parses the file; path NULL: the built-in defaults. NULL, with every error reported, when it is bad. */
struct parsed *parsed_open(const char *path);
void parsed_close(struct parsed *parsed);

/* Prints the rules from print->rule to `last`, as a rules file. */
void parsed_print(struct rules_print *print, uint32_t last);

/* The rules file of a program started here and now; NULL where none is named and none exists. */
const char *parsed_file_in_force(void);

/* Prints the messages: of `check` they are what was asked for, elsewhere only errors are. */
void parsed_print_notes(const struct rules_sources *sources, const struct rules_notes *notes, bool checking);

/* Says why load_open failed, with the place of the include where it is an included file. */
void parsed_report_unreadable(const struct load *load);

#endif
