#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Other CPUs read and write the same: the reader is compiled for one of the other byte order and for
# arm64 and run under qemu on every sample, and what is written there is read here. Without zlib,
# which is not there for them: with a reader of deflate streams of its own.

import os
import shutil
import subprocess
import sys
import tempfile
from glob import glob

sys.path.insert(0, "tests")
import tap  # noqa: E402

TOOL = f"{tap.BUILD}/tests/reader/ige_reader"
SAMPLES = sorted(glob("formats/samples/v1/*/*.ige"))
CPUS = {"s390x": ("s390x-linux-gnu-gcc", "qemu-s390x-static"), "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64-static")}
WITHOUT = ("lib/base/deflate.c", "lib/base/json.c", "lib/event/chain.c", "lib/world/record_json.c")
SOURCES = [s for room in ("base", "event", "world", "ige") for s in sorted(glob(f"lib/{room}/*.c")) if s not in WITHOUT]
SOURCES += sorted(glob("tests/reader/*.c"))


def run(*command):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if r.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]}: {r.stderr.decode()[-800:]}")
    return r.stdout


def newest(paths):
    return max(os.path.getmtime(p) for p in paths)


def build(cpu):
    """Objects are kept, so that only the first run takes its time."""
    compiler = CPUS[cpu][0]
    folder = f"{tap.BUILD}/cpus/{cpu}"
    os.makedirs(folder, exist_ok=True)
    headers = newest([*glob("lib/*/*.h"), *glob("tests/*/*.h"), *glob("formats/*.def")])
    objects = []
    for source in SOURCES:
        objects.append(f"{folder}/{source.replace('/', '-')[:-2]}.o")
        if not os.path.exists(objects[-1]) or os.path.getmtime(objects[-1]) < max(headers, os.path.getmtime(source)):
            run(compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-I.", "-c", source, "-o", objects[-1])
    run(compiler, "-static", *objects, "-lm", "-o", f"{folder}/ige_reader")
    return f"{folder}/ige_reader"


with tempfile.TemporaryDirectory() as tmp:
    here = run(TOOL, "reports", *SAMPLES)
    tap.ok(here.count(b'"report"') == len(SAMPLES) > 80, f"{len(SAMPLES)} samples read here")
    for cpu, (compiler, qemu) in CPUS.items():
        lacks = [p for p in (compiler, qemu) if not shutil.which(p)]
        if lacks:
            tap.skip(f"{cpu} reads and writes the same", f"optional: no {' and no '.join(lacks)}")
            continue
        reader = [qemu, build(cpu)]
        there = run(*reader, "reports", *SAMPLES)
        tap.none([f"{a[:300]} is {b[:300]}" for a, b in zip(here.splitlines(), there.splitlines()) if a != b], f"{cpu}: the samples")
        tap.ok(len(here) == len(there), f"{cpu}: all of them")
        bad = []
        for args in (("fixture", "500", "100"), ("mixed", "3", "300"), ("records", "3"), ("example",)):
            texts = []
            for maker in ([TOOL], reader):
                path = os.path.join(tmp, "x.ige")
                with open(path, "wb") as f:
                    f.write(run(*maker, *args))
                # Larger definitions end segments earlier: what stands where may differ, not what is said.
                texts.append(sorted(run(TOOL, "told", path).replace(b'"late":true', b'"late":false').splitlines()))
            if texts[0] != texts[1]:
                bad.append(" ".join(args))
        tap.none(bad, f"{cpu}: what it writes is read here")
tap.done_testing()
