#include "shim/tool/parent.h"

#include "shim/tool/recorder.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The signals that a supervisor or a person sends; the others mean this process itself. */
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1, SIGUSR2,
                                SIGCONT, SIGTSTP, SIGALRM, SIGWINCH, SIGPIPE};
#define PASSED_ON (sizeof passed_on / sizeof *passed_on)

static volatile sig_atomic_t child;

static void pass_on(int number, siginfo_t *info, void *context) {
    (void)context;
    int error = errno;
    if (info->si_code <= 0 && child > 0) { /* sent by a process, not by the kernel for a terminal */
        kill((pid_t)child, number);
    }
    errno = error;
}

static void set_handlers(struct sigaction before[PASSED_ON]) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = pass_on;
    for (size_t i = 0; i < PASSED_ON; i++) {
        sigaction(passed_on[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) { /* nohup stays nohup */
            sigaction(passed_on[i], &action, NULL);
        }
    }
}

int parent_run(int (*become)(void *argument), void *argument, void (*step)(void *context), void *context) {
    struct sigaction before[PASSED_ON];
    sigset_t child_ends, mask;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ends, &mask);
    set_handlers(before);
    pid_t pid = fork();
    if (pid < 0) {
        tool_error("cannot start a process: %s", strerror(errno));
        return -1;
    }
    if (pid == 0) {
        for (size_t i = 0; i < PASSED_ON; i++) {
            sigaction(passed_on[i], &before[i], NULL);
        }
        sigprocmask(SIG_SETMASK, &mask, NULL);
        _exit(become(argument));
    }
    child = (sig_atomic_t)pid;
    for (;;) {
        int status;
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid) {
            child = 0;
            return status;
        }
        struct timespec pause = {0, RECORDER_STEP_MS * 1000000L};
        sigtimedwait(&child_ends, NULL, &pause);
        step(context);
    }
}

int parent_end(int status) {
    if (!WIFSIGNALED(status)) {
        return WEXITSTATUS(status);
    }
    int number = WTERMSIG(status);
    struct rlimit no_core = {0, 0};
    sigset_t only;
    setrlimit(RLIMIT_CORE, &no_core); /* the program has left one, if any */
    signal(number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number; /* a signal that this process survives */
}
