/* Eight threads that make connections, end them in several ways, and so use each other's numbers over and over.
 *
 *   guest_races PORT SECONDS             PORT of 127.0.0.1 answers HTTP
 *
 * Prints how many exchanges were made, each of which must have been answered.
 */
#include "tests/programs/check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8

static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
static struct sockaddr_in there;
static unsigned exchanges;
static int seconds;

static int connected(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&there, sizeof there) == 0);
    return fd;
}

static void ask(int fd) {
    CHECK(write(fd, request, sizeof request - 1) == (ssize_t)sizeof request - 1);
}

static void hear(int fd) {
    char answer[512];
    CHECK(read(fd, answer, sizeof answer) > 0);
    __atomic_fetch_add(&exchanges, 1, __ATOMIC_RELAXED);
}

/* Answers come in on another thread than requests go out. */
static void *hear_elsewhere(void *fd) {
    hear(*(int *)fd);
    return NULL;
}

static void by_two_threads(void) {
    pthread_t other;
    int fd = connected();
    CHECK(pthread_create(&other, NULL, hear_elsewhere, &fd) == 0);
    ask(fd);
    CHECK(pthread_join(other, NULL) == 0 && close(fd) == 0);
}

static void by_copies(void) {
    int fd = connected(), copy = dup(fd);
    CHECK(copy >= 0 && close(fd) == 0);
    ask(copy);
    hear(copy);
    CHECK(dup2(0, copy) == copy && close(copy) == 0);
}

/* What is no connection, under numbers that were. */
static void by_others(void) {
    char byte;
    int two[2];
    CHECK(pipe(two) == 0 && write(two[1], "x", 1) == 1 && read(two[0], &byte, 1) == 1);
    CHECK(close(two[0]) == 0 && close(two[1]) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0 && send(two[0], "x", 1, 0) == 1);
    CHECK(shutdown(two[0], SHUT_RDWR) == 0 && recv(two[1], &byte, 1, 0) == 1 &&
          recv(two[1], &byte, 1, 0) == 0);
    CHECK(close(two[0]) == 0 && close(two[1]) == 0);
}

static void *work(void *argument) {
    struct timespec now, start;
    (void)argument;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        int fd = connected();
        for (int i = 0; i < 3; i++) {
            ask(fd);
            hear(fd);
        }
        CHECK(close(fd) == 0);
        by_copies();
        by_others();
        by_two_threads();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < seconds);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    CHECK(argc > 2);
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons((uint16_t)atoi(argv[1]));
    seconds = atoi(argv[2]);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    printf("%u exchanges\n", exchanges);
    return 0;
}
