#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What a chain points at is there: every event that a chain of any scenario of ingero-demo names is found by
# ingero-explain --call under that name, and is of that operation; in what ingero-correlate makes of it, chains included.

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

DEMO, CORRELATE, EXPLAIN = (f"{tap.BIN}/ingero-{name}" for name in ("demo", "correlate", "explain"))


def out(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout


def asked(path, tid, end):
    done = subprocess.run([EXPLAIN, "--json", "--call", f"{tid}@{end}", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return json.loads(done.stdout) if done.returncode == 0 else {"op": done.stderr.decode().strip()}


named_in_all = 0
with tempfile.TemporaryDirectory() as scratch:
    plain, told = os.path.join(scratch, "plain.ige"), os.path.join(scratch, "told.ige")
    for scenario in (s["name"] for s in json.loads(out(DEMO, "--list", "--json"))["scenarios"]):
        out(DEMO, scenario, "--duration", "15s", "-o", plain)  # a hang of six seconds still counts as one
        with open(told, "wb") as to:
            subprocess.run([CORRELATE, plain], stdout=to, check=True)
        chains = json.loads(out(EXPLAIN, "--json", told))["chains"]
        moments = [(c["kind"], m) for c in chains for m in c["timeline"] if m["event"]]
        named = {(m["event"]["tid"], m["event"]["end"], m["event"]["op"]): kind for kind, m in moments}
        named_in_all += len(named)
        wrong = [f"{kind}: {tid}@{end} is to be {op}: {got['op']}" for (tid, end, op), kind in named.items() for got in [asked(told, tid, end)] if got["op"] != op]
        tap.none(wrong, f"{scenario}: the {len(named)} events that its {len(chains)} chains name are there")
tap.ok(named_in_all > 50, "chains do name events", named_in_all)
tap.done_testing()
