/* getsockopt, to see the program read SO_ERROR: reading clears it, so the guest never does it itself. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>
#include <string.h>

APART static int judged_getsockopt(int fd, void *value, socklen_t *size) {
    const int result = REAL(getsockopt)(fd, SOL_SOCKET, SO_ERROR, value, size);
    int seen;
    if (result == 0 && *size == sizeof seen) {
        const int error = errno;
        memcpy(&seen, value, sizeof seen);
        call_so_error(fd, seen);
        errno = error;
    }
    return result;
}
INTERPOSED int getsockopt(int fd, int level, int option, void *value, socklen_t *size) {
    if (level == SOL_SOCKET && option == SO_ERROR && descriptor_is_tracked(fd)) {
        return judged_getsockopt(fd, value, size);
    }
    return REAL(getsockopt)(fd, level, option, value, size);
}
