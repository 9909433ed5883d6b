#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Who releases: when it acted, by its own clock, read on both sides of the call that releases; and of a server that nobody
# asked to record what it was at, once it has released a recorded thread a few times. On a busy machine, where the kernel moves
# threads that sleep from one CPU to another and counts them as waiting, nobody waits for a CPU before being woken.
import json
import os
import subprocess
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
    tap.none([e for e in tracks.of_thread(rec.dump(ige)[0], said["child"]) if e["x"].get("waking_ns", 0) > e["dur"] - e["x"]["wait_ns"]],
             f"{name}: never before the sleep began")


cpus = sorted(os.sched_getaffinity(0))
releases("on one CPU", cpus[0], cpus[0])
if len(cpus) > 1:
    releases("on another CPU", cpus[0], cpus[-1])
else:
    tap.skip("on another CPU", "there is one")

# A server outside: it reads a request, sleeps, answers; and says when it slept, by its clock.
SERVER = r"""
import json, os, sys, time
asked, answered = (os.open(p, os.O_RDWR) for p in sys.argv[1:3])
slept = []
print(os.getpid(), flush=True)
while os.read(asked, 1) == b"?":
    before = time.monotonic_ns()
    time.sleep(0.02)
    slept.append((before, time.monotonic_ns()))
    os.write(answered, b"!")
print(json.dumps(slept), flush=True)
"""
CLIENT = r"""
import os, sys
asked, answered = (os.open(p, os.O_RDWR) for p in sys.argv[1:3])
for _ in range(int(sys.argv[3])):
    os.write(asked, b"?")
    os.read(answered, 1)
print('{"pid": %d}' % os.getpid())
"""
ASKED = 40


def outside():
    fifos = [rec.path("asked"), rec.path("answered")]
    for f in fifos:
        os.mkfifo(f)
    server = subprocess.Popen([sys.executable, "-c", SERVER, *fifos], stdout=subprocess.PIPE, text=True)
    pid, ige = int(server.stdout.readline()), rec.path("outside.ige")
    p = rec.run("-o", ige, "--", sys.executable, "-c", CLIENT, *fifos, ASKED)
    with open(fifos[0], "w") as f:
        f.write(".")
    slept = json.loads(server.stdout.readline())
    server.wait()
    server.stdout.close()
    if not tap.ok(p.returncode == 0 and " lost 0" in p.stderr, "outside: recorded, nothing lost", p.stderr):
        return
    events, _, _ = rec.dump(ige)
    client = rec.truth(p.stdout)[-1]["pid"]
    mine = [e for e in tracks.sched(events, "outside") if e["threads"]["releaser"][0] == pid]
    tap.none([e for e in mine if e["tid"] or e["pid"]], "outside: on no thread's track, of no process")
    sleeps = [e for e in mine if e["x"].get("object_kind") == tracks.TIMER]
    found = [(b, a, [e for e in sleeps if b <= e["end"] - e["dur"] and e["end"] <= a]) for b, a in slept]
    # The third wake-up begins what is recorded. An answer that finds the program on its way to sleep wakes nobody.
    while found and not found[0][2]:
        found.pop(0)
    tap.ok(len(found) > ASKED / 2, f"outside: {len(found)} sleeps of the server from the first one that is recorded")
    tap.none([x for x in found if len(x[2]) != 1], f"outside: each of {len(found)} sleeps of the server is recorded, once")
    tap.none([(a - b, x[0]["dur"]) for b, a, x in found if x and not 20_000_000 <= x[0]["dur"] <= a - b], "outside: as long as by its own clock")
    # A host may keep a task out of the sight of BPF: what wakes a thread on top of that one is not seen, only how long it slept.
    ended = [x[0]["x"].get("waker_kind", tracks.NO_WAKER) for _, _, x in found if x]
    tap.none([kind for kind in ended if kind not in (tracks.BY_TIMER, tracks.NO_WAKER)], "outside: ended by nobody but a timer")
    tap.ok(ended.count(tracks.BY_TIMER) > len(ended) / 2, "outside: which is seen most times", ended)
    idle = [e for e in mine if e["x"].get("object_kind") == tracks.FD and e["threads"].get("waker", [0])[0] == client]
    # Not where it was asked before it came to wait: the other may be the quicker one.
    tap.ok(len(idle) > ASKED / 10, f"outside: {len(idle)} times it waited for the recorded program to ask")
    tap.ok(mine and "cpu_in" not in mine[-1]["x"] and mine[-1]["x"].get("object_kind") == tracks.FD, "outside: in the end it waits still", mine[-1:])
    tap.none([e for e in tracks.sched(events, "offcpu") if e["pid"] not in (client,) and e["tid"] == pid], "outside: no interval as of a recorded thread")
    p = subprocess.run([rec.STAT, "--json", ige], capture_output=True, text=True)
    tap.ok(p.returncode == 0 and f'"pid":{pid}' not in p.stdout.replace(" ", ""), "outside: ingero-stat counts no process more", p.stdout[:400] + p.stderr)
    recorders = [e for e in tracks.sched(events, "outside") if e["threads"]["releaser"][2].startswith("ingero-rec")]
    tap.none(recorders, "outside: never the recorder")


outside()

# More threads than CPUs: some spin, some read a byte, work for longer than their share of a CPU, and read again.
BUSY = r"""
import json, os, sys, time
spins, readers = [], []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        while os.getppid() != 1:
            for _ in range(100_000):
                pass
        os._exit(0)
    spins.append(pid)
for _ in range(12):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(w)
        while os.read(r, 1):
            until = time.thread_time() + 0.004
            while time.thread_time() < until:
                pass
        os._exit(0)
    os.close(r)
    readers.append((pid, w))
acts = []
for i in range(int(sys.argv[1])):
    pid, w = readers[i % len(readers)]
    time.sleep(0.02)
    if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "S":
        acts.append((pid, time.monotonic_ns()))
        os.write(w, b".")
for pid in spins:
    os.kill(pid, 9)
for _, w in readers:
    os.close(w)
print(json.dumps({"pid": os.getpid(), "acts": acts}))
"""


def busy():
    ige = rec.path("busy.ige")
    p = rec.run("-o", ige, "--", sys.executable, "-c", BUSY, 500)
    if not tap.ok(p.returncode == 0 and " lost 0" in p.stderr, "busy: recorded, nothing lost", p.stderr):
        return
    events, acts = rec.dump(ige)[0], rec.truth(p.stdout)[-1]["acts"]
    reads = [e for e in tracks.sched(events, "offcpu") if e["x"].get("object_kind") == tracks.FD]
    woken = [(acted, e) for e in reads for pid, acted in acts if pid == e["pid"] and e["end"] - e["dur"] <= acted < e["end"]]
    tap.ok(len(woken) > len(acts) / 2, f"busy: {len(woken)} of {len(acts)} writes ended a recorded sleep")
    tap.none([(acted, e) for acted, e in woken if e["end"] - e["x"]["wait_ns"] < acted], "busy: nobody waits for a CPU before being woken")


busy()
tap.done_testing()
