#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# PyTorch in several processes: two of them that train together (torchrun, DDP), and the compilers that torch.compile starts.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import rec, tap

real.need("torch", "triton")
STEPS = 40

run = [real.PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
archive = real.launch("two ranks", [*run, *real.train("--steps", STEPS, "--ddp")[1:]], OMP_NUM_THREADS=1)
ranks = [calls for calls in archive.truth.values() if ("nccl", "ncclAllReduce") in calls]
tap.same(len(ranks), 2, "two ranks: both reduce")
tap.none([calls for calls in ranks if calls[("nccl", "ncclAllReduce")] < STEPS], "two ranks: at least once a step")

command = real.train("--steps", STEPS, "--compile")
printed = real.run_plain(command, TORCHINDUCTOR_CACHE_DIR=rec.path("plain"), TRITON_CACHE_DIR=rec.path("plain/triton"))
archive = real.launch("compiled", command, printed=printed, TORCHINDUCTOR_CACHE_DIR=rec.path("compiled"),
                      TRITON_CACHE_DIR=rec.path("compiled/triton"))
launches = sum(calls.get(("driver", "cuLaunchKernel"), 0) + calls.get(("driver", "cuLaunchKernelEx"), 0) for calls in archive.truth.values())
tap.ok(launches >= STEPS, "compiled: the compiler's kernels are launched", archive.truth)
tap.ok([name for name in real.kernels(archive.recording) if "triton_" in name], "compiled: they are called what the compiler calls them")
tap.done_testing()
