#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training-like loop on the CUDA double with one trouble planted in it, in a dose.

A step copies a batch, launches kernels, prepares the next batch while the device works, and waits for the loss. What is
planted comes between two steps, so much of it that it takes --dose per cent of the wall time; seeds decide when and
in which portions. The truth line says what it took by this program's own clock and the kernel's accounting of the thread."""
import argparse
import ctypes
import hashlib
import json
import mmap
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "double", "work")]
import accounts
import cuda

with open(os.path.abspath(__file__)) as source:
    # The lines that are to be told, by the mark they carry.
    LINES = {text.rsplit("# line: ")[1].strip(): n for n, text in enumerate(source, 1) if "  # line: " in text and "source" not in text}

MS = 1000000


class Nothing:
    """Also the base of all plants. portion: the least and the most that is planted at a time, ns."""
    portion = (4 * MS, 16 * MS)

    def __init__(self, loop):
        self.loop, self.args = loop, loop.args

    def take(self, ns):
        """Takes about that long."""

    def in_step(self):
        """What belongs into every step, whatever is owed."""

    def end(self):
        pass

    def truth(self):
        return {}


class Sleep(Nothing):

    def take(self, ns):
        time.sleep(ns / 1e9)  # line: sleep


class Compute(Nothing):
    """Prepares the batch when the device waits for it instead of before."""

    def take(self, ns):
        tokenize(ns)  # line: compute


def tokenize(ns):
    cuda.burn(ns)


class Read(Nothing):
    """Reads past the page cache from the file or device --file."""
    portion = (1, 2)
    chunk = 65536

    def __init__(self, loop):
        super().__init__(loop)
        self.fd = os.open(self.args.file, os.O_RDONLY | (0 if self.args.cached else os.O_DIRECT))
        self.room = mmap.mmap(-1, self.chunk)
        self.size = os.lseek(self.fd, 0, os.SEEK_END) // self.chunk
        if self.args.cached:
            self.portion = (1 * MS, 2 * MS)
            for at in range(self.size):
                os.preadv(self.fd, [self.room], at * self.chunk)

    def take(self, ns):
        end = time.monotonic_ns() + ns
        while True:
            os.preadv(self.fd, [self.room], self.loop.random.randrange(self.size) * self.chunk)  # line: read
            if time.monotonic_ns() >= end:
                return


class Fsync(Nothing):
    """Writes checkpoints and waits until they are on the disk."""
    portion = (1, 2)

    def __init__(self, loop):
        super().__init__(loop)
        self.fd = os.open(self.args.file, os.O_WRONLY | os.O_CREAT, 0o600)
        self.room, self.at = os.urandom(65536), 0
        if self.args.cached:
            self.portion = (1 * MS, 2 * MS)

    def take(self, ns):
        end = time.monotonic_ns() + ns
        while True:
            os.pwrite(self.fd, self.room, self.at % 256 * 65536)  # line: write
            self.at += 1
            if not self.args.cached:
                os.fsync(self.fd)  # line: fsync
            if time.monotonic_ns() >= end:
                return


class Socket(Nothing):
    """Asks a server, which takes its time, for every batch."""

    def __init__(self, loop):
        super().__init__(loop)
        self.sock = socket.create_connection(("127.0.0.1", self.args.port))

    def take(self, ns):
        self.sock.sendall(b"%d\n" % ns)
        self.sock.recv(1)  # line: socket


class Remote(Nothing):
    """Asks a server on another node, which answers at once, for every batch; the network may lose what is asked."""
    portion = (1, 2)

    def __init__(self, loop):
        super().__init__(loop)
        self.sock, self.lossy, self.times = socket.create_connection((self.args.host, self.args.port)), 0, 0
        self.in_recv = 0
        self.ask, self.again = b"x" * 999 + b"\n", self.sent_again()

    def sent_again(self):
        """Segments of the connection that the kernel sent more than once, by its own account (tcpi_total_retrans)."""
        return struct.unpack_from("I", self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)[0]

    def take(self, ns):
        begin = time.monotonic_ns()
        self.sock.sendall(self.ask)
        asked = time.monotonic_ns()
        self.sock.recv(1)  # line: remote
        end, again = time.monotonic_ns(), self.sent_again()
        took = end - begin
        self.in_recv += end - asked
        if again > self.again:
            self.lossy += took
            self.times += 1
        self.again = again

    def truth(self):
        return {"lossy_ns": self.lossy, "lossy": self.times, "in_recv_ns": self.in_recv}


class Worker(Nothing):
    """Waits for a batch that another process of its own makes, by a pipe."""

    def __init__(self, loop):
        super().__init__(loop)
        there, self.back = os.pipe()
        self.out, here = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.back)
            os.close(self.out)
            ctypes.CDLL(None).prctl(15, b"loader-worker", 0, 0, 0)
            os.sched_setaffinity(0, self.loop.elsewhere)
            while (word := os.read(there, 8)):
                cuda.burn(int.from_bytes(word, "little"))
                os.write(here, b"x")
            os._exit(0)
        os.close(there)
        os.close(here)

    def take(self, ns):
        os.write(self.back, ns.to_bytes(8, "little"))
        os.read(self.out, 1)  # line: worker

    def end(self):
        self.delay = accounts.life_delay(self.pid)
        os.close(self.back)
        os.waitpid(self.pid, 0)

    def truth(self):
        return {"worker": self.pid, "children": [{"pid": self.pid, "life_run_delay_ns": self.delay}]}


class Suspended(Nothing):
    """Another process stops it and lets it go on, as a batch system does that gives the machine to somebody else."""

    def __init__(self, loop):
        super().__init__(loop)
        there, self.ask = os.pipe()
        self.back, here = os.pipe()
        self.ns, self.asked, self.delay, me = 0, 0, 0, os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.ask)
            os.close(self.back)
            ctypes.CDLL(None).prctl(15, b"suspender", 0, 0, 0)
            os.sched_setaffinity(0, self.loop.elsewhere)
            while (word := os.read(there, 8)):
                begin = time.monotonic_ns()
                os.kill(me, signal.SIGSTOP)
                time.sleep(int.from_bytes(word, "little") / 1e9)
                os.kill(me, signal.SIGCONT)
                os.write(here, struct.pack("Q", time.monotonic_ns() - begin))
            os._exit(0)
        os.close(there)
        os.close(here)

    def take(self, ns):
        begin = time.monotonic_ns()
        os.write(self.ask, ns.to_bytes(8, "little"))
        stopped = struct.unpack("Q", os.read(self.back, 8))[0]
        self.ns += stopped
        self.asked += time.monotonic_ns() - begin - stopped

    def end(self):
        self.delay = accounts.life_delay(self.pid)
        os.close(self.ask)
        os.waitpid(self.pid, 0)

    def truth(self):
        return {"suspender": self.pid, "stopped_ns": self.ns, "asked_ns": self.asked,
                "children": [{"pid": self.pid, "life_run_delay_ns": self.delay}]}


class Child(Nothing):
    """Runs a command and waits for its end."""
    portion = (10 * MS, 20 * MS)

    def take(self, ns):
        pid = os.posix_spawn("/bin/sleep", ["sleep", f"{ns / 1e9:.6f}"], {})
        os.waitpid(pid, 0)  # line: child


class Lock(Nothing):
    """Another thread holds a mutex of the C library while it computes; the loop wants it too."""

    def __init__(self, loop):
        super().__init__(loop)
        self.libc, self.mutex, self.tid, self.asked = ctypes.CDLL(None), ctypes.create_string_buffer(64), 0, 0
        there, self.ask = os.pipe()
        self.held, here = os.pipe()
        self.thread = threading.Thread(target=self.hold, args=(there, here))
        self.thread.start()
        os.read(self.held, 1)

    def hold(self, there, here):
        self.libc.prctl(15, b"checkpoint", 0, 0, 0)
        self.tid = threading.get_native_id()
        os.sched_setaffinity(0, self.loop.elsewhere)
        data = bytes(1 << 20)
        os.write(here, b"x")
        while (word := os.read(there, 8)):
            self.libc.pthread_mutex_lock(self.mutex)
            end = time.thread_time_ns() + int.from_bytes(word, "little")
            os.write(here, b"x")
            while time.thread_time_ns() < end:
                hashlib.sha256(data)  # without the interpreter's lock
            self.libc.pthread_mutex_unlock(self.mutex)

    def take(self, ns):
        begin = time.monotonic_ns()
        os.write(self.ask, ns.to_bytes(8, "little"))
        os.read(self.held, 1)
        self.asked += time.monotonic_ns() - begin  # on a busy machine it takes the other one a while to come to it
        self.libc.pthread_mutex_lock(self.mutex)  # line: lock
        self.libc.pthread_mutex_unlock(self.mutex)

    def end(self):
        os.close(self.ask)
        self.thread.join()

    def truth(self):
        return {"holder": self.tid, "asked_ns": self.asked}


class Gil(Nothing):
    """Another thread of Python keeps the interpreter's lock; the loop waits for it behind every call."""
    portion = None  # the other one takes it, not the loop between its steps

    def __init__(self, loop):
        super().__init__(loop)
        self.stop, self.tid, self.burnt = False, 0, 0
        self.thread = threading.Thread(target=self.hold, name="augment")
        self.thread.start()

    def hold(self):
        ctypes.CDLL(None).prctl(15, b"augment", 0, 0, 0)
        self.tid = threading.get_native_id()
        os.sched_setaffinity(0, self.loop.elsewhere)
        begin = time.monotonic_ns()
        choose = random.Random(self.args.seed)
        while not self.stop:
            owed = (time.monotonic_ns() - begin) * self.args.dose // 100 - time.thread_time_ns()
            if owed > choose.randint(4 * MS, 20 * MS):
                end = time.thread_time_ns() + owed
                while time.thread_time_ns() < end: 0  # line: gil
            else:
                time.sleep(0.02)  # looking costs the loop little

    def end(self):
        self.stop = True
        self.thread.join()

    def truth(self):
        return {"holder": self.tid}


