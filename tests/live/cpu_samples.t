#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Threads are found on their CPU as often as they have it: what programs in C and in Python say they spent in each of two
# functions, by their own clock of CPU time, is what the samples say, within what chance allows.
import glob
import json
import math
import os
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

HZ, SIGMAS, STALL_NS = 499, 5, 1_000_000


def spend(seconds):
    """As burn.c does, in Python."""
    import threading
    import time
    clock = time.thread_time_ns
    spent = {"burn_a": 0, "burn_b": 0, "stalls": 0}

    def part(n):
        x = 0
        for i in range(n):
            x += i * i
        return x

    def burn_a(until):
        begin = at = clock()
        while at < until:
            before = at
            part(300)
            at = clock()
            spent["stalls"] += at - before if at - before > STALL_NS else 0
        spent["burn_a"] += at - begin

    def burn_b(until):
        begin = at = clock()
        while at < until:
            before = at
            for _ in range(1000):
                pass
            at = clock()
            spent["stalls"] += at - before if at - before > STALL_NS else 0
        spent["burn_b"] += at - begin

    begin, start, chance = time.monotonic_ns(), clock(), 88172645463325252
    while clock() - start < seconds * 1e9:
        chance = chance * 6364136223846793005 + 1 & (1 << 64) - 1
        burn_a(clock() + 2_000_000 + (chance >> 40) % 12_000_000)
        burn_b(clock() + 1_000_000 + (chance >> 20) % 5_000_000)
    cpu = clock() - start
    print(json.dumps({"tid": threading.get_native_id(), "begin": begin, "end": time.monotonic_ns(), "cpu": cpu, **spent}))


if sys.argv[1:2] == ["spend"]:
    spend(float(sys.argv[2]))
    sys.exit(0)

import recording as rec  # noqa: E402
import tracks  # noqa: E402
from recording import tap  # noqa: E402

rec.need_bpf()
ige = rec.path("samples.ige")


def stolen():
    """Of all CPUs, as the kernel's account has it."""
    return sum(tracks.stolen_ns(cpu) for cpu in os.sched_getaffinity(0))


def function_of(event):
    """Which of the two functions it was in or under; None: neither."""
    names = (frame[0].split(".")[-1] for frame in event["stack"])
    return next((name for name in names if name in ("burn_a", "burn_b")), None)


def record(name, *command, options=()):
    before = stolen()
    p = rec.run("-F", HZ, "-o", ige, *options, "--", *command)
    said = rec.truth(p.stdout)
    if not tap.ok(p.returncode == 0 and said, f"{name}: records", p.stdout + p.stderr):
        return None, None, None, 0
    events, records, _ = rec.dump(ige)
    return said, [e for e in events if e["source"] == "cpu"], records, stolen() - before


def compare(name, said, samples, taken):
    for truth in said:
        mine = [e for e in samples if e["tid"] == truth["tid"] and truth["begin"] <= e["end"] <= truth["end"]]
        want = truth["cpu"] * HZ / 1e9
        allowed = SIGMAS * math.sqrt(want) + 2
        # A CPU that was with somebody else, seen or not, was not looked at.
        missed = (taken + truth["stalls"]) * HZ / 1e9
        tap.ok(want - allowed - missed <= len(mine) <= want + allowed,
               f"{name}: {len(mine)} samples of {truth['cpu'] / 1e9:.2f} s of CPU, {want:.0f} +- {allowed:.0f} (- {missed:.0f})")
        share = truth["burn_a"] / (truth["burn_a"] + truth["burn_b"])
        found = [function_of(e) for e in mine]
        known = [f for f in found if f]
        tap.ok(len(known) >= 0.9 * len(mine), f"{name}: {len(known)} of {len(mine)} in one of the two functions",
               [e["stack"] for e, f in zip(mine, found) if not f][:3])
        got = known.count("burn_a") / max(len(known), 1)
        allowed = SIGMAS * math.sqrt(share * (1 - share) / max(len(known), 1)) + missed / max(want, 1)
        tap.ok(abs(got - share) <= allowed, f"{name}: {got:.1%} in one of them, {share:.1%} +- {allowed:.1%} by its own clock")
        tap.none([e for e in mine if e["dur"] or e["x"].get("in_kernel") not in (0, 1, 2)
                  or e["x"].get("cpu") not in os.sched_getaffinity(0)],
                 f"{name}: each is of an instant, on a CPU, in the kernel or not")


