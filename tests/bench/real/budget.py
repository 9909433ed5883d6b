# SPDX-License-Identifier: Apache-2.0
"""Whether --budget P holds, seen from outside: what loads of several shapes lose of their time with it, by their own clocks.

    make bench NAMES='real.budget.*'             all
    make bench NAMES='real.budget.loop.5*'       one shape, one budget

SECONDS is the length of a window (four make a turn), TURNS how many of them; QUICK=1 is one turn of short windows.
"""
import math
import os
import subprocess
import time

import alternate
import figures
import pairs
import tools

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
UNITS = ("wall", "cpu", "of_wall", "worst_second", "said", "recorder", "attach_ms", "detach_ms")


class Load:
    """The double's load of that shape, running."""

    def __init__(self, shape):
        double = os.path.join(tools.BUILD, "double")
        path = tools.scratch(f"load.{shape}")
        self.process = subprocess.Popen([os.path.join(double, "load"), "--progress", path, *SHAPES[shape][0].split()],
                                        env=tools.environment(LD_LIBRARY_PATH=double), stdin=subprocess.DEVNULL)
        self.pids, self.progress = [self.process.pid], alternate.Progress(path)
        while len(self.progress.read()) < 10:
            if self.process.poll() is not None:
                raise RuntimeError(f"the load ended with status {self.process.returncode}")
            time.sleep(0.05)

    def stop(self):
        self.process.kill()
        self.process.wait()
        os.unlink(self.progress.path)


def verdict(budget, lost):
    """What the figure says of the budget, in percent."""
    if budget == "none":
        return ""
    allowed = DEFAULT if budget == "default" else float(budget)
    word = "over" if lost.median > allowed * TOLERANCE else "within" if lost.median >= allowed / TOLERANCE else "below"
    return f" {word} {allowed:g} %"


def print_row(row, budget, r):
    """lost of progress and of CPU time; of_wall: CPU time added for each second of the clock, all threads together."""
    percent = {"wall": r.lost_wall, "cpu": r.lost_cpu, "of_wall": r.of_wall, "worst_second": r.worst_second, "said": r.said,
               "recorder": r.tool_cpu}
    for name, values in percent.items():
        figure = pairs.Figure(values, 100)
        judged = figure and name in ("wall", "cpu", "of_wall")
        figures.print_figure(row, name, figure, "%", verdict(budget, figure) if judged else "")
    for name, values in ("attach_ms", r.attach_worst_ns), ("detach_ms", r.detach_worst_ns):
        usual = pairs.Figure(r.unit_worst_ns, 1e-6).median
        figures.print_figure(row, name, pairs.Figure(values, 1e-6), "ms", f" longest unit; {usual:.3g} without")


def measure():
    turns = int(figures.setting("TURNS", 1 if figures.QUICK else 2))
    for shape, (_, period) in SHAPES.items():
        rows = {budget: f"real.budget.{shape}.{budget}" for budget in BUDGETS}
        rows = {budget: row for budget, row in rows.items() if figures.is_row_wanted(row, UNITS)}
        seconds = figures.setting("SECONDS", 2 if figures.QUICK else 4)
        seconds = math.ceil(seconds / period) * period if period else seconds
        if not rows:
            continue
        load = Load(shape)
        try:
            for budget, row in rows.items():
                options = () if budget == "default" else ("--budget", budget)
                try:
                    print_row(row, budget, alternate.alternate(load, tools.Recorder(*options), turns, seconds))
                except tools.Refused as why:
                    figures.print_skip(row, why)
        finally:
            load.stop()
