#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Timelines: each event of the recording stands on the line of its thread once, at its time and for its duration, to the
# nanosecond; slices nest; arrows join what belongs together; values and chains are all there. Read by a second reader.

import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import perfetto  # noqa: E402
import tap  # noqa: E402

EXPORT, DEMO, CORRELATE, MERGE = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "correlate", "merge"))
TMP = tempfile.TemporaryDirectory()
STEP = 1 << 22  # between numbers that stand for the same pid
STEPS_SEEN = []


def run(*args, data=None):
    p = subprocess.run([EXPORT, *args], input=data, stdin=subprocess.DEVNULL if data is None else None, capture_output=True,
                       timeout=300)
    return p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")


def demo(*args):
    return subprocess.run([DEMO, *args], capture_output=True, timeout=300, check=True).stdout


def correlated(data):
    return subprocess.run([CORRELATE], input=data, capture_output=True, timeout=300, check=True).stdout


def no_key_twice(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key twice: {keys}"
    return dict(pairs)


def called(e):
    """What an event's slice is called."""
    if e["op"] == "occupied":
        return (e.get("occupant") or {}).get("name") or e["op"]
    return e.get("name") or e["op"] if e["source"] == "mark" else e["op"]


def expected(lines, zero):
    """As slices: name, category, begin, length, thread."""
    return collections.Counter((called(e), e["source"], e["start_ns"] + zero, e["duration_ns"], e.get("tid")) for e in lines)


def across(slices):
    """Slices that lie across another of their line."""
    by_line = collections.defaultdict(list)
    for s in slices:
        by_line[s["line"]].append(s)
    for line in by_line.values():
        ends = []
        for s in sorted(line, key=lambda s: (s["ts"], -s["dur"])):
            while ends and ends[-1] <= s["ts"]:
                ends.pop()
            if ends and s["ts"] + s["dur"] > ends[-1]:
                yield f"{s['name']} at {s['ts']} across another"
            ends.append(s["ts"] + s["dur"])


def tid_of(trace, s):
    line = s["line"]
    while line and trace.lines[line]["kind"] != "thread":
        line = trace.lines[line]["parent"]
    return trace.lines[line]["tid"] % STEP if line else None


def check(what, data):
    status, out, err = run("-f", "perfetto", data=data)
    everything = [json.loads(x) for x in run("--records", data=data)[1].splitlines()]
    events = [e for e in everything if "record" not in e]
    trace = perfetto.Trace(out)
    for s in trace.slices:
        assert s["args"] is not None  # read, so that all are known to be readable
    slices = [s for s in trace.slices if s["category"] not in ("causal_chain", "step")]
    still = [r for r in everything if r.get("record") == "open" and r.get("at_end")]
    closed = [s for s in slices if s["dur"] is not None]
    # What the recording's clock said when it began is what both must agree on, whatever it is.
    zero = min(s["ts"] for s in closed) - min(e["start_ns"] + (e["duration_ns"] if s_instant(e) else 0) for e in events) if closed else 0
    got = collections.Counter((s["name"], s["category"], s["ts"], s["dur"], tid_of(trace, s)) for s in closed)
    tap.same(status, 0, f"{what}: done")
    tap.none(trace.complaints, f"{what}: nothing refers to what is not there")
    tap.ok(len(trace.open) <= len(still), f"{what}: every slice ends, but for calls that had not returned", f"{len(trace.open)} of {len(still)}")
    tap.same(len(closed), len(events), f"{what}: a slice or an instant per event")
    want = expected(events, zero)
    tap.none([f"{k}: {n} more" for k, n in (want - got).items()] + [f"{k}: {n} too many" for k, n in (got - want).items()],
             f"{what}: name, kind, begin, length and thread of each")
    tap.none(across(closed), f"{what}: none lies across another")
    samples = [r for r in everything if r.get("record") == "sample"]
    tap.same(sorted(v for _, _, v in trace.values), sorted(r["value"] for r in samples), f"{what}: all samples")
    told = everything if any(r.get("record") == "analysis" for r in everything) else [json.loads(x) for x in run("--records", data=correlated(data))[1].splitlines()]
    chains = {r["id"]: r for r in told if r.get("record") == "chain"}
    found = {s["args"]["id"]: s for s in trace.slices if s["category"] == "causal_chain"}
    tap.same({i: (s["args"]["severity"], s["args"]["count"], json.loads(s["args"]["evidence"])) for i, s in found.items()},
             {i: (("LOW", "MEDIUM", "HIGH")[r["severity"] - 1], r["count"], r["body"]) for i, r in chains.items()},
             f"{what}: its {len(chains)} chains with their evidence, as they stand in the end")
    check_steps(what, trace, everything, zero)
    return trace, events, everything


def check_steps(what, trace, everything, zero):
    """The steps of the analysis, one after the other on a line of their own, as many and as long."""
    lines = collections.defaultdict(list)
    for s in trace.slices:
        if s["category"] == "step":
            lines[s["line"]].append(s)
    got = collections.defaultdict(list)  # threads may have loops of one name
    for line, steps in lines.items():
        name, pid = trace.lines[line]["name"], trace.lines[trace.lines[line]["parent"]]["pid"] % STEP
        tap.same([s["name"].lstrip("~") for s in steps], [f"step {i + 1}" for i in range(len(steps))], f"{what}: {name}: in order, by number")
        loop = re.sub(r", [^,]*\btid \d+$", "", name.removeprefix("steps of "))  # whose it is, unless it is the process's first thread's
        got[pid, loop].append((len(steps), sum(s["dur"] for s in steps)))
    for r in everything:
        for s in r["body"]["steps"] if r.get("record") == "analysis" else ():
            drawn, want = got[s["pid"], s["loop"]], (s["count"], s["total_ns"])
            if tap.ok(want in drawn, f"{what}: {s['loop']}: its steps are those of the analysis", (drawn, want)):
                drawn.remove(want)
            STEPS_SEEN.append(want[0])
    tap.same([x for x in got.items() if x[1]], [], f"{what}: no others")
    names = collections.Counter((trace.lines[line]["parent"], trace.lines[line]["name"]) for line in lines)
    tap.same([k for k, n in names.items() if n > 1], [], f"{what}: no two loops of a process have lines of one name")


def s_instant(e):
    return e["op"] in ("migrate", "fork", "exec", "exit", "oom", "point", "retransmit", "sample")


ranks = demo("straggler", "--duration", "2s")
trace, events, everything = check("ranks", correlated(ranks))
inits = [e for e in events if e["op"] == "ncclCommInitRank"]
reduces = [e for e in events if e["op"] == "ncclAllReduce"]
joined = [(a, b) for a, b in trace.flows if a["name"] == b["name"] == "ncclAllReduce"]
tap.same(len(joined), len(reduces) - len(reduces) // len(inits), "arrows lead from rank to rank through every collective")
tap.none((f"{a['args']} {b['args']}" for a, b in joined if a["args"]["sequence"] != b["args"]["sequence"] or a["ts"] > b["ts"]),
         "... of the same sequence, to who entered later")
waits = [(a, b) for a, b in trace.flows if b["name"] == "cudaStreamSynchronize"]
tap.same(len(waits), sum(e["op"] == "cudaStreamSynchronize" for e in events), "an arrow from work to each wait for it")
tap.none((f"{a['name']} {a['ts']} {b['ts']}" for a, b in waits if a["name"] != "cudaLaunchKernel" or a["ts"] + a["dur"] > b["ts"] or
          tid_of(trace, a) != tid_of(trace, b)), "... by the same thread, begun before")
names = sorted(x["name"] for x in trace.lines.values() if x["kind"] == "process")
tap.same(names, [f"rank {i} train{f'-{i}' if i else ''} (gpu-host-1)" for i in range(4)], "processes are named by their ranks")
onward = {id(a) for a, _ in joined}
late = collections.Counter(b["line"] for _, b in joined if id(b) not in onward)
tap.same(trace.lines[trace.lines[late.most_common(1)[0][0]]["parent"]]["name"], "rank 2 train-2 (gpu-host-1)", "arrows end at the rank that is late, at a glance")
chain = [s for s in trace.slices if s["category"] == "causal_chain"]
tap.ok(any("straggler" in s["args"]["kind"] for s in chain), "and the finding says so", [s["name"] for s in chain])
first = next(s for s in trace.slices if s["name"] == "ncclAllReduce")
tap.same((first["args"]["bytes"], first["args"]["site"]), (64 << 20, ("all_reduce_gradients", "train.cpp", 74)), "arguments, and the line of source")
utc = [c[1] - c[3] for c in trace.clocks]
stamp = subprocess.run(["date", "-u", "-d", min(e["timestamp"] for e in events), "+%s%N"], capture_output=True, text=True, check=True).stdout
tap.same(min(s["ts"] for s in trace.slices if s["category"] != "causal_chain") + utc[0], int(stamp), "UTC of the first slice")

for scenario in ("incident", "disk", "tool-call", "errors", "rank-hang", "graph-serving", "worker-starved"):
    check(scenario, correlated(demo(scenario, "--duration", "1s")))
tap.ok(sum(STEPS_SEEN) > 1000, "steps were among them", STEPS_SEEN)
incident = demo("incident", "--duration", "1s")
drawn = [s["dur"] for s in perfetto.Trace(run("-f", "perfetto", data=incident)[1]).slices if s["category"] == "step"]
told = json.loads(run("-f", "chrome", data=incident)[1])["traceEvents"]
tap.ok(drawn and sorted(drawn) == sorted(round(e["dur"] * 1000) for e in told if e.get("cat") == "step"), "steps in JSON too", len(drawn))
tap.ok(any(e["args"].get("name") == "steps of train_step (train.cpp:104)" for e in told if e["name"] == "thread_name"), "on a line that says of which loop")
tap.none([s["name"] for s in perfetto.Trace(run("-f", "perfetto", "-e", "cudaLaunchKernel", data=incident)[1]).slices if s["category"] == "step"],
         "of chosen operations alone there are no steps")
hang = perfetto.Trace(run("-f", "perfetto", data=demo("call-hang", "--duration", "12s"))[1])
tap.ok(hang.open and all("Synchronize" in s["name"] for s in hang.open), "a call that had not returned has no end", hang.open[:2])

# What is missing is told.
for name in ("lost", "records"):
    with open(f"formats/samples/v1/good/{name}.ige", "rb") as f:
        data = f.read()
    told = [json.loads(x) for x in run("--records", data=data)[1].splitlines()]
    told = sorted(f"lost {r.get('count', 0)} events: {r.get('reason', 'unknown reason')}" for r in told if r.get("record") == "loss")
    lossy = perfetto.Trace(run("-f", "perfetto", data=data)[1])
    tap.same(sorted(s["name"] for s in lossy.slices if s["category"] == "loss"), told, f"{name}.ige: where events were lost")
    lossy = json.loads(run("-f", "chrome", data=data)[1])["traceEvents"]
    tap.same(sorted(e["name"] for e in lossy if e.get("cat") == "loss"), told, f"{name}.ige: in JSON too")

# Several machines with the same pids.
paths = []
for i in range(2):
    paths.append(os.path.join(TMP.name, f"node-{i}.ige"))
    with open(paths[-1], "wb") as f:
        f.write(demo("straggler", "--duration", "1s", "-n", f"node-{i}"))
merged = subprocess.run([MERGE, "-q", *paths], capture_output=True, check=True, timeout=300).stdout
trace, events, _ = check("two machines", merged)
pids = [x["pid"] for x in trace.lines.values() if x["kind"] == "process"]
tap.same((len(pids), len(set(pids))), (8, 8), "processes of the same pid on two machines are two")
tap.ok({"node-0", "node-1"} <= {x["name"] for x in trace.lines.values()}, "machines have lines of their own")

# Where they stand: by the machine's name, not by who came first, then by rank, which is no text, then by pid.
nodes = []
for name, *how in (("b-node", "straggler", "--threads", "12"), ("c-node", "incident"), ("a-node", "straggler", "--threads", "2"), ("b", "incident")):
    nodes.append(os.path.join(TMP.name, f"{name}.ige"))
    with open(nodes[-1], "wb") as f:
        f.write(demo(*how, "--duration", "200ms", "-n", name))
order = ["a-node", *(f"rank {i} (a-node)" for i in range(2)), "b", "- (b)", "b-node", *(f"rank {i} (b-node)" for i in range(12)), "c-node", "- (c-node)"]


def placed(names):
    """Names in order of their positions: machines, and of processes ranks and machines."""
    short = [re.sub(r"^(rank \d+)? ?(.*) (\(.*\))$", lambda m: f"{m[1] or '-'} {m[3]}", names[i]) for i in sorted(names)]
    return [n for i, n in enumerate(short) if i == 0 or n != short[i - 1]]


trace = perfetto.Trace(run("-f", "perfetto", *nodes)[1])
tap.same(placed({x["order"]: x["name"] for x in trace.lines.values() if x["order"]}), order, "machines by name, their processes by rank")
lines = json.loads(run("-f", "chrome", *nodes)[1])["traceEvents"]
named = {e["pid"]: e["args"]["name"] for e in lines if e["name"] == "process_name"}
tap.same(placed({e["args"]["sort_index"]: named[e["pid"]] for e in lines if e["name"] == "process_sort_index"}), order, "chrome: the same")

# Two slices of one, with a call across the cut: the first says that it was open, the second has all of it.
whole = os.path.join(TMP.name, "long.ige")
parts = [os.path.join(TMP.name, part) for part in ("before.ige", "behind.ige")]
subprocess.run([DEMO, "long-steps", "--duration", "60s", "-o", whole], check=True)
for how, part in zip(("--until", "--since"), parts):
    subprocess.run([MERGE, "-q", how, "37.5s", whole, "-o", part], check=True)
tap.same([[e["ph"] for e in json.loads(run("-f", "chrome", *names)[1])["traceEvents"]].count("B") for names in ([whole], parts[:1], parts)],
         [2, 2, 2], "a call that two slices cross is drawn once, and is not open")

# The same with some of the events: outer calls alone, inner ones alone.
for choice in (["-e", "driver"], ["-e", "cuda"], ["-e", "sched"], ["-p", str(events[0].get("pid", 1))], ["--no-stacks"]):
    part = perfetto.Trace(run("-f", "perfetto", *choice, data=ranks)[1])
    tap.same((sum(s["category"] not in ("causal_chain", "step") for s in part.slices) - len(part.open), part.complaints),
             (len(run(*choice, data=ranks)[1].splitlines()), []), f"{choice}: as many as lines of JSON")

# Chrome's JSON.
status, out, err = run("-f", "chrome", data=correlated(ranks))
whole = json.loads(out, object_pairs_hook=no_key_twice)
drawn = [e for e in whole["traceEvents"] if e["ph"] in "Xi" and e["cat"] not in ("causal_chain", "step")]
lines = [json.loads(x) for x in run(data=ranks)[1].splitlines()]
tap.same((status, len(drawn)), (0, len(lines)), "chrome: whole JSON, a slice per event")


def ns(text):
    us, _, rest = text.partition(".")
    return int(us) * 1000 + int(rest)


exact = json.loads(out, parse_float=str)["traceEvents"]
exact = [e for e in exact if e["ph"] == "X" and e["cat"] not in ("causal_chain", "step")]
zero = min(ns(e["ts"]) for e in exact) - min(e["start_ns"] for e in lines)
tap.same(collections.Counter((e["name"], e["cat"], ns(e["ts"]) - zero, ns(e["dur"])) for e in exact),
         collections.Counter((called(e), e["source"], e["start_ns"], e["duration_ns"]) for e in lines), "chrome: to the nanosecond")
tap.ok(any(e["cat"] == "causal_chain" and e["args"]["evidence"]["recommendations"] for e in whole["traceEvents"] if "cat" in e),
       "chrome: chains with their evidence")
tap.ok({e["args"]["name"] for e in whole["traceEvents"] if e["name"] == "process_name"} >= {"rank 2 train-2 (gpu-host-1)", "gpu-host-1"},
       "chrome: processes have names")

# Sizes: as the manual says, with room for recordings whose definitions weigh more.
long = demo("incident", "--duration", "2s")
n = len(run(data=long)[1].splitlines())
for form, plain, packed in (("perfetto", 12, 12), ("chrome", 190, 60)):
    size, small = (len(run("-f", form, *more, data=long)[1]) / n for more in ((), ("--gzip",)))
    tap.ok(size <= plain and small <= packed, f"{form}: {size:.1f} bytes an event, {small:.1f} compressed", f"{plain} and {packed} at most")

# By endings.
recording = paths[0]
for name, kind in (("t.pftrace", "pb"), ("t.perfetto-trace", "pb"), ("t.pftrace.gz", "gz"), ("t.json", "json")):
    path = os.path.join(TMP.name, name)
    status, _, err = run(*(["-f", "perfetto"] if kind == "json" else []), "-o", path, recording)
    with open(path, "rb") as f:
        data = f.read()
    data = gzip.decompress(data) if kind == "gz" else data
    n = len(json.loads(data)["traceEvents"]) if kind == "json" else len(perfetto.Trace(data).slices)
    tap.ok(status == 0 and n >= 2700, f"-o {name}: by its ending", f"{status} {n} {err}")
tap.done_testing()
