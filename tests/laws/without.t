#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What a chain says would have been without its cause is what is when nothing is planted: the same recording at dose 0,
# of the same seed, is the true counterfactual. An average step, the tail of the worst-hit calls and the whole lie
# between the two ends that are told, and these are no further apart than the events leave open: what was lost while the
# device worked may or may not have made a step longer.

import json
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

DEMO, EXPLAIN = f"{tap.BIN}/ingero-demo", f"{tap.BIN}/ingero-explain"
SEED = 11
FASTER, SLOWER, TROUBLE = 0.08, 0.02, 0.04  # lib/account/without.c
SLACK = 0.01  # of steps and of the whole: a disturbance leaves traces of its own
TAIL_SLACK = 0.08  # classes keep durations by sixteenths of a power of two
# by whom time is lost: scenario -> how wide the range may be, as a share of what was lost; at 5 % half of it hides
# behind the device
TAKEN = {"incident": 0.2, "noisy-neighbour": 0.2, "host-service": 0.2, "contended": 0.02, "throttled": 0.2, "lock": 0.15, "disk": 0.15}
# by what the program itself does: only the whole is told, and it is all or nothing
OWN = ("starved", "tool-call", "paced", "worker-starved", "straggler", "slow-down")


def report(scenario, dose, seconds="20s"):
    demo = subprocess.run([DEMO, scenario, "--dose", str(dose), "--seed", str(SEED), "--duration", seconds, "-o", "-"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(subprocess.run([EXPLAIN, "--json", "-"], input=demo, stdout=subprocess.PIPE, check=True).stdout)


def loop(r):
    """The steps of the report, of the main thread's track that has most: it is the one from which something is taken."""
    t = max((t for t in r["paths"] if t.get("steps")), key=lambda t: (t["tid"] == t["pid"], t["steps"]["count"]))
    between = sum(p["ns"] for p in t["phases"] if p["name"] == "between")
    return {**t["steps"], "wall_ns": t["steps"]["total_ns"] + between}


def told(r):
    return {c["what"]: c for c in r["chains"][0]["counterfactual"]}


def tail(r, op):
    """Of the largest class of the op that is no first use."""
    return max((c for c in r["classes"] if c["op"] == op and not c["first_use"]), key=lambda c: c["n"])["p99_ns"]


def between(true, c, slack, name):
    tap.ok(c["low_ns"] * (1 - slack) <= true <= c["high_ns"] * (1 + slack), name, f"true {true:.0f}, told {c}")


for scenario, width in TAKEN.items():
    clean = report(scenario, 0)
    tap.none([c["summary"] for c in clean["chains"]], f"{scenario}: nothing at dose 0")
    step = loop(clean)["total_ns"] / loop(clean)["count"]
    for dose in 5, 20, 50:
        what, r = f"{scenario} at {dose} %", report(scenario, dose)
        c = told(r)
        if not tap.ok("step" in c and "wall" in c, f"{what}: steps and the whole are told", str(c)):
            continue
        now = loop(r)["total_ns"] / loop(r)["count"]
        between(step, c["step"], SLACK, f"{what}: a step would take what it does at dose 0")
        between(loop(r)["count"] * step + c["wall"]["from_ns"] - loop(r)["wall_ns"], c["wall"], SLACK, f"{what}: so many steps would take what they do at dose 0")
        tap.ok(abs(c["step"]["from_ns"] - now) <= 1, f"{what}: what it took is an average step", f"{c['step']} {now}")
        tap.ok(c["step"].get("replayed") is True, f"{what}: it was replayed", str(c["step"]))
        low = (c["step"]["low_ns"] + TROUBLE * c["step"]["from_ns"]) / (1 - FASTER + TROUBLE)
        high = c["step"]["high_ns"] / (1 + SLOWER)
        between(step, {"low_ns": low, "high_ns": high}, SLACK, f"{what}: and without the margin, here")
        tap.ok(
            high - low <= (width if dose > 5 else max(width, 0.5)) * (c["step"]["from_ns"] - low), f"{what}: the range says something", str(c["step"])
        )
        if "p99" in c:
            between(tail(clean, c["p99"]["op"]), c["p99"], TAIL_SLACK, f"{what}: p99 of {c['p99']['op']} would be that of dose 0")

for scenario in OWN:
    clean = report(scenario, 0, "30s")
    step = loop(clean)["total_ns"] / loop(clean)["count"]
    for dose in 20, 50:
        r = report(scenario, dose, "30s")
        c = told(r)
        between(
            loop(r)["count"] * step + c["wall"]["from_ns"] - loop(r)["wall_ns"], c["wall"], 2 * SLACK, f"{scenario} at {dose} %: so many steps would take what they do at dose 0"
        )

text = subprocess.run(f"{DEMO} contended -o - | {EXPLAIN} -", shell=True, stdout=subprocess.PIPE, check=True).stdout.decode()
tap.ok("    Without it  an average step takes 1.3 ms to 1.5 ms instead of 1.70 ms" in text and " instead of 30.0 s" in text, "in words", text[:2000])
hung = report("call-hang", 0, "30s")
tap.same([c["counterfactual"] for c in hung["chains"]], [[]], "of a call that does not return nothing is told")
tap.done_testing()
