/* From a socket address to an endpoint. */
#ifndef CUTOUT_SHIM_ADDRESS_H
#define CUTOUT_SHIM_ADDRESS_H

#include "lib/endpoint.h"
#include "shim/descriptors.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Room for the text of a unix endpoint. */
#define ADDRESS_TEXT_MAX 112

/* True when the kernel could read all of it: asked by a system call that changes nothing. Not to be asked in a
 * sandbox. */
bool address_is_readable(const struct sockaddr *address, socklen_t length);

/* The endpoint of a readable address for a socket of that kind; text (ADDRESS_TEXT_MAX bytes) gets a unix socket's path,
 * an abstract name beginning with '@'. False for what is no destination: too short an address, another family, a kind
 * that does not fit. */
bool address_endpoint(const struct sockaddr *address, socklen_t length, enum descriptor_kind kind,
                      struct endpoint *endpoint, char *text);

#endif
