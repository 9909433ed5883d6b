#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What a hypervisor takes from a thread that always wants its CPU is what the kernel's own account says was taken
# from that CPU, to the ticks in which it is kept.
# Alone: it accounts for each CPU.
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
import tracks
from recording import tap

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")

# The spinner gives up its CPU for a moment at each end, so that what was taken before is told before.
if sys.argv[1:2] == ["spin"]:
    import time
    cpu = int(sys.argv[2])
    os.sched_setaffinity(0, {cpu})
    at = []
    for _ in range(2):
        time.sleep(0.001)
        at.append((time.monotonic_ns(), tracks.stolen_ns(cpu)))
        while len(at) == 1 and time.monotonic_ns() - at[0][0] < 3_000_000_000:
            pass
    print(json.dumps({"tid": os.getpid(), "begin": at[0][0], "end": at[1][0], "stolen": at[1][1] - at[0][1]}))
    sys.exit(0)

rec.need_bpf()
cpu = tracks.cpu_for_test()
ige = rec.path("a.ige")
p = rec.run("-o", ige, "--", sys.executable, os.path.abspath(__file__), "spin", cpu)
said = rec.truth(p.stdout)
if not tap.ok(p.returncode == 0 and said, "records", p.stdout + p.stderr):
    tap.done_testing()
    sys.exit(1)
truth = said[-1]
events = [e for e in rec.dump(ige)[0] if e["tid"] == truth["tid"] and truth["begin"] <= e["end"] <= truth["end"]]
off, ran = tracks.of_thread(events, truth["tid"]), [e for e in tracks.sched(events, "stolen")]
known = [e for e in off if "stolen_ns" in e["x"]]
kept = sum(tracks.stolen_ns(i) for i in os.sched_getaffinity(0))
hypervisor = " hypervisor" in open("/proc/cpuinfo").read()
if not kept and not known and hypervisor:
    tap.ok(not ran, "not known, not told", ran)
    tap.skip("as much as the kernel's account says", "optional: this kernel's account of steal stands at 0")
else:
    # One that was woken where nobody saw it has no beginning to count from.
    taken_away = [e for e in off if e["x"]["wait_ns"] == e["dur"]]
    tap.none([e for e in taken_away if e not in known], f"every one of {len(taken_away)} preemptions says what was taken of it")
    tap.none([e for e in off if e["x"].get("stolen_ns", 0) > e["x"]["wait_ns"]], "never more than the wait")
    tap.none([e for e in ran if e["x"]["cpu"] != cpu], "on the CPU it ran on")
    got = tracks.total(off, "stolen_ns") + sum(e["dur"] for e in ran)
    # Both ends of the account are cut to ticks, and it is brought up to date by a tick that may come late.
    tap.ok(abs(got - truth["stolen"]) <= 3 * TICK_NS + 0.05 * truth["stolen"],
           f"{tracks.ms(got)} taken, {tracks.ms(truth['stolen'])} by the kernel's account",
           [(e["op"], e["end"], e["dur"], e["x"]) for e in events][:40])
tap.done_testing()
