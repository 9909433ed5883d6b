#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-stat on generated recordings: counts and sums against an independent reading of its own
# JSON, the schema, selections, pipes, and every way an input can be bad.

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "tests")
import schema  # noqa: E402
import tap  # noqa: E402

STAT = os.path.join(tap.BIN, "ingero-stat")
DEMO = os.path.join(tap.BIN, "ingero-demo")
MERGE = os.path.join(tap.BIN, "ingero-merge")
SCHEMA = "formats/stat.schema.json"


def run(*args, data=None, stdin=None):
    p = subprocess.run([STAT, *args], input=data, stdin=subprocess.DEVNULL if data is None and stdin is None else stdin,
                       capture_output=True, timeout=120)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def stat_json(*args, **kw):
    status, out, err = run("--json", *args, **kw)
    return status, json.loads(out), err


tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
ige = os.path.join(tmp.name, "incident.ige")
subprocess.run([DEMO, "incident", "--duration", "4s", "-o", ige], check=True)
data = open(ige, "rb").read()

# ---- causes that the stream carries

chains = subprocess.run([os.path.join(tap.BIN, "ingero-correlate"), ige], check=True, capture_output=True).stdout
told = subprocess.run([os.path.join(tap.BIN, "ingero-explain"), "--json"], input=chains, check=True, capture_output=True).stdout
first = json.loads(told)["chains"][0]
status, out, err = run(data=chains)
tap.ok(f"found: {first['severity']} {first['summary']}\n" in out, "the cause found is told", out[:500])
status, out, err = run(ige)
tap.ok("found: " not in out, "nothing is told of what nobody analyzed")

# ---- the whole recording

status, j, err = stat_json(ige)
tap.same(status, 0, "a sound recording is status 0")
tap.same(err, "", "and says nothing on standard error")
tap.none(schema.check(j, SCHEMA), "the JSON is what the schema says")
ops = {o["op"]: o for o in j["ops"]}
tap.same(sum(o["count"] for o in j["ops"]), j["coverage"]["events"], "every event is counted once")
tap.same(j["coverage"]["selected"], j["coverage"]["events"], "all are selected")
tap.same(j["coverage"]["lost"], 0, "none is lost")
tap.ok(j["coverage"]["complete"], "the recording is complete")
tap.ok(3.99e9 < j["coverage"]["duration_ns"] < 4.01e9, "it lasts four seconds", j["coverage"])
tap.ok(j["coverage"]["start"].startswith("2026-01-01T00:00:00"), "it begins when its clock says")
inside = {"cudaLaunchKernel": ["cuLaunchKernel"], "cudaMemcpyAsync": ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"],
          "cudaStreamSynchronize": ["cuStreamSynchronize"], "cudaMalloc": ["cuMemAlloc"], "cudaFree": ["cuMemFree"]}
for outer, inner in inside.items():
    o = ops[outer]
    tap.same(o["count"], sum(ops[i]["count"] for i in inner), f"{outer}: as many driver calls inside")
    tap.same(o["self_ns"], o["total_ns"] - sum(ops[i]["total_ns"] for i in inner), f"{outer}: own time is the rest")
    tap.ok(all(ops[i]["self_ns"] == ops[i]["total_ns"] for i in inner), f"{outer}: inside it nothing more")
    tap.ok(o["lost_ns"] >= sum(ops[i]["lost_ns"] for i in inner), f"{outer}: lost time includes what is inside")
tap.ok(ops["cudaLaunchKernel"]["lost_ns"] > ops["cuLaunchKernel"]["lost_ns"] > 0, "launches lost time, in both layers")
for o in j["ops"]:
    order = [o["min_ns"], o["p50_ns"], o["p95_ns"], o["p99_ns"], o["max_ns"]]
    tap.ok(order == sorted(order) and o["total_ns"] >= o["max_ns"], f"{o['op']}: quantiles are in order", o)
    tap.ok(o["self_ns"] <= o["total_ns"] and o["lost_ns"] <= o["total_ns"], f"{o['op']}: parts are not more than all")
