# SPDX-License-Identifier: Apache-2.0
"""Host tracks of a recording, laid against the kernel's own accounting."""
import collections
import os

from recording import tap

# enum event_object and enum event_waker of lib/event/op.h
NONE, FUTEX, FD, TIMER, DISK, FAULT, GPU, CHILD, STOP, POLL, SOCKET, GIL, FREEZER, PROBE, MAP = range(15)
NO_WAKER, BY_TASK, BY_HARDIRQ, BY_SOFTIRQ, BY_TIMER, BY_SELF = range(6)


def sched(events, op):
    return [e for e in events if e["source"] == "sched" and e["op"] == op]


def of_thread(events, tid):
    """Its off-CPU intervals."""
    return [e for e in sched(events, "offcpu") if e["tid"] == tid]


def within(events, truth):
    """Those that ended while the workload kept its own account."""
    return [e for e in events if truth["start_ns"] <= e["end"] < truth["start_ns"] + truth["wall_ns"]]


def total(events, column):
    return sum(e["x"].get(column, 0) for e in events)


def waits(events, tid):
    """Per interval: (event, [(cpu, from, to) of its wait], whether the moves lead from cpu_out to cpu_in)."""
    moves = [e for e in sched(events, "migrate") if e["tid"] == tid]
    for e in of_thread(events, tid):
        at, ready, left = e["x"]["cpu_out"], e["end"] - e["x"]["wait_ns"], e["end"] - e["dur"]
        pieces, sound = [], True
        while moves and moves[0]["end"] <= e["end"]:
            m = moves.pop(0)
            if m["end"] < left:
                continue
            sound = sound and m["x"]["cpu_out"] == at
            if m["end"] > ready:
                pieces.append((at, ready, m["end"]))
                ready = m["end"]
            at = m["x"]["cpu_in"]
        pieces.append((at, ready, e["end"]))
        yield e, pieces, sound and at == e["x"]["cpu_in"]


def occupancy(events, tid, truth=None):
    """Who had the CPU while the thread waited for it: ({comm: ns}, ns waited, ns no slice covers, unsound moves).
    With a truth only of intervals that ended while the workload kept its own account. None is the thread itself."""
    slices = collections.defaultdict(list)
    for e in sched(events, "occupied"):
        who = e["threads"]["occupant"]
        slices[e["x"]["cpu"]].append((e["end"] - e["dur"], e["end"], None if who[0] == tid else who[2]))
    who, waited, covered, unsound = collections.Counter(), 0, 0, 0
    for e, pieces, sound in waits(events, tid):
        if truth and not within([e], truth):
            continue
        unsound += not sound
        for cpu, begin, end in pieces:
            waited += end - begin
            for a, b, comm in reversed(slices[cpu]):
                if b <= begin:
                    break
                ns = min(b, end) - max(a, begin)
                if ns > 0:
                    who[comm] += ns
                    covered += ns
    return who, waited, waited - covered, unsound


def of_init(e):
    return e["threads"]["occupant"][1] == 1


def overlapping(events):
    """(ns that slices of one CPU claim twice, ns of all slices, the slices that do, ns beside a thread of pid 1)."""
    last, bad, twice, total, init = {}, [], 0, 0, 0
    for e in sched(events, "occupied"):
        cpu, begin = e["x"]["cpu"], e["end"] - e["dur"]
        total += e["dur"]
        before = last.get(cpu)
        if before and begin < before["end"]:
            both = min(before["end"], e["end"]) - begin
            if of_init(before) or of_init(e):
                init += both
            else:
                twice += both
            bad.append((before, e))
        if not before or e["end"] > before["end"]:
            last[cpu] = e
    return twice, total, bad, init


def check_given_once(events, name=""):
    """Switches that a machine hides from BPF (here: around threads of pid 1) are made up for from the scheduler's accounts, which
    say how much, to some microseconds, but not when: such a slice may lie beside another's."""
    twice, total, bad, init = overlapping(events)
    tap.ok(twice <= total / 1000 and init <= total / 100,
           f"{name}no time of a CPU is given twice ({twice / 1e3:.0f} us of {ms(total)}, {init / 1e3:.0f} us beside pid 1)", bad[:5])


TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def stolen_ns(cpu):
    """Time the hypervisor took from this CPU so far, in whole ticks: in nobody's account."""
    with open("/proc/stat") as f:
        line = next(line.split() for line in f if line.startswith(f"cpu{cpu} "))
    return int(line[8]) * TICK_NS


def near(got, want, share=0.02, at_least=1_000_000):
    return abs(got - want) <= max(share * want, at_least)


def ms(ns):
    return f"{ns / 1e6:.2f} ms"


def cpu_for_test():
    """One that the tests may use."""
    return max(os.sched_getaffinity(0))
