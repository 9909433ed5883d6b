# SPDX-License-Identifier: Apache-2.0
"""How each cause is planted around a workload, and what is known of it afterwards.

A plant is a function of a Run and of the words behind its name in scenarios.txt. It sets the command that is recorded,
keeps what has to be taken down in run.stack, and leaves in run.facts what the culprit is called."""
import contextlib
import glob
import json
import mmap
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import accounts

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
DOUBLE = os.path.join(BUILD, "double")
LOOP = os.path.join(HERE, "loop.py")


# What a scenario is about goes before whatever else this machine does: to each other its processes are as they would be
# on a machine of their own.
FIRST = ["nice", "-n", "-19"] if os.geteuid() == 0 else []
# Entering a cgroup is done by whoever starts a process, before the process begins.
ENTER = ["sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"']


def first():
    """Where every session has its share of the CPUs, ours gets the most that one may have: in a session of its own, which the
    caller waits for. Ends the calling process; its child goes on."""
    path = "/proc/self/autogroup"
    if not FIRST or not os.path.exists(path):
        return
    pid = os.fork()
    if pid == 0:
        os.setsid()
        with contextlib.suppress(OSError):
            write(path, -19)
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(pid, number))
    while True:
        with contextlib.suppress(InterruptedError):
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xff)


class Cannot(Exception):
    """This machine cannot be given that trouble."""


class Run:
    """One scenario at one dose with one seed."""

    def __init__(self, row, dose, seed, seconds, folder):
        self.row, self.dose, self.seed, self.seconds, self.folder = row, dose, seed, seconds, folder
        self.random = random.Random(f"{row.name} {dose} {seed}")
        cpus = sorted(os.sched_getaffinity(0))
        self.cpu, self.other = cpus[0], cpus[-1] if len(cpus) > 1 else None
        self.stack = contextlib.ExitStack()
        self.facts, self.env, self.options, self.before_end = {}, {}, [], None
        self.victim_pid, self.truths, self.duration = 0, [], None
        self.ige, self.truth_file, self.log = (os.path.join(folder, n) for n in ("run.ige", "run.truth", "run.log"))
        self.group_name = f"ingero-score-{os.getpid()}"

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("DOUBLE_", "SUDO_", "INGERO_"))} | {"INGERO_CONFIG": ""}
        env.update(LD_LIBRARY_PATH=DOUBLE, PYTHONDONTWRITEBYTECODE="1", DOUBLE_LOG=self.log, **{k: str(v) for k, v in self.env.items()})
        return env

    def loop(self, *arguments, dose=None, plant="nothing", group=None):
        self.command = [*FIRST, *([*ENTER, group] if group else []), *self.looping(self.cpu, plant, self.dose if dose is None else dose, *arguments)]

    def looping(self, cpu, plant, dose, *arguments):
        return [sys.executable, LOOP, "--cpu", cpu, "--seconds", self.seconds, "--seed", self.seed, "--plant", plant, "--dose", dose,
                "--truth", self.truth_file, *arguments]

    def several(self, *commands):
        """Records them together; each is (command, environment), or with True behind it one that goes on beside."""
        with open(self.path("several"), "w") as f:
            json.dump([{"command": list(map(str, c)), "env": {k: str(v) for k, v in env.items()}, "beside": bool(beside)}
                       for c, env, *beside in commands], f)
        self.command = [*FIRST, sys.executable, os.path.join(HERE, "several.py"), self.path("several"), self.truth_file]

    def spawn(self, *command, **more):
        """A process beside, ended with the run; its standard output is a pipe."""
        p = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=self.environment(), **more)
        self.stack.callback(end, p)
        return p

    def hog(self, cpu, duty, comm, period_ms=None, **more):
        period_ms = period_ms or self.random.choice((10, 17, 25, 40))
        return self.spawn(*(FIRST if cpu == self.cpu else []), os.path.join(DOUBLE, "hog"), "--cpu", cpu, "--duty", duty, "--period-ms", period_ms, "--seconds", 0, "--comm", comm, **more)

    def two_cpus(self):
        if self.other is None:
            raise Cannot("one CPU only")

    def path(self, name):
        return os.path.join(self.folder, name)

    def cgroup(self, controller):
        """A folder of its own under that controller, and its version."""
        root, version = accounts.cgroup_root(controller)
        if not root:
            raise Cannot(f"no {controller} controller that may be used")
        if version == 2:
            with contextlib.suppress(OSError), open(root + "/cgroup.subtree_control", "w") as f:
                f.write("+" + ("io" if controller == "blkio" else controller))
        folder = os.path.join(root, self.group_name)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as e:
            raise Cannot(f"no right to make a cgroup: {e}")
        self.stack.callback(remove_group, folder)
        return folder, version

    def scratch_file(self, name, mb):
        """Random bytes on the disk that holds the build, dropped from memory."""
        path = self.path(name)
        block = os.urandom(1 << 20)
        with open(path, "wb") as f:
            for _ in range(mb):
                f.write(block)
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.stack.callback(os.unlink, path)
        return path

    def loop_device(self, mb):
        if not shutil.which("losetup"):
            raise Cannot("no losetup")
        path = self.scratch_file("disk", mb)
        p = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", path], capture_output=True, text=True)
        if p.returncode:
            p = subprocess.run(["losetup", "--find", "--show", path], capture_output=True, text=True)
        if p.returncode:
            raise Cannot("no loop device: " + p.stderr.strip())
        device = p.stdout.strip()
        self.stack.callback(subprocess.run, ["losetup", "-d", device], capture_output=True)
        number = os.stat(device).st_rdev
        self.facts["device"] = f"{os.major(number)}:{os.minor(number)}"
        return device


