# SPDX-License-Identifier: Apache-2.0
"""Troubles that training loops have, planted in one whose own clock says how long each took.

A trouble is a class with the lines that take the time, which end with a mark: "# [name]" is the line that a report
should name as the culprit, "# [name waits]" that of the loop that waits for it, where these are two.
"""
import ctypes
import gc
import os
import queue
import subprocess
import sys
import threading
import time

import torch


class Clock:
    """Adds up the seconds of what is planted, and of the CPU in it, by this process's own clocks."""

    def __init__(self):
        self.planted = self.planted_cpu = 0.0
        self.times = 0

    def __enter__(self):
        self.began, self.began_cpu = time.perf_counter(), time.thread_time()

    def __exit__(self, *_):
        self.planted += time.perf_counter() - self.began
        self.planted_cpu += time.thread_time() - self.began_cpu
        self.times += 1


def compute(seconds):
    """Python code that computes."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:  # [compute]
        pass


class Trouble:
    """None."""

    workers = 0  # of the DataLoader, where the trouble needs them

    def __init__(self, options, clock):
        self.options, self.clock, self.seconds = options, clock, options.trouble_ms / 1e3

    def item(self):
        """In Dataset.__getitem__."""

    def batch(self, batches):
        return next(batches)

    def step(self, trainer, number):
        """In each step."""

    def stop(self):
        """After the loop."""


class Getitem(Trouble):
    """Decoding without a cache, in the loop's own thread."""


    def item(self):
        with self.clock:
            compute(self.seconds / 8)


class Worker(Trouble):
    """The same in the one worker that the loop waits for."""

    workers = 1

    def item(self):
        compute(self.seconds / 8)

    def batch(self, batches):
        with self.clock:
            return next(batches)  # [worker waits]


class Gc(Trouble):
    def step(self, trainer, number):
        if number % 10 == 5:
            with self.clock:
                gc.collect()  # [gc]


class Sleep(Trouble):
    def step(self, trainer, number):
        with self.clock:
            time.sleep(self.seconds)  # [sleep]


class Logging(Trouble):
    """A checksum of every parameter, each of which waits for the device, to a file that is synced."""


    def __init__(self, options, clock):
        super().__init__(options, clock)
        self.file = open(f"{options.truth}.log", "w", encoding="utf-8")

    def step(self, trainer, number):
        with self.clock:
            for index, parameter in enumerate(trainer.parameters):
                self.file.write(f"{index} {parameter.sum().item()}\n")
            self.file.flush()
            os.fsync(self.file.fileno())  # [logging]


class Checkpoint(Trouble):
    """Everything that a run needs to go on, until the disk has it."""


    def step(self, trainer, number):
        if number % 5 == 4:
            with self.clock:
                self.save(trainer)

    def save(self, trainer):
        state = {"model": trainer.model.state_dict(), "optimizer": trainer.optimizer.state_dict(), "history": trainer.history}
        with open(f"{self.options.truth}.checkpoint", "wb") as file:
            torch.save(state, file)  # [checkpoint]
            file.flush()
            os.fsync(file.fileno())


class Validation(Trouble):
    """Of as many batches as twenty steps have, every fifty steps."""


    def step(self, trainer, number):
        if number % 50 == 49:
            with self.clock:
                self.validate(trainer)

    def validate(self, trainer):
        with torch.no_grad():
            for _ in range(40):
                x = next(trainer.batches).to(trainer.device)[:, :-1]
                trainer.model(x)  # [validation]
        torch.cuda.synchronize()


class Child(Trouble):
    """A program that is started and waited for, as for metrics of the GPU."""


    def step(self, trainer, number):
        if number % 2:
            with self.clock:
                subprocess.run(["sleep", str(self.seconds)], check=True)  # [child]


class Lock(Trouble):
    """Of a thread that writes statistics while it holds it."""


    def __init__(self, options, clock):
        super().__init__(options, clock)
        self.lock, self.over = threading.Lock(), False
        self.thread = threading.Thread(target=self.hold, daemon=True)
        self.thread.start()

    def hold(self):
        while not self.over:
            with self.lock:
                time.sleep(self.seconds)  # [lock]
            time.sleep(0.002)

    def step(self, trainer, number):
        with self.clock:
            with self.lock:  # [lock waits]
                pass

    def stop(self):
        self.over = True
        self.thread.join()


class Queue(Trouble):
    """A thread that gets what each step needs, and is slow at it."""


    def __init__(self, options, clock):
        super().__init__(options, clock)
        self.queue, self.over = queue.Queue(2), False
        self.thread = threading.Thread(target=self.produce, daemon=True)
        self.thread.start()

    def produce(self):
        while not self.over:
            time.sleep(self.seconds)  # [queue]
            self.queue.put(1)

    def step(self, trainer, number):
        with self.clock:
            self.queue.get()  # [queue waits]

    def stop(self):
        self.over = True


class Interpreter(Trouble):
    """A thread in C code that does not let go of the interpreter's lock."""


    def __init__(self, options, clock):
        super().__init__(options, clock)
        self.over = False
        self.count = ctypes.pythonapi.PyUnicode_Count
        self.count.argtypes = [ctypes.py_object, ctypes.py_object, ctypes.c_ssize_t, ctypes.c_ssize_t]
        self.thread = threading.Thread(target=self.search, daemon=True)
        self.thread.start()

    def search(self):
        text, word = "ab" * 500000, "abb"
        while not self.over:
            ctypes.pythonapi.PyUnicode_Count(text, word, 0, len(text))  # [interpreter]
            time.sleep(0.001)

    def step(self, trainer, number):
        with self.clock:
            for _ in range(4):
                time.sleep(0)  # [interpreter waits]

    def stop(self):
        self.over = True
        self.thread.join()


class Respawn(Trouble):
    """Workers that are started anew for each short epoch."""

    workers = 2

    def step(self, trainer, number):
        if number % 20 == 19:
            with self.clock:
                trainer.batches = trainer.load()  # [respawn]
                next(trainer.batches)


class Pipe(Trouble):
    """A progress bar whose reader is slow."""

    READER = "import sys, time; from os import read\nwhile read(0, 4096):\n    time.sleep(float(sys.argv[1]))"

    def __init__(self, options, clock):
        super().__init__(options, clock)
        self.reader = subprocess.Popen([sys.executable, "-c", self.READER, str(self.seconds / 4)], stdin=subprocess.PIPE)
        self.text = b"x" * 16384

    def step(self, trainer, number):
        with self.clock:
            os.write(self.reader.stdin.fileno(), self.text)  # [pipe waits]

    def stop(self):
        self.reader.stdin.close()
        self.reader.kill()
        self.reader.wait()


class Pinning(Trouble):
    """Memory of the host that is pinned in each step, and not kept."""


    def step(self, trainer, number):
        with self.clock:
            torch.empty(4 << 20).pin_memory()  # [pinning]
            torch._C._host_emptyCache()


class Synchronous(Trouble):
    """A value that is looked at in each step, when the device is not done yet."""


    def step(self, trainer, number):
        with self.clock:
            torch.cuda.synchronize()  # [synchronous]


TROUBLES = {"none": Trouble, "getitem": Getitem, "worker": Worker, "gc": Gc, "sleep": Sleep, "logging": Logging, "checkpoint": Checkpoint,
            "validation": Validation, "child": Child, "lock": Lock, "queue": Queue, "interpreter": Interpreter, "respawn": Respawn,
            "pipe": Pipe, "pinning": Pinning, "synchronous": Synchronous}
