#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The samples of the format: both readers make exactly of them what stands beside them, whole ones,
# cut ones, damaged ones and those of a version to come.

import json
import os
import subprocess
import sys
import tempfile
from glob import glob

sys.path.insert(0, "tests")
import tap  # noqa: E402
import ige_reader  # noqa: E402

TOOL = f"{tap.BUILD}/tests/reader/ige_reader"
TABLES = ige_reader.tables("formats/ige.md")
V1 = os.environ.get("SAMPLES", "formats/samples/v1")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def first(path):
    return [json.loads(line) for line in subprocess.run([TOOL, "report", path], stdout=subprocess.PIPE, check=True).stdout.splitlines()]


def second(path):
    out = []
    reader = ige_reader.Reader(read(path), out.append, TABLES)
    end = reader.read()
    out.append({"end": end, "report": reader.report()})
    return json.loads(json.dumps(out))


def differ(got, want):
    for a, b in zip(got, want):
        if a != b:
            return f"{json.dumps(a)[:400]}\nwant {json.dumps(b)[:400]}"
    return "" if len(got) == len(want) else f"{len(got)} lines, want {len(want)}"


for kind, least in (("good", 10), ("truncated", 10), ("damaged", 30), ("future", 20)):
    samples = sorted(glob(f"{V1}/{kind}/*.ige"))
    tap.ok(len(samples) >= least and all(os.path.getsize(s) < 20000 for s in samples), f"{len(samples)} small samples: {kind}")
    for name, reader in (("this reader", first), ("the second reader", second)):
        bad = []
        for s in samples:
            want = [json.loads(line) for line in read(s[:-4] + ".ndjson").splitlines()]
            d = differ(reader(s), want)
            if d:
                bad.append(f"{s}: {d}")
        tap.none(bad, f"{name}: {kind}")

# What the folders promise.
ends = {s: json.loads(read(s).splitlines()[-1]) for s in glob(f"{V1}/*/*.ndjson")}


def of(kind):
    return {s: e for s, e in ends.items() if f"/{kind}/" in s}


tap.none([s for s, e in of("good").items() if e["end"] != "ok" or e["report"]["damaged"] or e["report"]["skipped"] or
          e["report"]["newer"] or e["report"]["unterminated"]], "nothing to report of the good ones")
tap.none([s for s, e in of("truncated").items() if not e["report"]["truncated"] and not e["report"]["unterminated"] and
          not e["report"]["damaged"]], "of the truncated ones, that they are")
tap.none([s for s, e in of("damaged").items() if e["end"] == "newer" or e["report"]["newer"]], "damage is not called newer")
tap.none([s for s, e in of("damaged").items() if not e["report"]["damaged"] and not e["report"]["skipped"] and
          "no-" not in s and e["end"] == "ok"], "and is told")
tap.none([s for s, e in of("future").items() if e["report"]["damaged"] or e["report"]["skipped"]], "what is newer is not called damage")
tap.none([s for s, e in of("future").items() if (e["end"] == "newer") != ("critical" in s or "major" in s or "unit" in s)],
         "and refused only where it must be")

# The script that made them.
with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
    for d in (a, b):
        subprocess.run(["formats/samples/make", d], stdout=subprocess.DEVNULL, check=True)
    names = sorted(os.path.relpath(s, a) for s in glob(f"{a}/*/*"))
    tap.none([s for s in names if read(f"{a}/{s}") != read(f"{b}/{s}")], "the script makes the same bytes at every run")
    tap.same([s for s in names], sorted(os.path.relpath(s, V1) for s in glob(f"{V1}/*/*")), "and all of them")
tap.done_testing()
