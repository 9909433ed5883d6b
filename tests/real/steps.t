#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Steps found in the stacks of PyTorch's training loops are as many as the loop made, and take as long as its own clock says:
# all calls recorded, launches recorded in windows, from its start or attached, and with loader processes. Where the recorder was
# so busy that copies are missing as well, their number is an estimate.
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import rec, tap

real.need("torch")
PRINT = os.path.join(rec.BUILD, "tests", "tools", "loops_print")
WARM = 10  # steps before the loop's clock runs
EVERY = ["--budget", "none"]


def steps_of(recording, pid):
    """(mark, steps, function, file, [(begin, end, certain)]) of the process's main thread."""
    printed = subprocess.run([PRINT, "-s", recording], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^python train.py \(pid {pid}\): ([~>=]*)(\d+) steps of (\S+) \((\S+?):\d+(?:-\d+)?\).*\n", printed, re.M)
    if not found:
        return None
    threads = {}
    for line in re.findall(r"^step .*", printed, re.M):
        _, thread, loop, _, begin, end, *mark = line.split()
        threads.setdefault((thread, loop), []).append((int(begin), int(end), not mark))
    steps = [v for v in threads.values() if f"first at {v[0][0] / 1e9:.3f} s" in found[0]]
    return found[1], int(found[2]), found[3], found[4], steps[0] if steps else []


def check(name, recording, pid, want, seconds, whole):
    """seconds: of the last want - WARM steps, by the program's clock. whole: no call is missing."""
    found = steps_of(recording, pid)
    if not tap.ok(found, f"{name}: steps are found"):
        return
    mark, count, function, file, steps = found
    tap.same((function, file), ("Trainer.step", "train.py"), f"{name}: of the loop's function")
    if mark and not whole:
        low = 0 if mark == ">=" else 0.85 * want
        tap.ok(low <= count <= 1.15 * want, f"{name}: copies were missing, too: the estimate is near", f"{mark}{count} of {want}")
    else:
        tap.same((mark, count), ("", want), f"{name}: every step")
        tap.none([step for step in steps if not step[2]], f"{name}: their bounds are certain")
    if len(steps) == want and seconds:
        took = (steps[-1][1] - steps[WARM][0]) / 1e9
        tap.ok(abs(took - seconds) <= 0.1 * seconds, f"{name}: they take as long as the program's clock says", f"{took} s, {seconds} s")


def record(name, steps, options, *more):
    truth = rec.path(f"{name}.json".replace(" ", "-"))
    ige = rec.path(f"{name}.ige".replace(" ", "-"))
    p = subprocess.run([rec.RECORD, *options, "-o", ige, "--", *real.train("--steps", steps, "--truth", truth, *more)],
                       env=real.environment(), capture_output=True, text=True, timeout=real.PATIENCE, stdin=subprocess.DEVNULL)
    tap.same(p.returncode, 0, f"{name}: recorded") or tap.diag(p.stderr[-2000:])
    with open(truth, encoding="utf-8") as f:
        said = json.load(f)
    check(name, ige, said["pid"], said["steps"] + WARM, said["loop_s"], bool(options))


record("every call", 100, EVERY)
record("launches in windows", 600, [])
record("graph", 300, [], "--graph")
record("workers", 150, [], "--workers", 2)
record("a few steps", 12, EVERY)

# It stops for the recorder between two steps.
program = real.Gated(real.train("--steps", 80, "--gate"))
program.record()
program.open()
tap.same(program.finish(), 0, "attached: the program ends well")
program.finish_recorder()
check("attached", program.recording, program.process.pid, 80 - WARM, None, True)
tap.done_testing()
