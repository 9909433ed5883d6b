#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Attaching and detaching by turns, on a clock of the test's own: a tool that takes a known part of each step is found to take that,
# on a machine that becomes slower all the time; the stops of attaching and detaching are told and are in no window.
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "real"), os.path.join(os.path.dirname(HERE), "double")]
import alternate
import support as tap
import tools

MS = 1_000_000
ATTACH_MS, DETACH_MS = 170, 90


class Clock:
    """Time passes where somebody sleeps, and the program works meanwhile."""

    def __init__(self, program):
        self.ns, self.program = 0, program

    def monotonic_ns(self):
        return self.ns

    def sleep(self, seconds):
        self.ns += int(seconds * 1e9)
        self.program.work_until(self.ns)


class Program:
    """Steps of 10 ms, half of them CPU time; each is longer by drift than the one before."""

    def __init__(self, drift):
        self.ticks = (0, 0)
        self.units, self.progress, self.factor, self.drift, self.at, self.stopped = [], self, 1, drift, 0, 0
        self.status, self.pids = None, [1]

    def read(self):
        return self.units

    def ended(self):
        return self.status

    def kernel_ticks(self):
        """A tenth of what it does itself, and all that a tool adds, is in the kernel."""
        return self.ticks

    def work_until(self, ns):
        while True:
            slow = 1 + self.drift * len(self.units)
            wall = int(10 * MS * slow * self.factor) + self.stopped
            if self.at + wall > ns:
                return
            self.at, self.stopped = self.at + wall, 0
            own, added = 5 * MS * slow, 10 * MS * slow * (self.factor - 1)
            self.ticks = (self.ticks[0] + own / 10 + added, self.ticks[1] + own + added)
            self.units.append((self.at, wall, int(5 * MS * slow * (2 * self.factor - 1)), 0, 0))


class Tool:
    """Makes each step longer by that factor, by CPU time; one step stands still while it attaches, and one while it detaches."""

    pid = 7

    def __init__(self, factor, clock, order, refused=None):
        self.factor, self.clock, self.order, self.refused = factor, clock, order, refused

    def start(self, program):
        self.order.append(self.factor)
        if self.refused:
            raise tools.Refused(self.refused)
        program.factor, program.stopped = self.factor, ATTACH_MS * MS
        self.clock.sleep(0.5)
        return self

    def stop(self):
        self.clock.program.factor, self.clock.program.stopped = 1, DETACH_MS * MS
        self.clock.sleep(0.5)
        return self.factor - 1


def median(values):
    return sorted(values)[len(values) // 2]


for name, drift in ("a steady machine", 0), ("a machine that becomes slower", 1e-4):
    clock, order = Clock(Program(drift)), []
    alternate.time = clock
    tools.cpu_ns = lambda pid: clock.ns // 50  # of the tool's own process: 2 % of a CPU
    tools.kernel_ticks = lambda pids, clock=clock: clock.program.kernel_ticks()
    attached = {"a quarter": Tool(1.25, clock, order), "a tenth": Tool(1.1, clock, order),
                "none": Tool(1.0, clock, order, "no such option")}
    results = alternate.alternate(clock.program, attached, 2, 4)
    tap.same(order, [1.25, 1.1, 1.0, 1.1, 1.25], f"{name}: every other turn goes the other way round, without what was refused")
    tap.same(str(results["none"]), "no such option", f"{name}: the refusal is told")
    for tool, factor in ("a quarter", 1.25), ("a tenth", 1.1):
        r = results[tool]
        tap.same([len(v) for v in (r.lost_wall, r.lost_cpu, r.said)], [4, 4, 2], f"{name}, {tool}: two pairs a turn, one word of the tool's")
        for what, values, want in (("of progress", r.lost_wall, 1 - 1 / factor), ("of CPU time", r.lost_cpu, 1 - 1 / (2 * factor - 1)),
                                   ("in the kernel", r.kernel, 1 - 1 / (2 * factor - 1)),
                                   ("of the quartile", r.quartile_wall, 1 - 1 / factor)):
            mean = sum(values) / len(values)
            tap.ok(abs(mean - want) < 0.005, f"{name}, {tool}: what it took {what} is found", f"{values}, want {want}")
        tap.ok(abs(median(r.tool_cpu) - 0.02) < 1e-6, f"{name}, {tool}: the tool's own CPU time", r.tool_cpu)
        tap.ok(all(ATTACH_MS <= ns / MS < ATTACH_MS + 20 for ns in r.attach_worst_ns), f"{name}, {tool}: the stop of attaching is told",
               r.attach_worst_ns)
        tap.ok(all(DETACH_MS <= ns / MS < DETACH_MS + 20 for ns in r.detach_worst_ns), f"{name}, {tool}: that of detaching, too",
               r.detach_worst_ns)
        tap.ok(max(r.unit_worst_ns) < 20 * MS, f"{name}, {tool}: and neither is in a window without the tool", max(r.unit_worst_ns))
        said = r.said_ratio()
        tap.ok(len(said) == 2 and all(s > 0 for s in said), f"{name}, {tool}: what it said is set beside what was measured", said)

clock, order = Clock(Program(0)), []
alternate.time = clock
clock.program.status = -9
results = alternate.alternate(clock.program, {"a": Tool(1.1, clock, order), "b": Tool(1.2, clock, order)}, 2, 4)
tap.same([str(r) for r in results.values()], ["the program ended meanwhile, with status -9"] * 2, "a program that ends leaves no figures")
tap.same(order, [1.1], "and nothing else is attached to it")
tap.done()
