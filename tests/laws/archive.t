#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# An archive holds what the recording it was made of holds: the same events in the same order, the
# same records, whatever the size of its blocks; and back again. Both readers say so.

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402
import ige_reader  # noqa: E402

TOOL = f"{tap.BUILD}/tests/reader/ige_reader"
TABLES = ige_reader.tables("formats/ige.md")
tmp = tempfile.TemporaryDirectory()


def run(*args):
    return subprocess.run([TOOL, *map(str, args)], stdout=subprocess.PIPE, check=True).stdout


def keep(name, data):
    path = os.path.join(tmp.name, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def told(path):
    """Events and records, each in their order: how they lie between each other is the writer's choice."""
    lines = run("told", path).splitlines()
    return [line for line in lines if b'{"event"' in line[:9]], [line for line in lines if b'{"event"' not in line[:9]]


def second(data):
    out = []
    reader = ige_reader.Reader(data, out.append, TABLES)
    out.append({"end": reader.read()})
    return json.loads(json.dumps(out))


def flags(data):
    return [data[at + 5] for at in range(0, len(data) - 64, 8) if data[at:at + 4] == b"IGBK" and data[at + 4] == 3]


recordings = {"fixture": run("fixture", 5000, 0), "one": run("fixture", 1, 0), "none": run("fixture", 0, 0),
               **{f"mixed {seed}": run("sort", keep("mixed.ige", run("mixed", seed, n)))
              for seed, n in ((1, 40), (2, 300), (3, 1000), (4, 2000), (5, 3000))}}
late = run("mixed", 3, 1000)
demo = os.path.join(tap.BIN, "ingero-demo")
for name in ("incident", "corpus"):
    r = subprocess.run([demo, name, "--duration", "300ms"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if r.returncode == 0:
        recordings[name] = r.stdout
for name, data in recordings.items():
    source = keep("source.ige", data)
    want, bad = told(source), []
    for block in (0, 1, 7, 1000):
        packed = run("pack", source, block)
        archive = keep("archive.ige", packed)
        got = told(archive)
        if got != want:
            bad.append(f"blocks of {block}: " + next((f"{a[:200]} is {b[:200]}" for x, y in zip(want, got) for a, b in zip(x, y) if a != b),
                                                     "lines missing"))
        if told(keep("again.ige", run("unpack", archive, block))) != want:
            bad.append(f"blocks of {block}: unpacked again")
        if len(packed) < 400000 and second(packed) != [json.loads(line) for line in run("print", archive).splitlines()]:
            bad.append(f"blocks of {block}: the second reader")
        if block == 0 and want[0] and not any(f & ige_reader.GROUPED for f in flags(packed)):
            bad.append("no grouped block")
    tap.none(bad, f"{name}: {len(want[0])} events, {len(want[1]) - 2} records")
want, got = (told(keep("x.ige", data))[0] for data in (late, run("pack", keep("source.ige", late), 0)))
tap.same(sorted(line.replace(b'"late":true', b'"late":false') for line in got),
         sorted(line.replace(b'"late":true', b'"late":false') for line in want), "what came late is kept")
tap.ok(sum(b'"late":true' in line for line in got) > 5, "and stays late")
large = recordings.get("incident", recordings["fixture"])
small = run("pack", keep("source.ige", large), 0)
tap.ok(len(small) < len(large) * 0.9, f"smaller than the recording: {len(small)} bytes of {len(large)}")


def ranked(data):
    """Blocks with a column that ranks events of equal end."""
    return sum(ige_reader.Header(data, at).columns > 0 and any(c.id == 7 for c in ige_reader.columns_of(data, at, ige_reader.Header(data, at)))
               for at in range(0, len(data) - 64, 8) if data[at:at + 4] == b"IGBK" and data[at + 4] == 3)


tap.ok(ranked(run("pack", keep("source.ige", recordings["mixed 5"]), 0)), "events that end together are among them")
tap.done_testing()
