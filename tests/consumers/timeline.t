#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Timelines as those read them for whom they are written: Perfetto's trace processor finds no error and loses nothing, counts
# what the recording counts, knows UTC, and an SQL question or two finds the rank that is late; Chrome's JSON is accepted.
# make check-consumers runs this where the tools are (CHECKERS).

import csv
import datetime
import glob
import io
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

CHECKERS = os.environ.get("CHECKERS", "../shared/checkers")
EXPORT, DEMO, CORRELATE, MERGE = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "correlate", "merge"))
PROCESSOR, CHECK = (os.path.join(CHECKERS, n) for n in ("trace-processor", "profile-check"))
TMP = tempfile.TemporaryDirectory()

if not os.path.exists(PROCESSOR):
    tap.skip_all(f"optional: no {PROCESSOR} here (CHECKERS says where)")
try:
    works = subprocess.run([PROCESSOR, "--stats", "/dev/null"], capture_output=True, text=True, timeout=300)
except OSError as e:
    tap.skip_all(f"optional: {PROCESSOR}: {e}")
if works.returncode == 2:
    tap.skip_all(f"optional: {PROCESSOR}: {works.stderr.strip()[:100]}")


def path(name):
    return os.path.join(TMP.name, name)


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)
    return path(name)


def output(*argv, data=None):
    how = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run(argv, capture_output=True, timeout=600, check=True, **how).stdout


def ask(trace, sql):
    return list(csv.DictReader(io.StringIO(output(PROCESSOR, "--csv", sql, trace).decode())))


def accepted(what, trace, slices, chains, still_open=0):
    p = subprocess.run([PROCESSOR, "--stats", trace], capture_output=True, text=True, timeout=600)
    tap.ok(p.returncode == 0 and "no error or data_loss stats" in p.stdout, f"{what}: no error, nothing lost", p.stdout + p.stderr)
    row = ask(trace, "select count(*) filter (where category is not 'causal_chain') s, count(*) filter (where category = 'causal_chain') c, "
                     "count(*) filter (where dur < 0) o from slice")[0]
    tap.same([int(row[k]) for k in "sco"], [slices, chains, still_open], f"{what}: slices, chains, calls that are open")


def known(recording):
    lines = [json.loads(x) for x in output(EXPORT, "--records", recording).splitlines()]
    events = [e for e in lines if "record" not in e]
    return lines, events, len({r["id"] for r in lines if r.get("record") == "chain"})


# What a person does with the recordings of a job: two machines, the ranks of one of them with a straggler.
nodes = [write("node-0.ige", output(DEMO, "straggler", "--duration", "2s", "-n", "node-0")),
         write("node-1.ige", output(DEMO, "incident", "--duration", "1s", "-n", "node-1"))]
cluster = write("cluster.ige", output(CORRELATE, data=output(MERGE, "-q", *nodes)))
trace = write("t.pftrace", output(EXPORT, "-f", "perfetto", cluster))
lines, events, chains = known(cluster)
accepted("two machines", trace, len(events), chains)
per_op = {r["name"]: int(r["n"]) for r in ask(trace, "select name, count(*) n from slice where category in ('cuda', 'driver', 'nccl') group by 1")}
tap.same(per_op, {op: sum(e["op"] == op for e in events) for op in per_op}, "calls of each name")
tap.same(sum(per_op.values()), sum(e["source"] in ("cuda", "driver", "nccl") for e in events), "... and no other")
bytes_of = ask(trace, "select sum(a.int_value) n from slice s join args a using (arg_set_id) where a.key = 'debug.bytes' and s.name = 'ncclAllReduce'")
tap.same(int(bytes_of[0]["n"]), sum(e["bytes"] for e in events if e["op"] == "ncclAllReduce"), "bytes are arguments")
names = {r["name"] for r in ask(trace, "select name from process where name is not null")}
tap.ok({f"rank {i} train{f'-{i}' if i else ''} (node-0)" for i in range(4)} < names, "processes by rank and machine", names)
rows = ask(trace, "select p.name, count(*) n from slice s join thread_track t on t.id = s.track_id join thread h using (utid) "
                  "join process p using (upid) group by 1")
tap.same({r["name"]: int(r["n"]) for r in rows}.get("rank 2 train-2 (node-0)"),
         sum(e.get("process_name") == "train-2" and e["node"] == "node-0" and e["source"] != "mark" for e in events), "threads in processes")
late = ask(trace, "select p.name, count(*) n from flow f join slice s on s.id = f.slice_in join thread_track t on t.id = s.track_id "
                  "join thread h using (utid) join process p using (upid) where s.name = 'ncclAllReduce' "
                  "and s.id not in (select slice_out from flow) group by 1 order by n desc")
tap.same(late[0]["name"], "rank 2 train-2 (node-0)", "arrows of collectives end at the late rank")
found = ask(trace, "select s.name, a.string_value kind from slice s join args a using (arg_set_id) where s.category = 'causal_chain' and "
                   "a.key = 'debug.kind'")
tap.ok(any("straggler" in r["kind"] and r["name"].startswith("HIGH: Rank 2") for r in found), "the finding says who", found)
fix = ask(trace, "select a.display_value v from slice s join args a using (arg_set_id) where s.category = 'causal_chain' and "
                 "a.key glob 'debug.evidence.recommendations*'")
tap.ok(fix, "what to do is among its arguments")
first = min(e["timestamp"] for e in events)
utc = ask(trace, "select (select min(ts) from slice where category is not 'causal_chain') + r.clock_value - r.ts v from clock_snapshot r "
                 "where r.clock_name = 'REALTIME' limit 1")
when = datetime.datetime.fromisoformat(first[:26] + "+00:00")
tap.same(int(utc[0]["v"]) // 1000, round(when.timestamp() * 1e6), "UTC")
counters = ask(trace, "select count(*) n from counter")
tap.same(int(counters[0]["n"]), sum(r.get("record") == "sample" for r in lines), "samples")

for scenario, duration, still in (("disk", "1s", None), ("tool-call", "1s", None), ("errors", "1s", None), ("rank-hang", "1s", 6), ("graph-serving", "1s", None)):
    recording = write(f"{scenario}.ige", output(CORRELATE, data=output(DEMO, scenario, "--duration", duration)))
    _, events, chains = known(recording)
    accepted(scenario, write("x.pftrace", output(EXPORT, "-f", "perfetto", recording)), len(events) + (still or 0), chains, still or 0)

for sample in sorted(glob.glob("formats/samples/v1/good/*.ige")):
    p = subprocess.run([EXPORT, "-f", "perfetto", sample], capture_output=True, timeout=300)
    if p.returncode not in (0, 4) or not p.stdout:
        continue
    q = subprocess.run([PROCESSOR, "--stats", write("x.pftrace", p.stdout)], capture_output=True, text=True, timeout=600)
    tap.ok(q.returncode == 0, f"{sample}: no error, nothing lost", q.stdout + q.stderr)

small = write("small.json", output(EXPORT, "-f", "chrome", nodes[0]))
p = subprocess.run([CHECK, "--no-browser", "chrome", small], capture_output=True, text=True, timeout=600)
tap.ok(p.returncode == 0, "chrome: accepted", (p.stdout + p.stderr)[-3000:])
accepted("chrome", small, len(known(nodes[0])[1]), known(write("found.ige", output(CORRELATE, nodes[0])))[2])
tap.done_testing()
