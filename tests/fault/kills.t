#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# kill -9 of programs that write, at calls of the system spread over their whole life and at moments of no choice: inputs are
# as they were, the output is what was there before or whole, and nothing else is left. What went to a pipe is a beginning.
import os
import random
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults as f
from faults import tap

f.injecting()
f.prepare()
FEW, MOMENTS = 8, 200 if f.ALL else 3


def complaint(case, r, good, there):
    said = f.wrong(case, r, good, there, killed=True)
    return said or (None if good.out.startswith(r.out) else "what went to standard output is no beginning of it")


seed = int.from_bytes(os.urandom(4), "little")
dice = random.Random(seed)
for case in f.CASES:
    good = f.run(case)
    bad, killed = [], 0
    # Of the calls on its files, and of all: before and behind those stand the loader's and the C library's.
    at = f.path("") if case.ending or case.beside else None
    count = f.counted(case, "any:0:EIO", at=at)[0]
    for n in f.places(count, FEW):
        there = n % 2 == 0
        r = f.run(case, f.inject(f"any:{n}:kill", at=at), there)
        killed += r.status == -9
        said = complaint(case, r, good, there)
        if said:
            bad.append(f"any:{n}:kill: {said}")
    tap.none(bad, f"{case.name}: killed {killed} times at a call")
    tap.ok(killed >= min(count, FEW) - 1, f"{case.name}: and was killed", (killed, count))

    began = time.monotonic()
    f.run(case)
    life, bad = time.monotonic() - began, []
    for _ in range(MOMENTS):
        there, after = dice.random() < 0.5, dice.random() * life
        r = f.run(case, ["timeout", "-s", "KILL", f"{after:.6f}"], there)
        said = complaint(case, r, good, there)
        if said:
            bad.append(f"after {after:.6f} s: {said}")
    tap.none(bad, f"{case.name}: killed at {MOMENTS} moments (seed {seed})")
tap.done_testing()
