/* Ends connections in every way there is, puts something else in the place of each, and uses that: it must behave as what
 * it is, and count for nobody.
 *
 *   guest_reuse PORT WAY [held] [gate] [WHAT]   PORT of 127.0.0.1 answers HTTP, and what is "held" not at all
 *   guest_reuse PORT copies                     every kind of duplicate goes on with the connection
 *
 * WAY: close, fclose, dup2, dup3, close_range, closefrom, shutdown, and syscall are seen by a preload; raw and ring (by
 * io_uring, where there is one, else raw) are not. held: a request is outstanding at the end. gate: before each end
 * "ready" is printed, and a file "gate" awaited and removed. WHAT takes the place: file, pipe, pair, connection (made unseen), connect (made
 * in sight); all of them in turn by default.
 */
#include "tests/programs/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint16_t port;
static bool held, gate;
static const char *way;

/* A system call that no library makes. */
static long raw(long number, long a, long b, long c) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

static struct sockaddr_in local(uint16_t at) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons(at);
    return address;
}

/* --- one connection --- */

static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

static void ask(int fd) {
    CHECK(write(fd, request, sizeof request - 1) == (ssize_t)sizeof request - 1);
}

static void hear(int fd) {
    char answer[512];
    CHECK(read(fd, answer, sizeof answer) > 0);
}

static int connected(void) {
    struct sockaddr_in address = local(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    ask(fd);
    if (!held) {
        hear(fd);
    }
    return fd;
}

/* --- what takes its place --- */

static void use_file(int fd) {
    char bytes[8];
    CHECK(write(fd, "file", 4) == 4 && lseek(fd, 0, SEEK_SET) == 0);
    CHECK(read(fd, bytes, sizeof bytes) == 4 && memcmp(bytes, "file", 4) == 0);
    CHECK(write(fd, "more", 4) == 4 && read(fd, bytes, sizeof bytes) == 0);
    CHECK(recv(fd, bytes, 1, 0) == -1 && errno == ENOTSOCK);
}

static void use_pipe(int fd, int other) {
    char bytes[8];
    CHECK(write(other, "pipe", 4) == 4 && read(fd, bytes, sizeof bytes) == 4);
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && read(fd, bytes, sizeof bytes) == -1 && errno == EAGAIN);
    CHECK(close(other) == 0 && read(fd, bytes, sizeof bytes) == 0);
}

static void use_pair(int fd, int other) {
    char bytes[8];
    CHECK(write(fd, "pair", 4) == 4 && read(other, bytes, sizeof bytes) == 4);
    CHECK(write(other, "back", 4) == 4 && read(fd, bytes, sizeof bytes) == 4);
    CHECK(close(other) == 0 && write(fd, "gone", 4) == -1 && errno == EPIPE);
    CHECK(read(fd, bytes, sizeof bytes) == 0);
}

/* A connection made by nobody that can be seen, to a listener of our own which resets it. */
static void use_connection(int fd, int listener) {
    char bytes[8];
    struct linger at_once = {1, 0};
    int peer = accept(listener, NULL, NULL);
    CHECK(peer >= 0 && write(fd, "call", 4) == 4 && read(peer, bytes, sizeof bytes) == 4);
    CHECK(write(peer, "back", 4) == 4 && read(fd, bytes, sizeof bytes) == 4 && write(fd, "more", 4) == 4);
    CHECK(setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0 && close(peer) == 0);
    CHECK(read(fd, bytes, sizeof bytes) == -1 && errno == ECONNRESET);
    CHECK(write(fd, "gone", 4) == -1 && errno == EPIPE);
}

/* --- the ends --- */

/* Waits for leave, where that is wanted: the test changes the weather meanwhile. */
static void await(void) {
    if (gate) {
        CHECK(puts("ready") >= 0 && fflush(stdout) == 0);
        for (unsigned turns = 0; unlink("gate") != 0; turns++) {
            CHECK(turns < 2000 && usleep(10000) == 0);
        }
    }
}

