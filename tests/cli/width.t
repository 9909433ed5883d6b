#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Text on terminals of 40, 80 and 200 columns: nothing is wider than the terminal, nothing is left out.

import fcntl
import os
import re
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, "tests")
import tap  # noqa: E402

STAT, EXPLAIN, DEMO = (os.path.join(tap.BIN, "ingero-" + p) for p in ("stat", "explain", "demo"))
tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
run_ige = os.path.join(tmp.name, "run.ige")
os.chdir(tmp.name)
subprocess.run([DEMO, "incident", "--duration", "2s", "-o", run_ige], check=True)


def on_terminal(columns, *argv):
    """Standard output of argv on a terminal that wide, without its carriage returns."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.DEVNULL)
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the last writer has gone
            break
        if not piece:
            break
        out += piece
    os.close(master)
    return p.wait(), out.decode().replace("\r\n", "\n")


def words(text):
    return re.findall(r"\S+", text)


for argv in ([STAT, "run.ige"], [EXPLAIN, "run.ige"], [DEMO, "--list"], [DEMO, "incident", "--truth"]):
    name = " ".join([os.path.basename(argv[0])] + argv[1:])
    plain = subprocess.run(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout.decode()
    for columns in (40, 80, 200):
        status, out = on_terminal(columns, *argv, "--color=never")
        tap.same(status, 0, f"{name} at {columns}: status")
        wide = [line for line in out.splitlines()
                if len(line) > columns and not line.lstrip().startswith("$ ") and len(line.split()) > 1]
        tap.none(wide, f"{name} at {columns}: no line is wider")
        # A folded row needs no name for its first cell, nor the names of cells that hold nothing.
        gone = set(words(plain)) - set(words(out)) - {"-", "op", "event", "scenario", "planted", "errors", "lost", "at", "most"}
        tap.none(sorted(gone), f"{name} at {columns}: nothing is left out")
        status, colored = on_terminal(columns, *argv, "--color=always")
        tap.same(re.sub(r"\x1b\[[0-9;]*m", "", colored), out, f"{name} at {columns}: colour takes no room")
    if all(len(line) <= 200 for line in plain.splitlines()):
        tap.same(on_terminal(200, *argv, "--color=never")[1], plain, f"{name}: 200 columns are as many as it takes")
tap.done_testing()
