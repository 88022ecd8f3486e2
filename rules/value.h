/* Values of keys: durations, ratios, counts, words; read from text and written back. */
#ifndef CUTOUT_RULES_VALUE_H
#define CUTOUT_RULES_VALUE_H

#include "lib/text.h"
#include "rules/keys.h"
#include "rules/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads the value of a key, other than times of day (rules/exempt.h). False when it is none: then what was expected has been appended to *expected. */
bool value_read(const struct key *key, struct piece text, uint64_t *value, struct text *expected);

/* Appends a value of that key as value_read reads it; of times of day how many there are. */
void value_write(struct text *text, const struct key *key, uint64_t value);

#endif
