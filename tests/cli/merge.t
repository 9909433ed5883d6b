#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-merge: several recordings as one, parts of one, and every way inputs and outputs can be bad.

import glob
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, "tests")
import ige_reader  # noqa: E402
import tap  # noqa: E402

MERGE, DEMO, STAT, CORRELATE, EXPLAIN = (os.path.join(tap.BIN, "ingero-" + p)
                                         for p in ("merge", "demo", "stat", "correlate", "explain"))
tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
path = lambda name: os.path.join(tmp.name, name)  # noqa: E731


def run(program, *args, data=None):
    p = subprocess.run([program, *args], input=data, stdin=subprocess.DEVNULL if data is None else None,
                       capture_output=True, timeout=300)
    return p.returncode, p.stdout, p.stderr.decode()


def merge(*args, data=None):
    return run(MERGE, *args, data=data)


def demo(name, *args):
    subprocess.run([DEMO, *args, "-o", path(name)], check=True)
    return path(name)


def read(name):
    with open(name, "rb") as f:
        return f.read()


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)
    return path(name)


def same(got, want, name):
    """Of bytes that would fill a screen."""
    if got == want:
        return tap.ok(True, name)
    at = next((i for i, (x, y) in enumerate(zip(got, want)) if x != y), min(len(got), len(want)))
    return tap.ok(False, name, f"{len(got)} bytes, wanted {len(want)}; they differ at {at}")


def stat(*args, data=None):
    status, out, err = run(STAT, "--json", *args, data=data)
    return json.loads(out)


def events(*args, data=None):
    return stat(*args, data=data)["coverage"]["events"]


def with_header(data, offset, form, value):
    """The recording with one field of its (only) segment header changed."""
    head = bytearray(data[:80])
    struct.pack_into(form, head, offset, value)
    head[60:64] = bytes(4)
    head[60:64] = struct.pack("<I", zlib.crc32(head))
    return bytes(head) + data[80:]


a = demo("a.ige", "incident", "--seed", "1", "--duration", "2s", "--node", "gpu-a")
b = demo("b.ige", "lock", "--seed", "2", "--duration", "2s", "--node", "gpu-b")
c = demo("c.ige", "disk", "--seed", "3", "--duration", "2s", "--node", "gpu-c")
na, nb, nc = events(a), events(b), events(c)

# ---- one stream, whatever the order

status, whole, err = merge(a, b, c)
tap.same(status, 0, "three machines: status")
for name, n in (a, na), (b, nb), (c, nc):
    tap.ok(f"{name}: {n:,} events, 0 findings, " in err, f"a line for {os.path.basename(name)}", err)
tap.same(events(data=whole), na + nb + nc, "all events of all")
tap.ok(re.search(rf"3 inputs: {na + nb + nc:,} events, 0 findings, [\d,]+ unique stacks\n", err), "and one of all", err)
for order in (c, b, a), (b, a, c):
    _, bytes_, err = merge(*order)
    same(bytes_, whole, "the same bytes in another order")
    tap.same([line.split(": ")[0] for line in err.splitlines() if ", 0 findings, " in line][:3], list(order), "listed as typed")
same(merge(a, "-", c, data=read(b))[1], whole, "and with one from a pipe")
same(merge(data=whole)[1], whole, "merging what was merged changes nothing")
same(merge(write("whole.ige", whole))[1], whole, "nor does it of a file")
ab = write("ab.ige", merge(a, b)[1])
tap.same(stat(write("steps.ige", merge(c, ab)[1]))["ops"], stat(path("whole.ige"))["ops"],
         "in two steps the same operations")
status, out, err = merge(a)
tap.same(status, 0, "one recording: status")
same(out, read(a), "it is passed on as it is")
status, out, err = merge(a, a, write("copy.ige", read(a)))
same(out, read(a), "a copy counts once")
tap.ok("holds the same recording" in err, "and that is said", err)
status, out, err = merge(write("begun.ige", read(a)[:200000]), b, a, write("begun-too.ige", read(a)[:100]))
tap.ok(status == 0 and err.count("holds the beginning of") == 2, "so does one that was not finished", err)
same(out, merge(a, b)[1], "and what it has of it is not taken twice")
status, out, err = merge(a, "-", data=read(a))
tap.ok("same segment" in err, "of a pipe it is only told", err)
tap.same(merge("-q", a, b)[2], "", "-q: not a word")
tap.same(merge("-o", path("out.ige"), a, b, c)[0], 0, "-o FILE")
same(read(path("out.ige")), whole, "holds the same")
tap.same(os.stat(path("out.ige")).st_mode & 0o777, 0o600, "for its owner only")

# ---- who is who

