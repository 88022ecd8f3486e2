/* The point at which a thread may be cancelled, on the way of a call that is rejected: the call that is not made would
 * have been one. Weak: a process whose libc keeps threads in a library of their own may not have loaded it. */
#include "shim/call.h"

/* Its oldest version, so that the object loads on every glibc. */
#if defined(__x86_64__)
__asm__(".symver pthread_testcancel, pthread_testcancel@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver pthread_testcancel, pthread_testcancel@GLIBC_2.17");
#elif defined(__i386__)
__asm__(".symver pthread_testcancel, pthread_testcancel@GLIBC_2.0");
#endif
extern void pthread_testcancel(void) __attribute__((weak, visibility("default")));

void call_cancellation_point(void) {
    if (pthread_testcancel) {
        pthread_testcancel();
    }
}
