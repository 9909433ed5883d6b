# SPDX-License-Identifier: Apache-2.0
"""What the kernel itself says of a thread and of the machine: the truth that verdicts are held against."""
import contextlib
import glob
import os
import re
import socket
import struct
import time

GENL_ID_CTRL, CTRL_GETFAMILY, FAMILY_ID, FAMILY_NAME = 16, 3, 1, 2
TASKSTATS_GET, TASKSTATS_PID, TASKSTATS_AGGR_PID, TASKSTATS_STATS = 1, 1, 4, 3
# Where linux/taskstats.h has them: times that a task was delayed by, ns.
DELAYS = {"cpu": 24, "blkio": 40, "swapin": 56, "freepages": 320, "thrashing": 336, "compact": 360}


def attributes(data):
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("HH", data, at)
        if length < 4:
            return
        yield kind & 0x3fff, data[at + 4:at + length]
        at += (length + 3) & ~3


class Delays:
    """Delay accounting of one task, where sysctl kernel.task_delayacct was set before the task began; else nothing."""

    def __init__(self, tid):
        self.tid, self.family = tid, 0
        try:
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
            self.sock.settimeout(2)
            for kind, value in self.ask(GENL_ID_CTRL, CTRL_GETFAMILY, FAMILY_NAME, b"TASKSTATS\0"):
                if kind == FAMILY_ID:
                    self.family = struct.unpack("H", value[:2])[0]
        except OSError:
            pass

    def ask(self, family, command, kind, value):
        pad = (4 - len(value) % 4) % 4
        body = struct.pack("BBH", command, 1, 0) + struct.pack("HH", 4 + len(value), kind) + value + b"\0" * pad
        self.sock.send(struct.pack("IHHII", 16 + len(body), family, 1, 1, 0) + body)
        answer = self.sock.recv(65536)
        if struct.unpack_from("H", answer, 4)[0] == 2:
            raise OSError("refused")
        return list(attributes(answer[20:]))

    def read(self):
        if not self.family:
            return dict.fromkeys(DELAYS, 0)
        try:
            for kind, value in self.ask(self.family, TASKSTATS_GET, TASKSTATS_PID, struct.pack("I", self.tid)):
                if kind == TASKSTATS_AGGR_PID:
                    stats = dict(attributes(value))[TASKSTATS_STATS]
                    return {k: struct.unpack_from("Q", stats, at)[0] if at + 8 <= len(stats) else 0 for k, at in DELAYS.items()}
        except (OSError, KeyError):
            pass
        return dict.fromkeys(DELAYS, 0)


class Thread:
    """The calling thread's time: wall, on a CPU, and runnable without one (schedstat)."""

    def __init__(self):
        self.fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

    def read(self):
        return time.monotonic_ns(), time.thread_time_ns(), int(os.pread(self.fd, 96, 0).split()[1])


def blocked(before, after):
    """Neither on a CPU nor waiting for one."""
    wall, cpu, delay = (b - a for a, b in zip(before, after))
    return max(0, wall - cpu - delay)


def process_delay():
    """Run delay of all threads that the calling process has, ns."""
    total = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path) as f:
            total += int(f.read().split()[1])
    return total


def life_delay(pid):
    """Run delay of a process of one thread since it was born, ns."""
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[1])


def cpu_used():
    """CPU time of all tasks by CPU, ns, or None where the kernel does not count it to the nanosecond."""
    for path in ("/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu", "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu"):
        try:
            with open(path) as f:
                return list(map(int, f.read().split()))
        except OSError:
            pass
    return None


def cpu_busy():
    """The same as counted by ticks, where there is nothing better."""
    exact = cpu_used()
    if exact:
        return exact
    tick = 1000000000 // os.sysconf("SC_CLK_TCK")
    with open("/proc/stat") as f:
        rows = [line.split() for line in f if line.startswith("cpu") and line[3].isdigit()]
    return [sum(int(v) for i, v in enumerate(r[1:9]) if i not in (3, 4)) * tick for r in rows]


