#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A flight recorder is asked while something hangs: its file ends as a recording does, with the calls that are open and the waits
# that go on, as long as the workload's own clock and the recorder's words say. What comes after has them once, and whole.
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

WAITS = r"""
import json, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
for _ in range(2):
    print(json.dumps({"pid": os.getpid(), "began": time.monotonic_ns()}), flush=True)
    os.read(fd, 1)
"""


def sleeps(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "S"


def flight(name, *arguments, **settings):
    where = rec.path(name)
    os.makedirs(where)
    p = rec.start("-o", os.path.join(where, "f.ige"), "--flight-recorder", "1m", *arguments, **settings)
    return p, lambda: [os.path.join(where, f) for f in sorted(os.listdir(where))]


def waits(path, pid):
    """Its main thread's, unended and ended."""
    mine = [e for e in rec.dump(path)[0] if e["op"] == "offcpu" and e["tid"] == pid]
    return [e for e in mine if "cpu_in" not in e["x"]], [e for e in mine if "cpu_in" in e["x"]]


def begun(e):
    return e["end"] - e["dur"]


# ---- a wait
script, fifo = rec.path("waits.py"), rec.path("fifo")
with open(script, "w", encoding="utf-8") as f:
    f.write(WAITS)
os.mkfifo(fifo)
p, files = flight("wait", "--", sys.executable, script, fifo)
first = json.loads(p.stdout.readline())
rec.until(lambda: sleeps(first["pid"]))
asleep = time.monotonic_ns()
time.sleep(1)  # how long it is to have waited
asked = time.monotonic_ns()
p.send_signal(signal.SIGUSR1)
rec.said(p, "asked for")
told = time.monotonic_ns()
with open(fifo, "wb", buffering=0) as f:
    f.write(b"x")
second = json.loads(p.stdout.readline())
rec.until(lambda: sleeps(second["pid"]))
p.send_signal(signal.SIGINT)
p.communicate(timeout=rec.PATIENCE)
found = files()
if tap.same(len(found), 2, "asked once, and the end: two files"):
    going, ended = waits(found[0], first["pid"])
    tap.ok(len(going) == 1 and first["began"] <= begun(going[0]) <= asleep, "the first has the wait that goes on, from its beginning",
           (first, asleep, going))
    tap.ok(going and asked <= going[0]["end"] <= told, "until it was asked for", (asked, told, going))
    tap.none([e for e in ended if e["dur"] > 500000000], "and no wait that long that ended")
    s = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), "--json", found[0]], capture_output=True, text=True, timeout=300)
    tap.same([(x["pid"], x["longest_ns"]) for x in json.loads(s.stdout)["standing"] if x["pid"] == first["pid"]],
             [(first["pid"], e["dur"]) for e in going], "the report has it")
    later, whole = waits(found[1], first["pid"])
    long = [e for e in whole if e["dur"] > 500000000 and begun(e) < second["began"]]
    tap.ok(len(long) == 1 and begun(long[0]) == begun(going[0]) and long[0]["end"] <= second["began"], "the second has it once, to its end",
           (going, long, second))
    tap.same([(e["x"].get("object_kind"), e["stack"]) for e in long], [(e["x"].get("object_kind"), e["stack"]) for e in going],
             "of the same, at the same place")
    tap.none(later, "and none that goes on: the command has ended")

# ---- a call that does not return; not hung yet by what --hung says
p, files = flight("call", "--", rec.work("hang"))
child = json.loads(p.stdout.readline())["pid"]
rec.until(lambda: sleeps(child))
p.send_signal(signal.SIGUSR1)
rec.said(p, "asked for")
p.send_signal(signal.SIGINT)
p.communicate(timeout=rec.PATIENCE)
found = files()
events, records, _ = rec.dump(found[0])
opens = [r for r in records if r["record"] == "open"]
going, _ = waits(found[0], child)
tap.ok(opens and all(r.get("at_end") == 1 for r in opens), "a call that is open is in the file", opens)
tap.ok(len(going) == 1 and going[0]["depth"] == len(opens) and all(r["start_ns"] <= begun(going[0]) for r in opens), "and the wait inside it",
       (opens, going))
tap.same([subprocess.run([rec.STAT, f], capture_output=True).returncode for f in found], [0] * len(found), "each file is whole")
sums = [rec.counts(f)[0] for f in found]
tap.same(sums[0], sums[-1], "calls are counted once")

# ---- a run that makes calls, and then waits for its input
STOPS = r"""
import ctypes, os, sys
print(os.getpid(), flush=True)
c, s = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
c.cudaStreamCreate(ctypes.byref(s))
fd = os.open(sys.argv[1], os.O_RDWR)
for _ in range(2):
    for _ in range(50):
        c.cudaStreamSynchronize(s)
    os.read(fd, 1)
"""
with open(script, "w", encoding="utf-8") as f:
    f.write(STOPS)
p, files = flight("idle", "--trigger", "idle>1s", "--", sys.executable, script, fifo)
child = int(p.stdout.readline())
text = rec.said(p, "no call has returned for")
with open(fifo, "wb", buffering=0) as f:
    f.write(b"xx")
text += p.communicate(timeout=rec.PATIENCE)[1]
found = files()
if tap.same((len(found), text.count("no call has returned for")), (2, 1), "no call for a second: a file, once"):
    syncs = [e for e in rec.dump(found[0])[0] if e["op"] == "cudaStreamSynchronize"]
    going, _ = waits(found[0], child)
    tap.same(len(syncs), 50, "with the calls before")
    tap.ok(len(going) == 1 and going[0]["dur"] >= 900000000 and syncs and begun(going[0]) >= max(e["end"] for e in syncs),
           "and the wait behind them", going)
    tap.same(rec.counts(found[1])[0][("cuda", "cudaStreamSynchronize")], 100, "what went on then is in the other")
tap.ok(rec.run("--flight-recorder", "1s", "--trigger", "idle>0s", "-o", rec.path("none.ige"), "--", "true").returncode in (2, 125),
       "idle for no time is refused")
tap.done_testing()
