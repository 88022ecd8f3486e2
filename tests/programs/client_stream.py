#!/usr/bin/python3
"""Sends lines and reads nothing: a publisher, or a log shipper.

    client_stream.py publisher|shipper PORT PERIOD_MS

A publisher first sends one line and waits for its answer. Prints "ready", sends a line every PERIOD_MS, and at
SIGTERM closes and prints "sent N errors M".
"""
import signal
import socket
import sys
import threading

stop = threading.Event()


def main():
    kind, port, period_ms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    sent = errors = 0
    with socket.create_connection(("127.0.0.1", port)) as peer:
        if kind == "publisher":
            peer.sendall(b"hello\n")
            assert peer.recv(100) == b"ok\n"
        print("ready", flush=True)
        while not stop.wait(period_ms / 1000):
            try:
                peer.sendall(b"a line of text\n")
                sent += 1
            except OSError as error:
                print(error, file=sys.stderr)
                errors += 1
    print("sent", sent, "errors", errors, flush=True)


main()
