#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Kernels of a program that registered them before it was recorded: by the symbol of the host function that they are launched by;
# where the library has none, from its code that registers them.
import json
import os
import platform
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige, COUNT = rec.path("attached.ige"), 10


def attach(*modules, options=()):
    """Records the workload from when its first library is loaded on; the launches by kernel, None where there is no such runtime."""
    files = [x for m in modules for x in ("--module", os.path.join(rec.DOUBLE, f"libmodule-{m}.so"))]
    work = subprocess.Popen([rec.work("modules"), *files, "--count", str(COUNT), "--asked", *options], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, env=rec.environment())
    if not work.stdout.readline():
        return work.wait() and None
    if os.path.exists(ige):
        os.unlink(ige)
    r = rec.start("-o", ige, "--no-sched", "-p", work.pid)
    rec.attached(r)
    for i, m in enumerate(modules):
        print(file=work.stdin, flush=True)
        work.stdout.readline()
        # What is found out may be found later than the launch, and a process that is gone cannot be asked.
        rec.until(lambda: platform.machine() != "x86_64" or sum(r["record"] == "kernel" for r in rec.dump(ige)[1]) >= 2 * i + 2)
        print(file=work.stdin, flush=True)
        work.stdout.readline()
    work.wait()
    said = r.communicate(timeout=rec.PATIENCE)[1]
    tap.ok(r.returncode == 0 and " lost 0" in said, f"{modules} {options} attached to", said)
    p = subprocess.run([rec.STAT, "--by", "kernel", "-e", "cudaLaunchKernel", "--json", ige], capture_output=True, text=True)
    return {x["key"]: x["count"] for x in json.loads(p.stdout)["by"]["rows"] if x["kind"] == "known"}


for options in ((), ("--real",)):
    rows = attach("alpha", "delta", options=options)
    if rows is None:
        tap.skip(f"{options}", "optional: no toolkit here")
        continue
    tap.same(rows, {"alpha1(float*)": COUNT, "alpha2(float*)": COUNT + 1, "delta1(float*)": COUNT, "delta2(float*)": COUNT + 1},
             f"{options}: kernels that were registered before, and those of a library that comes later in the same place")
    tap.same(attach("bare", options=options),
             {"stark1(float*)": COUNT, "stark2(float*)": COUNT + 1} if platform.machine() == "x86_64" else
             {"launched by module_launch": 2 * COUNT + 1}, f"{options}: without symbols, from the code that registered them")
    tap.ok(all(r["time_ns"] > 0 for r in rec.dump(ige)[1] if r["record"] == "kernel"), "what is told has its time")
tap.done_testing()
