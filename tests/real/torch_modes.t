#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# PyTorch as people use it beside the plain loop: autocast, a second stream, an emptied cache, a CUDA graph, loader processes.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import tap

real.need("torch")
STEPS = 40


def total(archive, source, op):
    return sum(calls.get((source, op), 0) for calls in archive.truth.values())


real.launch("autocast", real.train("--steps", STEPS, "--amp"))
archive = real.launch("streams", real.train("--steps", STEPS, "--streams"))
tap.ok(total(archive, "cuda", "cudaStreamWaitEvent") >= 2 * STEPS, "streams: they wait for each other twice a step")
archive = real.launch("emptied cache", real.train("--steps", STEPS, "--empty-cache"))
tap.ok(total(archive, "cuda", "cudaFree") >= STEPS, "emptied cache: memory goes back in each step")
archive = real.launch("graph", real.train("--steps", STEPS, "--graph"))
tap.same(total(archive, "cuda", "cudaGraphLaunch"), STEPS, "graph: one launch a step")
archive = real.launch("workers", real.train("--steps", STEPS, "--workers", 2))
tap.same(len(archive.truth), 1, "workers: they make no call")
tap.same(len(archive.ask("SELECT DISTINCT pid FROM events WHERE comm LIKE 'pt_data_worker%' OR pid != ?", next(iter(archive.truth)))) >= 2,
         True, "workers: what they do is recorded")
tap.done_testing()
