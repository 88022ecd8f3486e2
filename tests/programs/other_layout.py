#!/usr/bin/python3
"""Holds a segment with the head of a panel of that name in a layout that is not ours: magic, layout, counts, name.

    other_layout.py NAME

Prints the segment's id, and keeps it until standard input ends or a minute is over; then it is removed.
"""
import ctypes
import select
import struct
import sys

MAGIC = 0x6375746F75743031
IPC_RMID = 0

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(0, 4096, 0o1600)
address = libc.shmat(segment, None, 0)
head = struct.pack("=5Q256s", MAGIC, 1, 0, 0, 0, sys.argv[1].encode())
ctypes.memmove(address, head, len(head))
print(segment, flush=True)
select.select([sys.stdin], [], [], 60)
libc.shmctl(segment, IPC_RMID, None)
