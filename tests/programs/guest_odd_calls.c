/* Odd arguments for the calls that make, name, wait for, look up and end: what came back and errno. Run bare and
 * under the shim it must print the same, line by line.
 *
 *   guest_odd_calls
 *
 * A line: the call as written here, its result, errno afterwards (12345 = untouched).
 */
#include "tests/programs/guest_makers.h"

#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#define UNTOUCHED 12345
#define UNMAPPED  ((void *)(uintptr_t)bad_address)

static volatile uintptr_t bad_address = 8;
static volatile int minus_one = -1;

static void tell(const char *call, long result) {
    const int error = errno;
    printf("%s = %ld %d\n", call, result, error);
    fflush(stdout);
}

/* A macro, because the text of the call is its name. */
#define TRY(call) (errno = UNTOUCHED, tell(#call, (long)(call)))

static int stream(int flags) {
    return socket(AF_INET, SOCK_STREAM | flags, 0);
}

static void try_connect(void) {
    struct sockaddr_in there, odd = loopback(htons(1));
    struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "/nonexistent/socket"};
    const struct sockaddr *at = (const struct sockaddr *)&there;
    const int door = listening(&there), fd = stream(0), local = socket(AF_UNIX, SOCK_STREAM, 0);
    TRY(connect(minus_one, at, sizeof there));
    TRY(connect(99, at, sizeof there));
    TRY(connect(1 << 30, at, sizeof there));
    TRY(connect(0, at, sizeof there));
    TRY(connect(fd, NULL, sizeof there));
    TRY(connect(fd, NULL, 0));
    TRY(connect(fd, UNMAPPED, sizeof there));
    TRY(connect(fd, at, 0));
    TRY(connect(fd, at, 1));
    TRY(connect(fd, at, 15));
    TRY(connect(fd, at, 129));
    TRY(connect(fd, at, (socklen_t)minus_one));
    odd.sin_family = 250;
    TRY(connect(fd, (struct sockaddr *)&odd, sizeof odd));
    TRY(connect(local, (struct sockaddr *)&nowhere, sizeof nowhere));
    TRY(connect(local, (struct sockaddr *)&nowhere, 2));
    TRY(connect(local, at, sizeof there));
    TRY(connect(door, at, sizeof there));
    TRY(connect(fd, at, sizeof there));
    TRY(connect(fd, at, sizeof there));
    odd.sin_family = AF_UNSPEC;
    TRY(connect(fd, (struct sockaddr *)&odd, sizeof odd));
    TRY(send(fd, "x", 1, MSG_NOSIGNAL));
    TRY(connect(fd, at, sizeof there));
    TRY(send(fd, "x", 1, MSG_NOSIGNAL));
    TRY(close(fd) + close(local) + close(door));
}

/* The ways of a connect that does not wait, and who learns what of one that is refused. */
static void try_not_waiting(void) {
    struct sockaddr_in there;
    const struct sockaddr *at = (const struct sockaddr *)&there;
    const int door = listening(&there), fd = stream(SOCK_NONBLOCK);
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    TRY(connect(fd, at, sizeof there));
    TRY(poll(&wait, 1, 5000));
    TRY(connect(fd, at, sizeof there));
    TRY(connect(fd, at, sizeof there));
    close(fd);
    close(door);
    for (int way = 0; way < 4; way++) {
        const int refused = stream(0);
        int error = -1;
        socklen_t size = sizeof error;
        fcntl(refused, F_SETFL, O_NONBLOCK);
        close(listening(&there)); /* a port of its own each time */
        wait = (struct pollfd){.fd = refused, .events = POLLOUT};
        TRY(connect(refused, at, sizeof there));
        TRY(poll(&wait, 1, 5000));
        if (way == 0) {
            TRY(getsockopt(refused, SOL_SOCKET, SO_ERROR, &error, &size) * 1000 + error);
        }
        if (way == 1) {
            TRY(send(refused, "x", 1, MSG_NOSIGNAL));
        }
        if (way == 2) {
            TRY(read(refused, &error, 1));
        }
        TRY(connect(refused, at, sizeof there));
        TRY(getsockopt(refused, SOL_SOCKET, SO_ERROR, &error, &size) * 1000 + error);
        TRY(close(refused));
    }
}

