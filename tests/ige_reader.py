#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# A second reader of .ige files, written from formats/ige.md and nothing else, with nothing but the
# standard library. Section numbers are those of that text.
#
#   python3 tests/ige_reader.py FILE      events and records as lines of JSON, names resolved
#
# Texts are printed as the characters with the numbers of their bytes.

import json
import math
import os
import struct
import sys
import zlib

SEGMENT, BLOCK, ENTRY = 80, 64, 16
SEGMENT_MAGIC, BLOCK_MAGIC = b"\x89IGE\r\n\x1a\n", b"IGBK"
SCHEMA, DICT, EVENTS, RECORDS, INDEX, TRAILER = range(1, 7)
LATE, LAST, CRITICAL, FOREIGN, GROUPED = 1, 2, 4, 8, 16
LENGTH_MAX, ROWS_MAX, COLUMNS_MAX, IDS_MAX, GAP_MAX = 4 << 20, 65536, 512, 1 << 22, 1 << 20
TIME_MAX, UNKNOWN_TIME = 1 << 62, -(1 << 63)
REREAD_MAX = 64 << 20
(STRING, NODE, PROCESS, IMAGE, THREAD, CGROUP, GPU, MODULE, FRAME, STACK, CTX, SYMBOL, SITE,
 COLUMN, OP) = range(1, 16)
U32, U64 = 0xFFFFFFFF, (1 << 64) - 1

# Section 6, roles: what a reference refers to; the others are plain numbers.
ROLE_KIND = {8: THREAD, 9: PROCESS, 10: CGROUP, 11: GPU, 12: STACK}
ROLES = 13

# Section 16: kind -> name, {field: (name, type, reference)}. Only what a reader must know to name things.
R = {"NODE": NODE, "PROCESS": PROCESS, "THREAD": THREAD, "CGROUP": CGROUP, "GPU": GPU, "STACK": STACK}


class Damaged(Exception):
    pass


class Newer(Exception):
    """Sound, and not described in this version."""


class Stop(Exception):
    """Newer, and critical."""


def crc(data):
    return zlib.crc32(data) & U32


