# SPDX-License-Identifier: Apache-2.0
"""One running program with a tool and without it, by turns: what the tool costs it, by the program's own clocks.

A turn is a window without, and for each tool two windows with it and another without: each pair of neighbours is a figure, and a
machine that becomes slower or faster meanwhile counts once for and once against. A window is what lies between the moments of
attaching and detaching, which are looked at on their own.
"""
import time

import pairs
import tools

AFTER_ATTACH, AFTER_DETACH = 1.0, 0.3  # seconds that are in no window


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
        before = tools.kernel_ticks(program.pids)
        self.from_ns = time.monotonic_ns()
        time.sleep(seconds)
        self.to_ns = time.monotonic_ns()
        self.kernel_ticks = [now - then for now, then in zip(tools.kernel_ticks(program.pids), before)]
        self.tool_cpu = (tools.cpu_ns(tool_pid) - cpu) / (self.to_ns - self.from_ns) if tool_pid else None
        self.units = pairs.units_within(program.progress.read(), self.from_ns, self.to_ns)

    def user_share(self):
        """Of its CPU time, what it spent outside the kernel; None: it had none."""
        inside, total = self.kernel_ticks
        return 1 - inside / total if total else None

    def cpu_per_unit(self):
        """CPU time in ns, of units of all kinds."""
        return sum(u[pairs.CPU] for u in self.units) / len(self.units) if self.units else None

    def cpu_share(self):
        """CPU time of its units for each second of the clock."""
        return sum(u[pairs.CPU] for u in self.units) / (self.to_ns - self.from_ns)


class Result:
    """What the turns have shown: lists with a value for each pair, each window with the tool, or each turn."""

    def __init__(self):
        self.lost_wall, self.lost_cpu, self.of_wall, self.worst_second = [], [], [], []
        self.quartile_wall, self.quartile_cpu, self.kernel = [], [], []
        self.rate_without, self.rate_with, self.cpu_without, self.cpu_with = [], [], [], []
        self.tool_cpu, self.said = [], []
        self.attach_worst_ns, self.detach_worst_ns, self.unit_worst_ns = [], [], []

    def add_pair(self, with_tool, without):
        lost = pairs.lost_share(with_tool.units, without.units, pairs.CPU)
        self.lost_wall.append(pairs.lost_share(with_tool.units, without.units, pairs.WALL))
        self.lost_cpu.append(lost)
        self.quartile_wall.append(pairs.lost_at_quartile(with_tool.units, without.units, pairs.WALL))
        self.quartile_cpu.append(pairs.lost_at_quartile(with_tool.units, without.units, pairs.CPU))
        self.kernel.append(pairs.lost_to_kernel(with_tool.user_share(), without.user_share()))
        self.of_wall.append(None if lost is None else lost * with_tool.cpu_share())
        self.worst_second.append(pairs.worst_second(with_tool.units, without.units, pairs.CPU))
        self.tool_cpu.append(with_tool.tool_cpu)
        for rates, cpu, window in (self.rate_with, self.cpu_with, with_tool), (self.rate_without, self.cpu_without, without):
            rates.append(len(window.units) * pairs.SECOND / (window.to_ns - window.from_ns))
            cpu.append(window.cpu_per_unit())

    def shares(self):
        """Figure -> its values, those that are shares: of progress and of CPU time lost, in the mean and at the lower quartile of units;
        kernel: of CPU time lost to the kernel alone, whatever the machine's speed; of_wall: CPU time added for each second of the clock,
        all threads together; what the tool said of that, and used itself."""
        return {"wall": self.lost_wall, "cpu": self.lost_cpu, "wall_q1": self.quartile_wall, "cpu_q1": self.quartile_cpu, "kernel": self.kernel,
                "of_wall": self.of_wall, "worst_second": self.worst_second, "said": self.said, "recorder": self.tool_cpu}

    def said_ratio(self):
        """Of each turn, what the tool said of itself for each part of what it took, of_wall being what the first is a share of."""
        taken = [None if None in pair else sum(pair) / 2 for pair in zip(self.of_wall[::2], self.of_wall[1::2])]
        return [said / of_wall for said, of_wall in zip(self.said, taken) if said is not None and of_wall and of_wall > 0]


def longest(program, from_ns, to_ns):
    """The longest unit, in ns, of those that lie in that time in part or whole."""
    return max((u[pairs.WALL] for u in program.progress.read() if u[0] >= from_ns and u[0] - u[pairs.WALL] <= to_ns), default=0)


def settle(seconds):
    time.sleep(seconds)
    return time.monotonic_ns()


def measure_tool(program, tool, before, seconds, result):
    """Two windows with the tool, after the one without; returns the one without that follows."""
    began = time.monotonic_ns()
    running = tool.start(program)
    attached = settle(AFTER_ATTACH)
    first, second = Window(program, seconds, running.pid), Window(program, seconds, running.pid)
    ended = time.monotonic_ns()
    said = running.stop()
    detached = settle(AFTER_DETACH)
    after = Window(program, seconds)
    result.said.append(said)
    result.add_pair(first, before)
    result.add_pair(second, after)
    result.attach_worst_ns.append(longest(program, began, attached))
    result.detach_worst_ns.append(longest(program, ended, detached))
    result.unit_worst_ns += [max((u[pairs.WALL] for u in w.units), default=0) for w in (before, after)]
    return after


def alternate(program, attached, turns, seconds):
    """Name -> Result of name -> tool, or why there is none: a tools.Refused of a tool that does not attach, and of every tool where
    the program has ended. Every other turn goes the other way round."""
    results = {name: Result() for name in attached}
    for number in range(turns):
        before = Window(program, seconds)
        for name in list(attached)[::1 if number % 2 == 0 else -1]:
            if isinstance(results[name], tools.Refused):
                continue
            try:
                before = measure_tool(program, attached[name], before, seconds, results[name])
            except tools.Refused as why:
                results[name] = why
                before = Window(program, seconds)
            if program.ended() is not None:
                return {name: tools.Refused(f"the program ended meanwhile, with status {program.ended()}") for name in attached}
    return results
