# SPDX-License-Identifier: Apache-2.0
"""Python frames against what Python itself says they are: for the live tests of interpreters, wherever those come from."""
import collections
import json
import os
import re
import subprocess

import recording as rec
import tracks
from recording import tap

FRAMES = os.path.join(rec.WORK, "frames.py")
VERSION = "import sys; print(sys.implementation.name, *sys.version_info[:2])"


class Python:
    """An interpreter that runs: how it is started (a list), in which root, with which settings. own_pids: it calls
    its processes by other numbers than they have here."""

    def __init__(self, argv, root="", name=None, own_pids=False, **settings):
        self.argv, self.root, self.own_pids, self.settings = argv, root, own_pids, settings
        p = subprocess.run([*argv, "-c", VERSION], capture_output=True, text=True, env=rec.environment(**settings))
        words = p.stdout.split() if p.returncode == 0 else []
        self.implementation, self.version = (words[0], (int(words[1]), int(words[2]))) if len(words) == 3 else (None, None)
        self.why = None if words else (p.stderr.strip() or "status %d" % p.returncode).splitlines()[-1]
        self.name = "%s %s (%s)" % ({"cpython": "CPython"}.get(self.implementation, self.implementation),
                                    ".".join(map(str, self.version or ())), name or argv[-1])

    def supported(self):
        return self.implementation == "cpython" and (3, 8) <= self.version <= (3, 15)


def python_of(event):
    return [frame[:3] for frame in event["stack"] if frame[3:] == ["python"]]


def recorded(name, python, part, options=("--no-sched",)):
    """What the script wrote down, and what was recorded: both by (pid, number of the call)."""
    ige, inside = rec.path("python.ige"), rec.path("python.log")
    log = python.root + inside
    os.makedirs(os.path.dirname(log), exist_ok=True)
    for path in (ige, log):
        if os.path.exists(path):
            os.unlink(path)
    p = rec.run("-o", ige, *options, "--", *python.argv, FRAMES, inside, *part, PYTHONDONTWRITEBYTECODE=1, **python.settings)
    said = [json.loads(line) for line in open(log)] if os.path.exists(log) else []
    tap.ok(p.returncode == 0 and said, f"{name}: recorded", p.stderr[-3000:])
    events, records, _ = rec.dump(ige)
    calls = {(e["pid"], e["x"]["bytes"]): e for e in events if e["source"] == "cuda" and e["op"] == "cudaMalloc"}
    if python.own_pids:
        # No two processes of a run use the same numbers.
        seen_as = {n: pid for pid, n in calls}
        for s in said:
            s["pid"] = seen_as.get(s["n"])
    return said, calls, records, p.stderr


def differs(said, calls, limit=128):
    """Per kind of code: calls whose stack is another one."""
    wrong = collections.OrderedDict()
    for s in said:
        event = calls.get((s["pid"], s["n"]))
        got = python_of(event) if event else None
        if got != s["stack"][:limit]:
            wrong.setdefault(s["part"], (s["stack"], got))
    return wrong


def explain(wrong):
    lines = []
    for part, (want, got) in list(wrong.items())[:4]:
        lines.append(f"{part}:")
        for i in range(max(len(want), len(got or []))):
            w, g = want[i] if i < len(want) else None, got[i] if got and i < len(got) else None
            lines.append(f"  {'  ' if w == g else '! '}want {w} got {g}")
    return "\n".join(lines)


def kinds_of(python, parts, options=()):
    """Some kinds of code only, with host tracks or with these options."""
    what = " ".join(options) or "host tracks"
    said, calls, _, _ = recorded(f"{python.name}, {what}", python, [parts], ["--no-sched", *options] if options else [])
    wrong = differs(said, calls)
    tap.ok(len(said) > 20 and not wrong, f"{python.name}: {len(said)} stacks with {what}", explain(wrong))


