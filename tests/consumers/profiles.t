#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Stacks as those read them for whom they are written: speedscope, Go's pprof and the published schemas accept every form,
# and find in it what the recording's events add up to.

import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

CHECKERS = os.environ.get("CHECKERS", "../shared/checkers")
EXPORT, DEMO, CORRELATE = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "correlate"))
CHECK = os.path.join(CHECKERS, "profile-check")
TMP = tempfile.TemporaryDirectory()

if not os.path.exists(CHECK):
    tap.skip_all(f"optional: no {CHECK} here (CHECKERS says where)")


def path(name):
    return os.path.join(TMP.name, name)


def output(*argv, **how):
    return subprocess.run(argv, capture_output=True, timeout=600, check=True, **(how or {"stdin": subprocess.DEVNULL})).stdout


ige = path("run.ige")
with open(ige, "wb") as f:
    f.write(output(CORRELATE, input=output(DEMO, "incident", "--duration", "2s")))
calls = [e for e in map(json.loads, output(EXPORT, ige).splitlines()) if e.get("source") in ("cuda", "driver")]
TRUTH = {"count": len(calls)}

for form, kind in (("folded", "collapsed"), ("speedscope", "speedscope"), ("pprof", "pprof")):
    totals = {}
    for weight in ("time", "count", "lost"):
        file = path(f"{weight}.{form}")
        with open(file, "wb") as f:
            f.write(output(EXPORT, "-f", form, "--weight", weight, ige))
        p = subprocess.run([CHECK, kind, file], capture_output=True, text=True, timeout=600)
        said = p.stdout + p.stderr
        if p.returncode == 2:
            tap.skip_all(f"optional: {CHECK}: {said.strip()[:100]}")
        tap.ok(p.returncode == 0 and "accepted" in said and "REJECTED" not in said, f"{form} by {weight}: accepted", said[-3000:])
        found = re.search(r"total (\d+)", said) or re.search(r"time/nanoseconds (\d+)", said)
        totals[weight] = int(found[1]) if found else None
    if form != "pprof":
        tap.same(totals["count"], TRUTH["count"], f"{form}: as many calls as there are")
    TRUTH.setdefault("time", totals["time"])
    tap.same(totals["time"], TRUTH["time"], f"{form}: the same time as in the first form")
tap.done_testing()