def end(p):
    """Ends it; it stays as p.truth what it said."""
    if p.poll() is None:
        p.send_signal(signal.SIGTERM)
    try:
        out, _ = p.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        p.kill()
        out, _ = p.communicate()
    lines = [line for line in (out or "").splitlines() if line.startswith("{")]
    p.truth = json.loads(lines[-1]) if lines else {}


def remove_group(folder):
    for _ in range(50):
        try:
            os.rmdir(folder)
            return
        except OSError:
            time.sleep(0.02)


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


# ---- plants ---------------------------------------------------------------------------------------------------------------------

def loop(run, plant, *arguments):
    """Trouble that the loop makes itself, of which loop.py has a class."""
    run.loop(*arguments, plant=plant)


def unsampled(run, plant):
    """The same without CPU samples: its own code is told by the calls around it."""
    run.options += ["-F", "0"]
    run.loop(plant=plant)


def hog(run, where):
    """Somebody who takes the dose of the loop's CPU, or of the other one."""
    run.two_cpus()
    if run.dose:
        p = run.hog(run.cpu if where == "same" else run.other, run.dose, "thief")
        run.facts["hog"] = p.pid
        if where == "other":  # whatever the kernel says of the loop's waits: this one takes none of its CPU
            run.facts["bystander"] = p.pid
        run.hog_process = p
    # Calls and steps that take CPU time: what is taken from them can be seen in them.
    run.loop("--step-us", 1500, "--device-us", 2500, dose=0)
    run.env["DOUBLE_CALL_NS"] = 60000


def train(run, where):
    """The same beside the loop in C."""
    run.two_cpus()
    if run.dose:
        p = run.hog(run.cpu if where == "same" else run.other, run.dose, "thief")
        run.facts["hog"] = p.pid
        run.hog_process = p
    run.command = [*FIRST, os.path.join(DOUBLE, "train"), "--cpu", run.cpu, "--seconds", int(run.seconds), "--step-us", 1500,
                   "--call-us", 80, "--device-us", 2500, "--truth", run.truth_file]


def quota(run):
    """A CPU quota that leaves the loop too little: it would take half of a CPU, and is given so much less that the dose is lost."""
    folder, version = run.cgroup("cpu")
    period = 100000
    # Busy for a share b of the time that it is let run; of the wall time the dose d is lost: it runs b (1 - d).
    busy, share = 0.6, None
    if run.dose:
        share = int(period * busy * (1 - run.dose / 100))
    if version == 1:
        write(folder + "/cpu.shares", 262144)
        write(folder + "/cpu.cfs_period_us", period)
        write(folder + "/cpu.cfs_quota_us", share or -1)
    else:
        write(folder + "/cpu.weight", 10000)
        write(folder + "/cpu.max", f"{share or 'max'} {period}")
    run.facts["group"] = "/" + run.group_name
    run.loop("--step-us", 3000, "--device-us", 5000, dose=0, group=folder)
    run.before_end = lambda: run.facts.update(throttled_ns=throttled(folder))


def throttled(folder):
    with open(folder + "/cpu.stat") as f:
        stat = dict(line.split() for line in f)
    return int(stat.get("throttled_time", 0)) or int(stat.get("throttled_usec", 0)) * 1000


def slow_disk(run, how="read"):
    """A loop device that the kernel lets read so and so fast."""
    device = run.loop_device(64)
    folder, version = run.cgroup("blkio")
    rate = run.random.choice((8, 12, 16)) << 20
    if version == 1:
        write(f"{folder}/blkio.throttle.{how}_bps_device", f"{run.facts['device']} {rate}")
    else:
        write(folder + "/io.max", f"{run.facts['device']} {how[0]}bps={rate}")
    run.loop("--file", device, plant="read", group=folder)