status, out, err = run(EXPLAIN, "--json", path("whole.ige"))
told = {(ch["node"], ch["kind"]) for ch in json.loads(out)["chains"]}
tap.same({n for n, _ in told}, {"gpu-a", "gpu-b", "gpu-c"}, "explain finds the chains of each machine")
alone = set()
for name in a, b, c:
    alone |= {(ch["node"], ch["kind"]) for ch in json.loads(run(EXPLAIN, "--json", name)[1])["chains"]}
tap.same(told, alone, "which are those of the machines alone")
text = run(EXPLAIN, path("whole.ige"))[1].decode()
tap.ok(all(f"Node        gpu-{n}" in text for n in "abc"), "and its text names them", text[:500])
tap.ok("Node  " not in run(EXPLAIN, a)[1].decode(), "of one machine nothing is to be named")
twin = demo("twin.ige", "incident", "--seed", "1", "--duration", "2s", "--node", "gpu-twin")
procs = stat(write("twins.ige", merge(a, twin)[1]))["processes"]
tap.same(len(procs), 2 * len(stat(a)["processes"]), "the same pid on two machines is two processes")
chains = json.loads(run(EXPLAIN, "--json", path("twins.ige"))[1])["chains"]
tap.same(sorted(ch["node"] for ch in chains), ["gpu-a", "gpu-twin"], "with a chain each")
tap.same(len({ch["id"] for ch in chains}), 2, "of their own")

# ---- records and chains

chained = write("chained.ige", run(CORRELATE, a)[1])
status, out, err = merge(chained, b)
tap.ok("1 finding," in err, "chains are counted", err)
tap.same(events(data=out), na + nb, "with the events of both")
tap.ok(b'"node":"gpu-a"' in out, "and carried")
explained = json.loads(run(EXPLAIN, "--json", data=out)[1])
tap.same({ch["node"] for ch in explained["chains"]}, {"gpu-a", "gpu-b"}, "but the analysis of one is not that of both")
tap.same(stat(write("m.ige", merge(a, b)[1]))["coverage"]["lost"], 0, "nothing was lost")

# ---- clocks

tap.ok("error at most 120 ns" in merge(a, b)[2], "the error bound of clocks is told")
HOUR = 3600 * 10**9
real, = struct.unpack_from("<q", read(b), 48)
late = write("late.ige", with_header(read(b), 48, "<q", real + 3 * HOUR))
status, out, err = merge(a, late)
tap.same(status, 0, "a clock off by hours: status")
tap.ok("gpu-b moved by 3h" in err, "contradictory readings are told", err)
tap.ok("lies 2h 59m" in err or "lies 3h" in err, "and that the machines do not overlap", err)
tap.same(events(data=out), na + nb, "no event is left out for it")
tap.ok("moved by" not in merge("--clock-skew-threshold", "4h", a, late)[2], "--clock-skew-threshold")
unknown = write("unknown.ige", with_header(read(b), 48, "<q", 0))
status, out, err = merge(a, unknown)
tap.same(events(data=out), na + nb, "a header without a clock offset")
tap.ok("gpu-b" in err and "warning" in err, "is told", err)
for absurd in 2**63 - 1, -2**63, 2**61, 2**61 - 1:
    status, out, err = merge(a, write("absurd.ige", with_header(read(b), 48, "<q", absurd)))
    tap.ok(status in (0, 4) and "gpu-b" in err and events(data=out) >= na, f"a clock offset of {absurd} does no harm", err)
namesake = demo("namesake.ige", "incident", "--seed", "7", "--duration", "1s", "--node", "gpu-a")
tap.ok("two machines are called gpu-a" in merge(a, namesake)[2], "two boots or machines of one name are told apart, and told")

# ---- parts

