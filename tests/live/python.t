#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Python frames are the truth: for every call out of every kind of code, function, file and executing line of every
# frame are what Python itself says they are, in each CPython that is here. What cannot be told is said, never guessed.
import collections
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
FRAMES = os.path.join(rec.WORK, "frames.py")
VERSION = "import sys; print(sys.implementation.name, *sys.version_info[:2])"


def interpreters():
    """(version, path) of each Python here: the one that runs this, the system's, and those of a version manager."""
    found = {}
    for path in [sys.executable, "/usr/bin/python3", *sorted(glob.glob("/usr/bin/python3.[0-9]*[0-9]")),
                 *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python"))),
                 *os.environ.get("PYTHONS", "").split()]:
        real = os.path.realpath(path)
        if real in found or not os.access(real, os.X_OK):
            continue
        p = subprocess.run([real, "-c", VERSION], capture_output=True, text=True)
        if p.returncode == 0 and p.stdout.strip():
            name, major, minor = p.stdout.split()
            found[real] = (name, int(major), int(minor))
    return [(v, path) for path, v in found.items()]


def python_of(event):
    return [frame[:3] for frame in event["stack"] if frame[3:] == ["python"]]


def recorded(name, python, part, options=("--no-sched",)):
    """What the script wrote down, and what was recorded: both by (pid, number of the call)."""
    ige, log = rec.path("python.ige"), rec.path("python.log")
    for path in (ige, log):
        if os.path.exists(path):
            os.unlink(path)
    p = rec.run("-o", ige, *options, "--", python, FRAMES, log, *part, PYTHONDONTWRITEBYTECODE=1)
    said = [json.loads(line) for line in open(log)] if os.path.exists(log) else []
    tap.ok(p.returncode == 0 and said, f"{name}: recorded", p.stderr[-3000:])
    events, records, _ = rec.dump(ige)
    calls = {(e["pid"], e["x"]["bytes"]): e for e in events if e["source"] == "cuda" and e["op"] == "cudaMalloc"}
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


def known(version, python):
    name = "CPython %d.%d (%s)" % (version[1], version[2], python)
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
    said, calls, _, _ = recorded(f"{name}, exec", python, ["nested,executed"])
    tap.ok(len(said) >= 4 and not differs(said, calls), f"{name}: before and after an exec", explain(differs(said, calls)))
    said, calls, _, _ = recorded(f"{name}, interpreters", python, ["interpreters"])
    what = f"{name}: several interpreters in one thread"
    if version[1:] >= (3, 10):
        tap.ok(len(said) >= 3 and not differs(said, calls), what, explain(differs(said, calls)))
    else:
        # Nothing there says which of them is the inner one.
        inner = [calls[s["pid"], s["n"]]["stack"] for s in said if s["part"] == "interpreter"]
        tap.ok(inner and all("several interpreters" in stack[-1][0] for stack in inner), what + ", so it is said", inner)
    for options in (["--walker", "helper"], ["--link", "multi"], []):
        said, calls, _, _ = recorded(f"{name}, {options}", python, ["nested,through_c,threads,forked"], ["--no-sched", *options] if options else [])
        tap.ok(len(said) > 20 and not differs(said, calls), f"{name}: the same with {' '.join(options) or 'host tracks'}",
               explain(differs(said, calls)))


def unknown(version, python):
    name = "%s %d.%d (%s)" % (*version, python)
    ige = rec.path("python.ige")
    code = "import ctypes; lib = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p()\nfor i in range(3): lib.cudaMalloc(ctypes.byref(p), 64)"
    p = rec.run("-o", ige, "--no-sched", "--", python, "-c", code)
    events, records, _ = rec.dump(ige)
    calls = [e for e in events if e["op"] == "cudaMalloc" and e["source"] == "cuda"]
    tap.ok(p.returncode == 0 and len(calls) == 3 and not any(python_of(e) for e in calls), f"{name}: calls, without Python frames", p.stderr)
    mine = [r for r in records if r["record"] == "coverage" and r["layer"] == "python"]
    tap.ok(len(mine) == 1 and mine[0]["attached"] == 0 and "known for" in mine[0].get("reason", ""), f"{name}: its coverage says why", mine)
    tap.ok("without its frames" in p.stderr, f"{name}: so does the recorder", p.stderr)


all_of_them = interpreters()
supported = [x for x in all_of_them if x[0][0] == "cpython" and (3, 8) <= x[0][1:] <= (3, 15)]
for x in supported:
    known(*x)
if not supported:
    tap.ok(True, "CPython 3.8 to 3.15 # SKIP optional: none is here")
others = [x for x in all_of_them if x not in supported]
for x in others:
    unknown(*x)
if not others:
    tap.ok(True, "a Python that is not known # SKIP optional: none is here")
tap.done_testing()