def cached(run):
    """The same file read over and over from memory: reads, and no disk."""
    run.loop("--file", run.scratch_file("file", 16), "--cached", plant="read")


def fsync(run, *words):
    run.loop("--file", run.path("checkpoint"), *(["--cached"] if "cached" in words else []), plant="fsync")
    run.stack.callback(lambda: os.path.exists(run.path("checkpoint")) and os.unlink(run.path("checkpoint")))
    number = os.stat(run.folder).st_dev
    run.facts["device"] = f"{os.major(number)}:{os.minor(number)}"


def disk_beside(run):
    """Somebody else keeps a disk busy that the loop does not use."""
    device = run.loop_device(64)
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    stop = threading.Event()

    def read():
        room, at = mmap.mmap(-1, 65536), 0
        while not stop.is_set():
            os.preadv(fd, [room], at % (63 << 20))
            at += 65536
            stop.wait(0.002)
    t = threading.Thread(target=read)
    run.stack.callback(lambda: (stop.set(), t.join(), os.close(fd)))
    t.start()
    run.loop(dose=0)


def holder(run):
    """A thread that holds a mutex which the launching thread wants."""
    run.two_cpus()
    run.loop(plant="lock")


def sleeper_beside(run):
    """The same sleep, while the device works: nothing is lost by it."""
    run.loop("--step-us", 200, "--device-us", 6000, dose=0)


