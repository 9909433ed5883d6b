#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The words of which the sentences of findings are made (lib/input/sentence_words.c): all those in string literals of the
# rooms that write findings, and what numbers have behind them. ingero-merge --anonymize keeps no others, so one that is
# missing there reads "[left out]" in what is given away. `tests/lint/sentence_words.t --write` makes the table anew.

import glob
import os
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

TABLE = "lib/input/sentence_words.c"
# Rooms that write findings, their texts and their members' names, those before and those after they are called otherwise.
ROOMS = ("account", "advice", "attrib", "detect", "event", "gpustate", "loops", "model", "path", "tracks", "world")
# What functions of other rooms print (lib/base/fmt.c), and rates of them.
UNITS = "KiB MiB GiB TiB PiB EiB B KiB/s MiB/s GiB/s TiB/s B/s ns us ms s min h d W MHz GHz C".split()
# Files of processes, whose numbers are printed as texts.
FILES = ["/proc/#" + name for name in "/task /fd /status /stack /wchan /cgroup".split()]
# Names of error codes.
CODES = "formats/codes.def"

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
NUMBER = re.compile(r"%[-+ #0]*[0-9]*(?:\.[0-9*]+)?(?:hh|h|ll|l|z|j)?[diuxX]")
OTHER = re.compile(r"%[-+ #0]*[0-9*]*(?:\.[0-9*]+)?[a-zA-Z]")
EDGES = "!\"#$%&'()*+,-.:;<=>?[]^_`{|}"


def literals(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*#\s*include.*$", "", text, flags=re.M)
    text = re.sub(r'"\s*PRI[diux]64\s*"', "u", text)
    text = re.sub(r'"\s*PRI[diux]64', 'u"', text)
    return ["".join(LITERAL.findall(run)) for run in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text)]


def words_of(literal):
    literal = re.sub(r"\\[nt]", " ", literal).replace('\\"', '"').replace("\\\\", "\\")
    literal = OTHER.sub("\0", NUMBER.sub("7", literal)).replace("%%", " ")
    for unit in re.split(r"[ \0]+", literal):
        for part in [unit] + re.split("[=,']", unit):
            part = re.sub(r"[0-9]+", "#", part.strip(EDGES))
            if re.search("[A-Za-z]", part) and re.fullmatch(r"[!-~]+", part):
                yield part


def expected():
    found = set(UNITS + FILES)
    for literal in literals(open(CODES, encoding="utf-8").read()):
        found.update(words_of(literal))
    for room in ROOMS:
        for path in glob.glob(f"lib/{room}/**/*.[ch]", recursive=True):
            for literal in literals(open(path, encoding="utf-8").read()):
                found.update(words_of(literal))
    return sorted(found, key=lambda w: w.encode())


def quoted(word):
    return '"%s",' % word.replace("\\", "\\\\").replace('"', '\\"')


def table(words):
    lines, line = [], "\t"
    for word in words:
        if len(line) + 8 + len(quoted(word)) > 100:
            lines.append(line.rstrip())
            line = "\t"
        line += quoted(word) + " "
    return "\n".join(lines + [line.rstrip()]) + "\n"


want = expected()
text = open(TABLE, encoding="utf-8").read()
begin, end = text.index("words[] = {\n") + len("words[] = {\n"), text.index("};\n", text.index("words[] = {\n"))
if "--write" in sys.argv:
    with open(TABLE + ".new", "w", encoding="utf-8") as out:
        out.write(text[:begin] + table(want) + text[end:])
    os.replace(TABLE + ".new", TABLE)
    sys.exit(0)
have = [w.replace('\\"', '"').replace("\\\\", "\\") for w in LITERAL.findall(text[begin:end])]
tap.ok(len(want) > 1000, "sentences of findings have words", str(len(want)))
tap.same(sorted(set(want) - set(have)), [], "all of them are in the table (or run tests/lint/sentence_words.t --write)")
tap.same(sorted(set(have) - set(want)), [], "and no others")
tap.same(have, sorted(have, key=lambda w: w.encode()), "sorted as bytes")
tap.done_testing()
