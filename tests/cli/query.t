#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Questions in SQL: of a recording, of its archive and of a database of the older agent; what they may not do; and the archive itself,
# seen with Python's sqlite3.

import csv
import io
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import ige_reader  # noqa: E402
import schema  # noqa: E402
import tap  # noqa: E402

folder = tempfile.TemporaryDirectory(prefix="ingero-query.")
here = folder.name


def path(name):
    return os.path.join(here, name)


def run(program, *args, **more):
    p = subprocess.run([os.path.join(tap.BIN, "ingero-" + program), *args], capture_output=True, cwd=here, **more)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


run("demo", "incident", "--duration", "3s", "-o", "run.ige")
status, _, err = run("merge", "run.ige", "-o", "run.db")
tap.same(status, 0, "a recording becomes an archive")
stat = json.loads(run("stat", "--json", "run.ige")[1])
db = sqlite3.connect(f"file:{path('run.db')}?mode=ro", uri=True)
tap.same(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "which SQLite finds sound")

# ---- the same numbers everywhere

OPS = """SELECT coalesce(o.description, o.name), count(*), sum(e.duration), min(e.duration), max(e.duration), sum(e.ret_code <> 0)
    FROM events e JOIN ops o ON o.source_id = e.source AND o.op_id = e.op GROUP BY 1 ORDER BY 1"""
SUMS = """SELECT o.description, sum(a.count), sum(a.sum_dur), min(a.min_dur), max(a.max_dur) FROM event_aggregates a
    JOIN ops o ON o.source_id = a.source AND o.op_id = a.op GROUP BY 1 ORDER BY 1"""
want = sorted([f"{o['source']}:{o['op']}", o["count"], o["total_ns"], o["min_ns"], o["max_ns"], o["errors"]] for o in stat["ops"])
tap.same([list(r) for r in db.execute(OPS)], want, "rows are what ingero-stat counts, to the nanosecond")
tap.same([list(r) for r in db.execute(SUMS)], [w[:5] for w in want], "and so are the sums per minute")
for name in ("run.ige", "run.db"):
    status, out, err = run("query", "--json", name, OPS)
    answer = json.loads(out)
    tap.same([[status], answer["rows"], answer["truncated"]], [[0], want, False], f"asked of {name}: the same")
    tap.same(schema.check(answer, "formats/query.schema.json"), [], "of the documented shape")
out = run("query", "--csv", "run.db", OPS)[1]
tap.same([[r[0], *map(int, r[1:])] for r in list(csv.reader(io.StringIO(out)))[1:]], want, "as CSV")
table = run("query", "run.db", "SELECT 'a' AS name, 12 AS n, NULL AS missing")[1]
tap.same(table.split(), ["name", "n", "missing", "a", "12"], "as a table")
numbers = "WITH v(name, ms, us) AS (VALUES ('a', 5.25, 18400), ('bc', NULL, 2.5), ('d', 2100, 1e12), ('e', 0.125, -3.0625)) SELECT * FROM v"
tap.same(run("query", "run.db", numbers)[1], """\
name        ms          us
a        5.25   18400
bc                  2.5
d     2100          1e+12
e        0.125     -3.0625
""", "numbers with their decimal points below each other")

run("correlate", "run.ige", "-o", "found.ige")
chains = json.loads(run("explain", "--json", "found.ige")[1])["chains"]
want = [[c["id"], c["severity"], c["culprit"]["text"], c["count"], c["lost_ns"]] for c in chains]
for name in ("run.ige", "found.ige"):
    rows = json.loads(run("query", "--json", name, "SELECT id, severity, root_cause, count, lost_ns FROM causal_chains ORDER BY lost_ns DESC")[1])["rows"]
    tap.same(rows, sorted(want, key=lambda c: -c[4]), f"chains asked of {name} are those of ingero-explain")

# ---- the Go agent's table, its columns first and in its order