static void try_options(void) {
    int value = 0;
    socklen_t size = sizeof value;
    const int fd = stream(0);
    TRY(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &size) * 1000 + value);
    TRY(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, NULL));
    size = (socklen_t)minus_one;
    TRY(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &size));
    size = 0;
    TRY(getsockopt(fd, SOL_SOCKET, SO_ERROR, NULL, &size));
    TRY(getsockopt(fd, 77777, SO_ERROR, &value, &size));
    TRY(getsockopt(fd, SOL_SOCKET, 77777, &value, &size));
    TRY(socket(minus_one, SOCK_STREAM, 0));
    TRY(socket(AF_INET, 77, 0));
    TRY(socket(AF_INET, SOCK_STREAM, 999));
    TRY(accept(fd, NULL, NULL));
    TRY(accept(minus_one, UNMAPPED, NULL));
    TRY(accept4(fd, NULL, NULL, 0x7777));
    close(fd);
}

static void try_duplicates(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fds[2];
    make_connected(fds);
    const int fd = fds[0], file = memfd_create("locked", 0);
    TRY(dup(fd));
    TRY(dup(minus_one));
    TRY(dup2(fd, fd));
    TRY(dup2(fd, 40));
    TRY(dup2(41, 41));
    TRY(dup2(minus_one, 40));
    TRY(dup2(fd, minus_one));
    TRY(dup3(fd, fd, 0));
    TRY(dup3(fd, 42, 0x7777));
    TRY(dup3(fd, 42, O_CLOEXEC));
    TRY(fcntl(42, F_GETFD));
    TRY(fcntl(fd, F_DUPFD, 50));
    TRY(fcntl(fd, F_DUPFD, minus_one));
    TRY(fcntl(fd, F_DUPFD, 1 << 30));
    TRY(fcntl(fd, F_DUPFD_CLOEXEC, 50));
    TRY(fcntl(51, F_GETFD));
    TRY(fcntl64(fd, F_DUPFD, 60));
    TRY(fcntl(fd, F_GETFL));
    TRY(fcntl(fd, F_SETFL, O_NONBLOCK));
    TRY(fcntl(fd, F_GETFL));
    TRY(fcntl(fd, F_SETOWN, getpid()));
    TRY(fcntl(fd, F_GETOWN) == getpid());
    TRY(fcntl(fd, 7777, 1));
    TRY(fcntl(minus_one, F_GETFD));
    TRY(fcntl(file, F_SETLK, &lock));
    TRY(fcntl(file, F_OFD_GETLK, UNMAPPED));
    TRY(fcntl(file, F_GETLK, &lock) * 100 + lock.l_type);
    TRY(send(60, "x", 1, MSG_NOSIGNAL));
    TRY(recv(fds[1], &lock, 9, 0));
    TRY(dup2(file, 40));
    TRY(send(40, "x", 1, MSG_NOSIGNAL));
    TRY(write(40, "x", 1));
}

static void try_closing(void) {
    int fds[2];
    make_connected(fds);
    FILE *file = fdopen(fds[0], "r+");
    TRY(close_range(9, 8, 0));
    TRY(close_range(30, 70, 0x7777));
    TRY(close_range(30, 70, 4)); /* close on exec: nothing is closed now */
    TRY(fcntl(40, F_GETFD));
    TRY(close_range(30, 70, 0));
    TRY(fcntl(40, F_GETFD));
    TRY(fputs("hello", file));
    TRY(fclose(file));
    TRY(close(fds[0]));
    TRY(recv(fds[1], &file, 5, 0));
    file = fdopen(fds[1], "r");
    TRY(close(fds[1]));
    TRY(fclose(file));
    file = fmemopen(NULL, 10, "w+");
    TRY(fclose(file));
    TRY(close(minus_one));
    TRY(close(1 << 30));
    make_connected(fds);
    TRY(dup2(fds[0], 80));
    closefrom(79);
    TRY(fcntl(80, F_GETFD));
    TRY(syscall(SYS_close, fds[0]));
    TRY(syscall(SYS_close, fds[0]));
    TRY(syscall(SYS_dup3, fds[1], 44, 0));
    TRY(syscall(SYS_close_range, 44, 44, 0));
    TRY(syscall(SYS_close_range, 44, 43, 0));
    TRY(close(44));
    TRY(close(fds[1]));
}

