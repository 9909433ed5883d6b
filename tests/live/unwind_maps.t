#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Code that comes and goes: whatever a program loads, removes, forks or maps, a stack that looks whole is libgcc's. While the
# recorder has not looked at what changed, stacks say so.
import collections
import os
import platform
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

OP = "cudaDeviceSynchronize"
AT_START, NO_TABLE, NO_RULE, CHANGING = 1, 8, 16, 128  # enum world_stack_end

rec.need_bpf()
if platform.machine() != "x86_64":
    tap.skip_all("stacks are walked by frame pointers on this machine")
if not shutil.which("c++"):
    tap.skip_all("no C++ compiler here")


def build(out, source, *options):
    subprocess.run(["c++", "-O2", "-fomit-frame-pointer", *options, "-o", out, os.path.join(rec.HERE, source), "-ldl"], check=True)
    return out


PROGRAM = build(rec.path("mappings"), "mappings.cc")
# Not called lib…: nobody is stopped for one that holds nothing to probe.
PLUGINS = [build(rec.path(f"plugin{room}.so"), "plugin.cc", "-shared", "-fPIC", f"-DROOM={room}") for room in (2, 3, 5, 7)]


def read_truth(name):
    stacks = collections.Counter()
    for line in open(name, encoding="utf-8"):
        count, *frames = line.rstrip("\n").split("|")
        stacks[tuple((f.rsplit(" ", 1)[0], int(f.rsplit(" ", 1)[1])) for f in frames)] += int(count)
    return stacks


def compare(mode, p, ige, out, error):
    """Calls, right ones that look whole, ones that say why they may not be right or are not whole, others."""
    if not tap.ok(p.returncode == 0 and os.path.exists(out), f"{mode}: recorded", error):
        return 0, 0, 0, 0
    truth = read_truth(out)
    whole, marked, unknown, other = collections.Counter(), 0, 0, collections.Counter()
    for e in rec.dump(ige)[0]:
        if e["op"] != OP:
            continue
        if e["stack_end"] & CHANGING:
            marked += 1
        elif e["stack_end"] == AT_START:
            whole[tuple((f[1], f[2]) for f in e["stack"])] += 1
        elif e["stack_end"] in (NO_TABLE, NO_RULE):
            unknown += 1
        else:
            other[e["stack_end"]] += 1
    right = sum(min(n, truth[stack]) for stack, n in whole.items())
    calls, wrong = sum(truth.values()), sum(whole.values()) - right
    tap.ok(wrong == 0 or mode == "hand", f"{mode}: {calls} calls, {right} right, {marked} marked as changing, {unknown} that end where nothing is known yet, {dict(other)} others; none looks whole and is wrong")
    return calls, right, marked + unknown, sum(other.values())


def record(mode, *plugins, options=()):
    ige, out = rec.path("maps.ige"), rec.path(f"stacks.{mode}.{len(plugins)}")
    p = subprocess.run(rec.command(["-o", ige, "--no-sched", "-e", OP, "--unwind-memory", "64m", *options, "--", PROGRAM, out, "libcudart.so.13", OP,
                                    mode, *plugins], True),
                       env=rec.environment(), input="\n", capture_output=True, text=True, timeout=rec.PATIENCE)
    return p, compare(mode, p, ige, out, p.stderr)


def attach(mode, *plugins):
    """A program that goes on when the recorder's probes are there, and is never stopped."""
    ige, out = rec.path("attached.ige"), rec.path("stacks." + mode)
    program = subprocess.Popen([PROGRAM, out, "libcudart.so.13", OP, mode, *plugins], env=rec.environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    recorder = rec.start("-o", ige, "--no-sched", "-e", OP, "--unwind-memory", "64m", "-p", program.stdout.readline().strip())
    rec.attached(recorder)
    program.communicate(f"{recorder.pid}\n")
    error = recorder.communicate(timeout=rec.PATIENCE)[1]
    return compare(mode, recorder, ige, out, error)


p, (calls, right, marked, other) = record("swap", *PLUGINS[:2])
tap.ok(p.stdout.split("same ")[-1].split()[0].isdigit() and int(p.stdout.split("same ")[-1].split()[0]) > 150,
       "swap: one library lay where another did", p.stdout)
tap.ok(right >= 400 and right + marked + other == calls, "swap: stacks are right after a moment, and marked until then")
_, (calls, right, marked, other) = record("late", *PLUGINS)
tap.ok(right > calls / 2 and other == 0, "late: frames of libraries that came late are unwound after a moment")
_, (calls, right, marked, other) = record("fork", *PLUGINS)
tap.ok(right >= 101 and other == 0, "fork: a child has its parent's list from its first call on")
_, (calls, right, marked, other) = record("exec", *PLUGINS)
tap.ok(right >= 10 + (calls - 10) / 2 and other == 0, "exec: the list is another one")
_, (calls, right, marked, other) = record("gone", *PLUGINS)
tap.ok(right == calls, "gone: what is mapped counts, not what the file of that name is now")
# libgcc goes by what the loader loaded: here it is wrong, and names have to do.
p, _ = record("hand", *PLUGINS[:2])
names = [[f[0].split("(")[0] for f in e["stack"]] for e in rec.dump(rec.path("maps.ige"))[0] if e["op"] == OP and e["stack_end"] == AT_START]
tap.ok(len(names) == 4 and len(set(map(tuple, names))) == 1 and "plugin_call" in names[0] and "main" in names[0],
       "hand: what is mapped without the loader is known some seconds later", names)
_, (calls, right, marked, other) = record("many", PLUGINS[0])
tap.ok(right == calls == 4501, "many: what processes took is given back as they end")
calls, right, marked, other = attach("wait", *PLUGINS)
tap.ok(calls == right == 200, "attached: the first call has its callers")
calls, right, marked, other = attach("swap-attached", *PLUGINS[:2])
tap.ok(right >= 400 and marked >= 400 and right + marked + other == calls, "attached: what may be other code by now is marked")
# Of the same code, so that a stack of the one has the other's addresses.
calls, right, marked, other = attach("swap-stopped", PLUGINS[0], shutil.copy(PLUGINS[0], rec.path("same.so")))
events = [e for e in rec.dump(rec.path("attached.ige"))[0] if e["op"] == OP]
wrong = [i for i, e in enumerate(events) if e["stack_end"] == AT_START and (rec.path("same.so") in (f[1] for f in e["stack"])) != (i // 20 % 2 == 1)]
tap.ok(len(events) == 800 and not wrong, "swap-stopped: each by the library of its time", wrong)
tap.ok(calls == 800 and right + marked + other == calls, "attached: what is confirmed of one removal says nothing of the next")

# A file that claims to be large, and 500 of them.
sparse = shutil.copy(PLUGINS[0], rec.path("sparse.so"))
os.truncate(sparse, 1 << 40)
_, (calls, right, marked, other) = record("late", sparse, PLUGINS[1])
tap.ok(right > calls / 2 and other == 0, "a library of 1 TB")
copies = [shutil.copy(PLUGINS[i % 4], rec.path(f"copy{i}.so")) for i in range(500)]
_, (calls, right, marked, other) = record("late", *copies)
tap.ok(right > calls / 4 and other == 0, "500 libraries")
tap.done_testing()
