/* What a program started now would run under: the CUTOUT_* variables of this process, put right and checked,
 * and the library. */
#ifndef CUTOUT_SHIM_TOOL_SETTINGS_H
#define CUTOUT_SHIM_TOOL_SETTINGS_H

#include "shim/environment.h"
#include "shim/tool/found.h"
#include "shim/tool/library.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define SETTINGS_WHY_MAX (2 * PATH_MAX + 512)

struct settings {
    struct environment environment; /* as the shim will read it, but for CUTOUT_DISABLE */
    bool disabled;                  /* CUTOUT_DISABLE=1: the shim will do nothing at all */
    bool joins;                     /* its panel exists already */
    struct libraries libraries;
    char why[SETTINGS_WHY_MAX]; /* what is wrong, after a function below returned false */
};

/* Puts the variables of this process right for the program to come: CUTOUT_RULES absolute (rules, if not
 * NULL), CUTOUT_PANEL (panel, if not NULL), CUTOUT_MODE (observe), CUTOUT_GROUP a number; and reads them. */
bool settings_read(struct settings *settings, const char *rules, const char *panel, bool observe);

/* Finds the library, of each word size. */
bool settings_find_library(struct settings *settings);

/* True when the rules file is good, or there is none. Each of its errors is reported when `report`, its
 * warnings when `warnings`. */
bool settings_check_rules(struct settings *settings, bool report, bool warnings);

/* True unless the panel to be joined (NULL: a new one) has another rules file. */
bool settings_check_panel(struct settings *settings, const struct found_panel *panel);

/* The rules file, or "built-in defaults". */
const char *settings_rules_text(const struct settings *settings);

#endif
