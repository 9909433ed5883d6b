#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# PyTorch: a training loop whose own Python code takes the time. The report names that code and its share of the loop's time without
# any option, as the loop's own clocks have it.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import rec, tap

real.need("torch")
WITHIN = 0.1  # of the loop's time

# What is planted, options of the loop, a line of the function that the planted time is spent in, who calls it.
CASES = (("a slow __getitem__", ("--trouble", "getitem", "--trouble-ms", 30, "--steps", 160), "# [compute]",
          "Getitem.item"),
         ("gc.collect()", ("--trouble", "gc", "--steps", 160), "# [gc]", "Trainer.step"))


for name, options, text, caller in CASES:
    truth_file = rec.path("truth.json")
    archive = real.launch(name, real.train(*options, "--truth", truth_file), whole=False)  # within the budget, as by default
    with open(truth_file, encoding="utf-8") as f:
        truth = json.load(f)
    explain = os.path.join(rec.BUILD, "bin", "ingero-explain")
    p = subprocess.run([explain, "--json", archive.recording], capture_output=True, text=True)
    used = json.loads(p.stdout)["on_cpu"]
    tap.same((used["hz"], used["steps"]), (99, True), f"{name}: sampled by default, and the steps are looked at")
    function, _ = real.line_of(real.TROUBLES, text)
    thread = next((t for t in used["threads"] if t["tid"] == truth["pid"]), {"samples": 1, "wall_ns": 1, "places": []})
    place = next((p for p in thread["places"] if p["text"].startswith(f"{function} (troubles.py:")), {"samples": 0, "caller": None})
    for what, got, want in (("the time", place["samples"] / used["hz"] / (thread["wall_ns"] / 1e9), truth["planted_cpu_s"] / truth["loop_s"]),
                            ("the CPU time", place["samples"] / thread["samples"], truth["planted_cpu_s"] / truth["loop_cpu_s"])):
        tap.ok(abs(got - want) <= WITHIN, f"{name}: {function} has {got:.0%} of {what} of the steps, {want:.0%} by the loop's own clocks",
               json.dumps(used, indent=1)[:3000])
    tap.same(place["caller"], f" < {caller}", f"{name}: and who called it is named")
    printed = subprocess.run([explain, archive.recording], capture_output=True, text=True).stdout
    tap.ok(f" of its time on the CPU in {function} (troubles.py:" in printed.split("\n\n")[0], f"{name}: the report says so below its first line",
           printed[:2000])
tap.done_testing()
