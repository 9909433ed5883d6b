#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What the recorder counts is what the libraries counted, call by call, runtime and driver, first call included:
# with each kind of link, with threads, with children, and with a ring too small for them.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

for link in ("session", "multi", "perf"):
    for walker in ("loop", "helper"):
        rec.every_call(f"{link} links, {walker} walker", ["--link", link, "--walker", walker, "-e", "*", "--no-sched"], rec.work("calls"),
              "--count", 500, minimum=30)
rec.every_call("off-CPU intervals beside", [], rec.work("calls"), "--count", 500, minimum=30)
rec.every_call("no stacks", ["--no-stacks", "--no-sched"], rec.work("calls"), "--count", 500, minimum=30)
rec.every_call("4 threads", ["--no-sched"], rec.work("calls"), "--count", 500, "--threads", 4, minimum=30)
rec.every_call("60 threads", ["--no-sched"], rec.work("calls"), "--count", 10, "--threads", 60, minimum=30)
rec.every_call("Python, by ctypes", ["--no-sched"], sys.executable, rec.WORK + "/calls.py", "--count", 50)
rec.every_call("children that load", ["--no-sched"], rec.work("forker"), "--children", 4, "--count", 100)
rec.every_call("children of a process that called", ["--no-sched"], rec.work("forker"), "--children", 4, "--count", 100, "--loaded")
rec.every_call("children that exec", ["--no-sched"], rec.work("forker"), "--children", 4, "--count", 100, "--exec")
rec.every_call("the children of a shell", ["--no-sched"], "sh", "-c",
      f"{rec.work('calls')} --count 20; {rec.work('calls')} --count 20 & wait")
rec.every_call("libraries loaded late, two copies", ["--no-sched"], rec.work("latedl"), "--after-ms", 100, "--again-ms", 100,
      "--second", "libcudart.so.12")

# Which copy a call went through is told for each: two runtimes in one process, called differently often.
for link in ("session", "multi", "perf"):
    ige = rec.path("copies.ige")
    p = rec.run("--link", link, "-e", "*", "--no-sched", "-o", ige, "--", rec.work("latedl"), "--after-ms", 1, "--again-ms", 1, "--count", 30,
                "--again-count", 70, DOUBLE_LOG=rec.path("copies.log"))
    driver = sum(n for (source, _), n in rec.logged(rec.path("copies.log")).items() if source == "driver")
    os.unlink(rec.path("copies.log"))
    tap.same({os.path.basename(r["path"]): r.get("delivered") for r in rec.libraries(rec.dump(ige)[1])},
             {"libcudart.so.13": 60, "libcudart.so.12": 140, "libcuda.so.1": driver}, f"{link}: delivered, for each copy")
rec.every_call("a runtime linked into the program", ["--no-sched"], rec.work("calls-static"), "--count", 200, minimum=30)
twins = ["cudaMemcpyAsync_ptsz", "cudaLaunchKernel_ptsz", "cudaStreamSynchronize_ptsz", "cudaMemcpy_ptds",
         "cuStreamSynchronize_ptsz", "cuLaunchKernel"]
rec.every_call("per-thread-stream twins", ["--no-sched"], rec.work("calls"), "--count", 50,
      *[word for twin in twins for word in ("--op", twin)])

# A ring too small: what is missing is counted, to the event.
ige, log = rec.path("small.ige"), rec.path("small.log")
p = rec.run("--ring", "64k", "--no-sched", "-F", "0", "-o", ige, "--", rec.work("calls"), "--count", 3000, "--threads", 2, DOUBLE_LOG=log)
got, lost = rec.counts(ige)
tap.same(sum(got.values()) + lost, sum(rec.logged(log).values()), "delivered and lost make called, with a ring of 64 KB")
tap.done_testing()
