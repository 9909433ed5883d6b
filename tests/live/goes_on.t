#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# While a run hangs: the pipe that analyzes it, and the file that grows, name the wait and its line before it is over, and who counts
# has its time. When it is over, the recording has it once, and says of it what it says of any other.
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap
import dashboard

rec.need_bpf()

# It waits for a byte, makes one more step, and ends.
HANGS = r"""
import ctypes, os, sys, time
c, p, s = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p(), ctypes.c_void_p()
c.cudaMalloc(ctypes.byref(p), 1 << 20)
c.cudaStreamCreate(ctypes.byref(s))
def step():
    c.cudaMemsetAsync(p, 0, 1 << 16, s)
    c.cudaStreamSynchronize(s)
def fetch(fd):
    os.read(fd, 1)
fd = os.open(sys.argv[1], os.O_RDWR)
for _ in range(100):
    step()
with open(sys.argv[1] + ".began", "w") as f:
    print(os.getpid(), time.monotonic_ns(), file=f)
fetch(fd)
step()
"""
LINE = 1 + next(i for i, line in enumerate(HANGS.splitlines()) if "os.read(" in line)
WHERE = f"fetch (hangs.py:{LINE})"
script, fifo, grows = rec.path("hangs.py"), rec.path("fifo"), rec.path("grows.ige")
with open(script, "w", encoding="utf-8") as f:
    f.write(HANGS)
os.mkfifo(fifo)


def program(name, *arguments, **how):
    return subprocess.Popen([os.path.join(rec.BUILD, "bin", "ingero-" + name), *arguments], env=rec.environment(), **how)


def explained(ige):
    p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), "--json", ige], capture_output=True, text=True, timeout=300)
    return json.loads(p.stdout)


def counted(ige, *arguments):
    p = subprocess.run([rec.STAT, "--json", *arguments, ige], capture_output=True, text=True, timeout=300)
    return json.loads(p.stdout)


def waited(said, pid):
    """On pipes and files outside of calls."""
    return sum(x["outside_ns"].get("fd", 0) for x in said["time"] if x["pid"] == pid)


def total(rows, **which):
    return sum(r["total_ns"] for r in rows if all(r[k] == v for k, v in which.items()))


def standing(said):
    return [x["longest_ns"] for x in said["standing"] if WHERE in x["frames"]]


def idle(said):
    return [c["summary"] for c in said["chains"] if c["kind"] == "gpu-idle" and WHERE in c["summary"]]


recorder = program("record", "-o", grows, "-o", "-", "--", sys.executable, script, fifo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
correlate = program("correlate", stdin=recorder.stdout, stdout=subprocess.PIPE)
explain = program("explain", "--json", stdin=correlate.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
recorder.stdout.close()
correlate.stdout.close()

# It says it, or nothing will ever.
line = explain.stderr.readline()
tap.ok("makes no calls" in line and WHERE in line, "the pipe names the wait and its line", line)
during = explained(grows)
waits = standing(during)
tap.ok(len(waits) == 1 and waits[0] >= 10e9, "the file that grows has it among those that stand still", during["standing"])
tap.ok(len(idle(during)) == 1 and "until the end: waiting for a pipe or file" in idle(during)[0], "and as why the GPU has nothing to do",
       [c["summary"] for c in during["chains"]])
asleep = [r for r in rec.dump(grows)[1] if r["record"] == "asleep"]
mine = [r["time_ns"] - r["since_ns"] for r in asleep if r["object_kind"] == 2]
tap.ok(len({r["since_ns"] for r in asleep if r["object_kind"] == 2}) == 1 and len(mine) >= 2 and mine[0] >= 5e9 and
       all(b >= 10e9 and b > a for a, b in zip(mine, mine[1:])), "it was said after five seconds, and after ten", mine)

def assistant(ige, tool, **arguments):
    ask = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                                         "clientInfo": {"name": "goes_on.t", "version": "1"}}},
           {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}]
    p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-mcp"), ige], input="".join(json.dumps(x) + "\n" for x in ask),
                       capture_output=True, text=True, timeout=300)
    return json.loads(p.stdout.splitlines()[-1])["result"]["structuredContent"]


