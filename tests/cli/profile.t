#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Profiles of ingero-export: what a stack weighs is what adding up the recording's own events gives, and all formats say
# the same.

import gzip
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

EXPORT, DEMO, CORRELATE = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "correlate"))
HOW = {"timeout": 300, "capture_output": True, "stdin": subprocess.DEVNULL}
TMP = tempfile.TemporaryDirectory()


def run(*args):
    p = subprocess.run([EXPORT, *args], **HOW)
    return p.returncode, p.stdout, p.stderr.decode()


def folded(*args):
    out = {}
    for line in run("-f", "folded", *args)[1].decode().splitlines():
        stack, _, weight = line.rpartition(" ")
        tap.ok(stack not in out, "a stack once") if stack in out else None
        out[stack] = int(weight)
    return out


def name(frame):
    if "py_func" in frame:
        text, file, line = frame["py_func"], frame.get("py_file"), frame.get("py_line")
    else:
        text, file, line = frame["symbol"], frame.get("file"), frame.get("line")
    return text + (f" ({os.path.basename(file)}{':' + str(line) if line else ''})" if file else "")


def path(e):
    names = [name(f) for f in reversed(e.get("stack", []))]
    last = names[-1] if names else ""
    if not (last == e["op"] or last.startswith(e["op"] + "_")):
        names.append(e["op"])
    if "kernel_name" in e:
        names.append(e["kernel_name"])
    return ";".join([f"{e['process_name']} (pid {e['pid']})", *names])


