#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-correlate and ingero-explain on generated recordings: what they tell against the truth, their
# schemas, that explain says the same with and without correlate, pipes and pieces, and every way an
# input can be bad.

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "tests")
import schema  # noqa: E402
import tap  # noqa: E402

CORRELATE, EXPLAIN, DEMO, STAT, MERGE = (os.path.join(tap.BIN, "ingero-" + p) for p in ("correlate", "explain", "demo", "stat", "merge"))
EXPLAIN_SCHEMA, CHAIN_SCHEMA, ANALYSIS_SCHEMA = (json.load(open(f"formats/{n}.schema.json"))
                                                 for n in ("explain", "chain", "analysis"))


def run(program, *args, data=None):
    p = subprocess.run([program, *args], input=data, stdin=subprocess.DEVNULL if data is None else None,
                       capture_output=True, timeout=120)
    return p.returncode, p.stdout, p.stderr.decode()


def explain(*args, data=None):
    status, out, err = run(EXPLAIN, "--json", *args, data=data)
    return status, json.loads(out) if out else None, err


def pieces(program, *args, data, size):
    """data through a pipe, in writes of at most size bytes."""
    p = subprocess.Popen([program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = os.fork()
    if pid == 0:
        p.stdout.close()
        for at in range(0, len(data), size):
            p.stdin.write(data[at:at + size])
            p.stdin.flush()
        os._exit(0)
    p.stdin.close()
    out = p.stdout.read()
    os.waitpid(pid, 0)
    return p.wait(), out


tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
path = lambda name: os.path.join(tmp.name, name)  # noqa: E731

# ---- a call site has the durations of its calls, whichever detector told it

for scenario in ("launch-bound", "sync-storm", "slow-down", "gpu-steal"):
    subprocess.run([DEMO, scenario, "--duration", "10s", "--seed", "5", "-o", path(scenario)], check=True)
    status, told, err = explain(path(scenario))
    sites = [s for c in told["chains"] for s in c["sites"] if s.get("calls")]
    tap.ok(sites and all(0 < s["avg_ns"] <= s["max_ns"] for s in sites), f"{scenario}: sites have their calls' mean and longest",
           [(s["op"], s["calls"], s["avg_ns"], s["max_ns"]) for s in sites])

# ---- with nobody to name a timeline says what the thread did

for scenario, did in (("paced", "it slept"), ("starved", "it ran its own code")):
    status, told, err = explain(data=run(DEMO, scenario, "--duration", "10s")[1])
    texts = [m["text"] for c in told["chains"] if c["kind"] == "gpu-idle" for m in c["timeline"] if m["layer"] == "HOST"]
    tap.ok(texts and all(re.fullmatch(rf"the device had nothing to do for \S+ ms: {did}", t) for t in texts), f"{scenario}: {did}", texts)

# ---- what is told, against what was planted

for scenario in ("incident", "contended", "throttled", "lock", "disk"):
    subprocess.run([DEMO, scenario, "--duration", "4s", "--seed", "5", "-o", path(scenario)], check=True)
    truth = json.loads(run(DEMO, scenario, "--duration", "4s", "--seed", "5", "--truth", "--json")[1])
    planted = [t for t in truth["truths"] if t.get("count")]
    status, said, err = explain(path(scenario))
    tap.same(status, 0, f"{scenario}: status")
    tap.none(schema.complaints(said, EXPLAIN_SCHEMA), f"{scenario}: as formats/explain.schema.json says")
    tap.same(len(said["chains"]), 1, f"{scenario}: one chain")
    chain = said["chains"][0]
    tap.ok(chain["kind"] in [t["kind"] for t in planted], f"{scenario}: its kind", f"{chain['kind']} of {planted}")
    who = chain["culprit"]
    tap.ok(planted[0]["culprit"] in (who["comm"], who["cgroup"], who["device"]), f"{scenario}: its culprit", f"{who}")
    want = sum(t["lost_ns"] for t in planted)
    tap.ok(abs(chain["lost_ns"] - want) <= want * 0.05, f"{scenario}: its time", f"{chain['lost_ns']} against {want}")
    tap.ok(0.5 < chain["explained"] <= 1.0001, f"{scenario}: explains most of what the host took", chain["explained"])
    sites = sum(s["lost_ns"] for s in chain["sites"])
    tap.ok(sites <= chain["lost_ns"] * 1.001, f"{scenario}: sites do not lose more than the chain")
    for p in said["breakdown"]:
        tap.same(sum(p["parts"].values()), p["thread_ns"], f"{scenario}: the parts of {p['comm']} sum to its time")
    starts = [m["t_ns"] for m in chain["timeline"]]
    tap.ok(len(starts) > 2 and starts == sorted(starts), f"{scenario}: a timeline, in order", starts)
    out = run(EXPLAIN, path(scenario))[1].decode()
    rows = re.findall(r"^        \+ +(\d+\.\d{6}) s  (\d\d:\d\d:\d\d\.\d{3})  [A-Z]", out, re.M)
    tap.ok(len(rows) == len(starts) and rows == sorted(rows) and "\n    Timeline (UTC)\n" in out, f"{scenario}: printed so, with the time of day", rows)
    tap.ok(re.search(r" after the start \(from 2026-01-01 00:00:0\S+ UTC to 00:00:0\S+ UTC\)\n", out), f"{scenario}: from when to when", out)
    tap.ok(re.match(r".*\n1 finding: 1 (HIGH|MEDIUM|LOW)\n", out), f"{scenario}: how many findings there are", out[:600])
    lead = re.match(r"train \(pid \d+\): [\d,]+ steps of train_step \(train\.cpp:104\), .* each: (.*)", out)
    who = "its cgroup's CPU quota" if scenario == "throttled" else planted[0]["culprit"]
    tap.ok(lead and who in lead[1].split(";")[0], f"{scenario}: the first line names it first, before work that takes longer", out.splitlines()[0])
    tap.ok(chain["summary"] in out, f"{scenario}: the cause is told", out)
    shown = re.search(r"(?m)^    Symptom .* over (.*)$", out)
    tap.ok(not shown or re.fullmatch(r"[\d,]+ calls alike", shown[1]), f"{scenario}: what its quantiles are of", shown and shown[1])
    for r in chain["recommendations"]:
        tap.ok("$ " + r["command"] in out, f"{scenario}: the text has the command to type", r["command"])

# ---- what to do: commands are for a shell, lines for the program are marked as such

kinds = set()
for scenario in json.loads(run(DEMO, "--list", "--json")[1])["scenarios"]:
    data = run(DEMO, scenario["name"], "--duration", "8s")[1]
    out = run(EXPLAIN, data=data)[1].decode()
    outside = out.partition("Before the first step or after the last")[2]  # a cause there is one line
    chains = [c for c in explain(data=data)[1]["chains"] if f"    {c['kind']}: {c['summary']}" not in outside]
    for r in [r for c in chains for r in c["recommendations"]]:
        kinds.add(r["kind"])
        took = subprocess.run(["bash", "-n", "-c", r["command"]], capture_output=True, text=True)
        tap.ok(r["kind"] == "code" or took.returncode == 0, f"{scenario['name']}: a shell takes {r['command']}", took.stderr)
        tap.ok({"shell": "$ ", "code": "| "}[r["kind"]] + r["command"] in out, f"{scenario['name']}: the text says which it is", out)
tap.same(kinds, {"shell", "code"}, "scenarios have both")

status, said, err = explain(data=subprocess.run([DEMO, "clean", "--duration", "3s"], capture_output=True).stdout)
tap.same((status, said["chains"]), (0, []), "clean: nothing is told")
out = run(EXPLAIN, data=subprocess.run([DEMO, "clean", "--duration", "3s"], capture_output=True).stdout)[1].decode()
tap.ok(re.match(r"train \(pid \d+\): [\d,]+ steps of train_step .* each: .*waits for the device", out) and "had the CPU" not in out,
       "clean: and the text says so", out[:200])

# ---- calls that returned an error

subprocess.run([DEMO, "errors", "--duration", "3s", "-o", path("errors")], check=True)
status, said, err = explain(path("errors"))
counted = json.loads(run(STAT, "--json", path("errors"))[1])["errors"]
tap.none(schema.complaints(said, EXPLAIN_SCHEMA), "errors: as formats/explain.schema.json says")
tap.ok(status == 0 and [(c["kind"], c["lost_ns"]) for c in said["chains"]] == [("gpu-oom", 0)], "errors: an error is no stall", said["chains"])
tap.same(said["chains"][0]["count"], counted[0]["count"], "errors: the chain counts those of the outermost calls")
tap.ok(counted and sorted((f["op"], f["name"], f["count"]) for f in said["errors"]) ==
       sorted((f["op"], f["name"], f["count"]) for f in counted), "errors: as many as ingero-stat counts",
       f"{said['errors']} {counted}")
tap.same(said["errors_found"], said["chains"][0]["count"], "errors: in all, as the chain has it")
tap.same([f["passed_on"] for f in said["errors"]], [f["inside"] for f in said["errors"]], "errors: what the driver told the runtime is no other one")
for f in said["errors"]:
    tap.same(sum(s["count"] for s in f["sites"]), f["count"], f"errors: every call of {f['op']} has its site")
    tap.same(f["inside"], f["count"] if f["source"] == "driver" else 0, f"errors: {f['op']}: which were made by another call")
    tap.ok(0 < f["first_ns"] < f["last_ns"] < said["coverage"]["duration_ns"], f"errors: when {f['op']} failed")
    tap.ok(0 < f["total_ns"] and f["comm"] == "train", f"errors: what {f['op']} took, and who called", f)
out = run(EXPLAIN, path("errors"))[1].decode()
tap.ok(re.search(r"Errors: ([\d,]+) calls returned an error \(and so did \1 calls inside them\), as told above", out) and
       said["errors_found"] == int(re.search(r"Errors: ([\d,]+) calls", out)[1].replace(",", "")), "errors: as many as the chain says", out)
tap.ok("was refused device memory" in out and "as told above" in out and "cudaMalloc returned 2" not in out, "errors: in the text, once", out)
pid = said["errors"][0]["pid"]
tap.same(len(explain("-p", str(pid), path("errors"))[1]["errors"]), len(said["errors"]), "errors: -p of who made them")
tap.same(explain("-p", "999999", path("errors"))[1]["errors"], [], "errors: -p of somebody else")
tap.ok("\nErrors" not in run(EXPLAIN, path("incident"))[1].decode(), "no errors, no heading")
tap.same((explain(path("incident"))[1]["errors"], explain(path("incident"))[1]["errors_found"]), ([], 0), "and an empty list")

# ---- a part of the time

subprocess.run([DEMO, "incident", "--duration", "4s", "--seed", "9", "-o", path("long")], check=True)
run(CORRELATE, path("long"), "-o", path("long-chains"))
whole = explain(path("long"))[1]
halves = [explain(*args, path("long"))[1] for args in (("--until", "2s"), ("--last", "2s"))]
for half, name in zip(halves, ("--until", "--last")):
    tap.none(schema.complaints(half, EXPLAIN_SCHEMA), f"{name}: as formats/explain.schema.json says")
    tap.same([c["kind"] for c in half["chains"]], ["cpu-preempted"], f"{name}: the cause is in each half")
    tap.same(half["chains"][0]["culprit"]["pid"], whole["chains"][0]["culprit"]["pid"], f"{name}: and its culprit")
    for p in half["breakdown"]:
        tap.same(sum(p["parts"].values()), p["thread_ns"], f"{name}: the parts of {p['comm']} sum to its time")
    tap.ok(half["coverage"]["duration_ns"] < whole["coverage"]["duration_ns"] * 0.6, f"{name}: it covers a part", half["coverage"])
    first, last = half["chains"][0]["first_ns"], half["chains"][0]["last_ns"]
    tap.ok(0 <= first < last <= half["coverage"]["duration_ns"], f"{name}: times count from where it begins", (first, last))
tap.same(sum(h["coverage"]["events"] for h in halves), whole["coverage"]["events"], "the halves hold every event once")
both, one = sum(h["chains"][0]["lost_ns"] for h in halves), whole["chains"][0]["lost_ns"]
tap.ok(one * 0.98 <= both <= one, "and lose what the whole loses, less what crosses the middle", f"{both} of {one}")
again = explain("--last", "2s", path("long-chains"))[1]
tap.same(again, halves[1], "chains of the whole are not told as those of a part")
mid = whole["start"].replace("00.0", "02.0").replace("00.000000000", "02.000000000")
by_clock = explain("--since", mid, path("long"))[1]
tap.ok(abs(by_clock["coverage"]["events"] - halves[1]["coverage"]["events"]) < 200, "--since takes a time of day", by_clock["coverage"])
for at in range(1, 40, 7):
    part = explain("--since", f"{at * 97}ms", "--until", f"{at * 61}ms", path("long"))[1]
    tap.ok(all(sum(p["parts"].values()) == p["thread_ns"] for p in part["breakdown"]), f"any window sums up ({at})", part["breakdown"])
status, out, err = run(EXPLAIN, "--last", "2s", data=open(path("long"), "rb").read())
tap.ok(status == 2 and "need a file" in err, "a pipe has no end to count from", err)
tap.same(run(EXPLAIN, "--last", "1s", "--since", "2s", path("long"))[0], 2, "--last with --since")
tap.same(run(EXPLAIN, "--since", "soon", path("long"))[0], 2, "a time that is none")

# ---- a part that lies inside a call which returns behind it

subprocess.run([DEMO, "long-steps", "--duration", "60s", "-o", path("in-call")], check=True)
says = "train (pid 4801) has not returned for 5.50 s in cudaStreamSynchronize"
out = run(EXPLAIN, "--since", "43s", "--until", "37.5s", path("in-call"))[1].decode()
tap.ok(out.startswith(says) and "call-hung" in out, "a part of a call says that the call had not returned", out)
out = run(EXPLAIN, "--since", "43s", "--until", "40s", path("in-call"))[1].decode()
tap.ok(out.startswith("Nothing ended here: 1 call was open at the end"), "so does one that is too short to call it hung", out)
for args in (("--since", "43s", "--until", "37.5s"), ("--until", "37.5s"), ("--since", "37.5s")):
    subprocess.run([MERGE, "-q", *args, path("in-call"), "-o", path("part" + str(len(args)) + args[0])], check=True)
tap.ok(says.split(" for ")[0] in run(EXPLAIN, path("part4--since"))[1].decode(), "so does a slice of it")
tap.same(explain(path("part2--until"), path("part2--since"))[1], explain(path("in-call"))[1], "two slices that a call crosses are what they were")

# ---- through correlate

incident = open(path("incident"), "rb").read()
status, with_chains, err = run(CORRELATE, path("incident"))
tap.same((status, err), (0, ""), "correlate: status")
first = explain(data=incident)[1]
second = explain(data=with_chains)[1]
tap.same(second["coverage"].pop("analyzed_by"), "ingero-correlate", "explain takes correlate's word")
tap.same(first["coverage"].pop("analyzed_by"), "ingero-explain", "or finds out itself")
tap.same(second, first, "and says the same")
tap.same(run(CORRELATE, data=with_chains)[1], with_chains, "correlating again replaces the chains")
tap.same(run(CORRELATE, "-o", path("out.ige"), path("incident"))[0], 0, "-o FILE")
tap.same(open(path("out.ige"), "rb").read(), with_chains, "writes the same")
told, plain = (json.loads(run(STAT, "--json", data=d)[1]) for d in (with_chains, incident))
tap.same(({c["id"] for c in told.pop("causes")}, plain.pop("causes")), ({c["id"] for c in first["chains"]}, []),
         "stat tells the causes that were found, and finds none itself")
tap.same(told, plain, "the events are the same for stat")
only = run(CORRELATE, "--chains-only", path("incident"))[1]
tap.ok(len(only) < len(with_chains) / 4, "--chains-only is small", f"{len(only)} of {len(with_chains)}")
tap.same(explain(data=only)[1]["chains"], first["chains"], "and holds the chains")
lines = [json.loads(line) for line in run(CORRELATE, "--json", path("incident"))[1].splitlines()]
tap.none([c for r in lines if r["record"] == "chain" for c in schema.complaints(r["body"], CHAIN_SCHEMA)],
         "chain bodies as formats/chain.schema.json says")
tap.none(schema.complaints(lines[-1]["body"], ANALYSIS_SCHEMA), "analysis as formats/analysis.schema.json says")
tap.ok(len([r for r in lines if r["record"] == "chain"]) > 1, "a chain is told while it grows")
for size in (1, 97, 4096, 1 << 20):
    data = incident if size > 1 else incident[:200000]
    want = with_chains if size > 1 else run(CORRELATE, data=data)[1]
    tap.ok(pieces(CORRELATE, data=data, size=size)[1] == want, f"a pipe in pieces of {size} gives the same bytes")

# ---- live: a chain is written while the recorder still runs

p = subprocess.Popen([CORRELATE, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
os.set_blocking(p.stdout.fileno(), False)
p.stdin.write(incident[:len(incident) * 3 // 4])
p.stdin.flush()
early, deadline = b"", time.monotonic() + 20
while not early and time.monotonic() < deadline:
    early = p.stdout.read() or b""
    time.sleep(0.02)
tap.ok(b'"record":"chain"' in early, "a chain comes before the stream ends")
p.send_signal(signal.SIGINT)
time.sleep(0.1)
tap.same(p.poll(), None, "the first SIGINT is for the recorder")
os.set_blocking(p.stdout.fileno(), True)
p.stdin.write(incident[len(incident) * 3 // 4:])
p.stdin.close()
rest = p.stdout.read()
tap.same((p.wait(), b'"record":"analysis"' in rest), (0, True), "and the verdict comes with the end of the stream")

# ---- options

pid = first["chains"][0]["victim"]["pid"]
tap.same(len(explain("-p", str(pid), path("incident"))[1]["chains"]), 1, "-p of the victim")
status, said, err = explain("-p", "999999", path("incident"))
tap.same((said["chains"], said["breakdown"]), ([], []), "-p of somebody else")
tap.ok(run(EXPLAIN, "-p", "999999", path("incident"))[1].startswith(b"Nothing can be said"), "and nothing is claimed of it")
tap.same(run(EXPLAIN, "-p", "x", path("incident"))[0], 2, "-p that is no pid")
tap.same(run(EXPLAIN, "--fail-on", "high", path("incident"))[0], 1, "--fail-on: found")
tap.same([run(EXPLAIN, "--fail-on", s, path("incident"))[0] for s in ("HIGH", "Medium", "worst")], [1, 1, 2], "--fail-on: in any case of letters")
tap.same(run(EXPLAIN, "--fail-on", "high", path("incident"), "-p", "999999")[0], 0, "--fail-on: not found")
tap.same(run(EXPLAIN, "--top", "0", path("incident"))[0], 0, "--top 0")
tap.same(json.loads(run(CORRELATE, "--json", "--min-share", "60", path("incident"))[1])["record"], "analysis",
         "--min-share above what was lost: nothing told")
subprocess.run([DEMO, "incident", "--dose", "1", "--duration", "1s", "-o", path("little")], check=True)
for options, told in ((), False), (("--min-share", "0", "--min-lost", "0"), True):
    lines = [json.loads(line)["record"] for line in run(CORRELATE, "--json", *options, path("little"))[1].splitlines()]
    tap.same("chain" in lines, told, f"{' '.join(options) or 'the defaults'}: what took 10 ms of a second")
tap.same(run(EXPLAIN, "--jsn")[0], 2, "wrong option")
tap.same(run(EXPLAIN, path("missing"))[0], 3, "missing file")
tap.same(run(CORRELATE, path("missing"))[0], 3, "missing file for correlate")

# ---- process by process

subprocess.run([DEMO, "gpu-steal", "--duration", "4s", "-o", path("two")], check=True)
out = run(EXPLAIN, "--per-process", path("two"))[1].decode()
tap.ok(re.match(r"1 finding: 1 HIGH\n2 processes share GPU 0 \(generated\): train \(pid \d+\), embed-server \(pid \d+\)\. ", out), "--per-process: who shares a GPU", out[:300])
said, ops = explain("--per-process", path("two"))[1], json.loads(run(STAT, "--json", path("two"))[1])["ops"]
tap.none(schema.complaints(said, EXPLAIN_SCHEMA), "--per-process: as formats/explain.schema.json says")
calls = {o["op"]: o["count"] for o in ops if o["source"] in ("cuda", "driver")}
tap.same({op: sum(o["count"] for o in said["operations"] if o["op"] == op) for op in calls}, calls, "--per-process: every call is one of a process's")
for p in said["breakdown"]:
    table = out.split(f"\nOperations of {p['comm']} (pid {p['pid']})")[1].split("\n\n")[0]
    tap.ok(re.search(r"\n    operation +calls +p50 +p95 +p99 +max +total\n", table), f"--per-process: the table of {p['comm']}", table)
    for o in [o for o in said["operations"] if o["pid"] == p["pid"]]:
        tap.ok(re.search(rf"\n    {o['op']} +{o['count']:,} ", table) and o["p50_ns"] <= o["p95_ns"] <= o["p99_ns"] <= o["max_ns"], f"--per-process: {p['comm']} {o['op']}", table)
alone = run(EXPLAIN, "--per-process", path("incident"))[1].decode()
tap.ok("share GPU" not in alone and "\nOperations of train" in alone, "--per-process: one process shares with nobody", alone[:300])
tap.ok("operations" not in first, "without it no table is made")

# ---- bad input

status, out, err = run(EXPLAIN, data=b"")
tap.ok(status == 4 and "empty" in err and b"No host cause" not in out, "an empty input is not a healthy one", f"{status} {out} {err}")
status, out, err = run(CORRELATE, data=b"")
tap.ok(status == 4 and "empty" in err and out == b"", "and gives an empty stream", f"{status} {out} {err}")
status, out, err = run(EXPLAIN, data=b"hello, world\n" * 20)
tap.ok(status == 4 and "not an .ige" in err, "not a recording", f"{status} {err}")
status, out, err = run(CORRELATE, data=b"hello, world\n" * 20)
tap.ok(status == 4 and "not an .ige" in err and out == b"", "not a recording, for correlate", f"{status} {err}")

cut = incident[:len(incident) * 2 // 3 + 5]
status, said, err = explain(data=cut)
tap.same((status, said["coverage"]["partial"], len(said["chains"])), (4, True, 1), "cut off: what is there is explained")
status, out, err = run(CORRELATE, data=cut)
tap.same(status, 4, "cut off: correlate says so")
tap.same(len(explain(data=out)[1]["chains"]), 1, "and its output is a sound stream")

random.seed(7)
subprocess.run([DEMO, "incident", "--duration", "200ms", "--threads", "1", "-o", path("small")], check=True)
small = open(path("small"), "rb").read()
bad = []
for i in range(60):
    damaged = bytearray(small)
    for _ in range(1 + i % 4):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    for program, args in ((EXPLAIN, []), (CORRELATE, ["--json"])):
        status, out, err = run(program, *args, data=bytes(damaged))
        if status not in (0, 4) or (status == 4 and not err):
            bad.append(f"{program} {i}: status {status} {err[:100]}")
for i in range(0, len(small), max(1, len(small) // 40)):
    status, out, err = run(EXPLAIN, data=small[:i])
    if status != 4:
        bad.append(f"cut at {i}: status {status}")
tap.none(bad, "damage never brings them down, and is told")

for name, args, data in (("-o", [path("incident")], None), ("-o behind <", [], open(path("incident"), "rb"))):
    p = subprocess.run([CORRELATE, "-o", path("incident"), *args], stdin=data, capture_output=True)
    tap.same((p.returncode, open(path("incident"), "rb").read() == incident), (2, True), f"the input is not written over: {name}")
master, slave = os.openpty()
p = subprocess.run([CORRELATE, "-o", "-", path("incident")], stdout=slave, stderr=subprocess.PIPE)
tap.ok(p.returncode == 2 and b"not for a terminal" in p.stderr, "-o - is no way to a terminal either", p.stderr)
evil = path("evil\x1b[2J\u009b31m.ige")
with open(evil, "wb") as f:
    f.write(cut)
status, out, err = run(EXPLAIN, evil)
tap.ok(status == 4 and b"\x1b" not in out and b"\xc2\x9b" not in out and b"evil?" in out, "a file's name does not drive a terminal", out)
tap.ok("\x1b" not in err and "\x9b" not in err and "evil?" in err, "in messages neither", err)
status, out, err = run(EXPLAIN, data=incident[:100])
tap.ok(status == 4 and out.startswith(b"Nothing can be said"), "a stump claims nothing, not even that nothing was recorded", out)

p = subprocess.run(f"{EXPLAIN} {path('incident')} | true; exit ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash",
                   capture_output=True)
tap.same((p.returncode, p.stderr), (0, b""), "output closed early ends quietly")
p = subprocess.run(f"{CORRELATE} {path('incident')} >/dev/full", shell=True, capture_output=True)
tap.ok(p.returncode == 3 and b"No space left" in p.stderr, "full disk", f"{p.returncode} {p.stderr}")
p = subprocess.run(f"{EXPLAIN} {path('incident')} >/dev/full", shell=True, capture_output=True)
tap.ok(p.returncode == 3 and b"No space left" in p.stderr, "full disk, explain", f"{p.returncode} {p.stderr}")
# An output is not emptied for an input that is not there.
with tempfile.NamedTemporaryFile(suffix=".ige") as kept:
    kept.write(b"keep"); kept.flush()
    gone = subprocess.run([tap.BIN + "/ingero-correlate", "/nonexistent.ige", "-o", kept.name], capture_output=True)
    tap.ok(gone.returncode == 3 and open(kept.name, "rb").read() == b"keep", "a missing input leaves the output file alone")

# ---- other ways to look at the same chains
subprocess.run([DEMO, "straggler", "--duration", "5s", "-o", path("ranks")], check=True)
out = run(EXPLAIN, "--chains", path("incident"))[1].decode().splitlines()
tap.ok(len(out) == 2 and out[0].split()[:2] == ["severity", "kind"] and out[1].split()[1] == "cpu-preempted", "--chains: a table, a line each", out)
out = run(EXPLAIN, "--per-process", path("ranks"))[1].decode()
tap.same((out.count("== train"), out.count("collective-straggler"), out.count("No cause found")), (4, 1, 3), "--per-process: chains stand with their victims")
for args, want in (((), 1), (("-e", "cudaLaunchKernel"), 1), (("-e", "cuda:*Sync*"), 1), (("-e", "cudaEventRecord"), 0), (("-n", "gpu-host-1"), 1), (("-n", "elsewhere"), 0),
                   (("-p", "1"), 0)):
    tap.same(len(explain(*args, path("incident"))[1]["chains"]), want, f"chains with {' '.join(args) or 'nothing asked for'}")
out = run(EXPLAIN, "-e", "cudaEventRecord", path("incident"))[1].decode()
tap.ok(out.startswith("1 cause was found, none of them in what was asked for."), "causes that are not asked for are not denied", out[:200])
for args in (["--chains"], ["--per-process"], []):
    status, out, err = run(EXPLAIN, *args, data=b"")
    tap.ok(status == 4 and out.startswith(b"Nothing can be said"), f"nothing read: nothing claimed, {args}", out)
status, out, err = run(EXPLAIN, "--call", "cudaStreamSynchronize", data=incident[:100])
tap.same(status, 4, "a call looked for in a stump: the stump is the news")
tap.same([run(EXPLAIN, *a, path("incident"))[0] for a in (["--call", "cudaMalloc", "-p", "1"], ["--diff", "--chains"], ["--call", "cudaMalloc", "--last", "1s"])], [2, 2, 2],
         "choices that would be ignored are refused")
status, out, err = run(EXPLAIN, "-e", "cudaMaloc", path("incident"))
tap.ok(status == 2 and "did you mean 'cudaMalloc'" in err, "a call that does not exist: the nearest one is named", err)

# ---- two recordings: what came, went, grew and shrank
DIFF_SCHEMA = json.load(open("formats/diff.schema.json"))
for name, dose in (("little", 10), ("much", 40)):
    subprocess.run([DEMO, "incident", "--duration", "5s", "--dose", str(dose), "-o", path(name)], check=True)
subprocess.run([DEMO, "incident", "--duration", "5s", "--dose", "0", "-o", path("none")], check=True)
for before, after, change, status, first in (("little", "much", "worse", 1, "Slower"), ("much", "little", "better", 0, "Faster"), ("none", "much", "worse", 1, "Slower"),
                                             ("much", "none", "better", 0, "Faster"), ("much", "much", "same", 0, "As fast as before")):
    got, out, err = run(EXPLAIN, "--diff", "--json", "--fail-on", "high", path(before), path(after))
    said = json.loads(out)
    tap.none(schema.complaints(said, DIFF_SCHEMA), f"{before} and {after}: as formats/diff.schema.json says")
    tap.same((got, [(c["kind"], c["change"]) for c in said["causes"]]), (status, [("cpu-preempted", change)]), f"{before} and {after}: {change}")
    for side, name in (("before", before), ("after", after)):
        own = explain(path(name))[1]["chains"]
        cause = said["causes"][0][side]
        tap.same(cause["lost_ns"] if cause else None, own[0]["lost_ns"] if own else None, f"{before} and {after}: the time of {name} is that of its own report")
    tap.ok(run(EXPLAIN, "--diff", path(before), path(after))[1].decode().startswith(first), f"{before} and {after}: {first}")
rates = []
for only in ("cuda:*", "driver:*", "*"):
    run(MERGE, "-e", only, "-o", path("layer"), path("much"))
    said = json.loads(run(EXPLAIN, "--diff", "--json", path("layer"), path("layer"))[1])
    rates.append(round(said["before"]["launches_per_s"] * said["before"]["wall_ns"] / 1e9))
    os.unlink(path("layer"))
tap.ok(len(set(rates)) == 1 and rates[0] > 1000, "launches are counted once over both layers, and in each alone", rates)
text, whole = (run(EXPLAIN, "--diff", *top, path("little"), path("much"))[1].decode() for top in ((), ("--top", "0")))
tap.ok("1 row more (--top 0 shows all)" in text and " more (" not in whole and len(whole.splitlines()) == len(text.splitlines()), "--top 0: all calls", (text, whole))
tap.same([run(EXPLAIN, "--diff", *a)[0] for a in ([path("much")], [path("much")] * 3, [path("much"), path("nowhere")])], [2, 2, 3], "two recordings, neither fewer nor more, that exist")
status, out, err = run(EXPLAIN, "--diff", path("incident"), evil)
tap.ok(status == 4 and out, "one of them cut: compared, and said", err)

# ---- one call, taken apart
CALL_SCHEMA = json.load(open("formats/call.schema.json"))
for moment in (m for m in explain(path("incident"))[1]["chains"][0]["timeline"] if m["event"] and m["layer"] == "CUDA"):
    key = f"{moment['event']['tid']}@{moment['event']['end']}"
    status, out, err = run(EXPLAIN, "--json", "--call", key, path("incident"))
    call = json.loads(out)
    tap.none(schema.complaints(call, CALL_SCHEMA), f"{key}: as formats/call.schema.json says")
    tap.same((call["op"], call["dur_ns"], call["t_ns"], sum(call["parts"].values())), (moment["event"]["op"], moment["dur_ns"], moment["t_ns"], moment["dur_ns"]),
             f"{key}: the call of the timeline, and its parts sum to it")
    host = sum(ns for part, ns in call["parts"].items() if part in ("preempted", "runqueue"))
    tap.ok(host >= moment["lost_ns"] and sum(t["ns"] for t in call["takers"]) <= host, f"{key}: what it lost is in its parts", (call, moment))
    tap.ok(all(0 <= k["since_ns"] and k["since_ns"] + k["dur_ns"] <= call["dur_ns"] for k in call["inside"]) and call["inside"], f"{key}: what is inside lies inside")
longest = max(o["max_ns"] for o in json.loads(run(STAT, "--json", path("incident"))[1])["ops"] if o["op"] == "cudaStreamSynchronize")
tap.same(json.loads(run(EXPLAIN, "--json", "--call", "cudaStreamSynchronize", path("incident"))[1])["dur_ns"], longest, "the longest call of an op is as long as ingero-stat says")
out = run(EXPLAIN, "--call", "cudaStreamSynchronize", path("incident"))[1].decode()
bar = next(line.strip() for line in out.splitlines() if line.strip().startswith("|"))
tap.ok(60 <= len(bar) <= 70 and set(bar) - set("|=PRwWTSDLFXzispfcb.?") == set(), "and as a bar", bar)
subprocess.run([DEMO, "call-hang", "--duration", "20s", "-o", path("hangs")], check=True)
for how, part in (("--until", "hangs-1"), ("--since", "hangs-2")):
    subprocess.run([MERGE, "-q", how, "4s", path("hangs"), "-o", path(part)], check=True)
tap.same(explain(path("hangs-1"), path("hangs-2")), explain(path("hangs")), "two slices that a call which hangs crosses tell of it as the whole does")
call = json.loads(run(EXPLAIN, "--json", "--call", "cudaStreamSynchronize", path("hangs"))[1])
tap.ok(call["open"] and call["dur_ns"] > 5e9 and list(call["parts"]) == ["unknown"], "a call that has not returned: what it does is not known", call)
# ---- a rank that the others wait for: what it does, or why it ended
for scenario, says, does, never in (("rank-hang", "has not entered collective number 681: in the 12.1 s since its last one it was on the CPU, after cudaStreamSynchronize in optimizer_step (train.cpp:88), for 12.1 s",
                                     "gdb -batch -p 4803 ", "dmesg"),
                                    ("rank-dies", "killed by signal 11 (SIGSEGV), and has not entered", "dmesg", "gdb")):
    subprocess.run([DEMO, scenario, "-o", path(scenario)], check=True)
    out = run(EXPLAIN, path(scenario))[1].decode()
    tap.ok(out.startswith("Rank 2, train-2 (pid 4803), ") and "; 3 ranks wait for it: " in out and says in out and does in out and never not in out, f"{scenario}: what to look at", out)
    tap.ok("a step loses" not in out, f"{scenario}: the steps before it lost nothing by it", out)
# ---- machines whose processes have the same numbers, and causes that were not asked for
for scenario, node in (("incident", "a"), ("clean", "b")):
    subprocess.run([DEMO, scenario, "--duration", "3s", "-n", node, "-o", path(f"on-{node}")], check=True)
def step_on(node, *names):
    found = re.search(rf"^A step of train \(pid \d+\)(?: on {node})?: (.*?)\n\n", run(EXPLAIN, *map(path, names))[1].decode(), re.M | re.S)
    return found and re.sub(r"\n    end .*", "", found[1])  # the other machine may go on for longer


tap.ok("log-compactor" in step_on("a", "on-a") and "log-compactor" not in step_on("b", "on-b"), "a step on one machine is slow, on the other it is not")
tap.same((step_on("a", "on-a", "on-b"), step_on("b", "on-a", "on-b")), (step_on("a", "on-a"), step_on("b", "on-b")),
         "what a step loses is of its own machine's causes")
run(CORRELATE, path("on-b"), "-o", path("on-b-chains"))
tap.same(explain(path("on-a"), path("on-b-chains"))[1], explain(path("on-a"), path("on-b"))[1], "an analysis of one of several recordings is not that of all of them")
classes = json.loads(run(EXPLAIN, "--json", path("on-a"), path("on-b"))[1])["classes"]
tap.same({(c["node"], c["comm"]) for c in classes}, {("a", "train"), ("b", "train")}, "classes of calls too say of which machine and command they are")
out = run(EXPLAIN, path("on-a"), path("on-b"))[1].decode()
tap.none([what for what in ("Memory", "A step", "Time") for node in "ab" if not re.search(rf"^{what} of train \([^)]*\) on {node}:", out, re.M)], "each says of which machine it is")
subprocess.run([DEMO, "errors", "--duration", "2s", "-o", path("errors")], check=True)
out = run(EXPLAIN, path("errors"))[1].decode()
tap.ok("as told above" in out and "returned 2" not in out, "errors that a cause tells are told once", out)
out = run(EXPLAIN, "-e", "cudaLaunchKernel", path("errors"))[1].decode()
tap.ok("as told above" not in out and "returned 2" in out, "where that cause is not asked for nothing was told above", out)
tap.same([run(EXPLAIN, "--call", c, path("incident"))[0] for c in ("1@1", "nosuchcall", "12@", "@5")], [3, 2, 2, 2], "no such call; no name of a call")

tap.done_testing()
