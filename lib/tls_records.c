#include "lib/tls_records.h"

/* RFC 8446, sections 4 and 5.1. */
#define RECORD_HEADER   5u
#define TYPE_ALERT      21u
#define TYPE_HANDSHAKE  22u
#define TYPE_DATA       23u
#define HANDSHAKE_HELLO 1u
#define OLD_VERSION     (UINT64_C(1) << 36)
#define LOOK            (UINT64_C(1) << 35)
#define LOOK_AGAIN      (UINT64_C(1) << 39)
#define DATA_SHIFT      37
#define DATA_MAX        3u
#define ALERTED         (UINT64_C(1) << 40)
#define KEPT_BETWEEN    (OLD_VERSION | ALERTED | (uint64_t)DATA_MAX << DATA_SHIFT)
/* An alert as TLS 1.3 seals it: level, description, type, and the tag of 16 bytes that all but one rare cipher have. A
 * record of two bytes of data has that length, too; nobody asks for anything with those alone. */
#define SEALED_ALERT 19u

static unsigned data_records(uint64_t state) {
    return (unsigned)(state >> DATA_SHIFT & DATA_MAX);
}

/* A record's header is complete. */
static uint64_t begin_record(uint64_t state, uint64_t type, uint64_t length, bool *data) {
    uint64_t kept = state & KEPT_BETWEEN;
    /* In TLS 1.3 all but the handshake's beginning is called data; the first such record is Finished. */
    bool sealed = (state & OLD_VERSION) == 0 && data_records(state) > 0 && length == SEALED_ALERT;
    if (type == TYPE_ALERT || (type == TYPE_DATA && sealed)) {
        return kept | ALERTED | length;
    }
    if (type == TYPE_DATA) {
        *data = true;
        if (data_records(state) < DATA_MAX) {
            kept += UINT64_C(1) << DATA_SHIFT;
        }
    }
    return kept | length | (type == TYPE_HANDSHAKE && length > 0 ? LOOK : 0);
}

/* One byte of a record's header. */
static uint64_t feed_header(uint64_t state, unsigned char byte, bool *data) {
    unsigned seen = (unsigned)(state >> 16 & 7);
    if (seen == 0) {
        return (state & KEPT_BETWEEN) | (uint64_t)byte << 19 | UINT64_C(1) << 16;
    }
    if (seen == 3) {
        state |= (uint64_t)byte << 27;
    }
    if (seen < RECORD_HEADER - 1) {
        return state + (UINT64_C(1) << 16);
    }
    return begin_record(state, state >> 19 & 0xff, (state >> 27 & 0xff) << 8 | byte, data);
}

/* One of the first two bytes of a handshake record's body. After a record that is not a hello (message type 1, and a
 * length whose high byte is 0) it is the client's key exchange in clear or its sealed Finished that went out: TLS 1.2,
 * for in 1.3 nothing but hellos goes out as a handshake record. What is sealed may begin with any byte. */
static uint64_t look(uint64_t state, unsigned char byte) {
    bool again = (state & LOOK_AGAIN) != 0;
    state &= ~(LOOK | LOOK_AGAIN);
    if (byte != (again ? 0 : HANDSHAKE_HELLO)) {
        return state | OLD_VERSION;
    }
    return again ? state : state | LOOK_AGAIN;
}

uint64_t tls_records_feed(uint64_t state, const unsigned char *bytes, size_t size, bool *data) {
    for (size_t at = 0; at < size;) {
        uint64_t left = state & 0xffff;
        if (left == 0) {
            state = feed_header(state, bytes[at++], data);
            continue;
        }
        if ((state & (LOOK | LOOK_AGAIN)) != 0) {
            state = look(state, bytes[at++]) - 1;
            continue;
        }
        size_t step = size - at < left ? size - at : (size_t)left;
        at += step;
        state -= step;
    }
    return state;
}

bool tls_records_request_begun(uint64_t state) {
    return data_records(state) >= ((state & OLD_VERSION) != 0 ? 1u : 2u);
}

bool tls_records_alerted(uint64_t state) {
    return (state & ALERTED) != 0;
}

bool tls_records_undecided(uint64_t state) {
    return (state >> 16 & 7) != 0 && (state >> 19 & 0xff) == TYPE_DATA;
}

bool tls_records_set_up(uint64_t state, bool heard) {
    return (state & OLD_VERSION) != 0 ? heard : data_records(state) > 0;
}
