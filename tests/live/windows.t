#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Windows of a budget: inside each every call is recorded, outside none, the recording says from when to when, and calls of the
# other tiers are recorded throughout, whatever happens to the program or its libraries meanwhile.
import collections
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
LAUNCH, WAIT, COPY = ("cuda", "cudaLaunchKernel"), ("cuda", "cudaStreamSynchronize"), ("cuda", "cudaMemcpyAsync")
NUMBER = 0


def load(*options, libraries=rec.DOUBLE):
    """A program that makes launches in units, and the file it says in when each unit ended."""
    global NUMBER
    NUMBER += 1
    progress = rec.path(f"progress.{NUMBER}")
    env = rec.environment(DOUBLE_LAUNCH_NS=0)
    env["LD_LIBRARY_PATH"] = libraries
    p = subprocess.Popen([rec.work("load"), "--progress", progress, *map(str, options)], env=env, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    return p, progress


def units(progress):
    """(begin, end, made calls, thread) of each."""
    rows = (tuple(map(int, line.split())) for line in open(progress) if line.endswith("\n"))
    return [(end - wall, end, kind == 0, tid) for end, wall, _, kind, tid in rows]


class Windows:
    """What a recording says of the tier of launches: when it was paused; events by op."""

    def __init__(self, ige):
        events, self.records, self.report = rec.dump(ige)
        self.at = collections.defaultdict(list)
        for e in events:
            self.at[e["source"], e["op"]].append((e["end"] - e["dur"], e["end"]))
        begun = {}
        for r in self.records:
            if r["record"] == "paused" and r["tier"] == 1:
                begun[r["since_ns"]] = r.get("until_ns")
        self.pauses = sorted(begun.items())
        self.lost = rec.counts(ige)[1]

    def covered(self, since, until):
        """Is none of that time paused?"""
        return not any(a < until and (b is None or since < b) for a, b in self.pauses)

    def paused(self, since, until):
        return sum(min(b, until) - max(a, since) for a, b in self.pauses if a < until and since < b)


def check(name, ige, progress, launches, least=5, busy=1.0):
    """Units that lie in a window whole have all their launches; no launch lies in a pause; waits and copies are all there."""
    w, done = Windows(ige), units(progress)
    tap.ok(len(w.pauses) >= 1 and all(b is not None and b > a for a, b in w.pauses), f"{name}: {len(w.pauses)} pauses, each with its end", w.pauses)
    first, last = min(t for t, _ in w.at[WAIT]), max(t for _, t in w.at[WAIT])
    whole = [u for u in done if u[2] and first < u[0] and u[1] < last and w.covered(u[0] - 1000000, u[1] + 1000000)]
    at = iter(sorted(w.at[LAUNCH]))
    counts, now = [], next(at, None)
    for begin, end, _, _ in whole:
        n = 0
        while now and now[0] < begin:
            now = next(at, None)
        while now and now[1] <= end:
            n, now = n + 1, next(at, None)
        counts.append(n)
    tap.ok(len(whole) >= least and set(counts) == {launches}, f"{name}: all {launches} launches of {len(whole)} units in windows",
           collections.Counter(counts).most_common(5))
    stray = [t for t, end in w.at[LAUNCH] if any(a + 1000 < t < (b or t + 1) - 1000 for a, b in w.pauses)]
    tap.same(len(stray), 0, f"{name}: no launch in a pause")
    inside = [u for u in done if u[2] and first < u[0] and u[1] < last]
    got = [sum(1 for t, end in w.at[op] if inside[0][0] <= t and end <= inside[-1][1]) for op in (WAIT, COPY)]
    tap.same(got, [len(inside)] * 2, f"{name}: waits and copies of all of its {len(inside)} units")
    tap.same(w.lost, 0, f"{name}: nothing is lost")
    made, seen = len(inside) * launches, sum(1 for t, end in w.at[LAUNCH] if inside[0][0] <= t and end <= inside[-1][1])
    # A unit in which the program was stopped is as long as the stop, and says nothing of how many launches others made.
    still = [u for u in inside if u[1] - u[0] > 1e9]
    span = inside[-1][1] - inside[0][0] - sum(u[1] - u[0] for u in still)
    scaled = seen * span / (span - w.paused(inside[0][0], inside[-1][1]) + sum(w.paused(u[0], u[1]) for u in still))
    # Three windows of a program that launches for a part of the time only may all lie in that part, or all but a little beside it.
    tap.ok(0.5 * busy < scaled / made < 1.5 / busy, f"{name}: scaled by the time covered they are about as many as were made", (scaled, made, seen))
    return w


# ---- one call, one event: the driver's launch inside the runtime's is counted
ige = rec.path("folded.ige")
p = rec.run("--budget", "none", "-o", ige, "--", rec.work("calls"), "--count", 300, every=False, DOUBLE_LOG=rec.path("folded.log"))
made, (got, lost) = rec.logged(rec.path("folded.log")), rec.counts(ige)
folded = collections.Counter()
for f in rec.stat(ige)["coverage"]["folded"]:
    folded[f["source"], f["op"]] += f["calls"]
tap.same((sum(n for (source, _), n in got.items() if source == "cuda"), lost),
         (sum(n for (source, _), n in made.items() if source == "cuda"), 0), "each call of the runtime is an event")
tap.same({op: got.get(op, 0) + folded[op] for op in made}, made, "and each of the driver's an event, or counted")
tap.same([op for op in (("driver", "cuLaunchKernel"), ("driver", "cuStreamSynchronize"), ("driver", "cuMemcpyHtoDAsync"))
          if folded[op] != made[op]], [], "those inside a launch, a wait or a copy of the runtime are counted")

# ---- windows
for what, options in (("one thread", ["--launches", 240, "--work-us", 4000]), ("phases", ["--launches", 240, "--work-us", 4000, "--busy-ms", 700, "--quiet-ms", 500])):
    ige = rec.path("windows.ige")
    program, progress = load(*options)
    p = rec.run("-o", ige, "-p", program.pid, "--duration", "9s", "--budget", "2%", "--no-sched", every=False)
    program.kill()
    program.wait()
    check(what, ige, progress, 240, busy=0.7 / 1.2 if what == "phases" else 1.0)
    tap.ok("launches are recorded in windows" in p.stderr, f"{what}: the recorder says so", p.stderr)
    tap.ok("to stay within 2.0% (--budget)" in p.stderr, f"{what}: and at its end for how long", p.stderr)

# ---- a program that is stopped over a window, and goes on
ige = rec.path("stopped.ige")
program, progress = load("--launches", 240, "--work-us", 4000)
r = rec.start("-o", ige, "-p", program.pid, "--duration", "9s", "--budget", "2%", "--no-sched", every=False)
said = rec.said(r, "in windows")
os.kill(program.pid, signal.SIGSTOP)
subprocess.run(["sleep", "3"])  # longer than from one window to the next
os.kill(program.pid, signal.SIGCONT)
r.communicate()
program.kill()
program.wait()
check("stopped for three seconds", ige, progress, 240, least=1)

# ---- a library that is unlinked while its probes are away
libraries = rec.path("libraries")
os.makedirs(libraries)
for name in ("libcudart.so.13", "libcuda.so.1"):
    shutil.copy(os.path.join(rec.DOUBLE, name), libraries)
ige = rec.path("unlinked.ige")
program, progress = load("--launches", 240, "--work-us", 4000, libraries=libraries)
r = rec.start("-o", ige, "-p", program.pid, "--duration", "9s", "--budget", "2%", "--no-sched", every=False)
rec.said(r, "in windows")
shutil.rmtree(libraries)
err = r.communicate()[1]
program.kill()
program.wait()
w = check("a library that was unlinked", ige, progress, 240)
tap.ok(len(w.pauses) >= 2, "a library that was unlinked is probed again", err)

# ---- two recorders of one program: each has its own windows
both = [rec.path("a.ige"), rec.path("b.ige")]
program, progress = load("--launches", 240, "--work-us", 4000)
rs = [rec.start("-o", ige, "-p", program.pid, "--duration", "8s", "--budget", "2%", "--no-sched", every=False) for ige in both]
for r in rs:
    r.communicate()
program.kill()
program.wait()
for i, ige in enumerate(both):
    check(f"recorder {i + 1} of two", ige, progress, 240)

# ---- a hundred children in a second, each with calls
ige = rec.path("children.ige")
CHILDREN = """import os, sys
sys.path.insert(0, %r)
import cuda, ctypes
c = cuda.Cuda("libcudart.so.13")
def calls():
    for i in range(400):
        c.cudaLaunchKernel(1, cuda.ONE, cuda.ONE, None, 0, None)
    c.cudaDeviceSynchronize()
for i in range(100):
    if os.fork() == 0:
        calls()
        os._exit(0)
for i in range(100):
    os.wait()
""" % rec.WORK
p = rec.run("-o", ige, "--budget", "1%", "--no-sched", "--", sys.executable, "-c", CHILDREN, every=False)
got, lost = rec.counts(ige)
tap.same((p.returncode, got.get(("cuda", "cudaDeviceSynchronize")), lost), (0, 100, 0), "a hundred children: the wait of each")
tap.ok(0 < got.get(LAUNCH, 0) <= 40000, "a hundred children: and launches as far as there were windows", got.get(LAUNCH))
tap.done_testing()
