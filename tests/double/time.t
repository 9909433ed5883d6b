#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Durations, waits that wait, and failures on demand. Times have lower bounds only where a busy machine can stretch them.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import Ran, done, ok, same

MS = 1_000_000
SYNC = ("calls", "--count", 10, "--op", "cudaLaunchKernel", "--op", "cudaStreamSynchronize")

for mode in ("block", "sleep", "thread", "spin", "yield"):
    r = Ran(*SYNC, DOUBLE_LAUNCH_NS=10 * MS, DOUBLE_SYNC=mode)
    t = r.truth[0]
    waited = r.count("cuStreamSynchronize", "total_ns")
    ok(r.status == 0 and waited >= 95 * MS and t["wall_ns"] >= 100 * MS,
       f"{mode}: ten launches of 10 ms are waited for", f"{waited} {r.out}")
    # What the kernel says about this thread: a wait that blocks uses no CPU, one that spins keeps it (or waits for it).
    used = t["cpu_ns"] + t["run_delay_ns"]
    if mode in ("spin", "yield"):
        ok(used > 90 * MS, f"{mode}: the thread never left its run queue", r.out)
    else:
        ok(t["cpu_ns"] < 20 * MS and t["slices"] >= 10, f"{mode}: the thread was off the CPU in every wait", r.out)

r = Ran("calls", "--count", 20, "--op", "cudaMemcpy", "--bytes", 1 << 20, DOUBLE_COPY_NS_PER_KB=1000)
per_call = r.count("cudaMemcpy", "total_ns") / 20
ok(per_call >= 1_024_000, "a copy takes its bytes times the rate", per_call)

r = Ran("calls", "--count", 50, "--op", "cudaMalloc", DOUBLE_NS_cudaMalloc=200_000)
ok(r.count("cudaMalloc", "total_ns") >= 50 * 200_000 and r.truth[0]["cpu_ns"] >= 50 * 200_000 and
   r.count("cuMemAlloc_v2", "total_ns") < r.count("cudaMalloc", "total_ns") / 2,
   "a planned delay is CPU time of that function alone", r.out)
r = Ran("calls", "--count", 100, "--op", "cudaLaunchKernel", DOUBLE_CALL_NS=100_000)
ok(r.count("cuLaunchKernel", "total_ns") >= 10 * MS, "DOUBLE_CALL_NS burns in driver calls", r.log)
r = Ran("calls", "--count", 100, "--op", "cudaFree", DOUBLE_NS_cudaFree="5000000:every=50")
ok(10 * MS <= r.count("cudaFree", "total_ns"), "a delay every 50 calls", r.log)

r = Ran("calls", "--count", 100, DOUBLE_FAIL="cudaMalloc:2:every=10,cudaLaunchKernel:700:after=90,cudaMemset:1:at=7")
got = {op: r.truth[0]["ops"][op]["errors"] for op in ("cudaMalloc", "cudaLaunchKernel", "cudaMemset", "cudaMemcpy")}
same(got, {"cudaMalloc": 10, "cudaLaunchKernel": 10, "cudaMemset": 1, "cudaMemcpy": 0}, "failures on demand")
same([r.count("cudaMalloc", "errors"), r.count("cuMemAlloc_v2"), r.count("cuMemAlloc_v2", "errors")], [10, 90, 0],
     "a failing runtime call makes no driver call")
r = Ran("calls", "--count", 100, "--op", "cudaMalloc", DOUBLE_FAIL="cuMemAlloc_v2:2:every=4")
same([r.count("cudaMalloc", "errors"), r.count("cuMemAlloc_v2", "errors")], [25, 25], "a failing driver call fails both")
r = Ran("calls", "--count", 100, "--op", "cudaMalloc", "--bytes", 1 << 20, DOUBLE_DEVICE_MB=64)
same([r.count("cudaMalloc", "errors"), r.count("cuMemAlloc_v2", "errors")], [36, 36], "the device has so much memory")
r = Ran("calls", "--count", 100_000, "--op", "cudaMalloc", "--op", "cudaFree", "--bytes", 1 << 20, "--threads", 2,
        DOUBLE_DEVICE_MB=2)
same(r.count("cudaMalloc", "errors"), 0, "and gets it back, whatever threads allocate and free")

r = Ran("hog", "--duty", 20, "--period-ms", 5, "--seconds", 1)
t = r.truth[0]
ok(t["thread_cpu_ns"] < 220 * MS and t["thread_cpu_ns"] + t["run_delay_ns"] > 180 * MS, "hog: a fifth of a CPU, or what others left of it", r.out)
r = Ran("locker", "--rounds", 5, "--hold-us", 8000)
t = r.truth[0]
ok(t["contended"] and t["waited_ns"] > 0.5 * t["contended"] * 6 * MS and t["held_ns"] >= 5 * 8 * MS,
   "locker: the waiter waits for most of each hold", r.out)
r = Ran("train", "--steps", 20, "--step-us", 1000, "--device-us", 2000)
t = r.truth[0]
ok(t["thread_cpu_ns"] >= 20 * MS and t["wall_ns"] >= 20 * 2 * MS, "train: host work is CPU time, while the device does its own",
   r.out)
done()
