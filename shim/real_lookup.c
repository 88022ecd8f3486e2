/* Stand-ins of the look-ups. No system call can take their place: they fail as where there is no resolver. */
#include "shim/real.h"

#include <errno.h>

static int first_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                             struct addrinfo **found) {
    if (real_find(&real_getaddrinfo)) {
        return REAL(getaddrinfo)(node, service, hints, found);
    }
    errno = ENOSYS;
    return EAI_SYSTEM;
}
struct real real_getaddrinfo = {.next = {(uintptr_t)first_getaddrinfo}, .name = "getaddrinfo"};

static struct hostent *no_host(void) {
    errno = ENOSYS;
    h_errno = NO_RECOVERY;
    return NULL;
}

static int no_host_r(struct hostent **found, int *error) {
    *found = NULL;
    *error = NO_RECOVERY;
    errno = ENOSYS;
    return ENOSYS;
}

static struct hostent *first_gethostbyname(const char *name) {
    if (real_find(&real_gethostbyname)) {
        return REAL(gethostbyname)(name);
    }
    return no_host();
}
struct real real_gethostbyname = {.next = {(uintptr_t)first_gethostbyname}, .name = "gethostbyname"};

static struct hostent *first_gethostbyname2(const char *name, int family) {
    if (real_find(&real_gethostbyname2)) {
        return REAL(gethostbyname2)(name, family);
    }
    return no_host();
}
struct real real_gethostbyname2 = {.next = {(uintptr_t)first_gethostbyname2}, .name = "gethostbyname2"};

static int first_gethostbyname_r(const char *name, struct hostent *host, char *room, size_t room_bytes,
                                 struct hostent **found, int *error) {
    if (real_find(&real_gethostbyname_r)) {
        return REAL(gethostbyname_r)(name, host, room, room_bytes, found, error);
    }
    return no_host_r(found, error);
}
struct real real_gethostbyname_r = {.next = {(uintptr_t)first_gethostbyname_r}, .name = "gethostbyname_r"};

static int first_gethostbyname2_r(const char *name, int family, struct hostent *host, char *room,
                                  size_t room_bytes, struct hostent **found, int *error) {
    if (real_find(&real_gethostbyname2_r)) {
        return REAL(gethostbyname2_r)(name, family, host, room, room_bytes, found, error);
    }
    return no_host_r(found, error);
}
struct real real_gethostbyname2_r = {.next = {(uintptr_t)first_gethostbyname2_r}, .name = "gethostbyname2_r"};
