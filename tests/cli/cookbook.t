#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The recipes of ingero(7) run as they are printed, on recordings made as it says, and each answers with something. Those
# that need root are only read by the shell, and their options are ones the programs have.

import re
import shutil
import sys
import tempfile

sys.path.insert(0, "tests")
import manual  # noqa: E402
import tap  # noqa: E402


def recipes():
    with open("man/ingero.7", encoding="utf-8") as f:
        section = re.search(r"^\.Sh COOKBOOK\n(.*?)^\.Sh ", f.read(), re.S | re.M)[1]
    found = re.findall(r"^([^.\n][^\n]*):\n\.Bd -literal -offset indent\n(.*?)\.Ed\n", section, re.S | re.M)
    return [(title, manual.printed(text)) for title, text in found]


(_, setup), *rest = recipes()
tap.ok(len(rest) >= 20, f"{len(rest)} recipes")
with tempfile.TemporaryDirectory() as tmp:
    status, size, said = manual.answer(setup, tmp)
    if not tap.ok(status == 0 and size > 100000, "the recordings are made", said[:600]):
        rest = []
    for title, command in rest:
        if command.startswith("# needs root\n"):
            manual.looked_at(title, command)
        elif re.search(r"\bjq\b", command) and not shutil.which("jq"):
            tap.skip(title, "optional: no jq here")
        else:
            status, size, said = manual.answer(command, tmp)
            tap.ok(status == 0 and size > 20, title, f"status {status}, {size} bytes\n{said[:600]}")
tap.done_testing()
