#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Every header compiles alone, so that including it needs no knowledge of what it needs.
# INGERO_COMPILE is the build's own compiler call (set by make).

import concurrent.futures
import glob
import os
import shlex
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

compile_c = shlex.split(os.environ.get("INGERO_COMPILE", f"cc -std=gnu11 -D_GNU_SOURCE -I. -I{tap.BUILD}"))
compile_c = [w for w in compile_c if w != "-Werror" and not w.endswith("ccache")]


def try_header(path):
    # -Wno-unused: static functions of a header nobody calls here
    r = subprocess.run(
        compile_c + ["-Werror", "-Wno-unused", "-fsyntax-only", "-x", "c", "-include", path, "/dev/null"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    return path, r.returncode, r.stdout


headers = sorted(glob.glob("lib/**/*.h", recursive=True) + glob.glob("tests/*.h") + ["bpf/wire.h", "bpf/spec.h"])
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    bad = [f"{p}:\n{out}" for p, rc, out in pool.map(try_header, headers) if rc]
tap.none(bad, f"{len(headers)} headers compile alone")


def guarded(path):
    text = open(path, encoding="utf-8").read()
    return "#ifndef INGERO_" in text or "#pragma once" in text


tap.none((h for h in headers if not guarded(h)), "headers can be included twice")
tap.done_testing()
