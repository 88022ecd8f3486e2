/* fcntl, for the two commands that duplicate a descriptor. Its argument is an int, a long or a pointer, or not
 * there: one word is taken and passed on in every case. */
#include "shim/call.h"
#include "shim/real.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int duplicated(int fd, int command, void *argument, __typeof__(&fcntl) next) {
    struct duplicate_call call;
    call_duplicate_begin(&call, fd, -1);
    const int result = next(fd, command, argument);
    const int error = errno;
    call_duplicate_end(&call, fd, -1, result);
    errno = error;
    return result;
}

static bool duplicates(int command) {
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

INTERPOSED int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    if (duplicates(command)) {
        return duplicated(fd, command, argument, REAL(fcntl));
    }
    return REAL(fcntl)(fd, command, argument);
}
INTERPOSED ALIAS(__fcntl, fcntl);

INTERPOSED int fcntl64(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    if (duplicates(command)) {
        return duplicated(fd, command, argument, REAL(fcntl64));
    }
    return REAL(fcntl64)(fd, command, argument);
}
