#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Two readers that share nothing but formats/ige.md say the same of every recording, event by event
# and name by name: whole, cut, torn and joined, with flipped bytes, and of a newer version.

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, "tests")
import tap  # noqa: E402
import ige_reader  # noqa: E402

TOOL = f"{tap.BUILD}/tests/reader/ige_reader"
TABLES = ige_reader.tables("formats/ige.md")
random.seed(1)
tmp = tempfile.TemporaryDirectory()
path = os.path.join(tmp.name, "x.ige")


def make(*args):
    return subprocess.run([TOOL, *map(str, args)], stdout=subprocess.PIPE, check=True).stdout


# Lines of JSON, parsed only where they differ as text: that costs as much as reading.
def first(data):
    with open(path, "wb") as f:
        f.write(data)
    r = subprocess.run([TOOL, "print", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if r.returncode:
        return [json.dumps({"status": r.returncode, "said": r.stderr.decode()})]
    return [line.decode() for line in r.stdout.splitlines()]


def second(data):
    out = []
    reader = ige_reader.Reader(data, out.append, TABLES)
    out.append({"end": reader.read()})
    return [json.dumps(x, ensure_ascii=False, separators=(",", ":")) for x in out]


def differ(data):
    """'' or the first line on which they differ."""
    a, b = first(data), second(data)
    for x, y in zip(a, b):
        if x != y and json.loads(x) != json.loads(y):
            return f"first: {x[:300]}\nsecond: {y[:300]}"
    return "" if len(a) == len(b) else f"{len(a)} lines, {len(b)} lines"


def agree(name, inputs):
    bad = [f"{label}: {d}" for label, d in ((label, differ(data)) for label, data in inputs) if d]
    tap.none(bad, f"{name} ({len(inputs)} inputs)")


fixture = make("fixture", 120, 50)
mixed = [make("mixed", seed, n) for seed, n in ((1, 40), (2, 300), (3, 1000), (4, 2000))]
lines = [json.loads(x) for x in second(mixed[2])]
tap.ok(sum("event" in x for x in lines) == 1000, "the mixed recording has all its events")
tap.ok(any(x.get("late") for x in lines) and any("record" in x for x in lines) and lines[-2] == {"last": True},
       "late ones, records and a clean end among them")
tap.ok(mixed[2].count(ige_reader.SEGMENT_MAGIC) > 1, "and several segments")
agree("whole recordings", [("empty", b""), ("example", make("example")), ("fixture 1", make("fixture", 1, 0)),
                           ("fixture 3000", make("fixture", 3000, 0)), *((f"mixed {i}", m) for i, m in enumerate(mixed))])

demo = os.path.join(tap.BIN, "ingero-demo")
if os.path.exists(demo):
    scenarios = subprocess.run([demo, "--list"], stdout=subprocess.PIPE, text=True).stdout
    names = [line.split()[0] for line in scenarios.splitlines() if line.split()] or ["incident"]
    recordings = []
    for name in names:
        r = subprocess.run([demo, name, "--duration", "200ms"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if r.returncode == 0 and r.stdout.startswith(ige_reader.SEGMENT_MAGIC):
            recordings.append((name, r.stdout))
    tap.ok(recordings, "ingero-demo wrote recordings")
    agree("generated recordings", recordings)
else:
    tap.skip("generated recordings", "no ingero-demo yet")

whole = mixed[0]
cuts = sorted({*range(0, 180, 3), *(random.randrange(len(whole)) for _ in range(60))})
agree("cut anywhere", [(f"cut at {c}", whole[:c]) for c in cuts])
agree("a torn recording in front of another",
      [(f"cut at {c}", m[:c] + fixture) for m in mixed[:2] for c in (random.randrange(len(m)) for _ in range(25))])
agree("joined", [("a b", mixed[0] + mixed[1]), ("b a", mixed[1] + mixed[0]), ("a a", fixture + fixture),
                 ("a noise b", fixture + random.randbytes(777) + mixed[0]),
                 ("noise", random.randbytes(3000)), ("text", b"no recording at all " * 50)])


def flipped(data):
    at = random.randrange(len(data))
    return f"byte {at}", data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1:]


agree("one bit wrong", [flipped(m) for m in (fixture, mixed[0], mixed[1]) for _ in range(40)])
agree("a stretch of zeros", [(f"{m}", data[:at] + bytes(500) + data[at + 500:])
                             for m, data in enumerate(mixed[:2]) for at in (random.randrange(len(data)) for _ in range(20))])


def block_of(data, kind, flags=0, directory=b"", columns=b"", ncol=0, rows=0):
    tag = struct.unpack_from("<I", data, 64)[0]
    head = b"IGBK" + struct.pack("<BBHIIQqqqIII", kind, flags, ncol, 64 + len(directory) + len(columns), rows,
                                 tag << 32 | 99, 5, 5, 5, 0, 0xFFFFFFFF, zlib.crc32(directory))
    return head + struct.pack("<I", zlib.crc32(head)) + directory + columns


def column(number, coding, width, count, data):
    return struct.pack("<HBBIII", number, coding, width, count, len(data), zlib.crc32(data)), data + bytes(-len(data) % 8)


def with_block(kind, flags=0, *columns, rows=0):
    directory, data = b"".join(c[0] for c in columns), b"".join(c[1] for c in columns)
    return fixture + block_of(fixture, kind, flags, directory, data, len(columns), rows) + mixed[0]


agree("of a newer version", [
    ("block type", with_block(99)),
    ("critical block type", with_block(99, 4)),
    ("block flag", with_block(3, 0x20)),
    ("critical block flag", with_block(3, 0x24)),
    ("index", with_block(5)),
    ("column", with_block(3, 0, column(9000, 0, 1, 0, b""))),
    ("critical column", with_block(3, 0, column(9000, 0, 0x81, 0, b""))),
    ("reserved column", with_block(3, 0, column(7, 0, 1, 0, b""))),
    ("encoding of ends", with_block(3, 0, column(1, 2, 1, 1, b"x"), rows=1)),
    ("record kind", with_block(4, 0, column(0x7701, 0, 1, 1, b"x"), rows=1)),
    ("critical record kind", with_block(4, 4, column(0x7701, 0, 1, 1, b"x"), rows=1)),
    ("record field", with_block(4, 0, column(0x0103, 0, 1, 1, b"x"), column(0x01F0, 0, 1, 1, b"x"), rows=1)),
    ("critical record field", with_block(4, 0, column(0x01F0, 0, 0x81, 1, b"x"), rows=1)),
    ("odd width", with_block(4, 0, column(0x0104, 0, 5, 2, b"0123456789"), rows=2)),
    ("column flags", with_block(4, 0, column(0x0103, 0, 1, 1, b"x"), column(0x0104, 0, 0x11, 1, b"x"), rows=1)),
    ("kind of definition", with_block(2, 0, column(40, 9, 1, 1, b"\1\0"))),
])
tap.done_testing()