class Bytes:
    """Section 1: varints, texts."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = 0
        for i in range(10):
            if self.at == len(self.data):
                break
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                return value & U64
        raise Damaged("varint")

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Damaged("too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def text(self):
        return self.take(self.varint())

    def u32(self):
        return self.varint() & U32

    def left(self):
        return len(self.data) - self.at


def unzigzag(v):
    return v >> 1 ^ -(v & 1)


def signed32(v):
    v &= U32
    return v - (1 << 32) if v >> 31 else v


class Header:
    """Section 4. Raises Damaged when it is not sound."""

    def __init__(self, data, at):
        raw = data[at:at + BLOCK]
        if len(raw) < BLOCK or raw[:4] != BLOCK_MAGIC or crc(raw[:60]) != struct.unpack_from("<I", raw, 60)[0]:
            raise Damaged("block header")
        (self.type, self.flags, self.columns, self.length, self.rows, self.sequence, self.end_min, self.end_max,
         self.start_min, self.lost, self.floor, self.directory_crc) = struct.unpack_from("<BBHIIQqqqIII", raw, 4)
        if not BLOCK + self.columns * ENTRY <= self.length <= LENGTH_MAX or self.length % 8:
            raise Damaged("length")
        if self.rows > ROWS_MAX or self.columns > COLUMNS_MAX:
            raise Damaged("rows or columns")
        for t in (self.end_min, self.end_max, self.start_min):
            if not -TIME_MAX < t < TIME_MAX and t != UNKNOWN_TIME:
                raise Damaged("times")
        if self.end_min > self.end_max or (self.end_min == UNKNOWN_TIME) != (self.end_max == UNKNOWN_TIME):
            raise Damaged("times")
        self.tag = self.sequence >> 32


def segment_tag(data, at):
    """Section 3: the tag of the segment that begins here. Raises Damaged, or Stop for what is newer."""
    raw = data[at:at + SEGMENT]
    if len(raw) < SEGMENT or raw[:8] != SEGMENT_MAGIC:
        raise Damaged("segment header")
    if crc(raw[:60] + b"\0\0\0\0" + raw[64:]) != struct.unpack_from("<I", raw, 60)[0]:
        raise Damaged("segment header")
    major, _, length, flags, unit = struct.unpack_from("<HHIII", raw, 8)
    if major > 1:
        raise Stop("version")
    if major == 0 or length != SEGMENT:
        raise Damaged("segment header")
    if flags >> 16 or unit != 1:
        raise Stop("flags or unit")
    return struct.unpack_from("<I", raw, 64)[0]


def sound(data, at):
    try:
        Header(data, at)
        return True
    except Damaged:
        pass
    try:
        segment_tag(data, at)
        return True
    except Damaged:
        return False
    except Stop:
        return True


def next_header(data, at, end):
    """The next sound header at or behind at, or None."""
    while at < end:
        found = [p for p in (data.find(BLOCK_MAGIC, at, end + 3), data.find(SEGMENT_MAGIC, at, end + 7)) if p >= 0]
        if not found or min(found) >= end:
            return None
        at = min(found)
        if sound(data, at):
            return at
        at += 1
    return None


class Column:
    """Section 5: a directory entry and its bytes."""

    def __init__(self, entry, data):
        self.id, coding, width, self.count, length, self.crc = struct.unpack("<HBBIII", entry)
        self.encoding, self.compressor = coding & 15, coding >> 4
        self.width, self.reserved, self.critical = width & 15, width >> 4 & 7, bool(width & 0x80)
        self.data = data[:length]

    def bytes(self, limit=None):
        if crc(self.data) != self.crc:
            raise Damaged("column checksum")
        if self.reserved or self.compressor > 1:
            raise Newer("column")
        if self.compressor == 0:
            return self.data
        if len(self.data) < 8:
            raise Damaged("compressed column")
        raw = struct.unpack_from("<I", self.data)[0]
        if raw > LENGTH_MAX or raw > (64 * len(self.data) if limit is None else limit):
            raise Damaged("inflates too far")
        d = zlib.decompressobj()
        try:
            out = d.decompress(self.data[8:], raw + 1)
        except zlib.error:
            raise Damaged("zlib")
        if len(out) != raw or not d.eof or d.unused_data:
            raise Damaged("zlib length")
        return out

    def integers(self):
        data = self.bytes(self.count * self.width if self.width else None)
        if self.encoding not in (0, 2, 3, 4, 6, 7) or (self.encoding in (2, 4) and self.width):
            raise Newer("encoding")
        if self.encoding in (2, 4):
            return self.packed(Bytes(data))
        if self.encoding == 3:
            if len(data) != 8:
                raise Damaged("constant")
            return [struct.unpack("<Q", data)[0]] * self.count
        if not 1 <= self.width <= 8 or self.width * self.count != len(data):
            raise Damaged("raw column")
        w = self.width
        if self.encoding in (6, 7):
            return self.planes(data)
        if w in (1, 2, 4, 8):
            return list(struct.unpack(f"<{self.count}{ {1: 'B', 2: 'H', 4: 'I', 8: 'Q'}[w]}", data))
        return [int.from_bytes(data[i:i + w], "little") for i in range(0, len(data), w)]

    def planes(self, data):
        """Byte k of all values stands in stretch k; encoding 7: of differences."""
        n = self.count
        out = [int.from_bytes(data[i::n], "little") for i in range(n)]
        if self.encoding == 7:
            total = 0
            for i, v in enumerate(out):
                out[i] = total = total + v & (1 << 8 * self.width) - 1
        return out

    def packed(self, b):
        """Groups of 128; a delta column adds the value before."""
        out, before = [], 0
        while len(out) < self.count:
            n = min(128, self.count - len(out))
            width, npatches = b.take(2)
            base = b.varint()
            if width > 56 or npatches > n:
                raise Damaged("packed group")
            bits = int.from_bytes(b.take((n * width + 7) // 8), "little")
            mask = (1 << width) - 1
            group = [base + (bits >> i * width & mask) for i in range(n)]
            for _ in range(npatches):
                index = b.take(1)[0]
                if index >= n:
                    raise Damaged("patch")
                group[index] += b.varint() << width
            out += [v & U64 for v in group]
        if b.at != len(b.data):
            raise Damaged("packed column is longer than its values")
        if self.encoding == 4:
            for i, v in enumerate(out):
                before = out[i] = before + v & U64
        return out

    def texts(self):
        data = self.bytes()
        if self.encoding != 8:
            raise Newer("encoding")
        if 4 * self.count > len(data):
            raise Damaged("text column")
        at, out = 4 * self.count, []
        for n in struct.unpack_from(f"<{self.count}I", data):
            if n > len(data) - at:
                raise Damaged("text leaves its column")
            out.append(data[at:at + n])
            at += n
        return out

    def bits(self):
        """A presence column."""
        data = self.bytes()
        if self.encoding != 0 or self.compressor:
            raise Newer("encoding")
        return [byte >> i & 1 for byte in data for i in range(8)]


def columns_of(data, at, header):
    """Section 4: directory and columns, which fill the block."""
    directory = data[at + BLOCK:at + BLOCK + header.columns * ENTRY]
    if crc(directory) != header.directory_crc:
        raise Damaged("directory")
    end, place, out = at + header.length, at + BLOCK + len(directory), []
    for i in range(header.columns):
        entry = directory[i * ENTRY:(i + 1) * ENTRY]
        length = struct.unpack_from("<I", entry, 8)[0]
        padded = (length + 7) & ~7
        if padded > end - place:
            raise Damaged("column leaves its block")
        if any(data[place + length:place + padded]):
            raise Damaged("padding")
        out.append(Column(entry, data[place:place + length]))
        place += padded
    if place != end:
        raise Damaged("columns do not fill their block")
    return out


class World:
    """Section 6, identity: things by their key, attributes from the first definition in the input."""

    def __init__(self):
        self.attributes = {}
        self.symbols = {}

    def add(self, kind, key, attributes=None):
        self.attributes.setdefault((kind, key), attributes)
        return key

    def get(self, kind, key):
        return self.attributes[kind, key]


class Segment:
    def __init__(self):
        self.ids = {kind: {} for kind in range(1, 16)}
        self.greatest = dict.fromkeys(range(1, 16), 0)
        self.columns, self.ops = {}, {}


class Reader:
    def __init__(self, data, out, known):
        self.data, self.out = data, out
        self.roles, self.ops, self.fields = known
        self.world = World()
        self.segment = Segment()
        self.tag = None
        # Numbers mean the same in every file: what this reader knows, then the first definition in the input.
        self.all_columns = dict(self.roles)
        self.all_ops = {number: op[:2] for number, op in self.ops.items()}
        self.reread = 0
        self.damaged = self.skipped = self.newer = self.lost = self.told_events = self.told_records = 0
        self.truncated = self.unterminated = False

    # ---- definitions ----

    def ref(self, kind, number):
        return self.segment.ids[kind].get(number)

    def entry(self, kind, b, number):
        w, s = self.world, self.segment

        def ref(k):
            return self.ref(k, b.varint())

        if kind == STRING:
            return w.add(kind, bytes(b.data))
        if kind == NODE:
            key = (b.take(16), b.varint())
            return w.add(kind, key, {"name": ref(STRING)})
        if kind == PROCESS:
            key = (ref(NODE), b.u32(), b.varint())
            return w.add(kind, key, {"parent": b.u32(), "ns_tgid": b.u32(), "uid": b.u32()})
        if kind == IMAGE:
            key = (ref(PROCESS), b.u32())
            return w.add(kind, key, {"exe": ref(STRING), "cmdline": ref(STRING), "comm": ref(STRING)})
        if kind == THREAD:
            key = (ref(PROCESS), b.u32(), b.varint())
            return w.add(kind, key, {"comm": ref(STRING)})
        if kind == CGROUP:
            key = (ref(NODE), b.varint())
            return w.add(kind, key, {"path": ref(STRING)})
        if kind == GPU:
            node, uuid, name, index = ref(NODE), ref(STRING), ref(STRING), b.u32()
            key = (uuid,) if uuid is not None else (None, node, index)
            return w.add(kind, key, {"uuid": uuid, "name": name, "index": index})
        if kind == MODULE:
            return w.add(kind, (ref(STRING), ref(STRING)))
        if kind == FRAME:
            return w.add(kind, (b.varint(), ref(MODULE), b.varint(), ref(STRING), ref(STRING)))
        if kind == STACK:
            n = b.varint()
            if n > 256:
                raise Damaged("stack")
            frames = tuple(ref(FRAME) for _ in range(n))
            return w.add(kind, frames) if n else None
        if kind == CTX:
            return w.add(kind, (ref(NODE), ref(IMAGE), ref(THREAD), ref(CGROUP), ref(GPU)))
        if kind == SYMBOL:
            frame = ref(FRAME)
            symbol = {"symbol": ref(STRING), "file": ref(STRING), "line": b.u32(), "delta": b.varint()}
            if frame is not None:
                w.symbols.setdefault(frame, symbol)
            return None
        if kind == COLUMN:
            number, name, role, unit, critical = b.varint(), b.text(), b.varint(), b.text(), b.varint()
            if critical and number not in self.roles:
                raise Stop("critical column")
            if 16 <= number < 0x8000:
                self.all_columns.setdefault(number, (name, role))
            return None
        if kind == OP:
            number, source, name, _track = b.varint(), b.text(), b.text(), b.varint()
            b.varint()
            n = b.varint()
            if n > 12:
                raise Damaged("op")
            columns = [b.varint() for _ in range(n)]
            if number:
                self.all_ops.setdefault(number, (source, name))
                s.ops[number] = columns
            return None
        return self.site(b)

    def site(self, b):
        op = b.varint()
        if op not in self.segment.ops and op in self.ops:
            self.segment.ops[op] = self.ops[op][2]
        if op not in self.segment.ops:
            return None
        site = {"op": op, "stack": self.ref(STACK, b.varint()), "ret": signed32(unzigzag(b.varint())),
                "columns": self.segment.ops[op], "args": b.varint() & 0xFFFF, "values": {}}
        if site["args"]:
            present = b.varint() & site["args"]
            for i, column in enumerate(site["columns"]):
                if present >> i & 1:
                    site["values"][column] = b.varint()
        site["values"] = {c: self.value(c, v) for c, v in site["values"].items() if self.usable(c)}
        return site

    def usable(self, column):
        return column in self.all_columns and self.all_columns[column][1] < ROLES

    def value(self, column, v):
        """What a column's number stands for."""
        kind = ROLE_KIND.get(self.all_columns[column][1])
        return v if kind is None else (kind, self.ref(kind, v))

    def definitions(self, columns):
        damage = None
        newer = None
        for column in columns:
            if not 1 <= column.id <= 15 or column.encoding != 9:
                if column.critical:
                    raise Stop("definitions")
                continue
            try:
                self.run(column.id, column.count, Bytes(column.bytes()))
            except Newer as e:
                if column.critical:
                    raise Stop("definitions")
                newer = e
            except Damaged as e:
                damage = e
        if damage or newer:
            raise damage or newer

    def run(self, kind, count, b):
        number = b.varint()
        has_ids = kind not in (SYMBOL, COLUMN, OP)
        if has_ids and (not 1 <= number <= IDS_MAX - count or number > self.segment.greatest[kind] + 1 + GAP_MAX):
            raise Damaged("ids")
        for _ in range(count):
            thing = self.entry(kind, Bytes(b.text()), number)
            if has_ids and thing is not None:
                self.segment.ids[kind][number] = thing
            if has_ids:
                self.segment.greatest[kind] = max(number, self.segment.greatest[kind])
            number += 1

    # ---- events ----

    def few(self, c, header, values, bits):
        """Section 7: sparse columns of few values, together."""
        if c.encoding != 9 or c.compressor:
            raise Newer("encoding")
        b = Bytes(c.bytes())
        for _ in range(c.count):
            if not b.left():
                break
            number, count, present = b.varint(), b.varint(), b.varint()
            if not 16 <= number < 0x8000 or count > header.rows or count > b.left():
                raise Damaged("few")
            got = []
            if number not in values and number not in bits and number in self.all_columns:
                values[number] = iter(got)
                if present:
                    bits[number] = iter([present >> k & 1 for k in range(present.bit_length() - 1)])
            for _ in range(count):
                got.append(b.varint())

    def events(self, header, columns):
        own, values, bits = {}, {}, {}
        partial = None
        for c in columns:
            number = c.id & 0x7FFF
            known = 1 <= number <= 7 or number in self.roles
            if c.critical and not known:
                raise Stop("column")
            if c.id < 16 and c.id != 6:
                if not known or c.id in own:
                    continue
                if c.count != header.rows:
                    raise Damaged("count")
                try:
                    own[c.id] = c.integers()
                except Newer:
                    if c.critical:
                        raise Stop("column")
                    raise
                continue
            try:
                if c.id == 6:
                    self.few(c, header, values, bits)
                elif c.id & 0x8000:
                    if number not in bits:
                        bits[number] = iter([])
                        bits[number] = iter(c.bits())
                elif number not in values:
                    values[number] = iter([])
                    if c.count > header.rows:
                        raise Damaged("count")
                    values[number] = iter(c.integers())
            except Newer:
                if c.critical:
                    raise Stop("column")
            except Damaged as e:
                partial = e
        if not header.rows:
            return partial
        if not {1, 2, 3, 4} <= own.keys() or UNKNOWN_TIME in (header.end_min, header.start_min):
            raise Damaged("columns 1 to 4")
        depths = own.get(5) or [0] * header.rows
        rows, keys, placed = [], [], True
        order = own.get(7) or [0] * header.rows
        for end, dur, ctx, site, depth, rank in zip(own[1], own[2], own[3], own[4], depths, order):
            end += header.end_min
            if end > header.end_max or dur >= TIME_MAX or end - dur < header.start_min:
                raise Damaged("row outside its block")
            s = self.ref(SITE, site)
            if s is None:
                partial, placed = partial or Newer("undefined site"), False
                continue
            args = dict(s["values"])
            if placed:
                for i, column in enumerate(s["columns"]):
                    if s["args"] >> i & 1 or column not in values and column not in bits:
                        continue
                    if column in bits and not next(bits[column], 0):
                        continue
                    v = next(values.get(column, iter([])), None)
                    if v is not None and self.usable(column):
                        args[column] = self.value(column, v)
            rows.append((s, end, dur, depth & 0xFFFF, self.ref(CTX, ctx), args))
            keys.append((end, rank))
        if header.flags & GROUPED:
            rows = [rows[i] for i in sorted(range(len(rows)), key=keys.__getitem__)]
        self.told_events += len(rows)
        for row in rows:
            self.print_event(header, *row)
        return partial

    # ---- records ----

    def records(self, header, columns):
        kind = (columns[0].id & 0x7FFF) >> 8 if columns else 0
        if kind not in self.fields:
            if header.flags & CRITICAL:
                raise Stop("record kind")
            raise Newer("record kind")
        name, fields = self.fields[kind]
        rows = [{} for _ in range(header.rows)]
        bits, partial = {}, None
        for c in columns:
            number = c.id & 0x7FFF
            field = fields.get(number & 0xFF) if number >> 8 == kind else None
            try:
                if c.id & 0x8000:
                    bits = {number: []}
                    bits = {number: c.bits()}
                    continue
                if field is None:
                    if c.critical:
                        raise Stop("field")
                    continue
                have = bits.get(number)
                if field[1] != "TEXT" and c.count > header.rows:
                    raise Damaged("count")
                which = [i for i in range(header.rows) if have is None or (i < len(have) and have[i])]
                for i, v in zip(which, c.texts() if field[1] == "TEXT" else c.integers()):
                    rows[i][number & 0xFF] = self.field(field, v)
            except Newer:
                if c.critical:
                    raise Stop("field")
            except Damaged as e:
                partial = e
        self.told_records += len(rows)
        for row in rows:
            self.out({"record": name, **{fields[n][0]: row[n] for n in sorted(row)}})
        return partial

    def field(self, field, v):
        _, kind, role = field
        if kind == "TEXT":
            return v.decode("latin-1")
        if kind == "I64":
            return unzigzag(v)
        if kind == "F64":
            v = struct.unpack("<d", struct.pack("<Q", v))[0]
            return v if math.isfinite(v) else None
        if role in R:
            return self.show(R[role], self.ref(R[role], v))
        return v & U32 if kind == "U32" else v

    # ---- printing ----

    @staticmethod
    def text(t):
        return None if t is None else t.decode("latin-1")

    def show(self, kind, key):
        w, text = self.world, self.text
        if key is None:
            return None
        if kind == NODE:
            return text(w.get(kind, key)["name"])
        if kind == PROCESS:
            a = w.get(kind, key)
            return {"pid": key[1], "start_ns": key[2], "parent": a["parent"], "ns_pid": a["ns_tgid"], "uid": a["uid"],
                    "node": self.show(NODE, key[0])}
        if kind == THREAD:
            return {"tid": key[1], "start_ns": key[2], "comm": text(w.get(kind, key)["comm"]),
                    "process": self.show(PROCESS, key[0])}
        if kind == CGROUP:
            return {"id": key[1], "path": text(w.get(kind, key)["path"])}
        if kind == GPU:
            a = w.get(kind, key)
            return {"index": a["index"], "uuid": text(a["uuid"]), "name": text(a["name"])}
        return [self.frame(f) for f in key]

    def frame(self, key):
        if key is None:
            return None
        kind, module, offset, name, file = key
        out = {"kind": kind & 0xFF, "offset": offset}
        if module is not None:
            out.update(module=self.text(module[0]), build_id=self.text(module[1]))
        symbol = self.world.symbols.get(key)
        if symbol:
            out.update(symbol=self.text(symbol["symbol"]), delta=symbol["delta"], line=symbol["line"],
                       file=self.text(symbol["file"]))
        elif name is not None or file is not None:
            out.update(name=self.text(name), file=self.text(file))
        return out

    def print_event(self, header, site, end, dur, depth, ctx, args):
        source, name = self.all_ops[site["op"]]
        out = {"event": site["op"], "op": f"{self.text(source)}.{self.text(name)}", "end_ns": end, "dur_ns": dur,
               "depth": depth, "ret": site["ret"], "late": bool(header.flags & LATE)}
        if ctx is not None:
            node, image, thread, cgroup, gpu = ctx
            out["node"] = self.show(NODE, node)
            out["thread"] = self.show(THREAD, thread)
            if image is not None:
                a = self.world.get(IMAGE, image)
                out.update(process=self.show(PROCESS, image[0]), exec=image[1], exe=self.text(a["exe"]),
                           cmdline=self.text(a["cmdline"]), comm=self.text(a["comm"]))
            out["cgroup"] = self.show(CGROUP, cgroup)
            out["gpu"] = self.show(GPU, gpu)
        out["stack"] = self.show(STACK, site["stack"])
        out["args"] = {}
        for column in site["columns"]:
            if column in args:
                v = args[column]
                out["args"][self.text(self.all_columns[column][0])] = self.show(*v) if isinstance(v, tuple) else v
        self.out(out)

    # ---- the file ----

    def block(self, at, header):
        """One block; returns where the next one begins."""
        columns = partial = None
        damaged = False
        if not header.flags & FOREIGN and header.tag != self.tag:
            self.segment, self.tag, self.unterminated = Segment(), header.tag, True
        if header.type == EVENTS:
            self.lost += header.lost
        if header.flags & CRITICAL and header.flags & 0xE0:
            raise Stop("block flags")
        try:
            columns = columns_of(self.data, at, header)
            if header.type == SCHEMA:
                self.segment = Segment()
            if header.type in (SCHEMA, DICT):
                self.definitions(columns)
            elif header.type == EVENTS:
                partial = self.events(header, columns)
            elif header.type == RECORDS:
                partial = self.records(header, columns)
            elif header.type not in (INDEX, TRAILER):
                if header.flags & CRITICAL:
                    raise Stop("block type")
                raise Newer("block type")
        except Newer:
            self.newer += 1
        except Damaged:
            damaged = True
        if partial:
            damaged |= isinstance(partial, Damaged)
            self.damaged += isinstance(partial, Newer)
        if columns is not None and header.type == EVENTS and header.flags & LAST:
            self.out({"last": True})
            self.unterminated = False
        end = at + header.length
        if damaged:
            self.damaged += 1
            inside = next_header(self.data, at + 1, end)
            if inside is not None and self.reread + end - inside <= REREAD_MAX:
                self.reread += end - inside
                return inside
        return end

    def read(self):
        data, at = self.data, 0
        if data and not sound(data, 0):
            if data[:8] == SEGMENT_MAGIC[:len(data)] and len(data) < SEGMENT:
                self.truncated, self.unterminated, self.skipped = True, True, len(data)
                return "ok"
            if next_header(data, 0, min(len(data), 65536)) is None:
                self.skipped = min(len(data), 65536)
                return "not an .ige file"
        try:
            while at < len(data):
                try:
                    self.tag = segment_tag(data, at)
                    self.segment, self.unterminated = Segment(), True
                    at += SEGMENT
                    continue
                except Damaged:
                    pass
                try:
                    header = Header(data, at)
                    if at + header.length <= len(data):
                        at = self.block(at, header)
                        continue
                    self.truncated = True
                except Damaged:
                    left = len(data) - at
                    self.truncated |= left < BLOCK or (left < SEGMENT and data[at:at + 8] == SEGMENT_MAGIC)
                found = next_header(data, at + 1, len(data))
                self.skipped += (len(data) if found is None else found) - at
                at = len(data) if found is None else found
        except Stop:
            return "newer"
        return "ok"

    def report(self):
        return {"events": self.told_events, "records": self.told_records, "damaged": self.damaged, "skipped": self.skipped,
                "newer": self.newer, "lost": self.lost, "truncated": self.truncated, "unterminated": self.unterminated}


