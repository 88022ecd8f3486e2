/* What one parse has read so far: sections and their settings, before they are rules. Lies in the scratch
 * memory that rules_parse is given, and stays there for whoever asks where a value comes from. */
#ifndef CUTOUT_RULES_DRAFT_H
#define CUTOUT_RULES_DRAFT_H

#include "rules/keys.h"
#include "rules/notes.h"
#include "rules/parse.h"
#include "rules/scan.h"

#include <stdbool.h>
#include <stdint.h>

#define DRAFT_SECTIONS   2048 /* rules and templates of one parse, [default] and `spare` included */
#define DRAFT_NO_SECTION UINT16_MAX
#define DRAFT_DEFAULT    0 /* [default], there even when nobody writes it */
#define DRAFT_SPARE      1 /* takes what stands in a section that was refused, so that it is checked too */

enum setting_state { SETTING_ABSENT = 0, SETTING_GOOD, SETTING_BAD /* written, but refused */ };

/* One key of one section. */
struct setting {
    uint64_t value; /* as struct key says; of a bad one meaningless */
    struct place place;
    uint8_t state; /* enum setting_state */
    bool acts;     /* some rule that takes it can come to use it */
};

struct section {
    uint64_t key; /* text_hash of the name */
    struct place place;
    struct place like_place;
    struct place match_place;
    uint16_t rule; /* index in the ruleset; 0 where it is a template or [default] */
    uint16_t like; /* the section it takes values from; DRAFT_NO_SECTION where there is none */
    bool bad;      /* a pattern or its `like` was refused: what it covers or takes over is not known */
    char name[BREAKER_RULE_MAX];
    char like_name[BREAKER_RULE_MAX];      /* "" = no `like` */
    struct exempt_span exempt[EXEMPT_MAX]; /* of slow_exempt, whose setting says how many */
    struct setting setting[KEY_VALUES];
};

struct draft {
    const struct rules_sources *sources;
    struct ruleset *ruleset;
    struct rules_notes *notes;
    uint16_t sections;                  /* used in section[] */
    uint16_t current;                   /* the section being read; DRAFT_NO_SECTION above the first */
    uint16_t section_of[RULESET_RULES]; /* of each rule */
    bool rules_full, sections_full;     /* that there is no room has been said */
    uint16_t open[RULES_SOURCES];       /* the files being read, the including ones first */
    uint16_t opened;                    /* how many */
    bool seen[RULES_SOURCES];           /* has been read, or is being read */
    struct scan scan[RULES_SOURCES];    /* how far each has been read */
    char path[PANEL_PATH_MAX];          /* work room for an included file's path */
    struct section section[DRAFT_SECTIONS];
};
_Static_assert(sizeof(struct draft) <= RULES_SCRATCH, "a draft must fit the scratch memory");

/* Empties the draft: [default] and the spare section. */
void draft_begin(struct draft *draft, const struct rules_sources *sources, struct ruleset *ruleset,
                 struct rules_notes *notes);

/* The section of that name; DRAFT_NO_SECTION where there is none. */
uint16_t draft_find(const struct draft *draft, const char *name);

/* Adds a section of that name; DRAFT_NO_SECTION when there is no room. */
uint16_t draft_add(struct draft *draft, const char *name, struct place place);

/* Reads what stands in one line, of source `source`. */
void draft_read_section(struct draft *draft, const struct line *line, uint16_t source);
void draft_read_setting(struct draft *draft, const struct line *line, uint16_t source);

/* Binds every `like` to its section, and refuses circles. */
void draft_bind(struct draft *draft);

/* Where the value of a key comes from, for one section. */
struct provenance {
    const struct setting *setting; /* NULL: built in */
    uint16_t section;              /* whose it is */
    enum rules_origin origin;
    unsigned steps; /* how many sections were passed by: the less, the nearer */
};
struct provenance draft_provenance(const struct draft *draft, uint16_t section, enum rules_key key);

/* The thresholds of a section: its own values, then those of its `like`, then [default]'s, then built in. */
struct thresholds draft_thresholds(const struct draft *draft, uint16_t section);

/* False where a value that the section takes was refused: what it will be is not known yet. */
bool draft_is_known(const struct draft *draft, uint16_t section);

/* Refuses values that contradict one another. */
void draft_check(struct draft *draft);

#endif
