#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Python frames are the truth: for every call out of every kind of code, function, file and executing line of every
# frame are what Python itself says they are, in each CPython that is here. What cannot be told is said, never guessed.
import glob
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pythons
import recording as rec
from recording import tap

rec.need_bpf()


def interpreters():
    """Each Python here: the one that runs this, the system's, and those of a version manager."""
    found = {}
    for path in [sys.executable, "/usr/bin/python3", *sorted(glob.glob("/usr/bin/python3.[0-9]*[0-9]")),
                 *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python"))),
                 *os.environ.get("PYTHONS", "").split()]:
        real = os.path.realpath(path)
        if real not in found and os.access(real, os.X_OK):
            found[real] = pythons.Python([real])
    return [x for x in found.values() if x.implementation]


all_of_them = interpreters()
supported = [x for x in all_of_them if x.supported()]
for x in supported:
    pythons.known(x)
if not supported:
    tap.ok(True, "CPython 3.8 to 3.15 # SKIP optional: none is here")
others = [x for x in all_of_them if not x.supported()]
for x in others:
    pythons.unknown(x)
if not others:
    tap.ok(True, "a Python that is not known # SKIP optional: none is here")
tap.done_testing()
