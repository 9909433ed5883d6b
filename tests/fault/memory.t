#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Memory that runs out at each allocation, once and from there on: a message, a status, nothing written by half, no crash.
# Where a piece of memory is only for comfort the result may be there all the same: then it is as ever.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults as f
from faults import tap

f.prepare()
# All of them up to so many, else so many of them. Libraries that others wrote allocate by the ten thousand, all alike.
FEW = 2500 if f.ALL else 12


def limited(case, at, there=False):
    return f.run(case, (), there, f.environment(LD_PRELOAD=f.NOMEM, NOMEM_AT=at, NOMEM_COUNT=f.path("counts")))


if limited(f.CASES[0], "0").err:
    tap.skip_all("optional: an allocator cannot be put in front of these programs (sanitizers bring their own)")
for case in f.CASES:
    good, bad, failed = f.run(case), [], 0
    limited(case, "0")
    with open(f.path("counts")) as counts:
        count = int(counts.read())
    places = sorted({1 + i * (count - 1) // (FEW - 1) for i in range(FEW)}) if count > FEW else range(1, count + 1)
    for n in places:
        at = f"{n}{'+' if n % 3 == 0 else ''}"
        there = n % 2 == 0
        r = limited(case, at, there)
        failed += r.status != good.status
        said = f.wrong(case, r, good, there, reads=True)
        if said:
            bad.append(f"NOMEM_AT={at}: {said}")
    tap.none(bad, f"{case.name}: {len(places)} of {count} allocations fail, {failed} runs with them")
tap.done_testing()
