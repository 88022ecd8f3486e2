#include "shim/call.h"
#include "shim/connection.h"

#include <errno.h>

void call_wait_begin(void) {
    thread_waits.waiting = true;
}

void call_wait_end(int fd, int result, bool polled) {
    thread_waits.waiting = false;
    if (polled) {
        return;
    }
    thread_waits.fd = fd;
    if (result >= 0) {
        thread_waits.timed_out = result == 0;
    } else {
        thread_waits.timed_out = errno == EINTR;
    }
}
