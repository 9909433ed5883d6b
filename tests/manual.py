# SPDX-License-Identifier: Apache-2.0
#
# Commands that the manual and the README print: as a reader sees them, run as they stand, or, where they need rights, other
# machines or a server, looked at: whether the shell can read them, and whether their options are there.

import functools
import os
import re
import subprocess

import tap

ESCAPES = {"\\e": "\\", "\\(aq": "'", "\\(dq": '"', "\\(ha": "^", "\\&": ""}


def printed(text):
    """What a page shows of literal text."""
    return re.sub(r"\\(?:e|&|\(..)", lambda m: ESCAPES[m[0]], text)


def answer(command, folder):
    """Status, how much the command wrote (to standard output and into files), and what it said."""
    before = {e.name: (e.stat().st_size, e.stat().st_mtime_ns) for e in os.scandir(folder)}
    env = {**os.environ, "PATH": f"{folder}:{tap.BIN}:{os.environ['PATH']}", "TZ": "UTC"}
    p = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
    )
    made = [e.stat().st_size for e in os.scandir(folder) if before.get(e.name) != (e.stat().st_size, e.stat().st_mtime_ns)]
    return p.returncode, len(p.stdout) + sum(made), p.stderr.decode()


@functools.lru_cache(None)
def help_of(program, command):
    return subprocess.run([os.path.join(tap.BIN, program), *command, "--help"], capture_output=True, text=True, check=True).stdout


def options_of(words):
    """The help of the program of ours that the words start, and what of them is for it."""
    at = next((i for i, w in enumerate(words) if w == "ingero" or w.startswith("ingero-")), None)
    if at is None:
        return "", []
    program, rest = words[at], words[at + 1 :]
    if program != "ingero":
        return help_of(program, ()), rest
    if not rest or rest[0].startswith("-"):
        return help_of("ingero", ()), rest
    text = help_of("ingero", (rest[0],))
    if rest[0] == "trace":  # takes those of the recorder, too
        text += help_of("ingero-record", ())
    return text, rest[1:]


def options_unknown(command):
    """The options of our programs in it that they do not have."""
    unknown = []
    for part in re.split(r"\s\|\s|\s&&\s|\s\|\|\s|\n|\$\(", re.sub(r"'[^']*'", "", command.replace("\\\n", " "))):
        text, words = options_of(re.sub(r" -- .*", "", part).split())
        for word in words:
            name = re.match(r"--?[A-Za-z][\w-]*", word)
            if name and not re.search(rf"(^|[\s,]){re.escape(name[0])}\b", text, re.M):
                unknown.append(f"{part.strip()}: {name[0]}")
    return unknown


def looked_at(name, command):
    """Checks of a command that is not run."""
    shell = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
    tap.ok(shell.returncode == 0, f"{name}: the shell can read it", shell.stderr)
    tap.none(options_unknown(command), f"{name}: its options are there")
