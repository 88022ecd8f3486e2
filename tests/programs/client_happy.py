#!/usr/bin/python3
"""Connects by happy eyeballs to a name with two addresses: first 127.0.0.2, and 250 ms later 127.0.0.1 too.

    client_happy.py PORT

Uses the connection that comes first and closes the other. Prints the address of the winner.
"""
import asyncio
import socket
import sys


async def main():
    port = int(sys.argv[1])
    loop = asyncio.get_running_loop()

    async def two_addresses(*_, **__):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in ("127.0.0.2", "127.0.0.1")]

    loop.getaddrinfo = two_addresses
    reader, writer = await asyncio.open_connection("two.example", port, happy_eyeballs_delay=0.25)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await reader.read(4096)
    print(writer.get_extra_info("peername")[0])
    writer.close()


asyncio.run(main())