class Churn(Nothing):
    """Allocates and frees the same buffer in every step, as often as it takes."""
    portion = (1, 2)

    def take(self, ns):
        p = ctypes.c_void_p()
        self.loop.errors += self.loop.c.cudaMalloc(p, 8 << 20)  # line: churn
        self.loop.errors += self.loop.c.cudaFree(p)


class Leak(Nothing):
    """Forgets buffers; the dose is the share of the steps that do."""
    portion = None

    def __init__(self, loop):
        super().__init__(loop)
        self.bytes, self.ring = 0, []

    def in_step(self):
        p = ctypes.c_void_p()
        if self.loop.random.randrange(100) < self.args.dose:
            size = 1 << 20
            self.loop.errors += self.loop.c.cudaMalloc(p, size)  # line: leak
            self.bytes += size
        q = ctypes.c_void_p()
        self.loop.errors += self.loop.c.cudaMalloc(q, 2 << 20)  # kept for a while, and then freed: a cache
        self.ring.append(q)
        if len(self.ring) > 40:
            self.loop.errors += self.loop.c.cudaFree(self.ring.pop(0))

    def end(self):
        for q in self.ring:
            self.loop.errors += self.loop.c.cudaFree(q)

    def truth(self):
        return {"leaked": self.bytes}


class Launches(Nothing):
    """Kernels so short that launching them takes longer than they do; the dose is their share of the time."""
    portion = (3 * MS, 6 * MS)

    def take(self, ns):
        end = time.monotonic_ns() + ns
        while time.monotonic_ns() < end:
            self.loop.errors += self.loop.c.cudaLaunchKernel(*self.loop.forward)  # line: launches
        self.loop.errors += self.loop.c.cudaStreamSynchronize(self.loop.stream)


