#include "rules/ruleset.h"

#include "rules/pattern.h"

#include <errno.h>
#include <string.h>

#define MS UINT64_C(1000000)

struct thresholds thresholds_defaults(void) {
    return (struct thresholds){
        .mode = MODE_ENFORCE,
        .judge = JUDGE_AUTO,
        .gate = GATE_REQUEST,
        .protocol = PROTOCOL_AUTO,
        .buckets = 10,
        .probes = 3,
        .error_ratio = 5000,
        .consecutive_errors = 5,
        .refuse_errno = ECONNREFUSED,
        .scope = SCOPE_DESTINATION,
        .max_open = 10000, /* no limit */
        .open_backoff = 100,
        .open_jitter = 1000,
        .window_ms = 10000,
        .min_calls = 10,
        .min_slow_calls = 1,
        .slow_call_ns = 1000 * MS, /* shown, and never judged by: slow_written is 0 */
        .open_for_ns = 10000 * MS,
        .probe_timeout_ns = 5000 * MS,
        .open_max_ns = 300 * 1000 * MS,
        .forget_after_ns = 3600 * 1000 * MS,
    };
}

void ruleset_defaults(struct ruleset *ruleset) {
    static const char name[] = "default";
    ruleset->rules = 1;
    ruleset->patterns = 0;
    ruleset->text_bytes = 0;
    ruleset->reserved = 0;
    struct rule *rule = &ruleset->rule[0];
    memset(rule, 0, sizeof *rule);
    rule->key = text_hash(name, sizeof name - 1);
    rule->thresholds = thresholds_defaults();
    memcpy(rule->name, name, sizeof name);
}

/* A number read from a ruleset, once: the compiler may not read it again behind the check that bounds it.
 * The memory is shared, and a stray write can come between. */
static uint32_t settled(uint32_t number) {
    __asm__("" : "+r"(number));
    return number;
}

static uint32_t bounded(uint32_t number, uint32_t most) {
    number = settled(number);
    return number < most ? number : most;
}

/* A name or path that a pattern's text is compared with. NULL where there is none. */
struct subject {
    const char *bytes;
    size_t size;
};

/* Most texts of the same length differ in their first bytes: they are told apart without a call. */
static bool bytes_agree(const char *a, const char *b, size_t size) {
    uint64_t one, other;
    if (size >= sizeof one) {
        memcpy(&one, a, sizeof one);
        memcpy(&other, b, sizeof other);
        if (one != other) {
            return false;
        }
    }
    return memcmp(a, b, size) == 0;
}

static bool text_fits(const struct ruleset *ruleset, const struct pattern *pattern, struct subject subject) {
    uint32_t length = settled(pattern->length), offset = settled(pattern->text);
    if (subject.bytes == NULL || length > RULESET_TEXT || offset > RULESET_TEXT - length) {
        return false;
    }
    const char *text = ruleset->text + offset;
    switch (pattern->kind) {
    case PATTERN_NAME:
        return length == subject.size && bytes_agree(text, subject.bytes, length);
    case PATTERN_SUFFIX:
        return length < subject.size && bytes_agree(text, subject.bytes + subject.size - length, length);
    case PATTERN_GLOB:
        return pattern_glob_fits(text, length < ENDPOINT_NAME_MAX ? length : ENDPOINT_NAME_MAX, subject.bytes,
                                 subject.size);
    default:
        return false;
    }
}

static bool pattern_matches(const struct ruleset *ruleset, const struct pattern *pattern,
                            const struct endpoint *endpoint, struct subject subject) {
    if (pattern->scheme != endpoint->scheme || endpoint->port < pattern->port_low ||
        endpoint->port > pattern->port_high) {
        return false;
    }
    if (pattern->kind == PATTERN_ANY) {
        return true;
    }
    if (pattern->kind == PATTERN_ADDRESS) {
        return pattern->ipv6 == endpoint->ipv6 &&
               pattern_bits_agree(pattern->bytes, endpoint->bytes, bounded(pattern->prefix, 128));
    }
    return text_fits(ruleset, pattern, subject);
}

static struct subject subject_of(const struct endpoint *endpoint, const char *text, const char *host) {
    bool named = endpoint->scheme == SCHEME_UNIX || endpoint->scheme == SCHEME_DNS;
    const char *bytes = named ? text : host;
    return (struct subject){bytes, bytes != NULL ? strlen(bytes) : 0};
}

bool ruleset_pattern_matches(const struct ruleset *ruleset, const struct pattern *pattern,
                             const struct endpoint *endpoint, const char *text, const char *host) {
    return pattern_matches(ruleset, pattern, endpoint, subject_of(endpoint, text, host));
}

uint32_t ruleset_match(const struct ruleset *ruleset, const struct endpoint *endpoint, const char *text,
                       const char *host) {
    struct subject subject = subject_of(endpoint, text, host);
    uint32_t patterns = bounded(ruleset->patterns, RULESET_PATTERNS);
    for (uint32_t i = 0; i < patterns; i++) {
        const struct pattern *pattern = &ruleset->pattern[i];
        if (pattern_matches(ruleset, pattern, endpoint, subject)) {
            uint32_t rule = settled(pattern->rule);
            return rule < bounded(ruleset->rules, RULESET_RULES) ? rule : 0;
        }
    }
    return 0;
}

const struct rule *ruleset_rule(const struct ruleset *ruleset, uint32_t index) {
    return &ruleset->rule[index < bounded(ruleset->rules, RULESET_RULES) ? index : 0];
}

uint32_t ruleset_find(const struct ruleset *ruleset, const char *name) {
    size_t size = strlen(name) + 1;
    uint32_t rules = bounded(ruleset->rules, RULESET_RULES);
    for (uint32_t i = 0; i < rules && size <= BREAKER_RULE_MAX; i++) {
        if (memcmp(ruleset->rule[i].name, name, size) == 0) {
            return i;
        }
    }
    return RULESET_RULES;
}

void ruleset_copy(struct ruleset *to, const struct ruleset *from) {
    uint32_t rules = bounded(from->rules, RULESET_RULES);
    uint32_t patterns = bounded(from->patterns, RULESET_PATTERNS);
    uint32_t text_bytes = bounded(from->text_bytes, RULESET_TEXT);
    memcpy(to->rule, from->rule, rules * sizeof from->rule[0]);
    memcpy(to->pattern, from->pattern, patterns * sizeof from->pattern[0]);
    memcpy(to->text, from->text, text_bytes);
    to->rules = rules;
    to->patterns = patterns;
    to->text_bytes = text_bytes;
    to->reserved = 0;
}
