#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Idle time of each CPU, against /proc/stat: what it says before and after a recording, and in between of a CPU that is kept busy.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
import tracks
from recording import tap

IDLE = 46 # METRIC_CPU_IDLE_NS of formats/records.def
SECONDS = 3


def idle_now():
    """CPU -> ns in which it had nothing to run, waiting for disks included."""
    with open("/proc/stat", encoding="ascii") as f:
        lines = [line.split() for line in f if line.startswith("cpu") and line[3] != " "]
    return {int(x[0][3:]): (int(x[4]) + int(x[5])) * tracks.TICK_NS for x in lines}


rec.need_bpf()
cpu = tracks.cpu_for_test()
ige = rec.path("idle.ige")
before = idle_now()
p = rec.run("-o", ige, "--", "taskset", "-c", cpu, sys.executable, "-c",
            f"import time\nend = time.monotonic() + {SECONDS}\nwhile time.monotonic() < end:\n    pass\n")
after = idle_now()
if not tap.ok(p.returncode == 0, "recorded", p.stderr):
    tap.done_testing()
    sys.exit()
said = {}
for r in rec.dump(ige)[1]:
    if r["record"] == "sample" and r["metric"] == IDLE:
        said.setdefault(r["cpu"], []).append((r["time_ns"], r["value"]))
tap.same(sorted(said), sorted(before), "idle time of every CPU that is on")
tap.none([(c, v) for c, v in said.items() if v != sorted(v) or [x for _, x in v] != sorted(x for _, x in v)],
         "it only grows, and is in order")
tap.none([(c, v[0][1], v[-1][1], before[c], after[c]) for c, v in said.items() if not before[c] <= v[0][1] <= v[-1][1] <= after[c]],
         "between what /proc/stat said before and after")
tap.none([(c, v) for c, v in said.items() if len(v) < 2 or v[-1][0] - v[0][0] < (SECONDS - 1) * 1e9], "from the beginning to the end")
begin = min(t for v in said.values() for t, _ in v)
busy = said[cpu][-1][1] - said[cpu][0][1]
tap.ok(busy <= (after[cpu] - before[cpu]) and busy < 0.5e9, f"the one that was kept busy idled for {tracks.ms(busy)} of {SECONDS} s")
tap.none([(c, v) for c, v in said.items() for a, b in zip(v, v[1:]) if b[1] - a[1] > b[0] - a[0] + 2 * tracks.TICK_NS],
         "never faster than time")
tap.done_testing()
