#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# One option table per program: what --complete-options prints is compared with --help and with the
# manual page. Options of the group "General" may be left to ingero(7), if the page refers to it.

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402


def output(*command):
    r = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return r.returncode, r.stdout, r.stderr


def table(path):
    """{long name: (letter, group, takes a value, arg)}"""
    options = {}
    for line in output(path, "--complete-options")[1].splitlines()[1:]:
        if not line.startswith("option\t"):
            continue
        _, letter, name, kind, arg, _, group, _ = line.split("\t")
        options[name] = (letter, group, kind not in ("flag", "count"), arg)
    return options


def manual(page):
    """{long name: (letter, takes a value)} from the .It Fl lines; letters without a long name under their letter."""
    options = {}
    for line in open(page, encoding="utf-8"):
        if not re.match(r"\.It\s+Fl\b", line):
            continue
        letter = ""
        for m in re.finditer(r"\bFl\s+(?:Fl\s+|(?:\\-|-)-?)?([A-Za-z0-9][\w-]*|[A-Za-z0-9](?:\\-|[\w-])*)", line):
            word = m.group(1).replace("\\-", "-")
            if len(word) == 1:
                letter = word
            else:
                options[word] = (letter, " Ar " in line or " Cm " in line)
    return options


programs = sorted(glob.glob(os.path.join(tap.BIN, "ingero*")))
tap.ok(programs, "programs are built")
letters = {}
for path in programs:
    name = os.path.basename(path)
    options = table(path)
    status, text, said = output(path, "--help")
    tap.ok(status == 0 and not said, f"{name} --help is status 0 on standard output")
    tap.none((line for line in text.splitlines() if len(line) > 80), f"{name} --help fits 80 columns")
    tap.ok(len(text.splitlines()) <= 60, f"{name} --help is one screen", f"{len(text.splitlines())} lines")
    shown = set(re.findall(r"^ {2,6}(?:-\w, )?--([\w-]+)", text, flags=re.M))
    tap.same(sorted(shown), sorted(options), f"{name} --help lists the options of its table")
    for long, (letter, group, _, _) in options.items():
        if letter:
            letters.setdefault(letter, {}).setdefault(long, []).append(name)

    page = f"man/{name}.1"
    if not tap.ok(os.path.exists(page), f"{name} has a manual page"):
        continue
    described = manual(page)
    refers = ".Xr ingero 7" in open(page, encoding="utf-8").read()
    missing = [o for o in options if o not in described and not (refers and options[o][1] == "General")]
    tap.none(missing, f"{page} describes every option")
    tap.none((o for o in described if o not in options), f"{page} describes no other")
    tap.none(
        (f"--{o}: table -{options[o][0]}, page -{described[o][0]}" for o in described if o in options and options[o][0] != described[o][0]),
        f"{page} has the same letters",
    )
    tap.none(
        (f"--{o}" for o in described if o in options and options[o][2] != described[o][1]),
        f"{page} shows a value where the option takes one",
    )
tap.none(
    (f"-{letter}: {uses}" for letter, uses in sorted(letters.items()) if len(uses) > 1),
    "a letter is the same option in every program",
)
tap.done_testing()
