/* A client that makes few kinds of system calls, and those by the thousand.
 *
 *   client_exchanges PORT CONNECTIONS EXCHANGES
 *
 * So many connections to 127.0.0.1, one after another, and on each so many HTTP requests whose answers are read.
 * Exits 0 when each was answered, 1 when not.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* One request and the whole answer: up to the end of its body, whose length the head tells. */
static void exchange(int fd) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[4096];
    size_t size = 0;
    if (send(fd, request, sizeof request - 1, 0) != (ssize_t)sizeof request - 1)
        fail("send");
    for (;;) {
        ssize_t got = recv(fd, answer + size, sizeof answer - 1 - size, 0);
        if (got <= 0)
            fail("recv");
        size += (size_t)got;
        answer[size] = 0;
        const char *body = strstr(answer, "\r\n\r\n"), *length = strstr(answer, "Content-Length: ");
        if (body && length && size >= (size_t)(body + 4 - answer) + strtoul(length + 16, NULL, 10))
            return;
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (argc < 4)
        return 2;
    address.sin_port = htons((uint16_t)atoi(argv[1]));
    for (long connection = 0; connection < atol(argv[2]); connection++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
            fail("connect");
        for (long number = 0; number < atol(argv[3]); number++)
            exchange(fd);
        close(fd);
    }
    return 0;
}
