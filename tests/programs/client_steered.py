#!/usr/bin/python3
"""Workers that call when they are told: each line of standard input is one call of each, on a connection of its own.

    client_steered.py PORT WORKERS

Prints a line for each round: how the calls ended, "ok" or the name of the error, in the order of the workers. Each
worker is a process of its own, forked before its first call.
"""
import errno
import os
import socket
import sys

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def call(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
            peer.sendall(REQUEST)
            return "ok" if peer.recv(4096) else "closed"
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)


def work(port, told, answers):
    while os.read(told, 1):
        os.write(answers, call(port).encode() + b"\n")


def main():
    port, workers = int(sys.argv[1]), []
    for _ in range(int(sys.argv[2])):
        told, tell = os.pipe()
        hear, answers = os.pipe()
        if os.fork() == 0:
            for _, other_tell in workers:
                os.close(other_tell)
            os.close(tell)
            work(port, told, answers)
            os._exit(0)
        os.close(told)
        os.close(answers)
        workers.append((os.fdopen(hear), tell))
    for _ in sys.stdin:
        for _, tell in workers:
            os.write(tell, b"x")
        print(*(hear.readline().strip() for hear, _ in workers), flush=True)


main()
