#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The recorder where something fails: its disk, its memory, processes it cannot start, entries of /proc that go while they
# are read; killed, and stopped for a while. What it had written is whole, what is missing is counted or the end is missing,
# and the program that is recorded makes every call.
import errno
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "live")]
import faults as f
import recording as rec
from recording import tap

rec.need_bpf()
f.injecting()
ige, counts = rec.path("it.ige"), rec.path("counts")
OPS, COUNT = 15, 200  # what calls calls, and how often each
KILLS, PLACES = (200, 20) if f.ALL else (3, 1)
seed = int.from_bytes(os.urandom(4), "little")
dice = random.Random(seed)


def record(*arguments, rules=(), at=None, command=("--count", COUNT), **env):
    """(status, standard error, calls that the command made, calls and losses that the recording holds, report)."""
    if os.path.exists(ige):
        os.unlink(ige)
    before = [f.INJECT, *(["-a", at] if at else []), "-o", counts, *rules, "--"] if rules else []
    p = subprocess.run([*before, rec.RECORD, *rec.WHOLE, "-o", ige, *map(str, arguments), "--", rec.work("calls"), *map(str, command)],
                       env=rec.environment(**env), capture_output=True, text=True, timeout=rec.PATIENCE)
    truth = rec.truth(p.stdout)
    return p.returncode, p.stderr, truth[0]["calls"] if truth else None, *held(ige, truth[0]["ops"] if truth else {})


def held(path, ops):
    if not os.path.exists(path) or not os.path.getsize(path):
        return 0, 0, None
    events, records, report = rec.dump(path)
    return sum(e["source"] == "cuda" and (not ops or e["op"] in ops) for e in events), sum(r["count"] for r in records if r["record"] == "loss"), report


