# SPDX-License-Identifier: Apache-2.0
"""Scenarios that a machine without a GPU cannot be given: as ingero-demo generates them, with the truth that it planted."""
import json
import os
import re
import subprocess

import plants

BIN = os.path.join(plants.BUILD, "bin")
# What happens for real in scenarios.txt needs no generated twin.
REAL = {"incident", "cpu-contention", "contended", "throttled", "lock", "disk", "alloc-churn", "gpu-leak", "gpu-idle", "sync-storm", "launch-bound",
        "call-hung", "memory-pressure", "errors", "clean"}
SEEDS = (1, 2)
DOSES = (5, 20, 50)


def run(*argv, stdin=None):
    p = subprocess.run([os.path.join(BIN, argv[0]), *map(str, argv[1:])], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode:
        raise RuntimeError(p.stderr.decode()[-300:])
    return p.stdout


def truths(*argv):
    return [t for t in json.loads(run("ingero-demo", *argv, "--truth", "--json"))["truths"] if t["count"]]


def told_by(chain, truth):
    who = chain["culprit"]
    return chain["kind"] == truth["kind"] and (truth["culprit"] in (who["comm"], who["cgroup"], who["device"])
                                               or truth["culprit"] in who["text"] or truth["culprit"] in chain["summary"])


def brief(chain):
    return {"kind": chain["kind"], "severity": chain["severity"], "lost_ns": chain["lost_ns"], "culprit": chain["culprit"]["text"],
            "summary": chain["summary"]}


def one(name, dose, seed):
    argv = [name, "--seed", seed, *(["--dose", dose] if dose is not None else [])]
    planted = truths(*argv)
    report = json.loads(run("ingero-explain", "--json", "-", stdin=run("ingero-correlate", "-", stdin=run("ingero-demo", *argv, "-o", "-"))))
    chains = report["chains"]
    right = [c for c in chains if any(told_by(c, t) for t in planted)]
    lost, found = sum(t["lost_ns"] for t in planted), sum(c["lost_ns"] for c in right)
    r = {"name": name, "dose": 100 if dose is None else dose, "seed": seed, "machine": "", "made": "generated",
         "expected": {"kinds": sorted({t["kind"] for t in planted}), "culprit": planted[0]["culprit"] if planted else None, "line": None},
         "found": bool(right), "rank": chains.index(right[0]) + 1 if right else 0, "false": [brief(c) for c in chains if c not in right],
         "disturbances": [], "chain": brief(right[0]) if right else None, "line_right": None, "lost": report["coverage"]["lost"]}
    if right and lost:
        r.update(attributed_ns=found, true_ns=[lost, lost], error=(found - lost) / lost)
    return r


def cases(quick):
    """Scenario, dose (None: it has none), seed. Looked up only when they are wanted."""
    for scenario in json.loads(run("ingero-demo", "--list", "--json"))["scenarios"]:
        name = scenario["name"]
        if name in REAL:
            continue
        has_doses = truths(name) and not sum(t["lost_ns"] for t in truths(name, "--dose", "0")) and sum(t["lost_ns"] for t in truths(name))
        for dose in ((20,) if quick else DOSES) if has_doses else (None,):
            for seed in SEEDS[:1] if quick else SEEDS:
                yield name, dose, seed


def results(quick, only, wanted=lambda name, dose, seed: True):
    for name, dose, seed in cases(quick):
        if only and not re.search(only, f"{name}/{100 if dose is None else dose}/{seed}"):
            continue
        if not wanted(name, 100 if dose is None else dose, seed):
            continue
        try:
            yield one(name, dose, seed)
        except RuntimeError as e:
            yield {"name": name, "dose": dose or 100, "seed": seed, "machine": "", "made": "generated", "failed": str(e)}
