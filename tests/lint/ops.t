#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The tables that own the vocabulary: numbers are unique for ever, names are unique within their
# kind, and what one row refers to exists in another.

import collections
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402


def rows(path, macro):
    """The arguments of every use of macro, split at top-level commas."""
    text = re.sub(r"/\*.*?\*/", " ", open(path, encoding="utf-8").read(), flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    for m in re.finditer(rf"^[ \t]*{macro}\(", text, flags=re.M):
        depth, args, at = 1, [""], m.end()
        quoted = False
        while depth:
            c = text[at]
            if c == '"':
                quoted = not quoted
            if not quoted and c == "(":
                depth += 1
            if not quoted and c == ")":
                depth -= 1
                if not depth:
                    break
            if not quoted and c == "," and depth == 1:
                args.append("")
            else:
                args[-1] += c
            at += 1
        yield [" ".join(a.split()) for a in args]


def inner(call):
    """COLUMNS(A, B) -> [A, B]; fields may be calls themselves."""
    m = re.match(r"\w+\s*\((.*)\)$", call)
    if not m or not m.group(1).strip():
        return []
    out, depth = [""], 0
    for c in m.group(1):
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            out.append("")
        else:
            out[-1] += c
    return [o.strip() for o in out]


def twice(values):
    return [f"{v}: {n} times" for v, n in collections.Counter(values).items() if n > 1]


OPS, RECORDS = "formats/ops.def", "formats/records.def"
sources = list(rows(OPS, "SOURCE"))
columns = list(rows(OPS, "COLUMN"))
ops = list(rows(OPS, "OP"))
symbols = list(rows(OPS, "SYMBOL"))
tap.ok(len(sources) > 5 and len(columns) > 10 and len(ops) > 20 and len(symbols) > 20, "the table of ops was read")
tap.none(twice(s[0] for s in sources) + twice(s[1] for s in sources) + twice(s[2] for s in sources), "sources are unique")
tap.none(twice(c[0] for c in columns) + twice(c[1] for c in columns) + twice(c[2] for c in columns), "columns are unique")
tap.none(twice((o[0], o[1]) for o in ops), "op numbers are unique within their source")
tap.none(twice((o[0], o[3]) for o in ops), "op names are unique within their source")
tap.none(twice(o[2] for o in ops), "op enumerators are unique")
source_names = {s[1] for s in sources}
column_names = {c[1] for c in columns}
of_op = {o[2]: inner(o[6]) for o in ops}
tap.none((o[2] for o in ops if o[0] not in source_names), "every op's source exists")
tap.none((f"{o}: {c}" for o, cs in of_op.items() for c in cs if c not in column_names), "every op's columns exist")
tap.none((f"{o}: {len(cs)}" for o, cs in of_op.items() if len(cs) > 16), "no op has more columns than an event holds")
tap.none((f"{s[1]} -> {s[3]}" for s in symbols if s[3] not in of_op), "every symbol's op exists")
tap.none(
    (f"{s[1]}: {len(inner(s[4]))} fields, {len(of_op[s[3]])} columns" for s in symbols
     if s[3] in of_op and len(inner(s[4])) != max(1, len(of_op[s[3]]))),
    "every symbol says where each column of its op comes from",
)
tap.none(twice((s[0], s[1]) for s in symbols), "symbols are unique within their library")

records = list(rows(RECORDS, "RECORD"))
fields = list(rows(RECORDS, "FIELD"))
metrics = list(rows(RECORDS, "METRIC"))
tap.ok(len(records) > 10 and len(fields) > 40 and len(metrics) > 5, "the table of records was read")
tap.none(twice(r[0] for r in records) + twice(r[1] for r in records) + twice(r[2] for r in records), "records are unique")
tap.none(twice((f[0], f[1]) for f in fields) + twice((f[0], f[2]) for f in fields), "fields are unique within their record")
record_names = {r[1] for r in records}
tap.none((f"{f[0]}.{f[2]}" for f in fields if f[0] not in record_names), "every field's record exists")
numbers = collections.defaultdict(list)
for f in fields:
    numbers[f[0]].append(int(f[1], 0))
tap.none((f"{r}: {n}" for r, n in numbers.items() if n != list(range(1, len(n) + 1))), "field numbers are dense and in order")
tap.none((r for r, n in numbers.items() if len(n) > 32), "no record has more fields than its presence mask has bits")
tap.none(twice(m[0] for m in metrics) + twice(m[1] for m in metrics) + twice(m[2] for m in metrics), "metrics are unique")
tap.done_testing()
