#!/usr/bin/python3
"""Ends its TLS connections as TLS says: by close_notify, and reads until the server has said the same.

    client_tls.py PORT REQUESTS SPARES

Makes REQUESTS on one connection, which it ends after a wait in vain, then SPARES connections without any request.
"""
import select
import socket
import ssl
import sys


def end(peer):
    select.select([peer], [], [], 0.02)
    peer.settimeout(5)
    try:
        peer.unwrap()
    except OSError:
        pass  # a server that closes without a word
    peer.close()


def main():
    context = ssl._create_unverified_context()
    port, requests, spares = map(int, sys.argv[1:])
    peer = context.wrap_socket(socket.create_connection(("127.0.0.1", port)))
    for _ in range(requests):
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
        peer.recv(4096)
    end(peer)
    for _ in range(spares):
        end(context.wrap_socket(socket.create_connection(("127.0.0.1", port))))


main()