class Syncs(Nothing):
    """Looks at a value of the device after every launch."""
    portion = (3 * MS, 6 * MS)
    gaps = 0

    def take(self, ns):
        end = time.monotonic_ns() + ns
        while time.monotonic_ns() < end:
            begin = time.monotonic_ns()
            self.loop.errors += self.loop.c.cudaLaunchKernel(*self.loop.forward)
            self.gaps += time.monotonic_ns() - begin
            self.loop.errors += self.loop.c.cudaStreamSynchronize(self.loop.stream)  # line: syncs


class Reclaim(Nothing):
    """Reads a file larger than the memory it may use: the kernel makes room for every page."""
    portion = None
    chunk = 1 << 20

    def __init__(self, loop):
        super().__init__(loop)
        self.fd = os.open(self.args.file, os.O_RDONLY)
        self.size, self.at = os.lseek(self.fd, 0, os.SEEK_END), 0
        self.room = bytearray(self.chunk)

    def in_step(self):
        if not self.args.dose:
            return  # to ask the kernel takes a while, too
        # What making room takes of this is the kernel's affair: no step is longer than that.
        end = time.monotonic_ns() + 30 * MS
        while self.loop.delayed("freepages") < self.loop.owed() and time.monotonic_ns() < end:
            for _ in range(8):
                os.preadv(self.fd, [self.room], self.at)  # line: reclaim
                self.at = (self.at + self.chunk) % self.size


