#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The text of the file format and its manual page say what the tables and the code say: the same
# numbers, names and limits, no more and no fewer, and an example that is a real file.
#
#   tests/lint/format_text.t --write     writes the generated parts anew, after a table was changed

import os
import re
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, "tests")
import tap  # noqa: E402

TEXT, PAGE = "formats/ige.md", "man/ige.5"
BUILD = os.environ.get("BUILD", "build")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def rows(path, macro):
    """Arguments of every use of macro at the beginning of a line, split at top-level commas."""
    source = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
    for m in re.finditer(rf"^{macro}\(", source, flags=re.M):
        args, depth, quoted, at = [""], 1, False, m.end()
        while True:
            c = source[at]
            at += 1
            quoted ^= c == '"'
            if not quoted:
                depth += (c == "(") - (c == ")")
                if not depth:
                    break
                if c == "," and depth == 1:
                    args.append("")
                    continue
            args[-1] += c
        yield [" ".join(a.split()).strip('"') for a in args]


def enum(path, name):
    """[(enumerator, value)] of an enum whose values are all written out."""
    body = re.search(rf"enum {name} \{{(.*?)\}};", re.sub(r"/\*.*?\*/", "", read(path), flags=re.S), re.S).group(1)
    out = []
    for item in filter(None, (i.strip() for i in body.split(","))):
        key, _, value = (p.strip() for p in item.partition("="))
        out.append((key, eval(value) if value else out[-1][1] + 1 if out else 0))
    return out


def words(key, prefix):
    return key[len(prefix):].lower().replace("_", " ")


# ---- what the tables say -------------------------------------------------------------------------

OPS, RECORDS = "formats/ops.def", "formats/records.def"
sources = {s[1]: s for s in rows(OPS, "SOURCE")}
columns = {c[1]: c for c in rows(OPS, "COLUMN")}


def op_row(o):
    number = int(sources[o[0]][0]) << 8 | int(o[1])
    flags = ", ".join(f.strip()[3:].lower() for f in o[5].split("|"))
    inside = re.match(r"COLUMNS\((.*)\)", o[6]).group(1)
    names = ", ".join(columns[c.strip()][2] for c in inside.split(",") if c.strip())
    return [number, sources[o[0]][2], o[3], o[4][6:].lower(), flags, names]


records = {r[1]: r for r in rows(RECORDS, "RECORD")}
TABLES = {
    "sources": (["source", "name", "layer"], [[s[0], s[2], s[3]] for s in sources.values()]),
    "columns": (["column", "name", "role", "unit"], [[c[0], c[2], c[3][5:].lower(), c[4]] for c in columns.values()]),
    "ops": (["op", "source", "name", "track", "flags", "columns"], [op_row(o) for o in rows(OPS, "OP")]),
    "records": (["kind", "name", "field", "name of field", "type", "role", "unit"],
                [[records[f[0]][0], records[f[0]][2], f[1], f[2], f[3], f[5], f[4]] for f in rows(RECORDS, "FIELD")]),
    "metrics": (["metric", "name", "unit", "kind"],
                [[m[0], m[2], m[3], m[4].lower()] for m in rows(RECORDS, "METRIC")]),
    "objects": (["object_kind", "what a thread slept on"],
                [[v, words(k, "OBJECT_")] for k, v in enum("lib/event/op.h", "event_object")]),
    "wakers": (["waker_kind", "who woke it"],
               [[v, words(k, "WAKER_")] for k, v in enum("lib/event/op.h", "event_waker")]),
    "losses": (["reason", "why events were lost"],
               [[v, words(k, "LOSS_")] for k, v in enum("lib/event/record.h", "loss_reason")]),
}


def markdown(name):
    head, body = TABLES[name]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, r)) + " |" for r in body])


