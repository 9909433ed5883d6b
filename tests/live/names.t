#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What threads call themselves: most do so before they do anything else, and every output has it, the newest last.
import glob
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige, BIN, THREADS, CALLS = rec.path("names.ige"), os.path.dirname(rec.RECORD), 6, 20
p = rec.run("-q", "-o", ige, "--", sys.executable, "-c", f"""
import ctypes, sys, threading
sys.path.insert(0, {rec.WORK!r})
import cuda
c, libc = cuda.Cuda("libcudart.so.13"), ctypes.CDLL(None)
def work(i):
    libc.prctl(15, b"first-%d" % i, 0, 0, 0)
    for _ in range({CALLS}): c.cudaDeviceSynchronize()
    libc.prctl(15, b"second-%d" % i, 0, 0, 0)
    for _ in range({CALLS}): c.cudaEventSynchronize(None)
all = [threading.Thread(target=work, args=(i,)) for i in range({THREADS})]
for t in all: t.start()
for t in all: t.join()
""")
tap.ok(p.returncode == 0, "recorded", p.stderr)


def out(program, *args):
    p = subprocess.run([os.path.join(BIN, program), *args, ige], capture_output=True, text=True, timeout=rec.PATIENCE)
    tap.ok(p.returncode == 0, f"{program} {' '.join(args)}", p.stderr)
    return p.stdout


def named(op):
    """By name, the calls of the outermost op."""
    found = {}
    for e in map(json.loads, out("ingero-export", "-f", "json", "-e", op).splitlines()):
        found[e["thread_name"]] = found.get(e["thread_name"], 0) + 1
    return found


tap.same(named("cudaDeviceSynchronize"), {f"first-{i}": CALLS for i in range(THREADS)}, "calls by the first name")
tap.same(named("cudaEventSynchronize"), {f"second-{i}": CALLS for i in range(THREADS)}, "and by the second")
newest = {f"second-{i}" for i in range(THREADS)}
rows = json.loads(out("ingero-stat", "--by", "thread", "--json"))["by"]["rows"]
tap.ok(newest <= {r["name"].split()[0] for r in rows if r["name"]}, "ingero-stat --by thread", rows)
shown = {}
for e in json.loads(out("ingero-export", "-f", "chrome"))["traceEvents"]:
    if e.get("name") == "thread_name":
        shown[e["pid"], e["tid"]] = e["args"]["name"]
tap.ok(newest <= set(shown.values()), "lines of a timeline", shown)
csv = [line for line in out("ingero-export", "-f", "csv", "-e", "cudaEventSynchronize").splitlines() if any(f",{n}," in line for n in newest)]
tap.same(len(csv), THREADS * CALLS, "csv")

# Each file of a row says them: the one in which a thread took its name may be gone.
row = rec.path("row.ige")
p = rec.run("-q", "-o", row, "--rotate-every", "200ms", "--", sys.executable, "-c", f"""
import ctypes, sys, time
sys.path.insert(0, {rec.WORK!r})
import cuda
c, libc = cuda.Cuda("libcudart.so.13"), ctypes.CDLL(None)
c.cudaDeviceSynchronize()
libc.prctl(15, b"renamed", 0, 0, 0)
for _ in range(20):
    c.cudaEventSynchronize(None)
    time.sleep(0.1)
""")
found = {}
for ige in sorted(glob.glob(row[:-4] + "-*.ige")):
    found[ige] = named("cudaEventSynchronize")
tap.ok(p.returncode == 0 and sum(bool(names) for names in found.values()) > 2, "calls in several files", (p.stderr, found))
tap.same({name for names in found.values() for name in names}, {"renamed"}, "a thread has its name in each")
tap.done_testing()