first = write("first.ige", merge("--slice", "--until", "700ms", a)[1])
second = write("second.ige", merge("--since", "700ms", a)[1])
tap.ok(0 < events(first) < na and events(first) + events(second) == na, "two slices hold each event once")
both = write("both.ige", merge(second, first)[1])
x, y = stat(both), stat(a)
tap.same((x["ops"], x["processes"], x["coverage"]), (y["ops"], y["processes"], y["coverage"]), "and together are the whole")
tap.ok(os.path.getsize(second) < os.path.getsize(a) / 2, "a slice is smaller")
tap.same(stat(second)["coverage"]["lost"], 0, "a slice says of no losses that were not")
pid = json.loads(run(EXPLAIN, "--json", a)[1])["chains"][0]["victim"]["pid"]
part = stat(write("pid.ige", merge("-p", str(pid), a)[1]))
tap.same(part["ops"], stat("-p", str(pid), a)["ops"], "-p: what stat -p counts")
part = stat(write("name.ige", merge("-e", "cudaLaunchKernel", a)[1]))
tap.same([(o["op"] if "op" in o else o["name"]) for o in part["ops"]], ["cudaLaunchKernel"], "-e: only those")
tap.same(merge("--last", "10ms", write("cut-tail.ige", read(a)[:len(read(a)) // 2]))[0], 4, "a slice of a damaged one says so")
tap.same(events(write("nothing.ige", merge("-p", "1", a)[1])), 0, "nothing selected is a recording too")

# ---- forms

status, out, err = merge("--compact", a)
tap.ok(status == 0 and len(out) < len(read(a)) * 0.8, "--compact is smaller", f"{len(out)} of {len(read(a))}")
tap.same(stat(write("compact.ige", out))["ops"], stat(a)["ops"], "and holds the same")
same(merge("--compact", b, a)[1], merge("--compact", a, b)[1], "--compact of two, in any order")
tap.same(stat(write("compacted.ige", merge(path("compact.ige"), b)[1]))["ops"], stat(path("m.ige"))["ops"],
         "compact or not, merged it is the same")


def blocks(data):
    at, out = 0, []
    while at < len(data):
        n = 80 if data[at:at + 4] == b"\x89IGE" else struct.unpack_from("<I", data, at + 8)[0]
        out.append(data[at:at + n])
        at += n
    return out


same(merge("--reindex", a)[1], read(a), "--reindex of one with an index gives the same one")
bare = write("bare.ige", b"".join(x for x in blocks(read(a)) if x[4] not in (5, 6) or x[:4] != b"IGBK"))
status, out, err = merge("--reindex", bare)
tap.ok(len(bare) and len(out) > len(read(bare)), "--reindex of one without gives one")
tap.same([x[4] for x in blocks(out)[-3:]], [5, 6, 3], "in its place")
tap.same(stat("--last", "100ms", write("re.ige", out))["ops"], stat("--last", "100ms", a)["ops"], "that finds the same")
chained_index = merge("--reindex", chained)[1]
tap.same([x[4] for x in blocks(chained_index)[-3:]], [5, 6, 3], "--reindex behind a filter")
tap.same(merge("--reindex", a, b)[0], 2, "--reindex of two is a mistake")

status, out, err = merge("--split", "-o", path("node.ige"), path("whole.ige"))
tap.same(status, 0, "--split")
tap.same([stat(path(f"node.{n}.ige"))["ops"] for n in ("gpu-a", "gpu-b", "gpu-c")], [stat(n)["ops"] for n in (a, b, c)],
         "a file per machine, with what it had")
tap.same(stat(write("again.ige", merge(*(path(f"node.gpu-{n}.ige") for n in "abc"))[1]))["ops"], stat(path("whole.ige"))["ops"],
         "merged again the same")
kept = [read(path(f"node.gpu-{n}.ige")) for n in "ab"]
status, out, err = merge("--split", "--last", "100ms", "-o", path("node.ige"), path("node.gpu-a.ige"), b)
tap.ok(status == 2 and "is also the input" in err, "--split does not write over what it reads", err)
tap.ok(kept == [read(path(f"node.gpu-{n}.ige")) for n in "ab"], "nor then over anything else")

analyzed = write("analyzed.ige", run(CORRELATE, path("whole.ige"))[1])
merge("--split", "-o", path("told.ige"), analyzed)
tap.same([[n for n in "abc" if f'"node":"gpu-{n}"'.encode() in read(path(f"told.gpu-{m}.ige"))] for m in "abc"],
         [["a"], ["b"], ["c"]], "chains go with their machine")

# ---- an archive


def rows(name, sql):
    db = sqlite3.connect(f"file:{path(name)}?mode=ro", uri=True)
    out = db.execute(sql).fetchall()
    db.close()
    return out


status, out, err = merge(a, b, chained, "-o", path("all.db"))
tap.same(status, 0, "-o FILE.db")
tap.same(rows("all.db", "SELECT node, count(*) FROM events GROUP BY node ORDER BY node"), [("gpu-a", 2 * na), ("gpu-b", nb)],
         "has the events of each machine")
tap.same(rows("all.db", "SELECT count(*) FROM causal_chains")[0][0], 1, "and chains")
counts = {o["op"]: o["count"] for o in stat("-e", "cuda*", a)["ops"]}
merge("-e", "cuda*", "--force-node", "x", a, "-o", path("part.sqlite"))
tap.same(rows("part.sqlite", "SELECT count(*) FROM events")[0][0], sum(counts.values()), "-e: an archive of a part")
tap.ok("lies" not in merge(path("part.sqlite"), b)[2], "a name that no event needed is no machine with a clock of its own")
merge("-p", "1", a, "-o", path("none.db"))
tap.same(rows("none.db", "SELECT count(*) FROM events"), [(0,)], "nothing selected is an archive too")
status, out, err = merge(write("half.ige", read(a)[:len(read(a)) // 2 + 3]), "-o", path("half.db"))
tap.ok(status == 4 and 0 < rows("half.db", "SELECT count(*) FROM events")[0][0] < na, "of a damaged one what is readable", err)
whole_db = read(path("all.db"))
p = subprocess.run([MERGE, a, b, "-o", path("all.db")], stdin=subprocess.DEVNULL, capture_output=True,
                   preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)),
                                       signal.signal(signal.SIGXFSZ, signal.SIG_IGN)))
tap.same(p.returncode, 3, "an archive that cannot be finished")
same(read(path("all.db")), whole_db, "leaves what was there")
db = sqlite3.connect(path("all.db"))
(n,), = db.execute("SELECT min(after_seq) FROM sample_records WHERE after_seq > 1")
db.executescript(f"INSERT INTO lost_events VALUES ({n} - 1, 5); UPDATE events SET op = 99 WHERE seq = {n}")
db.close()
tap.same(stat(path("all.db"))["coverage"]["lost"], 5, "what is missing in front of a row of an unknown kind is missing still")

# An archive takes a further recording, and holds then what it would hold had both been there from the beginning.
grows = path("grows.db")
merge(a, "-o", grows)
tap.same(run(STAT, data=merge(grows)[1])[0], 0, "what an archive was made of had ended, and so has it")
tap.same(merge(grows, b, "-o", grows)[0], 0, "-o of an archive that is an input: one more recording is in it")
merge(a, b, "-o", path("both.db"))
tap.same(rows("grows.db", "SELECT node, timestamp, duration, source, op, tid FROM events ORDER BY seq"),
         rows("both.db", "SELECT node, timestamp, duration, source, op, tid FROM events ORDER BY seq"), "as if both had come at once")
COLUMNS = "SELECT node, timestamp, duration, source, op, tid FROM events ORDER BY seq"
grown = rows("grows.db", COLUMNS)
for again in (a,), (write("renamed.ige", read(b)),), (b, a):
    status, out, err = merge(grows, *again, "-o", grows)
    tap.same((status, rows("grows.db", COLUMNS) == grown), (0, True), "what it holds is not added again")
    tap.ok("already: nothing of it was added" in err, "and that is said", err)
whole_db = read(grows)
status, out, err = merge(grows, write("goes-on.ige", read(b) + read(c)), "-o", grows)
tap.same((status, read(grows) == whole_db), (3, True), "what goes on since is refused")
tap.ok("fewer bytes" in err, "and why", err)
tap.same(merge(grows, c, "-o", path("three.db"))[0], 0, "another one is added")
tap.same(rows("three.db", "SELECT count(*) FROM events")[0][0], na + nb + nc, "whole")
tap.same(merge(path("three.db"), a, b, c, "-o", path("three.db"))[0], 0, "all of those that were added are known")
tap.same(rows("three.db", "SELECT count(*) FROM events")[0][0], na + nb + nc, "and are there once")
whole_db = read(path("three.db"))
for more in a, b, c:
    status, out, err = merge(path("three.db"), *(n for n in (a, b, c) if n != more), write("goes-on.ige", 2 * read(more)), "-o", path("three.db"))
    tap.ok(status == 3 and "fewer bytes" in err and read(path("three.db")) == whole_db, "beside those that it holds one that goes on is refused", err)
status, out, err = merge(path("three.db"), grows, "-o", path("four.db"))
tap.same((status, rows("four.db", "SELECT count(*) FROM events")[0][0]), (0, na + nb + nc), "an archive of what another holds is not added either")
tap.ok("holds the recordings of" in err and "taken twice" not in err, "and that is said", err)
merge(b, c, "-o", path("others.db"))
status, out, err = merge(grows, path("others.db"), "-o", path("five.db"))
tap.ok(status == 3 and "both hold" in err and not os.path.exists(path("five.db")), "two that have one in common are refused", err)
merge("-e", "cuda*", a, "-o", path("some.db"))
merge(path("some.db"), a, "-o", path("some.db"))
tap.ok(rows("some.db", "SELECT count(*) FROM events")[0][0] > na, "a part is not the recording")
status, out, err = merge(a, b, "-o", write("twice.ige", data := read(a)))
tap.same((status, read(path("twice.ige")) != data), (0, True), "what is no input is replaced")
tap.same((merge(a, b, "-o", a)[0], read(a) == data), (2, True), "a recording that is an input is not")
grown = read(grows)
p = subprocess.run([MERGE, grows, b, "-o", grows], stdin=subprocess.DEVNULL, capture_output=True,
                   preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_FSIZE, (len(grown) // 2,) * 2),
                                       signal.signal(signal.SIGXFSZ, signal.SIG_IGN)))
tap.same((p.returncode, read(grows) == grown), (3, True), "where the disk is full it stays as it was")
for how, why in ("BEGIN IMMEDIATE", "is being written by another program"), ("PRAGMA journal_mode=WAL", "belongs to a program that writes"):
    writer = sqlite3.connect(grows, isolation_level=None)
    writer.execute(how)
    if "WAL" in how:
        writer.execute("CREATE TABLE others(x)")
    inode = os.stat(grows).st_ino  # not read: to close the file would be to let go of this process's locks
    for program in [MERGE, b, "-o", grows], [os.path.join(tap.BIN, "ingero-export"), "-f", "sqlite", "-o", grows, b]:
        status, out, err = run(program[0], *program[1:])
        tap.ok(status == 3 and why in err and os.stat(grows).st_ino == inode, f"{how}: nothing is put in the place of a database in use", err)
    if writer.in_transaction:
        writer.execute("ROLLBACK")
    writer.close()
tap.same(merge(b, "-o", grows)[0], 0, "once it is closed it is replaced")

# ---- for others


def plain(data):
    """All bytes of a recording, and what is deflated in it inflated."""
    at, out = 0, [data]
    while at < len(data):
        if data[at:at + 4] == b"\x89IGE":
            at += ige_reader.SEGMENT
            continue
        header = ige_reader.Header(data, at)
        out += [c.bytes(1 << 22) for c in ige_reader.columns_of(data, at, header)]
        at += header.length
    return b"\n".join(out)


secret = demo("secret.ige", "incident", "--seed", "4", "--duration", "1s", "--node", "zyzzyva-gpu-7")
told = json.loads(run(EXPLAIN, "--json", secret)[1])
chain = told["chains"][0]
names = {n.encode() for n in (chain["node"], chain["culprit"]["comm"], chain["victim"]["command"], "zyzzyva", "/opt/train")}
key = write("site.key", bytes(range(32)))
status, hidden, err = merge("--anonymize-key", key, secret)
tap.same(status, 0, "--anonymize")
tap.same({n for n in names if n not in plain(read(secret))}, set(), "what is looked for is in the original")
tap.same({n for n in names if n in plain(hidden)}, set(), "and not in what is given away")
head = read(secret)[24:48]
tap.ok(head[:16] not in plain(hidden) and head[16:] not in plain(hidden), "nor are the machine's and the boot's identity")
same(merge("--anonymize-key", key, secret)[1], hidden, "the same key: the same bytes")
same(merge(data=hidden)[1], hidden, "which are a recording like others")
fresh = merge("--anonymize", secret)[1]
tap.ok(fresh != hidden and fresh != merge("--anonymize", secret)[1], "without a key the pseudonyms are new each time")
sums = lambda ops: [(o["op"], o["count"], o["total_ns"], o["lost_ns"], o["max_ns"]) for o in ops]  # noqa: E731
tap.same(sums(stat(write("hidden.ige", hidden))["ops"]), sums(stat(secret)["ops"]), "the events are the same")
masked = json.loads(run(EXPLAIN, "--json", path("hidden.ige"))[1])["chains"]
tap.same([(c["kind"], c["lost_ns"], c["victim"]["pid"]) for c in masked],
         [(c["kind"], c["lost_ns"], c["victim"]["pid"]) for c in told["chains"]], "and so is what explain finds in them")
critical = lambda of: {n for n in names if n.decode() in json.dumps(json.loads(run(EXPLAIN, "--json", of)[1])["paths"])}  # noqa: E731
tap.same([bool(critical(secret)), critical(path("hidden.ige"))], [True, set()], "critical paths name whom they are of, and nobody where that is hidden")
told = write("told.ige", run(CORRELATE, secret)[1])
status, out, err = merge("--anonymize-key", key, told)
tap.ok(b'"paths":[{' in plain(out) and "left out" not in err and not {n for n in names if n in plain(out)},
       "chains and an analysis that were there name nobody (more in anonymous.t)", err)
merge("--anonymize-key", key, "--split", "-o", path("given.ige"), secret, a)
given = [n for n in os.listdir(tmp.name) if n.startswith("given.")]
tap.ok(len(given) == 2 and not any("gpu-a" in n or "zyzzyva" in n for n in given), "nor do the names of files", str(given))
tap.same({n for g in given for n in names if n in plain(read(path(g)))}, set(), "which hold pseudonyms too")
tap.ok(b"host-" in plain(merge("--anonymize", "--compact", secret)[1]), "--compact --anonymize")
merge("--anonymize-key", key, secret, "-o", path("hidden.db"))
tap.ok(not {n for n in names if n in read(path("hidden.db"))} and rows("hidden.db", "SELECT count(*) FROM events")[0][0] > 0,
       "an archive for others")
part = merge("--anonymize-key", key, "-e", "cudaLaunchKernel", secret)[1]
tap.same([o["op"] if "op" in o else o["name"] for o in stat(write("part.ige", part))["ops"]], ["cudaLaunchKernel"], "and only a part")

# ---- damage

data = read(a)
cut = write("cut.ige", data[:len(data) * 3 // 4 + 5])
status, out, err = merge(cut, b)
tap.same(status, 4, "an input that ends mid-block: status")
tap.ok("truncated" in err, "is told", err)
tap.same(run(STAT, data=out)[0], 4, "what came of it does not pretend to have ended")
status, more, err = merge(write("unended.ige", out), write("ended.ige", merge(c, twin)[1]))
tap.ok(status == 4 and "unended.ige: unterminated" in err, "nor beside one of other machines that did", err)
tap.same(events(data=out), events(cut) + nb, "and has what was readable")
flipped = bytearray(data)
flipped[len(data) // 2] ^= 1
flipped = write("flipped.ige", bytes(flipped))
for bad in cut, flipped:
    status, out, err = merge("--recover", bad)
    tap.same((status, run(STAT, data=out)[0]), (0, 0), f"--recover {os.path.basename(bad)} gives a sound recording")
    tap.ok("warning" in err and os.path.basename(bad) in err, "says what it could not read", err)
    tap.same(events(data=out), events(bad), "and holds all that is readable")
tap.ok("damaged" in json.dumps(stat(data=out)["coverage"]), "the recording says itself that something was lost",
       json.dumps(stat(data=out)["coverage"]))


def losses(name):
    rows = run(os.path.join(tap.BIN, "ingero-export"), "-f", "json", "--records", name)[1].decode().splitlines()
    return [json.loads(x).get("node") for x in rows if x.startswith('{"record":"loss"')]


tap.same(set(losses(write("mended.ige", merge("--recover", flipped, b)[1]))), {"gpu-a"}, "and on which machine")
merge("--recover", "--split", "-o", path("mended.ige"), flipped, b)
tap.same([set(losses(path(f"mended.gpu-{n}.ige"))) for n in "ab"], [{"gpu-a"}, set()], "a file per machine: only that of its own")
last = bytearray(blocks(data)[-1])
last[48:52] = struct.pack("<I", 7)
last[60:64] = struct.pack("<I", zlib.crc32(last[:60]))
merge("--split", "-o", path("lossy.ige"), write("loses.ige", data[:-len(last)] + bytes(last)), b)
tap.same({n: stat(path(n))["coverage"]["lost"] for n in os.listdir(tmp.name) if n.startswith("lossy.")},
         {"lossy.gpu-a.ige": 7, "lossy.gpu-b.ige": 0}, "and what its recorder lost")
block = max((x for x in blocks(data) if x[:4] == b"IGBK" and x[4] == 3), key=len)
at = data.index(block)
ends = at + 64 + 16 * struct.unpack_from("<H", block, 6)[0]
held, = struct.unpack_from("<I", block, 12)
bad = write("no-ends.ige", data[:ends] + bytes([data[ends] ^ 1]) + data[ends + 1:])
status, out, err = merge("--recover", bad)
tap.same((status, events(data=out)), (0, na - held), "a block whose column of ends is damaged is lost")
tap.ok(f"held {held:,} events that are missing" in err, "which is told exactly", err)
tap.ok(f"{held:,}" in run(STAT, data=out)[1].decode() or str(held) in json.dumps(stat(data=out)["coverage"]),
       "and by the recording too", json.dumps(stat(data=out)["coverage"]))
tail = write("tail.ige", read(bad)[:at + len(block)])
out = write("no-tail.ige", merge("--recover", tail)[1])
for words in ((), ("--last", "1h")):
    rows = run(os.path.join(tap.BIN, "ingero-export"), "-f", "json", "--records", *words, out)[1].decode().splitlines()
    lost = [json.loads(x) for x in rows if x.startswith('{"record":"loss"')]
    tap.same([sorted(x) for x in lost], [["count", "reason", "record", "since_ns", "timestamp"]],
             f"of what was lost at the end nobody knows until when {' '.join(words)}")
rows = [json.loads(x) for x in run(os.path.join(tap.BIN, "ingero-export"), "-f", "clickhouse", out)[1].decode().splitlines() if '"row":"loss"' in x]
tap.same([("time_ns" in x, "until_ns" in x) for x in rows], [(True, False)], "nor does a table of it")
head = write("headless.ige", data[100:])
tap.same(merge(head, b)[0], 4, "without its beginning")
tap.same(merge("--recover", head)[0], 0, "even that is recovered")
empty = write("empty.ige", b"")
status, out, err = merge(empty)
tap.ok(status == 4 and f"{empty} is empty" in err and out == b"", "an empty input alone is told by its name", err)
status, out, err = merge(empty, a)
tap.same((status, events(data=out)), (0, na), "beside another one it brings nothing")
tap.ok(f"{empty}: 0 events" in err and f"warning: {empty} is empty" in err, "which is told", err)

# ---- what is not ours

before = write("keep.ige", data)
newer = write("newer.ige", with_header(data, 8, "<H", 2))
status, out, err = merge("-o", before, newer, b)
tap.same(status, 4, "a newer version beside an old one")
same(read(before), data, "what stood at the output's place is not touched")
tap.ok("needs a newer version" in err, "and it is said", err)
for name, text, want, code in ("x.db", b"SQLite format 3\0" + bytes(100), "SQLite", 4), \
        ("x.gz", b"\x1f\x8b\x08" + bytes(50), "bundle", 4), ("x.zip", b"PK\3\4" + bytes(50), "bundles", 3):
    status, out, err = merge(write(name, text), a)
    tap.ok(status == code and want in err and out == b"", f"{name} is refused by name", err)
tap.same(merge(write("text", b"hello, this is a text\n" * 10), a)[0], 4, "neither is any text")
empty = path("empty")
os.makedirs(empty)
for args, status, want in ((["--anonymize-key", write("short.key", b"short"), a], 3, "easily guessed"),
                           (["--anonymize-key", path("no.key"), a], 3, "No such file"),
                           (["--anonymize", "--reindex", a], 2, "--reindex"),
                           (["--compact", a, "-o", path("x.sqlite")], 2, "archive is one file"),
                           (["--split", a, "-o", path("x.db")], 2, "archive is one file"),

                           ([path("missing.ige")], 3, "No such file"), ([empty], 3, "holds no recording"),
                           (["--slice", a], 2, "--slice needs"), (["--split", a], 2, "-o FILE"),
                           (["--last", "1s", "--since", "1s", a], 2, "both say"), (["-p", "x", a], 2, "process id"),
                           (["-e", "cudaLunch", a], 2, "no event"), (["--since", "2s", "-"], 2, "not a pipe"),
                           ([a, "-o", a], 2, "is also the input"), ([a, "-o", path("no/such/dir.ige")], 3, "No such file")):
    got, out, err = merge(*args)
    tap.ok(got == status and want in err and out == b"", f"{' '.join(args[:2])[-40:]}: {status}, {want}", f"{got}: {err}")
same(read(a), data, "inputs are as they were")

# ---- outputs

for full in (["-o", "/dev/full", a], ["-o", "/dev/full", a, b]):
    status, out, err = merge(*full)
    tap.ok(status == 3 and "No space left" in err and "/dev/full" in err, "a full disk is told", err)
small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))  # noqa: E731
p = subprocess.run([MERGE, a, b, "-o", before], stdin=subprocess.DEVNULL, capture_output=True,
                   preexec_fn=lambda: (small(), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)))
tap.same(p.returncode, 3, "a file that cannot be finished")
same(read(before), data, "leaves what was there")
os.rmdir(empty)
p = subprocess.Popen([MERGE, a, b], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
p.stdout.read(1000)
p.stdout.close()
tap.same((p.wait(), b"cannot" in p.stderr.read()), (0, False), "a reader that goes away ends it quietly")
p.stderr.close()
tap.none([n for n in os.listdir(tmp.name) if n.rsplit(".", 1)[-1] not in ("ige", "db", "sqlite", "gz", "zip", "key") and n != "text"],
         "nothing unfinished is left behind")

# ---- many

tiny = read(demo("tiny.ige", "clean", "--seed", "9", "--duration", "2ms"))
ntiny = events(path("tiny.ige"))
node = lambda i: with_header(tiny, 40, "<Q", i + 1)  # noqa: E731
many = [write(f"many{i}.ige", node(i)) for i in range(2000)]


def with_files(files, *args):
    """As seen by a merge that may have no more than that many files open."""
    return subprocess.run([MERGE, "-q", *args], stdin=subprocess.DEVNULL, capture_output=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, 256), files)))


# ---- processors


def on_one(*args):
    """As seen by a merge that has one processor."""
    return subprocess.run([MERGE, *args], stdin=subprocess.DEVNULL, capture_output=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))


for name, args in (("several", (a, b, c)), ("a part of them", ("--since", "500ms", a, b)), ("damaged ones", (cut, b, c)),
                   ("recovered ones", ("--recover", cut, b)), ("in the smallest form", ("--compact", a, b)),
                   ("by machine", (c, b, a, "--split", "-o", path("by.ige")))):
    p = on_one(*args)
    split = {n: read(n) for n in glob.glob(path("by.*.ige"))}
    status, out, err = merge(*args)
    tap.same((status, err), (p.returncode, p.stderr.decode()), f"with one processor or all of them: {name}")
    same(out, p.stdout, "the same bytes")
    tap.same({n: read(n) for n in glob.glob(path("by.*.ige"))} == split, True, "and files")
with open(a, "rb") as f:
    p = subprocess.run([MERGE, "-q", "-", b], stdin=f, capture_output=True)
same(merge("-q", "-", b, data=read(a))[1], p.stdout, "files or pipes: the same bytes")

p = with_files(256, *many)
tap.same((p.returncode, p.stderr.decode()), (0, ""), "2,000 inputs where no more than 256 files may be open")
tap.same(events(data=p.stdout), 2000 * ntiny, "all of their events")
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if hard >= 2100:
    same(with_files(hard, *many).stdout, p.stdout, "the same bytes where the limit can be raised")
else:
    tap.skip("2,000 open inputs", "optional: no more than 2,000 files can be opened here")
large = [a, b, c, *many[:200]]
same(with_files(100, *large).stdout, with_files(1000, *large).stdout, "the same with files of many blocks")
p = with_files(100, "--since", "1s", *large)
same(p.stdout, with_files(1000, "--since", "1s", *large).stdout, "and a part of them")
p = with_files(100, *large, write("copy-of-many.ige", read(b)))
same(p.stdout, with_files(1000, *large).stdout, "and a copy counts once")
p = with_files(100, *many[:100], cut)
tap.ok(p.returncode == 4 and b"truncated" in p.stderr, "and damage is told", p.stderr.decode())
older = []
for i in range(80):
    older.append(path(f"older{i}.db"))
    subprocess.run([MERGE, "-q", demo("older.ige", "clean", "--seed", str(i + 1), "-n", f"gpu-{i}", "--duration", "2ms"), "-o", older[-1]], stdin=subprocess.DEVNULL, check=True)
older += [b, write("copy-of-older.db", read(older[7]))]
MADE = "/var/tmp/ingero-inputs-"
before = set(glob.glob(MADE + "*"))
p, q = (with_files(files, *older) for files in (70, 1000))
tap.ok(p.returncode == 0 and p.stderr == q.stderr and p.stderr.count(b"\n") == 1 and b"copy-of-older.db" in p.stderr, "archives of which fewer may be open, and a copy of one", p.stderr.decode())
same(p.stdout, q.stdout, "the same bytes")
tap.same(events(data=p.stdout), sum(map(events, older[:-1])), "all of their events")
tap.none(sorted(set(glob.glob(MADE + "*")) - before), "and nothing is left of what was made of them")

# What one that was killed left is removed by the next; nothing else is.
waits = path("waits.ige")
os.mkfifo(waits)


def stuck():
    p = subprocess.Popen([MERGE, "-q", *older[:80], waits], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (70, 70)))
    fd = os.open(waits, os.O_WRONLY)  # it has come to the last of them
    return p, fd, set(glob.glob(MADE + "*"))


