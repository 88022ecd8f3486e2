#include "shim/tcp.h"

#include "shim/raw.h"

#include <asm/ioctls.h>      /* FIONREAD */
#include <linux/sock_diag.h> /* SK_MEMINFO_* */
#include <linux/tcp.h>       /* the C library's own lacks the later fields of struct tcp_info */
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define MS_NS UINT64_C(1000000)
/* Since Linux 4.12; missing from the headers of older systems. */
#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

static bool ask(int fd, int level, int option, void *value, socklen_t *size) {
    return !raw_failed(raw_call6(SYS_getsockopt, fd, level, option, (long)value, (long)size, 0));
}

bool tcp_look(int fd, struct tcp_view *view) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    if (!ask(fd, IPPROTO_TCP, TCP_INFO, &info, &size) ||
        size < offsetof(struct tcp_info, tcpi_last_ack_recv)) {
        return false;
    }
    view->state = info.tcpi_state;
    /* Segments of data are the last ones needed; a kernel that merely fills the struct with zeros counts none at all,
     * where the first one of every connection is its SYN. */
    view->counts = size >= offsetof(struct tcp_info, tcpi_delivery_rate) && info.tcpi_segs_out > 0;
    view->sent_ago_ns = info.tcpi_last_data_sent * MS_NS;
    view->received_ago_ns = info.tcpi_last_data_recv * MS_NS;
    view->received_bytes = info.tcpi_bytes_received;
    view->sent_segments = info.tcpi_data_segs_out;
    view->received_segments = info.tcpi_data_segs_in;
    return true;
}

uint64_t tcp_unread_bytes(int fd) {
    int size = 0;
    if (raw_failed(raw_call3(SYS_ioctl, fd, FIONREAD, (long)&size)) || size < 0) {
        return UINT64_MAX;
    }
    return (uint64_t)size;
}

/* Its memory tells: an end of stream waits in the queue like data, and is no byte of it. */
bool tcp_is_read_out(int fd) {
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t size = sizeof memory;
    return ask(fd, SOL_SOCKET, SO_MEMINFO, memory, &size) && size > SK_MEMINFO_RMEM_ALLOC * sizeof *memory &&
           memory[SK_MEMINFO_RMEM_ALLOC] == 0;
}

bool tcp_has_error(int fd) {
    struct pollfd wait = {fd, 0, 0};
    struct timespec now = {0, 0};
    long result = raw_call6(SYS_ppoll, (long)&wait, 1, (long)&now, 0, 0, 0);
    return raw_failed(result) || (wait.revents & (POLLERR | POLLNVAL)) != 0;
}
