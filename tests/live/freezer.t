#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A process that its cgroup's freezer holds: as long as by the clock of who froze it, and as that, whatever it was at.
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
import tracks
from recording import tap

rec.need_bpf()
HELD_S = 0.3

PROGRAM = {"computes": "while not os.path.exists(sys.argv[1]):\n    sum(range(1000))\n",
           "sleeps in a call": "os.read(0, 1)\n"}


def mounted(kind, controller):
    """Where cgroups of this version are, those of version 1 of this controller; None: nowhere."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        for line in f:
            fields = line.split()
            rest = fields[fields.index("-") + 1:]
            if rest[0] == kind and (kind == "cgroup2" or controller in rest[2].split(",")):
                return fields[4]
    return None


# Version: file system, the file that freezes, what to write there, and where it says that it has.
VERSIONS = {"2": ("cgroup2", "cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"),
            "1": ("cgroup", "freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN")}


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def frozen(version, what):
    """(pid, (before it was frozen, when it was, before it was let go, after), events), or why not."""
    kind, file, freeze, thaw, told, words = VERSIONS[version]
    top = mounted(kind, "freezer")
    group = top and os.path.join(top, f"ingero-{os.getpid()}")
    try:
        os.mkdir(group)
    except (OSError, TypeError) as why:
        return f"no cgroup of version {version} can be made: {why}"
    ige, script, flag = rec.path("freezer.ige"), rec.path("freezer.py"), rec.path("go")
    write(script, "import os, sys\nprint(os.getpid(), flush=True)\n" + PROGRAM[what])
    if os.path.exists(flag):
        os.unlink(flag)
    try:
        if not os.path.exists(os.path.join(group, file)):
            return f"this kernel has no freezer of version {version}"
        p = subprocess.Popen([rec.RECORD, *rec.WHOLE, "-o", ige, "--", sys.executable, script, flag], env=rec.environment(),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        pid = int(p.stdout.readline())
        write(os.path.join(group, "cgroup.procs"), str(pid))
        if what != "computes":
            rec.until(lambda: state_of(pid) == "S")
        before = time.monotonic_ns()
        write(os.path.join(group, file), freeze)
        if not rec.until(lambda: words in open(os.path.join(group, told), encoding="ascii").read()):
            return "it was not frozen"
        held = time.monotonic_ns()
        time.sleep(HELD_S)
        until = time.monotonic_ns()
        write(os.path.join(group, file), thaw)
        after = time.monotonic_ns()
        write(flag, "")
        err = p.communicate("x", timeout=rec.PATIENCE)[1]
        tap.ok(p.returncode == 0, f"version {version}, {what}: recorded", err)
        return pid, (before, held, until, after), rec.dump(ige)[0]
    finally:
        rec.until(lambda: not open(os.path.join(group, "cgroup.procs"), encoding="ascii").read())
        os.rmdir(group)


for version in VERSIONS:
    for what in PROGRAM:
        name = f"version {version}, {what}"
        got = frozen(version, what)
        if isinstance(got, str):
            tap.skip(name, got)
            continue
        pid, (before, held, until, after), events = got
        mine = [e for e in tracks.of_thread(events, pid) if e["x"].get("object_kind") == tracks.FREEZER]
        if version == "1" and what != "computes" and not mine:
            # Since 6.1 a sleeper is frozen where it is: nothing but the end of its wait, the one that it had begun, is seen.
            tap.skip(name, "this kernel freezes sleepers where they are")
            continue
        if not tap.ok(len(mine) == 1, f"{name}: one wait in the freezer", mine):
            continue
        began, ended = mine[0]["end"] - mine[0]["dur"], mine[0]["end"] - mine[0]["x"]["wait_ns"]
        tap.ok(before <= began <= held, f"{name}: from when it was frozen", (before, began, held))
        tap.ok(until <= ended <= after + 1_000_000, f"{name}: until it was let go", (until, ended, after))
        tap.ok(HELD_S * 1e9 <= ended - began, f"{name}: {tracks.ms(ended - began)}")
tap.done_testing()
