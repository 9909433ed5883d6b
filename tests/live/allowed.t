#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# On which CPUs threads may run: as the program reads it of itself in /proc, at the start and after each change, whoever makes it.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
CPUS = sorted(os.sched_getaffinity(0))
if len(CPUS) < 2:
    tap.skip_all("this test may run on one CPU only")

# Three threads: one that keeps what it was given, one that changes that itself, one that is changed from outside while it sleeps.
PROGRAM = r"""
import json, os, sys, threading, time
first = int(sys.argv[1])
def allowed():
    with open(f"/proc/self/task/{threading.get_native_id()}/status") as f:
        return next(line.split()[1] for line in f if line.startswith("Cpus_allowed_list"))
said = []
def say(who):
    said.append((threading.get_native_id(), allowed(), time.monotonic_ns()))
def changes_itself():
    say("before")
    os.sched_setaffinity(0, {first})
    time.sleep(0.01) # it is given a CPU anew
    say("after")
def is_changed():
    say("before")
    asleep.set()
    go.acquire()
    say("after")
go, asleep = threading.Semaphore(0), threading.Event()
say("main")
a, b = threading.Thread(target=changes_itself), threading.Thread(target=is_changed)
a.start(); a.join()
b.start(); asleep.wait()
print(b.native_id, flush=True)
sys.stdin.readline()
go.release()
b.join()
say("main")
print(json.dumps({"pid": os.getpid(), "said": said}))
"""
MANY = r"""
import os, threading
gate = threading.Barrier(301)
threads = [threading.Thread(target=gate.wait) for _ in range(300)]
for t in threads:
    t.start()
gate.wait()
for t in threads:
    t.join()
print('{"pid": %d}' % os.getpid())
"""


def state_of(tid):
    with open(f"/proc/{tid}/stat", encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def allowed(ige):
    """(tid, 0 of a process; pid, CPUs, time) of each record, as the independent reader gives them."""
    lines = subprocess.run([sys.executable, os.path.join(rec.ROOT, "tests", "ige_reader.py"), ige], capture_output=True, text=True).stdout
    records = [r for r in map(json.loads, lines.splitlines()) if r.get("record") == "allowed"]
    return [(r.get("thread", {}).get("tid", 0), (r.get("process") or r["thread"]["process"])["pid"], r["cpus"], r["time_ns"]) for r in records]


def at(records, pid, tid, time_ns):
    """Where the thread may run then, by the records so far; None: nothing was said."""
    so_far = [r for r in records if r[1] == pid and r[3] <= time_ns]
    own = [r[2] for r in so_far if r[0] == tid]
    whole = [r[2] for r in so_far if r[0] == 0]
    return (own or whole or [None])[-1]


ige = rec.path("allowed.ige")
p = subprocess.Popen([rec.RECORD, *rec.WHOLE, "-o", ige, "--", sys.executable, "-c", PROGRAM, str(CPUS[0])], env=rec.environment(),
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
tid = int(p.stdout.readline())
rec.until(lambda: state_of(tid) == "S")
os.sched_setaffinity(tid, {CPUS[-1]})
out, err = p.communicate("go\n", timeout=rec.PATIENCE)
if tap.ok(p.returncode == 0, "recorded", err):
    truth, records = json.loads(out.splitlines()[-1]), allowed(ige)
    said = [(t, cpus, at(records, truth["pid"], t, when)) for t, cpus, when in truth["said"]]
    tap.none([x for x in said if x[1] != x[2]], f"{len(said)} times, what /proc says of the thread")
    tap.same({x[1] for x in said} >= {str(CPUS[0]), str(CPUS[-1])}, True, "changed by itself, and by others while it sleeps")
    mine = [r for r in records if r[1] == truth["pid"]]
    tap.same((len([r for r in mine if not r[0]]), len({r[0] for r in mine if r[0]})), (1, 2), "once of the process, and of the two that changed")

p = rec.run("-o", ige, "--", sys.executable, "-c", MANY)
if tap.ok(p.returncode == 0, "of 300 threads: recorded", p.stderr):
    pid = rec.truth(p.stdout)[-1]["pid"]
    tap.same(len([r for r in allowed(ige) if r[1] == pid]), 1, "of 300 threads that are alike: one record")
tap.done_testing()
