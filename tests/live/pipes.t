#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Who has the other end of a pipe that a thread waits on: the writer for who reads, the reader for who writes, and where the
# writer has ended and the reader keeps the other end itself, only that one. While the wait goes on and after it.
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

# The child waits, and says on which descriptor and inode; who has the other end is the parent, or itself alone.
WAITS = r"""
import os, signal, sys, time
what = sys.argv[1]
r, w = os.pipe()
there, here = os.pipe()
child = os.fork()
if child == 0:
    os.close(here)
    mine = w if what == "writes" else r
    inode = int(os.readlink(f"/proc/self/fd/{mine}")[6:-1])
    if what != "alone":
        os.close(r if what == "writes" else w)
    else:
        os.read(there, 1)  # until the parent has closed its end
    print(os.getpid(), os.getppid(), mine, inode, flush=True)
    if what == "writes":
        while True:
            os.write(w, b"x" * 65536)
    os.read(r, 1)
    signal.pause()
os.close(w if what == "writes" else r)
os.close(there)
if what == "alone":
    os.close(w)
    os.write(here, b"x")
if what == "ended":
    sys.stdin.readline()
    os.write(w, b"x")
os.waitpid(child, 0)
"""
script = rec.path("waits.py")
with open(script, "w") as f:
    f.write(WAITS)


def asleep(pid):
    with open(f"/proc/{pid}/syscall") as s:
        return s.read().split()[0] in ("0", "1", "63", "64")


for what in ("reads", "writes", "alone", "ended"):
    program = subprocess.Popen([sys.executable, script, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child, parent, fd, inode = map(int, program.stdout.readline().split())
    rec.until(lambda: asleep(child))
    ige = rec.path("pipe.ige")
    if what == "ended":  # it waits for longer than 100 ms while it is recorded, and not any more where the recording ends
        recorder = rec.start("-o", ige, "-p", child)
        rec.attached(recorder)
        since = time.monotonic()
        rec.until(lambda: time.monotonic() > since + 0.3)
        program.stdin.write("\n")
        program.stdin.flush()
        rec.until(lambda: not asleep(child))
        rec.until(lambda: time.monotonic() > since + 2)  # what has ended is looked for once a second
        os.kill(child, signal.SIGKILL)
        said = recorder.communicate()[1]
    else:
        said = rec.run("-o", ige, "-p", child, "--duration", "500ms").stderr
    for pid in (child, parent):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    program.wait()
    program.stdin.close()
    program.stdout.close()
    pipes = [r for r in rec.dump(ige)[1] if r["record"] == "pipe" and r["inode"] == inode]
    tap.ok(pipes, f"{what}: the pipe is told", (said, rec.dump(ige)[2]))
    last = [r for r in pipes if r["time_ns"] >= pipes[-1]["time_ns"] - 1000000]
    tap.same({(r["fd"], r["write"], r["holders"]) for r in last}, {(fd, int(what == "writes"), 1)}, f"{what}: which end the thread waits at, and that one process has the other")
    tap.same([r["pid"] for r in last], [child if what == "alone" else parent], f"{what}: which one")
tap.done_testing()
