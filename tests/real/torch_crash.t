#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Programs that go wrong: they end as they do without the recorder, and what they called until then is recorded.
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import tap

real.need("torch")

archive = real.launch("abort in the loop", real.train("--steps", 20, "--crash"), status=128 + signal.SIGABRT)
tap.ok(archive.truth, "abort in the loop: there were calls before it")

archive = real.launch("a device that fails", real.train("--steps", 20), status=1, DOUBLE_FAIL="cudaMalloc:2:after=2")
tap.ok(archive.truth, "a device that fails: there were calls before it")
failed = archive.ask("SELECT count(*) FROM named_events WHERE source_name = 'cuda' AND op_name = 'cudaMalloc' AND ret_code = 2")[0][0]
made = sum(calls.get(("cuda", "cudaMalloc"), 0) for calls in archive.truth.values())
tap.same(failed, made - 2, "a device that fails: so does each allocation behind the second, and that is recorded")

# 300 threads, each with calls of its own, and a program that dies before its first call.
threads = """
import sys, threading, torch
torch.zeros(4, device="cuda")
gate = threading.Barrier(300)
def work():
    gate.wait()
    for _ in range(5):
        torch.zeros(4, device="cuda").add_(1)
many = [threading.Thread(target=work) for _ in range(300)]
for t in many: t.start()
for t in many: t.join()
torch.cuda.synchronize()
"""
archive = real.launch("300 threads", [real.PYTHON, "-c", threads])
tap.same(archive.ask("SELECT count(DISTINCT tid) FROM events WHERE source = 1")[0][0], 301, "300 threads: each is known")

start = "import os, torch; os.kill(os.getpid(), 11)"
archive = real.launch("a signal at start", [real.PYTHON, "-c", start], status=128 + signal.SIGSEGV, whole=False)
tap.same(archive.calls(), {}, "a signal at start: no call is recorded that was not made")
tap.done_testing()
