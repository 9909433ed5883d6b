#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# A recording whose kernel launches were recorded in windows of 500 ms in each 2 s, by every face: it says so, figures of launches
# are estimates, marked, and near what the whole recording has; slices, copies and other formats keep the pauses.

import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import schema  # noqa: E402
import tap  # noqa: E402

MAKE = os.path.join(tap.BUILD, "tests/laws/estimates.t")


def out(program, *argv):
    p = subprocess.run([os.path.join(tap.BIN, "ingero-" + program), *argv], capture_output=True, timeout=120)
    tap.ok(p.returncode in (0, 1), f"{program} {' '.join(argv[:-1])}", p.stderr.decode())
    return p.stdout.decode()


def launches(text, measured=False):
    row = next(r for r in json.loads(text)["ops"] if r["op"] == "cudaLaunchKernel")
    return row["count"] if measured else row.get("estimated_count")


def near(got, want, name):
    tap.ok(got and abs(got - want) <= 0.1 * want, name, f"{got} for {want}")


with tempfile.TemporaryDirectory() as d:
    part, whole, cut, copy = (os.path.join(d, n + ".ige") for n in ("part", "whole", "cut", "copy"))
    subprocess.run([MAKE, "launch-bound", part], check=True)
    out("demo", "launch-bound", "--duration", "8s", "--seed", "5", "-o", whole)
    want = launches(out("stat", "--json", whole), measured=True)

    text = out("stat", "--json", part)
    tap.none(schema.complaints(json.loads(text), json.load(open("formats/stat.schema.json"))), "stat: the schema holds")
    near(launches(text), want, "stat --json: launches are estimated")
    paused = json.loads(text)["coverage"]["paused"]
    tap.same([(p["tier"], round(p["covered"], 2), p["reason"]) for p in paused], [("launches", 0.25, "budget")], "which tier, and for how much")
    tap.ok(json.loads(text)["coverage"]["folded"][0]["op"] == "cuLaunchKernel", "folded driver calls are told")
    text = out("stat", part)
    tap.same(text.count("kernel launches were recorded 25.0% of the time (to stay within the budget)"), 1, "stat: it is said once")
    row = next(line for line in text.splitlines() if line.split()[:1] == ["cudaLaunchKernel"])
    tap.ok(row.split()[1].startswith("~") and not row.split()[3].startswith("~"), "stat: counts are marked, quantiles are not", row)
    tap.ok("~" not in next(line for line in text.splitlines() if line.split()[:1] == ["cudaStreamSynchronize"]), "stat: others are as they were")
    near(launches(out("stat", "--json", "--last", "3s", part)), want * 3 / 8, "stat --last: of that time")
    near(launches(out("stat", "--json", "--brief", part)), want, "stat --brief")

    out("merge", "--last", "3s", "-o", cut, part)
    near(launches(out("stat", "--json", cut)), want * 3 / 8, "a slice keeps the pauses that reach into it")
    out("merge", "-o", copy, part)
    near(launches(out("stat", "--json", copy)), want, "a copy keeps them")

    text = out("explain", "--json", part)
    tap.none(schema.complaints(json.loads(text), json.load(open("formats/explain.schema.json"))), "explain: the schema holds")
    chain = json.loads(text)["chains"][0]
    tap.ok(chain["kind"] == "launch-bound" and chain["lost_ns"] > 2 * chain["measured_lost_ns"], "explain --json: what was lost is of all of the time")
    site = chain["sites"][0]
    row = next(r for r in json.loads(out("stat", "--json", part))["ops"] if r["op"] == site["op"])
    tap.ok(0.3 * row["p50_ns"] < site["avg_ns"] < 3 * row["p99_ns"] and site["max_ns"] >= site["avg_ns"], "its call site has the measured mean", (site, row))
    tap.same(len(json.loads(text)["chains"]), 1, "explain: nothing else is found")
    text = out("explain", part)
    tap.same(text.count("Partly: kernel launches were recorded 25.0% of the time"), 1, "explain: it is said once")
    tap.ok("up to ~" in text and "with calls that were not recorded" in text, "explain: estimates are marked")

    # Nothing after the first pause: what was measured until then is the least there was.
    end = os.path.join(d, "end.ige")
    subprocess.run([MAKE, "launch-bound", end, "end"], check=True)
    text = out("explain", "--json", end)
    tap.none(schema.complaints(json.loads(text), json.load(open("formats/explain.schema.json"))), "explain of a recording without later windows: the schema holds")
    chain = json.loads(text)["chains"][0]
    tap.same((chain["kind"], chain.get("at_least"), chain["lost_ns"] - chain["measured_lost_ns"]), ("launch-bound", True, 0), "explain --json: lost time is a lower bound")
    tap.ok(0.18 < chain["covered"] < 0.20, "and the share of the time with probes is of the whole", chain["covered"])
    tap.ok(re.search(r"limited by launching: >=[\d,]+ kernels.* up to [\d.]+ ms in the time recorded \([\d.]+% of that, >=", out("explain", end)), "explain: marked", out("explain", end))

    # Steps: where copies are missing for a part of the time the waits still tell them; where all calls are, windows hold some of them.
    copies, calls = (os.path.join(d, n + ".ige") for n in ("copies", "calls"))
    subprocess.run([MAKE, "incident", copies, "4"], check=True)
    subprocess.run([MAKE, "incident", calls, "5"], check=True)
    text = out("explain", "--json", copies)
    tap.none(schema.complaints(json.loads(text), json.load(open("formats/explain.schema.json"))), "explain of copies in windows: the schema holds")
    steps = json.loads(text)["steps"][0]
    made, chain = steps["count"], json.loads(text)["chains"][0]
    shorter = lambda c: [s["from_ns"] - s["low_ns"] for s in c["counterfactual"] if s["what"] == "step"][0]
    tap.ok(steps["last_ns"] - steps["first_ns"] > 7.5e9 and steps["total_ns"] > 7.5e9, "steps reach from the first second to the last", steps)
    tap.ok("estimated_count" not in steps, "and none is missing")
    text = out("explain", "--json", calls)
    tap.none(schema.complaints(json.loads(text), json.load(open("formats/explain.schema.json"))), "explain of calls in windows: the schema holds")
    steps = json.loads(text)["steps"][0]
    tap.ok(steps["count"] < made and not steps["at_least"], "steps in windows: some are hidden, and enough were seen to estimate them", steps)
    near(steps["estimated_count"], made, "how many steps there were")
    near(shorter(json.loads(text)["chains"][0]), shorter(chain), "a step would be as much shorter")
    said = re.search(r"^A step of .*?: ~([\d,]+) of ", out("explain", calls), re.M)
    near(int(said[1].replace(",", "")) if said else 0, made, "explain says so")
    said = re.search(r"^~([\d,]+) steps of train_step ", out("explain", "--steps", calls), re.M)
    near(int(said[1].replace(",", "")) if said else 0, made, "and its view of steps")
    # Its other thread has a loop of its own.
    row, whole_row = (next(r for r in json.loads(out("stat", "--json", "--by", "step", "--top", "0", f))["by"]["rows"]
                           if r["kind"] == "known" and r["name"].startswith("train (")) for f in (calls, copies))
    near(row["estimated_count"], made, "stat --by step: an estimate of how many")
    tap.ok(0 < row["calls"] < whole_row["calls"], "what was recorded in steps is not scaled", (row, whole_row))
    text = out("stat", "--by", "step", calls)
    tap.ok("recorded in windows are counted as far as they were" in text and re.search(r"^  train_step .* ~[\d,]+ ", text, re.M), "and it says so", text)

    # Every face says where its figures are of calls that were recorded in windows.
    mark = "(calls as recorded, in windows)"
    text = out("stat", part)
    tap.ok(f"Events per second, over time {mark}" in text and f"calls of most time first {mark}" in text, "stat: rates and latencies", text)
    tap.ok("outside, on CPU, own code, with calls that were not recorded: " in text and "% in calls that were recorded" in text, "stat: where the time went")
    text = out("explain", part)
    tap.ok(re.search(r" is limited by launching: ~[\d,]+ kernels, ", text), "explain: how many kernels there were is an estimate")
    tap.ok(re.search(r" bursts, ~[\d.]+ ms per second of wall time\n", text) and "expected gain up to ~" in text, "explain: so are what a second loses, and the gain")
    tap.ok(f"Call sites {mark}" in text and "as recorded, in windows\n" in text, "explain: call sites and evidence")
    tap.ok(mark not in out("stat", whole) and "windows" not in out("explain", whole), "and nothing of it where all was recorded")
    allocations = os.path.join(d, "allocations.ige")
    subprocess.run([MAKE, "alloc-churn", allocations, "3"], check=True)
    tap.ok(re.search(r"Memory of train .*\(calls as recorded, in windows\)", out("explain", allocations)), "explain: memory")
    tap.ok(f"Memory of devices {mark}" in out("stat", allocations), "stat: memory")
    tap.ok("longest of those recorded: kernel launches were recorded in windows" in out("explain", "--call", "cudaLaunchKernel", part), "explain --call: the longest of those recorded")
    text = out("explain", "--call", "cudaStreamSynchronize", part)
    paused = "Not all recorded meanwhile: kernel launches. Those inside count as its own code." in text
    call = json.loads(out("explain", "--json", "--call", "cudaStreamSynchronize", part))
    tap.ok(paused == (call.get("paused") == ["launches"]), "explain --call: what may be missing in a call", text)
    tap.none(schema.complaints(call, json.load(open("formats/call.schema.json"))), "explain --call: the schema holds")

    text = out("export", "-f", "html", "-o", "-", part)
    tap.ok(re.search(r"<dt>Lost</dt><dd>~[^<]*<small>[^<]*, ~[\d,]+ bursts</small>", text), "a page: lost time and how often are estimates")
    two = os.path.join(d, "two.ige")
    subprocess.run([MAKE, "fragmentation", two, "5"], check=True)
    tap.ok(re.search(r'<span class="n">~[\d.]+ m?s</span>', out("export", "-f", "html", "-o", "-", two)), "and so is the list of causes")
    text = out("export", "-f", "chrome", "-o", "-", part)
    tap.same(text.count('"kernel launches not probed"'), 4, "a timeline has a slice for each pause")
    text = out("export", "-f", "prometheus", "-o", "-", part)
    tap.ok('ingero_paused_time_seconds_total{' in text and 'tier="launches"} 4.5' in text, "metrics have the time")
    both = json.loads(out("stat", "--compare", "--json", whole, part))
    tap.same([r["key"] for r in both["rows"] if r["worse"] and "total" in r["worse"]], [], "a comparison is of estimates")

    # It ends before launches are recorded once more: what there is of them is the least.
    subprocess.run([MAKE, "launch-bound", part, "end"], check=True)
    text = out("stat", "--json", part)
    tap.none(schema.complaints(json.loads(text), json.load(open("formats/stat.schema.json"))), "stat: the schema holds")
    tap.same([r["op"] for r in json.loads(text)["ops"] if r.get("at_least")], ["cudaLaunchKernel"], "stat --json: at least so many launches")
    tap.same([p["at_least"] for p in json.loads(text)["coverage"]["paused"]], [True], "and why")
    text = out("stat", part)
    row = next(line for line in text.splitlines() if line.split()[:1] == ["cudaLaunchKernel"])
    tap.ok(row.split()[1].startswith(">="), "stat: marked, and no estimate", row)
    tap.ok(not any(m in next(line for line in text.splitlines() if line.split()[:1] == ["cudaStreamSynchronize"]) for m in ("~", ">=")), "stat: others are as they were")
    tap.same(text.count(", and not since: there were at least as many as shown (>=)"), 1, "stat: it is said once")

tap.done_testing()