tap.same([o["layer"] for o in j["ops"]], sorted((o["layer"] for o in j["ops"]), key=["runtime", "driver", "host"].index),
         "rows are grouped by layer")
outer_total = sum(ops[o]["total_ns"] for o in inside)
tap.same(j["processes"][0]["in_calls_ns"], outer_total, "a process's time in calls counts no call twice")
tap.same(j["processes"][0]["outer_calls"], sum(o["count"] for o in j["ops"] if o["source"] == "cuda"),
         "and its outer calls are those of the runtime")
truth = json.loads(subprocess.run([DEMO, "incident", "--duration", "4s", "--truth", "--json"], capture_output=True).stdout)
planted = sum(t["lost_ns"] for t in truth["truths"])
tap.ok(planted < j["processes"][0]["lost_ns"] < planted * 1.05, "lost time is what was planted and a little more",
       f"{planted} {j['processes'][0]['lost_ns']}")
tap.same(ops["offcpu"]["lost_ns"], j["processes"][0]["lost_ns"], "the process lost what its off-CPU intervals lost")

# ---- the same from everywhere

tap.same(stat_json(data=data)[1], j, "a pipe gives the same")
tap.same(stat_json("-", data=data)[1], j, "'-' is standard input")
with open(ige, "rb") as f:
    tap.same(stat_json(stdin=f)[1], j, "a redirected file gives the same")
status, two, _ = stat_json(ige, ige)
tap.same(two["coverage"]["events"], 2 * j["coverage"]["events"], "two operands are both counted")

# ---- text

status, text, err = run(ige)
tap.same((status, err), (0, ""), "text: status 0")
for part in ("Runtime API", "Driver API", "Host", "cudaLaunchKernel", "cuLaunchKernel", "coverage: ", "0 lost", "window 4.00 s",
             f"{ops['cudaLaunchKernel']['count']:,}"):
    tap.ok(part in text, f"text: has {part}", text)
tap.ok("\033" not in text, "text: no colour in a file")
tap.ok("\033[" in run("--color=always", ige)[1], "text: colour when asked for")
tap.ok(max(map(len, text.splitlines())) <= 132, "text: lines fit a wide terminal")
few = subprocess.run([DEMO, "clean", "--duration", "50ms"], capture_output=True).stdout
tap.ok("* a quantile over fewer than 100" in run(data=few)[1], "text: quantiles over few calls are marked")
tap.ok("~" not in run(data=few)[1], "text: and not as estimates are, of which there are none")

# ---- errors

bad = subprocess.run([DEMO, "errors", "--duration", "1s"], capture_output=True).stdout
status, e, _ = stat_json(data=bad)
tap.none(schema.check(e, SCHEMA), "errors: by the schema")
failed = {x["op"]: x for x in e["errors"]}
tap.same(failed["cudaMalloc"]["name"], "cudaErrorMemoryAllocation", "errors: the code's name")
tap.same({o["op"]: o["errors"] for o in e["ops"] if o["errors"]}, {k: v["count"] for k, v in failed.items()},
         "errors: counted per op")
tap.ok("cudaErrorMemoryAllocation" in run(data=bad)[1], "errors: told in text")
asked = subprocess.run([DEMO, "polling", "--duration", "1s"], capture_output=True).stdout
for how in ([], ["--exact"], ["--by", "op"]):
    e = json.loads(run("--json", *how, data=asked)[1])
    polls = [o for o in e["ops"] if "Query" in o["op"]] if "ops" in e else [r for r in e["rows"] if "Query" in str(r)]
    tap.ok(polls and not any(o["errors"] for o in polls) and not e.get("errors"), f"errors: 'not ready yet' is none {how}", (polls, e.get("errors")))

# ---- flags

