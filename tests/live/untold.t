#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What is lost beside events (stacks, names of kernels) is in the recording as often as the recorder tells a person, in each of
# its files, and every reader says so. The recorder is stopped until its ring is full, so it is known what does not fit.
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, "tests")
import recording as rec
import schema
from recording import tap

rec.need_bpf()
BIN = os.path.join(rec.BUILD, "bin")

# Fills the ring when told to, and then does what is not told any more.
FILLS = r"""
import ctypes, sys, threading
c, d = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcuda.so.1")
f, p = ctypes.c_void_p(), ctypes.c_void_p()
c.cudaMalloc(ctypes.byref(p), 4096)
d.cuModuleGetFunction(ctypes.byref(f), ctypes.c_void_p(16), b"told")
print("ready", flush=True)
sys.stdin.readline()
for _ in range(5000):
    c.cudaMemset(p, 0, 4096)
def elsewhere():
    c.cudaMemset(p, 0, 4096)
elsewhere()
for name in (b"a", b"b", b"c" * 300):
    d.cuModuleGetFunction(ctypes.byref(f), ctypes.c_void_p(16), name)
for _ in range(6000):
    t = threading.Thread(target=int)
    t.start()
    t.join()
print("full", flush=True)
sys.stdin.readline()
c.cudaMemset(p, 0, 4096)
"""
script = rec.path("fills.py")
with open(script, "w") as f:
    f.write(FILLS)


def lost(recording):
    """What -> (lost, of) as the last COVERAGE record of it says."""
    records = rec.dump(recording)[1]
    return {r["layer"][5:]: (r["failed"], r["requested"]) for r in records if r["record"] == "coverage" and r["layer"].startswith("lost ")}


def recorded(*arguments):
    """Records the script, stopped while the ring fills up; what the recorder said."""
    work = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=rec.environment())
    work.stdout.readline()
    r = rec.start(*arguments, "--ring", "64k", "--no-sched", "-p", work.pid)
    said = rec.attached(r)
    r.send_signal(signal.SIGSTOP)
    rec.until(lambda: open(f"/proc/{r.pid}/stat").read().rsplit(") ", 1)[1][0] == "T")
    work.stdin.write("\n")
    work.stdin.flush()
    work.stdout.readline()
    r.send_signal(signal.SIGCONT)
    work.stdin.write("\n")
    work.stdin.close()
    work.wait()
    said += r.communicate(timeout=rec.PATIENCE)[1]
    return said


def told(said, words):
    m = re.search(rf"([\d,]+) {words} lost", said)
    return int(m[1].replace(",", "")) if m else 0


ige = rec.path("untold.ige")
said = recorded("-o", ige)
have = lost(ige)
tap.same(have.get("kernel names", (0, 0))[0], 3, "names of kernels that did not fit are in the recording")
tap.ok(have.get("stacks", (0, 0))[0] >= 1 and have["stacks"][1] >= have["stacks"][0], "stacks are too", (have, said))
tap.same((told(said, "names of kernels"), told(said, "stacks")), (have["kernel names"][0], have["stacks"][0]), "as many as the recorder says")
records = rec.dump(ige)[1]
ring = sum(r["count"] for r in records if r["record"] == "loss")
m = re.search(r"recorded .*, lost ([\d,]+);", said)
tap.same(ring, int(m[1].replace(",", "")) if m else None, "and as many events")
life = sum(r["count"] for r in records if r["record"] == "loss" and r.get("source") == 3 and r["reason"] == 1)
told_life = re.findall(r"lost ([\d,]+) host events in [^:]*: ring full", said)
tap.ok(life > 0 and told_life and life == int(told_life[-1].replace(",", "")), "births and deaths of threads that did not fit their ring, too", (life, said))
text = subprocess.run([os.path.join(BIN, "ingero-stat"), ige], capture_output=True, text=True).stdout
n, of = have["kernel names"]
tap.ok(f"coverage: {n} of {of} kernel names lost: ring full" in text, "ingero-stat says so", text)
text = subprocess.run([os.path.join(BIN, "ingero-explain"), ige], capture_output=True, text=True).stdout
tap.ok(f"Missing: {n} of {of} kernel names lost: ring full." in text and "stacks lost: ring full." in text, "ingero-explain too", text)
text = subprocess.run([os.path.join(BIN, "ingero-explain"), "--json", ige], capture_output=True, text=True).stdout
report = json.loads(text)
tap.same({x["what"]: (x["lost"], x["of"]) for x in report["coverage"]["missing"]}, have, "and in its JSON")
with open("formats/explain.schema.json") as f:
    tap.none(schema.complaints(report, json.load(f)), "which is as its schema has it")
analyzed = subprocess.run(f"{BIN}/ingero-correlate {ige} | {BIN}/ingero-explain", shell=True, capture_output=True, text=True).stdout
tap.ok(f"Missing: {n} of {of} kernel names lost: ring full." in analyzed, "behind ingero-correlate as well", analyzed)
merged = rec.path("merged.ige")
subprocess.run([os.path.join(BIN, "ingero-merge"), "-o", merged, ige], check=True)
tap.same(lost(merged), have, "and in what ingero-merge writes")
tap.done_testing()
