# SPDX-License-Identifier: Apache-2.0
"""The command lines that people of the older agent have in their fingers (tests/cli/seeds.txt), ready to be run."""
import os
import shlex
import subprocess

import tap

FRONT = os.path.abspath(os.path.join(tap.BIN, "ingero"))


def lines():
    """(kind, reason, command line)"""
    with open("tests/cli/seeds.txt", encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                kind, command = line.rstrip("\n").split("\t")
                kind, _, reason = kind.partition(" ")
                yield kind, reason, command


def words(command, stand_for):
    """The words of a line, with what stands for a path, a process or a user in its place."""
    for name, value in stand_for.items():
        command = command.replace(name, str(value))
    found = shlex.split(command)
    assert found[0] == "ingero", command
    return [FRONT, *found[1:]]


def run(command, stand_for, **settings):
    return subprocess.run(words(command, stand_for), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **settings)


def unknown(text):
    """Whether a program did not know a word of the line."""
    return "unknown option" in text or "no command" in text or "not part of this build yet" in text
