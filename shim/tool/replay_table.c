#include "shim/tool/replay_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_ROOM 64

bool table_open(struct table *table, const struct ruleset *rules, bool observe) {
    memset(table, 0, sizeof *table);
    table->rules = rules;
    table->observe = observe;
    table->hints = aligned_alloc(_Alignof(struct table_hint), TABLE_HINTS * sizeof *table->hints);
    if (table->hints) {
        memset(table->hints, 0, TABLE_HINTS * sizeof *table->hints);
    }
    return table->hints != NULL;
}

void table_close(struct table *table) {
    for (uint32_t i = 0; i < table->count; i++) {
        free(table->names[i].destination);
        free(table->names[i].host);
    }
    while (table->blocks) {
        struct table_block *block = table->blocks;
        table->blocks = block->next;
        free(block);
    }
    free(table->lanes);
    free(table->names);
    free(table->cells);
    free(table->hints);
}

/* --- lanes --- */

static uint64_t lane_hash(const struct endpoint *endpoint, uint32_t rule) {
    return endpoint_hash(endpoint, rule);
}

static void put_cell(struct table *table, uint32_t lane) {
    uint64_t at = lane_hash(&table->lanes[lane].breaker->endpoint, table->names[lane].rule);
    while (table->cells[at & (table->cell_count - 1)] != 0) {
        at++;
    }
    table->cells[at & (table->cell_count - 1)] = lane + 1;
}

/* The lane of that endpoint under that rule; TABLE_NOT_JUDGED where there is none yet. */
static uint32_t find_lane(const struct table *table, const struct endpoint *endpoint, uint32_t rule) {
    if (table->cell_count == 0) {
        return TABLE_NOT_JUDGED;
    }
    for (uint64_t at = lane_hash(endpoint, rule);; at++) {
        uint32_t cell = table->cells[at & (table->cell_count - 1)];
        if (cell == 0) {
            return TABLE_NOT_JUDGED;
        }
        if (table->names[cell - 1].rule == rule &&
            endpoint_equal(&table->lanes[cell - 1].breaker->endpoint, endpoint)) {
            return cell - 1;
        }
    }
}

static bool grow(struct table *table) {
    uint32_t room = table->room ? table->room * 2 : FIRST_ROOM;
    struct replay_lane *lanes = realloc(table->lanes, room * sizeof *lanes);
    table->lanes = lanes ? lanes : table->lanes;
    struct table_name *names = realloc(table->names, room * sizeof *names);
    table->names = names ? names : table->names;
    uint32_t *cells = calloc((size_t)room * 4, sizeof *cells);
    if (!lanes || !names || !cells) {
        free(cells);
        return false;
    }
    free(table->cells);
    table->cells = cells;
    table->cell_count = room * 4;
    table->room = room;
    for (uint32_t i = 0; i < table->count; i++) {
        put_cell(table, i);
    }
    return true;
}

static bool add_block(struct table *table) {
    struct table_block *block = aligned_alloc(TABLE_BLOCK_BYTES, TABLE_BLOCK_BYTES);
    if (!block) {
        return false;
    }
    if (table->blocks) {
        madvise(block, TABLE_BLOCK_BYTES, MADV_HUGEPAGE); /* the first stays as small as what is used of it */
    }
    *block = (struct table_block){.next = table->blocks, .used = sizeof *block};
    table->blocks = block;
    return true;
}

static struct breaker *make_breaker(struct table *table, const struct endpoint *endpoint,
                                    const struct rule *rule) {
    struct table_block *block = table->blocks;
    if (!block || TABLE_BLOCK_BYTES - block->used < sizeof(struct breaker)) {
        if (!add_block(table)) {
            return NULL;
        }
        block = table->blocks;
    }
    struct breaker *breaker = (struct breaker *)(void *)((char *)block + block->used);
    block->used += sizeof *breaker;
    memset(breaker, 0, sizeof *breaker);
    breaker->endpoint = *endpoint;
    breaker->rule_key = rule->key;
    return breaker;
}

/* "api.internal:443"; NULL where the address has no name. */
static char *host_text(const struct trace_target *target) {
    char text[ENDPOINT_NAME_MAX + 8];
    if (!target->host[0]) {
        return NULL;
    }
    snprintf(text, sizeof text, "%s:%u", target->host, target->endpoint.port);
    return strdup(text);
}

static uint32_t make_lane(struct table *table, const struct endpoint *endpoint, const char *text,
                          const struct trace_target *target, uint32_t index, bool enforce) {
    if (table->count == table->room && !grow(table)) {
        return TABLE_NO_MEMORY;
    }
    const struct rule *rule = ruleset_rule(table->rules, index);
    char destination[ENDPOINT_TEXT_MAX];
    endpoint_format(endpoint, text, destination, sizeof destination);
    struct table_name name = {index, strdup(destination), host_text(target)};
    struct breaker *breaker = make_breaker(table, endpoint, rule);
    if (!name.destination || !breaker || (target->host[0] && !name.host)) {
        free(name.destination);
        free(name.host);
        return TABLE_NO_MEMORY;
    }
    uint32_t lane = table->count++;
    table->lanes[lane] = replay_lane(breaker, &rule->thresholds, &table->shares[index], enforce);
    table->names[lane] = name;
    put_cell(table, lane);
    return lane;
}

