/* The descriptors that the odd calls are tried on, one of each kind: each maker fills in what is to be closed
 * again; the first is the one that is tried. */
#ifndef CUTOUT_TESTS_PROGRAMS_GUEST_MAKERS_H
#define CUTOUT_TESTS_PROGRAMS_GUEST_MAKERS_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what) {
    perror(what);
    exit(2);
}

static struct sockaddr_in loopback(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = port;
    return address;
}

static int listening(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = loopback(0);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, size) != 0 || listen(fd, 4) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &size) != 0) {
        die("listen");
    }
    return fd;
}

/* A connection: its end in fds[0], the server's in fds[1]. */
static void make_connected(int fds[2]) {
    struct sockaddr_in address;
    const int door = listening(&address);
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fds[0], (struct sockaddr *)&address, sizeof address) != 0) {
        die("connect");
    }
    fds[1] = accept(door, NULL, NULL);
    close(door);
}

static void make_answered(int fds[2]) {
    make_connected(fds);
    struct pollfd wait = {.fd = fds[0], .events = POLLIN};
    if (write(fds[1], "hello", 5) != 5 || poll(&wait, 1, 5000) != 1) {
        die("answer");
    }
}

static void make_ended(int fds[2]) {
    make_connected(fds);
    struct pollfd wait = {.fd = fds[0], .events = POLLIN};
    if (shutdown(fds[1], SHUT_WR) != 0 || poll(&wait, 1, 5000) != 1) {
        die("end");
    }
}

static void make_reset(int fds[2]) {
    const struct linger at_once = {1, 0};
    make_connected(fds);
    struct pollfd wait = {.fd = fds[0], .events = POLLIN};
    setsockopt(fds[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fds[1]);
    fds[1] = -1;
    if (poll(&wait, 1, 5000) != 1) {
        die("reset");
    }
}

static void make_refused(int fds[2]) {
    struct sockaddr_in address;
    close(listening(&address));
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(fds[0], (struct sockaddr *)&address, sizeof address);
    struct pollfd wait = {.fd = fds[0], .events = POLLOUT};
    poll(&wait, 1, 5000);
}

static void make_listening(int fds[2]) {
    struct sockaddr_in address;
    fds[0] = listening(&address);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
}

static void make_unconnected(int fds[2]) {
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
}

static void make_datagram(int fds[2]) {
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(fds[1], (struct sockaddr *)&address, size) != 0 ||
        getsockname(fds[1], (struct sockaddr *)&address, &size) != 0) {
        die("datagram");
    }
    fds[0] = socket(AF_INET, SOCK_DGRAM, 0);
    if (connect(fds[0], (struct sockaddr *)&address, size) != 0) {
        die("datagram");
    }
}

static void make_pair(int fds[2]) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
        die("socketpair");
    }
}

static void make_reader(int fds[2]) {
    if (pipe2(fds, O_NONBLOCK) != 0) {
        die("pipe");
    }
}

static void make_writer(int fds[2]) {
    int ends[2];
    make_reader(ends);
    fds[0] = ends[1];
    fds[1] = ends[0];
}

static void make_file(int fds[2]) {
    fds[0] = memfd_create("odd", 0);
}

static void make_closed(int fds[2]) {
    fds[0] = dup(0);
    close(fds[0]);
}

static void make_negative(int fds[2]) {
    fds[0] = -1;
}

static void make_huge(int fds[2]) {
    fds[0] = 1 << 30;
}

static const struct {
    const char *name;
    void (*make)(int fds[2]);
} makers[] = {
    {"connected", make_connected}, {"answered", make_answered},       {"ended", make_ended},
    {"reset", make_reset},         {"refused", make_refused},         {"listening", make_listening},
    {"datagram", make_datagram},   {"unconnected", make_unconnected}, {"pair", make_pair},
    {"reader", make_reader},       {"writer", make_writer},           {"file", make_file},
    {"closed", make_closed},       {"negative", make_negative},       {"huge", make_huge},
};

#endif
