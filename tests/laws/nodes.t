#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Ranks on two machines whose clocks disagree: who keeps whom waiting, and for how long, is told as if they agreed; that
# they do not is told, with what is proven; and where recordings are files, which can be read twice, they are put on one clock before, and
# ingero-merge says so in what it writes.

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, "tests")
import tap  # noqa: E402

DEMO, MERGE, EXPLAIN = (f"{tap.BIN}/ingero-{p}" for p in ("demo", "merge", "explain"))
tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
path = lambda name: os.path.join(tmp.name, name)  # noqa: E731
MS = 10**6
DURING = 6 * MS  # what an all-reduce takes after its last rank has entered


def run(*argv):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return p.stdout, p.stderr.decode()


def chains(*files, pipe=None):
    """Of a recording that comes through a pipe no clock is set right: it cannot be read twice."""
    with open(pipe or os.devnull, "rb") as f:
        out = subprocess.run([EXPLAIN, "--json", *files] + (["-"] if pipe else []), stdin=f, stdout=subprocess.PIPE, check=True).stdout
    return {c["kind"]: c for c in json.loads(out)["chains"]}


def printed(name):
    out = run(f"{tap.BUILD}/tests/reader/ige_reader", "print", name)[0]
    return [json.loads(line) for line in out.splitlines()]


def parts(scenario, *options):
    """The recording, and one of each of its machines."""
    run(DEMO, scenario, "--duration", "20s", "--seed", "3", *options, "-o", path("all.ige"))
    run(MERGE, "-q", "--split", "-o", path(scenario + ".ige"), path("all.ige"))
    return [path(f"{scenario}.gpu-host-{n}.ige") for n in (1, 2)]


def set_ahead(name, ns):
    """A copy of the recording whose machine's wall clock stood ahead."""
    with open(name, "rb") as f:
        data = bytearray(f.read())
    (real,) = struct.unpack_from("<q", data, 48)
    struct.pack_into("<q", data, 48, real + ns)
    data[60:64] = bytes(4)
    data[60:64] = struct.pack("<I", zlib.crc32(data[:80]))
    copy = name.replace(".ige", f".{ns}.ige")
    with open(copy, "wb") as f:
        f.write(data)
    return copy


def ahead(c):
    """What a clock-skew chain says: best, at least, at most; of the second machine against the first."""
    best, low, high = (e["value"] for e in c["evidence"][:3])
    return (best, low, high) if "gpu-host-2 stands" in c["summary"] else (-best, -high, -low)


a, b = parts("two-nodes")
true = chains(a, b)
tap.same(sorted(true), ["collective-straggler"], "clocks that agree: the straggler alone is told")
late = true["collective-straggler"]
tap.ok(re.search(r"train-2 \(pid \d+\) on gpu-host-1, kept", late["summary"]), "whose number is told with its machine", late["summary"])
tap.ok(re.search(r"^ +Node +gpu-host-1$", run(EXPLAIN, a, b)[0].decode(), re.M), "which the report names, though one alone has a cause")
for ns in 37 * MS, -53 * MS, 3600 * 10**9:
    moved = set_ahead(b, ns)
    got = chains(a, pipe=moved)
    what = f"{ns / MS:.0f} ms ahead"
    if not tap.same(sorted(got), ["clock-skew", "collective-straggler"], f"{what}: both are told"):
        continue
    best, low, high = ahead(got["clock-skew"])
    tap.ok(abs(best - ns) < 0.5 * MS, f"{what}: by how much", str(best))
    tap.ok(low <= ns <= high and high - low <= 2.2 * DURING, f"{what}: within what is proven", f"{low} {high}")
    tap.ok("gpu-host" in got["clock-skew"]["culprit"]["text"], f"{what}: whose clock")
    c = got["collective-straggler"]
    tap.same(c["culprit"]["text"], late["culprit"]["text"], f"{what}: the same rank is late")
    if ns < 1000 * MS:  # else only the last 64 collectives of one machine are remembered when the other's come
        tap.ok(abs(c["lost_ns"] - late["lost_ns"]) <= 0.03 * late["lost_ns"], f"{what}: by as much", f"{c['lost_ns']} {late['lost_ns']}")
    else:
        tap.ok(0 < c["lost_ns"] < 0.3 * late["lost_ns"], f"{what}: as far as it was seen together", f"{c['lost_ns']} {late['lost_ns']}")

    tap.same(sorted(chains(a, moved)), ["collective-straggler"], f"{what}: files are put on one clock before")
    run(MERGE, "-o", path("one.ige"), a, moved)
    tap.same(sorted(chains(path("one.ige"))), ["collective-straggler"], f"{what}: so are those that are merged")
    clocks = [r for r in printed(path("one.ige")) if r.get("record") == "clock" and r.get("source") == "merge"]
    tap.ok(
        len(clocks) == 1 and abs(abs(clocks[0]["real_ns"] - clocks[0]["mono_ns"]) - abs(ns)) <= clocks[0]["uncertainty_ns"] <= DURING,
        f"{what}: and what was done to a clock is in the recording",
        str(clocks),
    )

a, b = parts("ranks-apart")
tap.same(sorted(chains(a, pipe=set_ahead(b, 37 * MS))), [], "where no wait covers a collective, nothing is proven")
tap.done_testing()
