#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# PyTorch: fifteen troubles planted in a training loop, one at a time, recorded without any option. The lines of a step take as
# long as the loop's own clock says, their sum is the step, and the largest part of the planted line names the culprit's line.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import rec, tap

real.need("torch")
EXPLAIN = os.path.join(rec.BUILD, "bin", "ingero-explain")
BATCH, STEP = "batch = self.trouble.batch(self.batches)", "self.trouble.step(self, number)"
SHARE = 0.06  # of a step, by which a line may differ from the loop's clock, which itself takes some time
BEHIND_NS = 1.5e6  # own code of the loop behind the planted line's last call, up to the next call: without a sample it is that line's
LEAST_NS = 400e3  # the same of short ones: the clock stands inside the line

# What is planted, how long it takes in ms, how many steps, the line of the loop, what the report says of it. "": as many parts
# as none of them is the largest every time.
CASES = (
    ("getitem", 16, 120, BATCH, "on the CPU in compute (troubles.py:{compute})"),
    ("worker", 24, 120, BATCH, "which was on the CPU in compute (troubles.py:{compute})"),
    ("gc", 0, 120, STEP, "on the CPU in Gc.step (troubles.py:{gc})"),
    ("sleep", 8, 120, STEP, "sleeps in Sleep.step (troubles.py:{sleep})"),
    ("logging", 0, 80, STEP, ""),
    ("checkpoint", 0, 60, STEP, ""),
    ("validation", 0, 120, STEP, ""),
    ("child", 16, 120, STEP, "which slept in"),
    ("lock", 16, 120, STEP, "which slept in Lock.hold (troubles.py:{lock})"),
    ("queue", 16, 120, STEP, "which slept in Queue.produce (troubles.py:{queue})"),
    ("interpreter", 0, 120, STEP, "which was on the CPU in Interpreter.search (troubles.py:{interpreter})"),
    ("respawn", 0, 80, STEP, ""),
    ("pipe", 16, 120, STEP, "which slept in <module> (<string>:3)"),
    ("pinning", 0, 120, STEP, ""),
    ("synchronous", 0, 120, STEP, ""),
)


def mark(name):
    return real.line_of(real.TROUBLES, f"# [{name}]")[1]


MARKS = {name: mark(name) for name in ("compute", "gc", "sleep", "lock", "queue", "interpreter")}


def record(name, ms, steps):
    """What the loop's clock says, and what the report does."""
    truth_file, ige = rec.path(f"{name}.truth"), rec.path(f"{name}.ige")
    command = real.train("--trouble", name, "--trouble-ms", ms or 4, "--steps", steps, "--truth", truth_file)
    p = subprocess.run([rec.RECORD, "-o", ige, "--", *command], env=real.environment(), capture_output=True, text=True,
                       timeout=real.PATIENCE, stdin=subprocess.DEVNULL)
    if not tap.same(p.returncode, 0, f"{name}: recorded"):
        tap.diag(p.stderr[-3000:])
        return None, None, None
    with open(truth_file, encoding="utf-8") as f:
        truth = json.load(f)
    report = json.loads(subprocess.run([EXPLAIN, "--json", ige], capture_output=True, text=True).stdout)
    path = next((p for p in report["paths"] if p["tid"] == truth["pid"]), None)
    return truth, path, ige


def check(name, ms, steps, line, says):
    truth, path, ige = record(name, ms, steps)
    if not tap.ok(path and path["steps"], f"{name}: the loop's thread has steps"):
        return
    tap.ok(abs(path["steps"]["count"] - steps) <= 0.02 * steps + 1, f"{name}: {path['steps']['count']} steps of {steps}")
    phase = next(p for p in path["phases"] if p["name"] == "steps")
    each, planted = phase["ns"] / path["steps"]["count"], truth["all_planted_s"] * 1e9 / truth["all_steps"]
    tap.same([(p["ns"], sum(c["ns"] for c in p["causes"]) + p.get("smaller", {"ns": 0})["ns"]) for p in path["phases"]],
             [(p["ns"], p["ns"]) for p in path["phases"]], f"{name}: causes sum to their phase")
    tap.same([sum(r["ns"] for r in p["rows"]) for p in path["phases"]], [p["ns"] for p in path["phases"]], f"{name}: so do lines")
    where = f"Trainer.step (train.py:{real.line_of(real.TRAIN, line)[1]})"
    if where in phase["lead"]:  # it has most of the step: the rows are lines of what it calls, of the loop's other lines, or of none
        other = sum(r["ns"] for r in phase["rows"] if r["line"] != where and (not r["line"] or r["line"].startswith("Trainer.")))
        row = {"ns": phase["ns"] - other, "why": phase["causes"]}
    elif phase["lead"]:
        return  # another line has
    else:
        row = next((r for r in phase["rows"] if r["line"] == where), {"ns": 0, "why": []})
    took = row["ns"] / path["steps"]["count"]
    tap.ok(-max(SHARE * each, LEAST_NS) <= took - planted <= max(SHARE * each, LEAST_NS) + BEHIND_NS or (line == BATCH and took > planted),
           f"{name}: a step has {took / 1e6:.2f} of {each / 1e6:.2f} ms at that line, {planted / 1e6:.2f} by the loop's clock",
           json.dumps(phase["rows"], indent=1)[:4000])
    told = [w["text"] for w in row["why"] if not w["text"].endswith(" had the CPU")]
    says = says.format(**MARKS)
    if says and planted > 0.2 * each:
        tap.ok(told and says in told[0], f"{name}: {says}", "\n".join(told))
        text = subprocess.run([EXPLAIN, ige], capture_output=True, text=True).stdout
        tap.ok(says in text.split("\n\n")[0] and text.startswith("python train.py (pid "), f"{name}: and so does the first line", text[:1500])


for case in CASES:
    check(*case)
tap.done_testing()
