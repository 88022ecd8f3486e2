/* What an errno says of a call: semantics.md, section 3. */
#ifndef CUTOUT_SHIM_ERROR_H
#define CUTOUT_SHIM_ERROR_H

#include "lib/outcome.h"

enum error_kind {
    ERROR_PENDING, /* nothing has ended yet */
    ERROR_OWN,     /* the program's or this machine's own fault */
    ERROR_FAILURE  /* the destination's, or that of the way to it */
};

/* Classifies an errno; *reason is set for ERROR_FAILURE, else REASON_NONE. */
enum error_kind error_kind(int error, enum failure_reason *reason);

#endif
