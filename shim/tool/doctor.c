/* cutout doctor: can a program be protected, is a process, and why not. */
#include "shim/tool/doctor.h"
#include "shim/tool/output.h"
#include "shim/tool/program.h"
#include "shim/tool/settings.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

static const char help[] =
    "Usage: cutout doctor PROGRAM\n"
    "       cutout doctor [--tree] PID\n"
    "\n"
    "Says whether PROGRAM, started now by 'cutout run', can be protected, and why not: what kind of\n"
    "program it is, which library, panel and rules would apply, and whether its processes could share\n"
    "their memory. Of a process that runs, by its PID, it says whether it is: which library is at work\n"
    "in it, on which panel, under which rules, and what it has seen.\n"
    "\n"
    "  --tree   the processes that PID has started, too, and those that they have\n"
    "\n"
    "Exit status: 0 it can, or is (with --tree: all of them), 1 not or only in part, 2 usage.\n";

/* What was found so far. */
struct findings {
    bool not ;    /* it cannot be protected, or would not be started */
    bool in_part; /* something is lost */
};

static void print_program(const struct program *program, struct findings *findings) {
    for (size_t i = 0; i < program->files; i++) {
        printf("%-9s %s\n", i == 0 ? "program" : "run by", shown(program->file[i]));
    }
    const struct elf_file *elf = &program->elf;
    if (elf->bits) {
        const char *machine = elf_machine_name(elf->machine);
        printf("kind      ELF, %u-bit, %s%s\n", elf->bits, machine ? machine : "unknown machine",
               elf->loader[0] ? ", dynamically linked" : "");
    }
    if (elf->loader[0]) {
        printf("loader    %s\nlibc      %s\n", shown(elf->loader), elf_libc_name(elf->libc));
    }
    if (program->verdict == PROGRAM_NOT_READABLE) {
        findings->in_part = true;
    } else if (program->verdict != PROGRAM_FITS) {
        findings->not = true;
    }
    if (program->verdict != PROGRAM_FITS) {
        printf("          %s\n", program->why);
    }
    if (elf->go && program->verdict == PROGRAM_FITS) {
        puts("          it is a Go program: those make their calls by themselves, most go unseen");
        findings->in_part = true;
    }
    if (elf->uring && program->verdict == PROGRAM_FITS) {
        puts("          it uses io_uring: what goes that way, and not by the calls of sockets, goes unseen");
        findings->in_part = true;
    }
}

/* Tries what the shim would do for a new panel, and leaves nothing behind. 0, or the errno. */
static int try_shared_memory(void) {
    int segment = shmget(IPC_PRIVATE, sizeof(struct panel), IPC_CREAT | SHM_NORESERVE | 0600);
    if (segment < 0) {
        return errno;
    }
    const void *address = shmat(segment, NULL, 0);
    int error = address == (const void *)-1 ? errno : 0;
    if (error == 0) {
        shmdt(address);
    }
    shmctl(segment, IPC_RMID, NULL);
    return error;
}

static int try_semaphores(void) {
    int set = semget(IPC_PRIVATE, PANEL_PROCESSES, IPC_CREAT | 0600);
    if (set < 0) {
        return errno;
    }
    semctl(set, 0, IPC_RMID);
    return 0;
}

static void print_memory(const struct settings *settings, const struct found_panel *panel,
                         struct findings *findings) {
    const struct environment *environment = &settings->environment;
    if (panel) {
        printf("memory    shared: the panel exists, %" PRIu32 " of its processes run\n",
               found_processes(panel));
        return;
    }
    int error = environment->has_group && geteuid() != 0 && getegid() != environment->group ? EPERM : 0;
    if (error) {
        printf("memory    private: no panel of group %" PRIu32
               " exists, and only root or a process whose group "
               "it is makes one\n",
               environment->group);
    } else if ((error = try_shared_memory()) != 0) {
        printf("memory    private to each process and its children: no System V shared memory (%s)\n",
               strerror(error));
    } else if ((error = try_semaphores()) != 0) {
        printf("memory    shared, but without System V semaphores (%s): who lives cannot be told\n",
               strerror(error));
    } else {
        puts("memory    shared: the panel is new");
    }
    findings->in_part |= error != 0;
}

