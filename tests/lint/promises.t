#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# formats/promises.md says which test looks at the effect of what the older agent's documents promise: the tests are there,
# with the text that is named, and every command line of the documents has a row.

import os
import re
import sys

sys.path.insert(0, "tests")
import seeds  # noqa: E402
import tap  # noqa: E402

STATES = ("", "**missing**: ", "**partly**: ", "**differs**: ")


def text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def cells(line):
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def wrong(test):
    """Why the cell names no check."""
    found = re.fullmatch(r'(tests/[\w./-]+): "(.*)"', test)
    if not found:
        return "names no test"
    if not os.path.exists(found[1]):
        return "no such test"
    if len(found[2]) < 6:
        return "too short to find a check by"
    checks = re.sub(r"(?m)^\s*(?:#|/\*|\*|//).*$", "", text(found[1]))  # a comment checks nothing
    return None if found[2] in checks else "is not in the test"


def said_so(command):
    """As the page writes what stands for something in a line of the documents."""
    for name, word in (("{DB}", "FILE"), ("{HOSTS}", "HOSTS"), ("{CERT}", "FILE"), ("{KEY}", "FILE"), ('"15:40"', "15:40"), ('"15:45"', "15:45")):
        command = command.replace(name, word)
    command = re.sub(r'(--clock-skew-threshold \S+) ".*"', r"\1 SQL", command)
    return command.replace("trace --db FILE", "trace --db FOLDER")


rows = [cells(line) for line in text("formats/promises.md").splitlines() if line.startswith("| ") and not line.startswith("| capability")]
tap.ok(len(rows) >= 126, f"{len(rows)} rows")
tap.none([r for r in rows if len(r) != 4], "four columns each")
tap.none([f"{r[0]}: {r[2]}: {wrong(r[2])}" for r in rows if wrong(r[2])], "every row's test is there, with its check")
tap.same(wrong('tests/cli/stat.t: "of no test at all"'), "is not in the test", "a check that is not there is found out")
tap.none([f"{r[0]}: {r[3]}" for r in rows if r[3] and not r[3].startswith(STATES[1:])], "what is different begins with how")
tap.none([r[0] for i, r in enumerate(rows) if r[:2] in [o[:2] for o in rows[:i]]], "no row twice")
commands = {r[1].strip("`") for r in rows}
lines = [said_so(command) for _, _, command in seeds.lines()]
tap.none([line for line in lines if line not in commands], "every command line of the documents has a row")
tap.done_testing()
