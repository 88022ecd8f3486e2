/* dlopen, for one flag of it.
 *
 * It is left by a jump and never by a call: the loader tells by the return address which object asks, and looks where that
 * one says (RUNPATH, $ORIGIN). */
#include "shim/call.h"
#include "shim/real.h"

INTERPOSED void *dlopen(const char *file, int mode) {
    const int allowed = call_dlopen_mode(mode);
    BY_JUMP return REAL(dlopen)(file, allowed);
}
