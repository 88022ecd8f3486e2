/* A small server that behaves as it is told, for the tests and the demo.
 *
 *   server_flaky [ADDRESS [PORT]]        an IPv4 address; 127.0.0.1 and any free port by default
 *
 * Prints "port PORT control PORT" and serves until it is killed. A command is one line sent to the control
 * port; the answer is one line ("ok", counts, or "error: ..."), after which it closes. How a request is met:
 *
 *   answer [MS]    HTTP 200 (after MS milliseconds)     hang       read and never answer
 *   reset          close with a reset                   drop       close without an answer
 *   hold           wait for `release [answer|reset|drop] [N]`, which meets the N (all) oldest held requests
 *   once WORD [MS] the next request alone is met so
 *
 * How a connection is met:
 *
 *   refuse         stop listening; connections that exist are served on; any of the words above listens again
 *   full           listen, but with a full queue: a connect never completes
 *
 * And: `keep on|off` (keep-alive, on), `speak http|line` (a request is an HTTP one, or each line; http),
 * `greet WORD` (said on each new connection, with a line end; alone: nothing is said), `count`, `zero`.
 * A request has no body.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS    1000
#define LIFE_S     900 /* no server outlives a forgotten test by more */
#define GREETING   200
#define HEAD_BYTES 8192

enum manner { ANSWER, HANG, RESET, DROP, HOLD };
static const char *const manner_names[] = {"answer", "hang", "reset", "drop", "hold"};
enum door { DOOR_OPEN, DOOR_REFUSES, DOOR_FULL };

/* One accepted connection; fd 0 = free. */
struct client {
    int fd;
    size_t used;  /* bytes of head that wait to be understood */
    bool waiting; /* an answer is due at due_ms */
    uint64_t due_ms;
    uint64_t held_number; /* not 0: held, and its place in the row */
    char head[HEAD_BYTES];
};

static struct {
    struct sockaddr_in address;
    int holder;   /* keeps the port ours while nothing listens */
    int listener; /* -1: refusing */
    int fillers[2];
    int control;
    enum door door;
    enum manner manner;
    uint64_t delay_ms;
    bool once;
    enum manner once_manner;
    uint64_t once_delay_ms;
    bool keep, lines;
    char greeting[GREETING];
    uint64_t held;
    unsigned long connections, requests;
    struct client clients[CLIENTS];
} server;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int bind_socket(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        fail("bind");
    return fd;
}

static unsigned port_of(int fd) {
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        fail("getsockname");
    return ntohs(address.sin_port);
}

static void client_close(struct client *client, bool reset) {
    if (reset) {
        struct linger linger = {.l_onoff = 1, .l_linger = 0};
        setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    close(client->fd);
    client->fd = 0;
}

static void client_answer(struct client *client) {
    const char *answer = server.lines ? "ok\n"
                         : server.keep
                             ? "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"
                             : "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";
    bool sent = send(client->fd, answer, strlen(answer), MSG_NOSIGNAL) == (ssize_t)strlen(answer);
    if (!sent || !server.keep)
        client_close(client, false);
}

/* A whole request has been read. */
static void client_meet(struct client *client) {
    enum manner manner = server.once ? server.once_manner : server.manner;
    uint64_t delay_ms = server.once ? server.once_delay_ms : server.delay_ms;
    server.once = false;
    server.requests++;
    if (manner == ANSWER && delay_ms == 0) {
        client_answer(client);
    } else if (manner == ANSWER) {
        client->waiting = true;
        client->due_ms = now_ms() + delay_ms;
    } else if (manner == HOLD) {
        client->held_number = ++server.held;
    } else if (manner != HANG) {
        client_close(client, manner == RESET);
    }
}

/* The bytes of a complete head, its ending included; 0 = not complete yet. */
static size_t head_size(const struct client *client) {
    const char *end =
        memmem(client->head, client->used, server.lines ? "\n" : "\r\n\r\n", server.lines ? 1 : 4);
    return end == NULL ? 0 : (size_t)(end - client->head) + (server.lines ? 1 : 4);
}

/* Reads, and meets each request that is complete then. */
static void client_read(struct client *client) {
    if (client->used == sizeof client->head)
        client->used = 0;
    ssize_t got =
        recv(client->fd, client->head + client->used, sizeof client->head - client->used, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        client_close(client, false);
        return;
    }
    client->used += (size_t)got;
    for (size_t size; client->fd != 0 && (size = head_size(client)) != 0;) {
        client->used -= size;
        memmove(client->head, client->head + size, client->used);
        client_meet(client);
    }
}

static void client_accept(int fd) {
    int on = 1;
    server.connections++;
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &server.clients[i];
        if (client->fd != 0)
            continue;
        memset(client, 0, offsetof(struct client, head));
        client->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (server.greeting[0] != 0)
            (void)!send(fd, server.greeting, strlen(server.greeting), MSG_NOSIGNAL);
        return;
    }
    close(fd);
}

