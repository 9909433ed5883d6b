#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Waiting for a CPU, against the kernel's own accounting of the same thread: run delay (schedstat) at several
# doses of a hog on its core, time throttled by a quota, and who had the CPU meanwhile, without a hole.
# Alone: it accounts for each CPU.
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
import tracks
from recording import tap

rec.need_bpf()
if not os.path.exists("/proc/self/schedstat"):
    tap.skip_all("this kernel keeps no run delay per task (CONFIG_SCHED_INFO)")

CPU = tracks.cpu_for_test()
THIEF = f"thief-{os.getpid()}" # nobody else on this machine
# So much work, not so much time: where others take the CPU, too, it lasts until the hog has had its part, and the quota.
TRAIN = [rec.work("train"), "--cpu", CPU, "--step-us", 2000, "--call-us", 200]
LONG, SHORT = ["--steps", 150], ["--steps", 25] # 4 ms of CPU each


def with_hog(duty, fn):
    """fn() while a hog takes duty per cent of the core; the hog's truth, None without."""
    if not duty:
        fn()
        return None
    truth = rec.path("hog.truth")
    open(truth, "w").close()
    hog = subprocess.Popen([rec.work("hog"), "--cpu", str(CPU), "--duty", str(duty), "--seconds", "0", "--comm", THIEF,
                            "--truth", truth], env=rec.environment())
    try:
        fn()
    finally:
        hog.send_signal(signal.SIGTERM)
        hog.wait()
    with open(truth) as f:
        said = [json.loads(line) for line in f]
    return said[-1]


def record(name, *command):
    """(events, the truths the workload printed), or None."""
    ige = rec.path("sched.ige")
    p = rec.run("-o", ige, "--", *command)
    said = rec.truth(p.stdout)
    if not tap.ok(p.returncode == 0 and said and " lost 0" in p.stderr, f"{name}: recorded, nothing lost", p.stderr):
        return None
    return rec.dump(ige)[0], said


