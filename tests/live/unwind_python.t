#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Python frames stand between the native ones where they do by frame pointers, in stacks that are walked by tables: as python.t for
# the interpreter that runs this.
import os
import platform
import sys

os.environ["RECORD_WITH"] = "--unwind-memory 64m"
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pythons
import recording as rec
from recording import tap

rec.need_bpf()
if platform.machine() != "x86_64":
    tap.skip_all("stacks are walked by frame pointers on this machine")
here = pythons.Python([os.path.realpath(sys.executable)])
if not here.implementation or not here.supported():
    tap.skip_all("the Python that runs this is not known")
pythons.known(here)
tap.done_testing()
