/* Bytes that programs send, by name: first words of protocols, and TLS records. */
#ifndef CUTOUT_TESTS_ENGINE_SAMPLES_H
#define CUTOUT_TESTS_ENGINE_SAMPLES_H

#include "tests/programs/check.h"

#include <stddef.h>

/* A TLS record: its type and version, how its body begins, and the body's length. */
struct sample_record {
    const char *name;
    unsigned char type, minor, first, second;
    unsigned short size;
};

static const struct sample_record sample_records[] = {
    {"hello", 22, 1, 1, 0, 300},         /* ClientHello */
    {"hello_long", 22, 1, 1, 0, 1800},   /* with a post-quantum key share */
    {"certificate", 22, 3, 11, 0, 900},  /* TLS 1.2, in clear */
    {"key_exchange", 22, 3, 16, 0, 66},  /* TLS 1.2, in clear */
    {"ccs", 20, 3, 1, 0, 1},             /* change of cipher */
    {"finished", 22, 3, 0x5c, 0x91, 40}, /* TLS 1.2, encrypted */
    {"finished_01", 22, 3, 1, 0x91, 40}, /* the same, and it begins as a ClientHello would */
    {"data", 23, 3, 0x23, 0x16, 64},     /* application data; TLS 1.3: Finished as well */
    {"data_long", 23, 3, 0x15, 0x17, 16401} /* as long as a record may be */,
    {"alert", 21, 3, 0x42, 0x42, 26},        /* TLS 1.2: close_notify, encrypted */
    {"alert_sealed", 23, 3, 0x42, 0x42, 19}, /* TLS 1.3: the same */
};

static inline size_t sample_add_record(unsigned char *bytes, const struct sample_record *record) {
    const unsigned char header[] = {record->type, 3, record->minor, (unsigned char)(record->size >> 8),
                                    (unsigned char)record->size};
    memcpy(bytes, header, sizeof header);
    memset(bytes + sizeof header, 0x17, record->size); /* the type of application data, all over */
    bytes[sizeof header] = record->first;
    if (record->size > 1) {
        bytes[sizeof header + 1] = record->second;
    }
    return sizeof header + record->size;
}

/* Appends the sample of that name; returns its length. */
static inline size_t sample_add(unsigned char *bytes, const char *name) {
    static const char *const texts[][2] = {{"http", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
                                           {"redis", "*1\r\n$4\r\nPING\r\n"},
                                           {"plain", "a protocol that nobody knows"},
                                           {"tiny", "quit"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(texts[i][0], name) == 0) {
            memcpy(bytes, texts[i][1], strlen(texts[i][1]));
            return strlen(texts[i][1]);
        }
    }
    for (size_t i = 0; i < sizeof sample_records / sizeof *sample_records; i++) {
        if (strcmp(sample_records[i].name, name) == 0) {
            return sample_add_record(bytes, &sample_records[i]);
        }
    }
    fprintf(stderr, "no such sample: %s\n", name);
    exit(2);
}

#endif
