#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# A program that makes steps, waits for a thread between two runs of them and then for ever for a process that was forked while
# another thread held a lock: the report's first line says where both stand, what the steps were and how long it was between them.
# A thread that ticks beside it makes no steps of the program.

import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

PROGRAM = r"""
import os, signal, threading, time

signal.signal(signal.SIGINT, signal.SIG_IGN)

def tick():
    while True:
        time.sleep(0.002)
        time.sleep(0.002)

def train():
    for _ in range(300):
        time.sleep(0.001)
        time.sleep(0.001)

def validate():
    t = threading.Thread(target=time.sleep, args=(0.5,))
    t.start()
    t.join()

def encode(lock):
    lock.acquire()

lock = threading.Lock()
threading.Thread(target=tick, daemon=True).start()
for _ in range(2):
    train()
    validate()
train()
ready, fd = os.pipe()
lock.acquire()
child = os.fork()
if not child:
    encode(lock)
print(os.getpid(), child, flush=True)
os.read(ready, 1)
"""
script, ige = rec.path("stuck.py"), rec.path("stuck.ige")
with open(script, "w", encoding="ascii") as f:
    f.write(PROGRAM)


def line_of(text):
    return PROGRAM[: PROGRAM.index(text)].count("\n") + 1


began = time.monotonic()
recorder = rec.start("-o", ige, "--", sys.executable, script)
said = recorder.stdout.readline()
pids = re.search(r"^(\d+) (\d+)$", said)
if not tap.ok(pids, "it came to where it hangs", said):
    tap.done_testing()
    sys.exit()
main, child = (int(pid) for pid in pids.groups())
# As long as all that was before it, whatever that took, so that nothing of it weighs more.
time.sleep(time.monotonic() - began)
recorder.send_signal(signal.SIGINT)
recorder.wait(rec.PATIENCE)
for pid in main, child:
    os.kill(pid, signal.SIGKILL)
recorder.communicate(timeout=rec.PATIENCE)
shown = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), ige], capture_output=True, text=True)
notice, first = shown.stdout.split("\n")[:2]
tap.ok(notice.startswith("No CUDA library was seen"), "that there was no CUDA in it is said before", notice)
tap.ok(
    re.match(rf"python\S* stuck.py \(pid {main}\) made no step in the last [\d.]+ s: it waits to the end for a pipe or file in <module> "
             rf"\(stuck.py:{line_of('os.read(ready')}\), in read: ", first),
    "first is where it stands", first)
tap.ok(f"(pid {child}) has the other end of the pipe, and waits itself in encode (stuck.py:{line_of('lock.acquire()')}); "
       "whom that one waits for is not known" in first, "then the process that it waits for, and where that one stands", first)
# All 900, or the calls and waits of them; under load a lower bound, of more than one run of them.
steps = re.search(r"Before that (>=)?(\d+) steps of train \(stuck.py:(\d+)-", first)
least, count, line = (steps[1], int(steps[2]), int(steps[3])) if steps else (None, 0, 0)
loop = line_of("    for _ in range(300)")
tap.ok(line in (loop, loop + 1) and count <= (900 if line == loop else 999) and (300 < count if least else 900 <= count),
       "its steps, and not those of the thread that ticks", first)
tap.ok(re.search(rf"^\[1\] HIGH hang  python\S* stuck.py \(pid {main}\) made no step in the last ", shown.stdout, re.M),
       "it is the first finding, and grave", shown.stdout)
tap.ok(re.search(rf"^    Culprit     .*\(pid {child}\)$", shown.stdout, re.M), "for which the one behind it is to blame", shown.stdout)
between = re.search(rf"; ([\d.]+) s between steps, [\d.]+ m?s of it in validate \(stuck.py:{line_of('    t.join()')}\): [\d.]+ m?s waits for .*, which slept in ", first)
tap.ok(between and 1.0 <= float(between[1]) <= 2.0, "what it waited for between them", first)
tap.done_testing()
