/* Modules opened with RTLD_DEEPBIND bind to the C library before any preload: what they call would pass unseen. PHP opens
 * every extension so. The flag is cleared, unless CUTOUT_DEEPBIND=keep. */
#include "shim/call.h"
#include "shim/guest.h"

#include <dlfcn.h>

/* musl has no such flag, and overlooks the bit. */
#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 8
#endif

int call_dlopen_mode(int mode) {
    if ((mode & RTLD_DEEPBIND) == 0) {
        return mode;
    }
    if (guest_is_active() && !guest.environment.keeps_deepbind) {
        return mode & ~RTLD_DEEPBIND;
    }
    atomic64_add_relaxed(&guest.badge.deepbound, 1);
    return mode;
}
