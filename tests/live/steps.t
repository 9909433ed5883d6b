#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Steps of programs whose stacks show no line that jumps back: a loop on one line of Python, one whose function is a line,
# too, and a program in C. And of one whose lines take turns with others', as tasks of an event loop. The first line of the
# report says as many as the program made, all calls recorded. Where probes were detached it says that it does not know
# exactly.
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
WORK = os.path.abspath(os.path.join("tests", "double", "work"))
HEAD = """
import ctypes, sys, time
sys.path.insert(0, sys.argv[1])
import cuda
c = cuda.Cuda(); s = ctypes.c_void_p(); c.cudaStreamCreate(s); k = ctypes.c_char(); blocks = [ctypes.c_void_p() for _ in range(3)]
def launch(): c.cudaLaunchKernel(ctypes.addressof(k), cuda.ONE, cuda.ONE, None, 0, s)
"""
CALLEES = """
def forward():
    for b in blocks: c.cudaMalloc(b, 1 << 20)
    for _ in range(4): launch()
def empty_cache():
    for b in blocks: c.cudaFree(b)
for n in range(150): forward(); c.cudaStreamSynchronize(s); empty_cache()
"""
SLEEPS = """
def request(n):
    for _ in range(1 + n // 50): launch()
    c.cudaStreamSynchronize(s)
for n in range(150): request(n); time.sleep(0.002)
"""
ONE_LINE = """
def serve(): launch(); c.cudaStreamSynchronize(s)
for n in range(150): serve(); time.sleep(0.002)
"""
# Tasks of an event loop, of which one is the loop; each waits for a timer.
TASKS = """
import asyncio
async def load():
    await asyncio.sleep(0.002)
    launch()
async def watch():
    while True:
        await asyncio.sleep(0.003)
        for _ in range(2): launch()
async def train():
    watcher = asyncio.create_task(watch())
    for n in range(150):
        await load()
        await load()
        c.cudaStreamSynchronize(s)
asyncio.run(train())
"""


def first_line(name, *command, every=True):
    """(mark, steps, function, where) of the report's first line."""
    recording = rec.path(f"{name}.ige")
    p = rec.run("-o", recording, "--", *command, every=every, DOUBLE_LAUNCH_NS=20000)
    tap.same(p.returncode, 0, f"{name}: recorded") or tap.diag(p.stderr[-2000:])
    said = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), recording], capture_output=True, text=True, check=True).stdout
    found = re.match(r".*?: (~|>=|)([\d,]+) steps of (\S+) \((\S+)\)", said)
    tap.ok(found, f"{name}: the first line is of its steps", said[:400])
    if "tasks" in name:
        # Where others have the CPU for longer, it is not in the first line.
        tap.ok("waits in its event loop for a timer before train (" in said, f"{name}: what it waits for", said[:2000])
    return (found[1], int(found[2].replace(",", "")), found[3], found[4]) if found else (None, 0, None, None)


for name, body, function, last in (("callees in turn", CALLEES, "<module>", True), ("a sleep between", SLEEPS, "<module>", True),
                                   ("tasks of an event loop", TASKS, "train", False),
                                   ("a function of one line", ONE_LINE, "<module>", True)):
    script = rec.path(name.replace(" ", "-") + ".py")
    with open(script, "w", encoding="utf-8") as f:
        f.write(HEAD + body)
    mark, count, where, lines = first_line(name.replace(" ", "-"), sys.executable, script, WORK)
    tap.same((mark, count, where), ("", 150, function), f"{name}: every step, of the function that has the loop")
    line = (HEAD + body).count("\n")
    tap.ok(not last or lines == f"{os.path.basename(script)}:{line}", f"{name}: in its line", f"{lines} of {line}")

mark, count, where, _ = first_line("in-C", rec.work("train"), "--steps", "400")
tap.same((mark, count, where), ("", 400, "train_step"), "in C: every step, of the function that makes its calls")
mark, count, where, _ = first_line("in-C-in-windows", rec.work("train"), "--steps", "3000", every=False)
# The waits are recorded all of the time. Where copies are not from early on, these alone tell the steps.
tap.ok(where in ("train_step", "read_loss") and (count == 3000 if mark == "" else 0 < count <= 3300), "in C, in windows: as many, or marked", f"{mark}{count} of {where}")
tap.done_testing()
