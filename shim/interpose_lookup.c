/* Look-ups of host names: the resolver's own sockets pass nobody, so they are judged here. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>
#include <netinet/in.h>

#define ADDRESSES_MAX 256 /* of one answer that are noted; a longer list is walked no further */

static void note(const struct lookup_call *call, int family, const void *address) {
    if (family == AF_INET || family == AF_INET6) {
        call_lookup_address(call, address, family == AF_INET6);
    }
}

static enum lookup_end end_of_getaddrinfo(int result) {
    switch (result) {
    case 0:
        return LOOKUP_FOUND;
    case EAI_AGAIN:
    case EAI_FAIL:
    case EAI_SYSTEM:
        return LOOKUP_FAILED;
    case EAI_NONAME:
    case EAI_NODATA:
    case EAI_ADDRFAMILY:
        return LOOKUP_ABSENT;
    default: /* flags, family, socket type, service, memory */
        return LOOKUP_OWN_FAULT;
    }
}

static void note_addrinfo(const struct lookup_call *call, const struct addrinfo *found) {
    for (unsigned i = 0; found != NULL && i < ADDRESSES_MAX; found = found->ai_next, i++) {
        if (found->ai_family == AF_INET) {
            note(call, AF_INET, &((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr);
        } else if (found->ai_family == AF_INET6) {
            note(call, AF_INET6, &((const struct sockaddr_in6 *)(const void *)found->ai_addr)->sin6_addr);
        }
    }
}

INTERPOSED int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                           struct addrinfo **found) {
    if (node == NULL || (hints != NULL && hints->ai_flags & AI_NUMERICHOST)) {
        return REAL(getaddrinfo)(node, service, hints, found);
    }
    struct lookup_call call;
    if (!call_lookup_begin(&call, node)) {
        return EAI_AGAIN;
    }
    const int result = REAL(getaddrinfo)(node, service, hints, found);
    const int error = errno;
    call_lookup_end(&call, end_of_getaddrinfo(result));
    if (result == 0) {
        note_addrinfo(&call, *found);
    }
    errno = error;
    return result;
}

/* error is h_errno, cause the errno beside it. */
static enum lookup_end end_of_gethostbyname(const struct hostent *host, int error, int cause) {
    if (host != NULL) {
        return LOOKUP_FOUND;
    }
    if (error == HOST_NOT_FOUND || error == NO_DATA) {
        return LOOKUP_ABSENT;
    }
    if (error == NETDB_INTERNAL &&
        (cause == ERANGE || cause == ENOMEM || cause == EINVAL || cause == EAFNOSUPPORT)) {
        return LOOKUP_OWN_FAULT;
    }
    return LOOKUP_FAILED;
}

static void looked_up(struct lookup_call *call, const struct hostent *host, int error, int cause) {
    const int saved = errno;
    call_lookup_end(call, end_of_gethostbyname(host, error, cause));
    for (unsigned i = 0; host != NULL && i < ADDRESSES_MAX && host->h_addr_list[i] != NULL; i++) {
        note(call, host->h_addrtype, host->h_addr_list[i]);
    }
    errno = saved;
}

static int rejected(struct hostent **found, int *error) {
    *found = NULL;
    *error = TRY_AGAIN;
    errno = EAGAIN;
    return EAGAIN;
}

INTERPOSED struct hostent *gethostbyname(const char *name) {
    struct lookup_call call;
    if (!call_lookup_begin(&call, name)) {
        h_errno = TRY_AGAIN;
        return NULL;
    }
    struct hostent *host = REAL(gethostbyname)(name);
    looked_up(&call, host, h_errno, errno);
    return host;
}

INTERPOSED struct hostent *gethostbyname2(const char *name, int family) {
    struct lookup_call call;
    if (!call_lookup_begin(&call, name)) {
        h_errno = TRY_AGAIN;
        return NULL;
    }
    struct hostent *host = REAL(gethostbyname2)(name, family);
    looked_up(&call, host, h_errno, errno);
    return host;
}

INTERPOSED int gethostbyname_r(const char *name, struct hostent *host, char *room, size_t room_bytes,
                               struct hostent **found, int *error) {
    struct lookup_call call;
    if (!call_lookup_begin(&call, name)) {
        return rejected(found, error);
    }
    const int result = REAL(gethostbyname_r)(name, host, room, room_bytes, found, error);
    looked_up(&call, result == 0 ? *found : NULL, *error, result);
    return result;
}

INTERPOSED int gethostbyname2_r(const char *name, int family, struct hostent *host, char *room,
                                size_t room_bytes, struct hostent **found, int *error) {
    struct lookup_call call;
    if (!call_lookup_begin(&call, name)) {
        return rejected(found, error);
    }
    const int result = REAL(gethostbyname2_r)(name, family, host, room, room_bytes, found, error);
    looked_up(&call, result == 0 ? *found : NULL, *error, result);
    return result;
}