/* --- who judges --- */

/* The endpoint whose breaker it is: the destination, all addresses of its name, or all of the rule. */
static struct endpoint in_scope(const struct trace_target *target, const struct thresholds *thresholds,
                                const char **text) {
    *text = target->text;
    if (thresholds->scope == SCOPE_RULE) {
        return endpoint_any();
    }
    if (thresholds->scope == SCOPE_NAME && target->host[0]) {
        *text = target->host;
        return endpoint_by_name((enum endpoint_scheme)target->endpoint.scheme, target->host,
                                strlen(target->host), target->endpoint.port);
    }
    return target->endpoint;
}

/* The rule that covers the target; RULESET_RULES where "*" belongs to a rule that is not there. */
static uint32_t find_rule(const struct ruleset *rules, const struct trace_target *target) {
    uint8_t scheme = target->endpoint.scheme;
    if (scheme == SCHEME_NONE) {
        return ruleset_find(rules, target->rule);
    }
    bool named = scheme == SCHEME_UNIX || scheme == SCHEME_DNS;
    return ruleset_match(rules, &target->endpoint, named ? target->text : NULL,
                         target->host[0] ? target->host : NULL);
}

static uint32_t find_target(struct table *table, const struct trace_target *target, uint32_t rule) {
    uint8_t scheme = target->endpoint.scheme;
    const struct thresholds *thresholds = &ruleset_rule(table->rules, rule)->thresholds;
    bool needs_rule = scheme == SCHEME_UDP || scheme == SCHEME_UNIX;
    if (thresholds->mode == MODE_OFF || (needs_rule && rule == 0)) {
        return TABLE_NOT_JUDGED;
    }
    const char *text;
    struct endpoint endpoint = in_scope(target, thresholds, &text);
    uint32_t lane = find_lane(table, &endpoint, rule);
    if (lane != TABLE_NOT_JUDGED) {
        return lane;
    }
    /* Look-ups are rejected only where a rule names them. */
    bool enforce =
        thresholds->mode == MODE_ENFORCE && !table->observe && !(scheme == SCHEME_DNS && rule == 0);
    return make_lane(table, &endpoint, text, target, rule, enforce);
}

/* --- by text --- */

static uint64_t record_hash(const struct trace_record *record) {
    uint64_t hash = text_hash(record->destination.bytes, record->destination.size);
    return record->name.size == 0 ? hash : hash + 3 * text_hash(record->name.bytes, record->name.size);
}

static bool hint_fits(const struct table_hint *hint, uint64_t hash, const struct trace_record *record) {
    size_t size = record->destination.size;
    return hint->hash == hash && hint->destination_size == size && hint->name_size == record->name.size &&
           memcmp(hint->text, record->destination.bytes, size) == 0 &&
           (record->name.size == 0 || memcmp(hint->text + size, record->name.bytes, record->name.size) == 0);
}

static void note_hint(struct table_hint *hint, uint64_t hash, const struct trace_record *record,
                      uint32_t lane) {
    size_t size = record->destination.size;
    if (size + record->name.size > sizeof hint->text) {
        return;
    }
    hint->hash = hash;
    hint->lane = lane;
    hint->destination_size = (uint16_t)size;
    hint->name_size = (uint16_t)record->name.size;
    memcpy(hint->text, record->destination.bytes, size);
    if (record->name.size > 0) {
        memcpy(hint->text + size, record->name.bytes, record->name.size);
    }
}

static uint32_t find_text(struct table *table, const struct trace_record *record, struct trace_error *error) {
    struct trace_target target;
    if (!trace_target(record, &target, error)) {
        return TABLE_BAD;
    }
    uint32_t rule = find_rule(table->rules, &target);
    if (rule == RULESET_RULES) {
        *error =
            (struct trace_error){record->rule, "a rule of the rules file: '*' stands for its destinations"};
        return TABLE_BAD;
    }
    return find_target(table, &target, rule);
}

uint32_t table_find(struct table *table, const struct trace_record *record, struct trace_error *error) {
    if (record->rule.size > 0) {
        return find_text(table, record, error);
    }
    uint64_t hash = record_hash(record);
    struct table_hint *pair = &table->hints[hash % TABLE_HINTS & ~1u];
    if (hint_fits(&pair[0], hash, record)) {
        return pair[0].lane;
    }
    if (hint_fits(&pair[1], hash, record)) {
        return pair[1].lane;
    }
    uint32_t lane = find_text(table, record, error);
    if (lane != TABLE_BAD && lane != TABLE_NO_MEMORY) {
        /* The first place is for newcomers; who is found there again and again has pushed nobody out of the second. */
        note_hint(&pair[pair[0].destination_size != 0 && pair[1].destination_size == 0], hash, record, lane);
    }
    return lane;
}
