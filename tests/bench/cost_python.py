# SPDX-License-Identifier: Apache-2.0
"""The traced side of tests/bench/cost_python.c: calls a function of a library, so many Python frames deep, and says how long that took."""
import ctypes
import struct
import sys
import time

call = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])
call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]


def work(n):
    begin = time.perf_counter_ns()
    for _ in range(n):
        call(None, None, 0, 1, None)
    return time.perf_counter_ns() - begin


def deep(depth, n):
    return deep(depth - 1, n) if depth > 0 else work(n)


def main():
    while True:
        order = sys.stdin.buffer.read(16)
        if len(order) < 16:
            return
        _, depth, n = struct.unpack("IIQ", order)
        sys.stdout.buffer.write(struct.pack("Q", deep(depth - 4, n)))  # <module>, main, the last deep and work
        sys.stdout.buffer.flush()


main()
