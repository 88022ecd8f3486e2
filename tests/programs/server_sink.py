#!/usr/bin/python3
"""Takes one HTTP upload after the other, slowly.

    server_sink.py BYTES_PER_SECOND

Prints "port PORT", reads each body at that pace, and answers 10 ms after its last byte. Its receive buffer is
small, so that the sender really waits.
"""
import socket
import sys
import time

TICK_S = 0.02


def read_head(peer):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = peer.recv(4096)
        if not piece:
            return None, b""
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    return head, body


def body_size(head):
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def serve(peer, pace):
    head, body = read_head(peer)
    if head is None:
        return
    left = body_size(head) - len(body)
    due = time.monotonic()
    while left > 0:
        piece = peer.recv(min(left, int(pace * TICK_S)))
        if not piece:
            return
        left -= len(piece)
        due = max(due, time.monotonic() - 1) + len(piece) / pace
        time.sleep(max(0, due - time.monotonic()))
    time.sleep(0.01)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")


def main():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    listener.bind(("127.0.0.1", 0))
    listener.listen(8)
    print("port", listener.getsockname()[1], flush=True)
    while True:
        peer, _ = listener.accept()
        with peer:
            serve(peer, float(sys.argv[1]))


main()
