/* What the kernel knows of a TCP socket. Asked by system calls of our own, so never in a sandbox; nothing is changed by
 * the asking: no byte is taken, and no error that waits for the program. */
#ifndef CUTOUT_SHIM_TCP_H
#define CUTOUT_SHIM_TCP_H

#include <stdbool.h>
#include <stdint.h>

/* The states that matter, as tcpi_state has them (tcp_states.h of the kernel). From TCP_STATE_CLOSE up the peer has ended
 * its side, or the connection is over. */
enum tcp_state {
    TCP_STATE_SYN_SENT = 2,
    TCP_STATE_CLOSE = 7,
    TCP_STATE_CLOSE_WAIT = 8,
    TCP_STATE_LAST_ACK = 9
};

struct tcp_view {
    uint8_t state;
    bool counts;              /* this kernel counts bytes and segments (Linux does since 4.6) */
    uint64_t sent_ago_ns;     /* since data last went out; without meaning when none did */
    uint64_t received_ago_ns; /* since data last came in; without meaning when none did */
    uint64_t received_bytes;  /* the peer's end of stream counts as one more */
    uint32_t sent_segments;   /* of data */
    uint32_t received_segments;
};

/* False when fd is no TCP socket, or nothing is to be had. */
bool tcp_look(int fd, struct tcp_view *view);

/* How many bytes lie unread; UINT64_MAX when that is not to be had. */
uint64_t tcp_unread_bytes(int fd);

/* True when nothing lies unread, not even the peer's end of stream. */
bool tcp_is_read_out(int fd);

/* True when an error waits for the program. */
bool tcp_has_error(int fd);

#endif
