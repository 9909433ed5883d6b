#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Native stacks of threads that wait are those that gdb finds, frame by frame: CPython's, in calls of the C library of several kinds.
import os
import platform
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_stacks
import recording as rec
from recording import tap

PROGRAM = """
import ctypes, os, select, signal, sys, threading, time
cuda = ctypes.CDLL("libcudart.so.13")
r, w = os.pipe()
lock, condition = threading.Lock(), threading.Condition()
lock.acquire()
def sleeps(): time.sleep(0.05)
def selects(): select.select([sys.stdin], [], [], 0.05)
def polls():
    p = select.poll(); p.register(0, select.POLLIN); p.poll(50)
def locks(): lock.acquire(timeout=0.05)
def waits():
    with condition: condition.wait(0.05)
def reads(): os.read(r, 1)
def writes(): time.sleep(0.03); os.write(w, b"x")
def loop(f):
    cuda.cudaDeviceSynchronize()
    while True: f()
threads = [threading.Thread(target=loop, args=(f,), daemon=True) for f in (sleeps, selects, polls, locks, waits, reads, writes)]
for t in threads: t.start()
time.sleep(0.2)
print(*[t.native_id for t in threads], flush=True)
loop(lambda: signal.sigtimedwait([signal.SIGUSR1], 0.05))
"""
TIMES = 4

rec.need_bpf()
if platform.machine() != "x86_64":
    tap.skip_all("stacks are walked by frame pointers on this machine")
if not shutil.which("gdb"):
    tap.skip_all("no gdb here")
ige = rec.path("gdb.ige")
p = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=rec.environment())
try:
    threads = list(map(int, p.stdout.readline().split())) + [p.pid]
    recorder = rec.start("-p", p.pid, "-o", ige)
    rec.attached(recorder)
    found = [gdb_stacks.of(p.pid) for _ in range(TIMES)]
    recorder.send_signal(signal.SIGINT)
    _, err = recorder.communicate(timeout=rec.PATIENCE)
    tap.ok(recorder.returncode == 0, "recorded", err)
finally:
    p.kill()
    p.wait()
events, _, _ = rec.dump(ige)
recorded = {}
for e in events:
    if e["stack"]:
        recorded.setdefault(e["tid"], set()).add(tuple((f[1], f[2]) for f in e["stack"] if len(f) == 3))
compared = 0
for tid in threads:
    stacks = [s[tid] for s in found if tid in s]
    # Between two waits it is somewhere else.
    same = sum(s in recorded.get(tid, ()) for s in stacks)
    compared += same
    tap.ok(stacks and same, f"thread {threads.index(tid)}: a stack of gdb's is one that was recorded", (stacks, recorded.get(tid)))
tap.ok(compared >= TIMES * len(threads) * 3 // 4, f"most of them: {compared}", compared)
tap.done_testing()
