#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# A recording as lines of JSON, counted with jq, is what ingero-stat counts: events, time and errors of every operation, for each
# scenario, and for what -e, -w and -p leave of it.

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

EXPORT, DEMO, STAT = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "stat"))
TMP = tempfile.TemporaryDirectory()
if not shutil.which("jq"):
    tap.skip_all("optional: no jq here")

COUNT = ('[inputs | select(.record | not)] | group_by([.source, .op]) | map({key: "\\(.[0].source):\\(.[0].op)", '
         'value: [length, (map(.duration_ns) | add), (map(select((.return_code // 0) != 0)) | length)]}) | from_entries')


def output(*argv, data=None):
    how = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run(argv, capture_output=True, timeout=300, check=True, **how).stdout


def counted(run, *options):
    return json.loads(output("jq", "-n", COUNT, data=output(EXPORT, "--no-stacks", *options, run)))


def told(run, *options):
    return {f'{r["source"]}:{r["op"]}': [r["count"], r["total_ns"], r.get("errors", 0)] for r in json.loads(output(STAT, "--json", *options, run))["ops"]}


for scenario in ("incident", "errors", "disk", "straggler", "graph-serving", "throttled"):
    run = os.path.join(TMP.name, "run.ige")
    with open(run, "wb") as f:
        f.write(output(DEMO, scenario, "--duration", "500ms"))
    all_of_it = told(run)
    tap.same(counted(run), all_of_it, f"{scenario}: as stat counts it")
    tap.same(counted(run, "-e", "cuda"), told(run, "-e", "cuda"), f"{scenario}: of one source")
    tap.same(counted(run, "-w", '.source == "cuda"'), told(run, "-e", "cuda"), f"{scenario}: chosen by an expression")
    pid = json.loads(output("jq", "-n", "first(inputs | select(.pid) | .pid)", data=output(EXPORT, "-e", "cuda", run)))
    tap.same(counted(run, "-p", str(pid)), told(run, "-p", str(pid)), f"{scenario}: of one process")
tap.done_testing()
