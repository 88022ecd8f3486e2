/* The smallest client: connects to a port of 127.0.0.1, sends one HTTP request, prints the answer's first line.
 *
 *   client_plain PORT [silent]           silent: closes without sending anything
 *
 * Exits 0 when all went well, 7 when the connection failed, 1 when the answer did. Also built statically and
 * set-user-ID by the tests.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[512];
    if (argc < 2)
        return 2;
    address.sin_port = htons((uint16_t)atoi(argv[1]));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("connect");
        return 7;
    }
    if (argc > 2) {
        close(fd);
        return 0;
    }
    if (write(fd, request, sizeof request - 1) != (ssize_t)sizeof request - 1)
        return 1;
    ssize_t got = read(fd, answer, sizeof answer - 1);
    if (got <= 0)
        return 1;
    answer[got] = 0;
    printf("%.*s\n", (int)strcspn(answer, "\r\n"), answer);
    close(fd);
    return 0;
}
