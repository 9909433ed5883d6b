#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Native stacks of a C++ program without frame pointers, with frames of every kind, are those of libgcc's unwinder, frame by frame
# and as often: the same call instruction calls one function that takes the stack, and one that is probed.
import collections
import os
import platform
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

DEEPEST = 256  # frames that a recording keeps
OP = "cudaDeviceSynchronize"

rec.need_bpf()
if platform.machine() != "x86_64":
    tap.skip_all("stacks are walked by frame pointers on this machine")
if not shutil.which("c++"):
    tap.skip_all("no C++ compiler here")


def frame_at(maps, address):
    """File and place in it of the call before this return address."""
    for start, end, offset, path in maps:
        if start <= address - 1 < end:
            return path, address - 1 - start + offset
    return "?", address


def read_truth(name):
    maps, stacks, deeper = [], collections.Counter(), 0
    for line in open(name, encoding="utf-8"):
        words = line.split()
        if words[0] == "maps":
            start, end = (int(x, 16) for x in words[1].split("-"))
            maps.append((start, end, int(words[3], 16), words[6] if len(words) > 6 else "?"))
        else:
            deeper += int(words[0]) * (len(words) > DEEPEST + 1)
            stacks[tuple(frame_at(maps, int(x, 16)) for x in words[1:])[:DEEPEST]] += int(words[0])
    return stacks, deeper


def record(program, *arguments):
    ige, out = rec.path("unwind.ige"), rec.path("stacks")
    p = subprocess.run(rec.command(["-o", ige, "--no-sched", "-e", OP, *arguments, "--", program, out, "libcudart.so.13", OP], True),
                       env=rec.environment(), input="\n\n", capture_output=True, text=True, timeout=rec.PATIENCE)
    tap.ok(p.returncode == 0 and os.path.getsize(out) > 0, f"{arguments}: recorded", p.stderr)
    events, records, _ = rec.dump(ige)
    got = collections.Counter(tuple((f[1], f[2]) for f in e["stack"]) for e in events if e["op"] == OP)
    truth, deeper = read_truth(out)
    return truth, got, deeper, rec.stat(ige)["coverage"], records, p.stderr


def check_ends(name, events, deep, coverage, records, text):
    """Every stack's end is told, and what the tables took: in the recording, by stat, by the recorder."""
    ends = coverage["native_stacks"]
    tap.same((ends["events"], ends["whole"], ends["too_deep"], ends["by_frame_pointers"], ends["ends"]), (events, events - deep, deep, 0, []),
             f"{name}: all reach main or a thread's start but those that are cut")
    own = [r for r in records if r["record"] == "coverage" and r.get("layer") == "stacks"]
    tap.same([(r["requested"], r["attached"]) for r in own if "reason" not in r], [(events, events - deep)], f"{name}: the recording says so")
    tables = coverage["unwind_tables"]
    tap.ok(tables["files"] == tables["with_table"] + len(tables["without"]) and tables["with_table"] > 3 and tables["bytes"] > 100000
           and tables["build_ns"] > 0 and tables["stacks"] >= events and 0 < tables["searched"] < tables["stacks"],
           f"{name}: tables are counted", tables)
    tap.ok(f"{100 * (events - deep) / events:.2f}% of {events:,} reach main" in text and "unwind tables: of " in text
           and "by frame pointers" not in text, f"{name}: the recorder tells", text)


for options in (["-O2", "-fomit-frame-pointer"], ["-O0", "-fomit-frame-pointer"], ["-O3", "-fomit-frame-pointer", "-static-libgcc"]):
    program = rec.path("frames")
    subprocess.run(["c++", *options, "-pthread", "-o", program, os.path.join(rec.HERE, "frames.cc"), "-ldl"], check=True)
    for link in ("session", "perf") if options[0] == "-O2" else ("session",):
        truth, got, *told = record(program, "--unwind-memory", "64m", *(["--link", link] if link != "session" else []))
        calls, same = sum(truth.values()), sum(min(n, got[stack]) for stack, n in truth.items())
        tap.ok(calls > 7000 and len(truth) > 3000, f"{options[0]}, {link} links: {calls} calls with {len(truth)} stacks")
        tap.same((sum(got.values()), same), (calls, calls), f"{options[0]}, {link} links: every stack is libgcc's")
        check_ends(f"{options[0]}, {link} links", calls, *told)

# Where tables have no room stacks end there, and which files these are is said, with the reason.
truth, got, _, coverage, records, text = record(program, "--unwind-memory", "64k")
left = {r["path"]: r["reason"] for r in coverage["unwind_tables"]["without"]}
tap.ok("no room within --unwind-memory" in left.values() and coverage["unwind_tables"]["bytes"] < 2 * 65536, "a small limit: files are left out", left)
ended = [e for e in coverage["native_stacks"]["ends"] if e["reason"] == "no-table"]
tap.ok(ended and all(left.get(e["path"]) == "no room within --unwind-memory" for e in ended), "stacks end in these alone", (ended, left))
tap.ok(not any(e["reason"] == "frame-pointers" for e in coverage["native_stacks"]["ends"]), "and are not taken for others", coverage)
tap.same(coverage["native_stacks"]["events"], coverage["native_stacks"]["whole"] + coverage["native_stacks"]["too_deep"]
         + sum(e["events"] for e in coverage["native_stacks"]["ends"]), "every stack is one of them")
own = {r["path"]: r["reason"] for r in records if r["record"] == "coverage" and r.get("layer") == "unwind" and "path" in r}
tap.same(own, left, "the recording says which")
tap.ok("cannot be unwound: " in text and "no room within --unwind-memory" in text, "so does the recorder", text)

# Threads asleep in the C library: what they sleep in was called by the function of their kind, down to the thread's start.
program, ige = rec.path("sleeps"), rec.path("sleeps.ige")
subprocess.run(["c++", "-O2", "-fomit-frame-pointer", "-pthread", "-o", program, os.path.join(rec.HERE, "sleeps.cc"), "-ldl"], check=True)
p = rec.run("-o", ige, "--budget", "none", "--unwind-memory", "64m", "--", program, "libcudart.so.13", OP)
kinds = [line for line in p.stdout.splitlines() if line.startswith("by_")]
tap.ok(p.returncode == 0 and len(kinds) == 15, "sleeps: recorded", p.stderr)
stacks = [[f[0].split("(")[0] for f in e["stack"]] for e in rec.dump(ige)[0] if e["op"] == "offcpu" and e["dur"] > 20e6]
for kind in kinds:
    mine = [s for s in stacks if kind in s]
    at = mine[0].index(kind) if mine else 0
    tap.ok(mine and at > 0 and mine[0][at + 1:at + 3] == ["sleep_in", "thread_main"] and len(mine[0]) >= at + 4,
           f"{kind}: its wait has its callers", mine or stacks)
tap.done_testing()