GO = ("id timestamp pid tid source op duration gpu_id arg0 arg1 ret_code stack_hash node rank local_rank world_size comm stack_ips cgroup_id").split()
columns = [r[1] for r in db.execute("PRAGMA table_info(events)")]
tap.same(columns[:19], GO, "events has the 19 columns of the Go agent first")
tap.same(db.execute("SELECT id, node FROM events WHERE seq = 7").fetchone(), ("gpu-host-1:7", "gpu-host-1"), "ids are node and number")
row = db.execute("SELECT timestamp, start_ns, end_ns, duration FROM events WHERE source = 1 AND op = 3 LIMIT 1").fetchone()
off = db.execute("SELECT timestamp, start_ns, end_ns, duration FROM events WHERE source = 3 AND op = 1 LIMIT 1").fetchone()
offset = int(db.execute("SELECT value FROM schema_info WHERE key = 'clock_offset_ns'").fetchone()[0])
tap.ok(row[0] == row[1] + offset and row[1] + row[3] == row[2], "calls stand with their beginning", row)
tap.ok(off[0] == off[2] + offset and off[1] + off[3] == off[2], "what the kernel did with its end", off)
data, at = bytearray(open(path("run.ige"), "rb").read()), ige_reader.SEGMENT
while True:  # to the first reading of the clock
    header = ige_reader.Header(data, at)
    columns = ige_reader.columns_of(data, at, header)
    if header.type == ige_reader.RECORDS and columns and (columns[0].id & 0x7FFF) >> 8 == 1:
        break
    at += header.length
for i in range(at + ige_reader.BLOCK, at + header.length):
    data[i] ^= 0x55
with open(path("torn.ige"), "wb") as f:
    f.write(data)
for how, args in (("export", ("-f", "sqlite", "-o", "torn.db", "torn.ige")), ("export", ("--last", "1h", "-f", "sqlite", "-o", "torn.db", "torn.ige")), ("merge", ("torn.ige", "-o", "torn.db"))):
    run(how, *args)
    torn = sqlite3.connect(f"file:{path('torn.db')}?mode=ro", uri=True)
    tap.same(torn.execute("SELECT count(*), max(abs(timestamp - CASE WHEN source IN (3, 4) THEN end_ns ELSE start_ns END - ?)) < 3600e9 FROM events", (offset,)).fetchone(),
             (db.execute("SELECT count(*) FROM events").fetchone()[0], 1), f"{how}: without the first reading of the clock the times are those of the recording's header")
    torn.close()
    os.remove(path("torn.db"))
frames = json.loads(db.execute("SELECT frames FROM stack_traces JOIN events ON hash = stack_hash LIMIT 1").fetchone()[0])
tap.ok(all("s" in f or "pfn" in f or "i" in f for f in frames), "stacks are JSON as that agent's", frames)

# ---- choosing

n = db.execute("SELECT count(*) FROM events WHERE source = 1 AND op = 7").fetchone()[0]
rows = json.loads(run("query", "--json", "--op", "cudaMemcpyAsync", "run.ige", "SELECT count(*), count(DISTINCT op) FROM events")[1])["rows"]
tap.same(rows, [[n, 1]], "--op chooses what is asked")
events = json.loads(run("query", "--json", "--op", "cudaMemcpyAsync", "--limit", "5", "run.ige")[1])
tap.same([e["op"] for e in events], ["cudaMemcpyAsync"] * 5, "without SQL: the newest events, as JSON")
tap.ok("cudaMemcpyAsync" in run("query", "run.ige")[1], "or the operations")
tap.same(len(json.loads(run("query", "--json", "--op", "cudaMemcpyAsync", "--limit", str(2**63 - 1), "run.ige")[1])),
         len(json.loads(run("query", "--json", "--op", "cudaMemcpyAsync", "--limit", "0", "run.ige")[1])), "a limit that nothing reaches is none")
for args in (["run.ige"], ["--nodes", "127.0.0.1:1"], ["--nodes", "127.0.0.1:1", "--json"]):
    status, out, err = run("query", "--limit", "5", *args)
    tap.ok((status, out) == (2, "") and "--limit is for" in err, f"a limit of what has no rows to be limited: {args}", f"{status} {err}")
