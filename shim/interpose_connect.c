/* connect, and what hands out new sockets. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>

INTERPOSED int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length) {
    struct connect_call call;
    if (!call_connect_begin(&call, fd, address.__sockaddr__, length)) {
        return -1;
    }
    const int result = REAL(connect)(fd, address, length);
    const int error = errno;
    call_connect_end(&call, fd, result);
    errno = error;
    return result;
}
INTERPOSED ALIAS(__connect, connect);

/* The kernel has handed out that number: whatever the table believed of it is over, even where the close that
 * ended it was not seen. */
static int new_socket(int fd, int domain, int type) {
    const int error = errno;
    call_socket(fd, domain, type);
    errno = error;
    return fd;
}

INTERPOSED int socket(int domain, int type, int protocol) {
    return new_socket(REAL(socket)(domain, type, protocol), domain, type);
}

INTERPOSED int accept(int fd, __SOCKADDR_ARG address, socklen_t *length) {
    return new_socket(REAL(accept)(fd, address, length), 0, 0);
}

INTERPOSED int accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags) {
    return new_socket(REAL(accept4)(fd, address, length, flags), 0, 0);
}
