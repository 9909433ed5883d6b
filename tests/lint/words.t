#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The language of the sources, room by room: what each .c file is for stands in its first sentence, functions have a verb and an
# object, comments avoid the words of a private dialect and end within 100 columns. words.t --list ROOM prints what is found there.
# README.md, the manual pages and the documents of formats/ avoid these words, too, except where they quote messages and names of tests.

import collections
import glob
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

KINDS = ("opening", "function", "phrase", "column")
OPENING_LEAST = 40  # characters of the first sentence
COLUMNS = 100
ONE_WORD = {"init", "free", "next", "main", "usage"}
PHRASES = re.compile(
    r"\b(is|are|was|were|be|been|being) told\b|\bnobody (wants|asks|asked|knows|cares)\b|\b(hears?|heard) (of|from|it)\b|\bfor good\b"
    r"|\bthe books?\b|\bof (its|their|his) own making\b|\bwho(ever)? is told\b|\bsays of (it|them)\b|\btells? of\b|\bwhat is said of\b"
    r"|\blets? go of\b|\bin everybody's\b|\bto who(ever)?\b|\bof who(ever)?\b|\bbelie(ve|ves|ved)\b")


def comments(text):
    """(line number, text) of each comment."""
    for m in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', text, flags=re.S):
        if m.group(0)[0] == "/":
            yield text.count("\n", 0, m.start()) + 1, m.group(0)


def plain(comment):
    return " ".join(re.sub(r"^\s*(/\*+|\*/|\*|//)?\s?", "", line).removesuffix("*/").strip() for line in comment.split("\n")).strip()


def opening(text):
    """The first sentence of a file, behind the line of its license."""
    found = [plain(c) for _, c in comments(text)]
    found = [c for c in found if "SPDX-License-Identifier" not in c]
    before = re.split(r"(?m)^\s*#\s*(?:include|ifndef|define)", text, maxsplit=1)[0]
    if "/*" not in re.sub(r"/\*[^*]*SPDX[^*]*\*/", "", before) and "//" not in before.split("\n", 1)[-1]:
        return ""
    return re.split(r"(?<=[.!?])\s", found[0] + " ", maxsplit=1)[0] if found else ""


def findings(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if path.endswith(".c"):
        first = opening(text)
        if len(first) < OPENING_LEAST:
            yield "opening", 1, first or "no sentence at all"
        elif PHRASES.search(first):
            yield "opening", 1, first
        for m in re.finditer(r"(?m)^static (?!struct \w+ \w+\[)[\w \*]*?\b([a-z]\w*)\(", text):
            if "_" not in m.group(1) and m.group(1) not in ONE_WORD:
                yield "function", text.count("\n", 0, m.start()) + 1, m.group(1)
    for number, comment in comments(text):
        for m in PHRASES.finditer(plain(comment)):
            yield "phrase", number, m.group(0)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line.expandtabs(8)) > COLUMNS and ("/*" in line or line.lstrip().startswith(("*", "//"))):
            yield "column", number, line.strip()[:60] + "…"


def prose(path):
    """(line number, text) of each paragraph of a document, without what it quotes: code, names of tests, messages of programs."""
    with open(path, encoding="utf-8") as f:
        text = f.read()

    def blank(m):
        return re.sub(r"[^\n]", " ", m.group(0))

    text = re.sub(r"(?ms)^```.*?^```$|^\.Bd -literal.*?^\.Ed$", blank, text)
    text = re.sub(r"(?m)^ {4}.*$" if path.endswith(".md") else r"(?m)^\.(?:Dl|Ql|Li|It Li) .*$", blank, text)
    text = re.sub(r'`[^`\n]*`|\b(?:tests|lib)/[\w./-]+: "[^"\n]*"', blank, text)
    for m in re.finditer(r"(?:.+\n?)+", text):
        yield text.count("\n", 0, m.start()) + 1, m.group(0)


def phrases(path):
    for number, paragraph in prose(path):
        for m in PHRASES.finditer(re.sub(r"\s", " ", paragraph)):
            yield f"{path}:{number + paragraph.count(chr(10), 0, m.start())}: {m.group(0)}"


rooms = collections.defaultdict(list)
for path in sorted(glob.glob("lib/*/**/*.[ch]", recursive=True) + glob.glob("cmd/*.c") + glob.glob("bpf/*.[ch]")):
    rooms[path.split("/")[1] if path.startswith("lib/") else path.split("/", maxsplit=1)[0]].append(path)
found = {room: [(kind, p, n, what) for p in paths for kind, n, what in findings(p)] for room, paths in rooms.items()}
if sys.argv[1:2] == ["--list"]:
    for kind, p, n, what in found[sys.argv[2]]:
        print(f"{p}:{n}: {kind}: {what}")
    sys.exit()
for i, kind in enumerate(KINDS):
    tap.none((f"{p}:{n}: {what}" for f in found.values() for k, p, n, what in f if k == kind), f"{kind}: none is left")
documents = ["README.md", *sorted(glob.glob("man/*.[1-8]")), *sorted(glob.glob("formats/*.md"))]
tap.none((p for path in documents for p in phrases(path)), "phrase: none in the documents")
tap.done_testing()