def check_waits(name, events, truth, stolen):
    """Waits of the thread that printed this truth, and who had its CPU. stolen: by the hypervisor meanwhile."""
    mine = tracks.within(tracks.of_thread(events, truth["tid"]), truth)
    who, waited, hole, unsound = tracks.occupancy(events, truth["tid"], truth)
    # A CPU takes a moment to wake up or to switch, which the kernel counts as the thread's own or as its delay.
    waking, want = who["swapper"] + who[None], truth["run_delay_ns"]
    got = tracks.total(mine, "wait_ns") - waking
    tap.ok(tracks.near(got, want) or tracks.near(got + waking, want) or got <= want <= got + waking,
           f"{name}: waited {tracks.ms(got)} and {tracks.ms(waking)} to wake up, run delay {tracks.ms(want)}")
    tap.ok(hole <= max(waited / 1000, 200_000), f"{name}: slices cover the waits", f"{tracks.ms(hole)} of {tracks.ms(waited)}")
    tap.same(unsound, 0, f"{name}: moves lead from CPU to CPU")
    tracks.check_given_once(events, f"{name}: ")
    off = sum(e["dur"] for e in mine)
    cpu = truth["cpu_ns"]
    tap.ok(off - waking + cpu <= truth["wall_ns"] * 1.01 and off + cpu + stolen >= truth["wall_ns"] * 0.98,
           f"{name}: off the CPU {tracks.ms(off)} and on it {tracks.ms(cpu)} make {tracks.ms(truth['wall_ns'])}", f"stolen {tracks.ms(stolen)}")
    # What blocked it ended when it was woken: else every wait would be as much too long as its CPU takes to come back.
    blocked, slept = off - tracks.total(mine, "wait_ns"), truth["wall_ns"] - cpu - want
    # The kernel's two sums leave out a thousandth of the time: interrupts, and what switching takes.
    left_out = max(1_000_000, truth["wall_ns"] // 500)
    tap.ok(slept - stolen - tracks.TICK_NS - left_out <= blocked <= slept + len(mine) * 3000 + 1_000_000 + stolen,
           f"{name}: blocked {tracks.ms(blocked)}, neither ran nor waited {tracks.ms(slept)} ({len(mine)} intervals)", f"stolen {tracks.ms(stolen)}")
    return who, got


for duty in (0, 5, 20, 50):
    name = f"hog of {duty} %"
    result, stolen = [], tracks.stolen_ns(CPU)
    with_hog(duty, lambda: result.append(record(name, *TRAIN, *LONG)))
    stolen = tracks.stolen_ns(CPU) - stolen
    if not result[0]:
        continue
    who, got = check_waits(name, result[0][0], result[0][1][-1], stolen)
    if duty:
        # Others may run there too: what they took is in the run delay and in the slices, under their names.
        others = sum(ns for comm, ns in who.items() if comm not in (THIEF, "swapper", None))
        tap.ok(tracks.near(who[THIEF], got - others, 0.05),
               f"{name}: thief {tracks.ms(who[THIEF])} of {tracks.ms(got)}", who.most_common(8))
        tap.ok(who[THIEF] > 0.3 * duty / 100 * result[0][1][-1]["cpu_ns"], f"{name}: which is a dose", who.most_common(8))
    else:
        tap.same(who[THIEF], 0, f"{name}: nobody of that name")

# Woken a thousand times, mostly on a CPU that idles.
name, stolen = "waits for the device", tracks.stolen_ns(CPU)
result = record(name, *TRAIN[:3], "--seconds", 2, "--step-us", 200, "--call-us", 10, "--device-us", 1500)
if result:
    events, said = result
    check_waits(name, events, said[-1], tracks.stolen_ns(CPU) - stolen)
    naps = [e for e in tracks.within(tracks.of_thread(events, said[-1]["tid"]), said[-1]) if e["x"]["wait_ns"] < e["dur"]]
    tap.ok(len(naps) > 100, f"{name}: {len(naps)} of them")


def throttled(name, duty):
    stat = rec.path("quota.truth")
    if os.path.exists(stat):
        os.unlink(stat)
    result, stolen = [], tracks.stolen_ns(CPU)
    with_hog(duty, lambda: result.append(rec.run(
        "-o", rec.path("sched.ige"), "--", os.path.join(rec.ROOT, "tests/double/throttled"), "--quota-us", 5000,
        "--truth", stat, "--", *TRAIN, *SHORT)))
    stolen = tracks.stolen_ns(CPU) - stolen
    p = result[0]
    if p.returncode == 77:
        tap.skip(name, p.stderr.strip().splitlines()[-1])
        return
    said = rec.truth(p.stdout)
    if not tap.ok(p.returncode == 0 and said, f"{name}: recorded", p.stderr):
        return
    events = rec.dump(rec.path("sched.ige"))[0]
    check_waits(name, events, said[-1], stolen)
    with open(stat) as f:
        kernel = json.loads(f.read().splitlines()[-1])["throttled_ns"]
    got = tracks.total(tracks.of_thread(events, said[-1]["tid"]), "throttled_ns")
    tap.ok(kernel > 100_000_000, f"{name}: the quota took {tracks.ms(kernel)}")
    tap.ok(tracks.near(got, kernel, 0.02, 5_000_000), f"{name}: throttled {tracks.ms(got)}, the group says {tracks.ms(kernel)}")
    # While it is throttled its CPU may idle: all of its waits, whoever had it.
    waited = tracks.total(tracks.within(tracks.of_thread(events, said[-1]["tid"]), said[-1]), "wait_ns")
    rest, want = waited - got, said[-1]["run_delay_ns"] - kernel
    tap.ok(tracks.near(rest, want, 0.05, 10_000_000),
           f"{name}: waited otherwise {tracks.ms(rest)}, run delay less throttled {tracks.ms(want)}")


throttled("quota", 0)
throttled("quota and a hog outside it", 50)
tap.done_testing()
