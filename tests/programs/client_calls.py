#!/usr/bin/python3
"""Makes HTTP calls, each on a connection of its own, and prints how each ended: "RESULT MILLISECONDS".

    client_calls.py blocking|asyncio PORT [options]

RESULT is `ok`, `closed` (no answer), or the name of the error (ECONNREFUSED, ECONNRESET, timeout ...).
"""
import argparse
import asyncio
import errno
import os
import socket
import struct
import threading
import time

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("style", choices=["blocking", "asyncio"])
    parser.add_argument("port", type=int)
    parser.add_argument("--calls", type=int, default=1, help="of each worker")
    parser.add_argument("--gap", type=float, default=0, help="ms between two calls of a worker")
    parser.add_argument("--workers", type=int, default=1, help="threads or tasks")
    parser.add_argument("--stagger", type=float, default=0, help="ms between the starts of two workers")
    parser.add_argument("--timeout", type=float, help="ms, the program's own")
    parser.add_argument("--receive-timeout", type=float, help="ms, of a truly blocking socket (SO_RCVTIMEO)")
    parser.add_argument("--late", type=float, default=0, help="ms the program is busy before it reads")
    return parser.parse_args()


def name_of(error):
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)) and error.errno is None:
        return "timeout"
    return errno.errorcode.get(error.errno, type(error).__name__)


def report(result, began):
    # One write a line, so that threads do not mix theirs.
    os.write(1, f"{result} {(time.monotonic() - began) * 1000:.1f}\n".encode())


def call_blocking(options):
    with socket.socket() as peer:
        if options.timeout:
            peer.settimeout(options.timeout / 1000)
        if options.receive_timeout:
            seconds, rest = divmod(options.receive_timeout, 1000)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(seconds), int(rest * 1000)))
        peer.connect(("127.0.0.1", options.port))
        peer.sendall(REQUEST)
        time.sleep(options.late / 1000)
        return "ok" if peer.recv(4096) else "closed"


def work_blocking(options, start):
    time.sleep(max(0, start - time.monotonic()))
    for number in range(options.calls):
        if number:
            time.sleep(options.gap / 1000)
        began = time.monotonic()
        try:
            report(call_blocking(options), began)
        except OSError as error:
            report(name_of(error), began)


def run_blocking(options):
    start = time.monotonic() + 0.05
    workers = [
        threading.Thread(target=work_blocking, args=(options, start + number * options.stagger / 1000))
        for number in range(options.workers)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


async def exchange(options):
    reader, writer = await asyncio.open_connection("127.0.0.1", options.port)
    try:
        writer.write(REQUEST)
        await writer.drain()
        time.sleep(options.late / 1000)  # the whole event loop is busy
        return "ok" if await reader.read(4096) else "closed"
    finally:
        writer.close()


async def work_asyncio(options, start):
    await asyncio.sleep(max(0, start - time.monotonic()))
    for number in range(options.calls):
        if number:
            await asyncio.sleep(options.gap / 1000)
        began = time.monotonic()
        try:
            report(await asyncio.wait_for(exchange(options), options.timeout and options.timeout / 1000), began)
        except OSError as error:
            report(name_of(error), began)


async def run_asyncio(options):
    start = time.monotonic() + 0.05
    await asyncio.gather(
        *(work_asyncio(options, start + number * options.stagger / 1000) for number in range(options.workers)))


def main():
    options = arguments()
    if options.style == "asyncio":
        asyncio.run(run_asyncio(options))
    else:
        run_blocking(options)


main()
