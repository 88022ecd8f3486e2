/* A client that connects very often to very many destinations.
 *
 *   client_soak CONNECTIONS THREADS ADDRESSES PORT...
 *
 * The destinations are so many addresses from 127.0.1.0 on, at each of the ports; they are called in turn, by all threads
 * together, each time on a new connection with one HTTP request. After each tenth of the connections it prints
 * "CONNECTIONS made, resident KIB kB". Exits 0 when each request was answered.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static long connections, addresses, ports;
static char **port;
static atomic_long next, done;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* From the second field of statm: pages resident. No stream: the program's own memory shall not move. */
static void report(long made) {
    char line[256];
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || !fgets(line, sizeof line, file))
        fail("/proc/self/statm");
    fclose(file);
    long pages = strtol(strchr(line, ' '), NULL, 10);
    printf("%ld made, resident %ld kB\n", made, pages * (sysconf(_SC_PAGESIZE) / 1024));
    fflush(stdout);
}

static void call(long number) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    long destination = number % (addresses * ports);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port[destination % ports])),
                                  .sin_addr.s_addr = htonl(0x7f000100u + (uint32_t)(destination / ports))};
    char answer[512];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    if (send(fd, request, sizeof request - 1, 0) != (ssize_t)sizeof request - 1)
        fail("send");
    if (recv(fd, answer, sizeof answer, 0) < 12 || memcmp(answer, "HTTP/1.1 200", 12) != 0)
        fail("recv");
    close(fd);
}

static void *work(void *unused) {
    for (long number = next++; number < connections; number = next++) {
        call(number);
        long made = ++done;
        if (made % (connections / 10) == 0)
            report(made);
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread[64];
    if (argc < 5)
        return 2;
    connections = atol(argv[1]);
    long threads = atol(argv[2]);
    addresses = atol(argv[3]);
    port = argv + 4;
    ports = argc - 4;
    if (threads < 1 || threads > 64 || connections < 10)
        return 2;
    for (long i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (long i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
