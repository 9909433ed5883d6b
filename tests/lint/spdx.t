#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Every file says its license in its first line (second, behind #!), then what it is for; none is
# so long that it holds two things.

import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

USER = "SPDX-License-Identifier: Apache-2.0"
KERNEL = "SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause"
LINES_MAX = 600
# Data, and what carries its license elsewhere.
EXEMPT = ("LICENSE", "README.md", ".gitignore", ".clang-format")
EXEMPT_ENDINGS = (".md", ".json", ".ndjson", ".ige", ".bin", ".txt", ".svg", ".png", ".gz", ".hex")

# The tracked files, or all files where the tree came without git.
r = subprocess.run(["git", "ls-files"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
if r.returncode == 0 and r.stdout:
    files = r.stdout.split("\n")
else:
    found = subprocess.run(
        ["find", ".", "-path", "./build*", "-prune", "-o", "-type", "f", "-printf", "%P\n"],
        stdout=subprocess.PIPE, text=True,
    )
    files = found.stdout.split("\n")


def head(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read().split("\n")


def license_line(path, lines):
    if path.startswith("bpf/") or path.endswith(".bpf.c"):
        return lines[0] in (f"// {KERNEL}", f"/* {KERNEL} */")
    if path.endswith((".c", ".h", ".def")):
        return lines[0] == f"/* {USER} */"
    first = lines[1] if lines[0].startswith(("#!", "#compdef")) and len(lines) > 1 else lines[0]
    return USER in first


missing, silent, long = [], [], []
count = 0
for path in sorted(filter(None, files)):
    if path in EXEMPT or path.endswith(EXEMPT_ENDINGS):
        continue
    try:
        lines = head(path)
    except (FileNotFoundError, IsADirectoryError):
        continue
    count += 1
    if not license_line(path, lines):
        missing.append(f"{path}: {lines[0][:60]}")
    if path.endswith((".c", ".h")) and not (len(lines) > 2 and lines[1].startswith(("/*", "//"))):
        silent.append(path)
    if path.endswith((".c", ".h")) and len(lines) - 1 > LINES_MAX:
        long.append(f"{path}: {len(lines) - 1} lines")
tap.none(missing, f"license line ({count} files)")
tap.none(silent, "every file opens with what it is for")
tap.none(long, f"no file is longer than {LINES_MAX} lines")
tap.done_testing()