def mdoc(name):
    head, body = TABLES[name]

    def cell(c):
        return re.sub(r"(?<![\w.])(?=[A-Z][a-z] |[A-Z][a-z]$)", r"\\&", str(c)) or "\\&"

    if name == "records":
        out, last = [], None
        for r in body:
            head = cell(f"{r[0]} {r[1]}") if r[0] != last else "\\&"
            out.append(".It " + " Ta ".join([head] + [cell(r[i]) for i in (2, 3, 4, 6)]))
            last = r[0]
        return ".Bl -column \"10 analysis\" \"99\" \"uncertainty_ns\" \"TEXT\" \"ns\" -compact\n" + "\n".join(out) + "\n.El"
    if name == "ops":
        out = [".It " + " Ta ".join(cell(c) for c in (r[0], f"{r[1]}.{r[2]}", r[5])) for r in body]
        return ".Bl -column \"9999\" \"cuda.cudaGraphInstantiateWithParams\" -compact\n" + "\n".join(out) + "\n.El"
    widths = " ".join('"' + max((str(r[i]) for r in body), key=len) + '"' for i in range(len(head)))
    return f".Bl -column {widths} -compact\n" + "\n".join(".It " + " Ta ".join(cell(c) for c in r) for r in body) + "\n.El"


# ---- the example ---------------------------------------------------------------------------------

def example():
    tool = f"{BUILD}/tests/reader/ige_reader"
    data = subprocess.run([tool, "example"], stdout=subprocess.PIPE, check=True).stdout
    path = f"{BUILD}/tests/reader/example.ige"
    with open(path, "wb") as f:
        f.write(data)
    told = subprocess.run([tool, "print", path], stdout=subprocess.PIPE, check=True, text=True).stdout
    blocks, at = [], 80
    while at < len(data):
        n = int.from_bytes(data[at + 8:at + 12], "little")
        blocks.append((at, n, data[at + 4]))
        at += n

    def hexdump(at, n):
        return "```\n" + "\n".join(f"{p:04x}  " + data[p:min(p + 16, at + n)].hex(" ") for p in range(at, at + n, 16)) + "\n```"

    first = {kind: (at, n) for at, n, kind in reversed(blocks)}
    dict_at = first[2][0]
    dict_columns = int.from_bytes(data[dict_at + 6:dict_at + 8], "little")
    strings = dict_at + 64 + 16 * dict_columns
    length = int.from_bytes(data[dict_at + 72:dict_at + 76], "little")
    short = "\n".join(line if len(line) < 110 else line[:100] + " …" for line in told.splitlines())
    return {
        "segment": hexdump(0, 80),
        "dict": hexdump(dict_at, 64 + 48),
        "strings": hexdump(strings, (length + 7) // 8 * 8),
        "records": hexdump(*first[4]),
        "events": hexdump(*first[3]),
        "last": hexdump(*blocks[-1][:2]),
        "told": "```\n" + short + "\n```",
    }


def generated():
    """(path, opening line, closing line, what stands between)"""
    for name in TABLES:
        yield TEXT, f"<!-- table: {name} -->", "<!-- end -->", markdown(name)
    for name in ("columns", "ops", "records", "metrics"):
        yield PAGE, f'.\\" table: {name}', '.\\" end', mdoc(name)
    for name, content in example().items():
        yield TEXT, f"<!-- example: {name} -->", "<!-- end -->", content


def between(text, opening, closing):
    at = text.index(opening) + len(opening)
    return at, text.index(closing, at)


if sys.argv[1:] == ["--write"]:
    for path, opening, closing, content in generated():
        text = read(path)
        a, b = between(text, opening, closing)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text[:a] + "\n" + content + "\n" + text[b:])
    sys.exit(0)

for path, opening, closing, content in generated():
    text = read(path)
    if text.count(opening) != 1:
        tap.ok(False, f"{path} has one {opening.strip(chr(60))}")
        continue
    a, b = between(text, opening, closing)
    tap.none((line for line in set(text[a:b].strip().splitlines()) ^ set(content.splitlines())),
             f"{path}: {re.sub('[<>!-]|' + re.escape(chr(92)) + '|[.]', '', opening).strip()} (tests/lint/format_text.t --write)")