static void accept_waiting(void) {
    int fd;
    while (server.listener >= 0 && server.door != DOOR_FULL &&
           (fd = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        client_accept(fd);
}

static void door_listen(int backlog) {
    server.listener = bind_socket(&server.address);
    if (listen(server.listener, backlog) != 0 || fcntl(server.listener, F_SETFL, O_NONBLOCK) != 0)
        fail("listen");
}

static void door_set(enum door door) {
    if (server.listener >= 0) {
        accept_waiting();
        close(server.listener);
        server.listener = -1;
    }
    for (size_t i = 0; i < 2; i++) {
        if (server.fillers[i] > 0)
            close(server.fillers[i]);
        server.fillers[i] = 0;
    }
    server.door = door;
    if (door == DOOR_REFUSES)
        return;
    door_listen(door == DOOR_FULL ? 0 : 512);
    for (size_t i = 0; door == DOOR_FULL && i < 2; i++) {
        server.fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(server.fillers[i], (struct sockaddr *)&server.address, sizeof server.address);
        struct pollfd filled = {.fd = server.fillers[i], .events = POLLOUT};
        poll(&filled, 1, i == 0 ? 1000 : 0);
    }
}

static bool manner_named(const char *word, enum manner *manner) {
    for (size_t i = 0; i < sizeof manner_names / sizeof *manner_names; i++) {
        if (word != NULL && strcmp(word, manner_names[i]) == 0) {
            *manner = (enum manner)i;
            return true;
        }
    }
    return false;
}

static struct client *oldest_held(void) {
    struct client *oldest = NULL;
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &server.clients[i];
        if (client->fd != 0 && client->held_number != 0 &&
            (oldest == NULL || client->held_number < oldest->held_number))
            oldest = client;
    }
    return oldest;
}

static bool release(const char *word, const char *number) {
    enum manner manner = ANSWER;
    unsigned long left = number == NULL ? CLIENTS : strtoul(number, NULL, 10);
    if (word != NULL && (!manner_named(word, &manner) || manner == HOLD || manner == HANG))
        return false;
    for (struct client *client; left > 0 && (client = oldest_held()) != NULL; left--) {
        client->held_number = 0;
        if (manner == ANSWER)
            client_answer(client);
        else
            client_close(client, manner == RESET);
    }
    return true;
}

static uint64_t milliseconds(const char *word) {
    return word == NULL ? 0 : strtoull(word, NULL, 10);
}

static void count(char *reply, size_t room) {
    unsigned open = 0, held = 0;
    for (size_t i = 0; i < CLIENTS; i++) {
        open += server.clients[i].fd != 0;
        held += server.clients[i].fd != 0 && server.clients[i].held_number != 0;
    }
    snprintf(reply, room, "connections=%lu requests=%lu open=%u held=%u\n", server.connections,
             server.requests, open, held);
}

/* Settings that change neither the door nor how requests are met. False: not one of them. */
static bool obey_setting(const char *word, const char *value) {
    bool on = value != NULL && (strcmp(value, "on") == 0 || strcmp(value, "line") == 0);
    if (strcmp(word, "keep") == 0) {
        server.keep = on;
    } else if (strcmp(word, "speak") == 0) {
        server.lines = on;
    } else if (strcmp(word, "greet") == 0) {
        snprintf(server.greeting, sizeof server.greeting, "%s%s", value == NULL ? "" : value,
                 value == NULL ? "" : "\r\n");
    } else if (strcmp(word, "zero") == 0) {
        server.connections = server.requests = 0;
    } else {
        return false;
    }
    return true;
}

static void obey(char *line, char *reply, size_t room) {
    char *save = NULL;
    const char *word = strtok_r(line, " \r\n", &save);
    const char *second = strtok_r(NULL, " \r\n", &save), *third = strtok_r(NULL, " \r\n", &save);
    snprintf(reply, room, "ok\n");
    accept_waiting();
    if (word == NULL) {
        snprintf(reply, room, "error: no command\n");
    } else if (strcmp(word, "count") == 0) {
        count(reply, room);
    } else if (strcmp(word, "refuse") == 0) {
        door_set(DOOR_REFUSES);
    } else if (strcmp(word, "full") == 0) {
        door_set(DOOR_FULL);
    } else if (strcmp(word, "once") == 0 && manner_named(second, &server.once_manner)) {
        server.once = true;
        server.once_delay_ms = milliseconds(third);
    } else if (manner_named(word, &server.manner)) {
        server.delay_ms = milliseconds(second);
        server.once = false;
        if (server.door != DOOR_OPEN)
            door_set(DOOR_OPEN);
    } else if (!(strcmp(word, "release") == 0 && release(second, third)) && !obey_setting(word, second)) {
        snprintf(reply, room, "error: unknown command\n");
    }
}

static void serve_control(void) {
    int fd = accept4(server.control, NULL, NULL, SOCK_CLOEXEC);
    struct timeval patience = {.tv_sec = 2};
    char line[256], reply[256];
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t got = recv(fd, line, sizeof line - 1, 0); /* a line is one packet */
    line[got > 0 ? got : 0] = 0;
    obey(line, reply, sizeof reply);
    (void)!send(fd, reply, strlen(reply), MSG_NOSIGNAL);
    close(fd);
}

/* Does what is due; fills in what to wait for. Returns the number of entries, and in *timeout_ms how long. */
static nfds_t prepare(struct pollfd *polls, size_t *who, int *timeout_ms) {
    nfds_t count_polls = 0;
    uint64_t now = now_ms();
    *timeout_ms = -1;
    polls[count_polls++] = (struct pollfd){.fd = server.control, .events = POLLIN};
    polls[count_polls++] =
        (struct pollfd){.fd = server.door == DOOR_OPEN ? server.listener : -1, .events = POLLIN};
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &server.clients[i];
        if (client->fd != 0 && client->waiting && client->due_ms <= now) {
            client->waiting = false;
            client_answer(client);
        }
        if (client->fd == 0)
            continue;
        if (client->due_ms > now) {
            int left = (int)(client->due_ms - now);
            *timeout_ms = *timeout_ms < 0 || left < *timeout_ms ? left : *timeout_ms;
        }
        who[count_polls] = i;
        polls[count_polls++] = (struct pollfd){.fd = client->fd, .events = POLLIN};
    }
    return count_polls;
}

