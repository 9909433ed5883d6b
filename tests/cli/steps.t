#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-explain --steps: how long steps take against the ends of the calls that end them, as another reader finds them, and
# what made slow ones slow against what was planted in them.

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import ige_reader  # noqa: E402
import tap  # noqa: E402

DEMO, EXPLAIN = (os.path.join(tap.BIN, "ingero-" + p) for p in ("demo", "explain"))


def run(*args):
    p = subprocess.run([EXPLAIN, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def told(path):
    out = []
    ige_reader.Reader(open(path, "rb").read(), out.append, ige_reader.tables("formats/ige.md")).read()
    return [e for e in out if "event" in e]


def sections(text):
    """{tid: the lines of its part}"""
    parts = re.split(r"^== Steps of ", text, flags=re.M)[1:]
    return {int(re.search(r"tid (\d+)\)", p).group(1)): p.split("\n\n")[0] for p in parts}


def rows(part):
    """Step, times the median, and what it had more of, of the slow ones."""
    found = re.findall(r"^ +([\d]+)  +[\d.]+ \w+  +[\d.]+ \w+  +([\d.]+) x  (.*)$", part, flags=re.M)
    return [(int(n), float(x), why) for n, x, why in found]


def longest_first(step):
    return [m["more_ns"] for m in step["more"]] == sorted((m["more_ns"] for m in step["more"]), reverse=True)


tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
path = {name: os.path.join(tmp.name, name + ".ige") for name in ("disk", "clean", "tool-call", "none")}
for name, duration in (("disk", "1s"), ("clean", "300ms"), ("tool-call", "1s")):
    subprocess.run([DEMO, name, "--duration", duration, "-o", path[name]], check=True)

for name in ("disk", "clean"):
    status, out, err = run("--steps", path[name])
    said = {s["tid"]: s for s in json.loads(run("--json", path[name])[1])["steps"]}
    parts = sections(out)
    tap.same((status, err, sorted(parts)), (0, "", sorted(said)), f"{name}: a part for every program that runs a loop")
    tap.ok(said and all(s["loop"] in out for s in said.values()), f"{name}: each says which loop", out)
    ends = collections.defaultdict(list)
    for e in told(path[name]):
        if e["op"] == "cuda.cudaStreamSynchronize":
            ends[e["thread"]["tid"]].append(e["end_ns"])
    for tid, part in parts.items():
        steps = [b - a for a, b in zip(ends[tid], ends[tid][1:])]
        count = int(re.search(r"^([\d,]+) steps of train_step \(train\.cpp:104\)", part, flags=re.M).group(1).replace(",", ""))
        tap.ok(len(ends[tid]) - 1 <= count <= len(ends[tid]), f"{name} {tid}: as many as calls that end them", (count, len(ends[tid])))
        tap.same(said[tid]["max_ns"], max(steps), f"{name} {tid}: the longest is the longest distance between two")
        median = said[tid]["p50_ns"]
        tap.ok(abs(median - sorted(steps)[(len(steps) - 1) // 2]) <= median / 100, f"{name} {tid}: the median", median)
        slow = sum(s > median * 1.5 for s in steps)
        tap.ok(abs(said[tid]["slow_count"] - slow) <= max(1, slow // 20), f"{name} {tid}: how many are slow",
               (said[tid]["slow_count"], slow))
        shown = rows(part)
        tap.same([n for n, _, _ in shown], [s["number"] for s in said[tid]["slow"]], f"{name} {tid}: the slow ones that JSON has")
        tap.ok(f"Each makes:  {said[tid]['calls']} copies, waits and graph launches, told apart by cudaStreamSynchronize " in part, f"{name} {tid}: what a step makes", part)
        tap.none([n for n in said[tid]["slow"] if sum(n["parts"].values()) != n["dur_ns"]], f"{name} {tid}: the parts of a slow step are all of it")
        tap.same(sum(said[tid]["parts"].values()), said[tid]["total_ns"], f"{name} {tid}: and so are those of all steps")
        tap.ok(all(map(longest_first, said[tid]["slow"])), f"{name} {tid}: what it has most more of comes first")

# The thread that reads: every slow step has one read of about 3 ms in it.
_, out, _ = run("--steps", path["disk"])
slow = [why for part in sections(out).values() for n, x, why in rows(part) if "disk" in part.split("On average")[1]]
reasons = [re.match(r"([\d.]+) ms waits for disk 8:16 in load_batch", why) for why in slow]
tap.ok(len(reasons) >= 5 and all(reasons), "disk: slow steps are slow for what was planted, before all else", slow)
tap.ok(all(2 < float(m.group(1)) < 4 for m in reasons if m), "disk: by as long as a read takes", slow)
tap.same([len(rows(p)) for p in sections(run("--steps", "--top", "2", path["disk"])[1]).values() if rows(p)][0], 2, "--top 2: two of a thread")
status, out, err = run("--steps", path["tool-call"])
tap.ok(status == 0 and re.search(r"On average: .*outside \(socket or poll\) [\d.]+ us", out), "tool-call: what the average step waits for", out)

status, out, err = run("--steps", "-p", "1", path["disk"])
tap.ok(status == 0 and out.startswith("No steps: "), "of another process: no steps, and said", out)
subprocess.run([DEMO, "clean", "--duration", "2ms", "-o", path["none"]], check=True)
tap.ok("No steps: " in run("--steps", path["none"])[1], "too few: no steps")
for args in (["--chains"], ["--per-process"], ["--call", "cudaMalloc"]):
    status, out, err = run("--steps", *args, path["disk"])
    tap.ok(status == 2 and not out and err, f"--steps {args[0]}: refused", (status, err))
tap.done_testing()
