#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The quick part of the scorecard (make score): causes that really happen on this machine are found, named and placed, with the
# time they took by the kernel's accounting and the workload's clock; what looks like them and is not stays silent. What other tests
# of `make check` plant for real is left to them: failing calls (live/memory.t), hogs of a C program and nothing (live/verdict.t).
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
import plants
import score
import tap

# Where nothing can be recorded nothing happens for real; what is generated is scored all the same.
card = tempfile.NamedTemporaryFile(prefix="score-", suffix=".json", dir=plants.BUILD)
p = subprocess.run([sys.executable, os.path.join(HERE, "score.py"), "--quick", "--seconds", "3", "--json", card.name], stdout=subprocess.PIPE, text=True)
try:
    with open(card.name, encoding="utf-8") as f:  # another file by now than the one that was made above
        results = json.load(f)["results"]
except ValueError:
    tap.ok(False, "the scorecard is made", p.stdout[-2000:])
    tap.done_testing()
for r in results:
    name = f"{r['name']} at {r['dose']} %, seed {r['seed']}"
    why = score.told_of(r)
    if "skipped" in r:
        tap.skip(name, f"optional: {r['skipped']}")
        continue
    if not tap.ok("failed" not in r, f"{name}: recorded and analyzed", why):
        continue
    if r["expected"]["kinds"]:
        tap.ok(r["found"], f"{name}: told, and whose fault it is", why)
        if r["line_right"] is not None:
            tap.ok(r["line_right"], f"{name}: where", why)
        if r["name"] == "sleeper" and r["found"]:
            tap.same(r["chain"]["severity"], "HIGH" if r["dose"] >= 10 else "MEDIUM", f"{name}: sleeps added to the work are grave by their share")
    tap.none([f"{c['kind']}: {c['summary']}" for c in r["false"]], f"{name}: nothing is told that did not happen")

made = [r for r in results if "skipped" not in r and "failed" not in r]
s = score.summary(results)
if s["measured"]:
    tap.ok(s["error_median"] <= 0.05, f"what was lost: median error {score.percent(s['error_median'])} in {s['measured']}")
    tap.ok(s["error_p90"] <= 0.10, f"what was lost: 90th percentile {score.percent(s['error_p90'])}")
tap.ok(made, f"{s['real']} real, {s['generated']} generated", p.stdout[-2000:])
tap.done_testing()
