/* What moves bytes from one descriptor to another without the program touching them. None of them is there to be read,
 * so nothing is recognised by them: that a request goes out, or an answer comes in, is all. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>

static ssize_t sent(struct data_call *call, int fd, int flags, ssize_t result) {
    const int error = errno;
    call_send_end(call, fd, NULL, 0, flags, result);
    errno = error;
    return result;
}

APART static ssize_t judged_sendfile(int out, int in, off_t *offset, size_t size) {
    struct data_call call;
    if (!call_send_begin(&call, out)) {
        return -1;
    }
    return sent(&call, out, 0, REAL(sendfile)(out, in, offset, size));
}
INTERPOSED ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    if (descriptor_is_tracked(out)) {
        return judged_sendfile(out, in, offset, size);
    }
    return REAL(sendfile)(out, in, offset, size);
}

APART static ssize_t judged_sendfile64(int out, int in, off64_t *offset, size_t size) {
    struct data_call call;
    if (!call_send_begin(&call, out)) {
        return -1;
    }
    return sent(&call, out, 0, REAL(sendfile64)(out, in, offset, size));
}
INTERPOSED ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) {
    if (descriptor_is_tracked(out)) {
        return judged_sendfile64(out, in, offset, size);
    }
    return REAL(sendfile64)(out, in, offset, size);
}

/* At the other end lies a pipe. Its being full or empty (EAGAIN) is no time-out of the socket, and its having lost its
 * reader (EPIPE) no failure. */
APART static ssize_t judged_splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
                                   unsigned flags) {
    struct data_call call;
    if (descriptor_is_tracked(out)) {
        if (!call_send_begin(&call, out)) {
            return -1;
        }
        return sent(&call, out, MSG_DONTWAIT, REAL(splice)(in, in_offset, out, out_offset, size, flags));
    }
    call_receive_begin(&call, in, MSG_DONTWAIT);
    const ssize_t result = REAL(splice)(in, in_offset, out, out_offset, size, flags);
    const int error = errno;
    if (result < 0 && error == EPIPE) {
        errno = EAGAIN;
    }
    call_receive_end(&call, in, size, MSG_DONTWAIT, result);
    errno = error;
    return result;
}
INTERPOSED ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
                          unsigned flags) {
    if (descriptor_is_tracked(in) || descriptor_is_tracked(out)) {
        return judged_splice(in, in_offset, out, out_offset, size, flags);
    }
    return REAL(splice)(in, in_offset, out, out_offset, size, flags);
}
