/* What ends a descriptor, and what makes another name for it. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/* Forgotten before the close: the moment the kernel returns, another thread may own the number. */
INTERPOSED int close(int fd) {
    call_close(fd);
    return REAL(close)(fd);
}
INTERPOSED ALIAS(__close, close);

/* The close inside is libc's own and passes nobody. A stream without a descriptor sets errno when asked. */
INTERPOSED int fclose(FILE *stream) {
    const int error = errno;
    call_close(REAL(fileno)(stream));
    errno = error;
    return REAL(fclose)(stream);
}

/* What passes through the stream passes inside libc. */
INTERPOSED FILE *fdopen(int fd, const char *mode) {
    FILE *stream = REAL(fdopen)(fd, mode);
    if (stream != NULL && descriptor_is_tracked(fd)) {
        const int error = errno;
        call_stream(fd);
        errno = error;
    }
    return stream;
}

INTERPOSED int close_range(unsigned first, unsigned last, int flags) {
    struct range_call call;
    call_range_begin(&call, first, last, flags);
    const int result = REAL(close_range)(first, last, flags);
    const int error = errno;
    call_range_end(&call, result);
    errno = error;
    return result;
}

INTERPOSED void closefrom(int first) {
    struct range_call call;
    call_range_begin(&call, first < 0 ? 0 : (unsigned)first, UINT32_MAX, 0);
    REAL(closefrom)(first);
    const int error = errno;
    call_range_end(&call, 0);
    errno = error;
}

INTERPOSED int shutdown(int fd, int how) {
    if (descriptor_is_tracked(fd)) {
        call_shutdown(fd, how);
    }
    return REAL(shutdown)(fd, how);
}

static int duplicated(struct duplicate_call *call, int fd, int target, int result) {
    const int error = errno;
    call_duplicate_end(call, fd, target, result);
    errno = error;
    return result;
}

INTERPOSED int dup(int fd) {
    struct duplicate_call call;
    call_duplicate_begin(&call, fd, -1);
    return duplicated(&call, fd, -1, REAL(dup)(fd));
}

INTERPOSED int dup2(int fd, int target) {
    struct duplicate_call call;
    call_duplicate_begin(&call, fd, target);
    return duplicated(&call, fd, target, REAL(dup2)(fd, target));
}
INTERPOSED ALIAS(__dup2, dup2);

INTERPOSED int dup3(int fd, int target, int flags) {
    struct duplicate_call call;
    call_duplicate_begin(&call, fd, target);
    return duplicated(&call, fd, target, REAL(dup3)(fd, target, flags));
}
