/* Prints what shim/environment.c reads, one setting a line. With an argument: what that path resolves to. */
#include "shim/environment.h"

#include <stdio.h>

int main(int argc, char **argv) {
    static struct environment environment;
    if (argc > 1) {
        char path[64];
        printf("%s\n", environment_resolve_path(argv[1], path, sizeof path) ? path : "does not fit");
        return 0;
    }
    environment_read(&environment);
    printf("disabled %d\nsecure %d\nrules_named %d\n", environment.disabled, environment.secure,
           environment.rules_named);
    printf("group %s %u\nmode %u\n", environment.has_group ? "yes" : "no", environment.group,
           environment.mode);
    printf("deepbind %s\n", environment.keeps_deepbind ? "kept" : "cleared");
    printf("rules %s\npanel %s\n", environment.rules, environment.panel);
    return 0;
}
