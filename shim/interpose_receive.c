/* What receives, with the doubles that fortified programs call. Errors that wait in a socket's error queue and
 * urgent data are no answers and go straight through. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>
#include <unistd.h>

#define NO_ANSWER (MSG_ERRQUEUE | MSG_OOB)

static ssize_t received(struct data_call *call, int fd, size_t wanted, int flags, ssize_t result) {
    const int error = errno;
    call_receive_end(call, fd, wanted, flags, result);
    errno = error;
    return result;
}

/* How much was asked for matters only when nothing came (0 of 0 is no end of stream); and only then, after the
 * kernel took the pieces, are they read. */
static size_t wanted_of(const struct iovec *pieces, size_t count, ssize_t result) {
    size_t wanted = 0;
    for (size_t i = 0; result == 0 && i < count && wanted == 0; i++) {
        wanted = pieces[i].iov_len;
    }
    return wanted;
}

APART static ssize_t judged_recv(int fd, void *bytes, size_t size, int flags) {
    struct data_call call;
    call_receive_begin(&call, fd, flags);
    return received(&call, fd, size, flags, REAL(recv)(fd, bytes, size, flags));
}
INTERPOSED ssize_t recv(int fd, void *bytes, size_t size, int flags) {
    if (descriptor_is_tracked(fd) && !(flags & NO_ANSWER)) {
        return judged_recv(fd, bytes, size, flags);
    }
    return REAL(recv)(fd, bytes, size, flags);
}

APART static ssize_t judged_recv_chk(int fd, void *bytes, size_t size, size_t room, int flags) {
    struct data_call call;
    call_receive_begin(&call, fd, flags);
    return received(&call, fd, size, flags, REAL(__recv_chk)(fd, bytes, size, room, flags));
}
INTERPOSED ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags) {
    if (descriptor_is_tracked(fd) && !(flags & NO_ANSWER)) {
        return judged_recv_chk(fd, bytes, size, room, flags);
    }
    return REAL(__recv_chk)(fd, bytes, size, room, flags);
}

APART static ssize_t judged_recvfrom(int fd, void *bytes, size_t size, int flags, __SOCKADDR_ARG address,
                                     socklen_t *length) {
    struct data_call call;
    call_receive_begin(&call, fd, flags);
    return received(&call, fd, size, flags, REAL(recvfrom)(fd, bytes, size, flags, address, length));
}
INTERPOSED ssize_t recvfrom(int fd, void *bytes, size_t size, int flags, __SOCKADDR_ARG address,
                            socklen_t *length) {
    if (descriptor_is_tracked(fd) && !(flags & NO_ANSWER)) {
        return judged_recvfrom(fd, bytes, size, flags, address, length);
    }
    return REAL(recvfrom)(fd, bytes, size, flags, address, length);
}

APART static ssize_t judged_recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags,
                                         __SOCKADDR_ARG address, socklen_t *length) {
    struct data_call call;
    call_receive_begin(&call, fd, flags);
    const ssize_t result = REAL(__recvfrom_chk)(fd, bytes, size, room, flags, address, length);
    return received(&call, fd, size, flags, result);
}
INTERPOSED ssize_t __recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags,
                                  __SOCKADDR_ARG address, socklen_t *length) {
    if (descriptor_is_tracked(fd) && !(flags & NO_ANSWER)) {
        return judged_recvfrom_chk(fd, bytes, size, room, flags, address, length);
    }
    return REAL(__recvfrom_chk)(fd, bytes, size, room, flags, address, length);
}

APART static ssize_t judged_read(int fd, void *bytes, size_t size) {
    struct data_call call;
    call_receive_begin(&call, fd, 0);
    return received(&call, fd, size, 0, REAL(read)(fd, bytes, size));
}
INTERPOSED ssize_t read(int fd, void *bytes, size_t size) {
    if (descriptor_is_tracked(fd)) {
        return judged_read(fd, bytes, size);
    }
    return REAL(read)(fd, bytes, size);
}
INTERPOSED ALIAS(__read, read);

APART static ssize_t judged_read_chk(int fd, void *bytes, size_t size, size_t room) {
    struct data_call call;
    call_receive_begin(&call, fd, 0);
    return received(&call, fd, size, 0, REAL(__read_chk)(fd, bytes, size, room));
}
INTERPOSED ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room) {
    if (descriptor_is_tracked(fd)) {
        return judged_read_chk(fd, bytes, size, room);
    }
    return REAL(__read_chk)(fd, bytes, size, room);
}

APART static ssize_t judged_readv(int fd, const struct iovec *pieces, int count) {
    struct data_call call;
    call_receive_begin(&call, fd, 0);
    const ssize_t result = REAL(readv)(fd, pieces, count);
    return received(&call, fd, wanted_of(pieces, (size_t)count, result), 0, result);
}
INTERPOSED ssize_t readv(int fd, const struct iovec *pieces, int count) {
    if (descriptor_is_tracked(fd)) {
        return judged_readv(fd, pieces, count);
    }
    return REAL(readv)(fd, pieces, count);
}

APART static ssize_t judged_recvmsg(int fd, struct msghdr *message, int flags) {
    struct data_call call;
    call_receive_begin(&call, fd, flags);
    const ssize_t result = REAL(recvmsg)(fd, message, flags);
    if (result != 0) {
        return received(&call, fd, 0, flags, result);
    }
    return received(&call, fd, wanted_of(message->msg_iov, message->msg_iovlen, result), flags, result);
}
INTERPOSED ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    if (descriptor_is_tracked(fd) && !(flags & NO_ANSWER)) {
        return judged_recvmsg(fd, message, flags);
    }
    return REAL(recvmsg)(fd, message, flags);
}

/* The first message stands for them all. */
APART static int judged_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                                 struct timespec *timeout) {
    struct data_call call;
    call_receive_begin(&call, fd, flags);
    const int result = REAL(recvmmsg)(fd, messages, count, flags, timeout);
    if (result <= 0) {
        received(&call, fd, 0, flags, result);
        return result;
    }
    const struct msghdr *first = &messages[0].msg_hdr;
    const ssize_t size = (ssize_t)messages[0].msg_len;
    received(&call, fd, wanted_of(first->msg_iov, first->msg_iovlen, size), flags, size);
    return result;
}
INTERPOSED int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                        struct timespec *timeout) {
    if (descriptor_is_tracked(fd) && !(flags & NO_ANSWER)) {
        return judged_recvmmsg(fd, messages, count, flags, timeout);
    }
    return REAL(recvmmsg)(fd, messages, count, flags, timeout);
}