def server(run, *words):
    """A server that takes its time over every answer."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    run.facts["port"] = listener.getsockname()[1]
    pid = os.fork()
    if pid == 0:
        try:
            if run.other is not None:
                os.sched_setaffinity(0, {run.other})
            s = listener.accept()[0]
            f = s.makefile("rb")
            for line in f:
                time.sleep(int(line) / 1e9)
                s.sendall(b"x")
        finally:
            os._exit(0)
    listener.close()

    def stop():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    run.stack.callback(stop)
    run.loop("--port", run.facts["port"], plant="socket")


SERVER = r"""
import socket, sys
listener = socket.socket()
listener.bind((sys.argv[1], 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
s = listener.accept()[0]
for line in s.makefile("rb"):
    s.sendall(b"x")
"""


def node(run, number):
    """Another node: a network namespace with a link to this one. Its name, the address there, and its end of the link."""
    name, here, there = f"{run.group_name}-{number}", f"isc{os.getpid() % 100000}h{number}", f"isc{os.getpid() % 100000}t{number}"
    net = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
    for command in (["ip", "netns", "add", name], ["ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", name],
                    ["ip", "addr", "add", f"{net}.{4 * number + 1}/30", "dev", here], ["ip", "link", "set", here, "up"],
                    ["ip", "-n", name, "addr", "add", f"{net}.{4 * number + 2}/30", "dev", there], ["ip", "-n", name, "link", "set", there, "up"],
                    # What was lost is sent again after 20 ms, as in a network of a data center, and not after 200.
                    ["ip", "route", "replace", f"{net}.{4 * number}/30", "dev", here, "rto_min", "20ms"]):
        if not shutil.which(command[0]):
            raise Cannot(f"no {command[0]}")
        p = subprocess.run(command, capture_output=True, text=True)
        if command[2] == "add" and command[1] == "netns" and p.returncode == 0:
            run.stack.callback(subprocess.run, ["ip", "netns", "del", name], capture_output=True)
        if command[2] == "add" and command[1] == "link" and p.returncode == 0:
            run.stack.callback(subprocess.run, ["ip", "link", "del", here], capture_output=True)
        if p.returncode:
            raise Cannot(f"no network of its own: {p.stderr.strip()}")
    return name, f"{net}.{4 * number + 2}", there


def lossy(run, *words):
    """A server on another node; what arrives there is lost now and then, or (slow) nothing is and the server takes its time."""
    if not shutil.which("clang") or not shutil.which("tc"):
        raise Cannot("no clang or no tc")
    name, address, device = node(run, 1)
    inside = ["ip", "netns", "exec", name]
    if "whole" not in words:
        program = run.path("drop.o")
        for command in (["clang", "-O2", "-g", "-target", "bpf", "-c", os.path.join(HERE, "drop.c"), "-o", program],
                        [*inside, "tc", "qdisc", "add", "dev", device, "clsact"],
                        [*inside, "tc", "filter", "add", "dev", device, "ingress", "bpf", "direct-action", "obj", program, "sec", "classifier"]):
            p = subprocess.run(command, capture_output=True, text=True)
            if p.returncode:
                raise Cannot(f"no loss can be planted: {p.stderr.strip()[-200:]}")
    p = run.spawn(*inside, *(["taskset", "-c", run.other] if run.other is not None else []), sys.executable, "-c", SERVER, address)
    run.facts["port"] = int(p.stdout.readline())
    if 0 < run.dose < 20:
        run.seconds = 16  # a loss takes 20 to 80 ms, and a few are none
    run.loop("--host", address, "--port", run.facts["port"], plant="remote")


def gil(run):
    run.two_cpus()
    run.loop("--device-us", 0, "--step-us", 1000, plant="gil")


def churn(run):
    run.env.update(DOUBLE_NS_cudaMalloc=run.random.choice((150000, 250000)), DOUBLE_NS_cudaFree=100000)
    run.loop(plant="churn")


def leak(run):
    """Long enough for memory to show where it is going."""
    run.seconds = 12
    run.loop(plant="leak")


def storm(run, plant):
    """Kernels of a few microseconds, in a loop whose device is busy with copies otherwise."""
    run.env.update(DOUBLE_LAUNCH_NS=3000, DOUBLE_COPY_NS_PER_KB=15000)
    run.loop("--launches", 0, plant=plant)


def failing(run, name, code):
    """So many in a hundred calls of that function fail."""
    if run.dose:
        run.env["DOUBLE_FAIL"] = f"{name}:{code}:every={max(2, 100 // run.dose)}:after=20"
    run.loop(dose=0)


def hung(run, where):
    """A call that does not return; the recorder is stopped instead."""
    run.loop("--hang", where, "--steps", 100 + run.random.randrange(300), plant="hung", dose=0)
    run.duration = 8


def memory_limit(run):
    """Reads a file that is larger than its cgroup may hold."""
    folder, version = run.cgroup("memory")
    limit = 64 << 20
    write(folder + ("/memory.limit_in_bytes" if version == 1 else "/memory.max"), limit if run.dose else 1 << 33)
    path = run.path("sparse")
    with open(path, "wb") as f:
        f.truncate(256 << 20)
    run.stack.callback(os.unlink, path)
    run.facts["group"] = "/" + run.group_name
    run.loop("--file", path, plant="reclaim", group=folder)


def shared(run, *words):
    """Another process gives the device work for the dose of the time; or another device, or one that does both at once."""
    run.two_cpus()
    period = run.random.choice((40, 60, 90)) * 1000
    busy = period * run.dose // 100
    machine = {"DOUBLE_SHARED": run.path("machine"), "DOUBLE_DEVICES": 2}
    other = {**machine, "CUDA_VISIBLE_DEVICES": "1"} if "apart" in words else machine
    if "both" in words:  # at once, as instances of MIG are
        machine, other = ({k: v for k, v in env.items() if k != "DOUBLE_SHARED"} for env in (machine, other))
    run.several((run.looping(run.cpu, "nothing", 0, *(["--shared"] if "both" not in words else [])), machine),
                *([([os.path.join(DOUBLE, "sleeper"), "--cpu", run.other, "--rounds", 1000000, "--sleep-us", period - busy],
                    {**other, "DOUBLE_LAUNCH_NS": busy * 1000}, True)] if run.dose else []))
    run.facts["asleep"] = "sleeper"


def ranks(run, *words):
    """Two ranks that meet in every step. One of them takes its time before it does, or works while the devices do."""
    run.two_cpus()
    late = run.random.randrange(2)
    step_ms = 4.6 / (1 - run.dose / 100) if words[0] != "busy" else 4.6
    machine = {"DOUBLE_SHARED": run.path("machine"), "DOUBLE_DEVICES": 2}
    each = ["--ranks", 2, "--steps", int(run.seconds * 1000 / step_ms)]
    plants = [words[0] if rank == late and words[0] != "busy" else "nothing" for rank in range(2)]
    run.several(*((run.looping(cpu, plant, run.dose if plant != "nothing" else 0, "--rank", rank, "--step-us",
                               3000 if words[0] == "busy" and rank == late else 500, *each),
                   {**machine, "CUDA_VISIBLE_DEVICES": rank})
                  for rank, (cpu, plant) in enumerate(zip((run.cpu, run.other), plants))))
    run.facts["rank"] = late


NEIGHBOUR = r"""
import os, subprocess, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    subprocess.run(["/bin/true"])
"""


def load(run):
    """A machine that is busy elsewhere: three fifths of the other CPU, and processes that come and go there."""
    # In a session of their own: with the share of ours, which comes and goes with the victim's turns, their processes
    # would keep the kernel's own threads from that CPU for minutes, and nothing that waits for those would go on.
    run.two_cpus()
    run.hog(run.other, 50, "neighbour", 23, start_new_session=True)
    return run.spawn(sys.executable, "-c", NEIGHBOUR, run.other, start_new_session=True)


TABLE = {f.__name__: f for f in (loop, unsampled, hog, train, quota, slow_disk, cached, fsync, disk_beside, holder, sleeper_beside, server, lossy, gil, churn, leak, storm,
                                 failing, hung, memory_limit, shared, ranks)}