def spread(count, few):
    """So many of the places 1..count, one in the middle when it is one."""
    if few == 1 or count < 2:
        return [(count + 1) // 2]
    return sorted({1 + i * (count - 1) // (few - 1) for i in range(few)}) if count > few else range(1, count + 1)


def seen():
    with open(counts) as c:
        return [int(x) for x in c.read().split()]


# ---- without harm; how many places there are
status, err, made, got, lost, report = record("--flush", "20ms", rules=("writes:0:EIO", "any:0:EIO"), at=ige)
tap.same((status, made, got, lost, report["damaged"], report["unterminated"]), (0, OPS * COUNT, made, 0, 0, 0), "without harm: every call")
writes, files = seen()
status, err, made, got, lost, report = record(rules=("writes:/3:EINTR", "writes:/1:short"), at=ige)
tap.same((status, got, lost, report["damaged"], report["unterminated"]), (0, made, 0, 0, 0), "written in parts, and interrupted: every call")

# ---- a disk that fails once, or for good
for kind in ("ENOSPC", "EIO"):
    bad = []
    for n in spread(writes, PLACES):
        for form in ("", "+"):
            # Some of its bytes, then the error, as a disk does.
            rules = (f"writes:{n}:short", f"writes:{n + 1}{form}:{kind}") if form else (f"writes:{n}:{kind}",)
            status, err, made, got, lost, report = record("--flush", "20ms", rules=rules, at=ige)
            what = os.strerror(getattr(errno, kind))
            # Nothing was written where the first already fails.
            whole = report is None or (report["damaged"] == 0 and got <= made)
            said = f"{ige}" in err and what in err
            # A full disk is tried again, and the calls that found no room are counted.
            counted = form or kind == "EIO" or not report or report["unterminated"] or got + lost >= made
            if made != OPS * COUNT or not whole or not counted or (status == 0 and not got) or (status and not said):
                bad.append((f"{n}{form}", status, err[-300:], made, got, lost, report))
    tap.none(bad, f"{kind} at a write, once and from there on: what was written is whole")

# ---- no room for one of the last writes, when the recording is over: it is tried again
bad = []
for n in range(max(1, writes - 8), writes + 1):
    status, err, made, got, lost, report = record("--flush", "20ms", rules=(f"writes:{n}:ENOSPC",), at=ige)
    if (got, lost, report["damaged"], report["unterminated"]) != (made, 0, 0, 0) or status and ige not in err:
        bad.append((n, status, err[-300:], made, got, lost, report))
tap.none(bad, "ENOSPC at one of the last writes: every call, and an end")

# ---- no room for the next file of a row: the one before goes on, and the row with it
row = rec.path("row")
os.mkdir(row)
p = subprocess.run([f.INJECT, "-a", row + "/it-000002", "openat,open:1:ENOSPC", "openat,open:2:EDQUOT", "--", rec.RECORD, *rec.WHOLE, "-o", row + "/it.ige",
                    "--rotate-every", "300ms", "--", rec.work("calls"), "--count", "1500", "--rate", "20000"],
                   env=rec.environment(), capture_output=True, text=True, timeout=rec.PATIENCE)
truth, files = rec.truth(p.stdout)[0], sorted(os.listdir(row))
each = [held(os.path.join(row, name), truth["ops"]) for name in files]
tap.ok(len(files) > 1 and sum(got for got, _, _ in each) == truth["calls"] and not any(r["damaged"] or r["unterminated"] for _, _, r in each),
       f"no room for the next file at first: every call in {len(files)} files", (p.returncode, p.stderr[-600:], files, each))

# ---- processes that it cannot start, threads too: it says so, or does without
record(rules=("forks:0:EIO",))
forks = seen()[0]
bad = []
for n in spread(forks, 10 * PLACES if f.ALL else 2):
    status, err, made, got, lost, report = record(rules=(f"forks:{n}:EAGAIN",))
    if not ((status == 0 and got == made) or (status in (1, 3, 125) and os.strerror(errno.EAGAIN) in err)):
        bad.append((n, status, err[-300:], made, got, lost, report))
tap.none(bad, f"fork fails: {forks} places")

# ---- /proc goes away while it is read: what it tells is missing, calls are not
record(rules=("openat,open:0:EIO", "reads,getdents64,readlink,readlinkat:0:EIO"), at="/proc/")
bad, places = [], seen()
for calls, kind, count in (("openat,open", "ENOENT", places[0]), ("reads,getdents64,readlink,readlinkat", "ESRCH", places[1])):
    for n in spread(count, PLACES):
        status, err, made, got, lost, report = record(rules=(f"{calls}:{n}:{kind}",), at="/proc/")
        missed = got == 0 and "no CUDA library was seen" in err  # the one look at its libraries found nothing
        if not ((status == 0 and (got == made or missed) and report["damaged"] == 0) or (status == 125 and os.strerror(getattr(errno, kind)) in err)):
            bad.append((calls, n, status, err[-300:], made, got, lost))
tap.none(bad, f"/proc fails at one of {sum(places)} places: every call, or said")

# ---- no memory: it ends with a word, or goes on; no crash, and whole blocks
record(LD_PRELOAD=f.NOMEM, NOMEM_COUNT=counts)
count, bad = seen()[0], []
for n in spread(count, 10 * PLACES if f.ALL else 3):
    at = f"{n}{'+' if n % 3 == 0 else ''}"
    status, err, made, got, lost, report = record(LD_PRELOAD=f.NOMEM, NOMEM_AT=at)
    ended = status in (1, 3, 125) and err.strip()
    if not (status == 0 or ended) or (report and report["damaged"]) or made not in (None, OPS * COUNT):
        bad.append((at, status, err[-300:], made, got, lost, report))
tap.none(bad, f"one of {count} allocations fails: no crash, whole blocks")

# ---- killed at any moment: what is there is whole, and the program goes on
target = subprocess.Popen([rec.work("calls"), "--count", "100000000", "--rate", "20000"], env=rec.environment(), stdout=subprocess.DEVNULL)
try:
    bad, held_something = [], 0
    for i in range(KILLS):
        if os.path.exists(ige):
            os.unlink(ige)
        r = rec.start("-o", ige, "-p", target.pid, "--flush", "20ms")
        # Every other one while it attaches, the others once it has written more than how a file begins.
        after = dice.random() * 1.0
        if i % 2:
            while r.poll() is None and (not os.path.exists(ige) or os.path.getsize(ige) < 65536):
                time.sleep(0.01)
        time.sleep(after)
        r.kill()
        r.communicate()
        got, lost, report = held(ige, {})
        held_something += got > 0
        if target.poll() is not None or (report and (report["damaged"] or not report["unterminated"])):
            bad.append((after, target.poll(), got, report))
    tap.none(bad, f"kill -9 at {KILLS} moments (seed {seed}): whole blocks, no end, and the program goes on")
    tap.ok(held_something, "kill -9: some of them after events were written")
finally:
    target.kill()
    target.wait()

# ---- stopped where it has read what a process has mapped: what that loads meanwhile is not overlooked
w = subprocess.Popen([rec.work("latedl"), "--asked", "--second", "", "--count", "500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                     env=rec.environment())
r = subprocess.Popen([f.INJECT, "-a", f"/proc/{w.pid}/maps", "close:1:stop", "--", rec.RECORD, *rec.WHOLE, "-o", ige, "-p", str(w.pid)], env=rec.environment(),
                     stderr=subprocess.PIPE, text=True)
rec.until(lambda: "T" in rec.children(r.pid).values())
w.stdin.write("load\n")
w.stdin.flush()
w.stdout.readline()
os.kill(next(iter(rec.children(r.pid))), signal.SIGCONT)
rec.attached(r)
out, _ = w.communicate("call\n")
r.wait(rec.PATIENCE)
got, lost, report = held(ige, {})
tap.same((r.returncode, got, lost), (0, 1000, 0), "a library loaded while the recorder attaches: every call after that")

# ---- stopped, as a machine that sleeps: what came meanwhile is there or counted, and times go on
if os.path.exists(ige):
    os.unlink(ige)
r = rec.start("-o", ige, "--flush", "50ms", "--", rec.work("calls"), "--count", 60000, "--op", "cudaMalloc", "--rate", 20000)
while r.poll() is None and (not os.path.exists(ige) or os.path.getsize(ige) < 10000):
    time.sleep(0.01)
r.send_signal(signal.SIGSTOP)
time.sleep(1.5)
r.send_signal(signal.SIGCONT)
out, err = r.communicate(timeout=rec.PATIENCE)
made = rec.truth(out)[0]["ops"]["cudaMalloc"]["count"]
events, records, report = rec.dump(ige)
mine = [e["end"] for e in events if e["op"] == "cudaMalloc"]
lost = sum(x["count"] for x in records if x["record"] == "loss")
tap.ok(r.returncode == 0 and report["damaged"] == 0 and len(mine) <= made <= len(mine) + lost,
       f"stopped for 1.5 s: {len(mine)} of {made} calls, {lost} told as lost", err)
clocks = [(x["mono_ns"], x.get("boot_ns", 0)) for x in records if x["record"] == "clock"]
tap.ok(clocks and all(b for _, b in clocks) and clocks == sorted(clocks), "its clocks say when: the monotonic one and the one that counts sleep", clocks)
tap.done_testing()
