#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What makes a mistake in a program harder to misuse is in every program that is shipped: it is loaded anywhere, has no memory
# that is both written and executed, its tables of functions are read-only from the start, and stacks and buffers are watched.

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402


def out(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


def lacks(program):
    text = out("readelf", "-hlWd", program)
    segments = dict(re.findall(r"^ +(GNU_STACK|GNU_RELRO) .* ([RWE ]{3}) 0x", text, re.M))
    wanted = {"position-independent": re.search(r"Type: +DYN", text) and re.search(r"FLAGS_1.*\bPIE\b", text),
              "stack not executable": "E" not in segments.get("GNU_STACK", "E"),
              "relro": "GNU_RELRO" in segments, "bound at the start": re.search(r"FLAGS_1.*\bNOW\b", text),
              "nothing written and executed": not re.search(r"^ +LOAD .* RWE 0x", text, re.M)}
    return sorted(name for name, there in wanted.items() if not there)


library = os.path.join(tap.BUILD, "libingero.a")
symbols = out("nm", "-u", library)
if re.search(r"__(asan|tsan|ubsan)_", symbols):
    tap.skip_all("a build with a sanitizer has that instead")
programs = [p for kind in ("bin", "static", "multi") for p in sorted(glob.glob(os.path.join(tap.BUILD, kind, "*")))
            if os.access(p, os.X_OK) and os.path.isfile(p) and open(p, "rb").read(4) == b"\x7fELF"]
static = [p for p in programs if os.path.dirname(p) == os.path.join(tap.BUILD, "static")]
tap.ok(len(programs) > 10, f"{len(programs)} programs, {len(static)} of them static")
tap.same({p: lacks(p) for p in programs if lacks(p)}, {}, "each is position-independent, relro, bound at the start, W^X")
tap.same([p for p in static if "INTERP" in out("readelf", "-lW", p)], [], "the static ones need no loader")
tap.ok("__stack_chk_fail" in symbols, "stacks are guarded")
tap.ok(len(set(re.findall(r"__\w+_chk\b", symbols)) - {"__stack_chk_fail"}) > 3, "calls with the size of their buffer check it",
       sorted(set(re.findall(r"__\w+_chk\b", symbols))))
tap.ok("position-independent" in lacks(os.path.join(tap.BUILD, "lib/base/err.o")), "what is no such program is found out")
tap.done_testing()