def cpu_of_no_task():
    """What interrupts and the hypervisor took of each CPU, ns: tasks that ran have it neither as CPU time nor as run delay."""
    tick = 1000000000 // os.sysconf("SC_CLK_TCK")
    with open("/proc/stat") as f:
        rows = [line.split() for line in f if line.startswith("cpu") and line[3].isdigit()]
    return [sum(map(int, r[6:9])) * tick for r in rows]


def cgroup_root(controller):
    """Where a hierarchy with that controller is mounted, and which version: (path, 1 or 2), or (None, 0)."""
    second = None
    with open("/proc/self/mounts") as f:
        for line in f:
            _, path, kind, options = line.split()[:4]
            if kind == "cgroup" and controller in options.split(","):
                return path, 1
            if kind == "cgroup2":
                second = path
    if second:
        try:
            with open(second + "/cgroup.controllers") as f:
                if ("io" if controller == "blkio" else controller) in f.read().split():
                    return second, 2
        except OSError:
            pass
    return None, 0


class Switches:
    """The kernel's own trace of who ran on a CPU, and of how long a thread of it that could have run had to wait for whom."""
    top = "/sys/kernel/tracing/instances"

    def __init__(self, cpu):
        self.folder = f"{self.top}/ingero-score-{os.getpid()}"
        os.mkdir(self.folder)
        for name, value in (("buffer_size_kb", "32768"), ("trace_clock", "mono"), ("tracing_cpumask", f"{1 << cpu:x}"),
                            ("options/record-cmd", "0"), ("events/sched/sched_switch/enable", "1")):
            self.put(name, value)
        # A wake-up is traced where the waker runs.
        self.cpu = cpu
        self.put("tracing_cpumask", "f" * 16 if os.cpu_count() > 60 else f"{(1 << os.cpu_count()) - 1:x}")
        self.put("events/sched/sched_wakeup/enable", "1")

    def put(self, name, value):
        with contextlib.suppress(OSError), open(f"{self.folder}/{name}", "w") as f:
            f.write(value)

    def stop(self):
        self.put("tracing_on", "0")

    def close(self):
        self.stop()
        os.rmdir(self.folder)

    def waits(self, tid, begin_ns=0, end_ns=1 << 63):
        """{pid: ns it ran on the CPU while the thread was ready to run there}, of what was not overwritten meanwhile."""
        taken, ready_since, running, since = {}, None, None, 0
        want = f"{tid} "
        with open(self.folder + "/trace") as f:
            for line in f:
                if line[0] == "#":
                    continue
                at = line.index("[")
                if (m := self.form.match(line, at)) is None:
                    continue
                ns = int(m[2]) * 1000000000 + int(m[3].ljust(9, "0"))
                here = int(m[1]) == self.cpu
                if m[4] == "sched_wakeup":
                    if f" pid={want}" in line and f"target_cpu={self.cpu:03d}" in line and ready_since is None and running != tid:
                        ready_since = ns
                    continue
                if not here:
                    continue
                if ready_since is not None and running not in (None, tid):
                    a, b = max(ready_since, since, begin_ns), min(ns, end_ns)
                    if b > a:
                        taken[running] = taken.get(running, 0) + b - a
                s = self.switch.search(line)
                before, state, after = int(s[1]), s[2], int(s[3])
                if before == tid:
                    ready_since = ns if state.startswith("R") else None
                if after == tid:
                    ready_since = None
                running, since = after, ns
        return taken

    form = re.compile(r"\[(\d+)\] .*?(\d+)\.(\d+): (\w+):")
    switch = re.compile(r"prev_pid=(\d+) .*prev_state=(\S+) .*next_pid=(\d+)")


def switches(cpu):
    """None where the kernel shows no trace."""
    try:
        return Switches(cpu)
    except OSError:
        return None
