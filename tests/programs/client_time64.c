/* A client whose calls have doubles for times beyond 2038: built for 32 bits with _TIME_BITS=64 it calls those.
 *
 *   client_time64 PORT             two requests on one connection, each by sendmsg, a wait, and recvmsg
 *
 * Exits 0 when all went well, 7 when the connection failed, 1 when anything else did.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Not blocking, as event loops do it: its end is asked of SO_ERROR. */
static int connected(int port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int error = 0, fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof error;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS)
        exit(7);
    struct pollfd wait = {fd, POLLOUT, 0};
    struct timespec limit = {5, 0};
    if (ppoll(&wait, 1, &limit, NULL) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        fail("wait");
    if (error)
        exit(7);
    return fd;
}

/* Waits by select or pselect until there is something to read. */
static void wait_readable(int fd, int precise) {
    fd_set in;
    struct timeval limit = {5, 0};
    struct timespec precise_limit = {5, 0};
    FD_ZERO(&in);
    FD_SET(fd, &in);
    if ((precise ? pselect(fd + 1, &in, NULL, NULL, &precise_limit, NULL)
                 : select(fd + 1, &in, NULL, NULL, &limit)) != 1)
        fail("select");
}

int main(int argc, char **argv) {
    char answer[4096];
    if (argc < 2)
        return 2;
    int first = connected(atoi(argv[1]));
    int fd = fcntl(first, F_DUPFD, 10); /* goes on under another number */
    close(first);
    struct iovec out = {request, sizeof request - 1}, in = {answer, sizeof answer};
    struct msghdr sent = {.msg_iov = &out, .msg_iovlen = 1}, got = {.msg_iov = &in, .msg_iovlen = 1};
    struct mmsghdr several = {.msg_hdr = sent}, several_got = {.msg_hdr = got};
    if (fd < 10 || sendmsg(fd, &sent, 0) != (ssize_t)out.iov_len)
        fail("sendmsg");
    wait_readable(fd, 0);
    ssize_t size = recvmsg(fd, &got, 0);
    if (size <= 0)
        fail("recvmsg");
    printf("%.*s\n", (int)strcspn(answer, "\r\n"), answer);
    struct timespec rest = {0, 50000000}; /* the answer may come in two pieces */
    struct pollfd more = {fd, POLLIN, 0};
    while (ppoll(&more, 1, &rest, NULL) == 1 && read(fd, answer, sizeof answer) > 0)
        continue;
    if (sendmmsg(fd, &several, 1, 0) != 1)
        fail("sendmmsg");
    wait_readable(fd, 1);
    if (recvmmsg(fd, &several_got, 1, 0, NULL) != 1)
        fail("recvmmsg");
    return prctl(PR_SET_NAME, "ended", 0, 0, 0) == 0 && close(fd) == 0 ? 0 : 1;
}
