#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Sleeps of real loops: those that keep a pace are no incident, those that are added to the work are one. The loops differ in
# that alone: each gives the device nothing to do for most of the time.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
EXPLAIN = os.path.join(rec.BUILD, "bin", "ingero-explain")
STEPS = 200

PROGRAM = f"""
import asyncio, ctypes, os, queue, random, sys, threading, time
sys.path.insert(0, {os.path.join(rec.ROOT, "tests", "double", "work")!r})
import cuda

c, stream, loss, kernel = cuda.Cuda(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_char()
c.cudaStreamCreate(stream)
c.cudaMalloc(loss, 256)
draw, ticks, frames = random.Random(1), [time.monotonic()], queue.Queue(1)

def step():
    for _ in range(draw.randrange(2, 12)):
        c.cudaLaunchKernel(ctypes.addressof(kernel), cuda.Dim3(128, 1, 1), cuda.Dim3(256, 1, 1), None, 0, stream)
    c.cudaStreamSynchronize(stream)

def work():
    cuda.burn(draw.randrange(200000, 2000000))  # with next to no work a pace cannot be told from a fixed sleep

def tick():
    now = time.monotonic()
    while ticks[0] <= now:
        ticks[0] += 0.02
    time.sleep(ticks[0] - now)  # line: pace

def pace():
    work()
    tick()

def since():
    began = time.monotonic()
    work()
    time.sleep(max(0, began + 0.015 - time.monotonic()))  # line: since

def rest():
    time.sleep(0.015)  # line: rest

def poll():
    ready = time.monotonic() + draw.uniform(0.005, 0.02)
    while time.monotonic() < ready:
        time.sleep(0.001)  # line: poll

def both():
    rest()
    tick()

def camera():
    while True:
        tick()
        work()
        frames.put(1)

def frame():
    frames.get()

async def turns():
    for _ in range({STEPS}):
        now = time.monotonic()
        while ticks[0] <= now:
            ticks[0] += 0.02
        await asyncio.sleep(ticks[0] - now)
        cuda.burn(draw.randrange(100000, 6000000))  # it waits for whole milliseconds: less of a difference is lost in these
        step()  # line: serve

def serve():
    asyncio.run(turns())
    os._exit(0)

if sys.argv[1] == "frame":
    threading.Thread(target=camera, daemon=True, name="camera").start()
for _ in range({STEPS}):
    globals()[sys.argv[1]]()
    step()
os._exit(0)
"""

script = rec.path("loop.py")
with open(script, "w", encoding="utf-8") as f:
    f.write(PROGRAM)


def line(mark):
    return f"loop.py:{1 + next(i for i, text in enumerate(PROGRAM.splitlines()) if text.endswith(f'# line: {mark}'))}"


def record(what):
    """The findings of a device without work, by the line of the sleep in them; the sleeps on the path, by theirs."""
    out = rec.path(f"{what}.ige")
    p = rec.run("-o", out, "--", sys.executable, script, what, every=False)
    told = subprocess.run([EXPLAIN, "--json", out], capture_output=True, text=True)
    if not tap.ok(p.returncode == 0 and told.returncode == 0, f"{what}: recorded and analyzed", p.stderr + told.stderr):
        return {}, {}
    report = json.loads(told.stdout)
    marks = {line(mark): mark for mark in ("pace", "since", "rest", "poll", "serve")}
    found = {mark: c["severity"] for c in report["chains"] if c["kind"] == "gpu-idle" for at, mark in marks.items() if f"({at})" in c["summary"]}
    causes = [c for t in report["paths"] if t.get("steps") for ph in t["phases"] if ph["name"] == "steps" for c in ph["causes"]]
    sleeps = {mark: (c.get("pace"), c["severity"]) for c in causes if c["class"] == "sleep" for at, mark in marks.items() if f"({at})" in c["text"]}
    polls = [c for c in report["chains"] if c["kind"] == "gpu-idle" and "polling in " in c["summary"]]
    tap.ok(len(polls) == (what == "poll"), f"{what}: which sleeps are a poll", str([c["summary"] for c in polls]))
    for c in polls:
        left = [w["low_ns"] / w["from_ns"] for w in c["counterfactual"]]
        tap.ok(left and min(left) > 0.8, f"{what}: what is polled for comes no sooner without its sleeps", str(c["counterfactual"]))
    return found, sleeps


for what, findings, sleeps in (
        ("pace", {"pace": "LOW"}, {"pace": ("kept", 0)}),
        ("since", {"since": "LOW"}, {"since": ("kept", 0)}),
        ("rest", {"rest": "HIGH"}, {"rest": ("added", 3)}),
        ("poll", {"poll": "HIGH"}, {"poll": ("added", 3)}),
        ("both", {"rest": "HIGH"}, {"rest": ("added", 3)}),
        ("serve", {"serve": "LOW"}, {"serve": ("kept", 0)}),
        ("frame", {"pace": "LOW"}, {"pace": ("kept", 0)})):
    found, path = record(what)
    tap.same({k: v for k, v in found.items() if k in findings}, findings, f"{what}: how grave its sleeps are")
    tap.same({k: v for k, v in path.items() if k in sleeps}, sleeps, f"{what}: what they are on the path")
    tap.ok("pace" not in found or found["pace"] == "LOW", f"{what}: no pace is an incident", str(found))
tap.done_testing()
