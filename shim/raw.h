/* System calls made directly, for a guest that exports the names of libc's own and must touch neither errno
 * nor a thread's cancellation. Each returns what the kernel returns: the result, or -errno. */
#ifndef CUTOUT_SHIM_RAW_H
#define CUTOUT_SHIM_RAW_H

#include <sys/syscall.h>

#if defined(__x86_64__) && !defined(__ILP32__)

static inline long raw_call6(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

static inline long raw_call6(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

#else
#error "cutout knows the system call convention of x86_64 and aarch64 only"
#endif

static inline long raw_call4(long number, long a, long b, long c, long d) {
    return raw_call6(number, a, b, c, d, 0, 0);
}

static inline long raw_call3(long number, long a, long b, long c) {
    return raw_call6(number, a, b, c, 0, 0, 0);
}

/* True when a result is an error: -4095..-1. */
static inline int raw_failed(long result) {
    return (unsigned long)result >= (unsigned long)-4095L;
}

#endif