static void print_settings(struct settings *settings, bool well, struct findings *findings) {
    static const char *const modes[] = {NULL, "enforce", "observe", "off"};
    const char *mode = modes[settings->environment.mode & 3];
    if (!well) {
        printf("settings  %s\n", settings->why);
        findings->not = true;
    }
    if (mode) {
        printf("mode      %s, by CUTOUT_MODE\n", mode);
    }
    if (settings->disabled) {
        puts("disabled  CUTOUT_DISABLE=1: the library does nothing at all");
    }
    findings->not |= settings->disabled || settings->environment.mode == 1 + MODE_OFF;
    printf("rules     %s\n", settings_rules_text(settings));
    if (!settings_check_rules(settings, false, false)) {
        printf("          %s\n", settings->why);
        findings->not = true;
    }
    struct found found;
    if (!found_open(&found, NULL)) {
        findings->in_part = true;
        return;
    }
    const struct found_panel *panel = found_joined(&found, &settings->environment);
    printf("panel     %s\n", shown(settings->environment.panel));
    if (!settings_check_panel(settings, panel)) {
        printf("          %s\n", settings->why);
        findings->not = true;
    }
    if (!panel_would_crowd()) {
        print_memory(settings, panel, findings);
    }
    found_close(&found);
}

static int examine(const char *name) {
    static struct settings settings;
    static struct program program;
    struct findings findings = {0};
    bool well = settings_read(&settings, NULL, NULL, false);
    char why[SETTINGS_WHY_MAX];
    memcpy(why, settings.why, sizeof why);
    bool has_library = settings_find_library(&settings);
    program_examine(&program, name, &settings.libraries);
    if (program.files == 0) {
        tool_error("%s", program.why);
        return TOOL_NO;
    }
    print_program(&program, &findings);
    if (has_library) {
        const struct library *library = libraries_for(&settings.libraries, &program.elf);
        printf("library   %s\n", shown(library ? library->path : settings.libraries.own.path));
    } else {
        printf("library   %s\n", settings.why);
    }
    findings.not |= !has_library;
    if (!well) {
        memcpy(settings.why, why, sizeof why);
    }
    print_settings(&settings, well, &findings);
    printf("verdict   %s\n", findings.not       ? "cannot be protected"
                             : findings.in_part ? "can be protected in part"
                                                : "can be protected");
    return findings.not || findings.in_part ? TOOL_NO : TOOL_YES;
}

/* A word of digits alone is a PID; a program of such a name is written with its path. */
static bool is_pid(const char *word) {
    return word[strspn(word, "0123456789")] == 0;
}

static uint32_t pid_of(const char *word) {
    return strlen(word) > 9 ? UINT32_MAX : (uint32_t)strtoul(word, NULL, 10);
}

int command_doctor(int count, char **words) {
    enum { OPTION_TREE = 1 };
    static const struct tool_option options[] = {{"--tree", OPTION_TREE, false}};
    struct arguments arguments = {.command = "doctor",
                                  .help = help,
                                  .options = options,
                                  .option_count = sizeof options / sizeof *options,
                                  .count = count,
                                  .words = words};
    const char *name = NULL;
    bool tree = false;
    for (int id = arguments_next(&arguments); id != ARGUMENT_END; id = arguments_next(&arguments)) {
        if (id == OPTION_TREE) {
            tree = true;
        } else if (id == ARGUMENT_WORD && !name && *arguments.value) {
            name = arguments.value;
        } else if (id == ARGUMENT_WORD) {
            return tool_usage("doctor", "doctor: unexpected %s", shown(arguments.value));
        } else {
            return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
    }
    if (!name) {
        return tool_usage("doctor", "doctor: which PROGRAM or PID?");
    }
    if (is_pid(name)) {
        return tree ? doctor_tree(pid_of(name)) : doctor_process(pid_of(name));
    }
    return tree ? tool_usage("doctor", "doctor: --tree is for a process that runs, by its PID")
                : examine(name);
}
