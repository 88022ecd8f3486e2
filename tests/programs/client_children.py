#!/usr/bin/python3
"""Starts many children between two requests on one kept connection.

    client_children.py PORT CHILDREN

Python starts them by vfork: each closes descriptors in its parent's memory before it becomes another program.
Prints how many of the two requests were answered.
"""
import socket
import subprocess
import sys

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def main():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer:
        peer.sendall(REQUEST)
        answers = [peer.recv(4096)]
        for _ in range(int(sys.argv[2])):
            subprocess.run(["/bin/true"], check=True, env={})
        peer.sendall(REQUEST)
        answers.append(peer.recv(4096))
    print("answered", sum(b"200 OK" in answer for answer in answers))


main()
