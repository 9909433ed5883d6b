#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Every scenario of ingero-demo is told as what it is and as nothing else: kinds and culprits of its chains are those
# that were planted, the lost time is what was planted, and where nothing is planted nothing is told. What is proposed to
# be typed is what a shell takes, and the programs of this house take their options. A scenario whose kind nobody finds yet stands in NOT_YET, and fails here when it is found.

import json
import re
import shlex
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

DEMO, EXPLAIN = f"{tap.BIN}/ingero-demo", f"{tap.BIN}/ingero-explain"
NOT_YET = set()
DOSES = (0, 5, 20, 50) if tap.ALL else (0, 5)
LENGTH = () if tap.ALL else ("--duration", "10s")  # of those with a dose
ERROR = 0.05  # of the lost time


def out(*argv, stdin=None):
    return subprocess.run(argv, input=stdin, stdout=subprocess.PIPE, check=True).stdout


def truths(*argv):
    return [t for t in json.loads(out(DEMO, *argv, "--truth", "--json"))["truths"] if t["count"]]


def chains(*argv):
    return json.loads(out(EXPLAIN, "--json", "-", stdin=out(DEMO, *argv, "-o", "-")))["chains"]


def named(chain, truth):
    who = chain["culprit"]
    return chain["kind"] == truth["kind"] and (
        truth["culprit"] in (who["comm"], who["cgroup"], who["device"]) or truth["culprit"] in who["text"] or truth["culprit"] in chain["summary"]
    )


def held(what, told, planted):
    """Chains against what was planted."""
    # what one culprit takes in two ways is one chain, of the kind that weighs more
    strange = [c for c in told if not any(named(c, t) for t in planted)]
    tap.none([f"{c['kind']}: {c['summary']}" for c in strange], f"{what}: nothing else is told")
    if not planted:
        return
    tap.ok(any(named(c, t) for c in told for t in planted), f"{what}: {planted[0]['kind']} is told, with its culprit", json.dumps([told, planted])[:600])
    lost, found = sum(t["lost_ns"] for t in planted), sum(c["lost_ns"] for c in told)
    tap.ok(abs(found - lost) <= ERROR * lost, f"{what}: the time is what was planted", f"told {found / 1e6:.1f} ms, planted {lost / 1e6:.1f} ms")


def typed(what, told):
    """Commands of chains."""
    wrong = []
    for command in sorted({fix["command"] for c in told for fix in c["recommendations"] if fix["kind"] == "shell"}):
        if subprocess.run(["sh", "-n", "-c", command], capture_output=True).returncode:
            wrong.append(command)
        for own in re.findall(r"\bingero-[a-z]+\b[^|;]*", command):
            argv = shlex.split(own)
            if subprocess.run([f"{tap.BIN}/{argv[0]}", *argv[1:], "--help"], capture_output=True).returncode:
                wrong.append(own)
    tap.none(wrong, f"{what}: what is proposed can be typed")


for scenario in (s["name"] for s in json.loads(out(DEMO, "--list", "--json"))["scenarios"]):
    planted = truths(scenario)
    if scenario in NOT_YET:
        tap.none([c["summary"] for c in chains(scenario)], f"{scenario}: not told yet, and not as anything else")
        continue
    told = chains(scenario)
    held(scenario, told, planted)
    typed(scenario, told)
    has_doses = planted and sum(t["lost_ns"] for t in truths(scenario, "--dose", "0")) == 0
    for dose in DOSES if has_doses else ():
        argv = (scenario, "--dose", str(dose), "--seed", str(7 + dose), *LENGTH)
        held(f"{scenario} at {dose} %", chains(*argv), truths(*argv))

tap.done_testing()
