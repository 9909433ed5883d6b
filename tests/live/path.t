#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The critical path of a program that waits for a thread, a child and a lock, held against its own clock: the sleep of who was
# waited for is most of what was asked for, and no more than the program saw. The reasons sum to its life to the nanosecond.

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

PROGRAM = r"""
import os, subprocess, threading, time

def timed(what, f):
    since = time.monotonic()
    f()
    print(what, time.monotonic() - since, flush=True)

def nap():
    time.sleep(0.3)

def work():
    nap()

def hold(lock, held):
    with lock:
        held.set()
        time.sleep(0.3)

def join():
    t = threading.Thread(target=work)
    t.start()
    t.join()

def wait():
    lock, held = threading.Lock(), threading.Event()
    t = threading.Thread(target=hold, args=(lock, held))
    t.start()
    held.wait()
    with lock:
        pass
    t.join()

print("pid", os.getpid(), flush=True)
timed("thread", join)
timed("child", lambda: subprocess.run(["sleep", "0.3"], check=True))
timed("lock", wait)
"""
script = rec.path("waits.py")
with open(script, "w") as f:
    f.write(PROGRAM)
ige = rec.path("waits.ige")
recorded = rec.run("-o", ige, "--", sys.executable, script)
said = dict(line.split() for line in recorded.stdout.splitlines() if len(line.split()) == 2)
tap.ok(recorded.returncode == 0 and {"pid", "thread", "child", "lock"} <= set(said), "the program ran", recorded.stdout + recorded.stderr)

shown = subprocess.run(
    [os.path.join(rec.BUILD, "tests/tools/path_print"), "-n", "1000", "-a", said["pid"], ige], capture_output=True, text=True
)
tap.ok(shown.returncode == 0 and ", error 0 ns" in shown.stdout, "the reasons sum to its life", shown.stdout + shown.stderr)
groups = re.findall(r"^ *([\d.]+) ms +[\d.]+ % +\d+  ([^|]*) \| ([^|]*) \| (.*)$", shown.stdout, re.M)


def slept(culprit, line):
    return sum(float(ms) for ms, state, who, where in groups if state == "sleep" and who.startswith(culprit) and where.startswith(line)) / 1000


# The sleep may have begun before the program waited: on a busy machine it gets to that late.
for what, culprit, line in (("thread", "python", "nap ("), ("child", "sleep (pid", ""), ("lock", "python", "hold (")):
    took = float(said[what])
    tap.ok(0.15 <= slept(culprit, line) <= took, f"{what}: of {took:.3f} s the sleep of who was waited for is {slept(culprit, line):.3f} s", shown.stdout)
tap.done_testing()
