#include "shim/real.h"

#include "shim/raw.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

/* dlsym moved into libc.so with glibc 2.34; bound to its first version the guest loads on older ones too. */
#if defined(__x86_64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
#elif defined(__i386__)
__asm__(".symver dlsym, dlsym@GLIBC_2.0");
__asm__(".symver dlvsym, dlvsym@GLIBC_2.1");
extern __typeof__(dlvsym) dlvsym __attribute__((weak, visibility("default"))); /* not in musl */
#endif

/* Where this object begins and ends in memory: given by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Not 0 while this thread is inside dlsym. Eight bytes: a thread-local segment of one byte upsets old
 * loaders. */
static _Thread_local struct atomic64 finding;

/* What glibc 2.17 and musl 1.2 both have. */
static struct real *const found_everywhere[] = {
    &real_connect,
    &real_socket,
    &real_accept,
    &real_accept4,
    &real_send,
    &real_sendto,
    &real_sendmsg,
    &real_sendmmsg,
    &real_write,
    &real_writev,
    &real_recv,
    &real_recvfrom,
    &real_recvmsg,
    &real_recvmmsg,
    &real_read,
    &real_readv,
    &real_close,
    &real_fclose,
    &real_fdopen,
    &real_fileno,
    &real_shutdown,
    &real_dup,
    &real_dup2,
    &real_dup3,
    &real_fcntl,
    &real_getsockopt,
    &real_guest_prctl,
    &real_guest_syscall,
    &real_poll,
    &real_ppoll,
    &real_select,
    &real_pselect,
    &real_epoll_wait,
    &real_epoll_pwait,
    &real_getaddrinfo,
    &real_gethostbyname,
    &real_gethostbyname_r,
    &real_dlopen,
    &real_sendfile,
    &real_splice,
};

/* A library opened with dlopen, or one that the loader met twice, can find itself as the next definition. */
static bool real_is_ours(const void *function) {
    return (uintptr_t)function >= (uintptr_t)__ehdr_start && (uintptr_t)function < (uintptr_t)_end;
}

#if defined(__i386__)
/* There glibc has two of each of these. Before 2.36 RTLD_NEXT alone names the elder: of the look-ups one that says -1 for
 * any error, of dlopen one that takes any mode, of the streams one of another layout. */
static const char *version_of(const struct real *real) {
    if (real == &real_gethostbyname_r || real == &real_gethostbyname2_r) {
        return "GLIBC_2.1.2";
    }
    bool stream = real == &real_fdopen || real == &real_fclose;
    return stream || real == &real_dlopen ? "GLIBC_2.1" : NULL;
}
#endif

static const void *next_of(const struct real *real) {
#if defined(__i386__)
    const char *version = version_of(real);
    if (dlvsym && version != NULL) {
        const void *next = dlvsym(RTLD_NEXT, real->name, version);
        if (next != NULL) {
            return next;
        }
    }
#endif
    return dlsym(RTLD_NEXT, real->name);
}

bool real_find(struct real *real) {
    if (atomic64_load_relaxed(&finding) != 0 || atomic64_load_relaxed(&real->absent) != 0) {
        return false;
    }
    const int error = errno;
    atomic64_store_relaxed(&finding, 1);
    const void *next = next_of(real);
    atomic64_store_relaxed(&finding, 0);
    errno = error;
    if (next == NULL || real_is_ours(next)) {
        atomic64_store_relaxed(&real->absent, 1);
        return false;
    }
    atomic_address_store_relaxed(&real->next, (uintptr_t)next);
    return true;
}

/* A name that every libc has and hardly any other library. */
bool real_is_preloaded(void) {
    const int error = errno;
    const bool found = real_find(&real_recvmmsg);
    const void *first = found ? dlsym(RTLD_DEFAULT, real_recvmmsg.name) : NULL;
    errno = error;
    return first != NULL && (uintptr_t)first != atomic_address_load_relaxed(&real_recvmmsg.next);
}

long real_result(long result) {
    if (!raw_failed(result)) {
        return result;
    }
    errno = (int)-result;
    return -1;
}

_Noreturn void real_overflow(void) {
    static struct real chk_fail = {.name = "__chk_fail"};
    if (real_find(&chk_fail)) {
        ((void (*)(void))atomic_address_load_relaxed(&chk_fail.next))();
    }
    raw_call3(SYS_kill, raw_call3(SYS_getpid, 0, 0, 0), SIGABRT, 0);
    __builtin_trap(); /* SIGABRT is blocked or caught: nothing may run on past the end of that buffer */
}

/* Runs after the constructors of the program's other libraries, which may have called us already: what they
 * have found is found again, with the same value. */
__attribute__((constructor)) static void real_find_everywhere(void) {
    for (size_t i = 0; i < sizeof found_everywhere / sizeof *found_everywhere; i++) {
        real_find(found_everywhere[i]);
    }
}
