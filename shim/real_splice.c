/* Stand-ins of what moves bytes from one descriptor to another. */
#include "shim/real.h"

#include "shim/raw.h"

/* Where there is no sendfile64 of its own, off_t has 64 bits. */
#ifdef SYS_sendfile64
#define RAW_SENDFILE64 SYS_sendfile64
#else
#define RAW_SENDFILE64 SYS_sendfile
#endif

static ssize_t first_sendfile(int out, int in, off_t *offset, size_t size) {
    if (real_find(&real_sendfile)) {
        return REAL(sendfile)(out, in, offset, size);
    }
    return real_result(raw_call4(SYS_sendfile, out, in, (long)offset, (long)size));
}
struct real real_sendfile = {.next = {(uintptr_t)first_sendfile}, .name = "sendfile"};

static ssize_t first_sendfile64(int out, int in, off64_t *offset, size_t size) {
    if (real_find(&real_sendfile64)) {
        return REAL(sendfile64)(out, in, offset, size);
    }
    return real_result(raw_call4(RAW_SENDFILE64, out, in, (long)offset, (long)size));
}
struct real real_sendfile64 = {.next = {(uintptr_t)first_sendfile64}, .name = "sendfile64"};

static ssize_t first_splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
                            unsigned flags) {
    if (real_find(&real_splice)) {
        return REAL(splice)(in, in_offset, out, out_offset, size, flags);
    }
    return real_result(
        raw_call6(SYS_splice, in, (long)in_offset, out, (long)out_offset, (long)size, (long)flags));
}
struct real real_splice = {.next = {(uintptr_t)first_splice}, .name = "splice"};
