#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-stat --brief says of a recording what the whole answer says of it, as far as it says
# anything: every sound sample and generated recordings, from a file and from a pipe, several at once.

import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import schema  # noqa: E402
import tap  # noqa: E402

STAT = os.path.join(tap.BIN, "ingero-stat")
DEMO = os.path.join(tap.BIN, "ingero-demo")
UNKNOWN = ("self_ns", "lost_ns", "share", "devices", "nodes")


def answer(*args, data=None):
    p = subprocess.run([STAT, "--json", *args], input=data, capture_output=True, timeout=120,
                       **({} if data is not None else {"stdin": subprocess.DEVNULL}))
    return p.returncode, json.loads(p.stdout) if p.stdout else None


def told(result):
    """What both say: rows by op, errors in no order, and what is covered."""
    status, a = result
    rows = sorted(([r["source"], r["op"]], {k: v for k, v in r.items() if k not in UNKNOWN}) for r in a["ops"])
    errors = sorted(json.dumps({k: v for k, v in x.items() if k not in UNKNOWN}, sort_keys=True) for x in a["errors"])
    covered = {k: a["coverage"][k] for k in ("events", "selected", "lost", "late", "complete")}
    return status, rows, errors, covered


samples = sorted(glob.glob("formats/samples/v1/good/*.ige"))
tap.ok(len(samples) > 10, f"{len(samples)} samples")
for path in samples:
    tap.same(told(answer("--brief", path)), told(answer(path)), f"{path}: brief and whole agree")

with tempfile.TemporaryDirectory() as d:
    files = []
    for seed in (1, 2):
        files.append(os.path.join(d, f"{seed}.ige"))
        subprocess.run([DEMO, "--seed", str(seed), "--duration", "3s", "-o", files[-1]], check=True)
    with open(files[0], "rb") as f:
        data = f.read()
    whole, brief = answer(files[0]), answer("--brief", files[0])
    tap.ok(told(whole) == told(brief), "a generated recording: brief and whole agree")
    tap.ok(sum(r["count"] for r in brief[1]["ops"]) > 1000, "which is of many events")
    tap.ok(brief == answer("--brief", data=data), "from a pipe: the same, every byte of it")
    tap.same(told(answer("--brief", *files)), told(answer(*files)), "two recordings: brief and whole agree")
    tap.ok(all(r.get(k) is None for r in brief[1]["ops"] + brief[1]["errors"] for k in UNKNOWN), "what is not known is null")
    tap.none(schema.check(brief[1], "formats/stat.schema.json"), "its JSON has the documented shape")
    text = subprocess.run([STAT, "--brief", files[0]], capture_output=True, text=True, check=True).stdout
    tap.ok("p99" in text and "own" not in text, "its tables leave out what is not known")
    refused = subprocess.run([STAT, "--brief", "--last", "1s", files[0]], capture_output=True, text=True)
    tap.ok(refused.returncode == 2 and "--brief" in refused.stderr, "with a selection it is refused")
tap.done_testing()
