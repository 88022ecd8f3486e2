/* Children made in every way, thousands of them, while threads are in the middle of calls.
 *
 *   guest_children PORT ROUNDS           PORT of 127.0.0.1 answers HTTP
 *
 * Eight threads make exchanges on connections that they keep. Meanwhile each round makes a child by fork, _Fork, vfork,
 * clone (sharing memory, descriptors or neither) and posix_spawn. Those that have a memory of their own make an exchange;
 * the others end descriptors in all ways, as a shell's child does before it executes. Prints how many exchanges were
 * made in all, each of which must have been answered.
 */
#include "tests/programs/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8

extern char **environ;
static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
static struct sockaddr_in there;
static unsigned *exchanges; /* shared with forked children */
static int over, kept[THREADS];

static int connected(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&there, sizeof there) == 0);
    return fd;
}

static void exchange(int fd) {
    char answer[512];
    CHECK(write(fd, request, sizeof request - 1) == (ssize_t)sizeof request - 1);
    CHECK(read(fd, answer, sizeof answer) > 0);
    __atomic_fetch_add(exchanges, 1, __ATOMIC_RELAXED);
}

static void *work(void *argument) {
    int *fd = argument;
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        exchange(*fd);
    }
    return NULL;
}

/* A child with a memory of its own: its parent's connections are there too, and it closes some of them. */
static void live(unsigned round) {
    int fd = connected();
    exchange(fd);
    close(fd);
    close(kept[round % THREADS]);
    dup2(0, kept[(round + 1) % THREADS]);
    close_range(3, ~0u, 0);
    _exit(0);
}

/* A child in its parent's memory: what it does to descriptors is its own affair. */
static int clean_up(void *argument) {
    (void)argument;
    close(kept[0]);
    dup2(0, kept[1]);
    dup3(0, kept[2], O_CLOEXEC);
    fcntl(kept[3], F_DUPFD, 100);
    shutdown(-1, SHUT_RDWR);
    syscall(SYS_close, kept[4]);
    socket(AF_INET, SOCK_STREAM, 0);
    close_range(3, ~0u, 0);
    _exit(0);
}

static void await(pid_t child) {
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, __WALL) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void by_vfork(void) {
    pid_t child = vfork();
    if (child == 0) {
        clean_up(NULL);
    }
    await(child);
}

static void by_clone(int flags) {
    static char stack[1 << 16] __attribute__((aligned(64)));
    await(clone(clean_up, stack + sizeof stack, flags | SIGCHLD, NULL));
}

static void by_spawn(void) {
    static char *const arguments[] = {(char *)(uintptr_t) "true", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(posix_spawn_file_actions_addclose(&actions, kept[i]) == 0);
    }
    CHECK(posix_spawn_file_actions_adddup2(&actions, 0, kept[0]) == 0);
    CHECK(posix_spawn(&child, "/bin/true", &actions, NULL, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    await(child);
}

static void make_children(unsigned round) {
    pid_t child = round % 3 == 0   ? fork()
                  : round % 3 == 1 ? _Fork()
                                   : (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
    if (child == 0) {
        live(round);
    }
    by_vfork();
    by_clone(CLONE_VM | CLONE_VFORK);
    by_clone(CLONE_VFORK);
    if (round % 8 == 0) {
        by_spawn();
    }
    await(child);
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    CHECK(argc > 2);
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons((uint16_t)atoi(argv[1]));
    exchanges = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(exchanges != MAP_FAILED);
    for (unsigned i = 0; i < THREADS; i++) {
        kept[i] = connected();
        CHECK(pthread_create(&threads[i], NULL, work, &kept[i]) == 0);
    }
    for (int round = 0; round < atoi(argv[2]); round++) {
        make_children((unsigned)round);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        exchange(kept[i]); /* still the connection that it was */
        CHECK(close(kept[i]) == 0);
    }
    printf("%u exchanges\n", *exchanges);
    return 0;
}