seen = set()
for scenario, dose in (("incident", ["--dose", "50"]), ("errors", []), ("periodic-spike", []), ("clean", []), ("cold-start", [])):
    spike = subprocess.run([DEMO, scenario, *dose, "--duration", "6s"], capture_output=True).stdout
    status, s, _ = stat_json(data=spike)
    want = {o["op"]: ["tail"] * (o["layer"] != "host" and o["p99_ns"] > 10 * o["p50_ns"] and o["p99_ns"] - o["p50_ns"] >= 10**6)
            + ["errors"] * (o["errors"] > 0) for o in s["ops"]}
    tap.same({o["op"]: o["flags"] for o in s["ops"]}, want, f"flags: {scenario}: as the manual says")
    text = run(data=spike)[1]
    for o in (o for o in s["ops"] if o["layer"] != "host"):
        line = next(line for line in text.splitlines() if line.startswith(f"  {o['op']} "))
        tap.same(line.split()[-1], ",".join(o["flags"]) or "-", f"flags: {scenario}: {o['op']}, in text")
    seen |= {flag for flags in want.values() for flag in flags}
tap.same(seen, {"tail", "errors"}, "flags: of each kind some")

# ---- selections

pid = j["processes"][0]["pid"]
tap.same(stat_json("-e", "driver", ige)[1]["ops"], [o for o in j["ops"] if o["source"] == "driver"],
         "-e SOURCE: the same rows as without it, own time included")
