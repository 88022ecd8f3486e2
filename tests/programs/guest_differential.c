/* Odd calls on odd descriptors, each on a fresh one: what came back, errno, and the signals raised. Run bare and
 * under the shim it must print the same, line by line.
 *
 *   guest_differential
 *
 * A line: descriptor, call, result, errno afterwards (12345 = untouched), SIGPIPEs so far.
 */
#include "tests/programs/guest_makers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define UNTOUCHED 12345
#define QUIET     (MSG_DONTWAIT | MSG_NOSIGNAL)
#define UNMAPPED  ((void *)(uintptr_t)bad_address)

static volatile uintptr_t bad_address = 8;
static volatile int negative = -1, too_many = 1025;
static volatile sig_atomic_t pipes;
static char bytes[64];

static void count_pipe(int number) {
    (void)number;
    pipes++;
}

static struct iovec pieces[3];
static struct msghdr message;
static struct mmsghdr messages[2];

/* As they stand before each call. */
static void prepare(void) {
    pieces[0] = (struct iovec){bytes, 3};
    pieces[1] = (struct iovec){NULL, 0};
    pieces[2] = (struct iovec){bytes + 3, 5};
    message = (struct msghdr){.msg_iov = pieces, .msg_iovlen = 3};
    messages[0] = messages[1] = (struct mmsghdr){.msg_hdr = message};
    memset(bytes, 'x', sizeof bytes);
}

static long send_bytes(int fd) {
    return send(fd, bytes, 8, QUIET);
}
static long send_nothing(int fd) {
    return send(fd, bytes, 0, QUIET);
}
static long send_unmapped(int fd) {
    return send(fd, UNMAPPED, 8, QUIET);
}
static long send_aloud(int fd) {
    return send(fd, bytes, 8, MSG_DONTWAIT);
}
static long send_odd_flags(int fd) {
    return send(fd, bytes, 8, QUIET | MSG_MORE | 0x10000);
}
static long send_urgent(int fd) {
    return send(fd, bytes, 1, QUIET | MSG_OOB);
}
static long sendto_nowhere(int fd) {
    return sendto(fd, bytes, 8, QUIET, NULL, 0);
}
static long sendto_short(int fd) {
    struct sockaddr_in address = loopback(htons(9));
    return sendto(fd, bytes, 8, QUIET, (struct sockaddr *)&address, 3);
}
static long sendmsg_pieces(int fd) {
    return sendmsg(fd, &message, QUIET);
}
static long sendmsg_unmapped(int fd) {
    return sendmsg(fd, UNMAPPED, QUIET);
}
static long sendmsg_many(int fd) {
    message.msg_iovlen = 1025;
    return sendmsg(fd, &message, QUIET);
}
static long sendmsg_unmapped_pieces(int fd) {
    message.msg_iov = UNMAPPED;
    return sendmsg(fd, &message, QUIET);
}
static long sendmmsg_two(int fd) {
    return sendmmsg(fd, messages, 2, QUIET);
}
static long sendmmsg_none(int fd) {
    return sendmmsg(fd, messages, 0, QUIET);
}
static long sendmmsg_unmapped(int fd) {
    return sendmmsg(fd, UNMAPPED, 2, QUIET);
}
static long write_bytes(int fd) {
    return write(fd, bytes, 8);
}
static long write_nothing(int fd) {
    return write(fd, NULL, 0);
}
static long write_unmapped(int fd) {
    return write(fd, UNMAPPED, 8);
}
static long writev_pieces(int fd) {
    return writev(fd, pieces, 3);
}
static long writev_none(int fd) {
    return writev(fd, pieces, 0);
}
static long writev_negative(int fd) {
    return writev(fd, pieces, negative);
}
static long writev_many(int fd) {
    return writev(fd, pieces, too_many);
}
static long writev_unmapped(int fd) {
    return writev(fd, UNMAPPED, 2);
}
static long writev_half(int fd) {
    pieces[1] = (struct iovec){UNMAPPED, 4};
    return writev(fd, pieces, 2);
}
static long recv_bytes(int fd) {
    return recv(fd, bytes, 8, MSG_DONTWAIT);
}
static long recv_nothing(int fd) {
    return recv(fd, bytes, 0, MSG_DONTWAIT);
}
static long recv_unmapped(int fd) {
    return recv(fd, UNMAPPED, 8, MSG_DONTWAIT);
}
static long recv_peek(int fd) {
    return recv(fd, bytes, 8, MSG_DONTWAIT | MSG_PEEK);
}
static long recv_cut(int fd) {
    return recv(fd, bytes, 2, MSG_DONTWAIT | MSG_TRUNC);
}
static long recv_urgent(int fd) {
    return recv(fd, bytes, 8, MSG_DONTWAIT | MSG_OOB);
}
static long recv_errors(int fd) {
    return recv(fd, bytes, 8, MSG_DONTWAIT | MSG_ERRQUEUE);
}
static long recv_twice(int fd) {
    const long peeked = recv(fd, bytes, 2, MSG_DONTWAIT | MSG_PEEK);
    const long first = recv(fd, bytes, 2, MSG_DONTWAIT);
    return peeked * 10000 + first * 100 + recv(fd, bytes, 8, MSG_DONTWAIT);
}
static long recvfrom_bytes(int fd) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    return recvfrom(fd, bytes, 8, MSG_DONTWAIT, (struct sockaddr *)&address, &size);
}
static long recvfrom_unmapped(int fd) {
    return recvfrom(fd, bytes, 8, MSG_DONTWAIT, (struct sockaddr *)bytes, UNMAPPED);
}
static long recvmsg_pieces(int fd) {
    return recvmsg(fd, &message, MSG_DONTWAIT);
}
static long recvmsg_no_pieces(int fd) {
    message.msg_iovlen = 0;
    return recvmsg(fd, &message, MSG_DONTWAIT);
}
static long recvmsg_unmapped(int fd) {
    return recvmsg(fd, UNMAPPED, MSG_DONTWAIT);
}
static long recvmmsg_two(int fd) {
    return recvmmsg(fd, messages, 2, MSG_DONTWAIT, NULL);
}
static long recvmmsg_none(int fd) {
    return recvmmsg(fd, messages, 0, MSG_DONTWAIT, NULL);
}
static long recvmmsg_unmapped(int fd) {
    return recvmmsg(fd, UNMAPPED, 2, MSG_DONTWAIT, NULL);
}
static long read_bytes(int fd) {
    return read(fd, bytes, 8);
}
static long read_nothing(int fd) {
    return read(fd, NULL, 0);
}
static long read_unmapped(int fd) {
    return read(fd, UNMAPPED, 8);
}
static long readv_pieces(int fd) {
    return readv(fd, pieces, 3);
}
static long readv_none(int fd) {
    return readv(fd, pieces, 0);
}
static long readv_negative(int fd) {
    return readv(fd, pieces, negative);
}
static long readv_unmapped(int fd) {
    return readv(fd, UNMAPPED, 2);
}
static long ask_error(int fd) {
    int error = -7;
    socklen_t size = sizeof error;
    const long result = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return result * 1000 + error;
}
static long ask_error_short(int fd) {
    socklen_t size = 1;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, bytes, &size) * 1000 + (long)size;
}
static long ask_error_unmapped(int fd) {
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, UNMAPPED, UNMAPPED);
}
static long shut_reading(int fd) {
    return shutdown(fd, SHUT_RD);
}
static long shut_writing(int fd) {
    return shutdown(fd, SHUT_WR) * 1000 + send(fd, bytes, 1, MSG_DONTWAIT);
}
static long shut_oddly(int fd) {
    return shutdown(fd, 77);
}
static long shut_and_close(int fd) {
    return shutdown(fd, SHUT_RDWR) * 10 + close(fd);
}
static long close_twice(int fd) {
    return close(fd) * 10 + close(fd);
}
static long again(int fd) {
    struct sockaddr_in address = loopback(htons(9));
    return fd < 0 ? -2 : connect(fd, (struct sockaddr *)&address, 1);
}

