#include "shim/address.h"

#include "shim/raw.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/un.h>

#define SIGNAL_SET_BYTES 8 /* of the kernel, on every architecture that raw.h knows */

/* rt_sigprocmask copies the set before it looks at `how`: EFAULT means unreadable, EINVAL readable; the mask stays. */
static bool is_readable(const void *bytes) {
    return raw_call4(SYS_rt_sigprocmask, ~0L, (long)(uintptr_t)bytes, 0, SIGNAL_SET_BYTES) == -EINVAL;
}

bool address_is_readable(const struct sockaddr *address, socklen_t length) {
    if (address == NULL || length < SIGNAL_SET_BYTES) {
        return false;
    }
    const char *bytes = (const char *)address;
    uintptr_t first_page = (uintptr_t)bytes / 4096;
    uintptr_t last_page = ((uintptr_t)bytes + length - 1) / 4096;
    /* One page is readable as a whole or not at all; an address is shorter than a page, so two are the most. */
    return is_readable(bytes) && (first_page == last_page || is_readable(bytes + length - SIGNAL_SET_BYTES));
}

static bool unix_endpoint(const struct sockaddr *address, socklen_t length, struct endpoint *endpoint,
                          char *text) {
    const struct sockaddr_un *local = (const struct sockaddr_un *)address;
    size_t size = length - offsetof(struct sockaddr_un, sun_path);
    if (length <= offsetof(struct sockaddr_un, sun_path) || size > sizeof local->sun_path) {
        return false;
    }
    size_t from = 0;
    if (local->sun_path[0] == '\0') {
        text[from++] = '@';
    } else {
        const char *end = memchr(local->sun_path, 0, size);
        size = end ? (size_t)(end - local->sun_path) : size;
    }
    memcpy(text + from, local->sun_path + from, size - from);
    text[size] = '\0';
    *endpoint = endpoint_named(SCHEME_UNIX, text, size);
    return true;
}

bool address_endpoint(const struct sockaddr *address, socklen_t length, enum descriptor_kind kind,
                      struct endpoint *endpoint, char *text) {
    enum endpoint_scheme scheme = kind == KIND_DATAGRAM ? SCHEME_UDP : SCHEME_TCP;
    text[0] = '\0';
    if (length < sizeof address->sa_family) {
        return false;
    }
    if (address->sa_family == AF_UNIX) {
        return unix_endpoint(address, length, endpoint, text);
    }
    if (kind != KIND_STREAM && kind != KIND_DATAGRAM) {
        return false;
    }
    if (address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        *endpoint = endpoint_ipv4(scheme, (const uint8_t *)&v4.sin_addr, ntohs(v4.sin_port));
        return true;
    }
    if (address->sa_family == AF_INET6 && length >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
        struct sockaddr_in6 v6 = {0};
        memcpy(&v6, address, length < sizeof v6 ? length : sizeof v6);
        *endpoint = endpoint_ipv6(scheme, v6.sin6_addr.s6_addr, ntohs(v6.sin6_port), v6.sin6_scope_id);
        return true;
    }
    return false;
}
