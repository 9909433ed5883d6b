#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-stat --by: every row against a count of the same recording by another reader, and the law of all keys:
# own and lost time sum up to the operations', whatever is selected. A call inside a call of the same row is that call in another
# layer, and counts once.

import collections
import json
import math
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
KEYS = ("op", "pid", "thread", "stack", "line", "kernel", "size", "direction", "stream", "device", "cgroup", "pod",
        "container", "node", "rank")
SIDES = ("within the host", "host to device", "device to host", "within the device", "by the pointers")
INSTANT = ("migrate", "fork", "exec", "exit", "point", "retransmit", "oom", "sample")
CALLS = ("cuda.", "driver.", "graph.", "nccl.")
PASS_ON = ("libc.so", "libc-", "libpthread", "ld-linux", "libcuda.so", "libcudart.so")


def run(*args, data=None):
    p = subprocess.run([STAT, *args], input=data, stdin=subprocess.DEVNULL if data is None else None, capture_output=True,
                       timeout=120)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def stat(*args, **kw):
    status, out, err = run("--json", *args, **kw)
    return json.loads(out)


def frame_text(f):
    module = os.path.basename(f.get("module") or "")
    if "symbol" in f:
        if f["file"] and f["line"]:
            return f"{f['symbol']} ({os.path.basename(f['file'])}:{f['line']})"
        return f"{f['symbol']}+0x{f['delta']:x}" + (f" ({module})" if module else "")
    if f["kind"] == 3:
        line = f":{f['offset']}" if f["offset"] else ""
        return f"{f['name']} ({os.path.basename(f['file'] or '')}{line})"
    return f"{module}+0x{f['offset']:x}" if module else f"0x{f['offset']:x}"


def site(stack):
    for f in stack or []:
        if f["kind"] == 1 and "symbol" in f and not os.path.basename(f["module"]).startswith(PASS_ON):
            return f
    named = [f for f in stack or [] if "symbol" in f]
    return (named or stack or [None])[0]


def launcher(stack, func):
    """What a kernel without a name is called by: who launched it. Of libraries: tests/unit/query_by.c."""
    for f in stack or []:
        module = os.path.basename(f.get("module") or "")
        if f["kind"] == 1 and not module.startswith(PASS_ON[4:]):
            return f"launched by {f['symbol']}" if "symbol" in f else f"kernel unknown (0x{func:x}, called from {frame_text(f)})"
    return f"kernel unknown (0x{func:x})"


def keys_of(e):
    """What an event's row is called, by key; None: there is none, or it is unknown. Places: tests/unit/query_by.c."""
    thread, process, args = e.get("thread"), e.get("process") or (e.get("thread") or {}).get("process"), e["args"]
    pid = process["pid"] if process else None
    size = args.get("bytes")
    side = args.get("direction")
    return {"op": e["op"].split(".")[1], "pid": pid and str(pid), "thread": thread and str(thread["tid"]),
            "stack": " < ".join(frame_text(f) for f in e["stack"]) if e["stack"] else None,
            "line": frame_text(site(e["stack"])) if e["stack"] else None,
            "kernel": launcher(e["stack"], args["func"]) if "func" in args and "Launch" in e["op"] and "HostFunc" not in e["op"] else None,
            "size": None if size is None else str(1 << size.bit_length() - 1 if size else 0),
            "direction": None if side is None else ("H2H", "H2D", "D2H", "D2D", "default")[side],
            "stream": f"0x{args['stream']:x}" if "stream" in args else None,
            "device": e["gpu"]["uuid"] if e.get("gpu") else None, "cgroup": e["cgroup"]["path"] if e.get("cgroup") else None,
            "node": e.get("node")}


def launches(e):
    """Does it launch one kernel, whether the recording says which or not?"""
    return "Launch" in e["op"] and "HostFunc" not in e["op"] and "Graph" not in e["op"]


