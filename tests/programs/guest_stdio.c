/* A client whose exchanges pass inside stdio, where no preload sees them.
 *
 *   guest_stdio PORT ACTION...           on one connection to 127.0.0.1, in this order
 *
 *   open          a stream on it            say WORD, hear     fprintf and fflush; fgets, its line printed
 *   write WORD    by write(2)               read               by read(2)
 *   poll MS       waits to be able to read  sleep MS           does nothing
 *   fork          the child goes on with the next action alone and exits, the parent waits for it and goes on after it
 *   fclose, close the stream, the descriptor
 *   shut          ends its own side         exit               without closing anything
 *
 * `hear` and `read` print "end" at the end of the stream, and an error by its name. Exits 0, 7 when the connect failed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd;
static FILE *stream;

static void print(const char *bytes, ssize_t size) {
    if (size > 0) {
        printf("%.*s\n", (int)strcspn(bytes, "\r\n"), bytes);
    } else {
        printf("%s\n", size == 0 ? "end" : strerrorname_np(errno));
    }
    fflush(stdout);
}

static void hear(void) {
    char line[512];
    if (fgets(line, sizeof line, stream) != NULL) {
        print(line, 1);
    } else {
        print(NULL, ferror(stream) ? -1 : 0);
    }
}

static void await(int ms) {
    struct pollfd wait = {fd, POLLIN, 0};
    if (poll(&wait, 1, ms) < 0) {
        exit(2);
    }
}

/* What comes of it is told when it is heard. */
static void say(const char *word) {
    fprintf(stream, "%s\n", word);
    fflush(stream);
}

/* Does one action; returns how many words it took. */
static int act(char **words) {
    char bytes[512] = "";
    const char *word = words[1] != NULL ? words[1] : "";
    if (strcmp(words[0], "open") == 0) {
        stream = fdopen(fd, "r+");
    } else if (strcmp(words[0], "say") == 0) {
        say(word);
        return 2;
    } else if (strcmp(words[0], "hear") == 0) {
        hear();
    } else if (strcmp(words[0], "write") == 0) {
        snprintf(bytes, sizeof bytes, "%s\n", word);
        send(fd, bytes, strlen(bytes), MSG_NOSIGNAL);
        return 2;
    } else if (strcmp(words[0], "read") == 0) {
        print(bytes, read(fd, bytes, sizeof bytes - 1));
    } else if (strcmp(words[0], "poll") == 0) {
        await(atoi(word));
        return 2;
    } else if (strcmp(words[0], "sleep") == 0) {
        usleep((useconds_t)atoi(word) * 1000);
        return 2;
    } else if (strcmp(words[0], "fclose") == 0) {
        fclose(stream);
    } else if (strcmp(words[0], "close") == 0) {
        close(fd);
    } else if (strcmp(words[0], "shut") == 0) {
        shutdown(fd, SHUT_WR);
    } else if (strcmp(words[0], "exit") == 0) {
        exit(0);
    } else {
        fprintf(stderr, "no such action: %s\n", words[0]);
        exit(2);
    }
    return 1;
}

static char **act_in_child(char **words) {
    pid_t child = fork();
    if (child == 0) {
        act(words);
        exit(0);
    }
    waitpid(child, NULL, 0);
    return words + (strcmp(words[0], "say") == 0 ? 2 : 1);
}

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (argc < 2) {
        return 2;
    }
    address.sin_port = htons((uint16_t)atoi(argv[1]));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        return 7;
    }
    for (char **words = argv + 2; *words != NULL;) {
        words = strcmp(*words, "fork") == 0 ? act_in_child(words + 1) : words + act(words);
    }
    return 0;
}
