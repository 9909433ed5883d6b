# SPDX-License-Identifier: Apache-2.0
"""Statistics of pairs: what units of work cost with a tool attached, and beside it without.

A unit is (end_ns, wall_ns, cpu_ns, kind, thread): one piece of work of a program, by the program's own clocks. Units of one kind are
equal pieces of work. Shares are of the time with the tool: 0.05 of it were not there without, so progress is 5 % slower.
"""
import math
import statistics

WALL, CPU = 1, 2
CONFIDENCE = 0.95
SECOND = 1_000_000_000


def units_within(units, from_ns, to_ns):
    """Those that began and ended within that time."""
    return [u for u in units if u[0] - u[WALL] >= from_ns and u[0] <= to_ns]


def costs(units, column):
    """Kind -> ns that one unit took on average."""
    total = {}
    for u in units:
        n, ns = total.get(u[3], (0, 0))
        total[u[3]] = (n + 1, ns + u[column])
    return {kind: ns / n for kind, (n, ns) in total.items()}


def added_ns(units, base, column):
    """What those units took more than as many of their kinds at what one costs without the tool. None: a kind has no such cost."""
    if not units or any(u[3] not in base for u in units):
        return None
    return sum(u[column] - base[u[3]] for u in units)


def lost_share(with_tool, without, column):
    """The share of the time of the first that the second would not have needed for the same work. None: unknown."""
    taken = sum(u[column] for u in with_tool)
    added = added_ns(with_tool, costs(without, column), column)
    return None if added is None or taken == 0 else added / taken


def lost_at_quartile(with_tool, without, column):
    """As lost_share(), of the lower quartile of each kind of unit in place of the mean: what else the machine did makes units longer,
    a quarter of them least. Of a tool that takes as much from every unit; one that comes and goes is not seen."""
    ours, theirs = quartiles(with_tool, column), quartiles(without, column)
    if not ours or set(ours) - set(theirs):
        return None
    added = taken = 0
    for u in with_tool:
        added, taken = added + ours[u[3]] - theirs[u[3]], taken + ours[u[3]]
    return added / taken if taken else None


def lost_to_kernel(user_with, user_without):
    """As lost_share(), of CPU time, from the shares that are spent outside the kernel: that a tool's traps add to the rest. A machine
    whose speed changes from one second to the next changes both alike. What programs lose in caches is not in it. None: unknown."""
    return None if user_with is None or not user_without else 1 - user_with / user_without


def quartiles(units, column):
    """Kind -> ns that a quarter of its units took at most."""
    kinds = {}
    for u in units:
        kinds.setdefault(u[3], []).append(u[column])
    return {kind: sorted(values)[(len(values) - 1) // 4] for kind, values in kinds.items()}


def worst_second(with_tool, without, column):
    """The largest share lost in a second of the first, counted from its first unit. Parts of a second are not looked at."""
    base, seconds = costs(without, column), {}
    if not with_tool:
        return None
    begin = min(u[0] - u[WALL] for u in with_tool)
    last = (max(u[0] for u in with_tool) - begin) // SECOND
    for u in with_tool:
        seconds.setdefault((u[0] - u[WALL] - begin) // SECOND, []).append(u)
    # A second in which the program hardly worked says little.
    full = max(sum(u[column] for u in units) for units in seconds.values())
    shares = []
    for number, units in seconds.items():
        taken, added = sum(u[column] for u in units), added_ns(units, base, column)
        if number < last and added is not None and taken >= full / 4:
            shares.append(added / taken)
    return max(shares, default=None)


def interval(values):
    """(low, high) around their median by order statistics: the narrowest symmetrical one that covers it with CONFIDENCE whatever
    the distribution is, or where there are too few values for that (fewer than six), the lowest and the highest."""
    values = sorted(values)
    n, k = len(values), 1
    while 2 * k <= n and 1 - 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2 ** n >= CONFIDENCE:
        k += 1
    return values[k - 1], values[n - k]


class Figure:
    """The median of some values, and its interval; false without values. Those that are None are left out."""

    def __init__(self, values, factor=1):
        self.values = [v * factor for v in values if v is not None]
        self.median = statistics.median(self.values) if self.values else None
        self.low, self.high = interval(self.values) if self.values else (None, None)

    def __bool__(self):
        return bool(self.values)
