#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# PyTorch, a training loop that ran before the recorder came: as in torch.t from then on, and nothing of it changes when either
# side is killed.
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import rec, tap

real.need("torch")
STEPS, WARM = 60, 10
command = real.train("--steps", STEPS, "--gate")
printed = real.run_plain(command)  # its gate is open: standard input is at its end

archive = real.attach("attached", command, printed=printed)
found, elsewhere = archive.python_calls(archive.pid, real.TRAIN)
for op, text, want in (("cudaStreamSynchronize", "value = loss.item()", (STEPS - WARM) // 10),
                       ("cudaMemcpyAsync", "batch = self.trouble.batch(self.batches).to(", STEPS - WARM),
                       ("cudaDeviceSynchronize", "torch.cuda.synchronize()", 1)):
    function, line = real.line_of(real.TRAIN, text)
    tap.same(found.get((op, function, line), 0), want, f"attached: {op} of {function}, as often as line {line} runs")

# The recorder dies: the program does not notice, and what was written is there.
program = real.Gated(command)
program.record()
program.open()
line = program.process.stdout.readline()  # ten more steps
program.out += line
program.recorder.kill()
tap.same(program.finish(), 0, "recorder killed: the program ends well")
program.finish_recorder()
tap.same(program.out, printed, "recorder killed: the program prints what it prints without it")
p = subprocess.run([rec.STAT, "--json", program.recording], capture_output=True, text=True)
tap.ok(p.returncode in (0, 4), "recorder killed: the recording is read, as whole or as cut off", p.stderr)
recorded = real.Archive(program.recording).calls()
real.none_above(recorded, program.since(), "recorder killed: no function has more calls than were made")

# The program dies: all that it had called is in the recording.
program = real.Gated(command)
program.record()
program.open()
program.process.stdout.readline()
program.process.send_signal(signal.SIGKILL)
tap.same(program.finish(), -signal.SIGKILL, "program killed: by that signal")
tap.same(program.finish_recorder(), 0, "program killed: the recorder ends well") or tap.diag(program.report)
archive = real.Archive(program.recording)
recorded, truth = archive.calls(), program.since()
real.none_above(recorded, truth, "program killed: no function has more calls than were made")
# A thread that was inside a call when it died made one that did not return, in each of the layers it was in; it may not have been
# counted yet.
threads, missing = 3, sum(n for calls in truth.values() for n in calls.values()) - sum(n for calls in recorded.values() for n in calls.values())
lost = archive.lost()
unreturned = lost.pop("return never seen", 0)
tap.same(lost, {}, "program killed: nothing lost")
tap.ok(0 <= missing <= unreturned <= 2 * threads, "program killed: every call that returned is recorded", f"{missing} are missing, {unreturned} did not return")
tap.done_testing()
