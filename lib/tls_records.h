/* Where a stream of outgoing TLS records stands: enough to tell the handshake from the first request, without keeping
 * a byte. The state is one word, all zero at the start of the stream:
 *
 *   15..0 bytes left of the record's body | 18..16 header bytes seen | 26..19 type | 34..27 length, high byte
 *   35 the body's first byte is to be looked at | 36 TLS 1.2 or older | 38..37 application data records begun (0..3)
 *   39 the body's second byte is to be looked at | 40 an alert went out
 */
#ifndef CUTOUT_LIB_TLS_RECORDS_H
#define CUTOUT_LIB_TLS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Feeds `size` bytes that went out. *data is set to true when an application data record begins in them (its
 * header ends in them; left alone otherwise). Returns the new state. */
uint64_t tls_records_feed(uint64_t state, const unsigned char *bytes, size_t size, bool *data);

/* True once a request has begun: at the first application data record, in TLS 1.3 (where the first one is the
 * handshake's Finished) at the second. */
bool tls_records_request_begun(uint64_t state);

/* True once an alert went out: the program ends its side by close_notify, or gives the connection up. */
bool tls_records_alerted(uint64_t state);

/* True in the middle of the header of a record that may be data. */
bool tls_records_undecided(uint64_t state);

/* True once the client's part of the handshake is done and no answer to it is missing. heard: a record came in after the
 * last send. */
bool tls_records_set_up(uint64_t state, bool heard);

#endif
