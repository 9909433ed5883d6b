#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The worked examples of formats/contributing.md: an operation, a kind of record, a detector and an output format, each a patch in
# tests/examples. It touches as many files as the document promises, applies to the sources as they are now, compiles, and what it adds
# works in a program that is linked with it.

import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
DEMO = "incident"


class Example:
    """A copy of the files that a patch touches, patched."""

    def __init__(self, name, folder):
        self.name, self.folder, self.wrong, self.objects = name, os.path.join(folder, name), [], []
        with open(f"tests/examples/{name}.patch", encoding="utf-8") as f:
            parts = re.split(r"(?m)^diff --git .*\n", f.read())[1:]
        self.files = [self.apply(p) for p in parts]

    def apply(self, part):
        """The path of the file; each hunk stands where its context does, wherever that is by now."""
        path = re.search(r"(?m)^\+\+\+ b/(\S+)", part).group(1)
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        for hunk in re.split(r"(?m)^@@.*@@.*\n", part)[1:]:
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] for line in lines if line[0] in " -")
            after = "".join(line[1:] for line in lines if line[0] in " +")
            if text.count(before) != 1 and before:
                self.wrong.append(f"{path}: {text.count(before)} places for a hunk:\n{before}")
            text = text.replace(before, after, 1) if before else after
        target = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def sources(self):
        """The .c files of the patch, and those that unfold a table or include a header that it changes."""
        changed = [p for p in self.files if not p.endswith(".c")]
        users = [c for c in glob.glob("lib/*/*.c") if any(f'#include "{p}"' in open(c, encoding="utf-8").read() for p in changed)]
        users += [os.path.splitext(h)[0] + ".c" for h in glob.glob("lib/*/*.h") if any(f'#include "{p}"' in open(h, encoding="utf-8").read() for p in changed)]
        return sorted({p for p in self.files if p.endswith(".c")} | {c for c in users if os.path.exists(c)})

    def compile(self):
        compiler, flags = compile_flags()
        for source in self.sources():
            own = os.path.join(self.folder, source)
            out = os.path.join(self.folder, source.replace("/", "-") + ".o")
            self.run([*compiler, *flags, "-I" + self.folder, "-I.", "-I" + BUILD, "-c", own if os.path.exists(own) else source, "-o", out])
            self.objects.append((source, out))

    def link(self, program):
        """The program with these objects in the place of those that it was built of."""
        own = next((o for s, o in self.objects if s == f"cmd/{program}.c"), f"{BUILD}/cmd/{program}.o")
        out = os.path.join(self.folder, program)
        compiler, flags = compile_flags()
        self.run([*compiler, *[f for f in flags if not f.startswith("-D")], "-o", out, own, *[o for s, o in self.objects if not s.startswith("cmd/")],
                  f"{BUILD}/libingero.a", *libraries(program)])
        return out

    def run(self, words):
        if self.wrong:
            return ""
        p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if p.returncode:
            self.wrong.append(f"{shlex.join(words)}: {p.returncode}\n{p.stderr[-2000:]}")
        return p.stdout


def compile_flags():
    with open(f"{BUILD}/flags", encoding="utf-8") as f:
        words = shlex.split(f.read())
    n = next(i for i, w in enumerate(words) if w.startswith("-"))
    return words[:n], [w for w in words[n:] if w.startswith("-") and w != "-I."] + ['-DINGERO_VERSION="example"', '-DINGERO_COMMIT="example"']


def libraries(program):
    """As the program was linked."""
    dynamic = subprocess.run(["readelf", "-d", os.path.join(BUILD, "bin", program)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return ["-pie", "-pthread", *["-l:" + name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not name.startswith("ld-")]]


def recording(e, program=os.path.join(BUILD, "bin", "ingero-demo")):
    path = os.path.join(e.folder, "demo.ige")
    e.run([program, "-q", DEMO, "--duration", "3s", "-o", path])
    return path


def check_format(e):
    lines = e.run([e.link("ingero-export"), "-f", "logfmt", recording(e)]).splitlines()
    return bool(lines) and all(re.fullmatch(r"start_ns=\d+ pid=\d+ op=\S+ duration_ns=\d+( return=-?\d+)?", line) for line in lines)


def check_detector(e):
    found = os.path.join(e.folder, "found.ige")
    e.run([e.link("ingero-correlate"), "-q", "-o", found, recording(e)])
    report = e.run([os.path.join(BUILD, "bin", "ingero-explain"), "--json", found])
    return any(c["kind"] == "slow-sync" and "waits long for the device" in c["summary"] for c in json.loads(report or '{"chains": []}')["chains"])


def check_record(e):
    made = recording(e, e.link("ingero-demo"))
    lines = e.run([e.link("ingero-export"), "-f", "json", "--records", made]).splitlines()
    return any(json.loads(line).get("record") == "note" and "generated by" in json.loads(line)["text"] for line in lines if '"record"' in line)


def check_operation(e):
    source = os.path.join(e.folder, "main.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write('#include <stdio.h>\n#include "lib/event/op.h"\nint main(void) { return puts(op_builtin(OP_CUDA_DEVICE_GET_ATTRIBUTE)->name) < 0; }\n')
    compiler, flags = compile_flags()
    program = os.path.join(e.folder, "main")
    e.run([*compiler, *flags, "-I" + e.folder, "-I.", "-I" + BUILD, source, *[o for _, o in e.objects], f"{BUILD}/libingero.a", *libraries("ingero-correlate"), "-o", program])
    return e.run([program]) == "cudaDeviceGetAttribute\n"


# name, files (what tests and documents need besides is not in the patch), what works then
EXAMPLES = (("operation", 1, check_operation), ("record", 3, check_record), ("detector", 2, check_detector), ("format", 3, check_format))
with tempfile.TemporaryDirectory(prefix="examples-", dir=BUILD) as top:
    for name, files, check in EXAMPLES:
        e = Example(name, top)
        tap.same((len(e.files), e.files), (files, e.files), f"{name}: so many files")
        if not tap.none(e.wrong, f"{name}: applies to the sources as they are"):
            continue
        e.compile()
        tap.none(e.wrong, f"{name}: compiles")
        works = check(e)
        tap.ok(works and not e.wrong, f"{name}: works", "\n".join(e.wrong))
tap.done_testing()
