#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The sections of ingero-stat: figures against a count of the same recording by another reader and against the truth that
# was planted, laws that hold of any recording, and what is said where there is nothing.

import collections
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import ige_reader  # noqa: E402
import schema  # noqa: E402
import tap  # noqa: E402

STAT = os.path.join(tap.BIN, "ingero-stat")
DEMO = os.path.join(tap.BIN, "ingero-demo")
CORRELATE = os.path.join(tap.BIN, "ingero-correlate")
EXPLAIN = os.path.join(tap.BIN, "ingero-explain")
ALL = ("processes", "system", "time", "runtime", "driver", "graphs", "nccl", "marks", "host", "kernels", "io", "net", "gpu",
       "memory", "rates", "latency", "errors", "causes")
PLAIN = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "NO_COLOR"))}


def run(*args, data=None, env=None):
    p = subprocess.run([STAT, *args], input=data, stdin=subprocess.DEVNULL if data is None else None, capture_output=True,
                       timeout=120, env=env or PLAIN)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def stat(*args, **kw):
    return json.loads(run("--json", *args, **kw)[1])


def demo(name, duration, *args):
    path = os.path.join(tmp.name, f"{name}.ige")
    subprocess.run([DEMO, name, "--duration", duration, *args, "-o", path], check=True)
    truth = subprocess.run([DEMO, name, "--duration", duration, *args, "--truth", "--json"], check=True, capture_output=True).stdout
    return path, json.loads(truth)["truths"]


@functools.lru_cache(None)
def told(path):
    out = []
    ige_reader.Reader(open(path, "rb").read(), out.append, ige_reader.tables("formats/ige.md")).read()
    return out


def column(text, name, header, of):
    """A cell of the row that begins with `name` in the table whose header begins with `header`."""
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.split()[:1] == [header])
    at = lines[head].split().index(of)
    return next(line for line in lines[head:] if line.split()[:1] == [name]).split()[at]


tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
paths, truths = {}, {}
for name, duration, args in (("incident", "700ms", ["--dose", "30"]), ("disk", "700ms", []), ("gpu-steal", "1200ms", []),
                             ("graph-recapture", "500ms", []), ("straggler", "500ms", []), ("gpu-leak", "700ms", []),
                             ("lock", "600ms", []), ("errors", "300ms", []), ("throttled", "1s", [])):
    paths[name], truths[name] = demo(name, duration, *args)
long, _ = demo("contended", "2s")  # not counted by the other reader, which takes its time

# ---- laws of every recording, and what another reader counts in it

