#include "shim/error.h"

#include <errno.h>

enum error_kind error_kind(int error, enum failure_reason *reason) {
    *reason = REASON_NONE;
    switch (error) {
    case EINTR:
    case EAGAIN:
    case EINPROGRESS:
    case EALREADY:
        return ERROR_PENDING;
    case ECONNREFUSED:
        *reason = REASON_REFUSED;
        return ERROR_FAILURE;
    case ETIMEDOUT:
        *reason = REASON_TIMEOUT;
        return ERROR_FAILURE;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
        *reason = REASON_UNREACHABLE;
        return ERROR_FAILURE;
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
        *reason = REASON_RESET;
        return ERROR_FAILURE;
    default:
        return ERROR_OWN;
    }
}
