#!/usr/bin/python3
"""An HTTPS server of one TLS version that behaves as it is told.

    server_tls.py 2|3 MANNER CERTIFICATE KEY     TLS 1.2 or 1.3

Prints "port PORT", then a line "connection" for each one. MANNER says how each request is met:

    answer     HTTP 200        hang       read and never answered        drop      the connection is closed
    handshake  not even the handshake is answered
"""
import socket
import ssl
import sys
import threading

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"


def serve(connection, context, manner):
    if manner == "handshake":
        threading.Event().wait()
    try:
        with context.wrap_socket(connection, server_side=True) as peer:
            while peer.recv(4096):
                if manner == "hang":
                    threading.Event().wait()
                if manner == "drop":
                    return
                peer.sendall(ANSWER)
    except OSError:
        pass


def main():
    version, manner, certificate, key = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, "TLSv1_" + version)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print("port", listener.getsockname()[1], flush=True)
        while True:
            connection = listener.accept()[0]
            print("connection", flush=True)
            threading.Thread(target=serve, args=(connection, context, manner), daemon=True).start()


main()
