#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-stat --exact against sorting the durations that the independent reader finds: with room for
# all of them, with none, from a file, a redirected file and a pipe, whole, brief and selected.

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


def durations(path):
    """Sorted, by (source, op)."""
    out = {}
    p = subprocess.run([sys.executable, "tests/ige_reader.py", path], capture_output=True, check=True, timeout=120)
    for line in p.stdout.splitlines():
        row = json.loads(line)
        if "event" in row:
            out.setdefault(tuple(row["op"].split(".", 1)), []).append(row["dur_ns"])
    return {k: sorted(v) for k, v in out.items()}


def quantiles(values):
    return [values[max((len(values) * percent + 99) // 100, 1) - 1] for percent in (50, 95, 99)]


def answer(*args, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    if kw.get("input") is not None:
        kw.pop("stdin")
    p = subprocess.run([STAT, "--json", *args], capture_output=True, timeout=120, **kw)
    return p.returncode, json.loads(p.stdout) if p.stdout else None, p.stderr.decode()


def told(a):
    return {(r["source"], r["op"]): [r["p50_ns"], r["p95_ns"], r["p99_ns"]] for r in a["ops"]}


with tempfile.TemporaryDirectory() as d:
    files = []
    for seed in (1, 2):
        files.append(os.path.join(d, f"{seed}.ige"))
        subprocess.run([DEMO, "--seed", str(seed), "--duration", "600ms", "-o", files[-1]], check=True)
    one = durations(files[0])
    want = {k: quantiles(v) for k, v in one.items()}
    tap.ok(sum(map(len, one.values())) > 10000 and len(one) > 5, "a recording of many events of several operations")
    with open(files[0], "rb") as f:
        data = f.read()
    about = answer(files[0])
    tap.ok(about[1]["exact"] is False and told(about[1]) != want, "without --exact quantiles are near, and say so")
    for brief in ([], ["--brief"]):
        for memory in ("64m", "1k", "0"):
            args = ["--exact", "--memory", memory, *brief]
            name = " ".join(args)
            status, a, err = answer(*args, files[0])
            tap.same((status, err), (0, ""), f"{name}: status and messages")
            tap.same(told(a), want, f"{name}: what sorting says")
            tap.ok(a["exact"] is True, f"{name}: and says that it is exact")
            tap.none(schema.check(a, "formats/stat.schema.json"), f"{name}: its JSON has the documented shape")
            with open(files[0], "rb") as f:
                tap.same(told(answer(*args, stdin=f)[1]), want, f"{name}: of a redirected file")
            with open(files[0], "rb") as f:
                tap.same(told(answer(*args, "-", stdin=f)[1]), want, f"{name}: of -")
        status, a, err = answer("--exact", *brief, input=data)
        tap.ok((status, err, told(a), a["exact"]) == (0, "", want, True), f"a pipe whose durations fit {brief}")
        status, a, err = answer("--exact", "--memory", "1k", *brief, input=data)
        near = told(about[1])
        tap.ok(status == 0 and a["exact"] is False and told(a) != want, f"a pipe whose durations do not fit {brief}")
        tap.ok(all(v in (want[k], near[k]) for k, v in told(a).items()), f"is as near as without {brief}")
        tap.ok("pipe" in err and "0.4 %" in err, f"says that they are not exact {brief}", err)
        both = durations(files[1])
        both = {k: quantiles(sorted(one.get(k, []) + both.get(k, []))) for k in {*one, *both}}
        for memory in ("64m", "0"):
            tap.same(told(answer("--exact", "--memory", memory, *brief, *files)[1]), both,
                     f"two recordings {memory} {brief}")
    for memory in ("64m", "0"):
        a = answer("--exact", "--memory", memory, "-e", "cuda", files[0])[1]
        tap.same(told(a), {k: v for k, v in want.items() if k[0] == "cuda"}, f"selected operations {memory}")
    last = [answer("--exact", "--memory", memory, "--last", "200ms", files[0])[1] for memory in ("64m", "0")]
    tap.ok(told(last[0]) == told(last[1]) != want and last[1]["exact"], "a part of the time: kept and read again agree")
    cut = os.path.join(d, "cut.ige")
    with open(cut, "wb") as f:
        f.write(data[:len(data) * 2 // 3])
    sorted_cut = {k: quantiles(v) for k, v in durations(cut).items()}
    for memory in ("64m", "0"):
        status, a, _ = answer("--exact", "--brief", "--memory", memory, cut)
        tap.ok(status == 4 and a["exact"] and told(a) == sorted_cut, f"of what a cut recording holds {memory}")
    text = subprocess.run([STAT, "--exact", files[0]], capture_output=True, text=True, check=True).stdout
    tap.ok("quantiles exact" in text, "the text says so too")
    refused = subprocess.run([STAT, "--memory", "1m", files[0]], capture_output=True, text=True)
    tap.ok(refused.returncode == 2 and "--exact" in refused.stderr, "--memory alone is a mistake")
tap.done_testing()
