/* A compiled set of rules: what covers a destination, and how it is judged.
 *
 * Fixed layout without pointers: it is written into the panel and read there by 32- and 64-bit processes, and
 * every index in it is bounded before use, because another process may have scribbled over it.
 */
#ifndef CUTOUT_RULES_RULESET_H
#define CUTOUT_RULES_RULESET_H

#include "lib/breaker.h"
#include "lib/endpoint.h"
#include "lib/panel.h"
#include "lib/thresholds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULESET_RULES    1024 /* the [default] rule included; it is always rule 0 */
#define RULESET_PATTERNS 8192
#define RULESET_TEXT     (384u * 1024u)

struct pattern {
    uint16_t rule;     /* whose pattern it is */
    uint8_t scheme;    /* enum endpoint_scheme */
    uint8_t kind;      /* enum pattern_kind */
    uint16_t port_low; /* 0..65535: any port */
    uint16_t port_high;
    uint8_t ipv6;
    uint8_t prefix;    /* of an address: how many leading bits must agree */
    uint16_t length;   /* of the text */
    uint32_t text;     /* offset into the ruleset's text */
    uint8_t bytes[16]; /* of an address */
};

enum pattern_kind {
    PATTERN_ANY = 0, /* any host */
    PATTERN_ADDRESS,
    PATTERN_NAME,   /* the text is the whole host name or path */
    PATTERN_SUFFIX, /* "*.svc.local": the text is ".svc.local" */
    PATTERN_GLOB    /* unix path with '*' anywhere */
};

struct rule {
    uint64_t key; /* text_hash of the name */
    struct thresholds thresholds;
    uint32_t line; /* where its section begins, for people; 0 = built in */
    uint32_t reserved;
    char name[BREAKER_RULE_MAX];
};

struct ruleset {
    uint32_t rules;
    uint32_t patterns; /* in file order: the first that matches decides */
    uint32_t text_bytes;
    uint32_t reserved;
    struct rule rule[RULESET_RULES];
    struct pattern pattern[RULESET_PATTERNS];
    char text[RULESET_TEXT];
};
_Static_assert(sizeof(struct ruleset) <= PANEL_RULESET_BYTES, "a ruleset must fit its place in the panel");
/* The same in 32- and 64-bit processes: whoever changes a number here raises PANEL_LAYOUT. */
_Static_assert(sizeof(struct rule) == 248 && sizeof(struct pattern) == 32 && sizeof(struct ruleset) == 909328,
               "the layout of a ruleset is fixed");

/* The built-in defaults: one rule, "default". */
void ruleset_defaults(struct ruleset *ruleset);

/* The built-in thresholds of interface.md. */
struct thresholds thresholds_defaults(void);

/* Which rule covers the endpoint. text is the path or host name of a unix or dns endpoint, else NULL; host is
 * the host name (canonical form) under which the program found the address, or NULL. Returns the rule's
 * index; 0, the [default] rule, when no rule matches. Safe on a scribbled ruleset. */
uint32_t ruleset_match(const struct ruleset *ruleset, const struct endpoint *endpoint, const char *text,
                       const char *host);

/* True when that one pattern matches, as ruleset_match takes it. */
bool ruleset_pattern_matches(const struct ruleset *ruleset, const struct pattern *pattern,
                             const struct endpoint *endpoint, const char *text, const char *host);

/* The rule with that index, or the first rule when the index is out of range. Never NULL. */
const struct rule *ruleset_rule(const struct ruleset *ruleset, uint32_t index);

/* Index of the rule of that name; RULESET_RULES when there is none. */
uint32_t ruleset_find(const struct ruleset *ruleset, const char *name);

/* Copies the used parts of `from` to `to`. */
void ruleset_copy(struct ruleset *to, const struct ruleset *from);

#endif
