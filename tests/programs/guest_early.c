/* Uses its sockets before any library's constructor has run, the guest's too; and looks at errno when main begins.
 *
 *   guest_early
 *
 * Exits 0 when the exchange worked and errno was 0.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static bool exchanged;

static void exchange_early(int argc, char **argv, char **environment) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char byte = 0;
    (void)argc;
    (void)argv;
    (void)environment;
    const int door = socket(AF_INET, SOCK_STREAM, 0);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    if (listen(door, 1) != 0 || getsockname(door, (struct sockaddr *)&address, &size) != 0 ||
        connect(client, (struct sockaddr *)&address, size) != 0) {
        return;
    }
    const int server = accept(door, NULL, NULL);
    struct pollfd wait = {.fd = client, .events = POLLIN};
    exchanged = send(client, "a", 1, 0) == 1 && read(server, &byte, 1) == 1 && write(server, "b", 1) == 1 &&
                poll(&wait, 1, 5000) == 1 && recv(client, &byte, 1, 0) == 1 && byte == 'b';
    exchanged = close(server) == 0 && close(door) == 0 && dup2(client, 30) == 30 && exchanged;
    exchanged = close(30) == 0 && close(client) == 0 && exchanged;
    errno = 0;
}

/* Run by the loader before the constructors of every library. */
__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **,
                                                                            char **) = exchange_early;

int main(void) {
    if (errno != 0) {
        return 2;
    }
    return exchanged ? 0 : 1;
}
