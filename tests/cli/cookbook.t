#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The recipes of ingero(7) run as they are printed, on recordings made as it says, and each answers with something. Those
# that need root are only read by the shell, and their options are ones the programs have.

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

ESCAPES = {"\\e": "\\", "\\(aq": "'", "\\(dq": '"', "\\(ha": "^", "\\&": ""}


def printed(block):
    """What the page shows of a literal block."""
    return re.sub(r"\\(?:e|&|\(..)", lambda m: ESCAPES[m[0]], block)


def recipes():
    with open("man/ingero.7", encoding="utf-8") as f:
        section = re.search(r"^\.Sh COOKBOOK\n(.*?)^\.Sh ", f.read(), re.S | re.M)[1]
    found = re.findall(r"^([^.\n][^\n]*):\n\.Bd -literal -offset indent\n(.*?)\.Ed\n", section, re.S | re.M)
    return [(title, printed(text)) for title, text in found]


def answer(command, folder):
    """Status, and how much the recipe wrote: to standard output and into files."""
    before = set(os.listdir(folder))
    env = {**os.environ, "PATH": tap.BIN + ":" + os.environ["PATH"], "TZ": "UTC"}
    p = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
    )
    made = set(os.listdir(folder)) - before
    return p.returncode, len(p.stdout) + sum(os.path.getsize(os.path.join(folder, name)) for name in made), p.stderr.decode()


def options_known(command):
    """The long options of our programs in it that they do not have."""
    unknown = []
    for part in re.split(r"\s\|\s|\n", re.sub(r"'[^']*'", "", command)):
        words = re.sub(r" -- .*", "", part).split()
        program = next((w for w in words if w.startswith("ingero-")), None)
        if program:
            text = subprocess.run([os.path.join(tap.BIN, program), "--help"], capture_output=True, text=True, check=True).stdout
            unknown += [w for w in words if re.match(r"-\w$|--\w", w) and not re.search(rf"(^|[\s,]){re.escape(w)}\b", text, re.M)]
    return unknown


(_, setup), *rest = recipes()
tap.ok(len(rest) >= 20, f"{len(rest)} recipes")
with tempfile.TemporaryDirectory() as tmp:
    status, size, said = answer(setup, tmp)
    if not tap.ok(status == 0 and size > 100000, "the recordings are made", said[:600]):
        rest = []
    for title, command in rest:
        if command.startswith("# needs root\n"):
            shell = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
            tap.ok(shell.returncode == 0, f"{title}: the shell can read it", shell.stderr)
            tap.none(options_known(command), f"{title}: its options are there")
        elif re.search(r"\bjq\b", command) and not shutil.which("jq"):
            tap.skip(title, "optional: no jq here")
        else:
            status, size, said = answer(command, tmp)
            tap.ok(status == 0 and size > 20, title, f"status {status}, {size} bytes\n{said[:600]}")
tap.done_testing()
