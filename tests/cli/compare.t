#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-stat --compare: both sides say what each recording says alone, and what got worse follows from the figures by
# the rule of the manual.

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
LEAST = {"p50": 1e3, "p99": 1e3, "total": 1e6}  # ns; of the total: in a second
COUNT = {"p50": 100, "p99": 1000}


def run(*args):
    p = subprocess.run([STAT, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def compare(*args):
    status, out, err = run("--compare", "--json", *args)
    return status, json.loads(out)


def grown(a, b, threshold):
    """What the manual calls worse in b against a."""
    got = []
    for what in ("p50", "p99"):
        if a and b and min(a["timed"], b["timed"]) >= COUNT[what]:
            x, y = a[f"{what}_ns"], b[f"{what}_ns"]
            if y > x * (1 + threshold) and y - x >= LEAST[what]:
                got.append(what)
    x, y = (s["total_ns_per_s"] if s else 0 for s in (a, b))
    if y > x * (1 + threshold) and y - x >= LEAST["total"]:
        got.append("total")
    x, y = (s["errors"] / s["count"] * s["per_s"] if s else 0 for s in (a, b))
    if y > x * (1 + threshold) and (x == 0 or y - x >= 1):
        got.append("errors")
    return got


tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
path = {}
for name, scenario, args in (("none", "incident", ("--dose", "0")), ("little", "incident", ("--dose", "10")),
                             ("much", "incident", ("--dose", "40")), ("seed", "incident", ("--dose", "0", "--seed", "7")),
                             ("errors", "errors", ()), ("ranks", "straggler", ()), ("short", "incident", ("--dose", "40"))):
    path[name] = os.path.join(tmp.name, f"{name}.ige")
    length = "1s" if name == "short" else "3s"
    subprocess.run([DEMO, scenario, "--duration", length, *args, "-o", path[name]], check=True)

for before, after, threshold in (("none", "much", 10), ("much", "none", 10), ("little", "much", 25), ("none", "errors", 10),
                                 ("errors", "none", 0), ("ranks", "much", 10), ("much", "much", 0), ("much", "short", 50)):
    label = f"{before}, {after}, {threshold}%"
    status, j = compare("--threshold", str(threshold), path[before], path[after])
    tap.none(schema.check(j, "formats/compare.schema.json"), f"{label}: by the schema")
    bad = []
    for r in j["rows"]:
        for key, (a, b) in (("worse", (r["before"], r["after"])), ("better", (r["after"], r["before"]))):
            if r[key] != grown(a, b, threshold / 100):
                bad.append(f"{r['key']} {key}: {r[key]}, should be {grown(a, b, threshold / 100)}")
        want = ("new" if not r["before"] else "gone" if not r["after"] else "worse" if r["worse"] else
                "better" if r["better"] else "same")
        if r["change"] != want:
            bad.append(f"{r['key']}: {r['change']}, should be {want}")
    tap.none(bad, f"{label}: worse and better are what the manual says")
    n = sum(bool(r["worse"]) for r in j["rows"])
    tap.same((status, j["worse"]), (int(n > 0), n), f"{label}: the status says whether anything is")
    tap.same([bool(r["worse"]) for r in j["rows"]], [True] * n + [False] * (len(j["rows"]) - n), f"{label}: the worse first")
    for side, name in (("before", before), ("after", after)):
        own = json.loads(run("--json", "--by", "op", path[name])[1])
        calls = {o["op"] for o in own["ops"] if o["layer"] != "host"}
        want = {r["key"]: [r[k] for k in ("count", "errors", "timed", "p50_ns", "p99_ns", "total_ns")]
                for r in own["by"]["rows"] if r["key"] in calls}
        got = {r["key"]: [r[side][k] for k in ("count", "errors", "timed", "p50_ns", "p99_ns", "total_ns")]
               for r in j["rows"] if r[side]}
        tap.same(got, want, f"{label}: {side} is what that recording says alone")
        tap.same((j[side]["wall_ns"], j[side]["events"]), (own["coverage"]["duration_ns"], own["coverage"]["events"]),
                 f"{label}: {side}: how long, how many")

# ---- what was planted

status, j = compare(path["none"], path["much"])
worse = {r["key"]: r["worse"] for r in j["rows"]}
tap.ok(status == 1 and "p99" in worse["cudaStreamSynchronize"], "a hog: waits are longer", worse)
status, j = compare(path["none"], path["errors"])
tap.ok("errors" in next(r["worse"] for r in j["rows"] if r["key"] == "cudaMalloc"), "failing allocations: from no errors")
tap.same(compare(path["much"], path["much"])[0], 0, "with itself nothing is worse")
tap.same(compare("--threshold", "0", path["much"], path["much"])[0], 0, "nor by however little")
status, j = compare(path["none"], path["seed"])
tap.same((status, [r["key"] for r in j["rows"] if r["worse"]]), (0, []), "the same with another seed: nothing is worse")

# ---- other keys, selections

for key in ("line", "thread", "pid", "size", "direction", "node", "kernel", "stack"):
    status, j = compare("--by", key, path["none"], path["much"])
    tap.none(schema.check(j, "formats/compare.schema.json"), f"by {key}: by the schema")
    tap.same((j["by"], status), (key, int(j["worse"] > 0)), f"by {key}: compared")
    for side, name in (("before", "none"), ("after", "much")):
        ops = [o for o in json.loads(run("--json", path[name])[1])["ops"] if o["layer"] != "host"]
        own = json.loads(run("--json", "--by", key, path[name])[1])["by"]["rows"]
        tap.same(sum(r[side]["count"] for r in j["rows"] if r[side]),
                 sum(r["count"] for r in own) - sum(o["count"] for o in json.loads(run("--json", path[name])[1])["ops"] if o["layer"] == "host"),
                 f"by {key}: {side} sums up to the calls of that recording")
lines = {r["key"] for r in compare("--by", "line", path["none"], path["much"])[1]["rows"] if r["worse"]}
tap.ok("read_loss (train.cpp:80)" in lines, "by line: the line that got slower", lines)
tap.same({r["key"] for r in compare("--by", "pid", path["none"], path["much"])[1]["rows"]}, {"train"}, "by pid: by command")
j = compare("-e", "offcpu", path["none"], path["much"])[1]
tap.same(([r["key"] for r in j["rows"]], j["calls_only"]), (["offcpu"], False), "-e: what is asked for, calls or not")
j = compare("--last", "1s", path["none"], path["much"])[1]
tap.same([j[s]["wall_ns"] for s in ("before", "after")], [10**9, 10**9], "--last: of both")

# ---- text, and what cannot be compared

status, out, err = run("--compare", "--top", "3", path["none"], path["much"])
tap.ok(status == 1 and out.startswith("Worse by more than 10%: ") and "rows more (--top 0" in out, "text: worse", out)
tap.ok(out.count("none.ige") == 1 and out.count("much.ige") == 1 and "\033" not in out, "text: what was compared", out)
status, out, err = run("--compare", path["much"], path["much"])
tap.ok(status == 0 and out.startswith("Nothing got worse by more than 10% "), "text: nothing", out)
cut = os.path.join(tmp.name, "cut.ige")
with open(path["much"], "rb") as f, open(cut, "wb") as g:
    g.write(f.read()[:-500])
status, out, err = run("--compare", path["much"], cut)
tap.ok(status == 4 and out and err, "one is cut: compared, status 4", err)
for args, want, why in (((path["none"],), 2, "takes two recordings"), ((path["none"],) * 3, 2, "takes two recordings"),
                        ((path["none"], os.path.join(tmp.name, "nowhere")), 3, "No such file"),
                        (("--exact", path["none"], path["much"]), 2, "neither with --brief"),
                        (("--sections", "nonsense", path["none"], path["much"]), 2, "goes without"),
                        (("--plot", path["none"], path["much"]), 2, "goes without"),
                        (("--memory", "1m", path["none"], path["much"]), 2, "goes without"),
                        (("--by", "step", path["none"], path["much"]), 2, "are not the same"),
                        (("--threshold", "-5", path["none"], path["much"]), 2, "less than 0")):
    status, out, err = run("--compare", *args)
    tap.ok(status == want and why in err and not out, f"{' '.join(map(os.path.basename, args))}: status {want} and why", err)
status, out, err = run("--threshold", "5", path["none"])
tap.ok(status == 2 and "is of --compare" in err, "--threshold without --compare is refused", err)

tap.done_testing()
