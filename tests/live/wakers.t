#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# When the releaser of a wait acted: by its own clock, read on both sides of the call that releases.
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
import tracks
from recording import tap

rec.need_bpf()
ROUNDS = 200

# A child reads a byte at a time; the parent writes one whenever the child sleeps, and notes the time before and after.
RELEASES = r"""
import json, os, sys, time
waker_cpu, sleeper_cpu, rounds = map(int, sys.argv[1:])
r, w = os.pipe()
child = os.fork()
if child == 0:
    os.close(w)
    os.sched_setaffinity(0, {sleeper_cpu})
    while os.read(r, 1):
        pass
    os._exit(0)
os.close(r)
os.sched_setaffinity(0, {waker_cpu})
acts = []
for _ in range(rounds):
    while open(f"/proc/{child}/stat").read().rsplit(")", 1)[1].split()[0] != "S":
        pass
    before = time.monotonic_ns()
    os.write(w, b".")
    acts.append((before, time.monotonic_ns()))
os.close(w)
os.waitpid(child, 0)
print(json.dumps({"child": child, "pid": os.getpid(), "acts": acts}))
"""
script = rec.path("releases.py")
with open(script, "w") as f:
    f.write(RELEASES)


def acted(e):
    """When the waker of this interval acted."""
    return e["end"] - e["x"]["wait_ns"] - e["x"]["waking_ns"]


def releases(name, waker_cpu, sleeper_cpu):
    ige = rec.path("releases.ige")
    p = rec.run("-o", ige, "--", sys.executable, script, waker_cpu, sleeper_cpu, ROUNDS)
    if not tap.ok(p.returncode == 0 and " lost 0" in p.stderr, f"{name}: recorded, nothing lost", p.stderr):
        return
    said = rec.truth(p.stdout)[-1]
    sleeps = [e for e in tracks.of_thread(rec.dump(ige)[0], said["child"]) if e["threads"].get("waker", [0])[0] == said["pid"]]
    found = [(b, a, next((e for e in sleeps if b <= e["end"] - e["x"]["wait_ns"] + 1_000_000 and e["end"] - e["dur"] < b < e["end"]), None))
             for b, a in said["acts"]]
    known = [(b, a, e) for b, a, e in found if e]
    tap.ok(len(known) > 0.9 * ROUNDS, f"{name}: {len(known)} of {ROUNDS} releases ended a recorded sleep")
    tap.none([e for _, _, e in known if "waking_ns" not in e["x"]], f"{name}: each with when its waker acted")
    tap.none([(b, a, acted(e)) for b, a, e in known if not b <= acted(e) <= a], f"{name}: while the waker was in the call that released it")
    late = sorted(e["end"] - e["x"]["wait_ns"] - a for _, a, e in known)
    tap.ok(True, f"{name}: the CPU took note {late[len(late) // 2] / 1e3:.1f} us after the waker's call was over (median), {sum(x > 0 for x in late)} times after")
    tap.none([e for e in tracks.of_thread(rec.dump(ige)[0], said["child"]) if e["x"].get("waking_ns", 0) > e["dur"] - e["x"]["wait_ns"]],
             f"{name}: never before the sleep began")


cpus = sorted(os.sched_getaffinity(0))
releases("on one CPU", cpus[0], cpus[0])
if len(cpus) > 1:
    releases("on another CPU", cpus[0], cpus[-1])
else:
    tap.skip("on another CPU", "there is one")
tap.done_testing()
