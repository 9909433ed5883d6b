#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train, in Python: a training-like loop that knows what it did and what it lost."""
import argparse
import ctypes
import os
import sys
import time

import cuda


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, help="steps to make [200 when there is no --seconds]")
    p.add_argument("--seconds", type=float, help="stop after that long")
    p.add_argument("--step-us", type=int, default=1000, help="CPU time of the host's work in a step")
    p.add_argument("--device-us", type=int, default=500, help="device time of a step's kernels")
    p.add_argument("--call-us", type=int, default=0, help="CPU time of every driver call")
    p.add_argument("--launches", type=int, default=8, help="kernel launches in a step")
    p.add_argument("--batch-kb", type=int, default=256)
    p.add_argument("--sync", help="how waits wait: block, spin, yield, sleep, thread")
    p.add_argument("--lib", default="libcudart.so.13")
    p.add_argument("--truth", help="file for the truth [standard output]")
    p.add_argument("--cpu", type=int)
    args = p.parse_args()
    if args.steps is None:
        args.steps = sys.maxsize if args.seconds else 200
    return args


def settings(args):
    """The double reads them when it is loaded."""
    if args.launches and args.device_us:
        os.environ.setdefault("DOUBLE_LAUNCH_NS", str(args.device_us * 1000 // args.launches))
    if args.call_us:
        os.environ.setdefault("DOUBLE_CALL_NS", str(args.call_us * 1000))
    if args.sync:
        os.environ["DOUBLE_SYNC"] = args.sync


class Trainer:
    def __init__(self, c, args):
        self.c, self.args, self.errors, self.size = c, args, 0, args.batch_kb << 10
        self.weights, self.batch, self.loss = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.pinned, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.host_loss = ctypes.c_float()
        self.forward_kernel, self.backward_kernel = ctypes.c_char(), ctypes.c_char()
        for p, size in ((self.weights, 64 << 20), (self.batch, self.size), (self.loss, 256)):
            self.check(c.cudaMalloc(p, size))
        self.check(c.cudaMallocHost(self.pinned, self.size))
        self.check(c.cudaStreamCreate(self.stream))

    def check(self, code):
        self.errors += code != 0

    def prepare_batch(self):
        cuda.burn(self.args.step_us * 1000)

    def load_batch(self):
        self.check(self.c.cudaMemcpyAsync(self.batch, self.pinned, self.size, 1, self.stream))

    def launch(self, kernel):
        self.check(self.c.cudaLaunchKernel(ctypes.addressof(kernel), cuda.Dim3(128, 1, 1), cuda.Dim3(256, 1, 1),
                                           None, 0, self.stream))

    def forward(self):
        for _ in range(self.args.launches // 2):
            self.launch(self.forward_kernel)

    def backward(self):
        for _ in range(self.args.launches - self.args.launches // 2):
            self.launch(self.backward_kernel)

    def read_loss(self):
        self.check(self.c.cudaMemcpyAsync(ctypes.byref(self.host_loss), self.loss, 4, 2, self.stream))
        self.check(self.c.cudaStreamSynchronize(self.stream))

    def train_step(self):
        self.load_batch()
        self.forward()
        self.backward()
        self.prepare_batch()  # the next one, while the device works
        self.read_loss()

    def close(self):
        for p in (self.loss, self.batch, self.weights):
            self.check(self.c.cudaFree(p))
        self.check(self.c.cudaFreeHost(self.pinned))


def main():
    args = arguments()
    settings(args)
    cuda.pin(args.cpu)
    before, start = cuda.sched(), time.monotonic_ns()
    trainer = Trainer(cuda.Cuda(args.lib), args)
    done, shortest, longest, last = 0, 1 << 62, 0, time.monotonic_ns()
    while done < args.steps and not (args.seconds and last - start >= args.seconds * 1e9):
        trainer.train_step()
        done += 1
        now = time.monotonic_ns()
        shortest, longest, last = min(shortest, now - last), max(longest, now - last), now
    trainer.close()
    cuda.truth("train.py", args.truth, before, steps=done, errors=trainer.errors, start_ns=start,
               wall_ns=time.monotonic_ns() - start, step_min_ns=shortest, step_max_ns=longest,
               ops={"cudaMalloc": 3, "cudaMallocHost": 1, "cudaMemcpyAsync": 2 * done,
                    "cudaLaunchKernel": args.launches * done, "cudaStreamSynchronize": done, "cudaFree": 3,
                    "cudaFreeHost": 1})
    return trainer.errors != 0


if __name__ == "__main__":
    sys.exit(main())