with open(path("limits.yaml"), "w") as f:
    f.write("query:\n  limit: 5\n")
status, out, err = run("query", "run.ige", env={**os.environ, "INGERO_CONFIG": path("limits.yaml")})
tap.ok(status == 0 and "cudaMemcpyAsync" in out, "but of all calls of the program it may be said", err)
status, out, err = run("query", "--json", "--limit", "3", "run.db", "SELECT seq FROM events")
answer = json.loads(out)
tap.same([len(answer["rows"]), answer["truncated"]], [3, True], "rows are limited, and it is said")
tap.ok("first 3 rows" in err, "on standard error too", err)

# ---- kept

tap.same(run("query", "--cache", "run.ige", "SELECT count(*) FROM events")[0], 0, "an archive is kept where it is asked for")
first = os.stat(path("run.ige.db")).st_mtime_ns
tap.same(os.stat(path("run.ige.db")).st_mode & 0o777, 0o600, "for its owner alone")
status, out, err = run("query", "--cache", "run.ige", "SELECT count(*) FROM events")
tap.ok(status == 0 and os.stat(path("run.ige.db")).st_mtime_ns == first and "making" not in err, "and used again", err)
os.utime(path("run.ige"), ns=(first + 10**9, first + 10**9))
tap.ok("making" in run("query", "--cache", "run.ige", "SELECT 1 AS one")[2], "unless the recording is newer")
run("demo", "clean", "--duration", "1s", "-o", "older.ige")
os.utime(path("older.ige"), ns=(10**18, 10**18))
os.rename(path("run.ige"), path("kept.ige"))
os.rename(path("older.ige"), path("run.ige"))
want = int(run("query", "--csv", "run.ige", "SELECT count(*) FROM events")[1].split()[1])
tap.same(int(run("query", "--cache", "--csv", "run.ige", "SELECT count(*) FROM events")[1].split()[1]), want, "or another one, however old")
os.rename(path("kept.ige"), path("run.ige"))

# ---- of what was not whole

