# SPDX-License-Identifier: Apache-2.0
"""One running program with a tool and without it, by turns: what the tool costs it, by the program's own clocks.

A turn is a window without, two with the tool, and another without: each pair of neighbours is a figure, and a machine that becomes
slower or faster meanwhile counts once for and once against. A window is what lies between the moments of attaching and detaching,
which are looked at on their own.
"""
import time

import pairs
import tools

SETTLE = 1.0  # seconds around attaching and detaching that are in no window


class Progress:
    """The units of work that a program writes into a file, a line each."""

    def __init__(self, path):
        self.path, self.at, self.units = path, 0, []

    def read(self):
        try:
            with open(self.path, "rb") as f:
                f.seek(self.at)
                data = f.read()
        except FileNotFoundError:
            data = b""
        whole = data[:data.rfind(b"\n") + 1]
        self.at += len(whole)
        self.units += [tuple(map(int, line.split())) for line in whole.splitlines()]
        return self.units


class Window:
    """What the program did in that time, and what a tool's own process used."""

    def __init__(self, program, seconds, tool_pid=None):
        cpu = tools.cpu_ns(tool_pid) if tool_pid else 0
        self.from_ns = time.monotonic_ns()
        time.sleep(seconds)
        self.to_ns = time.monotonic_ns()
        self.tool_cpu = (tools.cpu_ns(tool_pid) - cpu) / (self.to_ns - self.from_ns) if tool_pid else None
        self.units = pairs.units_within(program.progress.read(), self.from_ns, self.to_ns)

    def cpu_share(self):
        """CPU time of its units for each second of the clock."""
        return sum(u[pairs.CPU] for u in self.units) / (self.to_ns - self.from_ns)


class Result:
    """What the turns have shown: lists with a value for each pair, each window with the tool, or each turn."""

    def __init__(self):
        self.lost_wall, self.lost_cpu, self.of_wall, self.worst_second = [], [], [], []
        self.rate_without, self.rate_with, self.tool_cpu, self.said = [], [], [], []
        self.attach_worst_ns, self.detach_worst_ns, self.unit_worst_ns = [], [], []

    def add_pair(self, with_tool, without):
        lost = pairs.lost_share(with_tool.units, without.units, pairs.CPU)
        self.lost_wall.append(pairs.lost_share(with_tool.units, without.units, pairs.WALL))
        self.lost_cpu.append(lost)
        self.of_wall.append(None if lost is None else lost * with_tool.cpu_share())
        self.worst_second.append(pairs.worst_second(with_tool.units, without.units, pairs.CPU))
        self.tool_cpu.append(with_tool.tool_cpu)
        for rates, window in (self.rate_with, with_tool), (self.rate_without, without):
            rates.append(len(window.units) * pairs.SECOND / (window.to_ns - window.from_ns))


def longest(program, from_ns, to_ns):
    """The longest unit that lay in that time with some part of it, in ns."""
    return max((u[pairs.WALL] for u in program.progress.read() if u[0] >= from_ns and u[0] - u[pairs.WALL] <= to_ns), default=0)


def settle():
    time.sleep(SETTLE)
    return time.monotonic_ns()


def turn(program, tool, seconds, result):
    before = Window(program, seconds)
    began = time.monotonic_ns()
    running = tool.start(program)
    attached = settle()
    first, second = Window(program, seconds, running.pid), Window(program, seconds, running.pid)
    ended = time.monotonic_ns()
    said = running.stop()
    detached = settle()
    after = Window(program, seconds)
    result.said.append(said)
    result.add_pair(first, before)
    result.add_pair(second, after)
    result.attach_worst_ns.append(longest(program, began, attached))
    result.detach_worst_ns.append(longest(program, ended, detached))
    result.unit_worst_ns += [longest(program, w.from_ns, w.to_ns) for w in (before, after)]


def alternate(program, tool, turns, seconds):
    """Raises tools.Refused where the tool does not attach."""
    result = Result()
    for _ in range(turns):
        turn(program, tool, seconds, result)
    return result
