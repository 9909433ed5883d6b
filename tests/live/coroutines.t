#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Frames of coroutines lie anywhere on the heap, and elsewhere each time: stacks of a thread that sleeps in the innermost of many
# have all of them, in order.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
DEPTH, STEPS = 24, 300
PROGRAM = f"""
import asyncio, random, sys, time
sys.path.insert(0, {os.path.join(rec.ROOT, "tests", "double", "work")!r})
import cuda
c = cuda.Cuda()
draw = random.Random(1)

async def level0():
    time.sleep(0.002)
""" + "".join(f"""
async def level{i}(inner):
    await inner
""" for i in range(1, DEPTH)) + f"""
async def main():
    for step in range({STEPS}):
        spare = [level0() for _ in range(draw.randrange(60))]
        made = level0()  # the innermost first: it lies below the outer ones, anywhere in a page
        for i in range(1, {DEPTH}):
            made = globals()[f"level{{i}}"](made)
        await made
        for unused in spare:
            unused.close()

asyncio.run(main())
"""

script, out = rec.path("deep.py"), rec.path("deep.ige")
with open(script, "w", encoding="utf-8") as f:
    f.write(PROGRAM)
p = rec.run("-o", out, "--", sys.executable, script)
tap.same(p.returncode, 0, "recorded") or tap.diag(p.stderr[-2000:])
events = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-f", "json", "-e", "sched:offcpu", out], capture_output=True, text=True, check=True).stdout
# Sleeps alone: who loses the CPU may just be making a coroutine, whose frame then lies below its maker's.
slept = [e for e in map(json.loads, events.splitlines()) if e["wait_ns"] < e["duration_ns"]]
stacks = [[f["py_func"] for f in e.get("stack", []) if f.get("py_func")] for e in slept]
stacks = [s for s in stacks if s and s[0] == "level0"]
want = [f"level{i}" for i in range(DEPTH)] + ["main"]
tap.ok(len(stacks) >= STEPS, f"{STEPS} sleeps have a stack", str(len(stacks)))
wrong = [s for s in stacks if s[:DEPTH + 1] != want]
tap.same(len(wrong), 0, f"each has the frames of {DEPTH} coroutines, in order") or tap.diag(f"{len(wrong)} of {len(stacks)}, as {wrong[0]}")
tap.done_testing()