def preempted(name, *command):
    """Where threads are when another one takes their CPU is where they use it."""
    cpu = str(min(os.sched_getaffinity(0)))
    with subprocess.Popen(["taskset", "-c", cpu, burn, "60"], stdout=subprocess.DEVNULL) as other:
        said, _, _, _ = record(name, "taskset", "-c", cpu, *command)
        other.kill()
    taken = [e for e in rec.dump(ige)[0] if (e["source"], e["op"]) == ("sched", "offcpu") and e["dur"] == e["x"]["wait_ns"]]
    for truth in said or ():
        mine = [e for e in taken if e["tid"] == truth["tid"] and truth["begin"] <= e["end"] <= truth["end"]]
        found = [function_of(e) for e in mine if e["stack"]]
        known = [f for f in found if f]
        tap.ok(len(found) >= 20 and len(known) >= 0.9 * len(found),
               f"{name}: preempted {len(mine)} times, {len(found)} with a stack, {len(known)} in one of the two functions")
        share = truth["burn_a"] / (truth["burn_a"] + truth["burn_b"])
        got = known.count("burn_a") / max(len(known), 1)
        allowed = SIGMAS * math.sqrt(share * (1 - share) / max(len(known), 1))
        tap.ok(abs(got - share) <= allowed, f"{name}: {got:.1%} in one of them, {share:.1%} +- {allowed:.1%} by its own clock")
        ran = truth["cpu"] / 1e6
        tap.ok(len(found) <= ran / 4 + 1, f"{name}: at most once in 4 ms of its {ran:.0f} ms of CPU")


def reports(name, said):
    """What the programs for people make of the recording that was made last."""
    explain = os.path.join(rec.BUILD, "bin", "ingero-explain")
    p = subprocess.run([explain, "--json", ige], capture_output=True, text=True)
    used = (json.loads(p.stdout) if p.returncode == 0 else {}).get("on_cpu") or {"threads": []}
    events = [e for e in rec.dump(ige)[0] if e["source"] == "cpu"]
    tap.same((used.get("hz"), used.get("samples")), (HZ, len(events)), f"{name}: explain counts every sample")
    for truth in said:
        mine = [e for e in events if e["tid"] == truth["tid"]]
        row = next((t for t in used["threads"] if t["tid"] == truth["tid"]), {"places": []})
        got = {f: sum(x["samples"] for x in row["places"] if x["text"].startswith(f)) for f in ("burn_a", "burn_b")}
        found = [next((f[0] for f in e["stack"] if f[0].startswith("burn_")), None) for e in mine]
        want = {f: found.count(f) for f in got}
        # What they call for the time is a function of the program too.
        clock = sum(x["samples"] for x in row["places"] if x["text"].startswith("clock_ns ") and x["caller"].startswith(" < burn_"))
        # Caught on the way into or out of the C library, it may be called by that.
        tap.ok(row.get("samples") == len(mine) and all(n >= got[f] >= 0.98 * n - 2 - clock for f, n in want.items()) and
               sum(got.values()) + clock >= 0.98 * sum(want.values()) - 2,
               f"{name}: and by thread and function", f"{row}\n{want}")
    text = subprocess.run([explain, ige], capture_output=True, text=True).stdout
    tap.ok(f"by samples, {HZ} a second of each CPU:" in text and "burn_a (burn)" in text, f"{name}: and says where", text)
    tap.same((used.get("steps"), [p["caller"] for t in used["threads"] for p in t["places"] if p["text"].startswith("burn_a ")][:1]),
             (False, [" < work"]), f"{name}: and who called it, in all of a recording without steps")
    tap.same(rec.stat(ige)["coverage"].get("cpu_samples_hz"), HZ, f"{name}: stat says how often")
    rows = [o for o in rec.stat(ige)["ops"] if o["source"] == "cpu"]
    tap.same([(o["op"], o["count"], o["total_ns"]) for o in rows], [("sample", len(events), 0)], f"{name}: and counts them, as no time")


burn = rec.path("burn")
compiler = shlex.split(os.environ.get("INGERO_COMPILE", "gcc -std=gnu11 -D_GNU_SOURCE -I."))
subprocess.run([*compiler, "-O1", "-fno-omit-frame-pointer", os.path.join(rec.HERE, "burn.c"), "-o", burn, "-lpthread"], check=True)
for name, options in (("C", ()), ("C, without host tracks", ("--no-sched",)), ("C, walked by the kernel", ("--walker=helper",))):
    said, samples, records, taken = record(name, burn, 2, options=options)
    if said:
        compare(name, said, samples, taken)
        sessions = [r for r in records if r["record"] == "session"]
        tap.same([r.get("cpu_samples_hz") for r in sessions], [HZ], f"{name}: the recording says how often")
        coverage = [r for r in records if r["record"] == "coverage" and r.get("layer") == "cpu"]
        tap.same([(r["requested"], r["attached"]) for r in coverage], [(1, 1)], f"{name}: and that it was done")
        if name == "C":
            reports(name, said)

preempted("C, preempted", burn, 2)

# New memory is cleared by the kernel when it is touched: CPU time of whoever touches it.
FRESH = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.memset.argtypes = libc.free.argtypes = None
def touch(p, n):
    ctypes.memset(p, 1, n)
kept = ctypes.create_string_buffer(64 << 20)
end = time.thread_time() + 1.5
while time.thread_time() < end:
    p = libc.malloc(64 << 20)
    touch(p, 64 << 20)
    libc.free(ctypes.c_void_p(p))
