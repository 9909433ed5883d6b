#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Subjects of commits since this test is there: "area: imperative", at most 72 characters.

import re
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

SUBJECT = re.compile(r"[a-z0-9][a-z0-9_./, -]*: [a-z].*[^.]$")


def log(*argv):
    p = subprocess.run(["git", "log", "--no-merges", *argv], capture_output=True, text=True, check=False)
    return p.stdout.splitlines() if p.returncode == 0 else None


begun = log("--diff-filter=A", "--format=%H", "--", "tests/lint/commits.t")
if begun is None:
    tap.skip_all("optional: no history here")
if not begun:  # not committed yet, or a history that was cut
    begun = ["HEAD"]
subjects = log("--format=%h %s", f"{begun[-1]}..HEAD") or []
tap.none((s for s in subjects if len(s.split(" ", 1)[1]) > 72), f"{len(subjects)} subjects have 72 characters at most")
tap.none((s for s in subjects if not SUBJECT.match(s.split(" ", 1)[1])), "and say area and what is done to it")
tap.same([bool(SUBJECT.match(s)) for s in ("record: name each process", "tests/live: wait for both", "Fix", "record: Name it", "record:name", "record: name it.")],
         [True, True, False, False, False, False], "what is a subject")
tap.done_testing()
