# SPDX-License-Identifier: Apache-2.0
"""A second reader of Perfetto traces, for what ingero-export writes: packets in, lines with their slices, values and arrows out."""
import struct
import zlib
from collections import defaultdict
from functools import partial


def varint(data, at):
    """The value, and where it ends."""
    v = shift = 0
    while True:
        b = data[at]
        at += 1
        v |= (b & 127) << shift
        shift += 7
        if b < 128:
            return v, at


def fields(data):
    """(number, value) of a message: integers, or bytes. Most tags, lengths and values are one byte."""
    found, at, end = [], 0, len(data)
    while at < end:
        tag = data[at]
        at += 1
        if tag > 127:
            tag, at = varint(data, at - 1)
        kind = tag & 7
        if kind == 1:
            v = int.from_bytes(data[at:at + 8], "little")
            at += 8
        elif kind in (0, 2):
            v = data[at]
            at += 1
            if v > 127:
                v, at = varint(data, at - 1)
            if kind == 2:
                at, v = at + v, data[at:at + v]
        else:
            raise AssertionError(f"wire type {kind}")
        found.append((tag >> 3, v))
    assert at == end, "a length beyond the message"
    return found


def message(data):
    """Fields by number, each a list."""
    m = defaultdict(list)
    for number, v in fields(data):
        m[number].append(v)
    return m


def one(m, number, otherwise=None):
    return m[number][-1] if number in m and m[number] else otherwise


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def packets(data):
    """Fields of each packet, those that stand compressed in another one too."""
    for number, body in fields(data):
        assert number == 1, "not a packet"
        packet = message(body)
        compressed = one(packet, 50)
        if compressed is None:
            yield packet
        else:
            yield from packets(zlib.decompress(compressed))


class Sequence:
    def __init__(self):
        self.texts = defaultdict(dict)
        self.now = self.line = None


class Slice(dict):
    """What an event says beside its name is read when somebody asks."""

    def __init__(self, args, **members):
        super().__init__(members)
        self.read_args = args

    def __missing__(self, key):
        if key != "args":
            raise KeyError(key)
        self[key] = self.read_args()
        return self[key]


class Trace:
    """lines: uuid -> {name, parent, pid, tid, kind}; slices: {line, name, category, ts, dur, depth, args, flows};
    values: (line, ts, value); clocks: {id: ns}; complaints: what is wrong with it."""

    def __init__(self, data):
        self.lines, self.values, self.clocks, self.complaints = {}, [], [], []
        self.packets, events, sequences = 0, [], {}
        for p in packets(data):
            self.packets += 1
            seq = one(p, 10, 0)
            if one(p, 13, 0) & 1:
                sequences[seq] = Sequence()
            s = sequences.get(seq)
            if 59 in p:
                defaults = message(one(p, 59))
                assert one(defaults, 58) == 64, "times are of a clock of the sequence's own"
                s.line = one(message(one(defaults, 11)), 11)
            for kind, entry in fields(one(p, 12, b"")):
                e = message(entry)
                s.texts[kind][one(e, 1)] = e
            if 6 in p:
                self._clock(message(one(p, 6)), s)
            if 60 in p:
                self._line(message(one(p, 60)))
            if 11 in p:
                at = one(p, 8)
                if one(p, 58) is None:
                    s.now += at
                    at = s.now
                events.append((at, s, message(one(p, 11))))
        events.sort(key=lambda e: e[0])
        self._slices(events)

    def _clock(self, snapshot, s):
        readings = {}
        for c in map(message, snapshot[1]):
            readings[one(c, 1)] = one(c, 2)
        if 64 in readings:
            assert readings[64] == readings[3]
            s.now = readings[64]
        else:
            self.clocks.append(readings)
        assert one(snapshot, 2) == 3, "the clock of the trace is the monotonic one"

    def _line(self, d):
        line = {"parent": one(d, 5), "kind": "lane", "name": (one(d, 2) or b"").decode(), "pid": None, "tid": None, "order": one(d, 12)}
        if 3 in d:
            m = message(one(d, 3))
            assert one(m, 3) == one(d, 12), "one place among the others"
            line.update(kind="process", pid=one(m, 1), name=one(m, 6).decode())
        elif 4 in d:
            m = message(one(d, 4))
            line.update(kind="thread", pid=one(m, 1), tid=one(m, 2), name=one(m, 5).decode())
        elif 8 in d:
            line["kind"] = "values"
        before = self.lines.get(one(d, 1))
        assert not before or before["order"] is None, "nothing behind its place"
        self.lines[one(d, 1)] = line

    def _args(self, s, ev):
        args = {}
        for a in map(message, ev[4]):
            key = (one(a, 10) or one(s.texts[3][one(a, 1)], 2)).decode() if 10 in a or 1 in a else "?"
            if 17 in a:
                args[key] = one(s.texts[29][one(a, 17)], 2).decode()
            elif 6 in a or 9 in a:
                args[key] = one(a, 6, one(a, 9)).decode()
            elif 5 in a:
                args[key] = double(one(a, 5))
            else:
                v = one(a, 3, one(a, 4))
                args[key] = v - (1 << 64) if 4 in a and v >> 63 else v
        site = one(ev, 34)
        if site:
            e = s.texts[4][site]
            args["site"] = ((one(e, 3) or b"").decode(), (one(e, 2) or b"").decode(), one(e, 4, 0))
        return args

    def _slices(self, events):
        self.slices, open_slices = [], defaultdict(list)
        self.flows = []
        begun = {}
        for at, s, ev in events:
            line = one(ev, 11, s.line)
            if line not in self.lines:
                self.complaints.append(f"line {line} was not told")
            stack, kind = open_slices[line], one(ev, 9)
            if kind == 2:
                if not stack:
                    self.complaints.append(f"an end of nothing at {at}")
                    continue
                top = stack.pop()
                top["dur"] = at - top["ts"]
                continue
            if kind == 4:
                self.values.append((line, at, double(one(ev, 44))))
                continue
            name = one(ev, 23) or one(s.texts[2][one(ev, 10)], 2)
            category = one(ev, 22) or one(s.texts[1][one(ev, 3)], 2) if 22 in ev or 3 in ev else b""
            new = Slice(partial(self._args, s, ev), line=line, name=name.decode(), category=category.decode(), ts=at, dur=0 if kind == 3 else None,
                        depth=len(stack), instant=kind == 3)
            self.slices.append(new)
            if kind == 1:
                stack.append(new)
            for flow in ev[36] + ev[47]:
                if flow in begun:
                    self.flows.append((begun[flow], new))
                begun[flow] = new
            for flow in ev[42]:
                if flow not in begun:
                    self.complaints.append(f"an arrow to {new['name']} from nowhere")
                else:
                    self.flows.append((begun.pop(flow), new))
        self.open = [x for stack in open_slices.values() for x in stack]
