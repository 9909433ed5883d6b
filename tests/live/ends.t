#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# How far native stacks reach: a program that makes known numbers of calls from main, from a thread, through a library
# with frame pointers and through one without. Told at the end of a recording, in it, and by ingero-stat.
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
LOST = "libthrough-lost.so"


def check(name, arguments, lost, others):
    ige = rec.path("ends.ige")
    p = rec.run("-o", ige, "--no-sched", "--unwind-memory", "0", *arguments, "--", rec.work("ends"), "--lost", lost, "--direct", others, "--kept",
                2 * others, "--thread", 3 * others)
    said = rec.truth(p.stdout)
    if not tap.ok(p.returncode == 0 and said and said[0]["lost"] == lost, f"{name}: recorded", p.stderr):
        return
    events, records, _ = rec.dump(ige)
    # The call in the program, and what the runtime does inside it. What the libraries do when they are set up, on the
    # first call, stands under that call.
    made = [e for e in events if e["source"] == "cuda" and e["op"] == "cudaDeviceSynchronize"]
    tap.same(len(made), lost + 6 * others, f"{name}: all calls are there")
    stacks = [e["stack"] for e in events if e["stack"]]
    through = [s for s in stacks if any(os.path.basename(f[1]) == LOST for f in s)]
    of_made = [e for e in made if any(os.path.basename(f[1]) == LOST for f in e["stack"])]
    tap.same(len(of_made), lost, f"{name}: those through the library are known by it")
    told = rec.stat(ige)["coverage"]["native_stacks"]
    ends = {os.path.basename(e["path"] or ""): e["events"] for e in told["ends"]}
    tap.same((told["events"], ends.get(LOST, 0)), (len(stacks), len(through)), f"{name}: stat counts them")
    # The loader calls a library's constructors before there is a main: such ends are not this test's.
    tap.same((told["by_frame_pointers"], {e["reason"] for e in told["ends"]} - {"frame-pointers"}), (told["events"], set()),
             f"{name}: all were found by frame pointers")
    tap.same(told["whole"] + told["too_deep"] + sum(ends.values()), told["events"], f"{name}: every stack is one of them")
    early = [s for s in stacks if not any(f[0] in ("main", "in_thread") for f in s) and s not in through]
    tap.same(told["whole"], len(stacks) - len(through) - len(early), f"{name}: those that reach main or a thread's start")

    own = [r for r in records if r["record"] == "coverage" and r.get("layer") == "stacks"]
    whole = [r for r in own if "path" not in r and "reason" not in r]
    of_lost = [r for r in own if os.path.basename(r.get("path", "")) == LOST]
    tap.same([(r["requested"], r["attached"]) for r in whole], [(told["events"], told["whole"])], f"{name}: the recording says so")
    tap.same([(r["requested"], r["failed"], r["reason"]) for r in of_lost],
             [(told["events"], len(through), "built without frame pointers")] if lost else [], f"{name}: of the library, too")
    text = subprocess.run([rec.STAT, ige], capture_output=True, text=True).stdout
    if not lost:
        for where, words in (("record", p.stderr), ("stat", text)):
            tap.ok(LOST not in words and re.search(r"native stacks: [0-9.]+% of .* reach main", words),
                   f"{name}: {where} has nothing to say of it", words)
        return
    share = f"{100 * len(through) / len(stacks):.2f}%"
    for where, words in (("record", p.stderr), ("stat", text)):
        tap.ok(re.search(rf"native stacks.*main or a thread's start.*{re.escape(share)} (end )?in {re.escape(LOST)}.*without frame pointers", words),
               f"{name}: {where} tells a person {share}", words)


check("some", [], 20, 5)
check("most", ["--walker", "helper"], 90, 1)
check("none", [], 0, 4)
tap.done_testing()