static const struct {
    const char *name;
    bool may_block; /* only on descriptors that cannot */
    long (*run)(int fd);
} calls[] = {
#define CALL(name)                                                                                           \
    { #name, false, name }
#define WAIT(name)                                                                                           \
    { #name, true, name }
    CALL(send_bytes),       CALL(send_nothing),       CALL(send_unmapped),     CALL(send_aloud),
    CALL(send_odd_flags),   CALL(send_urgent),        CALL(sendto_nowhere),    CALL(sendto_short),
    CALL(sendmsg_pieces),   CALL(sendmsg_unmapped),   CALL(sendmsg_many),      CALL(sendmsg_unmapped_pieces),
    CALL(sendmmsg_two),     CALL(sendmmsg_none),      CALL(sendmmsg_unmapped), CALL(write_bytes),
    CALL(write_nothing),    CALL(write_unmapped),     CALL(writev_pieces),     CALL(writev_none),
    CALL(writev_negative),  CALL(writev_many),        CALL(writev_unmapped),   CALL(writev_half),
    CALL(recv_bytes),       CALL(recv_nothing),       CALL(recv_unmapped),     CALL(recv_peek),
    CALL(recv_cut),         CALL(recv_urgent),        CALL(recv_errors),       CALL(recv_twice),
    CALL(recvfrom_bytes),   CALL(recvfrom_unmapped),  CALL(recvmsg_pieces),    CALL(recvmsg_no_pieces),
    CALL(recvmsg_unmapped), CALL(recvmmsg_two),       CALL(recvmmsg_none),     CALL(recvmmsg_unmapped),
    WAIT(read_bytes),       WAIT(read_nothing),       WAIT(read_unmapped),     WAIT(readv_pieces),
    CALL(readv_none),       CALL(readv_negative),     CALL(readv_unmapped),    CALL(ask_error),
    CALL(ask_error_short),  CALL(ask_error_unmapped), CALL(shut_reading),      CALL(shut_writing),
    CALL(shut_oddly),       CALL(shut_and_close),     CALL(close_twice),       CALL(again),
};

static void try_one(size_t maker, size_t call) {
    int fds[2] = {-1, -1};
    prepare();
    makers[maker].make(fds);
    if (calls[call].may_block && fcntl(fds[0], F_GETFL) >= 0) {
        fcntl(fds[0], F_SETFL, O_NONBLOCK);
    }
    errno = UNTOUCHED;
    const long result = calls[call].run(fds[0]);
    const int error = errno;
    printf("%s %s %ld %d %d\n", makers[maker].name, calls[call].name, result, error, (int)pipes);
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

int main(void) {
    signal(SIGPIPE, count_pipe);
    alarm(60);
    for (size_t maker = 0; maker < sizeof makers / sizeof *makers; maker++) {
        for (size_t call = 0; call < sizeof calls / sizeof *calls; call++) {
            try_one(maker, call);
        }
    }
    return 0;
}
