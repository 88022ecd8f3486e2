/* Stand-ins of what receives. A fortified double without a next definition (no such libc is known) keeps its
 * promise: it never writes past the room it was told. */
#include "shim/real.h"

#include "shim/raw.h"

#include <unistd.h>

static ssize_t first_recv(int fd, void *bytes, size_t size, int flags) {
    if (real_find(&real_recv)) {
        return REAL(recv)(fd, bytes, size, flags);
    }
    return (ssize_t)real_result(raw_call6(SYS_recvfrom, fd, (long)bytes, (long)size, flags, 0, 0));
}
struct real real_recv = {.next = {(uintptr_t)first_recv}, .name = "recv"};

static ssize_t first_recvfrom(int fd, void *bytes, size_t size, int flags, __SOCKADDR_ARG address,
                              socklen_t *length) {
    if (real_find(&real_recvfrom)) {
        return REAL(recvfrom)(fd, bytes, size, flags, address, length);
    }
    return (ssize_t)real_result(raw_call6(SYS_recvfrom, fd, (long)bytes, (long)size, flags,
                                          (long)address.__sockaddr__, (long)length));
}
struct real real_recvfrom = {.next = {(uintptr_t)first_recvfrom}, .name = "recvfrom"};

static ssize_t first_recvmsg(int fd, struct msghdr *message, int flags) {
    if (real_find(&real_recvmsg)) {
        return REAL(recvmsg)(fd, message, flags);
    }
    return (ssize_t)real_result(raw_call3(SYS_recvmsg, fd, (long)message, flags));
}
struct real real_recvmsg = {.next = {(uintptr_t)first_recvmsg}, .name = "recvmsg"};

static int first_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                          struct timespec *timeout) {
    if (real_find(&real_recvmmsg)) {
        return REAL(recvmmsg)(fd, messages, count, flags, timeout);
    }
    return (int)real_result(
        raw_call6(SYS_recvmmsg, fd, (long)messages, (long)count, flags, (long)timeout, 0));
}
struct real real_recvmmsg = {.next = {(uintptr_t)first_recvmmsg}, .name = "recvmmsg"};

static ssize_t first_read(int fd, void *bytes, size_t size) {
    if (real_find(&real_read)) {
        return REAL(read)(fd, bytes, size);
    }
    return (ssize_t)real_result(raw_call3(SYS_read, fd, (long)bytes, (long)size));
}
struct real real_read = {.next = {(uintptr_t)first_read}, .name = "read"};

static ssize_t first_readv(int fd, const struct iovec *pieces, int count) {
    if (real_find(&real_readv)) {
        return REAL(readv)(fd, pieces, count);
    }
    return (ssize_t)real_result(raw_call3(SYS_readv, fd, (long)pieces, count));
}
struct real real_readv = {.next = {(uintptr_t)first_readv}, .name = "readv"};

static ssize_t first__read_chk(int fd, void *bytes, size_t size, size_t room) {
    if (real_find(&real___read_chk)) {
        return REAL(__read_chk)(fd, bytes, size, room);
    }
    if (size > room) {
        real_overflow();
    }
    return REAL(read)(fd, bytes, size);
}
struct real real___read_chk = {.next = {(uintptr_t)first__read_chk}, .name = "__read_chk"};

static ssize_t first__recv_chk(int fd, void *bytes, size_t size, size_t room, int flags) {
    if (real_find(&real___recv_chk)) {
        return REAL(__recv_chk)(fd, bytes, size, room, flags);
    }
    if (size > room) {
        real_overflow();
    }
    return REAL(recv)(fd, bytes, size, flags);
}
struct real real___recv_chk = {.next = {(uintptr_t)first__recv_chk}, .name = "__recv_chk"};

static ssize_t first__recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags,
                                   __SOCKADDR_ARG address, socklen_t *length) {
    if (real_find(&real___recvfrom_chk)) {
        return REAL(__recvfrom_chk)(fd, bytes, size, room, flags, address, length);
    }
    if (size > room) {
        real_overflow();
    }
    return REAL(recvfrom)(fd, bytes, size, flags, address, length);
}
struct real real___recvfrom_chk = {.next = {(uintptr_t)first__recvfrom_chk}, .name = "__recvfrom_chk"};