told = assistant(grows, "get_causal_chains")
tap.ok(WHERE in json.dumps(told), "an assistant is told", told)
copied = rec.path("copied.ige")
with open(grows, "rb") as a, open(copied, "wb") as b:
    b.write(a.read())

# Who counts has all of it: what the kernel said last, of what the run says began then.
with open(fifo + ".began", encoding="utf-8") as f:
    child, began = map(int, f.read().split())
events, records, _ = rec.dump(copied)
newest = max((r for r in records if r["record"] == "asleep" and r["object_kind"] == 2), key=lambda r: r["time_ns"])
wait, before = newest["time_ns"] - newest["since_ns"], [e for e in events if e["op"] == "offcpu" and e["tid"] == child]
tap.ok(began <= newest["since_ns"] and wait >= 10e9, "the sleep began when the run says", (began, newest))
table = counted(copied)
got = waited(table, child)
tap.ok(wait <= got <= wait + sum(e["dur"] for e in before if e["x"].get("object_kind") == 2), "where the time went", (wait, got, table["time"]))
tap.same(max(r["max_ns"] for r in table["ops"] if r["op"] == "offcpu"), wait, "and what it is by operation")
tap.same(total(counted(copied, "--by", "line")["by"]["rows"], key=WHERE), wait, "and by line")
# A driver call inside a runtime call is that call in another layer, and counts once.
of_child = [e for e in events if e["pid"] == child and not (e["source"] in ("cuda", "driver") and e["depth"])]
for key, name in (("pid", "python3"), ("thread", "python3")):
    rows = [r for r in counted(copied, "--by", key)["by"]["rows"] if str(child) in str(r["key"])]
    tap.same([(r["count"], r["max_ns"], r["total_ns"]) for r in rows], [(len(of_child) + 1, wait, wait + sum(e["dur"] for e in of_child))],
             f"and by {key}")
off = [r["total_ns"] for r in table["ops"] if r["op"] == "offcpu"]
for how in ({}, {"lost_time": True}):
    said = assistant(copied, "get_trace_stats", top_n=0, **how)
    tap.same([round(o["total_ms"] * 1e3) for o in said["ops"] if o["op"] == "offcpu"], [round(ns / 1e3) for ns in off], f"an assistant hears the same, {how}")
exact = [r for r in counted(copied, "--exact")["ops"] if r["op"] == "offcpu"]
again = [r for r in counted(copied, "--exact", "--memory", "1k")["ops"] if r["op"] == "offcpu"]
tap.same((exact[0]["max_ns"], exact), (wait, again), "with exact quantiles, too, kept or read again")

# The dashboard reads on: what it said of the wait meanwhile is not counted again.
board = dashboard.Dashboard(grows)
if board.url:
    for asked in ("first", "again"):
        _, said = board.json("stat")
        tap.ok(waited(said, child) >= wait, f"the dashboard has it, asked {asked}", said["time"])
        _, ops = board.json("ops")
        tap.ok([o["max_us"] for o in ops["ops"] if o["operation"] == "offcpu"][0] >= wait / 1e3, f"and its operations, asked {asked}", ops["ops"])
    _, said = board.json("stat?last=1h")
    tap.ok(waited(said, child) >= wait, "and of a part", said["time"])
