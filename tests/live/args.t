#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Every entry point of the table, under every exported name: what was recorded of it is what the caller passed and the
# library returned, column by column; when it fails, too; kernels are called what the process calls them.
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()


def exported():
    """Names of the table that the double's libraries export."""
    known = rec.ops()
    out = set()
    for library in ("libcudart.so.13", "libcuda.so.1", "libnccl.so.2"):
        p = subprocess.run(["nm", "-D", "--defined-only", os.path.join(rec.DOUBLE, library)], capture_output=True, text=True)
        out |= {line.split()[-1].partition("@")[0] for line in p.stdout.splitlines()}
    return {name for name in out if name in known}


def check(what, arguments, **settings):
    ige = rec.path("args.ige")
    p = rec.run("-o", ige, "--no-sched", *arguments, "--", rec.work("args"), **settings)
    if not tap.ok(p.returncode == 0 and " lost 0" in p.stderr, f"{what}: the recorder is content", p.stderr):
        return
    said = rec.truth(p.stdout)
    calls = [s for s in said if "call" in s]
    events, records, _ = rec.dump(ige)
    got = {}
    for e in sorted((e for e in events if e["depth"] == 0), key=lambda e: e["end"]):
        got.setdefault((e["source"], e["op"]), []).append(e)
    wrong = []
    for call in calls:
        op = rec.ops().get(call["call"])
        found = got.get(op)
        if not found:
            wrong.append(f"{call['call']}: not recorded")
            continue
        e = found.pop(0)
        if e["ret"] != call["rc"]:
            wrong.append(f"{call['call']}: returned {e['ret']}, not {call['rc']}")
        if e["x"] != call["x"]:
            wrong.append(f"{call['call']}: {e['x']}, not {call['x']}")
    wrong += [f"{op}: {len(v)} more than made" for op, v in got.items() if v and op[0] in ("cuda", "driver", "nccl")]
    tap.none(wrong, f"{what}: columns and return codes of {len(calls)} calls")
    tap.none(exported() - {c["call"] for c in calls}, f"{what}: every exported name of the table was called")
    if not settings:
        names = {(r["func"], r["name"]) for r in records if r["record"] == "kernel"}
        want = {(s["func"], s["kernel"]) for s in said if "kernel" in s}
        tap.same(names, want, f"{what}: the names of launched kernels")
        kernels = rec.stat(ige)["kernels"]
        told = {(k["source"], k["op"]): k["count"] for k in kernels if k["name"] == "saxpy(int, float, float const*, float*)"}
        mangled = {r["func"] for r in records if r["record"] == "kernel" and r["name"] == "_Z5saxpyifPKfPf"}
        want = {}
        for e in events:
            if e["x"].get("func") in mangled and "aunch" in e["op"]:
                want[e["source"], e["op"]] = want.get((e["source"], e["op"]), 0) + 1
        tap.ok(want, f"{what}: a kernel is launched by name")
        tap.same(told, want, f"{what}: ingero-stat counts its launches under its name")


for link in ("session", "multi", "perf"):
    check(f"{link} links", ["--link", link, "-e", "*"])
names = sorted(n for n in rec.ops() if not n.startswith("nccl"))
check("every call fails", [], DOUBLE_FAIL=",".join(f"{n}:{700 + i % 19}" for i, n in enumerate(names)))

# Some of them, by name, pattern and source: what was left out is not probed, and the counts of the rest are whole.
def some(what, arguments, wanted):
    ige, log = rec.path("some.ige"), rec.path("some.log")
    p = rec.run("-o", ige, *arguments, "--", rec.work("calls"), "--count", 20, DOUBLE_LOG=log)
    got, lost = rec.counts(ige)
    made = rec.logged(log)
    os.unlink(log)
    want = {op: n for op, n in made.items() if wanted(*op)}
    tap.ok(p.returncode == 0 and 0 < len(want) < len(made), f"{what}: part of it is wanted", p.stderr)
    tap.same(got, want, f"{what}: that part is recorded")


some("-e with a name and a source", ["-e", "cudaMalloc,driver"], lambda s, n: n == "cudaMalloc" or s == "driver")
some("-e with a pattern", ["-e", "cuda:*Async"], lambda s, n: s == "cuda" and n.endswith("Async"))
some("--exclude", ["--exclude", "cuLaunchKernel,cuda:*Malloc*", "--no-sched"],
     lambda s, n: n != "cuLaunchKernel" and not (s == "cuda" and "Malloc" in n))
p = rec.run("-e", "cudaMallok", "--", "true")
tap.ok(p.returncode == 2 or p.returncode == 125, "a name that nothing has is refused", p.returncode)
tap.ok("cudaMalloc" in p.stderr, "and the nearest one named", p.stderr)

# A copy of a process launches by the names that its parent was given.
FORKED = """
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
function = ctypes.c_void_p()
cuda.cuModuleGetFunction(ctypes.byref(function), ctypes.c_void_p(16), b"_Z6scale2Pf")
for child in range(2):
    if os.fork() == 0:
        cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
        os._exit(0)
    os.wait()
"""
ige = rec.path("forked.ige")
p = rec.run("-o", ige, "--no-sched", "--", sys.executable, "-c", FORKED)
text = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-f", "json", ige], capture_output=True, text=True).stdout
launched = [e for e in map(rec.json.loads, text.splitlines()) if e.get("op") == "cuLaunchKernel"]
tap.same(["scale2" in e.get("kernel_name", "") for e in launched], [True, True], "kernels that forked processes launch have names")

# One row per symbol of the table in the workload: a new op cannot be forgotten there.
with open(os.path.join(rec.WORK, "args.def")) as f:
    text = f.read()
table = open(os.path.join(rec.ROOT, "formats", "ops.def")).read()
import re
symbols = set(re.findall(r'^SYMBOL\(\w+, "(\w+)"', table, re.M)) - {"__cudaRegisterFunction"}
tap.none(symbols - set(re.findall(r"^CALL\(\w+, (\w+),", text, re.M)), "every symbol of the table has a row in args.def")
tap.done_testing()