static void try_waiting(void) {
    struct timespec none = {0, 0}, odd = {0, 2000000000}, soon = {0, 2000000};
    struct timeval moment = {0, 2000}, never = {-1, 0};
    struct pollfd wait[2] = {{.fd = -1, .events = POLLIN}, {.fd = 99, .events = POLLIN}};
    struct epoll_event events[2];
    const int epoll = epoll_create1(0);
    fd_set set;
    FD_ZERO(&set);
    TRY(poll(NULL, 0, 0));
    TRY(poll(NULL, 0, 1));
    TRY(poll(UNMAPPED, 1, 0));
    TRY(poll(UNMAPPED, 1, 1));
    TRY(poll(wait, 1, 1));
    TRY(poll(wait + 1, 1, 1) * 100 + wait[1].revents);
    TRY(poll(wait, (nfds_t)minus_one, 0));
    TRY(ppoll(wait, 1, &none, NULL));
    TRY(ppoll(wait, 1, &soon, NULL) * 1000000000 + soon.tv_nsec);
    TRY(ppoll(wait, 1, &odd, NULL));
    TRY(ppoll(UNMAPPED, 1, &none, NULL));
    TRY(select(0, NULL, NULL, NULL, &moment) * 1000000 + moment.tv_usec);
    TRY(select(0, NULL, NULL, NULL, &moment));
    TRY(select(0, NULL, NULL, NULL, &never));
    TRY(select(minus_one, NULL, NULL, NULL, &moment));
    TRY(select(10, UNMAPPED, NULL, NULL, &moment));
    FD_SET(99, &set);
    TRY(select(100, &set, NULL, NULL, &moment));
    TRY(pselect(0, NULL, NULL, NULL, &soon, NULL));
    TRY(pselect(0, NULL, NULL, NULL, &odd, NULL));
    TRY(pselect(minus_one, NULL, NULL, NULL, &none, NULL));
    TRY(epoll_wait(epoll, events, 2, 0));
    TRY(epoll_wait(epoll, events, 2, 1));
    TRY(epoll_wait(epoll, events, 0, 0));
    TRY(epoll_wait(epoll, events, minus_one, 0));
    TRY(epoll_wait(minus_one, events, 2, 0));
    TRY(epoll_wait(0, events, 2, 0));
    TRY(epoll_pwait(epoll, events, 2, 1, NULL));
    TRY(epoll_pwait(epoll, UNMAPPED, 2, 0, NULL));
    TRY(epoll_pwait2(epoll, events, 2, &soon, NULL));
    TRY(epoll_pwait2(epoll, events, 2, &odd, NULL));
    TRY(epoll_pwait2(epoll, events, 2, UNMAPPED, NULL));
    close(epoll);
}

static volatile sig_atomic_t alarms;

static void count_alarm(int number) {
    (void)number;
    alarms++;
}

static void try_interrupted(void) {
    const struct sigaction action = {.sa_handler = count_alarm};
    const struct itimerval soon = {.it_value = {0, 20000}};
    char byte;
    int fds[2];
    make_connected(fds);
    struct pollfd wait = {.fd = fds[0], .events = POLLIN};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    TRY(poll(&wait, 1, 5000));
    setitimer(ITIMER_REAL, &soon, NULL);
    TRY(read(fds[0], &byte, 1));
    setitimer(ITIMER_REAL, &soon, NULL);
    TRY(select(0, NULL, NULL, NULL, NULL));
    TRY(alarms);
    signal(SIGALRM, SIG_DFL);
    alarm(60);
    close(fds[0]);
    close(fds[1]);
}

static long look_up(const char *node, const char *service, int family, int flags) {
    struct addrinfo hints = {.ai_family = family, .ai_flags = flags, .ai_socktype = SOCK_STREAM},
                    *found = NULL;
    const int result = getaddrinfo(node, service, &hints, &found);
    long count = 0;
    for (const struct addrinfo *one = result == 0 ? found : NULL; one != NULL; one = one->ai_next) {
        count++;
    }
    if (result == 0) {
        freeaddrinfo(found);
    }
    return result * 100 + count;
}

