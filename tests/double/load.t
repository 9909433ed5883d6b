#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The load: a line for each unit of work, as many units as the libraries counted calls for, and phases as asked for.
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support as tap

FOLDER = tempfile.TemporaryDirectory()
CALLS, QUIET = "0", "1"


def run(name, *options):
    path = os.path.join(FOLDER.name, name)
    p = tap.Ran("load", "--progress", path, "--seconds", 1, *options)
    tap.same(p.status, 0, f"{name}: ends well") or print(f"# {p.err}", file=sys.stderr)
    with open(path, encoding="ascii") as f:
        return p, [line.split() for line in f]


for name, launches, threads, options in (("one thread", 20, 1, ()), ("threads", 7, 3, ("--threads", 3)),
                                         ("full speed", 200, 1, ("--work-us", 0)),
                                         ("phases", 20, 1, ("--busy-ms", 50, "--quiet-ms", 50)),
                                         ("computing phases", 20, 1, ("--busy-ms", 50, "--quiet-ms", 50, "--quiet-computes"))):
    p, lines = run(name, "--launches", launches, *options)
    units = [line for line in lines if line[3] == CALLS]
    tap.ok(len(units) > 5, f"{name}: units of work are done", len(units))
    tap.same([p.count(op) for op in ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize")],
             [len(units) * launches, len(units), len(units)], f"{name}: each unit makes the calls that it is made of")
    tap.same(len({line[4] for line in lines}), threads, f"{name}: by as many threads as asked for")
    tap.same(any(line[3] == QUIET for line in lines), "--quiet-computes" in options, f"{name}: quiet units only where asked for")
    wall, cpu = (sum(int(line[column]) for line in lines) for column in (1, 2))
    tap.ok(0 < cpu < 1.02 * wall < 1.1e9 * threads, f"{name}: together they take no more CPU time than wall time, and that of a second",
           (cpu, wall))
tap.done()
