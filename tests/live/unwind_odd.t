#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Stacks of unusual make are libgcc's: of signal handlers on stacks of their own, of coroutines, of a child of vfork, below assembly.
# Where .eh_frame says nothing, the stack says that a frame was guessed, or ends there: no stack looks whole that is not.
import os
import platform
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

OP = "cudaDeviceSynchronize"
AT_START, GUESSED, NO_RULE, STUCK = 1, 4, 16, 64  # enum world_stack_end
KINDS = {1: "signal handler", 2: "on an alternate stack", 3: "in a handler of another signal", 4: "the same from an alternate stack",
         5: "at an instruction that faulted", 6: "coroutine", 7: "coroutine that another resumed", 8: "child of vfork", 9: "assembly with .cfi"}
# What is behind the frames that libgcc knows.
UNKNOWN = {10: "assembly with a frame pointer", 11: "assembly with nothing", 12: "assembly with another base register",
           13: "code written a moment ago", 14: "written code with nothing", 15: "written code with a frame pointer"}

rec.need_bpf()
if platform.machine() != "x86_64":
    tap.skip_all("stacks are walked by frame pointers on this machine")
if not shutil.which("c++"):
    tap.skip_all("no C++ compiler here")

program, ige, out = rec.path("odd_frames"), rec.path("odd.ige"), rec.path("stacks")
subprocess.run(["c++", "-O2", "-fomit-frame-pointer", "-o", program, os.path.join(rec.HERE, "odd_frames.cc"), "-ldl"], check=True)
p = rec.run("-o", ige, "--no-sched", "-e", OP, "--unwind-memory", "64m", "--", program, out, "libcudart.so.13", OP)
tap.ok(p.returncode == 0 and os.path.getsize(out) > 0, "recorded", p.stderr)

maps, truth = [], []
for line in open(out, encoding="utf-8"):
    words = line.split()
    if words[0] == "maps":
        start, end = (int(x, 16) for x in words[1].split("-"))
        maps.append((start, end, int(words[3], 16), words[6] if len(words) > 6 else "?"))
    else:
        truth.append((int(words[0]), [int(x, 16) for x in words[1:]]))


def place(address):
    for start, end, offset, path in maps:
        if start <= address - 1 < end:
            return path, address - 1 - start + offset
    return "?", address


events = sorted((e for e in rec.dump(ige)[0] if e["op"] == OP), key=lambda e: e["end"])
tap.same(len(events), len(truth), "every call is there")
for (kind, addresses), e in zip(truth, events):
    want, got = [place(a) for a in addresses], [(f[1], f[2]) for f in e["stack"]]
    names = [f[0] for f in e["stack"]]
    if kind in KINDS:
        tap.same((got, e["stack_end"]), (want, AT_START), f"{KINDS[kind]}: {len(got)} frames, all libgcc's")
        continue
    tap.same(got[:1], want[:1], f"{UNKNOWN[kind]}: what made the call is libgcc's")
    tap.ok(e["stack_end"] != AT_START or got == want, f"{UNKNOWN[kind]}: not told as whole, {e['stack_end']:#x}", names)
    if "frame pointer" in UNKNOWN[kind]:
        tap.ok(e["stack_end"] & GUESSED and "main" in names, f"{UNKNOWN[kind]}: guessed, and what called it is found", names)
tap.done_testing()
