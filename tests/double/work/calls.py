#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls, in Python: exactly N calls of each op in each thread, through ctypes."""
import argparse
import ctypes
import threading
import time

import cuda


def arguments():
    p = argparse.ArgumentParser(description="Makes exactly N calls per op and says so.")
    p.add_argument("--count", type=int, default=1000, help="calls of each op in each thread")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--op", action="append", help="op to call, may be repeated [every op]")
    p.add_argument("--bytes", type=int, default=4096)
    p.add_argument("--lib", default="libcudart.so.13")
    p.add_argument("--truth", help="file for the truth [standard output]")
    p.add_argument("--cpu", type=int)
    return p.parse_args()


def operations(c, size):
    """name -> function of no arguments, in an order in which every call succeeds; one set per thread."""
    p = {name: ctypes.c_void_p() for name in ("device", "later", "managed", "pinned", "stream", "event")}
    host = ctypes.create_string_buffer(size)
    c.cudaStreamCreate(p["stream"])
    c.cudaEventCreate(p["event"])
    kernel = ctypes.addressof(host)
    return {
        "cudaMalloc": lambda: c.cudaMalloc(p["device"], size),
        "cudaMallocAsync": lambda: c.cudaMallocAsync(p["later"], size, p["stream"]),
        "cudaMallocManaged": lambda: c.cudaMallocManaged(p["managed"], 16, 1),
        "cudaMallocHost": lambda: c.cudaMallocHost(p["pinned"], 64),
        "cudaMemset": lambda: c.cudaMemset(p["device"], 0, size),
        "cudaMemsetAsync": lambda: c.cudaMemsetAsync(p["device"], 0, size, p["stream"]),
        "cudaMemcpy": lambda: c.cudaMemcpy(p["device"], host, size, 1),
        "cudaMemcpyAsync": lambda: c.cudaMemcpyAsync(p["device"], host, size, 1, p["stream"]),
        "cudaLaunchKernel": lambda: c.cudaLaunchKernel(kernel, cuda.ONE, cuda.ONE, None, 0, p["stream"]),
        "cudaStreamSynchronize": lambda: c.cudaStreamSynchronize(p["stream"]),
        "cudaEventSynchronize": lambda: c.cudaEventSynchronize(p["event"]),
        "cudaDeviceSynchronize": lambda: c.cudaDeviceSynchronize(),
        "cudaFreeHost": lambda: c.cudaFreeHost(p["pinned"]),
        "cudaFreeAsync": lambda: c.cudaFreeAsync(p["later"], p["stream"]),
        "cudaFree": lambda: c.cudaFree(p["device"]),
    }


def run(c, args, counts, lock):
    every = operations(c, args.bytes)
    chosen = [(name, every[name]) for name in every if not args.op or name in args.op]
    made, failed = dict.fromkeys(every, 0), dict.fromkeys(every, 0)
    for _ in range(args.count):
        for name, call in chosen:
            made[name] += 1
            if call():
                failed[name] += 1
    with lock:
        for name in every:
            counts[name]["count"] += made[name]
            counts[name]["errors"] += failed[name]


def main():
    args = arguments()
    cuda.pin(args.cpu)
    before, start, lock = cuda.sched(), time.monotonic_ns(), threading.Lock()
    c = cuda.Cuda(args.lib)
    counts = {name: {"count": 0, "errors": 0} for name in operations(c, 16)}
    for name in args.op or []:
        counts[name]  # an unknown op ends it here
    workers = [threading.Thread(target=run, args=(c, args, counts, lock)) for _ in range(args.threads - 1)]
    for w in workers:
        w.start()
    run(c, args, counts, lock)
    for w in workers:
        w.join()
    cuda.truth("calls.py", args.truth, before, threads=args.threads, start_ns=start,
               wall_ns=time.monotonic_ns() - start,
               ops={name: n for name, n in counts.items() if n["count"]})


if __name__ == "__main__":
    main()
