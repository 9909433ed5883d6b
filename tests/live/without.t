#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Two causes at once: what a step would take without both is between the bounds that are told, by the clock of a second run
# without them, and less than without either alone.
#
# Alone: a clock of one run is compared with another one.

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

STEPS = 300
PROGRAM = r"""
import ctypes, os, sys, threading, time
import cuda

both, steps = sys.argv[1] == "both", int(sys.argv[2])
lib = cuda.Cuda()
stream, kernel = ctypes.c_void_p(), ctypes.c_char()
lib.cudaStreamCreate(stream)
asked, answers = threading.Semaphore(0), threading.Semaphore(0)
to_child, from_child = os.pipe(), os.pipe()

def clerk():
    while True:
        asked.acquire()
        time.sleep(0.003)
        answers.release()

if both:
    if os.fork() == 0:
        os.close(to_child[1])
        while os.read(to_child[0], 1):
            time.sleep(0.002)
            os.write(from_child[1], b".")
        os._exit(0)
    threading.Thread(target=clerk, daemon=True).start()

def ask_clerk():
    asked.release(); answers.acquire()

def ask_child():
    os.write(to_child[1], b"."); os.read(from_child[0], 1)

def step():
    lib.cudaLaunchKernel(ctypes.addressof(kernel), cuda.ONE, cuda.ONE, None, 0, stream)
    lib.cudaStreamSynchronize(stream)
    if both:
        ask_clerk()
        ask_child()

began = time.monotonic()
for _ in range(steps):
    step()
print((time.monotonic() - began) / steps * 1e9)
os._exit(0)
"""
script, out = rec.path("two.py"), rec.path("two.ige")
with open(script, "w", encoding="ascii") as f:
    f.write(PROGRAM)
settings = {"PYTHONPATH": rec.WORK, "DOUBLE_LAUNCH_NS": 2000000}
rec.run("-o", out, "--", sys.executable, script, "both", STEPS, every=False, **settings)
truth = float(subprocess.run([sys.executable, script, "neither", str(STEPS)], env=rec.environment(**settings), capture_output=True,
                             text=True, check=True).stdout)
explain = os.path.join(rec.BUILD, "bin", "ingero-explain")
report = json.loads(subprocess.run([explain, "--json", out], capture_output=True, text=True).stdout)
text = subprocess.run([explain, out], capture_output=True, text=True).stdout
alone = [w["low_ns"] for c in report["chains"] for w in c["counterfactual"] if w["what"] == "step"]
said = report["without_all"]
if tap.ok(len(said) == 1 and len(alone) >= 2, "a step without all of them, and without each", json.dumps([said, alone])):
    low, high = said[0]["low_ns"], said[0]["high_ns"]
    tap.ok(low <= truth <= high, f"{truth / 1e6:.2f} ms by the clock without them, {low / 1e6:.2f} to {high / 1e6:.2f} told", text[:4000])
    tap.ok(low < min(alone), "less than without one of them", json.dumps([said, alone]))
    tap.ok("Without all that took from its steps at once, an average step of " in text, "the report says so", text[:4000])
tap.done_testing()
