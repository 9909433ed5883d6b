#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# PyTorch, a training loop started by the recorder: every call once, every kernel named, and each call of the main thread at the
# line of the loop that makes it.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import tap

real.need("torch")
STEPS = 60
PARAMETERS = 27  # of the model, 12 in each block

archive = real.launch("eager", real.train("--steps", STEPS))
pid = next(iter(archive.truth), 0)
found, elsewhere = archive.python_calls(pid, real.TRAIN)


def at(op, text):
    """Calls of that op, made or led to by the line of the training program with that text."""
    function, line = real.line_of(real.TRAIN, text)
    return found.get((op, function, line), 0)


tap.same(at("cudaStreamSynchronize", "value = loss.item()"), STEPS // 10, "loss.item() waits once in ten steps, at its line")
tap.same(at("cudaMemcpyAsync", "value = loss.item()"), STEPS // 10, "and copies as often")
tap.same(at("cudaMemcpyAsync", "batch = self.trouble.batch(self.batches).to("), STEPS, "a batch is copied once a step, at the line that says .to()")
tap.same(at("cudaDeviceSynchronize", "torch.cuda.synchronize()"), 2, "the loop waits for the device at its ends, at that line")
for text in ("weights = F.softmax(", "x = x + self.attend(", "return x + self.down("):
    count = at("cudaLaunchKernel", text)
    tap.ok(count and count % (2 * STEPS) == 0, f"launches of {text} are as many in each of two blocks and each step", f"{count} launches")
count = at("cudaLaunchKernel", "loss = F.cross_entropy(")
tap.ok(count and count % STEPS == 0, "launches of the loss are as many in each step", f"{count} launches")
count = at("cudaLaunchKernel", "self.optimizer.step()")
tap.ok(count > STEPS and count % STEPS % PARAMETERS == 0, "those of the optimizer, too, but for the state it makes of each parameter",
       f"{count} launches")
tap.same(at("cudaLaunchKernel", "loss = self.replay("), 0, "no call is at a line that only calls others of this file")
tap.done_testing()