static void serve(void) {
    static struct pollfd polls[CLIENTS + 2];
    static size_t who[CLIENTS + 2];
    for (;;) {
        int timeout_ms;
        nfds_t count_polls = prepare(polls, who, &timeout_ms);
        if (poll(polls, count_polls, timeout_ms) < 0)
            continue;
        for (nfds_t i = 2; i < count_polls; i++)
            if (polls[i].revents != 0 && server.clients[who[i]].fd == polls[i].fd)
                client_read(&server.clients[who[i]]);
        if (polls[1].revents != 0)
            accept_waiting();
        if (polls[0].revents != 0)
            serve_control();
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in control = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server.address = control;
    if (argc > 1 && inet_pton(AF_INET, argv[1], &server.address.sin_addr) != 1)
        return 2;
    server.address.sin_port = htons((uint16_t)(argc > 2 ? atoi(argv[2]) : 0));
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    alarm(LIFE_S);
    server.listener = -1;
    server.keep = true;
    server.holder = bind_socket(&server.address);
    server.address.sin_port = htons((uint16_t)port_of(server.holder));
    door_set(DOOR_OPEN);
    server.control = bind_socket(&control);
    if (listen(server.control, 16) != 0)
        fail("listen");
    printf("port %u control %u\n", port_of(server.holder), port_of(server.control));
    fflush(stdout);
    serve();
    return 0;
}
