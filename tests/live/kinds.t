#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The other kinds of findings on the real kernel: a lock's holder, a disk, a used-up quota are named with what the
# workloads' own clocks and the kernel say they cost; a process that only sleeps has nobody to blame.
# Alone: it names who took the CPU.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

sys.path.append(os.path.join(rec.ROOT, "tests", "scenarios"))
import plants  # noqa: E402

rec.need_bpf()
plants.first()  # before whatever else this machine does
EXPLAIN = os.path.join(tap.BIN, "ingero-explain")


def explained(name, *command):
    """One recording of the command: its first truth and what explain says, or None."""
    ige = rec.path(name + ".ige")
    p = rec.run("-o", ige, "--", *command)
    if not tap.ok(p.returncode == 0, f"{name}: the recorder is content", p.stderr):
        return None
    said = subprocess.run([EXPLAIN, "--json", ige], capture_output=True, text=True)
    tap.same(said.returncode, 0, f"{name}: explained")
    return rec.truth(p.stdout)[0], json.loads(said.stdout), p.stderr


def parts_of(report, pid):
    return next((p["parts"] for p in report["breakdown"] if p["pid"] == pid), {})


def near(got, want, what, within=0.05, floor=2e6):
    tap.ok(abs(got - want) <= max(within * want, floor), f"{what}: {got / 1e6:.1f} ms, the truth is {want / 1e6:.1f} ms")


def waited_at_lock(report, pid):
    """The path's time in the line that waits for a lock: of the whole life, and of the steps."""
    phases = next(p["phases"] for p in report["paths"] if p["pid"] == pid)
    causes = [c for p in phases for c in p["causes"] if c["text"].startswith("waits for a lock")]
    line = max(causes, key=lambda c: c["ns"])["lines"][0]["at"]
    ns = {p["name"]: sum(r["ns"] for r in p["rows"] if line in (r["line"], r.get("site"))) for p in phases}
    return sum(ns.values()), ns.get("steps", sum(ns.values()))


# A lock: what its holder ran while it held it is the holder's; what kept the holder from running is not.
got = explained("lock", rec.work("locker"), "--rounds", 100)
if got:
    truth, report, _ = got
    chains = [c for c in report["chains"] if c["kind"] == "lock-wait"]
    if tap.same(len(chains), 1, "lock: one chain"):
        chain = chains[0]
        tap.ok(truth["holder"]["tid"] in chain["culprit"].get("tids", []), "lock: the holder is named",
               json.dumps(chain["culprit"]))
        # Of each wait the path says what it was: what the holder ran, else who kept it, or the waiter at the end, from running.
        waited, in_steps = waited_at_lock(report, truth["pid"])
        near(waited, truth["waited_ns"], "lock: waited where it is wanted", within=0.01)
        moved = sum(parts_of(report, truth["pid"]).get(k, 0) for k in ("preempted", "runqueue", "wait_unknown", "wakeup", "recorder", "stolen"))
        # A wait whose holder is kept from running counts once for each stretch in which the holder did run.
        most = 2 * truth["contended"] if moved < 0.1 * truth["waited_ns"] else float("inf")
        tap.ok(0.9 * truth["contended"] <= chain["count"] <= most, "lock: each wait", f"{chain['count']} of {truth['contended']}")
        # A loss is one of the steps, and the first of them may begin behind the first wait.
        tap.ok(in_steps - moved - 1e6 <= chain["lost_ns"] <= in_steps,
               f"lock: {chain['lost_ns'] / 1e6:.1f} ms of {in_steps / 1e6:.1f} ms waited in steps, "
               f"{moved / 1e6:.1f} ms waiting for CPUs in all")

