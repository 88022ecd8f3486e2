/* A program that puts itself under a system-call filter which kills it for anything but what it does itself.
 *
 *   guest_sandbox PORT HOW [door] [exit] [refused]   PORT of 127.0.0.1 answers each line by a line
 *
 * HOW: strict, by prctl (read, write and the end alone); prctl, syscall: a filter, installed so. door: new connections are
 * allowed, and made. exit: ends by exit() instead of _exit(). Before the filter one exchange is made and after it as many as
 * possible, until the server ends the connection; each answer is printed. refused: a second connection is there from before,
 * and tried when the first is lost: it says whether that is rejected, and whether a new connection is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOWED(number)                                                                                      \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sockaddr_in there;

static int connected(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&there, sizeof there) == 0 ? fd : -1;
}

static bool filter(bool door, bool by_prctl) {
    struct sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                    ALLOWED(read),
                                    ALLOWED(write),
                                    ALLOWED(sendto),
                                    ALLOWED(recvfrom),
                                    ALLOWED(exit_group),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, door ? SYS_socket : SYS_read, 2, 0),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, door ? SYS_connect : SYS_read, 1, 0),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, door ? SYS_close : SYS_read, 0, 1),
                                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog code = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return false;
    }
    return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &code) == 0
                    : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &code) == 0;
}

static void say(const char *text, ssize_t size) {
    (void)!write(1, text, size > 0 ? (size_t)size : 0);
}

/* By the pair of calls of that number. */
static bool exchange(int fd, int pair) {
    char answer[64];
    if ((pair ? send(fd, "ask\n", 4, MSG_NOSIGNAL) : write(fd, "ask\n", 4)) != 4) {
        return false;
    }
    ssize_t got = pair ? recv(fd, answer, sizeof answer, 0) : read(fd, answer, sizeof answer);
    say(answer, got);
    return got > 0;
}

static void end(bool strict, bool by_exit) {
    if (strict) {
        syscall(SYS_exit, 0);
    }
    if (by_exit) {
        exit(0);
    }
    _exit(0);
}

static bool has(char **words, const char *word) {
    for (; *words != NULL; words++) {
        if (strcmp(*words, word) == 0) {
            return true;
        }
    }
    return false;
}

static void try_spare(int spare) {
    say("lost\n", 5);
    if (send(spare, "ask\n", 4, MSG_NOSIGNAL) < 0 && errno == ECONNREFUSED) {
        say("rejected\n", 9);
    }
    if (connected() >= 0) {
        say("connected\n", 10);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) {
        return 2;
    }
    bool refused = has(argv, "refused"), door = has(argv, "door") || refused;
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons((uint16_t)atoi(argv[1]));
    bool strict = strcmp(argv[2], "strict") == 0;
    int fd = connected(), spare = connected();
    if (fd < 0 || spare < 0 || !exchange(fd, 0) || !exchange(spare, 0)) {
        return 1;
    }
    if (strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0
               : !filter(door, strcmp(argv[2], "prctl") == 0)) {
        return 3;
    }
    if (door && !refused) {
        int other = connected();
        exchange(other, 1);
        close(other);
    }
    while (exchange(fd, !strict)) {
    }
    if (refused) {
        try_spare(spare);
    } else {
        say("end\n", 4);
    }
    end(strict, has(argv, "exit"));
    return 4;
}
