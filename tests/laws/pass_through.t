#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What a filter passes on is what came in, byte for byte, known to it or not; but never an index, which would lie.

import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, "tests")
import tap  # noqa: E402

DEMO, CORRELATE, STAT = (os.path.join(tap.BIN, "ingero-" + p) for p in ("demo", "correlate", "stat"))
SCHEMA, DICT, EVENTS, RECORDS, INDEX, TRAILER = range(1, 7)
LATE, LAST, CRITICAL, FOREIGN = 1, 2, 4, 8
tmp = tempfile.TemporaryDirectory()


def run(*args, stdin=b""):
    r = subprocess.run(args, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return r.returncode, r.stdout, r.stderr.decode()


def blocks(data):
    """(type, flags, bytes); a segment header has type 0."""
    out, at = [], 0
    while at < len(data):
        n = 80 if data[at:at + 4] == b"\x89IGE" else struct.unpack_from("<I", data, at + 8)[0]
        head = (0, 0) if data[at:at + 4] == b"\x89IGE" else (data[at + 4], data[at + 5])
        out.append((*head, data[at:at + n]))
        at += n
    return out


def block(kind, flags, rows, seq, columns, times=(1 << 63,) * 3):
    """columns: (id, encoding | compressor << 4, width | flags, count, bytes)"""
    directory = b"".join(struct.pack("<HBBIII", c[0], c[1], c[2], c[3], len(c[4]), zlib.crc32(c[4])) for c in columns)
    data = b"".join(c[4] + bytes(-len(c[4]) % 8) for c in columns)
    head = struct.pack("<4sBBHIIQQQQIII", b"IGBK", kind, flags, len(columns), 64 + len(directory) + len(data), rows, seq,
                       *times, 0, 0xFFFFFFFF, zlib.crc32(directory))
    return head + struct.pack("<I", zlib.crc32(head)) + directory + data


def with_column(b, column):
    """The block with one more column."""
    ncol, = struct.unpack_from("<H", b, 6)
    rows, seq, *times = struct.unpack_from("<IQQQQ", b, 12)
    columns, at = [], 64 + 16 * ncol
    for i in range(ncol):
        number, encoding, width, count, n, _ = struct.unpack_from("<HBBIII", b, 64 + 16 * i)
        columns.append((number, encoding, width, count, b[at:at + n]))
        at += n + -n % 8
    return block(b[4], b[5], rows, seq, columns + [column], times)


def ours(b):
    """A record of chains or of the analysis, which a filter replaces."""
    return b[0] == RECORDS and b[2][65] & 0x7F in (9, 10)


def stat(path, *args):
    status, out, err = run(STAT, "--json", *args, path)
    answer = json.loads(out)
    return status, answer["ops"], answer["processes"], {k: answer["coverage"][k] for k in ("events", "selected", "lost")}


plain = run(DEMO, "incident")[1]
inside = blocks(plain)
kinds = [b[0] for b in inside]
tap.same((kinds[-3:], inside[-1][1] & LAST), ([INDEX, TRAILER, EVENTS], LAST), "a recording ends with INDEX, TRAILER and LAST")
tap.same((len(inside[-2][2]), len(inside[-1][2])), (104, 64), "of which the last two have fixed lengths")

# Unknown: a block, a column of events, a kind of records, an encoding.
seq = struct.unpack_from("<Q", inside[2][2], 16)[0]
strange = [block(77, 0, 3, seq, [(5, 1, 2, 3, b"never heard of")]),
           block(RECORDS, 0, 1, seq, [(0x6F01, 0, 8, 1, bytes(range(8)))]),
           block(RECORDS, 0, 1, seq, [(0x0101, 13, 0, 1, b"packed in an unknown way")]),
           block(DICT, 0, 0, seq, [(40, 9, 0, 1, b"\x01\x03abc")])]
first = next(i for i, b in enumerate(inside) if b[0] == EVENTS and len(b[2]) > 64)
rows = struct.unpack_from("<I", inside[first][2], 12)[0]
wide = with_column(inside[first][2], (0x7000, 0, 8, rows, bytes(8 * rows)))
blend = inside[:first] + [(b[4], b[5], b) for b in strange] + [(EVENTS, 0, wide)] + inside[first + 1:]
status, out, err = run(CORRELATE, stdin=b"".join(b[2] for b in blend))
passed = blocks(out)
tap.same(status, 0, "what is unknown does not stop a filter")
tap.ok(all(b[2] in [p[2] for p in passed] for b in blend if b[2] in strange + [wide]), "and is passed on byte for byte")
tap.ok(any(ours(b) for b in passed), "chains are added")
tap.none([b[:2] for b in passed if b[0] in (INDEX, TRAILER)], "index and trailer are not passed on")
tap.same([b[2] for b in passed if not ours(b)], [b[2] for b in blend if b[0] not in (INDEX, TRAILER) and not ours(b)],
         "everything else is, in its order")
tap.ok(passed[-1][1] & LAST, "LAST is last")

# Through the filter a recording can be sought as before, only without its index.
file, through = os.path.join(tmp.name, "a.ige"), os.path.join(tmp.name, "b.ige")
open(file, "wb").write(plain)
open(through, "wb").write(run(CORRELATE, stdin=plain)[1])
for part in ("--last=300ms",), ("--since=3s", "--until=2.5s"), ("--since=1s", "--until=990ms"):
    tap.same(stat(through, *part), stat(file, *part), f"{' '.join(part)} counts the same behind the filter")

# A filter that knows no better, and passes the index on, does no harm.
careless = b"".join(b[2] for b in inside[:first] + [(0, 0, strange[0])] + inside[first:])
open(through, "wb").write(careless)
for part in ("--last=300ms",), ("--since=3s", "--until=2.5s"):
    tap.same(stat(through, *part), stat(file, *part), f"{' '.join(part)} counts the same with an index that lies")
without = b"".join(b[2] for b in inside if b[0] not in (INDEX, TRAILER))
open(through, "wb").write(without)
for part in ("--last=300ms",), ("--since=3s", "--until=2.5s"):
    tap.same(stat(through, *part), stat(file, *part), f"{' '.join(part)} counts the same without an index")
open(through, "wb").write(plain[:len(plain) * 3 // 4])
for part in ("--last=300ms",), ("--since=1s", "--until=900ms"):
    tap.same(stat(through, *part)[0], 4, f"{' '.join(part)} of one that was cut says so")

tap.done_testing()
