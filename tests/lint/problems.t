#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# formats/problems.md says which kinds of chains tell which problem. Held here to the detectors: the kinds named are
# those they can tell, all of them, and the tests it names are there.

import glob
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

NUMBERS = [str(n) for n in range(1, 7)] + ["6b"] + [str(n) for n in range(7, 26)]


def text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def told():
    """Kinds in the tables of detectors and in the facts that watches tell."""
    kinds = set()
    for path in glob.glob("lib/detect/*.c"):
        source = text(path)
        names = dict(re.findall(r'static const char (\w+)\[\] = "([a-z-]+)";', source))
        kinds |= set(re.findall(r'const struct loss_detector detect_\w+ = \{\s*(?:\.kind = )?"([a-z-]+)"', source))
        kinds |= set(re.findall(r'struct tolls_def \w+ = \{\s*\.kind = "([a-z-]+)"', source))
        # of a culprit it is what it is, not what happened
        source = re.sub(r"culprit\.kind = [^;,]*", "", source)
        for value in re.findall(r"struct fact \w+ = \{\s*\.kind =([^,]*),", source) + re.findall(r"\w(?:\.|->)kind = ([^;{},]*);", source):
            kinds |= set(re.findall(r'"([a-z-]+)"', value)) | {names[w] for w in re.findall(r"\b\w+\b", value) if w in names}
    return kinds


page = text("formats/problems.md")
rows = [[c.strip() for c in line.strip("|\n").split("|")] for line in page.splitlines() if line.startswith("| ")]
problems = [r for r in rows if len(r) == 5 and r[0] != "#"]
kinds = [r for r in rows if len(r) == 3 and r[0] != "kind"]
named = [k.strip("`") for k, _, _ in kinds]
can = told()

tap.same([r[0] for r in problems], NUMBERS, "all 26 rows of the list, in order")
tap.ok(len(can) > 20, "the detectors' kinds are found", str(sorted(can)))
tap.same(sorted(named), sorted(can), "the kinds of the page are those that can be told")
used = {r[0]: re.findall(r"`([a-z-]+)`", r[3]) for r in problems}
tap.none([f"{n}: {k}" for n, ks in used.items() for k in ks if k not in can], "no problem is told by a kind that there is not")
tap.none([n for n, ks in used.items() if not ks], "every problem has kinds")
tap.none(sorted(can - {k for ks in used.values() for k in ks}), "every kind tells some problem")
tap.none([r[0] for r in problems if len(r[4]) < 10], "and says how")
missing = []
for kind, *tests in kinds:
    for cell in tests:
        m = re.fullmatch(r'([\w/.]+): "(.*)"', cell)
        if not m or m.group(2) not in text(m.group(1)):
            missing.append(f"{kind}: {cell}")
        elif cell is tests[0] and f'"{kind.strip("`")}"' not in text(m.group(1)):
            missing.append(f"{kind}: {m.group(1)} does not look for it")
tap.none(missing, "every kind has its positive test and its look-alike")
manual = set(re.findall(r"^\.It ([a-z-]+) Ta ", text("man/ingero-correlate.1"), re.M))
tap.none(sorted(can - manual), "every kind stands in the manual")
tap.done_testing()
