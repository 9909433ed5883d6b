#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Databases of the older agent: made here with its tables and known rows, read by the programs. Where
# INGERO_RECORDINGS names a folder with the published ones, these too.

import json
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import tap  # noqa: E402

folder = tempfile.TemporaryDirectory()
T0 = 29566667 * 60 * 10**9  # a minute begins
MS = 10**6
SESSION = ("started_at", "stopped_at", "cpu_cores", "mem_total", "kernel", "ingero_ver", "pid_filter", "flags")
STACK = [{"s": "cudaStreamSynchronize+0x10", "f": "libcudart.so.12"}, {"s": "_ZN3app4stepEv+0x20", "f": "train"},
         {"pfn": "main", "pf": "train.py", "pl": 7}]


def path(name):
    return os.path.join(folder.name, name)


def run(program, *args, stdin=b""):
    p = subprocess.run([os.path.join(tap.BIN, "ingero-" + program), *args], input=stdin, capture_output=True)
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


def database(name, rows, counts=(), text_ids=None, stop=T0 + 60 * 10**9, start=T0, indexed=True):
    """rows: (time, pid, tid, source, op, duration, arg0, arg1, ret, stack)"""
    db = sqlite3.connect(path(name))
    kind = "TEXT PRIMARY KEY" if text_ids else "INTEGER PRIMARY KEY AUTOINCREMENT"
    db.executescript(f"""
        CREATE TABLE events (id {kind}, timestamp INTEGER, pid INTEGER, tid INTEGER, source INTEGER, op INTEGER,
            duration INTEGER, arg0 INTEGER, arg1 INTEGER, ret_code INTEGER, stack_hash INTEGER);
        CREATE TABLE stack_traces (hash INTEGER PRIMARY KEY, ips TEXT, frames TEXT);
        CREATE TABLE process_names (pid INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE event_aggregates (bucket INTEGER, source INTEGER, op INTEGER, pid INTEGER, count INTEGER, stored INTEGER);
        CREATE TABLE system_snapshots (id INTEGER PRIMARY KEY, timestamp INTEGER, cpu_pct REAL, mem_pct REAL,
            mem_avail INTEGER, swap_mb INTEGER, load_avg REAL);
        CREATE TABLE sessions (id INTEGER PRIMARY KEY, {', '.join(SESSION)});""")
    if indexed:
        db.execute("CREATE INDEX idx_events_timestamp ON events(timestamp)")
    db.execute(f"INSERT INTO sessions ({', '.join(SESSION)}) VALUES (?,?,4,16000,'6.1.0','v0.9.1','100','record')", (start, stop))
    db.execute("INSERT INTO process_names VALUES (100, 'train')")
    db.execute("INSERT INTO stack_traces VALUES (-5, '', ?)", (json.dumps(STACK),))
    db.execute("INSERT INTO stack_traces VALUES (6, '', '[{\"s\":')")
    db.execute("INSERT INTO system_snapshots VALUES (1, ?, 25, 50, 8000, 0, 1.5)", (start,))
    for i, row in enumerate(rows):
        db.execute("INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?,?,?)", (f"n1:{text_ids[i]}" if text_ids else None, *row))
    db.executemany("INSERT INTO event_aggregates VALUES (?,?,?,100,?,?)", counts)
    db.commit()
    db.close()
    return path(name)


# ---- what rows become