class Ranks:
    """The other ranks of a job, which meet in every step; when this one came is its own clock's."""

    class Id(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_char * 128)]

    def __init__(self, loop):
        self.loop, self.nccl, self.comm, self.entered = loop, ctypes.CDLL("libnccl.so.2"), ctypes.c_void_p(), []
        self.waited = []
        name = self.Id()
        self.nccl.ncclGetUniqueId(ctypes.byref(name))
        self.nccl.ncclCommInitRank(ctypes.byref(self.comm), loop.args.ranks, name, loop.args.rank)
        self.nccl.ncclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                                            ctypes.c_void_p]

    def meet(self):
        self.entered.append(time.monotonic_ns())
        self.loop.errors += self.nccl.ncclAllReduce(self.loop.weights, self.loop.weights, 1 << 18, 7, 0, self.comm, self.loop.stream) != 0

    def waits(self, before, after):
        """For the others and the device, less what it waited for its CPU then."""
        wall, cpu, delay = (b - a for a, b in zip(before, after))
        self.waited.append(wall - cpu - delay)

    def go_on(self, steps):
        """Whether all ranks do: each takes as many steps as the others."""
        return steps < self.loop.args.steps


class Beside:
    """What the device had to do for others meanwhile, by its own account: steps as they are without that, and with it."""

    def __init__(self):
        self.put_off = ctypes.CDLL("libcuda.so.1").double_put_off
        self.put_off.restype = ctypes.c_uint64
        self.alone, self.beside = [], []

    def step(self, loop):
        before, off = loop.thread.read(), self.put_off()
        loop.step()
        wall, _, delay = (b - a for a, b in zip(before, loop.thread.read()))
        (self.beside if self.put_off() > off else self.alone).append(wall - delay)

    def truth(self):
        usual = sum(self.alone) / len(self.alone) if self.alone else 0
        return {"beside_ns": int(sum(self.beside) - usual * len(self.beside)), "beside": len(self.beside), "alone": len(self.alone)}