def outer_calls(events):
    """Number of an event -> that of the call right around it, of those that are in one."""
    around, open_calls = {}, collections.defaultdict(list)
    calls = [i for i, e in enumerate(events) if e.get("thread") and e["op"].startswith(CALLS)]
    for i in sorted(calls, key=lambda i: (events[i]["end_ns"] - events[i]["dur_ns"], events[i]["depth"])):
        e = events[i]
        stack = open_calls[(e.get("node"), e["thread"]["tid"])]
        while stack and events[stack[-1]]["depth"] >= e["depth"]:
            stack.pop()
        if stack and events[stack[-1]]["end_ns"] >= e["end_ns"]:
            around[i] = stack[-1]
        stack.append(i)
    return around


def counted(data):
    """{key: {row: [events, errors, durations]}}"""
    told = []
    ige_reader.Reader(data, told.append, ige_reader.tables("formats/ige.md")).read()
    by = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, []]))
    events = [e for e in told if "event" in e]
    keys, around = [keys_of(e) for e in events], outer_calls(events)
    for i, e in enumerate(events):
        for key, row in keys[i].items():
            if key != "op" and i in around:
                outer = keys[around[i]][key]
                if launches(events[around[i]]) == launches(e) if key == "kernel" else outer == row:
                    continue
            r = by[key][row]
            r[0] += 1
            r[1] += bool(e["ret"]) and e["op"].startswith(CALLS)
            if e["op"].split(".")[1] not in INSTANT:
                r[2].append(e["dur_ns"])
    return by


def near(said, values, q):
    true = sorted(values)[max(1, math.ceil(q * len(values))) - 1]
    return abs(said - true) <= true / 256 + 1


def differences(rows, true):
    """Rows of one key against the count. Different rows can read the same (a thread of each of two processes): put together."""
    bad, said = [], collections.defaultdict(list)
    for r in rows:
        said[r["key"]].append(r)
    if set(said) != set(true):
        bad.append(f"rows: {set(said) ^ set(true)}")
    for name in set(said) & set(true):
        n, errors, ns = true[name]
        rs = said[name]
        got = [sum(r[k] for r in rs) for k in ("count", "errors", "timed", "total_ns")] + [max(r["max_ns"] for r in rs)]
        if got != [n, errors, len(ns), sum(ns), max(ns or [0])]:
            bad.append(f"{name}: {got}, counted {[n, errors, len(ns), sum(ns), max(ns or [0])]}")
        if len(rs) == 1 and ns and not all(near(rs[0][k], ns, q) for k, q in (("p50_ns", .5), ("p95_ns", .95), ("p99_ns", .99))):
            bad.append(f"{name}: quantiles {rs[0]}")
    return bad


def law(j):
    """Own and lost time of rows sum up to the operations', the rest where no call is in another of its row."""
    rows, ops, bad = j["by"]["rows"], j["ops"], []
    for k in ("self_ns", "lost_ns", "count", "errors", "total_ns"):
        of_rows, of_ops = sum(r[k] for r in rows), sum(o[k] for o in ops)
        if of_rows > of_ops or (of_rows < of_ops and (j["by"]["key"] == "op" or k in ("self_ns", "lost_ns"))):
            bad.append(f"{k}: {of_rows}, of operations {of_ops}")
    if rows and max(r["max_ns"] for r in rows) != max(o["max_ns"] for o in ops):
        bad.append("max_ns")
    calls = sum(o["self_ns"] for o in ops if o["layer"] in ("runtime", "driver", "graph", "nccl"))
    wall = j["coverage"]["duration_ns"]
    if wall and abs(sum(r["share"] for r in rows) * wall - calls) > calls / 1e6 + 1:
        bad.append(f"share: {sum(r['share'] for r in rows) * wall}, own time of calls {calls}")
    return bad


tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
paths = {}
for name, args in (("incident", ["--duration", "300ms"]), ("errors", ["--duration", "300ms"]),
                   ("straggler", ["--duration", "500ms"]), ("copy-overlap", ["--duration", "300ms"]),
                   ("clean", ["--duration", "100ms", "-n", "second"])):
    paths[name] = os.path.join(tmp.name, f"{name}.ige")
    subprocess.run([DEMO, name, *args, "-o", paths[name]], check=True)

for name in ("incident", "errors", "straggler", "copy-overlap"):
    true = counted(open(paths[name], "rb").read())
    for key in KEYS:
        j = stat("--by", key, paths[name])
        tap.none(schema.check(j, "formats/stat.schema.json"), f"{name} by {key}: by the schema")
        tap.none(law(j), f"{name} by {key}: rows sum up to the operations")
        if key in true:
            tap.none(differences(j["by"]["rows"], true[key]), f"{name} by {key}: as counted by another reader")

# ---- parts, several recordings, no events

plain = stat(paths["incident"])
for key in KEYS:
    j = stat("--by", key, "-e", "driver", paths["incident"])
    tap.none(law(j), f"by {key}, of the driver: rows sum up")
    both = stat("--by", key, paths["incident"], paths["clean"])
    tap.none(law(both), f"by {key}, two machines: rows sum up")
    none = stat("--by", key, "-p", "1", paths["incident"])
    tap.same((none["by"]["rows"], schema.check(none, "formats/stat.schema.json")), ([], []), f"by {key}: of no events no rows")
    j = stat("--by", key, paths["incident"])
    tap.same({k: v for k, v in j.items() if k != "by"}, plain, f"by {key}: all else as without")
tap.ok("by" not in plain, "without --by there is none")
nodes = {r["key"] for r in stat("--by", "node", paths["incident"], paths["clean"])["by"]["rows"]}
tap.ok("second" in nodes and len(nodes) == 2, "by node: both machines", nodes)
tap.same({r["node"] for r in stat("--by", "pid", paths["incident"], paths["clean"])["by"]["rows"] if r["key"]},
         nodes, "by pid: which machine's, when there are several")
with open(paths["incident"], "rb") as f:
    tap.same(stat("--by", "line", data=f.read()), stat("--by", "line", paths["incident"]), "from a pipe the same")
last = stat("--by", "thread", "--last", "100ms", paths["incident"])
tap.none(law(last), "by thread, the last part: rows sum up")

# ---- steps: a row for each loop; count and times are of its steps, the others of what was counted in them

def steps(*args, **kw):
    j = stat("--by", "step", *args, **kw)
    return j, [r for r in j["by"]["rows"] if r["kind"] == "known"]


def tid_of(row):
    return int(row["name"].rsplit("thread ", 1)[1].rstrip(")"))


def analyzed(data):
    out = subprocess.run([os.path.join(tap.BIN, "ingero-correlate"), "--json"], input=data, check=True, capture_output=True).stdout
    return [s for r in map(json.loads, out.splitlines()) if r["record"] == "analysis" for s in r["body"]["steps"]]


