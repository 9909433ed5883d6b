#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The wall clock steps while a recording runs: times between events do not.
# Alone: it steps the clock of the machine.
import ctypes
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
CLOCK_REALTIME, SECOND = 0, 1_000_000_000
libc = ctypes.CDLL(None, use_errno=True)


class Timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]


def step_clock(seconds):
    t = Timespec()
    libc.clock_gettime(CLOCK_REALTIME, ctypes.byref(t))
    t.sec += seconds
    return libc.clock_settime(CLOCK_REALTIME, ctypes.byref(t)) == 0


if step_clock(0):
    stepping = rec.path("stepping.ige")
    w = subprocess.Popen([rec.work("train"), "--seconds", "1000", "--step-us", "500"], env=rec.environment(), stdout=subprocess.DEVNULL)
    r = rec.start("-o", stepping, "--flush", "50ms", "-p", w.pid)
    rec.attached(r)
    stepped = False
    try:
        rec.until(lambda: os.path.getsize(stepping) > 10000)  # events have followed the first reading of the clocks
        stepped = step_clock(3600)
        size = os.path.getsize(stepping)
        rec.until(lambda: os.path.getsize(stepping) > size + 10000)
        r.send_signal(signal.SIGINT)
        r.wait(rec.PATIENCE)
    finally:
        if stepped:
            step_clock(-3600)
        w.kill()
        w.wait()
    events, records, report = rec.dump(stepping)
    spread = max(e["end"] for e in events) - min(e["end"] for e in events)
    tap.ok(stepped and r.returncode == 0 and report["damaged"] == 0 and spread < 60 * SECOND, "a clock that steps by an hour: times of events do not", (r.returncode, spread))
    clocks = [x for x in records if x["record"] == "clock"]
    moved = [x["real_ns"] - x["mono_ns"] for x in clocks]
    tap.ok(max(moved) - min(moved) > 3590 * SECOND, "and the clock records show the step", moved)
else:
    tap.skip("a clock that steps", "optional: no right to set it")

tap.done_testing()
