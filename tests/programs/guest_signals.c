/* A program whose signal handler uses sockets, 5,000 times a second, on a small stack of its own, while the program itself
 * is anywhere in its own calls.
 *
 *   guest_signals PORT SECONDS [tiny [failing]]   PORT of 127.0.0.1 answers HTTP
 *
 * tiny: the program's own calls are made by a thread with the smallest stack there is. failing: exchanges may
 * fail. Prints how many were made in all, each of which must else have been answered.
 */
#include "tests/programs/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 8192

static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
static struct sockaddr_in there;
static unsigned exchanges, signals;
static int seconds, busy = -1, failing;

/* Restarted by SA_RESTART where a call can be; poll and select cannot. */
static int ready(int fd) {
    for (;;) {
        struct pollfd wait = {fd, POLLIN, 0};
        int result = poll(&wait, 1, 5000);
        if (result >= 0 || errno != EINTR) {
            return result;
        }
    }
}

static int connected(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    while (fd >= 0 && connect(fd, (struct sockaddr *)&there, sizeof there) != 0) {
        if (errno == EISCONN || failing) {
            break;
        }
        CHECK(errno == EINTR || errno == EALREADY);
    }
    return fd;
}

static void exchange(int fd, unsigned kind) {
    char answer[512];
    struct iovec piece = {answer, sizeof answer};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    const ssize_t size = sizeof request - 1;
    ssize_t sent =
        kind % 2 == 0 ? send(fd, request, (size_t)size, MSG_NOSIGNAL) : write(fd, request, (size_t)size);
    if (failing && sent < 0) {
        return;
    }
    CHECK(sent == size && (kind % 3 != 0 || ready(fd) == 1));
    ssize_t got = kind % 4 == 0   ? recv(fd, answer, sizeof answer, 0)
                  : kind % 4 == 1 ? read(fd, answer, sizeof answer)
                  : kind % 4 == 2 ? recvmsg(fd, &message, 0)
                                  : readv(fd, &piece, 1);
    CHECK(got > 0 || failing);
    __atomic_fetch_add(&exchanges, 1, __ATOMIC_RELAXED);
}

/* In the midst of whatever the program does. */
static void on_alarm(int number) {
    const int error = errno;
    char byte = 0;
    int two[2];
    (void)number;
    unsigned turn = signals++;
    if (turn % 16 == 0) {
        int fd = connected();
        exchange(fd, turn / 16);
        CHECK(close(fd) == 0);
    } else if (turn % 4 == 0 && busy >= 0) {
        /* The very connection that the program is using. */
        int copy = dup(busy);
        CHECK(copy >= 0 && recv(copy, &byte, 0, MSG_DONTWAIT) <= 0 && close(copy) == 0);
    } else if (turn % 4 == 1) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0 && send(two[0], "x", 1, 0) == 1);
        CHECK(recv(two[1], &byte, 1, 0) == 1 && close(two[0]) == 0 && close(two[1]) == 0);
    } else {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        CHECK(fd >= 0 && dup2(fd, 200) == 200 && close(fd) == 0 && close(200) == 0);
    }
    errno = error;
}

static void *work(void *argument) {
    struct timespec now, start;
    (void)argument;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        int fd = connected();
        busy = fd;
        for (unsigned kind = 0; kind < 20; kind++) {
            exchange(fd, kind);
        }
        busy = -1;
        CHECK(close(fd) == 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < seconds);
    return NULL;
}

/* A handler's stack with a page behind it that nobody may touch. */
static void small_stack(void) {
    const long page = sysconf(_SC_PAGESIZE), least = sysconf(_SC_MINSIGSTKSZ) + 2048;
    size_t size = (size_t)(least > STACK_BYTES ? (least + page - 1) / page * page : STACK_BYTES);
    char *memory =
        mmap(NULL, size + (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory, (size_t)page, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    CHECK(sigaltstack(&stack, NULL) == 0);
}

static void *work_with_small_stack(void *argument) {
    small_stack();
    return work(argument);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    CHECK(argc > 2);
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons((uint16_t)atoi(argv[1]));
    seconds = atoi(argv[2]);
    failing = argc > 4;
    signal(SIGPIPE, SIG_IGN);
    small_stack();
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    if (argc > 3) {
        pthread_t thread;
        pthread_attr_t tiny;
        sigset_t alarms;
        pthread_attr_init(&tiny);
        CHECK(pthread_attr_setstacksize(&tiny, (size_t)PTHREAD_STACK_MIN) == 0);
        CHECK(pthread_create(&thread, &tiny, work_with_small_stack, NULL) == 0);
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        CHECK(pthread_sigmask(SIG_BLOCK, &alarms, NULL) == 0 && pthread_join(thread, NULL) == 0);
    } else {
        work(NULL);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN);
    printf("%u exchanges, %s signals\n", exchanges, signals > 1000u * (unsigned)seconds ? "many" : "few");
    return 0;
}
