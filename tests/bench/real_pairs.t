#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The statistics of the benches of running programs, on series whose answer is known: what a tool took is found again, whatever
# the mixture of work is and however the machine drifts, and the interval covers the median as often as it says.
import os
import random
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "real"), os.path.join(os.path.dirname(HERE), "double")]
import pairs
import support as tap

MS = 1_000_000


def series(n, wall_ms, cpu_ms, kind=0, begin_ms=0, thread=1):
    """n equal units, one after the other."""
    return [(int((begin_ms + (i + 1) * wall_ms) * MS), int(wall_ms * MS), int(cpu_ms * MS), kind, thread) for i in range(n)]


def near(got, want, name, within=1e-6):
    tap.ok(got is not None and abs(got - want) <= within, name, f"got:  {got}\nwant: {want}")


# What is lost: of wall and of CPU time each by its own column, as a share of the time with the tool.
for name, with_tool, without, column, want in (
        ("nothing", series(10, 2, 1), series(20, 2, 1), pairs.WALL, 0),
        ("a fifth of the wall time", series(10, 10, 6), series(10, 8, 6), pairs.WALL, 0.2),
        ("none of the CPU time then", series(10, 10, 6), series(10, 8, 6), pairs.CPU, 0),
        ("a third of the CPU time", series(7, 10, 6), series(9, 10, 4), pairs.CPU, 1 / 3),
        ("a gain is a negative loss", series(10, 8, 6), series(10, 10, 6), pairs.WALL, -0.25),
        ("another mixture of kinds of work", series(10, 5, 5) + series(30, 2, 2, 1), series(40, 4, 4) + series(3, 2, 2, 1), pairs.CPU,
         10 / 110)):
    near(pairs.lost_share(with_tool, without, column), want, f"lost: {name}")
tap.same(pairs.lost_share(series(5, 1, 1, 1), series(5, 1, 1, 0), pairs.CPU), None, "lost: unknown for work that was never done without")
tap.same(pairs.lost_share([], series(5, 1, 1), pairs.CPU), None, "lost: unknown without any work")
tap.same(pairs.lost_share(series(5, 1, 1), [], pairs.CPU), None, "lost: unknown with nothing to compare with")

# A machine that does something else too: some units take three times as long, and the quartile does not see them.
busy = [(u[0], u[1] * (3 if i % 2 else 1), *u[2:]) for i, u in enumerate(series(40, 10, 5) + series(20, 2, 1, 1))]
without = series(40, 8, 5) + series(20, 2, 1, 1)
near(pairs.lost_at_quartile(busy, without, pairs.WALL), 80 / 440, "quartile: what units of one kind lost, whatever half of them suffered")
near(pairs.lost_at_quartile(busy, without, pairs.CPU), 0, "quartile: nothing of CPU time")
tap.same(pairs.lost_at_quartile(busy, series(40, 8, 5), pairs.WALL), None, "quartile: unknown for work that was never done without")

# Drift: every window is slower than the one before; the pairs of a turn (without, with, with, without) make up for it.
windows = [series(100, slower * tool, 1) for slower, tool in ((1.00, 1), (1.02, 1.25), (1.04, 1.25), (1.06, 1))]
losses = [pairs.lost_share(windows[1], windows[0], pairs.WALL), pairs.lost_share(windows[2], windows[3], pairs.WALL)]
near(pairs.Figure(losses).median, 0.2, "drift of 2 % a window: the median of a turn's pairs is what the tool took", within=0.001)
tap.ok(abs(losses[0] - 0.2) > 0.01, "though not each pair", losses)

# Windows.
units = series(10, 10, 1)  # they end at 10, 20, …
tap.same([u[0] // MS for u in pairs.units_within(units, 20 * MS, 55 * MS)], [30, 40, 50], "a window has the units that lie in it whole")
near(pairs.worst_second(series(100, 10, 10) + series(50, 20, 20, begin_ms=1000) + series(100, 10, 10, begin_ms=2000),
                        series(10, 10, 10), pairs.CPU), 0.5, "the worst second is found")
near(pairs.worst_second(series(300, 10, 10), series(10, 10, 10), pairs.CPU), 0, "and where nothing is lost it lost nothing")

# Intervals.
for n, want in ((1, (0, 0)), (4, (0, 3)), (6, (0, 5)), (9, (1, 7)), (12, (2, 9)), (20, (5, 14))):
    tap.same(pairs.interval(list(range(n - 1, -1, -1))), want, f"interval of {n} values, by their order")
maker, covered, rounds = random.Random(1), 0, 4000
for _ in range(rounds):
    low, high = pairs.interval([maker.expovariate(1) for _ in range(12)])
    covered += low <= 0.6931 <= high
tap.ok(covered >= 0.95 * rounds, "it covers the median of a skewed distribution as often as it says", covered / rounds)
tap.ok(not pairs.Figure([None, None]), "a figure without values is none")
near(pairs.Figure([0.03, None, 0.01, 0.02], 100).median, 2, "a figure is the median of the values there are")
tap.done()
