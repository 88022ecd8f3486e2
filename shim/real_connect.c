/* Stand-ins of connect and its like. */
#include "shim/real.h"

#include "shim/raw.h"

static int first_connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length) {
    if (real_find(&real_connect)) {
        return REAL(connect)(fd, address, length);
    }
    return (int)real_result(raw_call3(SYS_connect, fd, (long)address.__sockaddr__, (long)length));
}
struct real real_connect = {.next = {(uintptr_t)first_connect}, .name = "connect"};

static int first_socket(int domain, int type, int protocol) {
    if (real_find(&real_socket)) {
        return REAL(socket)(domain, type, protocol);
    }
    return (int)real_result(raw_call3(SYS_socket, domain, type, protocol));
}
struct real real_socket = {.next = {(uintptr_t)first_socket}, .name = "socket"};

static int first_accept(int fd, __SOCKADDR_ARG address, socklen_t *length) {
    if (real_find(&real_accept)) {
        return REAL(accept)(fd, address, length);
    }
    return (int)real_result(raw_call4(SYS_accept4, fd, (long)address.__sockaddr__, (long)length, 0));
}
struct real real_accept = {.next = {(uintptr_t)first_accept}, .name = "accept"};

static int first_accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags) {
    if (real_find(&real_accept4)) {
        return REAL(accept4)(fd, address, length, flags);
    }
    return (int)real_result(raw_call4(SYS_accept4, fd, (long)address.__sockaddr__, (long)length, flags));
}
struct real real_accept4 = {.next = {(uintptr_t)first_accept4}, .name = "accept4"};