small = database("small.db", [
    # a runtime call with a driver call and a wait in it; calls stand with their beginning, waits with their end
    (T0 + 10 * MS, 100, 100, 1, 1, 5 * MS, 4096, 0, 0, -5),
    (T0 + 11 * MS, 100, 100, 4, 5, 3 * MS, 4096, 0, 0, 0),
    (T0 + 13 * MS, 100, 100, 3, 1, 1 * MS, 0, 100, 0, 0),
    (T0 + 20 * MS, 100, 101, 1, 7, 2 * MS, 1 << 20, 1, 0, 6),
    (T0 + 30 * MS, 100, 101, 1, 5, 1 * MS, 0, 0, 700, -5),
    # a request, and its owner asleep until it is done
    (T0 + 40 * MS, 100, 100, 5, 1, 4 * MS, 8, 5000, 0, 0),
    (T0 + 40 * MS + 15000, 100, 100, 3, 1, 4 * MS, 0, 100, 0, 0),
    # the kernel's side knows a thread by its number only
    (T0 + 50 * MS, 101, 101, 3, 1, 2 * MS, 0, 101, 0, 0),
    (T0 + 60 * MS, 100, 100, 3, 7, 0, 0, 200, 0, 0),
    (T0 + 61 * MS, 100, 100, 3, 10, 0, 0, 0, 0, 0),  # a pod: nothing of ours
    (-7, 100, 100, 1, 3, 10, 0, 0, 0, 0),  # no time
], counts=[(T0, 1, 1, 3, 1), (T0, 1, 7, 1, 1), (T0, 3, 3, 99, 0)])
before = open(small, "rb").read()
status, out, err = run("merge", small)
tap.same(status, 0, "an older recording is read")
tap.ok("1 of its events are of kinds" in err and "1 of its events have impossible times" in err, "what is left out is said", err)
tap.same(open(small, "rb").read() == before and os.listdir(folder.name), ["small.db"], "the file stays as it is, and alone")
stat = json.loads(run("stat", "--json", small)[1])
ops = {o["op"]: o for o in stat["ops"]}
tap.same({k: v["count"] for k, v in ops.items()},
         {"cudaMalloc": 1, "cuMemAlloc": 1, "cudaMemcpyAsync": 1, "cudaStreamSynchronize": 1, "offcpu": 3, "block": 1, "fork": 1},
         "each row is an event of its op")
tap.same({k: ops[k]["total_ns"] for k in ("cudaMalloc", "cuMemAlloc", "offcpu", "block")},
         {"cudaMalloc": 5 * MS, "cuMemAlloc": 3 * MS, "offcpu": 7 * MS, "block": 4 * MS}, "of its length")

tap.same(stat["coverage"]["not_kept"], 2, "calls that were counted and not kept are known")
tap.same([p["pid"] for p in stat["processes"]], [100], "threads are of their process")
text = run("explain", small)[1].decode()
tap.ok("Calls: 4 of 6 were recorded (67 %)" in text, "the share of the calls is said", text)

stacks = run("stat", "--json", "--by", "stack", small)[1].decode()
tap.ok("app::step" in stacks and "train.py" in stacks, "stacks have their names", stacks[:600])


def parts(name):
    """What became of the time of the threads, from the analysis."""
    out = json.loads(run("explain", "--json", name)[1])
    return out, {k: v for p in out["breakdown"] for k, v in p["parts"].items()}


report, sums = parts(small)
tap.same(sums.get("disk"), 4 * MS, "who slept until its own request was done waited for the disk")
tap.same(sums.get("blocked"), 3 * MS, "why others waited is not known")

# ---- order: the same with and without an index, and with calls that overlap

