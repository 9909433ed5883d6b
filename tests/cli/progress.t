#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What --progress and -v say, where, and when nothing is said; and that an output file keeps what it
# held until there is something to put into it.

import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "tests")
import tap  # noqa: E402

STAT, CORRELATE, EXPLAIN, DEMO, MERGE = (os.path.join(tap.BIN, "ingero-" + p) for p in ("stat", "correlate", "explain", "demo", "merge"))
tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
path = lambda name: os.path.join(tmp.name, name)  # noqa: E731


def run(*argv, data=None, **more):
    p = subprocess.run(argv, input=data, stdin=subprocess.DEVNULL if data is None else None, stdout=subprocess.PIPE,
                       **{"stderr": subprocess.PIPE, **more}, timeout=120)
    return p.returncode, p.stdout, (p.stderr or b"").decode()


def drained(master, seconds=0.0):
    """What was written to a terminal; waits so long for a first byte."""
    os.set_blocking(master, False)
    end = time.monotonic() + seconds
    while True:
        try:
            return os.read(master, 65536)
        except BlockingIOError:
            if time.monotonic() >= end:
                return b""
            time.sleep(0.01)


subprocess.run([DEMO, "incident", "--duration", "1s", "-o", path("run.ige")], check=True)
recording = open(path("run.ige"), "rb").read()

# ---- --progress and -v

for program in (STAT, CORRELATE, EXPLAIN):
    name = os.path.basename(program)
    plain = run(program, path("run.ige"))
    tap.same(plain[2], "", f"{name}: silent when standard error is no terminal")
    status, out, err = run(program, "--progress", path("run.ige"))
    tap.same((status, out), plain[:2], f"{name} --progress: the result is the same")
    tap.ok(re.search(rf"^{name}: [0-9.]+ [KM]iB, [0-9,]+ events, [0-9,]+/s, done in [0-9.]+ \w+$", err.splitlines()[-1]),
           f"{name} --progress: what it came to", err)
    told = re.search(r"([0-9,]+) events", err)
    status, out, err = run(program, "--progress", data=recording)
    tap.ok(told and f"{name}: {told[1]} events" in err, f"{name} --progress: of a pipe the events", err)
    tap.same(run(program, "--progress", "-q", path("run.ige"))[2], "", f"{name} -q: no progress")
    status, out, err = run(program, "-v", path("run.ige"))
    tap.same((status, out), plain[:2], f"{name} -v: the result is the same")
    tap.ok(f"{path('run.ige')}: file of " in err, f"{name} -v: what is read", err)
    tap.ok(re.search(rf": 1 segments, [0-9]+ blocks, {told[1]} events, .* 0 blocks damaged, 0 bytes passed over", err),
           f"{name} -v: what was in it", err)
    tap.ok(re.search(r"dictionaries: .*[0-9]+ processes, .*[0-9]+ stacks", err), f"{name} -v: the dictionaries", err)
    tap.ok(re.search(r"read.* in [0-9.]+ \w+$", err, re.M), f"{name} -v: the time it took", err)
    status, out, err = run(program, "-v", data=recording[:len(recording) // 2])
    tap.ok("standard input: pipe" in err and "unterminated" in err, f"{name} -v: a pipe that was cut", err)

    master, slave = os.openpty()
    run(program, path("run.ige"), stderr=slave)
    tap.same(drained(master), b"", f"{name}: quick work shows no progress on a terminal")
    os.close(master), os.close(slave)

# An archive is read as a recording before that begins.
subprocess.run([MERGE, "-q", path("run.ige"), "-o", path("run.db")], check=True)
for program in (MERGE, STAT):
    status, out, err = run(program, "--progress", path("run.db"))
    tap.ok(status == 0 and re.search(rf"^ingero-\w+: {path('run.db')}: {told[1]} events, [0-9,]+/s, done in ", err, re.M), "an archive is prepared, and that is shown", err)

# Slow work on a terminal: pieces come until the line is drawn, which takes two seconds by design.
master, slave = os.openpty()
p = subprocess.Popen([CORRELATE, "--progress"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=slave)
seen, at, end = b"", 0, time.monotonic() + 300
while b"events" not in seen and time.monotonic() < end:
    piece = recording[at % len(recording):at % len(recording) + 4096]
    p.stdin.write(piece)
    p.stdin.flush()
    at += len(piece)
    seen += drained(master, 0.05)
tap.ok(seen.startswith(b"\r") and b"\x1b[K" in seen and b"\n" not in seen, "slow work draws over one line on a terminal", seen)
p.stdin.close()
p.wait()
seen += drained(master, 1)
tap.ok(b"\r\x1b[K" in seen and b"done in" in seen, "which is gone in the end", seen)
os.close(master), os.close(slave)

# ---- outputs

for args, data, what in (([path("text")], None, "a file that is no recording"), ([], b"", "an empty pipe"),
                         ([], b"hello, world\n" * 20, "a pipe that is no recording"),
                         ([path("run.ige"), path("missing")], None, "a second file that is missing"),
                         (["--json", path("text")], None, "a file that is no recording, --json")):
    for name in ("text", "kept"):
        with open(path(name), "w") as f:
            f.write("kept, and no recording at all: " * 9)
    held = open(path("kept")).read()
    status, out, err = run(CORRELATE, "-o", path("kept"), *args, data=data)
    tap.ok(status in (3, 4) and err, f"{what}: said", f"{status} {err}")
    tap.same(open(path("kept")).read(), held, f"{what}: the output keeps what it held")
    run(CORRELATE, "-o", path("new"), *args, data=data)
    tap.ok(not os.path.exists(path("new")), f"{what}: and none is made")
status, out, err = run(CORRELATE, "-o", path("kept"), path("run.ige"))
tap.same((status, out, open(path("kept"), "rb").read()), (0, b"", run(CORRELATE, path("run.ige"))[1]),
         "an older output is replaced whole")
run(CORRELATE, "-o", path("new"), path("run.ige"))
tap.same(os.stat(path("new")).st_mode & 0o777, 0o600, "a new one is for its owner only")
status, out, err = run(CORRELATE, "-o", path("no/such/folder"), path("run.ige"))
tap.ok(status == 3 and "cannot create" in err, "a folder that is not there", err)
status, out, err = run(CORRELATE, "-o", tmp.name, path("run.ige"))
tap.ok(status == 3 and "directory" in err, "a directory is no output", err)

tap.done_testing()