ASLEEP = """import ctypes, os, time
lib = ctypes.CDLL('libcudart.so.13')
p = ctypes.c_void_p()
lib.cudaMalloc(ctypes.byref(p), 64)
def nap():
    wall, ran = time.monotonic_ns(), time.thread_time_ns()
    for _ in range(20):
        time.sleep(0.01)
    print("slept", time.monotonic_ns() - wall - (time.thread_time_ns() - ran), flush=True)
child = os.fork()
if child == 0:
    nap()
    os._exit(0)
os.waitpid(child, 0)
"""


def put(python, name, text):
    """A script where the interpreter finds it. Its path there."""
    inside = "/" + name if python.root else rec.path(name)
    with open(python.root + inside, "w") as f:
        f.write(text)
    return inside


def asleep(python):
    """A forked process that makes no call, as workers that prepare input are: where it sleeps is told. By time, not by number:
    a sleep that begins late is shorter, for it ends at a point in time. Others may have had the CPU for the rest."""
    ige, inside = rec.path("python.ige"), put(python, "asleep.py", ASLEEP)
    p = rec.run("-o", ige, "--", *python.argv, inside, **python.settings)
    events, _, _ = rec.dump(ige)
    parent = {e["pid"] for e in events if e["op"] == "cudaMalloc"}
    away = [e for e in events if e["op"] == "offcpu" and e["pid"] not in parent]
    naps = [e for e in away if e["x"].get("object_kind") in (tracks.TIMER, tracks.POLL)]  # of old ones select()
    elsewhere = [e for e in naps if not any(frame[0] == "nap" for frame in python_of(e))]
    told = sum(e["dur"] for e in naps)
    rest = sum(e["x"].get("wait_ns", 0) for e in away if e not in naps)
    rest += sum(e["dur"] for e in events if e["op"] == "stolen" and e["pid"] not in parent)  # by the hypervisor, while it ran
    slept = int((re.search(r"slept (\d+)", p.stdout or "") or [0, 0])[1])
    tap.ok(p.returncode == 0 and slept >= 190000000 and not elsewhere and told - 5000000 < slept < told + rest + 5000000,
           f"{python.name}: a forked process's sleeps, by line",
           (told, rest, slept, [(e["dur"], e["x"], e.get("stack")) for e in away if e["dur"] > 1000000], p.stderr))


HUNG = """import ctypes, sys, threading
lib = ctypes.CDLL('libcudart.so.13')
p = ctypes.c_void_p()
lib.cudaMalloc(ctypes.byref(p), 64)
never = threading.Lock()
never.acquire()
def inner(items):
    for _ in items:
        never.acquire()
def outer():
    inner(x for x in [1])
def worker():
    sys.stdin.read(1)
threading.Thread(target=worker, daemon=True).start()
print('hangs', flush=True)
outer()
"""


def innermost(pid):
    """What a program that only starts others has started."""
    while True:
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
        if not children:
            return pid
        pid = int(children[0])


def sleeps(pid):
    return all(open(f"/proc/{pid}/task/{tid}/stat").read().rsplit(")", 1)[1].split()[0] == "S" for tid in os.listdir(f"/proc/{pid}/task"))


def attached(python):
    """Attached to while all its threads sleep: where each of them stands."""
    ige, inside = rec.path("python.ige"), put(python, "hung.py", HUNG)
    p = subprocess.Popen([*python.argv, inside], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         env=rec.environment(**python.settings))
    p.stdout.readline()
    hung = innermost(p.pid)
    while len(os.listdir(f"/proc/{hung}/task")) < 2 or not sleeps(hung):
        pass
    r = rec.run("-o", ige, "-p", hung, "--duration", "300ms")
    p.kill()
    os.kill(hung, 9)
    p.communicate()
    stacks = {e["tid"] == hung: [(name, line) for name, _, line in python_of(e)] for e in rec.dump(ige)[0] if e["op"] == "offcpu"}
    stacks = stacks.get(True), stacks.get(False, [])[:1]  # of the other one, the rest is Python's own
    want = [("inner", 9), ("outer", 11), ("<module>", 16)], [("worker", 13)]
    tap.same(stacks, want, f"{python.name}: attached to while it hangs, by line")
    if stacks != want:
        print("# " + r.stderr.replace("\n", "\n# "))