class Hung(Nothing):
    """After so many steps the device never finishes a kernel, and the thread waits for it. The truth is told before."""
    portion = None

    def in_step(self):
        loop, c, event = self.loop, self.loop.c, ctypes.c_void_p()
        loop.steps += 1
        if loop.steps < loop.args.steps:
            return
        c.cudaLaunchKernel(*loop.forward)
        if loop.args.hang == "event":
            c.cudaEventCreate(event)
            c.cudaEventRecord(event, loop.stream)
        loop.report(self)
        if loop.args.hang == "event":
            c.cudaEventSynchronize(event)  # line: hung-event
        elif loop.args.hang == "device":
            c.cudaDeviceSynchronize()  # line: hung-device
        else:
            c.cudaStreamSynchronize(loop.stream)  # line: hung-stream


PLANTS = {c.__name__.lower(): c for c in (Nothing, Sleep, Compute, Read, Fsync, Socket, Remote, Worker, Suspended, Child, Lock, Gil, Churn, Leak, Launches,
                                          Syncs, Reclaim, Hung)}


class Loop:
    def __init__(self, args):
        self.args, self.random = args, random.Random(args.seed)
        self.thread, self.delays = accounts.Thread(), accounts.Delays(threading.get_native_id())
        self.elsewhere = os.sched_getaffinity(0)
        if args.cpu is not None:
            os.sched_setaffinity(0, {args.cpu})
            self.elsewhere = self.elsewhere - {args.cpu} or {args.cpu}
        self.c, self.errors = cuda.Cuda("libcudart.so.13"), 0
        self.planted = [0, 0, 0]  # wall, CPU and run delay of what was planted
        self.portions, self.gap, self.idle, self.idle_since = 0, 0, 0, None
        self.size = 256 << 10
        self.forward_kernel, self.backward_kernel = ctypes.c_char(), ctypes.c_char()
        self.weights, self.batch, self.loss = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.pinned, self.stream, self.host_loss = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        for p, size in ((self.weights, 64 << 20), (self.batch, self.size), (self.loss, 256)):
            self.errors += self.c.cudaMalloc(p, size) != 0
        self.errors += self.c.cudaMallocHost(self.pinned, self.size) != 0
        self.errors += self.c.cudaStreamCreate(self.stream) != 0
        self.ranks = Ranks(self) if args.ranks > 1 else None
        self.beside = Beside() if args.shared else None
        self.forward, self.backward = ((ctypes.addressof(k), cuda.Dim3(128, 1, 1), cuda.Dim3(256, 1, 1), None, 0, self.stream)
                                       for k in (self.forward_kernel, self.backward_kernel))

    def prepare_batch(self):
        cuda.burn(self.args.step_us * 1000)

    def step(self):
        c = self.c
        self.errors += c.cudaMemcpyAsync(self.batch, self.pinned, self.size, 1, self.stream) != 0  # line: copy
        if self.idle_since:
            self.idles(self.thread.read())
        for _ in range(self.args.launches // 2):
            self.errors += c.cudaLaunchKernel(*self.forward) != 0
        for _ in range(self.args.launches // 2):
            self.errors += c.cudaLaunchKernel(*self.backward) != 0
        if self.ranks:
            self.ranks.meet()
        self.prepare_batch()  # the next one, while the device works
        self.errors += c.cudaMemcpyAsync(ctypes.byref(self.host_loss), self.loss, 4, 2, self.stream) != 0
        before = self.thread.read() if self.ranks else None
        self.errors += c.cudaStreamSynchronize(self.stream) != 0  # line: wait
        self.idle_since = self.thread.read()
        if before:
            self.ranks.waits(before, self.idle_since)

    def idles(self, now):
        """The device had nothing to do since then: what of it was this thread's own code, and what was not."""
        wall, cpu, _ = (b - a for a, b in zip(self.idle_since, now))
        self.gap += wall
        if cpu >= MS // 10:  # to launch anything takes a little of its own
            self.idle += cpu
        self.idle_since = None

    def owed(self):
        """What should have been planted by now, ns."""
        return (time.monotonic_ns() - self.begin[0]) * self.args.dose // 100

    def delayed(self, kind):
        return self.delays.read()[kind] - self.delayed_before[kind]

    def plant(self, p):
        p.in_step()
        if not self.args.dose or not p.portion:
            return
        while True:
            ns = self.random.randint(*p.portion)
            if self.planted[0] + ns > self.owed():
                return
            before = self.thread.read()
            p.take(ns)
            self.planted = [x + b - a for x, a, b in zip(self.planted, before, self.thread.read())]
            self.portions += 1

    def run(self):
        plant = PLANTS[self.args.plant](self)
        steps = self.steps = 0
        if self.ranks:
            self.step()  # they begin together
        self.begin, self.delayed_before = self.thread.read(), self.delays.read()
        while self.ranks.go_on(steps) if self.ranks else time.monotonic_ns() - self.begin[0] < self.args.seconds * 1e9:
            self.beside.step(self) if self.beside else self.step()
            self.plant(plant)
            steps += 1
        self.steps = steps
        self.report(plant)

    def report(self, plant):
        """Writes the truth."""
        end, delays, all_delay = self.thread.read(), self.delays.read(), accounts.process_delay()
        plant.end()
        wall, cpu, delay = (b - a for a, b in zip(self.begin, end))
        line = {"workload": "loop.py", "pid": os.getpid(), "tid": threading.get_native_id(), "plant": self.args.plant,
                "dose": self.args.dose, "steps": self.steps, "errors": self.errors, "begin_ns": self.begin[0], "wall_ns": wall,
                "cpu_ns": cpu, "run_delay_ns": delay, "life_run_delay_ns": end[2], "process_run_delay_ns": all_delay, "blocked_ns": max(0, wall - cpu - delay),
                "planted_ns": self.planted[0], "planted_cpu_ns": self.planted[1],
                "planted_blocked_ns": max(0, self.planted[0] - self.planted[1] - self.planted[2]), "portions": self.portions,
                "gap_ns": self.gap, "gap_cpu_ns": self.idle,
                "delays_ns": {k: delays[k] - self.delayed_before[k] for k in delays}, "life_delays_ns": delays,
                "lines": LINES, **plant.truth(), **(self.beside.truth() if self.beside else {}),
                **({"rank": self.args.rank, "entered_ns": self.ranks.entered, "waited_ns": self.ranks.waited} if self.ranks else {})}
        text = json.dumps(line, separators=(",", ":")) + "\n"
        with open(self.args.truth, "a") if self.args.truth else os.fdopen(1, "w") as f:
            f.write(text)


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--plant", choices=sorted(PLANTS), default="nothing")
    p.add_argument("--dose", type=int, default=0, help="per cent of wall time")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--cpu", type=int)
    p.add_argument("--step-us", type=int, default=2000, help="CPU time of the host's work in a step")
    p.add_argument("--device-us", type=int, default=4000, help="device time of a step's kernels")
    p.add_argument("--launches", type=int, default=8)
    p.add_argument("--file", help="file or device to read or write")
    p.add_argument("--cached", action="store_true", help="read what is in memory, write without waiting")
    p.add_argument("--port", type=int)
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--shared", action="store_true", help="others use the device, too")
    p.add_argument("--rank", type=int, default=0, help="of --ranks, which take --steps each")
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument("--steps", type=int, default=0)
    p.add_argument("--hang", choices=("stream", "device", "event"), default="stream", help="what is waited for, of plant hung, after --steps")
    p.add_argument("--comm", help="command name to take")
    p.add_argument("--truth", help="file for the truth [standard output]")
    return p.parse_args()


def main():
    args = arguments()
    if args.comm:
        ctypes.CDLL(None).prctl(15, args.comm.encode(), 0, 0, 0)
    if args.launches and args.device_us:
        os.environ.setdefault("DOUBLE_LAUNCH_NS", str(args.device_us * 1000 // args.launches))
    if args.plant == "hung":
        os.environ["DOUBLE_NEVER_AFTER"] = str(args.steps * args.launches)
    Loop(args).run()


if __name__ == "__main__":
    main()