tap.same([o["op"] for o in stat_json("-e", "cu*Alloc*", ige)[1]["ops"]], ["cuMemAlloc"], "-e GLOB")
tap.same({o["op"] for o in stat_json("-e", "driver:cuMemcpy*,cudaFree", ige)[1]["ops"]},
         {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cudaFree"}, "-e LIST")
tap.same(stat_json("-p", str(pid), "-e", "cuda", ige)[1]["ops"], stat_json("-e", "cuda", ige)[1]["ops"], "-p of the process")
status, none, _ = stat_json("-p", "1", ige)
tap.same((status, none["ops"], none["coverage"]["selected"]), (0, [], 0), "-p of another: nothing, and no failure")
tap.none(schema.check(none, SCHEMA), "nothing selected is still by the schema")
half = stat_json("--last", "1s", ige)[1]
tap.ok(0.2 < half["coverage"]["selected"] / j["coverage"]["events"] < 0.3, "--last 1s of four is about a quarter")
tap.same(half["coverage"]["duration_ns"], 1000000000, "and its window is that long")
tap.same({m["metric"]: m["samples"] for m in half["system"]}, {m["metric"]: m["samples"] for m in half["metrics"] if m["metric"] in {s["metric"] for s in half["system"]}},
         "samples of the machine are of that time, too")
tap.same(stat_json("--since", "1s", ige)[1], half, "--since 1s is the same: from the end of the recording")
first = stat_json("--until", "1s", ige)[1]
tap.same(first["coverage"]["selected"] + half["coverage"]["selected"], j["coverage"]["events"],
         "before and after a moment is everything")
iso = stat_json("--since", "2026-01-01T00:00:03Z", ige)[1]
tap.ok(abs(iso["coverage"]["duration_ns"] - 1e9) < 1e7, "an ISO time", iso["coverage"])
long, parts = os.path.join(tmp.name, "long.ige"), [os.path.join(tmp.name, n + ".ige") for n in ("before", "behind")]
subprocess.run([DEMO, "long-steps", "--duration", "60s", "-o", long], check=True)
for how, part in zip(("--until", "--since"), parts):
    subprocess.run([MERGE, "-q", how, "37.5s", long, "-o", part], check=True)
tap.same([stat_json(*names)[1]["coverage"]["open_calls"] for names in ([long], parts[:1], parts[1:], parts)], [2, 2, 2, 2],
         "a call that two slices cross is open in the first, and in both together it returned")
for args, why in ((["-e", "cudaMaloc"], "did you mean 'cudaMalloc'"), (["-p", "abc"], "is not a process id"),
                  (["--since", "yesterday"], "neither a duration"), (["--last", "1s", "--since", "1s"], "both say"),
                  (["--since", "1s", "--until", "2s"], "behind --until")):
    status, out, err = run(*args, ige)
    tap.ok(status == 2 and why in err and not out, f"{' '.join(args)}: status 2 and why", f"{status} {err}")
status, out, err = run("--last", "1s", data=data)
tap.ok(status == 2 and "need a file" in err, "a time from a pipe is refused: its end is not known", err)

# ---- bad input

def refused(name, want_status, why, *args, **kw):
    status, out, err = run(*args, **kw)
    return tap.ok(status == want_status and why in err and err.startswith("ingero-stat: "), name, f"{status}: {err}")


refused("a missing file", 3, "No such file", os.path.join(tmp.name, "none.ige"))
empty = os.path.join(tmp.name, "empty")
os.makedirs(empty)
refused("a folder without recordings", 3, "holds no recording", empty)
refused("something else", 4, "not an .ige", data=b"GIF89a" * 100)
refused("the text of a table", 4, "not an .ige", data=text.encode())
refused("nothing at all", 4, "empty", data=b"")
status, cut, err = stat_json(data=data[: len(data) * 2 // 3])
tap.ok(status == 4 and "truncated" in err, "a truncated recording is status 4 and said", f"{status} {err}")
tap.ok(cut["coverage"]["truncated"] and 0.5 < cut["coverage"]["events"] / j["coverage"]["events"] < 0.7,
       "and what is there is counted", cut["coverage"])
tap.none(schema.check(cut, SCHEMA), "and by the schema")
broken = bytearray(data)
broken[len(data) // 2] ^= 0x10
status, hurt, err = stat_json(data=bytes(broken))
tap.ok(status == 4 and "damaged" in err, "a flipped bit is status 4 and said", f"{status} {err}")
tap.ok(hurt["coverage"]["events"] >= j["coverage"]["events"] - 8192, "and costs no more than its block", hurt["coverage"])
empty = subprocess.run([DEMO, "clean", "--duration", "0s"], capture_output=True).stdout
status, nothing, err = stat_json(data=empty)
tap.same((status, nothing["ops"], err), (0, [], ""), "a recording without events is no failure")
tap.none(schema.check(nothing, SCHEMA), "and by the schema")
tap.ok("no events" in run(data=empty)[1], "and text says so")

# ---- pipes

p = subprocess.run(f"'{STAT}' '{ige}' | head -1 >/dev/null; echo ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash",
                   capture_output=True, text=True)
tap.ok(p.stdout.strip() == "0" and not p.stderr, "| head ends quietly", p.stdout + p.stderr)
p = subprocess.run([STAT, ige], stdout=open("/dev/full", "w"), stderr=subprocess.PIPE, text=True)
tap.ok(p.returncode == 3 and "No space left" in p.stderr, "a full disk is status 3", p.stderr)
p = subprocess.Popen([STAT, "--interval", "50ms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
line, sent = b"", len(data) // 2
p.stdin.write(data[:sent])
p.stdin.flush()
while not line and sent < len(data):  # what comes now comes while the pipe is still open
    p.stdin.write(data[sent:sent + 4096])
    p.stdin.flush()
    sent += 4096
    if select.select([p.stdout], [], [], 0.06)[0]:
        line = p.stdout.readline()
tap.ok(b"events" in line and b"lost" in line, "live: a line per interval while the pipe is open", line)
p.stdin.close()
rest = p.stdout.read().decode()
p.wait()
tap.ok("Runtime API" in rest, "live: the table at the end", rest)

# After two seconds without anything the next news are of that time, not of an interval.
p = subprocess.Popen([STAT, "--interval", "400ms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False)
told = []
for part in (data[:len(data) // 3], data[len(data) // 3:]):
    p.stdin.write(part)
    p.stdin.flush()
    time.sleep(2)
p.stdin.close()
for line in p.stdout.read().decode().splitlines():
    news = re.search(r"  ([\d,]+) events, (\d+)/s, ", line)
    told += [(int(news[1].replace(",", "")), int(news[2]))] if news else []
p.wait()
slowest = min((rate / (events - before) for (before, _), (events, rate) in zip([(0, 0), *told], told)), default=None)
tap.ok(slowest is not None and slowest < 0.6, "live: events in a second are told of the time that passed", told)
tap.done_testing()
