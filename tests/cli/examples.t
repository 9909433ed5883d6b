#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The examples of the manual pages run as they are printed, and each answers with something. Of those that need rights, other
# machines or a server, and of every other command in the pages and in the README, the options are ones the programs have.

import glob
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, "tests")
import manual  # noqa: E402
import tap  # noqa: E402

ELSEWHERE = re.compile(r"sudo|ssh |curl |clickhouse|--nodes|--http|--listen|ingero-record|ingero-dashboard|ingero-check|ingero explain")
# What the examples read: something of everything that they look for.
SETUP = """
ingero-demo incident --duration 3s -o incident.ige
ingero-demo errors --duration 3s -o errors.ige
ingero-demo memcpy-bottleneck --duration 3s -o copies.ige
ingero-merge incident.ige errors.ige copies.ige -o run.ige
ingero-demo clean --duration 3s -o before.ige
ingero-demo incident --duration 3s -o after.ige
ingero-demo incident --duration 3s -n gpu-07 -o node-07.ige
ingero-demo incident --duration 3s --seed 2 -n gpu-08 -o node-08.ige
head -c 600000 run.ige >killed.ige
printf '#!/bin/sh\\nexec cat\\n' >flamegraph.pl
chmod +x flamegraph.pl
"""


def lines_of(text):
    """Commands of a literal block: one a line, those that end in a pipe or a backslash with the next."""
    return [re.sub(r"\A[$#] ", "", c).strip() for c in re.split(r"(?<![|\\])\n", text) if "ingero" in c]


def examples(page):
    found = re.search(r"^\.Sh EXAMPLES\n(.*?)(?=^\.Sh |\Z)", page, re.S | re.M)
    text = manual.printed(found[1]) if found else ""
    shown = re.findall(r"^\.Dl (?:[$#] )?(.*)$", text, re.M)
    for block in re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", text, re.S | re.M):
        shown += lines_of(block) if not block.startswith("{") else []  # of JSON
    return shown


def mentioned(page):
    """Commands anywhere else in a page."""
    quoted = re.findall(r"^\.(?:Ql|Dl|Ic) (?:[$#] )?((?:sudo )?ingero[ -].*)$", page, re.M)
    return [manual.printed(re.sub(r"\s[.,;:)]+$", "", c)) for c in quoted]


tap.same(manual.options_unknown("sudo ingero-stat --jsn -q x | jq --foo"), ["sudo ingero-stat --jsn -q x: --jsn"], "an option that is not there is found out")
tap.same(manual.options_unknown("ingero trace -F 99 -- python3 --no-such && ingero-explain --last 5m"), [], "what is there, or is not ours, is not")
pages = {os.path.basename(p): open(p, encoding="utf-8").read() for p in sorted(glob.glob("man/ingero*.[17]"))}
with tempfile.TemporaryDirectory() as tmp:
    status, size, said = manual.answer(SETUP, tmp)
    ready = tap.ok(status == 0 and size > 100000, "the recordings are made", said[:600])
    for name, page in pages.items():
        shown = examples(page)
        tap.ok(shown, f"{name} has examples") if name.endswith(".1") else None
        for command in shown:
            if ELSEWHERE.search(command):
                manual.looked_at(f"{name}: {command}", command)
            elif re.search(r"\bjq\b", command) and not shutil.which("jq"):
                tap.skip(f"{name}: {command}", "optional: no jq here")
            elif ready:
                # 1 is an answer: something got worse, or is as bad as was asked about.
                good = (0, 1) if re.search(r"--compare|--fail-on", command) else (0,)
                status, size, said = manual.answer(command, tmp)
                tap.ok(status in good and size > 20, f"{name}: {command}", f"status {status}, {size} bytes\n{said[:600]}")
    for name, page in pages.items():
        tap.none([u for c in mentioned(page) for u in manual.options_unknown(c)], f"{name}: {len(mentioned(page))} other commands have their options")
with open("README.md", encoding="utf-8") as f:
    blocks = lines_of("\n".join(re.sub(r"\s{2,}# .*", "", line[4:]) for line in f.read().splitlines() if line.startswith("    ")))
tap.ok(len(blocks) > 20, f"README.md: {len(blocks)} commands")
tap.none([u for c in blocks for u in manual.options_unknown(c)], "README.md: their options are there")
tap.done_testing()