first, fd1, now = stuck()
first.kill()
first.wait()
os.close(fd1)
left = sorted(now - before)
tap.same([len(left), len(os.listdir(left[0])) if left else 0], [1, 80], "one that was killed leaves what it made")
alive, fd2, now = stuck()
tap.same((len(now - before), set(left) & now), (1, set()), "the next removes it, and has its own")
elsewhere, mine = path("elsewhere"), MADE + "mine00"
for folder in (elsewhere, mine):
    os.mkdir(folder, 0o700)
    for name in ("1", "notes"):
        open(os.path.join(folder, name), "w").close()
os.symlink(elsewhere, MADE + "link00")
os.mkdir(MADE + "open00")
os.chmod(MADE + "open00", 0o755)
try:
    with_files(70, *older)
    tap.same([sorted(os.listdir(elsewhere)), os.listdir(mine), os.path.isdir(MADE + "open00"), os.path.islink(MADE + "link00")], [["1", "notes"], ["notes"], True, True],
             "where a link leads, other files, and folders that others may read stay")
    tap.same(len(os.listdir((now - before).pop())), 80, "and what a running one has")
finally:
    os.unlink(MADE + "link00")
    os.rmdir(MADE + "open00")
    shutil.rmtree(mine)
    alive.kill()
    alive.wait()
    os.close(fd2)
with_files(70, *older)
tap.none(sorted(set(glob.glob(MADE + "*")) - before), "and at last nothing is left")
few = subprocess.run([MERGE, "-q", *many[:100]], stdin=subprocess.DEVNULL, capture_output=True).stdout
same(subprocess.run([MERGE, "-q", *reversed(many[:100])], stdin=subprocess.DEVNULL, capture_output=True).stdout, few,
     "a hundred in reverse: the same bytes")

tap.done_testing()
