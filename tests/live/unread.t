#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Names whose memory was not mapped when a program gave them, so that no probe could read them: of kernels that a library
# registers, as nvcc makes it, and of NVTX ranges. The recorder reads them and says how many; also of a library that lies where
# another one lay a moment before.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige, COUNT = rec.path("unread.ige"), 10


def record(*modules, options=()):
    """A recording of these libraries one after the other; what the recorder said, or None where there is no such runtime."""
    files = [x for m in modules for x in ("--module", os.path.join(rec.DOUBLE, f"libmodule-{m}.so"))]
    p = rec.run("-o", ige, "--no-sched", "--", rec.work("modules"), *files, "--count", COUNT, *options)
    if p.returncode == 77:
        return None
    tap.ok(p.returncode == 0, f"{modules} {options} recorded", p.stderr)
    return p.stderr


def kernels():
    """Names of kernels in the recording, in their order."""
    return [r["name"] for r in rec.dump(ige)[1] if r["record"] == "kernel"]


def late(what):
    """So many names were read late, of so many, as the newest record has it."""
    found = [(r["attached"], r["requested"]) for r in rec.dump(ige)[1] if r["record"] == "coverage" and r["layer"] == f"late {what}"]
    return found[-1] if found else None


NAMES = ["_Z6alpha1Pf", "_Z6alpha2Pf", "_Z6delta1Pf", "_Z6delta2Pf", "_Z6alpha1Pf", "_Z6alpha2Pf"]
# The double's runtime has a driver below it, which makes a kernel of each name at its first launch and asks for that name again.
TWICE = [name for name in NAMES[:4] for _ in ("registered", "loaded")] + NAMES[4:]
for runtime, options, names, read in (("the double's", (), TWICE, 12), ("NVIDIA's", ("--real",), NAMES, 6)):
    said = record("alpha", "delta", "alpha", options=options)
    if said is None:
        tap.skip(f"{runtime} runtime", "optional: no toolkit here")
        continue
    tap.same(kernels(), names, f"{runtime} runtime: every name, of the library that lies there at the time")
    rows = json.loads(subprocess.run([rec.STAT, "--by", "kernel", "-e", "cudaLaunchKernel", "--json", ige], capture_output=True,
                                     text=True).stdout)["by"]["rows"]
    tap.same({r["key"]: r["count"] for r in rows if r["kind"] == "known"},
             {"alpha1(float*)": 2 * COUNT, "alpha2(float*)": 2 * COUNT + 2, "delta1(float*)": COUNT, "delta2(float*)": COUNT + 1},
             f"{runtime} runtime: each launch is counted by the name its handle had then")
    tap.same(late("kernel names"), (6, read), f"{runtime} runtime: the registered ones were read late, and that is in the recording")
    last = read
    tap.ok("names read late, as their memory was not mapped yet: 6 of kernels" in said, "the recorder says so", said)
    tap.ok(" lost 0" in said and "names of kernels lost" not in said, "and that none is lost", said)
text = subprocess.run([rec.STAT, ige], capture_output=True, text=True).stdout
tap.ok(f"coverage: 6 of {last} kernel names were read by the recorder" in text, "ingero-stat says so, too", text)
layers = rec.stat(ige)["coverage"]["layers"]
tap.same([(x["attached"], x["requested"], x["failed"]) for x in layers if x["layer"] == "late kernel names"], [(6, last, 0)], "and its JSON")

# ---- NVTX
record("alpha", options=("--nvtx",))
events = map(json.loads, subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-f", "json", ige], capture_output=True,
                                        text=True).stdout.splitlines())
tap.same([e["name"] for e in events if e["source"] == "mark"], ["alpha range", "wide range", "alpha mark"], "NVTX: every text")
tap.same(late("range names"), (3, 3), "all were read late")
tap.done_testing()