/* Between a connection and what it does not go with. */
static void try_moving(void) {
    struct sockaddr_in there;
    const int door = listening(&there), fd = stream(0), zero = open("/dev/zero", O_RDWR);
    int line[2];
    off_t offset = 1;
    TRY(pipe(line));
    TRY(connect(fd, (struct sockaddr *)&there, sizeof there));
    const int peer = accept(door, NULL, NULL);
    TRY(fcntl(fd, F_SETFL, O_NONBLOCK));
    TRY(sendfile(minus_one, zero, NULL, 1));
    TRY(sendfile(fd, minus_one, NULL, 1));
    TRY(sendfile(fd, zero, UNMAPPED, 1));
    TRY(sendfile(fd, zero, &offset, 0));
    TRY(sendfile(fd, fd, NULL, 1));
    TRY(sendfile64(fd, line[1], NULL, 1));
    TRY(splice(fd, NULL, fd, NULL, 1, 0));
    TRY(splice(fd, NULL, line[1], NULL, 1, SPLICE_F_NONBLOCK));
    TRY(splice(line[0], NULL, fd, NULL, 1, SPLICE_F_NONBLOCK));
    TRY(splice(fd, &offset, line[1], NULL, 1, 0));
    TRY(splice(fd, NULL, line[1], NULL, 0, 0));
    TRY(splice(fd, NULL, line[1], NULL, 1, ~0u));
    TRY(splice(minus_one, NULL, line[1], NULL, 1, 0));
    TRY(write(line[1], "ab", 2));
    TRY(splice(line[0], NULL, fd, NULL, 9, 0));
    TRY(splice(peer, NULL, line[1], NULL, 9, 0));
    TRY(close(peer));
    TRY(splice(fd, NULL, line[1], NULL, 1, 0));
    TRY(close(line[0]));
    TRY(splice(line[1], NULL, fd, NULL, 1, 0));
    TRY(close(fd) + close(door) + close(zero) + close(line[1]));
}

static void try_look_ups(void) {
    struct hostent host, *found = NULL;
    char room[1024];
    int error = 0;
    TRY(look_up("127.0.0.1", "80", AF_UNSPEC, 0));
    TRY(look_up("127.0.0.1", "80", AF_INET6, 0));
    TRY(look_up("::1", NULL, AF_UNSPEC, AI_NUMERICHOST));
    TRY(look_up("no number", NULL, AF_UNSPEC, AI_NUMERICHOST));
    TRY(look_up(NULL, "80", AF_INET, AI_PASSIVE));
    TRY(look_up(NULL, NULL, AF_INET, 0));
    TRY(look_up("127.0.0.1", "no such service", AF_INET, 0));
    TRY(look_up("127.0.0.1", "80", 250, 0));
    TRY(look_up("127.0.0.1", "80", AF_INET, 0x7000000));
    TRY(look_up("localhost", "80", AF_INET, 0));
    TRY(getaddrinfo("127.0.0.1", NULL, NULL, (struct addrinfo **)&found));
    TRY(gethostbyname("127.0.0.1") != NULL);
    TRY(gethostbyname2("127.0.0.1", AF_INET) != NULL);
    TRY(gethostbyname2("127.0.0.1", 250) != NULL);
    TRY(h_errno);
    TRY(gethostbyname_r("127.0.0.1", &host, room, sizeof room, &found, &error));
    TRY(found == &host);
    TRY(gethostbyname_r("127.0.0.1", &host, room, 8, &found, &error));
    TRY(found == NULL ? error : 77);
    TRY(gethostbyname2_r("localhost", AF_INET, &host, room, sizeof room, &found, &error));
    TRY(found == &host);
}

static void try_process(void) {
    char name[16] = "";
    TRY(prctl(PR_SET_NAME, "odd"));
    TRY(prctl(PR_GET_NAME, name) * 1000 + (long)strlen(name));
    TRY(prctl(7777777, 1, 2, 3, 4));
    TRY(prctl(PR_GET_DUMPABLE));
    TRY(prctl(PR_SET_SECCOMP, 7777, NULL));
    TRY(syscall(7777777));
    TRY(syscall(SYS_getpid) == getpid());
    TRY(syscall(SYS_lseek, minus_one, 0L, SEEK_SET));
    TRY(syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 4095L));
    TRY(syscall(SYS_seccomp, 7777, 0, NULL));
}

int main(void) {
    alarm(60);
    signal(SIGPIPE, SIG_IGN);
    try_connect();
    try_not_waiting();
    try_options();
    try_duplicates();
    try_closing();
    try_waiting();
    try_interrupted();
    try_moving();
    try_look_ups();
    try_process();
    return 0;
}
