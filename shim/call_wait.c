#include "shim/call.h"
#include "shim/connection.h"

#include <errno.h>

void call_wait_begin(void) {
    thread_waits.waiting = true;
}

void call_wait_end(int fd, int result, bool polled) {
    thread_waits.waiting = false;
    if (polled) {
        /* A mere look is no wait, but what it finds ends the one before: the loser of a race between two
         * addresses is closed because the winner was found, not because a wait ended in vain. */
        if (result > 0) {
            thread_waits.timed_out = false;
        }
        return;
    }
    thread_waits.fd = fd;
    if (result >= 0) {
        thread_waits.timed_out = result == 0;
    } else {
        thread_waits.timed_out = errno == EINTR;
    }
}
