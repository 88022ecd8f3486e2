/* Stand-ins of what sends. */
#include "shim/real.h"

#include "shim/raw.h"

#include <unistd.h>

static ssize_t first_send(int fd, const void *bytes, size_t size, int flags) {
    if (real_find(&real_send)) {
        return REAL(send)(fd, bytes, size, flags);
    }
    return (ssize_t)real_result(raw_call6(SYS_sendto, fd, (long)bytes, (long)size, flags, 0, 0));
}
struct real real_send = {.next = {(uintptr_t)first_send}, .name = "send"};

static ssize_t first_sendto(int fd, const void *bytes, size_t size, int flags, __CONST_SOCKADDR_ARG address,
                            socklen_t length) {
    if (real_find(&real_sendto)) {
        return REAL(sendto)(fd, bytes, size, flags, address, length);
    }
    return (ssize_t)real_result(
        raw_call6(SYS_sendto, fd, (long)bytes, (long)size, flags, (long)address.__sockaddr__, (long)length));
}
struct real real_sendto = {.next = {(uintptr_t)first_sendto}, .name = "sendto"};

static ssize_t first_sendmsg(int fd, const struct msghdr *message, int flags) {
    if (real_find(&real_sendmsg)) {
        return REAL(sendmsg)(fd, message, flags);
    }
    return (ssize_t)real_result(raw_call3(SYS_sendmsg, fd, (long)message, flags));
}
struct real real_sendmsg = {.next = {(uintptr_t)first_sendmsg}, .name = "sendmsg"};

static int first_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    if (real_find(&real_sendmmsg)) {
        return REAL(sendmmsg)(fd, messages, count, flags);
    }
    return (int)real_result(raw_call4(SYS_sendmmsg, fd, (long)messages, (long)count, flags));
}
struct real real_sendmmsg = {.next = {(uintptr_t)first_sendmmsg}, .name = "sendmmsg"};

static ssize_t first_write(int fd, const void *bytes, size_t size) {
    if (real_find(&real_write)) {
        return REAL(write)(fd, bytes, size);
    }
    return (ssize_t)real_result(raw_call3(SYS_write, fd, (long)bytes, (long)size));
}
struct real real_write = {.next = {(uintptr_t)first_write}, .name = "write"};

static ssize_t first_writev(int fd, const struct iovec *pieces, int count) {
    if (real_find(&real_writev)) {
        return REAL(writev)(fd, pieces, count);
    }
    return (ssize_t)real_result(raw_call3(SYS_writev, fd, (long)pieces, count));
}
struct real real_writev = {.next = {(uintptr_t)first_writev}, .name = "writev"};
