#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Layouts of CPythons from 3.13 on, with the lock and without it: what is read out of a runtime's own table of offsets is
# where its headers put things, and what no table says is as the walker takes it. No interpreter is needed, so builds that
# Debian does not make are among them.
import os
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

VERSIONS = ["3.13", "3.14", "3.15"]
# The walker's own words for them, in bpf/python*.h and lib/symbols/python_find.c.
TAKEN = {"copies_start": 8, "compact_after_kind": 3, "ascii_after_kind": 4, "number_before_first_thread": 8,
         "oldest_after_first_interpreter": 8, "number_after_first_interpreter": 16, "version_in_print": 1}
compiler = shlex.split(os.environ.get("INGERO_COMPILE", "gcc -std=gnu11 -D_GNU_SOURCE -I."))


def compile_(source, out, *options, tools=("gcc",)):
    p = subprocess.run([*tools, os.path.join(rec.HERE, source), "-o", out, *options], capture_output=True, text=True, cwd=rec.ROOT)
    return tap.ok(p.returncode == 0, f"{source} compiles", p.stderr[-2000:]) if p.returncode else True


def pairs(text):
    return dict(line.split() for line in text.splitlines())


def own_table(include):
    """How 3.13, which has no macro for it, fills its table."""
    text = open(os.path.join(include, "internal", "pycore_runtime_init.h"), encoding="utf-8").read().replace("\\\n", "\n")
    begin = text.index("{", text.index(".debug_offsets ="))
    depth = 0
    for end in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            break
    return re.sub(r"\s+", " ", text[begin:end + 1].replace("debug_cookie", '"xdebugpy"'))


def one(root, version, free):
    name = f"CPython {version}" + (" without the lock" if free else "")
    include = f"{root}/usr/include/python{version}"
    options = [f"-I{include}", f"-I{include}/internal", f"-I{root}/usr/include", *(["-DPy_GIL_DISABLED=1"] if free else [])]
    if version == "3.13":
        with open(rec.path("own.h"), "w", encoding="utf-8") as f:
            f.write(f"#define OWN {own_table(include)}\n")
        options += ["-include", rec.path("own.h")]
    program, table = rec.path("headers"), rec.path("table.so")
    if not compile_("python_headers.c", program, *options) or not compile_("python_headers.c", table, "-DTABLE", "-shared", "-fPIC", *options):
        return
    want = pairs(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    p = subprocess.run([layout, table], capture_output=True, text=True)
    got = pairs(p.stdout)
    got.update({k: str(v) for k, v in TAKEN.items()})
    got["destructor"] = "64" if free else "48"
    tap.same(p.stderr.strip(), f"CPython {version}" + (" free-threaded" if free else ""), f"{name}: told from the file")
    tap.none([f"{k}: {got.get(k)}, by the headers {v}" for k, v in want.items() if got.get(k) != v],
             f"{name}: all {len(want)} of its layout are where its headers say")


p = subprocess.run([os.path.join(rec.HERE, "debian_root"), "sid", *(f"libpython{v}-dev" for v in VERSIONS)], capture_output=True, text=True,
                   env=dict(os.environ, BUILD=rec.BUILD))
if p.returncode:
    tap.skip_all("optional: " + (p.stdout.strip() or p.stderr.strip() or "no headers").splitlines()[-1])
layout = rec.path("layout")
if compile_("python_layout.c", layout, os.path.join(rec.BUILD, "libingero.a"), "-lelf", "-lz", tools=compiler):
    for v in VERSIONS:
        if not os.path.exists(f"{p.stdout.strip()}/usr/include/python{v}/Python.h"):
            tap.ok(True, f"CPython {v} # SKIP optional: not in this release")
            continue
        for free in (False, True):
            one(p.stdout.strip(), v, free)
tap.done_testing()
