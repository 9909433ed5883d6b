#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What a recorder meets that nobody planned: targets that end while it attaches, thousands of processes, a thousand
# threads, libraries that are none, interpreters that are no CPython, a reader that is slow. Counts are the workload's own.
import errno
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige = rec.path("a.ige")


def calls_of(recording):
    counts, lost = rec.counts(recording)
    return sum(n for (source, _), n in counts.items() if source == "cuda"), lost


# ---- targets that end while the recorder attaches: it says so, or records what there was, and always ends
# At each place where it opens something of the target's: there it is stopped, the target ends, and it goes on.
INJECT, opened = os.path.join(rec.BUILD, "tests", "fault", "inject"), rec.path("opened")


def attached_to_the_dying(place):
    """Status and words of a recorder of a process that ends at that place; 0: once the recorder is attached."""
    p = subprocess.Popen([rec.work("latedl"), "--asked", "--second", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=rec.environment())
    p.stdin.write(b"load\n")
    p.stdin.flush()
    p.stdout.readline()
    r = subprocess.Popen([INJECT, "-a", f"/proc/{p.pid}/", "-o", opened, f"openat,open:{place}:stop", "--", rec.RECORD, *rec.WHOLE, "-o", ige, "-p", str(p.pid)],
                         env=rec.environment(), stderr=subprocess.PIPE, text=True)
    said = ""
    if place:
        rec.until(lambda: r.poll() is not None or "T" in rec.children(r.pid).values())
        p.kill()
        p.wait()
        while r.poll() is None:
            for child, state in rec.children(r.pid).items():
                if state == "T":
                    os.kill(child, signal.SIGCONT)
            time.sleep(0.01)
    else:
        said = rec.attached(r)
        p.kill()
        p.wait()
    said += r.stderr.read()
    return r.wait(rec.PATIENCE), said, p.pid


wrong = []
status, said, pid = attached_to_the_dying(0)
with open(opened) as f:
    places = int(f.read())
for place in sorted({1, 2, places // 4, places // 2}):
    status, said, pid = attached_to_the_dying(place)
    gone = status == 3 and str(pid) in said and os.strerror(errno.ENOENT) not in said
    if not gone and (status != 0 or rec.dump(ige)[2]["unterminated"]):
        wrong.append((place, status, said))
tap.none(wrong, f"a target that ends while the recorder attaches to it, at {places} places")

# ---- thousands of processes, each of which ends at once, and one among them that calls
STORM = r'''
import os, subprocess, sys
n = int(sys.argv[1])
for i in range(n):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
sys.exit(subprocess.call(sys.argv[2:]))
'''
N = 2000
p = rec.run("-o", ige, "--", sys.executable, "-c", STORM, N, rec.work("calls"), "--count", 100, "--op", "cudaMalloc", timeout=rec.PATIENCE)
truth = rec.truth(p.stdout)
events, records, report = rec.dump(ige)
born = sum(e["op"] == "fork" for e in events)
ended = sum(e["op"] == "exit" for e in events)
lost_life = sum(r["count"] for r in records if r["record"] == "loss")
tap.same((p.returncode, sum(e["op"] == "cudaMalloc" for e in events)), (0, truth[0]["ops"]["cudaMalloc"]["count"]),
         f"{N} processes that end at once: every call of the one that calls")
tap.ok(born + lost_life >= N and ended + lost_life >= N, f"{N} births and deaths, or told as lost", (born, ended, lost_life))

# ---- a fork bomb, with an end: children of children of children
BOMB = r'''
import os, sys
depth = int(sys.argv[1])
while depth:
    a = os.fork()
    if a:
        b = os.fork()
        if b:
            os.waitpid(a, 0); os.waitpid(b, 0)
            break
    depth -= 1
'''
DEPTH = 8
p = rec.run("-o", ige, "--", sys.executable, "-c", BOMB, DEPTH, timeout=rec.PATIENCE)
events, records, report = rec.dump(ige)
lost_life = sum(r["count"] for r in records if r["record"] == "loss")
born = len({e["child"] for e in events if e["op"] == "fork" and "child" in e} or [e for e in events if e["op"] == "fork"])
want = 2 ** (DEPTH + 1) - 2
tap.ok(p.returncode == 0 and born + lost_life >= want, f"{want} processes that fork on: each birth, or told as lost", (p.returncode, born, lost_life, p.stderr[-300:]))

# ---- a thousand threads, each with calls of its own
THREADS, EACH = 1000, 20
p = rec.run("-o", ige, "--", rec.work("calls"), "--threads", THREADS, "--count", EACH, "--op", "cudaMalloc", timeout=rec.PATIENCE)
truth = rec.truth(p.stdout)
events, _, report = rec.dump(ige)
mine = [e for e in events if e["op"] == "cudaMalloc"]
tap.same((p.returncode, len(mine), report["damaged"]), (0, THREADS * EACH, 0), f"{THREADS} threads: every call")
tap.same(len({e["tid"] for e in mine}), THREADS, f"{THREADS} threads: each by its own number")

# ---- libraries that are none: their names are as they should be, what is in them is not
libs = rec.path("libs")
LOADS = r'''
import ctypes, mmap, sys, time
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
    except OSError:
        f = open(name, "rb")        # not loadable: mapped as code all the same, as a loader would
        keep = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)
        globals()[name] = keep
time.sleep(0.3)
'''
os.makedirs(libs, exist_ok=True)
real = os.path.join(rec.DOUBLE, "libcudart.so.13")
with open(real, "rb") as f:
    whole = f.read()
broken = {"text": b"no ELF file at all" * 400, "cut": whole[: len(whole) // 3], "header": whole[:64],
          "sections": whole[:40] + b"\xff" * 8 + whole[48:], "flipped": bytes(b ^ (0x40 if i % 97 == 0 and i > 64 else 0) for i, b in enumerate(whole))}
for name, content in broken.items():
    os.makedirs(os.path.join(libs, name), exist_ok=True)
    path = os.path.join(libs, name, "libcudart.so.13")
    with open(path, "wb") as f:
        f.write(content)
    p = rec.run("-v", "-o", ige, "--", sys.executable, "-c", LOADS, path, timeout=rec.PATIENCE)
    tap.ok(p.returncode in (0, -signal.SIGSEGV + 0, 139) and rec.dump(ige)[2]["damaged"] == 0, f"a libcudart that is {name}: recorded all the same", (p.returncode, p.stderr[-300:]))
if shutil.which("strip"):
    path = os.path.join(libs, "libcudart.so.13")
    subprocess.run(["strip", "--strip-all", "-o", path, real], check=True)
    env = rec.environment()
    env["LD_LIBRARY_PATH"] = f"{libs}:{rec.DOUBLE}"
    p = subprocess.run([rec.RECORD, *rec.WHOLE, "-o", ige, "--", rec.work("calls"), "--count", "50", "--op", "cudaMalloc", "--lib", path], env=env, capture_output=True, text=True, timeout=rec.PATIENCE)
    tap.same((p.returncode, calls_of(ige)[0] >= 50), (0, True), "a library without symbols but the dynamic ones: every call")
else:
    tap.skip("a library without symbols", "optional: no strip here")

# ---- an executable that only looks like Python
fake = rec.path("python3.13")
shutil.copy(rec.work("calls"), fake)
p = rec.run("-o", ige, "--", fake, "--count", 50, "--op", "cudaMalloc", timeout=rec.PATIENCE)
events, _, report = rec.dump(ige)
tap.same((p.returncode, sum(e["op"] == "cudaMalloc" for e in events)), (0, 50), "a program called python3.13 that is none: every call")

# ---- /proc entries that cannot be read: a kernel thread, a zombie
p = subprocess.Popen(["true"])
while open(f"/proc/{p.pid}/stat").read().split()[2] != "Z":
    time.sleep(0.01)
r = rec.run("-o", ige, "-p", p.pid, timeout=rec.PATIENCE)
p.wait()
tap.ok(r.returncode in (0, 3) and "Traceback" not in r.stderr, "a zombie: said, and an end", (r.returncode, r.stderr))
r = rec.run("-o", ige, "-p", 2, "--duration", "300ms", timeout=rec.PATIENCE)
tap.ok(r.returncode in (0, 3), "a kernel thread: no library is looked for in vain", (r.returncode, r.stderr))

# ---- a reader that takes its time: the program is not held up, and every call is in the stream or told as lost
r, w = os.pipe()
p = subprocess.Popen([rec.RECORD, *rec.WHOLE, "-o", "-", "--", rec.work("calls"), "--count", "60000", "--op", "cudaMalloc"], env=rec.environment(),
                     stdout=w, stderr=subprocess.PIPE, text=True)
os.close(w)
slow = rec.path("slow.ige")
with open(slow, "wb") as f:
    while True:
        piece = os.read(r, 4096)
        if not piece:
            break
        f.write(piece)
        os.sched_yield()
os.close(r)
p.wait()
events, records, report = rec.dump(slow)
got = sum(e["op"] == "cudaMalloc" for e in events)
lost = sum(x["count"] for x in records if x["record"] == "loss")
tap.ok(p.returncode == 0 and report["damaged"] == 0 and got <= 60000 <= got + lost, "a slow reader: every call, or told as lost", (p.returncode, got, lost))

tap.done_testing()
