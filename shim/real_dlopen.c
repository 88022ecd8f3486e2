/* Stand-in of dlopen. There is no system call for it: without a libc behind us nothing can be opened. */
#include "shim/real.h"

static void *first_dlopen(const char *file, int mode) {
    if (real_find(&real_dlopen)) {
        BY_JUMP return REAL(dlopen)(file, mode); /* by a jump: see interpose_dlopen.c */
    }
    return NULL;
}
struct real real_dlopen = {.next = {(uintptr_t)first_dlopen}, .name = "dlopen"};