merged, database = rec.path("merged.ige"), rec.path("copied.db")
for what, name, arguments in (("a copy", None, copied), ("merged", ["merge", "-o", merged, copied], merged),
                              ("anonymized", ["merge", "--anonymize", "-o", rec.path("masked.ige"), copied], rec.path("masked.ige")),
                              ("as an archive", ["export", "-f", "sqlite", "-o", database, copied], database)):
    if name:
        program(*name, stderr=subprocess.DEVNULL).wait(rec.PATIENCE)
    told = explained(arguments)
    tap.same(sorted(x["longest_ns"] for x in told["standing"]), sorted(x["longest_ns"] for x in explained(copied)["standing"]),
             f"{what} has it")
    tap.ok(any("until the end: waiting for a pipe or file" in c["summary"] for c in told["chains"]), f"{what}: with its cause",
           [c["summary"] for c in told["chains"]])
    tap.same(sorted(x["outside_ns"].get("fd", 0) for x in counted(arguments)["time"]), sorted(x["outside_ns"].get("fd", 0) for x in table["time"]),
             f"{what}: with its time")

with open(fifo, "wb", buffering=0) as f:
    f.write(b"x")
out, err = explain.communicate(timeout=rec.PATIENCE)
recorder.stderr.read()
tap.same((recorder.wait(rec.PATIENCE), correlate.wait(rec.PATIENCE), explain.returncode), (0, 0, 0), "all three end")
piped, ended = json.loads(out), explained(grows)
events = [e for e in rec.dump(grows)[0] if e["op"] == "offcpu" and e["dur"] >= 5e9 and e["x"].get("object_kind") == 2]
tap.ok(len(events) == 1 and events[0]["dur"] > max(waits + mine) and "cpu_in" in events[0]["x"], "the wait is in the recording once, and whole",
       events)
for name, said in (("the pipe", piped), ("the file", ended)):
    tap.same(standing(said), [], f"{name}: nobody stands still in the end")
    tap.ok(len(idle(said)) == 1 and "until the end" not in idle(said)[0], f"{name}: the gap is told as one that ended",
           [c["summary"] for c in said["chains"]])
    lost = [c["lost_ns"] for c in said["chains"] if c["kind"] == "gpu-idle" and WHERE in c["summary"]]
    tap.ok(len(lost) == 1 and len(events) == 1 and lost[0] <= events[0]["dur"] * 1.01, f"{name}: and counted once", (lost, events))

table = counted(grows)
ours = [e for e in rec.dump(grows)[0] if e["op"] == "offcpu" and e["tid"] == child and e["x"].get("object_kind") == 2]
got = waited(table, child)
# The time on the run queue at the wait's end is counted as such, not as waiting.
asleep = events[0]["dur"] - events[0]["x"].get("wait_ns", 0)
tap.ok(asleep <= got <= sum(e["dur"] for e in ours), "who counts has it once", (got, ours))
tap.same([r["max_ns"] for r in table["ops"] if r["op"] == "offcpu"], [events[0]["dur"]], "and whole")
if board.url:
    tap.same(board.json("stat")[1]["time"], table["time"], "so does the dashboard")
    tap.same(board.end(), 0, "which ends")

# It hangs already, and is attached to: nothing is known of it but that it sleeps.
hung, late = subprocess.Popen([sys.executable, script, fifo], env=rec.environment()), rec.path("late.ige")
recorder = rec.start("-o", late, "-p", hung.pid)
rec.attached(recorder)
tap.ok(rec.until(lambda: standing(explained(late))), "who hangs when it is attached to is in a file that grows, too")
tap.same([x["pid"] for x in explained(late)["standing"]], [hung.pid], "as itself")
rows = [r for r in counted(late, "--by", "pid")["by"]["rows"] if str(hung.pid) in str(r["key"])]
tap.ok(len(rows) == 1 and rows[0]["max_ns"] >= 5e9, "and is counted as itself", rows)
with open(fifo, "wb", buffering=0) as f:
    f.write(b"x")
tap.same((hung.wait(rec.PATIENCE), len(recorder.communicate(timeout=rec.PATIENCE)) > 0, recorder.returncode), (0, True, 0), "it ends, and so does the recorder")
said = explained(late)
tap.same((standing(said), [c["summary"] for c in said["chains"] if "until the end" in c["summary"]]), ([], []), "and nothing goes on any more")
tap.done_testing()
