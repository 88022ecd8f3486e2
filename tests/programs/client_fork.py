#!/usr/bin/python3
"""A fork server: calls from the threads of several forked processes.

    client_fork.py PORT PROCESSES THREADS CALLS

Each thread of each process makes CALLS calls on one kept connection of its own. Prints how many were answered.
"""
import os
import socket
import sys
import threading

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def work(port, calls, answers):
    with socket.create_connection(("127.0.0.1", port)) as peer:
        for _ in range(calls):
            peer.sendall(REQUEST)
            answers.append(peer.recv(4096))


def child(port, threads, calls):
    answers = []
    workers = [threading.Thread(target=work, args=(port, calls, answers)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(b"200 OK" in answer for answer in answers)


def main():
    port, processes, threads, calls = (int(word) for word in sys.argv[1:5])
    reading, writing = os.pipe()
    children = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            os.write(writing, b"%d\n" % child(port, threads, calls))
            os._exit(0)
        children.append(pid)
    os.close(writing)
    for pid in children:
        os.waitpid(pid, 0)
    with os.fdopen(reading) as results:
        print("answered", sum(int(line) for line in results))


main()
