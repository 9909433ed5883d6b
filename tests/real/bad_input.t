#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What few programs do, and any may: a CUDA library that is closed and opened again at the same address, ten thousand kernels,
# libraries without symbols, a hundred short-lived children.
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import rec, tap

real.need()
CLIENTS = os.path.join(rec.BUILD, "real-work")
ROUNDS = 5
first, second = (os.path.join(CLIENTS, f"libplugin-{n}.so") for n in ("first", "second"))
reopen = [os.path.join(CLIENTS, "reopen"), *[first, "10", second, "20"] * ROUNDS]


def by_kernel(archive):
    """As --by kernel counts them, the layers one by one: a launch of the runtime is one of the driver inside."""
    return {op: real.kernels(archive.recording, op) for op in ("cuda:cudaLaunchKernel", "driver:cuLaunchKernel")}


def reopened(name, **settings):
    archive = real.launch(name, reopen, **settings)
    want = {"first(float*)": 10 * ROUNDS, "second(float*)": 20 * ROUNDS}
    for op, kernels in by_kernel(archive).items():
        tap.same(kernels, want, f"{name}: launches by kernel, {op}")
    return archive


archive = reopened("closed and opened again")
tap.same(archive.out, "same address\n" * 2 * ROUNDS, "closed and opened again: at the same address each time")

stripped = rec.path("stripped")
shutil.copytree(os.path.join(real.LIBRARIES, "cuda13"), stripped)
for file in os.listdir(stripped):
    subprocess.run(["strip", "--strip-all", os.path.join(stripped, file)], check=False, stderr=subprocess.DEVNULL)
reopened("libraries without symbols", LD_LIBRARY_PATH=stripped)

archive = real.launch("ten thousand kernels", [os.path.join(CLIENTS, "kernels")])
for op, kernels in by_kernel(archive).items():
    tap.same((len(kernels), set(kernels.values())), (10000, {1}), f"ten thousand kernels: each has a row, {op}")

children = f"for i in $(seq 100); do {os.path.join(CLIENTS, 'reopen')} {first} 3 >/dev/null & [ $((i % 10)) != 0 ] || wait; done; wait"
archive = real.launch("a hundred children", ["sh", "-c", children])
tap.same(len(archive.truth), 100, "a hundred children: all of them called")
tap.done_testing()
