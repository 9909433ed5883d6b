#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What README.md, formats/contributing.md and the pages of section 7 send a reader to is there: files of this tree, targets
# of make, tests. So are the objects that make compiles otherwise than the rest: nothing else says that one has got another name.

import glob
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

# A part of a path in capitals stands for a name of the reader's choice.
ROOMS = r"(?:cmd|lib|bpf|formats|tests|completions)/[\w./*-]+"


def missing(text):
    paths = {p.rstrip(".,;:") for p in re.findall(rf"(?<![\w./-]){ROOMS}", text)}
    return sorted(p for p in paths if not re.search(r"\b[A-Z]{2,}\b", p) and not glob.glob(p))


def unknown(text, known):
    return sorted({t for t in re.findall(r"(?:^    |`|Ta |Ql )make ([a-z][a-z-]*)", text, re.M)} - known)


def made_of_nothing(text):
    names = set(re.findall(r"(?<![\w%.-])((?:\w+/)*[a-z]\w*)\.o\b", text))
    return sorted(n for n in names if not glob.glob(f"**/{n}.c", recursive=True))


rules = "".join(open(path, encoding="utf-8").read() for path in ["Makefile", *glob.glob("**/rules.mk", recursive=True)])
targets = {name for row in re.findall(r"^([a-z][\w -]*):(?!=)", rules, re.M) for name in row.split()}
tap.ok({"all", "check", "lint", "score", "tarball"} <= targets, "targets are found", sorted(targets))
tap.same(missing("see `lib/nosuch/nothing.c`, lib/nosuch/NAME.c"), ["lib/nosuch/nothing.c"], "a file that is not there is found out")
tap.same(unknown("    make nosuch\n`make lint`", targets), ["nosuch"], "so is a target")
tap.same(made_of_nothing("$(addprefix lib/,base/err.o base/nosuch.o) %.o x.bpf.o"), ["base/nosuch"], "and an object")
tap.none(made_of_nothing(re.sub(r"\S*linked\.o", "", rules)), "objects with flags of their own are made of files that are there")
for page in ["README.md", "formats/contributing.md", *sorted(glob.glob("man/*.7"))]:
    with open(page, encoding="utf-8") as f:
        text = f.read()
    tap.none(missing(text), f"{page}: files are there")
    tap.none(unknown(text, targets), f"{page}: targets are there")
tap.done_testing()