# The small example of packed integers, read by the reader that was written from the text.
import ige_reader  # noqa: E402

m = re.search(r"For example `([0-9a-f ]+)`, of (\d+) values:.*?index 3: ([\d, ]+)\. As a delta\ncolumn the same bytes are ([\d, ]+)\.",
              read(TEXT), re.S)
for encoding, want in ((2, m.group(3)), (4, m.group(4))):
    packed = bytes.fromhex(m.group(1))
    entry = struct.pack("<HBBIII", 1, encoding, 0, int(m.group(2)), len(packed), zlib.crc32(packed))
    tap.same(", ".join(map(str, ige_reader.Column(entry, packed).integers())), want, f"the example of encoding {encoding}")

# ---- numbers of the code -------------------------------------------------------------------------

text = read(TEXT)


def text_table(first, second):
    """{name: number} of the table whose heading begins with these two cells."""
    m = re.search(rf"^\| {first} \| {second} \|[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)", text, re.M)
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in m.group(1).strip().splitlines()] if m else []
    return {c[1]: int(c[0]) for c in cells}


def code(path, name, prefix, skip=()):
    return {words(k, prefix): v for k, v in enum(path, name) if k not in skip}


BLOCK_H, DICT_H, OP_H = "lib/ige/block.h", "lib/ige/dict.h", "lib/event/op.h"
tap.same(text_table("type", "name"), code(BLOCK_H, "ige_block_type", "IGE_"), "block types")
tap.same(text_table("flag", "name"), code(BLOCK_H, "ige_block_flag", "IGE_", ("IGE_FLAGS_KNOWN",)), "block flags")
tap.same(text_table("encoding", "name"), code(BLOCK_H, "ige_encoding", "IGE_"), "encodings")
tap.same(text_table("compressor", "name"), code(BLOCK_H, "ige_compressor", "IGE_"), "compressors")
tap.same(text_table("kind", "name"), code(DICT_H, "ige_dict_kind", "IGE_D_", ("IGE_D_KINDS",)), "kinds of definitions")
tap.same(text_table("column", "name"), code(BLOCK_H, "ige_column", "IGE_", ("IGE_EXTRA",)), "columns of events")
tap.same(text_table("role", "name"), code(OP_H, "column_role", "ROLE_"), "roles")
tap.same(text_table("track", "name"), code(OP_H, "op_track", "TRACK_"), "tracks")
tap.same(text_table("op flag", "name"), code(OP_H, "op_flag", "OP_"), "flags of ops")

block_h = read(BLOCK_H)
for limit, macro in {
    "bytes of a block": "IGE_LENGTH_MAX",
    "rows of a block": "IGE_EVENTS_MAX",
    "columns of a block": "IGE_COLUMNS_MAX",
    "ids of one kind in a segment": "IGE_IDS_MAX",
    "bytes of a string of a dictionary": "IGE_TEXT_MAX",
    "raw bytes of a compressed column per stored byte": "IGE_INFLATE_MAX",
}.items():
    value = re.search(rf"#define {macro}\s+([^/\n]+)", block_h).group(1)
    said = re.search(rf"^\| {limit} \| (\d+) \|", text, re.M)
    tap.same(said and int(said.group(1)), eval(value.replace("u", "")), f"limit: {limit}")
sizes = {m: int(n) for m, n in re.findall(r"#define (IGE_(?:SEGMENT|BLOCK|DIRECTORY)_BYTES)\s+(\d+)", block_h)}
tap.ok(f"header of {sizes['IGE_SEGMENT_BYTES']} bytes" in text and f"header of {sizes['IGE_BLOCK_BYTES']} bytes" in text
       and f"directory of {sizes['IGE_DIRECTORY_BYTES']} bytes per column" in text, "sizes of headers")
major, minor = (re.search(rf"#define IGE_{v} (\d+)", block_h).group(1) for v in ("MAJOR", "MINOR"))
tap.ok(f"Version {major}.{minor}," in text and f"* **{major}.{minor}**" in text, "version, and a line in the change log")
tap.done_testing()
