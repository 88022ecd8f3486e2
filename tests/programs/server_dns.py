#!/usr/bin/python3
"""A name server whose names say how they are answered.

    server_dns.py ADDRESS

Listens on port 53 of a loopback address, prints "ready", then the first label of each name asked for (A
queries only), one a line. The label's beginning decides: `ok` is 127.0.0.1, `absent` does not exist,
`ill` is a server failure, `silent` gets no answer.
"""
import socket
import struct
import sys

TYPE_A = 1
RCODES = {"ok": 0, "absent": 3, "ill": 2}


def question_end(packet):
    """The label the question begins with, and the offset behind the question."""
    at, labels = 12, []
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("ascii", "replace"))
        at += 1 + packet[at]
    return labels[0].lower(), at + 5


def answer(packet):
    label, end = question_end(packet)
    (kind,) = struct.unpack("!H", packet[end - 4:end - 2])
    if kind == TYPE_A:
        print(label, flush=True)
    rcode = next((code for word, code in RCODES.items() if label.startswith(word)), None)
    if rcode is None:
        return None
    has_address = rcode == 0 and kind == TYPE_A
    reply = packet[:2] + struct.pack("!HHHHH", 0x8180 | rcode, 1, int(has_address), 0, 0) + packet[12:end]
    if has_address:
        reply += struct.pack("!HHHIH", 0xC00C, TYPE_A, 1, 0, 4) + socket.inet_aton("127.0.0.1")
    return reply


def main():
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((sys.argv[1], 53))
    print("ready", flush=True)
    while True:
        packet, peer = listener.recvfrom(4096)
        reply = answer(packet)
        if reply:
            listener.sendto(reply, peer)


main()