paths["ranks"] = os.path.join(tmp.name, "ranks.ige")
subprocess.run([DEMO, "straggler", "--duration", "3s", "-o", paths["ranks"]], check=True)
for name in ("incident", "ranks"):
    with open(paths[name], "rb") as f:
        data = f.read()
    j, rows = steps(data=data)
    tap.none(schema.check(j, "formats/stat.schema.json"), f"{name} by step: by the schema")
    sums = {k: (sum(r[k] for r in j["by"]["rows"]), sum(o[k] for o in j["ops"])) for k in ("self_ns", "lost_ns", "errors")}
    tap.none([f"{k}: {a} of {b}" for k, (a, b) in sums.items() if a != b], f"{name} by step: own and lost time sum up to the operations")
    # The layers of a call count once, as the outer one.
    outer = sum(o["count"] for o in j["ops"] if o["layer"] in ("runtime", "nccl"))
    tap.ok(outer <= sum(r["calls"] for r in j["by"]["rows"]) <= outer * 1.02 + 10, f"{name} by step: every call counts once", (outer, j["by"]["rows"]))
    said = {s["tid"]: s for s in analyzed(data)}
    tap.same(sorted(map(tid_of, rows)), sorted(said), f"{name} by step: a row for each loop that the analysis tells")
    bad = [f"{tid_of(r)}: {k}" for r in rows for k in ("count", "p50_ns", "p99_ns", "max_ns", "total_ns") if r[k] != said[tid_of(r)][k]]
    tap.none(bad + [r["key"] for r in rows if r["key"] != said[tid_of(r)]["loop"]], f"{name} by step: its name, count and times are the analysis's")
    true = collections.defaultdict(list)
    told = []
    ige_reader.Reader(data, told.append, ige_reader.tables("formats/ige.md")).read()
    for e in told:
        if e.get("op") == "cuda.cudaStreamSynchronize":
            true[e["thread"]["tid"]].append(e["end_ns"])
    start = min(e["end_ns"] - e["dur_ns"] for e in told if "event" in e)
    for r in steps("-e", "cudaStreamSynchronize", data=data)[1]:
        s = said[tid_of(r)]
        within = [t for t in true[tid_of(r)] if s["first_ns"] < t - start <= s["last_ns"]]
        tap.ok(abs(r["calls"] - len(within)) <= 2, f"{name} by step, {r['name']}: the calls asked for that ended within its steps",
               (r["calls"], len(within)))
few = subprocess.run([DEMO, "clean", "--duration", "3ms"], check=True, capture_output=True).stdout
status, out, err = run("--by", "step", data=few)
tap.ok(status == 3 and "no steps were found" in err and not out, "without steps no table: status 3 and why", (status, out, err))
tap.same(run("--by", "step", "-p", "1", paths["incident"])[0], 0, "of no events there is nothing to say of steps")
out = run("--by", "step", paths["incident"])[1]
tap.ok(re.search(r"^  train_step \(train\.cpp:104\) train \(thread \d+\) +[\d,]+ ", out, re.M), "by step: a table", out)

# ---- order

order = [(r["kind"] != "known", -r["total_ns"]) for r in stat("--by", "line", paths["incident"])["by"]["rows"]]
tap.same(order, sorted(order), "most time first, what is unknown last")
sizes = [int(r["key"]) for r in stat("--by", "size", paths["incident"])["by"]["rows"] if r["kind"] == "known"]
tap.ok(len(sizes) > 2 and sizes == sorted(sizes), "sizes in their order", sizes)

# ---- text

for key in KEYS:
    status, out, err = run("--by", key, "--top", "2", paths["incident"])
    rows = stat("--by", key, paths["incident"])["by"]["rows"]
    known = sum(r["kind"] == "known" for r in rows)
    more = f"{known - 2} row" in out if known > 2 else "--top" not in out
    tap.ok(status == 0 and not err and more and f"\n  {key} " in out and "coverage: " in out, f"by {key}: a table", out)
    tap.same(f"\n  no {key} " in out, any(r["kind"] == "none" for r in rows), f"by {key}: that there is none is shown where it is so")
    tap.same("\n  unknown " in out, any(r["kind"] == "unknown" for r in rows), f"by {key}: unknown is shown where it is")
out = run("--by", "direction", paths["incident"])[1]
tap.ok(SIDES[1] in out and SIDES[2] in out, "directions in words", out)
tap.ok("256 KiB to 512 KiB" in run("--by", "size", paths["incident"])[1], "sizes in words")

for args, why in ((["--by", "colour"], "is none of op|pid"), (["--by", "op", "--brief"], "neither with --brief"),
                  (["--by", "op", "--exact"], "nor with --exact")):
    status, out, err = run(*args, paths["incident"])
    tap.ok(status == 2 and why in err and not out, f"{' '.join(args)}: status 2 and why", err)

tap.done_testing()
