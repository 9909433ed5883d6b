# SPDX-License-Identifier: Apache-2.0
"""Whether --budget P holds, seen from outside: what loads of several shapes lose of their time with it, by their own clocks.

    make bench NAMES='real.budget.*'             all
    make bench NAMES='real.budget.loop.5*'       one shape, one budget

SECONDS is the length of a window, of which a budget has two in each of TURNS turns; QUICK=1 makes them short.
"""
import math

import alternate
import figures
import pairs
import tools
import workloads

BUDGETS = ("default", "none", "1", "2", "5", "10")
DEFAULT = 2  # percent, of a recorder without the option
TOLERANCE = 1.2  # of the budget: "within a fifth"
# Shape -> options of the double's load, and the period of its phases in seconds. A call of the runtime makes one of the driver.
SHAPES = {
    "loop": ("--launches 20 --work-us 1000", 0),  # 20,000 launches a second or fewer, as an eager PyTorch step
    "threads": ("--launches 20 --work-us 1000 --threads 4", 0),
    "full": ("--launches 350 --work-us 1000", 0),  # 700,000 calls a second
    "jump": ("--launches 500 --work-us 0 --busy-ms 2000 --quiet-ms 2000", 4),  # from nothing to as many as it can, and back
    "step": ("--launches 20 --work-us 1000 --busy-ms 1000 --quiet-ms 1000 --quiet-computes", 2),  # a step of 2 s
}
FIGURES = ("wall", "cpu", "wall_q1", "cpu_q1", "of_wall", "worst_second", "said", "said_x", "recorder", "attach_ms", "detach_ms")


def verdict(budget, lost):
    """What the figure says of the budget, in percent."""
    if budget == "none":
        return ""
    allowed = DEFAULT if budget == "default" else float(budget)
    word = "over" if lost.median > allowed * TOLERANCE else "within" if lost.median >= allowed / TOLERANCE else "below"
    return f" {word} {allowed:g} %"


def print_row(row, budget, r):
    """wall, cpu: lost of progress and of CPU time; of_wall: CPU time added for each second of the clock, all threads together."""
    if isinstance(r, tools.Refused):
        figures.print_skip(row, r)
        return
    for name, values in r.shares().items():
        figure = pairs.Figure(values, 100)
        judged = figure and name in ("wall", "cpu", "of_wall")
        figures.print_figure(row, name, figure, "%", verdict(budget, figure) if judged else "")
    figures.print_figure(row, "said_x", pairs.Figure(r.said_ratio()), "x of of_wall")
    for name, values in ("attach_ms", r.attach_worst_ns), ("detach_ms", r.detach_worst_ns):
        usual = pairs.Figure(r.unit_worst_ns, 1e-6).median
        figures.print_figure(row, name, pairs.Figure(values, 1e-6), "ms", f" longest unit; {usual:.3g} without")


def measure():
    turns = int(figures.setting("TURNS", 1))
    for shape, (options, period) in SHAPES.items():
        rows = {f"real.budget.{shape}.{budget}": budget for budget in BUDGETS}
        rows = {row: budget for row, budget in rows.items() if figures.is_row_wanted(row, FIGURES)}
        seconds = figures.setting("SECONDS", 2 if figures.QUICK else 5)
        seconds = math.ceil(seconds / period) * period if period else seconds
        if not rows:
            continue
        load = workloads.start_load(options)
        try:
            results = alternate.alternate(load, {row: tools.Recorder(*(() if budget == "default" else ("--budget", budget)))
                                                 for row, budget in rows.items()}, turns, seconds)
        finally:
            load.stop()
        for row, result in results.items():
            print_row(row, rows[row], result)
