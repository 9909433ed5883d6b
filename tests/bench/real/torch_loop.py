# SPDX-License-Identifier: Apache-2.0
"""The training loop of tests/real/work/train.py without an end; a line for each step as of the double's load, see progress.py.

    torch_loop.py PROGRESS [OPTION OF train.py]...

A step that reads the loss back is another kind of step than the others.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "real", "work"))
import torch  # noqa: E402
import train  # noqa: E402


def main():
    progress = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    torch.manual_seed(1)
    trainer = train.Trainer(train.parse_options())
    trainer.say = lambda *words: None
    trainer.run(0, 20)
    print("ready", os.getpid(), flush=True)
    number, wall, cpu = 20, time.monotonic_ns(), time.process_time_ns()
    while True:
        trainer.step(number)
        now, used = time.monotonic_ns(), time.process_time_ns()
        os.write(progress, b"%d %d %d %d 0\n" % (now, now - wall, used - cpu, number % 10 == 9))
        number, wall, cpu = number + 1, now, used


main()
