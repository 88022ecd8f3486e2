/* Threads that are cancelled in the middle of a call, many of each kind.
 *
 *   guest_cancel PORT SILENT FULL COUNT   of 127.0.0.1: a server of HTTP, a listener that accepts and is silent, and one
 *                                         with a full queue
 *
 * Each thread blocks in one call and is cancelled there. It must end as cancelled, and what it left in its frames must
 * have been cleaned up (to be compiled with -fexceptions). Afterwards an exchange with the server must work. Prints how
 * many threads ended and how many clean-ups ran.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { RECV, READ, READV, RECVMSG, POLL, SELECT, SEND, CONNECT, KINDS };

static int ports[3];
static unsigned cleaned;

struct guard {
    int fd;
};

/* What a destructor would be. */
static void clean(const struct guard *guard) {
    close(guard->fd);
    __atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

static struct sockaddr_in at(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)port);
    return address;
}

static int connected(int port) {
    struct sockaddr_in address = at(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("connect");
        exit(1);
    }
    return fd;
}

/* Never comes back. */
static void block(int fd, enum kind kind) {
    static char bytes[1 << 16];
    char byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    struct pollfd wait = {fd, POLLIN, 0};
    struct sockaddr_in address = at(ports[2]);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd % FD_SETSIZE, &set);
    switch (kind) {
    case RECV:
        recv(fd, &byte, 1, 0);
        break;
    case READ:
        (void)!read(fd, &byte, 1);
        break;
    case READV:
        (void)!readv(fd, &piece, 1);
        break;
    case RECVMSG:
        recvmsg(fd, &message, 0);
        break;
    case POLL:
        poll(&wait, 1, -1);
        break;
    case SELECT:
        select(fd % FD_SETSIZE + 1, &set, NULL, NULL, NULL);
        break;
    case SEND:
        while (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) {
        }
        break;
    default:
        connect(fd, (struct sockaddr *)&address, sizeof address);
    }
}

static void *run(void *argument) {
    enum kind kind = (enum kind)(intptr_t)argument;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* until there is something to clean up */
    __attribute__((cleanup(clean))) struct guard guard = {kind == CONNECT ? socket(AF_INET, SOCK_STREAM, 0)
                                                                          : connected(ports[1])};
    if (kind != CONNECT && kind != SEND) {
        send(guard.fd, "ask\n", 4, MSG_NOSIGNAL);
    }
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    block(guard.fd, kind);
    return NULL; /* was not cancelled */
}

/* Ends COUNT threads, so many at once, at moments that differ. */
static int cancel_all(int count) {
    enum { AT_ONCE = 20 };
    pthread_t threads[AT_ONCE];
    int ended = 0;
    for (int done = 0; done < count; done += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)((done + i) % KINDS)) != 0) {
                return -1;
            }
        }
        usleep((useconds_t)(done % 7) * 500);
        for (int i = 0; i < AT_ONCE; i++) {
            pthread_cancel(threads[i]);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            void *result = NULL;
            pthread_join(threads[i], &result);
            ended += result == PTHREAD_CANCELED;
        }
    }
    return ended;
}

/* A rejected connect is a point to be cancelled at, as the true one is. */
static void *run_rejected(void *argument) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)argument;
    pthread_cancel(pthread_self());
    struct sockaddr_in address = at(ports[0]);
    connect(fd, (struct sockaddr *)&address, sizeof address);
    return NULL;
}

int main(int argc, char **argv) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[512];
    pthread_t thread;
    void *result = NULL;
    if (argc < 5) {
        return 2;
    }
    for (int i = 0; i < 3; i++) {
        ports[i] = atoi(argv[i + 1]);
    }
    int count = atoi(argv[4]);
    if (count == 0) {
        pthread_create(&thread, NULL, run_rejected, NULL);
        pthread_join(thread, &result);
        puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
        return 0;
    }
    int ended = cancel_all(count);
    int fd = connected(ports[0]);
    if (write(fd, request, sizeof request - 1) <= 0 || read(fd, answer, sizeof answer) <= 0) {
        return 1;
    }
    printf("%d ended, %u more cleaned up\n", ended, cleaned - (unsigned)ended);
    return 0;
}
