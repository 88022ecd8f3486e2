/* prctl and syscall, watched and never changed: they can install a system-call filter, and some programs close
 * their sockets by number.
 *
 * Their entries are written by hand, in entry.h. What is not watched leaves by a jump, with no frame of ours: a system call
 * that makes a child in the same memory returns twice. And nothing is stored where arguments lie on the stack: few callers
 * pass as many as there can be, and behind what they pass lie variables of their own. A compiler that has read such a word
 * puts it back, and what another thread has written there in between is lost. */
#include "shim/call.h"
#include "shim/entry.h"
#include "shim/guest.h"
#include "shim/raw.h"
#include "shim/real.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

/* Called by the entries with what they were called with; none of the watched calls takes more. */
int watched_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
long watched_syscall(long number, long a, long b, long c, long d, long e);

int watched_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (option == GUEST_PRCTL) {
        return GUEST_PRCTL;
    }
    const bool strict = a == SECCOMP_MODE_STRICT;
    call_sandbox_begins(strict);
    const int result = REAL(guest_prctl)(option, a, b, c, d);
    if (result < 0) {
        call_sandbox_failed(strict);
    }
    return result;
}

static long range_closed(long number, long a, long b, long c, long d, long e) {
    struct range_call call;
    call_range_begin(&call, (unsigned)a, (unsigned)b, (int)c);
    const long result = REAL(guest_syscall)(number, a, b, c, d, e, 0);
    const int error = errno;
    call_range_end(&call, (int)result);
    errno = error;
    return result;
}

static long duplicated(long number, long a, long b, long c, long d, long e) {
    struct duplicate_call call;
    const int target = number == SYS_dup ? -1 : (int)b;
    call_duplicate_begin(&call, (int)a, target);
    const long result = REAL(guest_syscall)(number, a, b, c, d, e, 0);
    const int error = errno;
    call_duplicate_end(&call, (int)a, target, (int)result);
    errno = error;
    return result;
}

static long sandboxing(long number, long a, long b, long c, long d, long e, bool strict) {
    call_sandbox_begins(strict);
    const long result = REAL(guest_syscall)(number, a, b, c, d, e, 0);
    if (result < 0) {
        call_sandbox_failed(strict);
    }
    return result;
}

long watched_syscall(long number, long a, long b, long c, long d, long e) {
    switch (number) {
    case SYS_close:
        call_close((int)a);
        break;
    case SYS_close_range:
        return range_closed(number, a, b, c, d, e);
    case SYS_seccomp: /* two of its operations only ask what the kernel can do */
        if (a != SECCOMP_GET_ACTION_AVAIL && a != SECCOMP_GET_NOTIF_SIZES) {
            return sandboxing(number, a, b, c, d, e, a == SECCOMP_SET_MODE_STRICT);
        }
        break;
    case SYS_prctl:
        if (a == PR_SET_SECCOMP) {
            return sandboxing(number, a, b, c, d, e, b == SECCOMP_MODE_STRICT);
        }
        break;
    default: /* SYS_dup, SYS_dup3, and SYS_dup2 where there is one */
        return duplicated(number, a, b, c, d, e);
    }
    return REAL(guest_syscall)(number, a, b, c, d, e, 0);
}

ENTRY(prctl, guest_prctl, watched_prctl, 5, WATCHES(PR_SET_SECCOMP) WATCHES(GUEST_PRCTL));
ENTRY(syscall, guest_syscall, watched_syscall, 6,
      WATCHES(SYS_close) WATCHES(SYS_close_range) WATCHES(SYS_seccomp) WATCHES(SYS_prctl) WATCHES(SYS_dup)
          WATCHES_DUP2 WATCHES(SYS_dup3));
#if defined(__i386__)
ENTRY(__prctl_time64, guest_prctl_time64, watched_prctl_time64, 5, WATCHES(PR_SET_SECCOMP));
#endif
