/* What the cases of the panel share: attaching by name, being another user, being another process. */
#ifndef CUTOUT_TESTS_ATTACH_H
#define CUTOUT_TESTS_ATTACH_H

#include "shim/panel.h"
#include "tests/programs/check.h"

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRANGER 65534

static struct environment environment;

static inline struct attachment attach(const char *name) {
    struct attachment attachment;
    strcpy(environment.panel, name);
    CHECK(panel_attach(&attachment, &environment) == 0);
    return attachment;
}

static inline void become(uid_t user, gid_t group, size_t count, const gid_t *groups) {
    CHECK(setgroups(count, groups) == 0 && setgid(group) == 0 && setuid(user) == 0);
}

/* Runs a step as another process and waits for its good end. */
static inline void in_child(void (*step)(void)) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        step();
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* What one step leaves to the next. */
static struct attachment first;

#endif