rows, truth = [], {}
for i in range(3000):
    tid = 100 + i % 3
    rows.append((T0 + i * MS // 3, 100, tid, 1, 3, (i * 7919) % 900 * 1000, 0, 0, 0, 0))
rows.append((T0, 100, 109, 1, 6, 900 * MS, 0, 0, 0, 0))  # open all the time
one, two = database("indexed.db", rows), database("plain.db", rows, indexed=False)
a, b = run("merge", one), run("merge", two)
tap.ok(a[0] == b[0] == 0 and len(a[1]) > 1000 and a[1] == b[1], "the order of rows is that of ends, whatever index there is", a[2])
stat = json.loads(run("stat", "--json", one)[1])
tap.same((stat["coverage"]["events"], stat["coverage"]["late"], stat["coverage"]["lost"]), (3001, 0, 0), "nothing comes late")

# ---- a device that is idle for seconds, of which most calls were not kept

rows, at = [], T0 + 10**9
for i in range(8):
    rows.append((at, 100, 100, 1, 5, 40000, 0, 0, 0, -5))
    rows.append((at + 3 * 10**9, 100, 100, 3, 1, MS, 0, 100, 0, 0))
    at += 6 * 10**9
idle = database("idle.db", rows, counts=[(T0, 1, 5, 8, 8), (T0, 1, 3, 24, 0)])
report = json.loads(run("explain", "--json", idle)[1])
chains = [(c["kind"], c["coverage"].get("upper_bound")) for c in report["chains"]]
tap.same(chains, [("gpu-idle", True)], "an idle device is told, as a bound")
lost = report["chains"][0]["lost_ns"] if chains else 0
tap.ok(abs(lost - 7 * (6 * 10**9 - 40000) + 7 * MS) < 1000, "from wait to wait, less what the kernel took", str(lost))
text = run("explain", idle)[1].decode()
tap.ok("on the CPU" in text.split("\n")[0] and "for up to 42.0 s" in text and "Calls: 8 of 32 were recorded (25 %)" in text, "and says so", text)
whole = database("whole.db", rows, counts=[(T0, 1, 5, 8, 8)])
text = run("explain", whole)[1].decode()
tap.ok("\nNo host cause found" in text and "Calls:" not in text, "with all calls there, nobody gave it work: silence", text)

# ---- two sessions: nobody was there in between

rows = [(T0 + s * 10**12 + i * 10**7, 100, 100, 1, 5, 40000, 0, 0, 0, 0) for s in (0, 1) for i in range(100)]
rows += [(T0 + s * 10**12 + 10**6, 100, 100, 3, 1, 1000, 0, 100, 0, 0) for s in (0, 1)]
twice = database("twice.db", rows, counts=[(T0, 1, 5, 100, 100), (T0, 1, 3, 300, 0)], stop=T0 + 10**9)
chains = json.loads(run("explain", "--json", twice)[1])["chains"]
tap.ok(sum(c["lost_ns"] for c in chains) > 900 * 10**9, "in one session that time would be the program's", str(chains)[:400])
db = sqlite3.connect(twice)
db.execute("INSERT INTO sessions (started_at, stopped_at) VALUES (?, ?)", (T0 + 10**12, T0 + 10**12 + 10**9))
db.commit()
db.close()
status, out, err = run("explain", "--json", twice)
tap.ok("the 1 pauses between them" in err, "several sessions are said", err)
tap.ok(sum(c["lost_ns"] for c in json.loads(out)["chains"]) < 2 * 10**9, "of two nobody says so", out.decode()[:400])
db = sqlite3.connect(twice)
db.execute("INSERT INTO sessions (started_at, stopped_at) VALUES (?, 0)", (T0 + 3 * 10**9,))  # killed
db.commit()
db.close()


def losses(name):
    lines = map(json.loads, run("export", "--records", "-f", "json", name)[1].splitlines())
    return [(r["since_ns"], r["until_ns"]) for r in lines if r.get("record") == "loss"]


tap.same(losses(twice), [(10**9, 3 * 10**9)], "one that was killed recorded for as long as it did")

# ---- disk reads without a call, and rows that are gone

rows, at = [], T0 + 20 * 10**9
for i in range(100):
    rows.append((at, 100, 100, 5, 1, 900000, 64, i * 64, 0, 0))
    rows.append((at + 14000, 100, 100, 3, 1, 910000, 0, 100, 0, 0))
    at += 2 * MS
disk = database("disk.db", rows, text_ids=range(501, 701), stop=T0 + 21 * 10**9)
report = json.loads(run("explain", "--json", disk)[1])
tap.same([(c["kind"], c["count"], c["lost_ns"]) for c in report["chains"]], [("disk-stall", 100, 91 * MS)], "its own reads are the cause")
tap.same(json.loads(run("stat", "--json", disk)[1])["coverage"]["lost"], 500, "numbers that are missing are lost rows")
text = run("explain", disk)[1].decode()
tap.ok("100 reads (3.1 MiB)" in text and "500 lost" in text, "and said", text)

gone = database("gone.db", [(T0 + n * MS, 100, 100, 1, 1, MS, 0, 0, 0, 0) for n in (10, 5)], text_ids=[5, 9])
tap.same([since for since, _ in losses(gone) if since < -(10**9)], [], "no row is from before the session, however rows stand")

# ---- a paced loop sleeps; a wait with a timeout does not

rows, at = [], T0 + 10**9
for i in range(60):
    rows.append((at, 100, 100, 3, 1, 50 * MS + 50000 + i % 7 * 3000, 0, 100, 0, 0))
    rows.append((at + 15000, 100, 100, 4, 5, 120000, 1 << 20, 0, 0, 0))
    at += 51 * MS
paced = database("paced.db", rows)
report, sums = parts(paced)
tap.same(report["chains"], [], "a loop that sleeps is no incident")
tap.ok(sums.get("sleep", 0) > 55 * 50 * MS, "its sleep is known by its length", str(sums))
rows = [(T0 + 10**9 + i * 5065000, 100, 100, 3, 1, 5055000, 0, 100, 0, 0) for i in range(60)]
tap.ok("sleep" not in parts(database("timeout.db", rows))[1], "one that is taken up again at once is not a sleep")

rows = [(T0 + 10**9 + i * 60 * MS, 100, 100, 3, 1, (5 + i % 40) * MS + 50000, 0, 100, 0, 0) for i in range(60)]
tap.ok("sleep" not in parts(database("lengths.db", rows))[1], "nor are waits that end on whole milliseconds, each on others")

# ---- a wait is for a disk only where it lies under a request of its own

rows, at = [], T0 + 10**9
for i in range(60):
    rows.append((at + 4 * MS, 100, 100, 5, 1, MS, 64, i * 64, 0, 0))  # done long before it runs again
    rows.append((at + 11 * MS, 100, 100, 3, 1, 11 * MS - 300000, 0, 100, 0, 0))
    rows.append((at + 20 * MS, 100, 101, 5, 1, MS, 64, i * 64, 0, 0))  # another's
    rows.append((at + 20 * MS + 15000, 100, 100, 3, 1, MS, 0, 100, 0, 0))
    rows.append((at + 40 * MS, 100, 100, 5, 1, 300000, 64, i * 64, 0, 0))  # a small part of it
    rows.append((at + 40 * MS + 15000, 100, 100, 3, 1, 5 * MS + 333333, 0, 100, 0, 0))
    at += 60 * MS
tap.ok("disk" not in parts(database("aside.db", rows))[1], "requests beside a wait do not explain it")

# ---- everything else

status, out, err = run("correlate", disk)
tap.ok(status == 0 and b"disk" in run("explain", stdin=out)[1], "correlate reads it, its output is a recording", err)
status, out, err = run("explain", disk, paced)
tap.ok(status == 0 and b"blocked on" in out, "several are read together", err)
log = sqlite3.connect(paced)
log.execute("PRAGMA journal_mode=WAL")
log.execute("INSERT INTO events VALUES (NULL, ?, 100, 100, 4, 5, 1000, 1, 0, 0, 0)", (at,))
log.commit()
count = json.loads(run("stat", "--json", paced)[1])["coverage"]["events"]
log.close()
tap.same(count, 121, "what is still in the log beside the file is read")
log = sqlite3.connect(paced)
log.execute("INSERT INTO events VALUES (NULL, ?, 100, 100, 4, 5, 1000, 1, 0, 0, 0)", (at,))
log.commit()
apart = path("apart")
os.mkdir(apart)
for ending in ("", "-wal"):
    with open(paced + ending, "rb") as a, open(os.path.join(apart, "moved.db" + ending), "wb") as b:
        b.write(a.read())
log.close()
held = {n: open(os.path.join(apart, n), "rb").read() for n in os.listdir(apart)}
count = json.loads(run("stat", "--json", os.path.join(apart, "moved.db"))[1])["coverage"]["events"]
tap.same(count, 122, "also where nobody has it open")
tap.same({n: open(os.path.join(apart, n), "rb").read() for n in os.listdir(apart)}, held, "and nothing is written beside it")

# ---- what is none, or damaged

sqlite3.connect(path("foreign.db")).execute("CREATE TABLE events (x)").connection.commit()
sqlite3.connect(path("nobody.db")).execute("CREATE TABLE people (name)").connection.commit()
whole = bytearray(open(small, "rb").read())
for name, data, want, says in (("cut.db", whole[: len(whole) // 2], 4, "damaged"), ("head.db", whole[:100], 4, "damaged"),
                               ("zero.db", whole[:100] + bytes(len(whole) - 100), 4, "damaged"), ("foreign.db", None, 3, "not a recording"),
                               ("nobody.db", None, 3, "not a recording")):
    if data is not None:
        open(path(name), "wb").write(data)
    for program in ("explain", "stat", "correlate", "merge"):
        status, out, err = run(program, path(name))
        tap.ok(status == want and says in err and err.count("\n") == 1, f"{program}: {name} is refused in a line", f"{status} {err}")
bad = []
for i in range(0, len(whole), 97):
    bent = bytearray(whole)
    bent[i] ^= 0x55
    open(path("bent.db"), "wb").write(bent)
    status, out, err = run("stat", path("bent.db"))
    if status not in (0, 3, 4):
        bad.append((i, status, err))
tap.none(bad, "whatever byte is changed, it is read or refused")

# ---- of which machine it was, where it does not say so itself

for name in ("attic", "cellar"):
    status, _, err = run("merge", small, "--force-node", name, "-o", path(name + ".ige"))
    tap.same([status, [p["node"] for p in json.loads(run("stat", "--json", path(name + ".ige"))[1])["processes"]]], [0, [name]], f"it is told: {name}")
status, _, err = run("merge", path("attic.ige"), path("cellar.ige"), "-o", path("both.ige"))
tap.same([status, sorted({p["node"] for p in json.loads(run("stat", "--json", path("both.ige"))[1])["processes"]}), "same recording" in err],
         [0, ["attic", "cellar"], False], "and is of two machines then")
tap.same({p["node"] for p in json.loads(run("stat", "--json", small)[1])["processes"]}, {"unknown"}, "otherwise it is of one that nobody named")

# ---- what it did not know, and of which machine it was

db = sqlite3.connect(database("sampled.db", [(T0 + MS, 100, 100, 1, 1, MS, 0, 0, 0, 0)]))
db.executescript("""ALTER TABLE sessions ADD COLUMN node TEXT; UPDATE sessions SET node = 'n1';
    ALTER TABLE system_snapshots ADD COLUMN node TEXT; UPDATE system_snapshots SET node = 'n1', load_avg = NULL;""")
db.execute("INSERT INTO system_snapshots VALUES (2, ?, 75, 20, 4000, 0, 2.5, 'n2')", (T0 + MS,))
db.commit()


def sampled():
    status, out, _ = run("export", "--records", "-f", "json", path("sampled.db"))
    return sorted((r.get("node", "n1"), r["metric"], r["value"]) for r in map(json.loads, out.splitlines()) if r.get("record") == "sample")


mib = 2**20
tap.same(sampled(), [("n1", "cpu.busy", 25), ("n1", "mem.available", 8000 * mib), ("n1", "mem.used", 8000 * mib), ("n1", "swap.used", 0),
                     ("n2", "cpu.busy", 75), ("n2", "load.1m", 2.5), ("n2", "mem.available", 4000 * mib), ("n2", "swap.used", 0)],
         "samples are of their machines; what has no value, and a share of a memory of unknown size, is left out")
db.execute("UPDATE sessions SET mem_total = 0")
db.commit()
db.close()
tap.none([s for s in sampled() if s[1] == "mem.used"], "nor is anything a share of nothing")

# ---- threads of two machines with one number

db = sqlite3.connect(database("numbers.db", [(T0 + MS, 100, 101, 1, 1, 4 * MS, 0, 0, 0, 0), (T0 + 2 * MS, 200, 101, 1, 1, MS, 0, 0, 0, 0),
                                             (T0 + 9 * MS, 101, 101, 3, 1, MS, 0, 101, 0, 0), (T0 + 9 * MS, 101, 101, 3, 1, MS, 0, 101, 0, 0)]))
db.executescript("ALTER TABLE events ADD COLUMN node TEXT; UPDATE events SET node = CASE id % 2 WHEN 1 THEN 'n1' ELSE 'n2' END;")
db.commit()
db.close()
lines = [json.loads(x) for x in run("export", "-f", "json", path("numbers.db"))[1].splitlines()]
tap.same(sorted((x["node"], x["pid"], x["op"], x.get("depth", 0)) for x in lines),
         [("n1", 100, "cudaMalloc", 0), ("n1", 100, "offcpu", 0), ("n2", 200, "cudaMalloc", 0), ("n2", 200, "offcpu", 0)],
         "each is of its own process, and around no call of the other")

d = dashboard.Dashboard(path("sampled.db"))
if d.url:
    tap.same(d.json("overview")[1]["system"], {"cpu_percent": 25, "mem_percent": None, "swap_mb": 0, "load_avg": None},
             "the API: what is not known of a machine is null, not another's and not 0")
    shots = [{k: v for k, v in s.items() if k != "timestamp"} for s in d.json("snapshots")[1]["snapshots"]]
    tap.same(shots, [{"cpu_percent": 25, "mem_percent": None, "mem_avail_mb": 8000, "swap_mb": 0, "load_avg": None}], "the same at each time")
    d.end()
else:
    tap.skip("the API of what is not known", "optional: " + d.said.strip()[-100:])

# ---- the published ones

samples = os.environ.get("INGERO_RECORDINGS", "")
for name, first in (("pytorch-dataloader-starvation.db", "left the GPU without work for up to"),
                    ("sample-gpu-node-01.db", "was blocked on a disk"), ("sample-gpu-node-02.db", "No host cause found")):
    if not os.path.exists(os.path.join(samples, name)):
        tap.skip(name, "optional: INGERO_RECORDINGS names no folder that holds it")
        continue
    status, out, err = run("explain", os.path.join(samples, name))
    tap.ok(status == 0 and first in out.decode(), f"{name}: {first}", out.decode() + err)
tap.done_testing()
