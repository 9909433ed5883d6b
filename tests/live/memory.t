#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Memory and errors on the real kernel: what a process holds is what it allocated and did not free, in all layers counted
# once; allocations that do not fit and calls that fail are told with what the workload itself counted.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
EXPLAIN = os.path.join(tap.BIN, "ingero-explain")
MIB = 1 << 20


def explained(name, *command, **settings):
    """One recording of the command: its first truth and what explain says, or None."""
    ige = rec.path(name + ".ige")
    p = rec.run("--no-gpu", "-o", ige, "--", *command, **settings)
    if not tap.ok(p.returncode == 0, f"{name}: the recorder is content", p.stderr):
        return None
    said = subprocess.run([EXPLAIN, "--json", ige], capture_output=True, text=True)
    tap.same(said.returncode, 0, f"{name}: explained")
    return rec.truth(p.stdout)[0], json.loads(said.stdout)


def chains(report, kind):
    return [c for c in report["chains"] if c["kind"] == kind]


got = explained("oom", rec.work("calls"), "--count", 200, "--op", "cudaMalloc", "--bytes", MIB, DOUBLE_DEVICE_MB=64)
if got:
    truth, report = got
    counted = truth["ops"]["cudaMalloc"]
    memory = [m for m in report["memory"] if m["pid"] == truth["pid"]]
    if tap.same(len(memory), 1, "oom: the process holds memory"):
        fits = counted["count"] - counted["errors"]
        tap.same((memory[0]["allocations"], memory[0]["failed"]), (fits, counted["errors"]), "oom: each allocation once, of two layers")
        tap.same(memory[0]["peak_bytes"], fits * MIB, "oom: what it held at most")
        tap.same(sum(s["bytes_at_peak"] for s in memory[0]["sites"]), fits * MIB, "oom: its call sites held that")
    told = chains(report, "gpu-oom")
    if tap.same(len(told), 1, "oom: one chain"):
        tap.same(told[0]["count"], counted["errors"], "oom: each refusal")
        tap.same(told[0]["victim"]["pid"], truth["pid"], "oom: of whom")
        tap.ok("cudaMalloc" in told[0]["culprit"]["text"], "oom: in which call", told[0]["culprit"])
    tap.same(chains(report, "errors"), [], "oom: and not as an error again")

got = explained("held", rec.work("calls"), "--count", 100, "--op", "cudaMalloc", "--op", "cudaFree", "--bytes", MIB)
if got:
    truth, report = got
    memory = [m for m in report["memory"] if m["pid"] == truth["pid"]]
    tap.same([(m["allocations"], m["failed"]) for m in memory], [(100, 0)], "held: what was allocated")
    tap.same([c["kind"] for c in report["chains"] if c["kind"] in ("gpu-oom", "errors", "gpu-leak")], [], "held: nothing is wrong")

got = explained("sticky", rec.work("calls"), "--count", 100, "--op", "cudaLaunchKernel", "--op", "cudaStreamSynchronize",
                DOUBLE_FAIL="cudaStreamSynchronize:700:after=50")
if got:
    truth, report = got
    told = chains(report, "errors")
    if tap.same(len(told), 1, "sticky: one chain"):
        tap.same(told[0]["count"], truth["ops"]["cudaStreamSynchronize"]["errors"], "sticky: each failed call")
        tap.ok("cudaErrorIllegalAddress (700)" in told[0]["summary"], "sticky: by its name", told[0]["summary"])
        tap.same(told[0]["severity"], "HIGH", "sticky: the context is of no use")
        before = [e.get("text") for e in told[0]["evidence"] if e["what"].startswith("called before")]
        tap.ok(before and "cudaLaunchKernel" in before[0], "sticky: what was called before it", told[0]["evidence"])

got = explained("old", rec.work("calls"), "--count", 10, "--op", "cudaMalloc", DOUBLE_FAIL="cudaMalloc:35")
if got:
    truth, report = got
    told = chains(report, "library-mismatch")
    if tap.same(len(told), 1, "old: one chain"):
        tap.same(told[0]["count"], truth["ops"]["cudaMalloc"]["errors"], "old: each failed call")
        tap.ok(any(e["what"] == "library" for e in told[0]["evidence"]), "old: with the libraries it has", told[0]["evidence"])

tap.done_testing()
