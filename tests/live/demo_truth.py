# SPDX-License-Identifier: Apache-2.0
"""demo_truth.py REPORT TRUTH <EVENTS: what was taken from the demonstration's loop, by the report, by the recorded intervals and by the kernel."""
import datetime
import json
import statistics
import sys
import time

report = json.load(open(sys.argv[1]))
truth = json.loads(open(sys.argv[2]).readline())
parts = next(b["parts"] for b in report["breakdown"] if b["pid"] == truth["pid"])
to_wall = time.time_ns() - time.monotonic_ns()
waits, syncs = [], []  # begin, end, ns for a CPU
for line in sys.stdin:
    e = json.loads(line)
    if e.get("pid") != truth["pid"] or e["op"] not in ("offcpu", "cudaStreamSynchronize"):
        continue
    begin = int(datetime.datetime.fromisoformat(e["timestamp"][:26] + "+00:00").timestamp() * 1e6) * 1000 - to_wall
    (waits if e["op"] == "offcpu" else syncs).append((begin, begin + e["duration_ns"], e.get("wait_ns", 0), e.get("stolen_ns", 0)))


def verdict(right, text):
    print("agrees" if right else text)


# The kernel was asked when the loop ended; the process went on to its end.
asked = truth["start_ns"] + truth["wall_ns"]
recorded, delay = sum(w[2] for w in waits if w[1] <= asked), truth["life_run_delay_ns"]
verdict(abs(recorded - delay) <= 0.01 * delay, f"recorded {recorded}, run delay {delay}: off by {recorded / delay - 1:.1%}")

# No loss of the loop: the recorder had the CPU, or nobody; the hypervisor did; the device was busy all the same, as long as in other steps.
found, every = parts.get("preempted", 0) + parts.get("runqueue", 0), sum(w[2] for w in waits)
inside = [sum(w[2] for w in waits if s[0] <= w[0] < s[1]) for s in syncs]
usual = statistics.median([s[1] - s[0] for s, ns in zip(syncs, inside) if not ns] or [0])
beside = sum(min(ns, usual) for ns in inside)
others = sum(parts.get(k, 0) for k in ("recorder", "wakeup", "wait_unknown")) + sum(w[3] for w in waits)
verdict(every - others - beside - 0.01 * every <= found <= every * 1.01,
        f"found {found} of {every}, to others {others}, to the device up to {beside}")

chains = [c for c in report["chains"] if c["kind"] == "cpu-preempted" and c["culprit"]["comm"] == "nightly-backup"]
lost = sum(c["lost_ns"] for c in chains)
print(f"{len(chains)} chain", "within it" if 0 < lost <= found else f"of {lost} ns")
print(f"recorded {recorded / 1e6:.1f} of {delay / 1e6:.1f} ms, found {found / 1e6:.1f} of {every / 1e6:.1f}, others {others / 1e6:.1f}, device {beside / 1e6:.1f}")