"""
p = rec.run("-F", HZ, "-o", ige, "--", sys.executable, "-c", FRESH)
touched = [e for e in rec.dump(ige)[0] if e["source"] == "cpu" and "touch" in [f[0].split(".")[-1] for f in e["stack"]]]
faults = [e for e in touched if e["x"].get("in_kernel") == 2]
tap.ok(len(touched) > HZ / 2 and len(faults) > 0.5 * len(touched), "new memory: most of the time that touches it is the kernel's",
       f"{len(faults)} of {len(touched)}: {p.stderr}")
tap.none([e["stack"] for e in faults if e["stack"][0][0] != "page fault"], "and their stacks say so")
text = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), ige], capture_output=True, text=True).stdout
tap.ok("in page faults" in text or "page fault" in text, "and the report", text)

VERSION = "import sys; print(*sys.version_info[:2])"
pythons = {}
for path in [sys.executable, "/usr/bin/python3", *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python")))]:
    p = subprocess.run([path, "-c", VERSION], capture_output=True, text=True) if os.access(path, os.X_OK) else None
    version = tuple(map(int, p.stdout.split())) if p and p.returncode == 0 else ()
    if version >= (3, 8):
        pythons.setdefault(version, path)
for version, path in sorted(pythons.items()):
    name = "CPython " + ".".join(map(str, version))
    said, samples, records, taken = record(name, path, os.path.abspath(__file__), "spend", 1.5)
    if said:
        compare(name, said, samples, taken)
preempted("CPython, preempted", sys.executable, os.path.abspath(__file__), "spend", 1.5)


def sampled(name, *options, hz=None, command=(burn, 0.3), before=()):
    """Whether the recording says how often CPUs were sampled, and has samples exactly where it does."""
    p = subprocess.run([*before, rec.RECORD, *options, "-o", ige, "--", *map(str, command)], env=rec.environment(), capture_output=True, text=True)
    events, records, _ = rec.dump(ige) if p.returncode == 0 else ([], [], 0)
    got = [r.get("cpu_samples_hz") for r in records if r["record"] == "session"]
    tap.ok(p.returncode == 0 and got == [hz] and any(e["source"] == "cpu" for e in events) == bool(hz), name, f"{got} {p.stderr}")
    return p, records


sampled("99 samples a second are taken without an option", hz=99)
sampled("-F 0 takes none", "-F", "0")
for options in (("--no-stacks",), ("-e", "cudaMalloc"), ("--exclude", "cpu")):
    sampled(f"neither does {' '.join(options)}", *options)
sampled("-e cpu takes samples", "-e", "cpu", hz=99)
sampled("-F 499 is what is taken", "-F", "499", hz=499)

# What the recorder says that samples cost, the interrupts behind them included: of each, between a plain interrupt's tenth of a
# microsecond and what walking two stacks on a guest takes ten times over.
BUSY = "x = 0\nfor i in range(4000000):\n    x += i\n"
LEAST_NS, MOST_NS = 100, 200000
said = {}
for hz in (0, 4999):
    rec.run("-F", hz, "-o", ige, "--", sys.executable, "-c", BUSY)
    events, records, _ = rec.dump(ige)
    said[hz] = (sum(r.get("host_ns", 0) for r in records if r["record"] == "cost"), sum(e["source"] == "cpu" for e in events))
each = (said[4999][0] - said[0][0]) / max(said[4999][1], 1)
tap.ok(said[4999][1] > 100 and LEAST_NS < each < MOST_NS, f"samples are said to cost {each / 1000:.1f} us each", said)

# A kernel that refuses its clock.
refuses = [os.path.join(rec.BUILD, "tests", "fault", "inject"), "perf_event_open:1+:EACCES", "--"]
if subprocess.run([*refuses, "true"], capture_output=True).returncode == 0:
    p, records = sampled("a kernel that refuses perf events is recorded without samples", "--link=multi", before=refuses)
    tap.ok("CPUs are not sampled: Permission denied" in p.stderr, "and it is said", p.stderr)
    tap.same([(r["requested"], r["attached"], r["reason"]) for r in records if r["record"] == "coverage" and r.get("layer") == "cpu"],
             [(1, 0, "Permission denied")], "in the recording, too")
    p = subprocess.run([*refuses, rec.RECORD, "--link=multi", "-F", "99", "-o", ige, "--", "true"], env=rec.environment(), capture_output=True, text=True)
    tap.ok(p.returncode == 125 and "cannot sample CPUs: Permission denied" in p.stderr, "who asks for samples gets no recording without", p.stderr)
for value, words in (("-1", "within 0..10000"), ("20000", "within 0..10000"), ("often", "whole number")):
    p = rec.run("-F", value, "-o", ige, "--", "true")
    tap.ok(p.returncode in (2, 125) and words in p.stderr, f"-F {value} is refused, and says why", p.stderr)
for other in ("--no-stacks", "--no-probes"):
    p = rec.run("-F", 99, other, "-o", ige, "--", "true")
    tap.ok(p.returncode in (2, 125) and other in p.stderr, f"-F with {other} is refused", p.stderr)
tap.done_testing()