data = open(path("run.ige"), "rb").read()
with open(path("cut.ige"), "wb") as f:
    f.write(data[:len(data) * 2 // 3])
bad = bytearray(data)
bad[len(data) // 2:len(data) // 2 + 64] = bytes(64)
with open(path("bad.ige"), "wb") as f:
    f.write(bad)
for name in ("cut", "bad"):
    run("merge", f"{name}.ige", "-o", f"{name}-merged.db")
    run("export", f"{name}.ige", "-o", f"{name}-exported.db")
    run("export", f"{name}.ige", "run.ige", "-o", f"{name}-joined.db")
    for args in (["--cache", f"{name}.ige"], ["--cache", f"{name}.ige"], [f"{name}-merged.db"], [f"{name}-exported.db"], [f"{name}-joined.db"]):
        status, out, err = run("query", "--csv", *args, "SELECT count(*) FROM events")
        tap.ok(status == 4 and int(out.split()[1]) > 0 and "warning" in err, f"{' '.join(args)}: answered, and said that it is not all", f"{status} {err}")
for name in ("run.db", "run.ige.db"):
    tap.same(run("query", "--csv", name, "SELECT 1")[::2], (0, ""), f"{name}: nothing to say of what is whole")

# ---- exported, as the same; and with a limit

status, _, err = run("export", "run.ige", "-o", "exported.db")
tap.ok(status == 0 and "sqlite" in err, "ingero-export makes one too", err)
other = sqlite3.connect(path("exported.db"))
tap.same(other.execute(OPS).fetchall(), db.execute(OPS).fetchall(), "which says the same")
run("demo", "incident", "--duration", "150s", "--threads", "1", "-o", "long.ige")
scheduled = json.loads(run("stat", "--json", "-e", "sched", "long.ige")[1])["coverage"]["selected"]
status, _, err = run("export", "-e", "sched", "--max-db", "15m", "long.ige", "-o", "small.db")
small = sqlite3.connect(path("small.db"))
tap.ok(status == 0 and os.path.getsize(path("small.db")) <= 15 << 20, "--max-db leaves out what does not fit", err)
kept = sqlite3.connect(path("small.db")).execute("SELECT count(*) FROM events").fetchone()[0]
tap.ok(f"Exported {kept:,} events, 0 findings -> small.db (sqlite, " in err and re.search(r", \d+ bytes an event\)", err) and f"{scheduled - kept:,} events of older minutes were left out" in err, "and says how much", err)
status, _, err = run("export", "-e", "sched", "--max-db", "64k", "long.ige", "-o", "last.db")
tap.ok(status == 0 and "warning" in err and "larger than --max-db" in err, "the last minute stays, and it is said that it is larger", err)
first, n = small.execute("SELECT min(timestamp), count(*) FROM events").fetchone()
tap.ok(0 < n < scheduled and first % (60 * 10**9) < 10**9, "whole minutes", (first, n))
tap.same(small.execute("SELECT sum(count) FROM event_aggregates").fetchone()[0], n, "and sums are of what is there")
tap.same(small.execute("PRAGMA integrity_check").fetchone()[0], "ok", "it is sound")
tap.same(run("export", "--max-db", "5m", "-f", "csv", "run.ige")[0], 2, "a limit is for archives")
status, out, err = run("export", "-f", "sqlite", "run.ige")
tap.ok(status == 2 and not out and "-o" in err, "an archive is not for a pipe", err)
if os.path.exists("/dev/full"):
    for program, *args in (("export", "-f", "sqlite", "run.ige", "-o", "full.db"), ("merge", "run.ige", "-o", "full.db"), ("query", "--cache", "run.ige", "SELECT 1")):
        os.path.exists(path("run.ige.db")) and os.unlink(path("run.ige.db"))
        status, _, err = run(program, *args, preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)))
        tap.ok(status == 3 and args[-1].replace("SELECT 1", "run.ige.db") in err and not os.path.exists(path("full.db")), f"{program}: an archive there is no room for is called by its name", f"{status} {err}")
    tap.same(run("export", "-f", "sqlite", "run.ige", "-o", "/dev/full")[0], 3, "nor for a full disk")

# ---- what is refused

before = open(path("run.db"), "rb").read()
files = sorted(os.listdir(here))
for sql in ("DELETE FROM events", "WITH x AS (SELECT 1) DELETE\tFROM events", "ATTACH 'other.db' AS other", "PRAGMA journal_mode = WAL",
            "PRAGMA user_version = 7", "CREATE TABLE t (x)", "CREATE TEMP TABLE t (x)", "VACUUM INTO 'other.db'", "SELECT load_extension('x')",
            "SELECT writefile('other.db', 'x')", "SELECT 1; DELETE FROM events", "BEGIN IMMEDIATE", "DROP TABLE events", "REINDEX events ",
            "UPDATE events SET op = 1", "INSERT INTO events (id) VALUES (1)", "ANALYZE main.events", "DETACH DATABASE main", "-- nothing at all",
            "SELECT * FROM no_such_table", "PRAGMA writable_schema = ON", "EXPLAIN DELETE FROM events",
            "SELECT readfile('/etc/passwd')", "SELECT edit('x', 'vi')"):
    status, out, err = run("query", "run.db", sql)
    tap.ok(status == 2 and not out and err.startswith("ingero-query: "), f"refused: {sql}", f"{status} {out} {err}")
tap.same(open(path("run.db"), "rb").read() == before and sorted(os.listdir(here)) == files, True, "and nothing has changed")
for sql in ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
            "SELECT count(*) FROM events a, events b, events c WHERE a.duration + b.duration + c.duration = 1"):
    status, out, err = run("query", "--timeout", "200ms", "run.db", sql)
    tap.ok(status == 3 and "longer than 0.2 s" in err, f"ended: {sql}", f"{status} {err}")