def expected(events, weight):
    """A call's own time: of the calls on its thread, those that began and ended within it took the rest."""
    out, open_calls, moved = {}, {}, {}
    for e in (e for e in events if "return_code" in e):
        begin, end = e["start_ns"], e["start_ns"] + e["duration_ns"]
        inner = open_calls.setdefault((e["node"], e["tid"]), [])
        own = e["duration_ns"]
        while inner and inner[-1][0] >= begin and inner[-1][1] <= end and inner[-1][2] > e.get("depth", 0):
            own -= inner.pop()[3]
        inner.append((begin, end, e.get("depth", 0), e["duration_ns"]))
        value = {"time": own, "count": 1,
                 "bytes": e.get("bytes") if not e["return_code"] else None}[weight]
        if value is None:
            continue
        out[path(e)] = out.get(path(e), 0) + value
        if weight == "bytes":  # which calls inside it moved, too
            waiting = moved.setdefault((e["node"], e["tid"]), [])
            while waiting and waiting[-1][0] >= begin and waiting[-1][1] > e.get("depth", 0):
                out[waiting[-1][2]] -= waiting.pop()[3]
            waiting.append((begin, e.get("depth", 0), path(e), value))
    return {stack: value for stack, value in out.items() if value or weight != "bytes"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def message(data):
    at, out = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            n, at = varint(data, at)
            out.append((tag >> 3, data[at:at + n]))
            at += n
        else:
            value, at = varint(data, at)
            out.append((tag >> 3, value))
    return out


def packed(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def pprof(file):
    """Stacks by function names, outermost first: [calls, weight]."""
    fields = message(gzip.decompress(file))
    strings = [v.decode() for k, v in fields if k == 6]
    functions = {dict(message(v))[1]: strings[dict(message(v))[2]] for k, v in fields if k == 5}
    where = {}
    for k, v in fields:
        if k == 4:
            loc = dict(message(v))
            where[loc[1]] = functions[dict(message(loc[4]))[1]]
    out = {}
    for k, v in fields:
        if k == 2:
            s = dict(message(v))
            who = strings[dict(message(s[3]))[2]]
            key = ";".join([who, *(where[i] for i in reversed(packed(s[1])))])
            out[key] = [a + b for a, b in zip(out.get(key, [0, 0]), packed(s[2]))]
    return [strings[dict(message(v))[1]] for k, v in fields if k == 1], out


def bare(stacks):
    """Without the lines, which pprof and speedscope keep beside the names."""
    out = {}
    for stack, weight in stacks.items():
        parts = stack.split(";")
        key = ";".join(parts[:1] + [x.split(" (")[0] for x in parts[1:]])
        out[key] = out.get(key, 0) + weight
    return out


recording = os.path.join(TMP.name, "run.ige")
with open(recording, "wb") as f:
    f.write(subprocess.run([DEMO, "incident", "--duration", "2s"], **HOW).stdout)
events = [json.loads(x) for x in run(recording)[1].splitlines()]
for weight in ("time", "count", "bytes"):
    want = expected(events, weight)
    got = folded("--weight", weight, recording)
    tap.same(got, want, f"folded by {weight}: what the events add up to")
    status, out, err = run("-f", "speedscope", "--weight", weight, recording)
    j = json.loads(out)
    frames = [f["name"] for f in j["shared"]["frames"]]
    spoken = {}
    for p in j["profiles"]:
        tap.same(p["endValue"], sum(p["weights"]), f"speedscope by {weight}: the parts of {p['name']} are its whole")
        for s, v in zip(p["samples"], p["weights"]):
            key = ";".join(frames[i] for i in s)
            spoken[key] = spoken.get(key, 0) + v
    tap.same(spoken, bare(want), f"speedscope by {weight}: the same")
    types, stacks = pprof(run("-f", "pprof", "--weight", weight, recording)[1])
    tap.same({k: v[-1] for k, v in stacks.items()}, bare(want), f"pprof by {weight}: the same, of {types}")
tap.same(sum(folded("--weight", "count", "-e", "offcpu", recording).values()),
         sum(e["op"] == "offcpu" for e in events), "ops that are no calls count when they are chosen")

# Only some of the calls: what was inside one that is not there is not inside the next.
some = sorted({e["op"] for e in events if "return_code" in e and e["op"] != "cudaLaunchKernel"})
tap.ok({e.get("depth", 0) for e in events if e["op"] == "cuLaunchKernel"} & {1}, "launches of the driver are inside the runtime's")
tap.same(folded("-e", ",".join(some), recording), expected([e for e in events if e["op"] in some], "time"),
         "without the calls around them others have their own time still")

status, out, err = run("-f", "folded", "--weight", "lost", recording)
tap.ok(status == 3 and "ingero-correlate" in err, "lost time of a stream that nobody analyzed: what to do", err)
analyzed = os.path.join(TMP.name, "told.ige")
subprocess.run([CORRELATE, recording, "-o", analyzed], **HOW)
other = os.path.join(TMP.name, "other.ige")
subprocess.run([DEMO, "lock", "--duration", "1s", "--node", "other", "-o", other], **HOW)
status, out, err = run("-f", "folded", "--weight", "lost", analyzed, other)
tap.ok(status == 3 and "in all of it" in err, "nor does the analysis of one recording stand for another", err)
again = os.path.join(TMP.name, "again.ige")
subprocess.run([CORRELATE, other, "-o", again], **HOW)
both = folded("--weight", "lost", analyzed, again)
tap.same(sum(both.values()), sum(map(sum, (folded("--weight", "lost", x).values() for x in (analyzed, again)))), "those of both are of both")
tap.ok(any(k.startswith("other: ") for k in both), "and say whose it was", list(both)[:3])
told = [json.loads(x) for x in run("--records", analyzed)[1].splitlines() if b'"record":"chain"' in x]
newest = {c["id"]: c for c in told}
lost = folded("--weight", "lost", analyzed)
tap.ok(newest and lost, f"{len(newest)} chains have {len(lost)} stacks")
for kind in {c["kind"] for c in newest.values()}:
    tap.same(sum(v for k, v in lost.items() if f"[{kind}]" in k),
             sum(c["lost_ns"] for c in newest.values() if c["kind"] == kind), f"{kind}: all that its chains say was lost")
tap.same(run("-f", "json", "--weight", "time", recording)[0], 2, "--weight is for profiles")
tap.same(run("-f", "pprof", "--gzip", recording)[0], 2, "pprof is compressed already")
tap.done_testing()