static bool close_by_ring(int fd) {
    struct io_uring_params parameters;
    memset(&parameters, 0, sizeof parameters);
    int ring = (int)syscall(SYS_io_uring_setup, 1, &parameters);
    if (ring < 0) {
        return false;
    }
    size_t room = parameters.sq_off.array + sizeof(unsigned);
    char *queue = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry =
        mmap(NULL, sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    CHECK(queue != MAP_FAILED && entry != MAP_FAILED);
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_CLOSE;
    entry->fd = fd;
    *(unsigned *)(queue + parameters.sq_off.array) = 0;
    __atomic_store_n((unsigned *)(queue + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
    CHECK(munmap(queue, room) == 0 && munmap(entry, sizeof *entry) == 0 && close(ring) == 0);
    return true;
}

/* Ends fd; true when `with` has taken its number by that (dup2, dup3). */
static bool end_by(int fd, int with) {
    if (strcmp(way, "close") == 0) {
        CHECK(close(fd) == 0);
    } else if (strcmp(way, "fclose") == 0) {
        CHECK(fclose(fdopen(fd, "r+")) == 0);
    } else if (strcmp(way, "dup2") == 0) {
        CHECK(dup2(with, fd) == fd);
        return true;
    } else if (strcmp(way, "dup3") == 0) {
        CHECK(dup3(with, fd, O_CLOEXEC) == fd);
        return true;
    } else if (strcmp(way, "close_range") == 0) {
        CHECK(close_range((unsigned)fd, (unsigned)fd, 0) == 0);
    } else if (strcmp(way, "closefrom") == 0) {
        closefrom(fd);
    } else if (strcmp(way, "shutdown") == 0) {
        CHECK(shutdown(fd, SHUT_RDWR) == 0 && close(fd) == 0);
    } else if (strcmp(way, "syscall") == 0) {
        CHECK(syscall(SYS_close, fd) == 0);
    } else if (strcmp(way, "raw") == 0 || !close_by_ring(fd)) {
        CHECK(raw(SYS_close, fd, 0, 0) == 0);
    }
    return false;
}

/* The number `fd` for what lies in `from`. */
static void put(int from, int fd, bool there) {
    if (!there && from != fd) {
        CHECK(raw(SYS_dup3, from, fd, 0) == fd);
    }
    if (from != fd) {
        CHECK(raw(SYS_close, from, 0, 0) == 0);
    }
}

static void reuse_by_file(void) {
    char name[] = "/tmp/guest_reuse.XXXXXX";
    int with = mkstemp(name);
    CHECK(with >= 0 && unlink(name) == 0);
    int fd = connected();
    await();
    put(with, fd, end_by(fd, with));
    use_file(fd);
    CHECK(close(fd) == 0);
}

static void reuse_by_two(bool pair) {
    int two[2];
    CHECK((pair ? socketpair(AF_UNIX, SOCK_STREAM, 0, two) : pipe(two)) == 0);
    int fd = connected();
    await();
    put(two[0], fd, end_by(fd, two[0]));
    if (pair) {
        use_pair(fd, two[1]);
    } else {
        use_pipe(fd, two[1]);
    }
    CHECK(close(fd) == 0);
}

static void reuse_by_connection(void) {
    struct sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 &&
          listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    long with = raw(SYS_socket, AF_INET, SOCK_STREAM, 0);
    CHECK(with >= 0 && raw(SYS_connect, with, (long)&address, size) == 0);
    int fd = connected();
    await();
    put((int)with, fd, end_by(fd, (int)with));
    use_connection(fd, listener);
    CHECK(close(fd) == 0 && close(listener) == 0);
}

/* A new socket under the number is a new connection, to whatever it goes. */
static void reuse_by_connect(bool nonblocking) {
    struct sockaddr_in address = local(port);
    int fd = connected();
    await();
    bool there = end_by(fd, 0);
    long with = raw(SYS_socket, AF_INET, SOCK_STREAM | (nonblocking ? SOCK_NONBLOCK : 0), 0);
    put((int)with, fd, there && raw(SYS_dup3, with, fd, 0) == fd);
    int result = connect(fd, (struct sockaddr *)&address, sizeof address);
    CHECK(result == 0 || (nonblocking && errno == EINPROGRESS));
    CHECK(close(fd) == 0);
}

/* --- duplicates --- */

static int copy_of(int fd, unsigned kind) {
    switch (kind) {
    case 0:
        return dup(fd);
    case 1:
        return dup2(fd, 100);
    case 2:
        return dup3(fd, 101, O_CLOEXEC);
    case 3:
        return fcntl(fd, F_DUPFD, 102);
    case 4:
        return fcntl(fd, F_DUPFD_CLOEXEC, 103);
    case 5:
        return (int)syscall(SYS_dup3, fd, 104, 0);
    case 6:
        return (int)syscall(SYS_dup, fd);
    default:
        return dup2(fd, fd); /* changes nothing */
    }
}

static void copies(void) {
    for (unsigned kind = 0; kind < 8; kind++) {
        int fd = connected(), copy = copy_of(fd, kind);
        CHECK(copy >= 0 && (copy == fd || close(fd) == 0));
        ask(copy);
        hear(copy);
        CHECK(close(copy) == 0);
        CHECK(dup3(0, 0, 0) == -1 && errno == EINVAL);
    }
}

static void reuse(const char *what) {
    static const char *const names[] = {"file", "pipe", "pair", "connection", "connect"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (*what != 0 && strcmp(what, names[i]) != 0) {
            continue;
        }
        if (i == 0) {
            reuse_by_file();
        } else if (i <= 2) {
            reuse_by_two(i == 2);
        } else if (i == 3) {
            reuse_by_connection();
        } else {
            reuse_by_connect(false);
            reuse_by_connect(true);
        }
    }
}

int main(int argc, char **argv) {
    const char *what = "";
    CHECK(argc > 2);
    port = (uint16_t)atoi(argv[1]);
    way = argv[2];
    for (int i = 3; i < argc; i++) {
        bool flag = strcmp(argv[i], "held") == 0 || strcmp(argv[i], "gate") == 0;
        held |= strcmp(argv[i], "held") == 0;
        gate |= strcmp(argv[i], "gate") == 0;
        what = flag ? what : argv[i];
    }
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(way, "copies") == 0) {
        copies();
        return 0;
    }
    reuse(what);
    return 0;
}
