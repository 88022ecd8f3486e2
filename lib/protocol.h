/* What the first bytes that a program sends say of the protocol spoken. Pure; reads at most size bytes. */
#ifndef CUTOUT_LIB_PROTOCOL_H
#define CUTOUT_LIB_PROTOCOL_H

#include "lib/thresholds.h"

#include <stdbool.h>
#include <stddef.h>

/* The protocol whose requests begin like these bytes: PROTOCOL_HTTP, PROTOCOL_REDIS, or PROTOCOL_NONE when
 * unsure. Eight bytes are enough. */
enum rule_protocol protocol_recognise(const unsigned char *bytes, size_t size);

/* True when the bytes begin a TLS handshake record that holds a ClientHello (six bytes are looked at). */
bool protocol_is_client_hello(const unsigned char *bytes, size_t size);

/* "none", "http", "redis", "auto"; never NULL. */
const char *protocol_name(enum rule_protocol protocol);

#endif