def tables(path):
    """What the text knows, sections 6, 16 and 17: columns {id: (name, role)}, ops {id: (source, name, columns)},
    records {kind: (name, {field: (name, type, role)})}."""
    rows, table = {}, None
    for line in open(path, encoding="utf-8"):
        if line.startswith("<!-- "):
            table = line[5:].split(" -->")[0]
        elif line.startswith("| role | name "):
            table = "roles"
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0].isdigit():
            rows.setdefault(table, []).append(cells)
        elif not line.startswith("|") and table == "roles":
            table = None
    roles = {c[1]: int(c[0]) for c in rows["roles"]}
    columns = {int(c[0]): (c[1].encode(), roles[c[2]]) for c in rows["table: columns"]}
    numbers = {name.decode(): number for number, (name, _) in columns.items()}
    ops = {int(c[0]): (c[1].encode(), c[2].encode(), [numbers[n] for n in c[5].replace(",", " ").split()])
           for c in rows["table: ops"]}
    fields = {}
    for c in rows["table: records"]:
        fields.setdefault(int(c[0]), (c[1], {}))[1][int(c[2])] = (c[3], c[4], c[5])
    return columns, ops, fields


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    reader = Reader(data, lambda o: print(json.dumps(o, separators=(",", ":"))),
                    tables(os.path.join(here, "..", "formats", "ige.md")))
    print(json.dumps({"end": reader.read()}, separators=(",", ":")))


if __name__ == "__main__":
    main()
