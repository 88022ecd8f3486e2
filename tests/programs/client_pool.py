#!/usr/bin/python3
"""Keeps HTTP connections busy until it is told to stop.

    client_pool.py PORT CONNECTIONS PERIOD_MS

Opens the connections, prints "ready", sends a request on each every PERIOD_MS, and at SIGTERM prints
"answered N lost M": a request is lost when it got no answer. A connection is never opened a second time.
"""
import signal
import socket
import sys
import threading

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANSWER_END = b"\r\n\r\nok\n"
stop = threading.Event()
counts = {"answered": 0, "lost": 0}
counting = threading.Lock()


def exchange(peer):
    peer.sendall(REQUEST)
    answer = b""
    while not answer.endswith(ANSWER_END):
        piece = peer.recv(4096)
        if not piece:
            return False
        answer += piece
    return True


def keep_busy(peer, period_s):
    while not stop.wait(period_s):
        try:
            answered = exchange(peer)
        except OSError as error:
            print(error, file=sys.stderr)
            answered = False
        with counting:
            counts["answered" if answered else "lost"] += 1


def main():
    port, connections, period_ms = (int(word) for word in sys.argv[1:4])
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    peers = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(connections)]
    for peer in peers:
        exchange(peer)
    workers = [threading.Thread(target=keep_busy, args=(peer, period_ms / 1000)) for peer in peers]
    for worker in workers:
        worker.start()
    print("ready", flush=True)
    while not stop.wait(0.1):
        pass
    for worker in workers:
        worker.join()
    print("answered", counts["answered"], "lost", counts["lost"], flush=True)


main()