def known(python):
    """A CPython whose frames are to be told."""
    name = python.name
    said, calls, records, err = recorded(name, python, [])
    wrong = differs(said, calls)
    tap.ok(len(said) > 260 and not wrong, f"{name}: {len(said)} stacks of {len(set(s['part'] for s in said))} kinds, line for line",
           explain(wrong))
    deep = [s for s in said if len(s["stack"]) > 128]
    marked = [calls[s["pid"], s["n"]]["stack"][-1] for s in deep if (s["pid"], s["n"]) in calls]
    tap.ok(deep and all(f[3:] == ["gap"] and "128" in f[0] for f in marked), f"{name}: a stack too deep says so", marked)
    whole = [calls[s["pid"], s["n"]]["stack"] for s in said if len(s["stack"]) <= 128 and (s["pid"], s["n"]) in calls]
    tap.ok(whole and not any(f[3:] == ["gap"] and "Python" in f[0] for stack in whole for f in stack),
           f"{name}: no other claims to be cut")
    mine = [r for r in records if r["record"] == "coverage" and r["layer"] == "python"]
    tap.ok(mine and all(r["attached"] == 1 for r in mine), f"{name}: its coverage", mine)
    shares = [line for line in err.splitlines() if "whole Python stack" in line]
    cut = len(deep)
    total = len(calls)
    tap.ok(shares and shares[0].split()[-1] == "%.2f%%" % (100 * (total - cut) / total), f"{name}: the share told is the true one",
           (shares, total, cut))
    # Each says what it executes before and after an exec.
    said, calls, _, err = recorded(f"{name}, exec", python, ["nested,executed"])
    tap.ok(len(said) >= 4 and not differs(said, calls), f"{name}: before and after an exec", explain(differs(said, calls)) + "\n" + err)
    said, calls, _, _ = recorded(f"{name}, interpreters", python, ["interpreters"])
    what = f"{name}: several interpreters in one thread"
    if python.version >= (3, 10):
        tap.ok(len(said) >= 3 and not differs(said, calls), what, explain(differs(said, calls)))
    else:
        # Nothing there says which of them is the inner one.
        inner = [calls[s["pid"], s["n"]]["stack"] for s in said if s["part"] == "interpreter"]
        tap.ok(inner and all("several interpreters" in stack[-1][0] for stack in inner), what + ", so it is said", inner)
    asleep(python)
    attached(python)
    for options in (["--walker", "helper"], ["--link", "multi"], []):
        kinds_of(python, "nested,through_c,threads,forked", options)


def unknown(python):
    """A Python whose frames cannot be told."""
    name = python.name
    ige = rec.path("python.ige")
    code = "import ctypes; lib = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p()\nfor i in range(3): lib.cudaMalloc(ctypes.byref(p), 64)"
    p = rec.run("-o", ige, "--no-sched", "--", *python.argv, "-c", code, **python.settings)
    events, records, _ = rec.dump(ige)
    calls = [e for e in events if e["op"] == "cudaMalloc" and e["source"] == "cuda"]
    tap.ok(p.returncode == 0 and len(calls) == 3 and not any(python_of(e) for e in calls), f"{name}: calls, without Python frames", p.stderr)
    mine = [r for r in records if r["record"] == "coverage" and r["layer"] == "python"]
    tap.ok(len(mine) == 1 and mine[0]["attached"] == 0 and "known for" in mine[0].get("reason", ""), f"{name}: its coverage says why", mine)
    tap.ok("without its frames" in p.stderr, f"{name}: so does the recorder", p.stderr)