for sql in ("SELECT 1;", "SELECT 1; -- done", "PRAGMA table_info(events)", "EXPLAIN QUERY PLAN SELECT * FROM events", "VALUES (1), (2)",
            "WITH x AS (SELECT 1 AS y) SELECT y FROM x", "SELECT name FROM pragma_table_info('events') WHERE cid < 3",
            "SELECT value FROM json_each('[1, 2]')"):
    tap.same(run("query", "run.db", sql)[0], 0, f"allowed: {sql}")

# ---- what is no database, or not now

open(path("text.db"), "w").write("SQLite format 3\0" + "x" * 5000)
status, out, err = run("query", "text.db", "SELECT 1 AS one")
tap.ok(status == 4 and "text.db" in err and not out, "a damaged database is told as one", err)
status, _, err = run("query", "nowhere.ige", "SELECT 1 AS one")
tap.ok(status == 3 and "nowhere.ige" in err, "one that is not there too", err)
busy = sqlite3.connect(path("busy.db"), isolation_level=None)
busy.executescript("PRAGMA journal_mode = DELETE; CREATE TABLE t (x); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)")
status, _, err = run("query", "busy.db", "SELECT * FROM t")
tap.ok(status == 3 and "writing" in err, "one that somebody is writing to is told as that", err)
busy.close()
status, out, _ = run("query", "--explain-schema")
tap.ok(status == 0 and "CREATE TABLE events" in out and "-- sources.id" in out, "the schema is printed with its comments")
# ---- by an expression
every = [json.loads(line.rstrip(",")) for line in run("query", "--json", "--limit", "0", "run.ige")[1].splitlines() if line.startswith("{")]
long_ = sum(e["duration_ns"] > 1e6 for e in every)
rows = json.loads(run("query", "-w", ".duration_ns > 1e6", "--json", "run.ige", "SELECT count(*) FROM events")[1])["rows"]
tap.ok(0 < long_ < len(every) and rows == [[long_]], "-w: SQL asks of those for which it is true", f"{rows} {long_} of {len(every)}")
shown = run("query", "-w", ".duration_ns > 1e6", "--json", "--limit", "0", "run.ige")[1]
tap.same(shown.count('"duration_ns"'), long_, "-w: as do the events of --json")
tap.same([run("query", *args)[0] for args in (("-w", ".op", "run.ige"), ("-w", ".op ==", "run.ige", "SELECT 1"))], [2, 2], "-w: not of tables, and not what jq does not take")
# ---- --jq: what jq itself makes of --json
TWO = "SELECT 'a' AS name, 1 AS n UNION ALL SELECT 'b', 9007199254740993"
for filter_, want in ((".", [json.loads(run("query", "--json", "run.db", TWO)[1])]), (".rows[] | .[0]", ["a", "b"]), (".rows | map(.[1])", [[1, "9007199254740993"]]),
                      ("[.columns, (.rows | length)]", [[["name", "n"], 2]]), ("empty", [])):
    status, out, err = run("query", "--jq", filter_, "run.db", TWO)
    tap.same((status, [json.loads(line) for line in out.splitlines()], err), (0, want, ""), f"--jq '{filter_}'")
status, out, err = run("query", "--jq", ".rows[0][0]", "run.ige", "SELECT count(*) FROM events")
tap.same((status, out), (0, run("query", "--csv", "run.ige", "SELECT count(*) FROM events")[1].split()[1] + "\n"), "--jq: of a recording")
for args, why in ((("--jq", ".rows[", "run.db", "SELECT 1"), "jq"), (("--jq", ".rows + 1", "run.db", "SELECT 1"), "cannot be added"), (("--jq", ".", "run.ige"), "--jq is for"),
                  (("--jq", ".", "--csv", "run.db", "SELECT 1"), "not both")):
    status, out, err = run("query", *args)
    tap.ok(status == 2 and not out and why in err, f"refused: {' '.join(args)}", f"{status} {out} {err}")
tap.done_testing()
