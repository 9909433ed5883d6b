#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Calls that do not return are reported with their line: of a program that was killed in the call, with the time that --hung says, of
# one that was in the call before the recorder came, and by a flight recorder whose trigger names the call.

import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

PROGRAM = r"""
import ctypes, os, signal, sys, time
import cuda

lib = cuda.Cuda()
stream, kernel = ctypes.c_void_p(), ctypes.c_char()
lib.cudaStreamCreate(stream)

def step():
    for _ in range(4):
        lib.cudaLaunchKernel(ctypes.addressof(kernel), cuda.ONE, cuda.ONE, None, 0, stream)
    lib.cudaStreamSynchronize(stream)

for _ in range(50):
    step()
if sys.argv[2] != "0":
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
open(sys.argv[1], "w").close()
lib.cudaLaunchKernel(ctypes.addressof(kernel), cuda.ONE, cuda.ONE, None, 0, stream)
lib.cudaStreamSynchronize(stream)  # here
"""
script = rec.path("hung.py")
with open(script, "w", encoding="ascii") as f:
    f.write(PROGRAM)
LINE = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if text.endswith("# here"))
WHERE = rf"cudaStreamSynchronize called from <module> \(hung\.py:{LINE}\)"
SETTINGS = {"DOUBLE_NEVER_AFTER": 200, "PYTHONPATH": rec.WORK}


def explained(name):
    return subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), rec.path(name)], capture_output=True, text=True).stdout


def program(name, killed_after):
    return [sys.executable, script, rec.path(name + ".in"), str(killed_after)]


def in_call(name):
    return rec.until(lambda: os.path.exists(rec.path(name + ".in")))


def found(said, seconds, more=""):
    m = re.search(rf" has not returned for ([\d.]+) s in {WHERE}{more}(?:\.\n|  \()", said)
    return "call-hung" in said and m and seconds[0] <= float(m[1]) <= seconds[1]


# side by side: each mostly waits
begun = {name: rec.start("-o", rec.path(name + ".ige"), *options, "--", *program(name, killed), every=False, **SETTINGS)
         for name, options, killed in (("alarm", [], 7.5), ("short", ["--hung", "3s"], 5.5), ("long", ["--hung", "60s"], 7.5))}
begun["flight"] = rec.start("-o", rec.path("flight.ige"), "--flight-recorder", "20s", "--trigger", "cuda*Synchronize>2s", "--hung", "60s", "--",
                            *program("flight", 6), every=False, **SETTINGS)
before = subprocess.Popen(program("before", 0), env=rec.environment(**SETTINGS))
killed = {}
for sig in (signal.SIGKILL, signal.SIGTERM):
    killed[sig] = rec.start("-o", rec.path(sig.name + ".ige"), "--", "timeout", "-s", sig.name, "9", *program(sig.name, 0), every=False, **SETTINGS)
tap.ok(in_call("before"), "a program is in a call")
p = rec.run("-o", rec.path("before.ige"), "--duration", "7s", "-p", str(before.pid), every=False)
before.kill()
before.wait()
tap.same(p.returncode, 0, "and is recorded from then on")
for r in (*begun.values(), *killed.values()):
    r.communicate(timeout=rec.PATIENCE)

said = explained("alarm.ige")
tap.ok(found(said, (5, 8), "; signal 14 ended it"), "ended by a signal in the call", said[:3000])
said = explained("short.ige")
tap.ok(found(said, (3, 6), "; signal 14 ended it"), "--hung 3s: one of less than 5 s", said[:3000])
said = explained("long.ige")
tap.ok("call-hung" not in said and " steps of step (hung.py:" in said, "--hung 60s: not one of 7 s", said[:3000])
for sig, r in killed.items():
    said = explained(sig.name + ".ige")
    tap.ok("call-hung" in said and re.search(rf"has not returned for [\d.]+ s in {WHERE}; signal {int(sig)} ended it", said), f"{sig.name} by timeout", said[:3000])
said = explained("before.ige")
tap.ok(said.startswith("python") and found(said, (5, 8), "; it was in it when the recording began"), "who hung before the recorder came", said[:3000])
files = sorted(f for f in os.listdir(rec.SCRATCH.name) if f.startswith("flight-"))
tap.ok(files, "the trigger of a flight recorder fires on a call that does not return", files)
said = explained(files[0]) if files else ""
# What is written lags behind what is looked at (RECORD_LAG_NS): of the two seconds a little may be missing.
tap.ok(found(said, (1.5, 6)), "and its file has the call", said[:3000])
tap.done_testing()