# A disk: direct reads.
got = explained("disk", rec.work("reader"), "--rounds", 200, "--dir", os.environ.get("INGERO_TEST_DISK", rec.BUILD))
if got:
    truth, report, _ = got
    disk = parts_of(report, truth["pid"]).get("disk", 0)
    if not truth["direct"] or truth["blocked_ns"] < 20e6:
        tap.skip("disk: named", "optional: no file system with direct I/O that takes any time here")
    else:
        # The truth is about its reads; making the file waits for the disk too, before.
        wall = next(p["wall_ns"] for p in report["breakdown"] if p["pid"] == truth["pid"])
        # Its own clock runs on while it waits for a CPU again, and while the hypervisor has that one.
        awake = truth["run_delay_ns"] + parts_of(report, truth["pid"]).get("stolen", 0)
        tap.ok(0.9 * (truth["blocked_ns"] - awake) <= disk <= wall - truth["wall_ns"] + truth["blocked_ns"] * 1.1,
               f"disk: {disk / 1e6:.1f} ms blocked, its reads alone {truth['blocked_ns'] / 1e6:.1f} ms")
        chains = [c for c in report["chains"] if c["kind"] == "disk-stall"]
        if tap.same(len(chains), 1, "disk: one chain"):
            tap.ok(0 < chains[0]["lost_ns"] <= disk, "disk: not more than was blocked")

# A quota.
quota = rec.path("quota.truth")
got = explained("quota", os.path.join(rec.WORK, "..", "throttled"), "--quota-us", "30000", "--truth", quota, "--",
                rec.work("train"), "--seconds", 3, "--step-us", 3000)
if got:
    truth, report, said = got
    if not os.path.exists(quota):
        tap.skip("quota: named", f"optional: {said.strip()[-200:]}")
    else:
        with open(quota) as f:
            kernel = json.loads(f.read())
        throttled = parts_of(report, truth["pid"]).get("throttled", 0)
        near(throttled, kernel["throttled_ns"], "quota: time throttled", within=0.10, floor=30e6)
        chains = [c for c in report["chains"] if c["kind"] == "cpu-throttled"]
        wall = next(p["wall_ns"] for p in report["breakdown"] if p["pid"] == truth["pid"])  # from before its own clock began
        if kernel["throttled_ns"] < 0.05 * wall:
            tap.skip("quota: named", f"optional: others left it less than its quota, which took {kernel['throttled_ns'] / 1e6:.1f} ms")
        elif tap.ok(len(chains) == 1, "quota: one chain", (kernel, throttled, wall, [c["summary"] for c in report["chains"]])):
            tap.same(chains[0]["culprit"]["kind"], "cgroup", "quota: the cgroup is the culprit")
            # Others may have had its CPU for longer.
            tap.none([c["summary"] for c in report["chains"][:report["chains"].index(chains[0])]
                      if c["kind"] not in ("cpu-preempted", "cpu-contended") or c["lost_ns"] < chains[0]["lost_ns"]],
                     "quota: before any other that took less")

# Sleeping while the device has nothing to do is nobody's fault but its own.
got = explained("sleep", rec.work("sleeper"), "--rounds", 200)
if got:
    truth, report, _ = got
    # Awake, it may wait for a CPU before it looks at its clock.
    asleep = parts_of(report, truth["pid"]).get("sleep", 0)
    tap.ok(0.95 * (truth["slept_ns"] - truth["run_delay_ns"]) <= asleep <= 1.05 * truth["slept_ns"],
           f"sleep: time asleep: {asleep / 1e6:.1f} ms of {truth['slept_ns'] / 1e6:.1f} ms, {truth['run_delay_ns'] / 1e6:.1f} ms for a CPU in all")
    idle = [c for c in report["chains"] if c["kind"] == "gpu-idle"]
    if tap.same(len(idle), 1, "sleep: the device is without work"):
        tap.ok("a sleep" in idle[0]["summary"], "sleep: and why", idle[0]["summary"])
        near(idle[0]["lost_ns"], asleep, "sleep: for as long as it slept")
    tap.none([c["summary"] for c in report["chains"] if c["kind"] not in ("cpu-preempted", "cpu-contended", "gpu-idle")],
             "sleep: no other chain but what really disturbed it")
tap.done_testing()
