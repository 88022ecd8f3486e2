/* The calls that a fortified program makes in place of read, recv, recvfrom, poll and ppoll: they must work as ever,
 * and still stop an overflow.
 *
 *   guest_fortify              exchanges bytes by each; prints the results
 *   guest_fortify CALL         overflows a buffer by CALL: read, recv, recvfrom, poll or ppoll; never returns
 */
#include "tests/programs/guest_makers.h"

#include <string.h>

/* Written out, as compilers differ in when they choose them. */
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags, __SOCKADDR_ARG address,
                       socklen_t *length);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                size_t room);

static int fds[2];
static char room[8];
static struct pollfd waits[2];

static long by_read(size_t size) {
    return __read_chk(fds[0], room, size, sizeof room);
}
static long by_recv(size_t size) {
    return __recv_chk(fds[0], room, size, sizeof room, 0);
}
static long by_recvfrom(size_t size) {
    return __recvfrom_chk(fds[0], room, size, sizeof room, 0, NULL, NULL);
}
static long by_poll(size_t count) {
    return __poll_chk(waits, count, 5000, sizeof waits);
}
static long by_ppoll(size_t count) {
    return __ppoll_chk(waits, count, NULL, NULL, sizeof waits);
}

static const struct {
    const char *name;
    long (*run)(size_t size);
} calls[] = {
    {"read", by_read}, {"recv", by_recv}, {"recvfrom", by_recvfrom}, {"poll", by_poll}, {"ppoll", by_ppoll}};

int main(int argc, char **argv) {
    make_connected(fds);
    waits[0] = (struct pollfd){.fd = fds[0], .events = POLLIN};
    waits[1] = (struct pollfd){.fd = -1};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (write(fds[1], "12345678", 4) != 4) {
            die("write");
        }
        if (argc < 2) {
            printf("%s %ld\n", calls[i].name, calls[i].run(i < 3 ? 4 : 2));
        } else if (strcmp(argv[1], calls[i].name) == 0) {
            calls[i].run(64);
            return 3;
        }
    }
    return argc < 2 ? 0 : 2;
}
