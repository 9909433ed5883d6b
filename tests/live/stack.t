#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Stacks are the truth, frame by frame: named functions the workload knows it called from, with mixed frame sizes,
# for the runtime call and for the driver call inside it, whose stack holds the trampoline of the outer probe.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

RUNTIME = {"launch": "cudaLaunchKernel", "malloc": "cudaMalloc", "sync": "cudaStreamSynchronize"}
DRIVER = {"launch": "cuLaunchKernel", "malloc": "cuMemAlloc", "sync": "cuStreamSynchronize"}


def names(event):
    return [frame[0] for frame in event["stack"]]


def check(name, arguments, depth, op):
    ige = rec.path("stack.ige")
    p = rec.run("-o", ige, "--no-sched", *arguments, "--", rec.work("nest"), "--depth", depth, "--op", op)
    said = rec.truth(p.stdout)
    if not tap.ok(p.returncode == 0 and said, f"{name}: recorded", p.stderr):
        return
    frames = said[0]["frames"]
    events, _, _ = rec.dump(ige)
    calls = [e for e in events if e["source"] == "cuda" and e["op"] == RUNTIME[op]]
    outer = [e for e in calls if names(e)[:len(frames)] == frames]
    tap.ok(outer, f"{name}: the runtime call's stack", f"want {frames}\ngot  {[names(e) for e in calls]}")
    # The driver call inside ends within it, on the same thread.
    inner = [e for e in events if e["source"] == "driver" and e["op"] == DRIVER[op] and e["depth"] == 1 and outer and
             outer[0]["end"] - outer[0]["dur"] <= e["end"] <= outer[0]["end"]]
    if not tap.ok(inner, f"{name}: a driver call inside", events[-5:]):
        return
    stack = names(inner[0])
    at = stack.index(frames[0]) if frames[0] in stack else -1
    tap.ok(at > 0 and stack[at:at + len(frames)] == frames and RUNTIME[op] in stack[:at],
           f"{name}: the driver call's stack, through the runtime function", f"want … {RUNTIME[op]} … {frames}\ngot  {stack}")
    tap.ok(all(frame[1] != "?" for frame in outer[0]["stack"] + inner[0]["stack"]),
           f"{name}: every frame lies in a file", (outer[0]["stack"], inner[0]["stack"]))
    # Beyond the known functions: main and what calls it, the same for both.
    tap.same(stack[at + len(frames):], names(outer[0])[len(frames):], f"{name}: the same outer frames for both")


for walker in ("loop", "helper"):
    for depth in (1, 4, 12, 24, 48):
        check(f"{walker} walker, {depth} deep", ["--walker", walker], depth, "launch")
    check(f"{walker} walker, an allocation", ["--walker", walker], 12, "malloc")
    check(f"{walker} walker, a sync", ["--walker", walker], 12, "sync")
check("multi links", ["--link", "multi"], 24, "launch")
check("perf links", ["--link", "perf"], 24, "launch")

# Once per distinct stack: many calls from one place name one stack.
ige = rec.path("stack.ige")
rec.run("-o", ige, "--no-sched", "--", rec.work("calls"), "--count", 300, "--op", "cudaDeviceSynchronize")
events, _, _ = rec.dump(ige)
stacks = [tuple(map(tuple, e["stack"])) for e in events if e["op"] == "cudaDeviceSynchronize"]
tap.ok(len(stacks) == 300 and len(set(stacks)) == 1 and stacks[0], "300 calls from one line have one stack", set(stacks))
tap.done_testing()
