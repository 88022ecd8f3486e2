/* prctl and syscall, watched and never changed: they can install a system-call filter, and some programs close
 * their sockets by number.
 *
 * Whatever is not watched leaves by a jump, with no frame of ours: a system call that makes a child in the
 * same memory returns twice. */
#include "shim/call.h"
#include "shim/raw.h"
#include "shim/real.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

APART static int watched_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                               unsigned long d) {
    call_sandbox_begins();
    const int result = REAL(guest_prctl)(option, a, b, c, d);
    if (result < 0) {
        call_sandbox_failed();
    }
    return result;
}

INTERPOSED int guest_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (option == PR_SET_SECCOMP) {
        return watched_prctl(option, a, b, c, d);
    }
    return REAL(guest_prctl)(option, a, b, c, d);
}

static long range_closed(long number, long a, long b, long c, long d, long e, long f) {
    struct range_call call;
    call_range_begin(&call, (unsigned)a, (unsigned)b, (int)c);
    const long result = REAL(guest_syscall)(number, a, b, c, d, e, f);
    const int error = errno;
    call_range_end(&call, (int)result);
    errno = error;
    return result;
}

static long duplicated(long number, long a, long b, long c, long d, long e, long f) {
    struct duplicate_call call;
    const int target = number == SYS_dup ? -1 : (int)b;
    call_duplicate_begin(&call, (int)a, target);
    const long result = REAL(guest_syscall)(number, a, b, c, d, e, f);
    const int error = errno;
    call_duplicate_end(&call, (int)a, target, (int)result);
    errno = error;
    return result;
}

static long sandboxing(long number, long a, long b, long c, long d, long e, long f) {
    call_sandbox_begins();
    const long result = REAL(guest_syscall)(number, a, b, c, d, e, f);
    if (result < 0) {
        call_sandbox_failed();
    }
    return result;
}

APART static long watched_syscall(long number, long a, long b, long c, long d, long e, long f) {
    switch (number) {
    case SYS_close:
        call_close((int)a);
        break;
    case SYS_close_range:
        return range_closed(number, a, b, c, d, e, f);
    case SYS_seccomp: /* two of its operations only ask what the kernel can do */
        if (a != SECCOMP_GET_ACTION_AVAIL && a != SECCOMP_GET_NOTIF_SIZES) {
            return sandboxing(number, a, b, c, d, e, f);
        }
        break;
    case SYS_prctl:
        if (a == PR_SET_SECCOMP) {
            return sandboxing(number, a, b, c, d, e, f);
        }
        break;
    default: /* SYS_dup, SYS_dup3, and SYS_dup2 where there is one */
        return duplicated(number, a, b, c, d, e, f);
    }
    return REAL(guest_syscall)(number, a, b, c, d, e, f);
}

INTERPOSED long guest_syscall(long number, long a, long b, long c, long d, long e, long f) {
    switch (number) {
    case SYS_close:
    case SYS_close_range:
    case SYS_seccomp:
    case SYS_prctl:
    case SYS_dup:
#ifdef SYS_dup2
    case SYS_dup2:
#endif
    case SYS_dup3:
        return watched_syscall(number, a, b, c, d, e, f);
    default:
        BY_JUMP return REAL(guest_syscall)(number, a, b, c, d, e, f);
    }
}
