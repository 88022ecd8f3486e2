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

#elif defined(__i386__)

static inline long raw_call5(long number, long a, long b, long c, long d, long e) {
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                     : "memory");
    return result;
}

/* The sixth argument goes in ebp, which the compiler may need to find its own frame: it is pushed beside the old ebp,
 * and taken from there. Nothing can be unwound through those few instructions, so nothing that blocks is called so. */
static inline long raw_call6(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    if (__builtin_constant_p(f) && f == 0) {
        return raw_call5(number, a, b, c, d, e);
    }
    __asm__ volatile("pushl %[sixth]\n\t"
                     "pushl %%ebp\n\t"
                     "movl 4(%%esp), %%ebp\n\t"
                     "int $0x80\n\t"
                     "popl %%ebp\n\t"
                     "addl $4, %%esp"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), [sixth] "g"(f)
                     : "memory", "cc");
    return result;
}

#else
#error "cutout knows the system call convention of x86_64, aarch64 and i386 only"
#endif

static inline long raw_call4(long number, long a, long b, long c, long d) {
    return raw_call6(number, a, b, c, d, 0, 0);
}

static inline long raw_call3(long number, long a, long b, long c) {
    return raw_call6(number, a, b, c, 0, 0, 0);
}

/* i386 keeps older forms of these under their plain names. RAW_FSTATAT and RAW_FSTAT fill a struct stat64. */
#if defined(__i386__)
#define RAW_MMAP    SYS_mmap2
#define RAW_FSTATAT SYS_fstatat64
#define RAW_FSTAT   SYS_fstat64
#define RAW_FCNTL   SYS_fcntl64
#else
#define RAW_MMAP    SYS_mmap
#define RAW_FSTATAT SYS_newfstatat
#define RAW_FSTAT   SYS_fstat
#define RAW_FCNTL   SYS_fcntl
#endif

/* True when a result is an error: -4095..-1. */
static inline int raw_failed(long result) {
    return (unsigned long)result >= (unsigned long)-4095L;
}

#endif
