/* What sends. The program's bytes and message headers are read only after the kernel has taken them, and no
 * further than it did: before that they may be bad pointers, which are the kernel's to refuse. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>
#include <unistd.h>

static ssize_t sent_pieces(struct data_call *call, int fd, const struct iovec *pieces, size_t count,
                           int flags, ssize_t result) {
    const int error = errno;
    call_send_end(call, fd, pieces, count, flags, result);
    errno = error;
    return result;
}

static ssize_t sent(struct data_call *call, int fd, const void *bytes, size_t size, int flags,
                    ssize_t result) {
    const struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    return sent_pieces(call, fd, &piece, 1, flags, result);
}

APART static ssize_t judged_send(int fd, const void *bytes, size_t size, int flags) {
    struct data_call call;
    if (!call_send_begin(&call, fd)) {
        return -1;
    }
    return sent(&call, fd, bytes, size, flags, REAL(send)(fd, bytes, size, flags));
}
INTERPOSED ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    if (descriptor_is_tracked(fd)) {
        return judged_send(fd, bytes, size, flags);
    }
    return REAL(send)(fd, bytes, size, flags);
}
INTERPOSED ALIAS(__send, send);

APART static ssize_t judged_sendto(int fd, const void *bytes, size_t size, int flags,
                                   __CONST_SOCKADDR_ARG address, socklen_t length) {
    struct data_call call;
    if (!call_send_begin(&call, fd)) {
        return -1;
    }
    return sent(&call, fd, bytes, size, flags, REAL(sendto)(fd, bytes, size, flags, address, length));
}
INTERPOSED ssize_t sendto(int fd, const void *bytes, size_t size, int flags, __CONST_SOCKADDR_ARG address,
                          socklen_t length) {
    if (descriptor_is_tracked(fd)) {
        return judged_sendto(fd, bytes, size, flags, address, length);
    }
    return REAL(sendto)(fd, bytes, size, flags, address, length);
}

APART static ssize_t judged_write(int fd, const void *bytes, size_t size) {
    struct data_call call;
    if (!call_send_begin(&call, fd)) {
        return -1;
    }
    return sent(&call, fd, bytes, size, 0, REAL(write)(fd, bytes, size));
}
INTERPOSED ssize_t write(int fd, const void *bytes, size_t size) {
    if (descriptor_is_tracked(fd)) {
        return judged_write(fd, bytes, size);
    }
    return REAL(write)(fd, bytes, size);
}
INTERPOSED ALIAS(__write, write);

APART static ssize_t judged_writev(int fd, const struct iovec *pieces, int count) {
    struct data_call call;
    if (!call_send_begin(&call, fd)) {
        return -1;
    }
    const ssize_t result = REAL(writev)(fd, pieces, count);
    return sent_pieces(&call, fd, pieces, result < 0 ? 0 : (size_t)count, 0, result);
}
INTERPOSED ssize_t writev(int fd, const struct iovec *pieces, int count) {
    if (descriptor_is_tracked(fd)) {
        return judged_writev(fd, pieces, count);
    }
    return REAL(writev)(fd, pieces, count);
}

APART static ssize_t judged_sendmsg(int fd, const struct msghdr *message, int flags) {
    struct data_call call;
    if (!call_send_begin(&call, fd)) {
        return -1;
    }
    const ssize_t result = REAL(sendmsg)(fd, message, flags);
    if (result < 0) {
        return sent_pieces(&call, fd, NULL, 0, flags, result);
    }
    return sent_pieces(&call, fd, message->msg_iov, message->msg_iovlen, flags, result);
}
INTERPOSED ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    if (descriptor_is_tracked(fd)) {
        return judged_sendmsg(fd, message, flags);
    }
    return REAL(sendmsg)(fd, message, flags);
}

/* Several messages are one send: that the first went out begins or continues a call, and what it holds tells
 * the protocol. */
APART static int judged_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    struct data_call call;
    if (!call_send_begin(&call, fd)) {
        return -1;
    }
    const int result = REAL(sendmmsg)(fd, messages, count, flags);
    if (result <= 0) {
        sent_pieces(&call, fd, NULL, 0, flags, result);
    } else {
        sent_pieces(&call, fd, messages[0].msg_hdr.msg_iov, messages[0].msg_hdr.msg_iovlen, flags,
                    (ssize_t)messages[0].msg_len);
    }
    return result;
}
INTERPOSED int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    if (descriptor_is_tracked(fd)) {
        return judged_sendmmsg(fd, messages, count, flags);
    }
    return REAL(sendmmsg)(fd, messages, count, flags);
}
