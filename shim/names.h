/* Which host name led to which address: what this process asked getaddrinfo or gethostby* for. Private to the
 * process, kept over fork. Lock-free; safe in a signal handler; forgets the oldest when full. */
#ifndef CUTOUT_SHIM_NAMES_H
#define CUTOUT_SHIM_NAMES_H

#include "lib/endpoint.h"

#include <stdbool.h>
#include <stddef.h>

/* The name (canonical form, NUL-terminated) led to this address. address is 4 or 16 bytes in network order;
 * an IPv4-mapped one counts as IPv4. */
void names_note(const char *name, const unsigned char *address, bool ipv6);

/* Copies the last name that led to the endpoint's address into name (room bytes, at least ENDPOINT_NAME_MAX +
 * 1). Returns its length, 0 when none is known. */
size_t names_find(const struct endpoint *endpoint, char *name, size_t room);

#endif
