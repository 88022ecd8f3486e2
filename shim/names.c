#include "shim/names.h"

#include "lib/atomic64.h"

#include <stdint.h>
#include <string.h>

/* 256 sets of 8 entries; an address has its place in one set, where the entry noted longest ago makes room. */
#define NAMES_SETS  256
#define NAMES_WAYS  8
#define NAMES_TRIES 3
#define NAME_WORDS  ((ENDPOINT_NAME_MAX + 1) / sizeof(uint64_t))

/* One address and its name. Words, because they are read while they are written: sequence is odd while a
 * writer fills them in, rises by two with each filling, and 0 means empty. An entry whose writer never ends
 * (a thread of the parent, seen by a forked child) stays odd and is passed over for ever. */
struct name_entry {
    struct atomic64 sequence;
    struct atomic64 noted; /* number of the last note of this entry: the highest is the newest */
    struct atomic64 address[2];
    struct atomic64 ipv6;
    struct atomic64 length;
    struct atomic64 name[NAME_WORDS];
};

static struct name_entry entries[NAMES_SETS][NAMES_WAYS];
static struct atomic64 notes;

struct address_key {
    uint64_t words[2];
    uint64_t ipv6;
    struct name_entry *set;
};

static struct address_key key_of(const struct endpoint *endpoint) {
    /* Port and zone say nothing of the name. */
    struct endpoint address = {.ipv6 = endpoint->ipv6};
    memcpy(address.bytes, endpoint->bytes, sizeof address.bytes);
    struct address_key key = {.ipv6 = address.ipv6};
    memcpy(key.words, address.bytes, sizeof key.words);
    key.set = entries[endpoint_hash(&address, 0) % NAMES_SETS];
    return key;
}

/* True when the entry seems to hold that address; *sequence is what it was then. It does hold it if it still
 * has that sequence afterwards. */
static bool entry_holds(const struct name_entry *entry, const struct address_key *key, uint64_t *sequence) {
    /* Acquires the release that ends entry_fill; so do the words, from a later filling: then the sequence read
     * last is no longer the one read first. */
    *sequence = atomic64_load_acquire(&entry->sequence);
    if (*sequence == 0 || *sequence % 2 != 0) {
        return false;
    }
    return atomic64_load_acquire(&entry->address[0]) == key->words[0] &&
           atomic64_load_acquire(&entry->address[1]) == key->words[1] &&
           atomic64_load_acquire(&entry->ipv6) == key->ipv6;
}

/* Copies the name of an entry that has still that sequence; 0 when it changed meanwhile. */
static size_t entry_copy(const struct name_entry *entry, uint64_t sequence, char *name) {
    size_t length = (size_t)atomic64_load_acquire(&entry->length);
    if (length > ENDPOINT_NAME_MAX) {
        return 0;
    }
    for (size_t i = 0; i <= length / sizeof(uint64_t); i++) {
        uint64_t word = atomic64_load_acquire(&entry->name[i]);
        memcpy(name + i * sizeof word, &word, sizeof word);
    }
    name[length] = '\0';
    return atomic64_load_relaxed(&entry->sequence) == sequence ? length : 0;
}

/* Fills in an entry whose sequence was `sequence`; nothing when another writer is at it. */
static void entry_fill(struct name_entry *entry, uint64_t sequence, const struct address_key *key,
                       const char *name, size_t length, uint64_t number) {
    if (sequence % 2 != 0 || !atomic64_swap_acq_rel(&entry->sequence, &sequence, sequence + 1)) {
        return;
    }
    atomic64_store_relaxed(&entry->noted, number);
    /* Release: whoever sees one of these words sees that the sequence is odd. */
    atomic64_store_release(&entry->address[0], key->words[0]);
    atomic64_store_release(&entry->address[1], key->words[1]);
    atomic64_store_release(&entry->ipv6, key->ipv6);
    atomic64_store_release(&entry->length, length);
    for (size_t i = 0; i <= length / sizeof(uint64_t); i++) {
        uint64_t word = 0;
        size_t left = length - i * sizeof word;
        memcpy(&word, name + i * sizeof word, left < sizeof word ? left : sizeof word);
        atomic64_store_release(&entry->name[i], word);
    }
    /* Release: the words are whole for whoever acquires this (entry_holds). */
    atomic64_store_release(&entry->sequence, sequence + 2);
}

/* The whole entry that was noted last of those that hold the address. */
static struct name_entry *newest_entry(const struct address_key *key, uint64_t *sequence) {
    struct name_entry *newest = NULL;
    uint64_t newest_noted = 0;
    for (unsigned way = 0; way < NAMES_WAYS; way++) {
        struct name_entry *entry = &key->set[way];
        uint64_t seen;
        if (entry_holds(entry, key, &seen)) {
            uint64_t noted = atomic64_load_relaxed(&entry->noted);
            if (newest == NULL || noted > newest_noted) {
                newest = entry;
                newest_noted = noted;
                *sequence = seen;
            }
        }
    }
    return newest;
}

/* Where a new name of the address is to be written: never over the newest one, which others may be reading;
 * over an older one of this address, else where nothing ever was, else where the oldest note is. */
static struct name_entry *entry_to_fill(const struct address_key *key, const struct name_entry *newest,
                                        uint64_t *sequence) {
    struct name_entry *place = NULL;
    uint64_t place_noted = UINT64_MAX;
    for (unsigned way = 0; way < NAMES_WAYS; way++) {
        struct name_entry *entry = &key->set[way];
        uint64_t seen;
        bool same = entry_holds(entry, key, &seen);
        uint64_t noted = seen == 0 ? 0 : atomic64_load_relaxed(&entry->noted);
        if (entry == newest || seen % 2 != 0) {
            continue;
        }
        if (same || noted < place_noted) {
            place = entry;
            place_noted = noted;
            *sequence = seen;
        }
        if (same) {
            break;
        }
    }
    return place;
}

void names_note(const char *name, const unsigned char *address, bool ipv6) {
    struct endpoint endpoint =
        ipv6 ? endpoint_ipv6(SCHEME_TCP, address, 0, 0) : endpoint_ipv4(SCHEME_TCP, address, 0);
    struct address_key key = key_of(&endpoint);
    size_t length = strlen(name);
    if (length > ENDPOINT_NAME_MAX) {
        length = ENDPOINT_NAME_MAX;
    }
    if (length == 0) {
        return;
    }
    uint64_t number = atomic64_add_relaxed(&notes, 1) + 1;
    uint64_t sequence;
    struct name_entry *newest = newest_entry(&key, &sequence);
    char known[ENDPOINT_NAME_MAX + 1];
    if (newest != NULL && entry_copy(newest, sequence, known) == length && memcmp(known, name, length) == 0) {
        atomic64_store_relaxed(&newest->noted, number);
        return;
    }
    struct name_entry *place = entry_to_fill(&key, newest, &sequence);
    if (place != NULL) {
        entry_fill(place, sequence, &key, name, length, number);
    }
}

size_t names_find(const struct endpoint *endpoint, char *name, size_t room) {
    name[0] = '\0';
    if (room < ENDPOINT_NAME_MAX + 1) {
        return 0;
    }
    struct address_key key = key_of(endpoint);
    for (unsigned try = 0; try < NAMES_TRIES; try++) {
        uint64_t sequence;
        const struct name_entry *entry = newest_entry(&key, &sequence);
        if (entry == NULL) {
            break;
        }
        size_t length = entry_copy(entry, sequence, name);
        if (length > 0) {
            return length;
        }
    }
    name[0] = '\0';
    return 0;
}