for name, path in paths.items():
    j = stat(path)
    events = [e for e in told(path) if "event" in e]
    ops = {(o["source"], o["op"]): o for o in j["ops"]}
    tap.none(schema.check(j, "formats/stat.schema.json"), f"{name}: by the schema")

    bad = [o["op"] for o in j["ops"] if o["devices"] is not None and (
        sum(d["count"] for d in o["devices"]) != o["count"] or sum(d["errors"] for d in o["devices"]) != o["errors"]
        or sum(d["total_ns"] for d in o["devices"]) != o["total_ns"])]
    tap.none(bad, f"{name}: calls by device sum up to the calls")
    devices = collections.Counter((e["op"], (e.get("gpu") or {}).get("uuid")) for e in events)
    bad = [(o["op"], d["gpu"]) for o in j["ops"] for d in o["devices"] or []
           if devices[f"{o['source']}.{o['op']}", d["gpu"]] != d["count"]]
    tap.none(bad, f"{name}: as many on each as counted by another reader")

    powers = collections.defaultdict(collections.Counter)
    for e in events:
        powers[tuple(e["op"].split("."))][e["dur_ns"].bit_length()] += 1
    bad = []
    for key, o in ops.items():
        first = o["durations"]["from_ns"].bit_length()
        got = {first + i: n for i, n in enumerate(o["durations"]["counts"]) if n}
        if got != dict(powers[key]):
            bad.append((key, got, dict(powers[key])))
    tap.none(bad, f"{name}: durations by powers of two as counted by another reader")

    for r in j["rates"]:
        n = sum(r["series"]["counts"])
        tap.same(n, sum(o["count"] for o in j["ops"] if o["source"] == r["source"]), f"{name}: {r['source']} over time is all of it")
        first, span = r["series"]["t_ns"], r["series"]["span_ns"]
        start = min(e["end_ns"] - e["dur_ns"] for e in events)
        begin = next((x["start_ns"] for x in told(path) if x.get("record") == "session"), start)
        mine = collections.Counter((e["end_ns"] - begin - first) // span for e in events if e["op"].split(".")[0] == r["source"])
        tap.same({i: n for i, n in enumerate(r["series"]["counts"]) if n}, dict(mine),
                 f"{name}: {r['source']} in every span as counted by another reader")

    for t in j["time"]:
        tap.same(sum(t["in_calls_ns"].values()) + sum(t["outside_ns"].values()), t["ns"], f"{name}: time adds up")
        process = next(p for p in j["processes"] if p["pid"] == t["pid"])
        tap.same(sum(t["in_calls_ns"].values()), process["in_calls_ns"], f"{name}: that in calls is the process's time in calls")
    off = [d for d in j["host"] if d["op"] == "offcpu"]
    tap.same(sum(d["ns"] for d in off), ops[("sched", "offcpu")]["total_ns"], f"{name}: off-CPU time is split and all there")
    taken = collections.Counter(d["state"] for d in off if d["about"] == "task")
    tap.ok(all(s in ("preempted", "runqueue", "throttled", "disk", "lock", "stolen", "fault") for s in taken),
           f"{name}: what somebody took is taken in a known way", taken)

# ---- what was planted

j = stat(paths["incident"])
hog = truths["incident"][0]["culprit"]
by_hog = sum(d["ns"] for d in j["host"] if d["op"] == "offcpu" and d["about"] == "task" and d["text"].startswith(f"{hog} "))
planted = sum(t["lost_ns"] for t in truths["incident"] if t["culprit"] == hog)
tap.ok(abs(by_hog - planted) < 0.05 * planted, "incident: the hog's share of off-CPU time is what it took", (by_hog, planted))
shares = {k: v for t in j["time"] for k, v in t["in_calls_ns"].items()}
tap.ok(shares["preempted"] > 0 and shares["device"] > 0, "incident: calls are preempted and wait for the GPU", shares)

j = stat(paths["disk"])
blocks = [e for e in told(paths["disk"]) if e.get("op") == "io.block"]
d = j["disks"][0]
tap.same((len(j["disks"]), d["device"], d["what"]), (1, "8:16", "read"), "disk: one device is read")
tap.same((d["count"], d["bytes"], d["queue_ns"], d["device_ns"], d["max_ns"]),
         (len(blocks), sum(e["args"]["bytes"] for e in blocks), sum(e["args"]["queue_ns"] for e in blocks),
          sum(e["dur_ns"] - e["args"]["queue_ns"] for e in blocks), max(e["dur_ns"] for e in blocks)),
         "disk: requests, bytes, time in the queue and at the device as counted by another reader")
planted = truths["disk"][0]["lost_ns"]
blamed = sum(d["ns"] for d in j["host"] if d["op"] == "offcpu" and d["text"] == "disk 8:16")
tap.ok(abs(blamed - planted) < 0.05 * planted, "disk: what it took is what was planted", (blamed, planted))
text = run(paths["disk"], "--sections", "io,host")[1]
tap.ok(re.search(r"8:16 +read +%d " % len(blocks), text), "disk: told in text", text)
tap.ok(re.search(r"offcpu .*disk 8:16 \d+\.\d%", text), "disk: in the detail column of off-CPU time", text)

j = stat(paths["lock"])
held = sum(d["ns"] for d in j["host"] if d["state"] == "lock")
planted = sum(t["lost_ns"] for t in truths["lock"])
tap.ok(abs(held - planted) < 0.1 * planted, "lock: who held it took what was planted", (held, planted))

j = stat(paths["throttled"])
held = sum(d["ns"] for d in j["host"] if d["state"] == "throttled")
planted = sum(t["lost_ns"] for t in truths["throttled"])
tap.ok(abs(held - planted) < 0.1 * planted, "throttled: the quota took what was planted", (held, planted))

# Against the analysis, which keeps the same books another way.
for name in ("gpu-leak", "graph-recapture", "incident"):
    chains = subprocess.run([CORRELATE, paths[name]], check=True, capture_output=True).stdout
    told_memory = json.loads(subprocess.run([EXPLAIN, "--json"], input=chains, check=True, capture_output=True).stdout)["memory"]
    keys = ("pid", "live_bytes", "peak_bytes", "allocations", "frees", "unknown_frees", "live")
    tap.same([[m[k] for k in keys] for m in stat(paths[name])["memory"]], [[m[k] for k in keys] for m in told_memory],
             f"{name}: memory as the analysis tells it")
j = stat(paths["gpu-leak"])
mallocs = [e for e in told(paths["gpu-leak"]) if e.get("op") == "cuda.cudaMalloc" and e["ret"] == 0]
frees = [e for e in told(paths["gpu-leak"]) if e.get("op") == "cuda.cudaFree"]
tap.same(sum(m["allocations"] for m in j["memory"]), len(mallocs), "gpu-leak: allocations, those of the driver inside not again")
size = {}
for e in sorted(mallocs + frees, key=lambda e: e["end_ns"]):
    size[e["args"]["ptr"]] = e["args"].get("bytes", 0)
tap.same(sum(m["live_bytes"] for m in j["memory"]), sum(size.values()), "gpu-leak: what is left, as counted by another reader")
tap.ok("train.cpp:" in json.dumps(j["memory"]), "gpu-leak: with the line that holds it", j["memory"])

j = stat(paths["graph-recapture"])
ops = {o["op"]: o["count"] for o in j["ops"]}
g = j["graphs"][0]
tap.same((g["created"], g["launches"]), (ops["cudaGraphInstantiate"], ops["cudaGraphLaunch"]),
         "graphs: made and launched, those of the driver inside not again")
tap.ok(g["again"] == g["created"] - 1 and "capture_decoder" in g["text"], "graphs: again and again by one line", g)

j = stat(paths["straggler"])
reduces = [e for e in told(paths["straggler"]) if e.get("op") == "nccl.ncclAllReduce"]
tap.same(sorted((c["rank"], c["ranks"], c["calls"], c["bytes"]) for c in j["communicators"]),
         sorted((rank, 4, sum(e["args"]["rank"] == rank for e in reduces),
                 sum(e["args"]["bytes"] for e in reduces if e["args"]["rank"] == rank)) for rank in range(4)),
         "nccl: every rank with its calls and bytes")

j = stat(paths["gpu-steal"])
busy = [s["value"] for s in told(paths["gpu-steal"]) if s.get("record") == "sample" and s["metric"] == 64]
m = next(m for m in j["metrics"] if m["metric"] == "gpu.utilization")
tap.same((m["samples"], m["max"], m["last"]), (len(busy), max(busy), busy[-1]), "gpu: as sampled")
tap.ok(re.search(r"busy +\[##########\] 98\.0% of the time", run(paths["gpu-steal"])[1]), "gpu: told in text, with a bar")

# ---- causes under the tables

chains = subprocess.run([CORRELATE, paths["incident"]], check=True, capture_output=True).stdout
text = run(data=chains)[1]
tap.ok(text.index("\nfound: ") > text.index("Runtime API"), "causes stand under the tables", text)
causes = stat(data=chains)["causes"]
first = json.loads(subprocess.run([EXPLAIN, "--json"], input=chains, check=True, capture_output=True).stdout)["chains"][0]
tap.same((causes[0]["id"], causes[0]["summary"], causes[0]["lost_ns"]), (first["id"], first["summary"], first["lost_ns"]),
         "causes in JSON")

# ---- choosing

titles = {"system": "System", "time": "Where the time went", "runtime": "Runtime API", "driver": "Driver API", "host": "Host",
          "memory": "Memory of devices", "rates": "Events per second", "latency": "How long calls took"}
text = run(paths["incident"])[1]
order = [text.find("\n" + titles[k]) for k in ALL if k in titles]
tap.ok(order == sorted(order) and min(order) >= 0, "all sections there is something of, in their order", order)
tap.ok("\nnot in this recording: graphs, nccl, io, net, gpu\n" in text, "and one line says of what there is nothing", text)
tap.same(run("--sections", "all", "--json", paths["incident"])[1], run("--json", paths["incident"])[1], "all is all")
for name in ALL:
    status, text, err = run("--sections", name, paths["incident"])
    there = [k for k, title in titles.items() if "\n" + title in text]
    tap.same((status, err, there), (0, "", [name] if name in titles else []), f"--sections {name}: that and no other")
    if name in ("graphs", "nccl", "marks", "kernels", "io", "net", "gpu", "errors", "causes"):
        tap.ok(f"not in this recording: {name}\n" in text, f"--sections {name}: nothing there, and said", text)
both = stat("--sections", "memory,time", paths["incident"])
tap.ok("memory" in both and "time" in both and "host" not in both and "metrics" not in both, "--sections: the same in JSON", list(both))
tap.none(schema.check(both, "formats/stat.schema.json"), "a part is by the schema too")
for args, why in ((["--sections", "gpus"], "is none of all, processes"), (["--sections", "gpu", "--by", "op"], "--by is a table"),
                  (["--sections", "time", "--brief"], "--brief looks at no event")):
    status, out, err = run(*args, paths["incident"])
    tap.ok(status == 2 and why in err and not out, f"{' '.join(args)}: status 2 and why", err)
brief = stat("--brief", paths["gpu-steal"])
tap.none(schema.check(brief, "formats/stat.schema.json"), "--brief: by the schema")
full = stat(paths["gpu-steal"])
tap.same((brief["metrics"], [o["durations"] for o in brief["ops"]]), (full["metrics"], [o["durations"] for o in full["ops"]]),
         "--brief: samples and latencies are the same")
tap.ok("time" not in brief and "memory" not in brief, "--brief: what needs events is not there")

# ---- a part of the recording

half = stat("--last", "1s", long)
tap.none(schema.check(half, "formats/stat.schema.json"), "--last: by the schema")
whole = stat(long)
tap.ok(all(m["samples"] < next(w["samples"] for w in whole["metrics"] if w["metric"] == m["metric"]) for m in half["metrics"]),
       "--last: samples of that time only")
tap.same(sum(sum(r["series"]["counts"]) for r in half["rates"]), half["coverage"]["selected"], "--last: rates of that time only")
t, w = half["time"][0], whole["time"][0]
tap.ok(0.4 < t["ns"] / w["ns"] < 0.6, "--last 1s of two: half of the time", (t["ns"], w["ns"]))
none = stat("-p", "1", paths["incident"])
tap.same((none["time"], none["memory"], none["host"], none["rates"]), ([], [], [], []), "-p of another: nothing of anybody")

# ---- what is too much

many = [subprocess.run([DEMO, "alloc-churn", "--duration", "200ms", "--seed", str(i)], capture_output=True, check=True).stdout
        for i in range(6)]
with tempfile.TemporaryDirectory() as d:
    for i, data in enumerate(many):
        with open(os.path.join(d, f"{i}.ige"), "wb") as f:
            f.write(data)
    many = subprocess.run([os.path.join(tap.BIN, "ingero-merge"), *(os.path.join(d, f"{i}.ige") for i in range(6))], capture_output=True,
                          check=True).stdout
for section in ("time", "memory"):
    text, whole = (run("--sections", section, *top, data=many)[1] for top in ((), ("--top", "0")))
    tap.same((text.count("(pid "), "  2 processes more (--top 0 shows all)\n" in text), (4, True), f"{section}: how many are not shown")
    tap.same((whole.count("(pid "), " more (" in whole), (6, False), f"{section} --top 0: all")

# ---- whose it is

with tempfile.TemporaryDirectory() as d:
    for i, name in enumerate(("one", "two")):
        subprocess.run([DEMO, "disk", "--duration", "1s", "-n", name, "--seed", str(i), "-o", os.path.join(d, name)], check=True)
    both = subprocess.run([os.path.join(tap.BIN, "ingero-merge"), os.path.join(d, "one"), os.path.join(d, "two")], capture_output=True,
                          check=True).stdout
text = run("--sections", "io", data=both)[1]
tap.same(sorted(re.findall(r"^  (\w+: [0-9]+:[0-9]+) .*read", text, re.M)), ["one: 8:16", "two: 8:16"], "a disk of which machine")
tap.ok(re.match("(one|two) and 1 more node: ", text), "two machines", text)

with tempfile.TemporaryDirectory() as d:
    for i, name in enumerate(("one", "two")):
        subprocess.run([DEMO, "errors", "--duration", "400ms", "-n", name, "--seed", str(i + 1), "-o", os.path.join(d, name)], check=True)
    both = subprocess.run([os.path.join(tap.BIN, "ingero-merge"), os.path.join(d, "one"), os.path.join(d, "two")], capture_output=True,
                          check=True).stdout
    alone = run("--sections", "processes,time,errors", os.path.join(d, "one"))[1]
    explained = subprocess.run([EXPLAIN], input=subprocess.run([CORRELATE], input=both, capture_output=True, check=True).stdout,
                               capture_output=True, check=True).stdout.decode()
text, j = run("--sections", "processes,time,errors", data=both)[1], stat(data=both)
tap.same(sorted(re.findall(r"^process [0-9]+ \S+ on (\w+): .* calls? ", text, re.M)), ["one", "two"], "a process of which machine")
tap.same(sorted(re.findall(r"^  \S+ \(pid [0-9]+\) on (\w+)\b", text, re.M)), ["one", "two"], "and the parts of its time")
tap.none([x for x in j["errors"] if sum(n["count"] for n in x["nodes"]) != x["count"] or not {n["node"] for n in x["nodes"]} <= {"one", "two"}],
         "errors by machine sum up to all of them")
tap.none([x for x in j["errors"] for n in x["nodes"] if not re.search(
    rf"^  {x['op']} returned {x['code']} .*[ ,]{n['count']} (times? )?on {n['node']}\b", text, re.M)], "and are told")
tap.ok(" on one" not in alone, "but of one machine alone nothing is said", alone)
tap.none(schema.check(j, "formats/stat.schema.json"), "errors of machines: by the schema")

# ---- how it is drawn

text = run(paths["incident"])[1]
tap.ok(text.isascii() and "[####" in text, "without UTF-8 in the locale: ASCII", text)
for variable, value, blocks in (("LC_ALL", "C.UTF-8", True), ("LANG", "de_DE.utf8", True), ("LC_CTYPE", "en_US.UTF-8", True),
                                ("LANG", "C", False), ("LC_ALL", "de_DE@euro", False)):
    text = run(paths["incident"], env=dict(PLAIN, **{variable: value}))[1]
    tap.same("█" in text, blocks, f"{variable}={value}: {'blocks' if blocks else 'ASCII'}")
text = run(paths["incident"], env=dict(PLAIN, LANG="C.UTF-8", LC_ALL="C"))[1]
tap.ok(text.isascii(), "LC_ALL comes before LANG")
utf8, ascii = (run(paths["incident"], env=dict(PLAIN, LC_ALL=x))[1] for x in ("C.UTF-8", "C"))
tap.same([len(line) for line in utf8.splitlines()], [len(line) for line in ascii.splitlines()], "both are as wide")
tap.ok(max(map(len, ascii.splitlines())) <= 140, "lines fit a wide terminal", max(ascii.splitlines(), key=len))
red = re.compile(r"\033\[3[12]m#+\033\[0m-*\]")
tap.ok(red.search(run("--color=always", paths["incident"])[1]), "bars are coloured when asked for")
tap.ok("\033" not in run("--color=auto", paths["incident"])[1], "and not in a file")
plot = run("--plot", "--sections", "rates,latency", paths["incident"], env=dict(PLAIN, LC_ALL="C.UTF-8"))[1]
ops = {o["op"]: o for o in stat(paths["incident"])["ops"]}
tap.ok(any("\u2801" <= c <= "\u28ff" for c in plot), "--plot: a curve of dots", plot)
counts = [int(x.replace(",", "")) for x in re.findall(r"\] ([\d,]+), ", plot.split("  cudaLaunchKernel\n")[1].split("\n  cu")[0])]
tap.same(counts, ops["cudaLaunchKernel"]["durations"]["counts"], "--plot: a bar for each power of two, with its count")
tap.ok(run("--plot", paths["incident"])[1].isascii(), "--plot in ASCII")
tap.same(column(run(paths["errors"])[1], "cudaMalloc", "op", "errors"),
         f"{next(o['errors'] for o in stat(paths['errors'])['ops'] if o['op'] == 'cudaMalloc'):,}", "tables stay what they are")

tap.done_testing()
