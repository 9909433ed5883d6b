#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Published recordings of the Go agent: imported, and archived, they have the same rows, the same totals per operation and process,
# and the chains that were stored in them; and a question in SQL has one answer, whichever of the two it is asked of.

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

where = os.environ.get("INGERO_RECORDINGS", "../shared/data/recordings")
names = sorted(n for n in os.listdir(where) if n.endswith(".db")) if os.path.isdir(where) else []
if not names:
    tap.skip_all("optional: no recordings of the Go agent here (INGERO_RECORDINGS names their folder)")
folder = tempfile.TemporaryDirectory(prefix="ingero-recordings.")

CHAIN = "id, detected_at, severity, summary, root_cause, explanation, recommendations, cuda_op, cuda_p99_us, cuda_p50_us, tail_ratio, timeline"
QUESTIONS = [
    "SELECT count(*) FROM events",
    "SELECT source, op, count(*), sum(duration), min(duration), max(duration) FROM events GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT s.name, o.name, count(*) FROM events e JOIN sources s ON s.id = e.source JOIN ops o ON o.source_id = e.source"
    " AND o.op_id = e.op GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT tid, count(*), sum(duration) FROM events GROUP BY 1 ORDER BY 1",
    "SELECT timestamp, tid, source, op, duration, ret_code FROM events ORDER BY 1, 2, 3, 4, 5",
    "SELECT source, op, sum(arg0) FROM events WHERE source = 1 AND op IN (1, 4, 7, 8) OR source = 4 AND op = 5"
    " OR source = 5 GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT min(timestamp), max(timestamp) FROM events",
    "SELECT e.timestamp, json_array_length(t.frames) FROM events e JOIN stack_traces t ON t.hash = e.stack_hash"
    " WHERE json_array_length(t.frames) > 0 ORDER BY 1, 2",
    f"SELECT {CHAIN} FROM causal_chains ORDER BY id",
    "SELECT severity, count(*) FROM causal_chains GROUP BY 1 ORDER BY 1",
    "SELECT timestamp, round(cpu_pct, 6), round(mem_pct, 6), mem_avail, swap_mb, round(load_avg, 6) FROM system_snapshots ORDER BY 1",
    "SELECT cpu_cores, mem_total, kernel, ingero_ver, pid_filter, flags FROM sessions ORDER BY started_at LIMIT 1",
    "SELECT count(*) FROM events WHERE timestamp BETWEEN (SELECT min(timestamp) + 1000000000 FROM events)"
    " AND (SELECT min(timestamp) + 20000000000 FROM events)",
]


def run(program, *args):
    p = subprocess.run([os.path.join(tap.BIN, "ingero-" + program), *args], capture_output=True)
    return p.returncode, p.stdout, p.stderr.decode()


for name in names:
    theirs, ours = os.path.join(folder.name, name), os.path.join(folder.name, "ours.db")
    imported = os.path.join(folder.name, "imported.ige")
    shutil.copy(os.path.join(where, name), theirs)
    db = sqlite3.connect(theirs)
    # Tables of names that this version of the agent did not write for all of its ops.
    known = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    status, _, err = run("merge", theirs, "-o", imported)
    tap.ok(status == 0 and "left out" not in err, f"{name} is imported, all of it", err)
    status, _, err = run("merge", imported, "-o", ours)
    tap.ok(status == 0, f"{name}: and archived", err)
    archive = sqlite3.connect(ours)
    for sql in QUESTIONS:
        if "JOIN sources" in sql and not {"sources", "ops"} <= known:
            continue
        want, got = db.execute(sql).fetchall(), archive.execute(sql).fetchall()
        differ = [(a, b) for a, b in zip(want, got) if a != b][:3]
        tap.ok(want == got, f"{name}: {sql[:70]}", f"{len(want)} rows and {len(got)}; {differ}")
    # What was counted and not kept is counted still.
    kept = {(s, o): n for s, o, n in db.execute("SELECT source, op, count(*) FROM events GROUP BY 1, 2")}
    counted = {(s, o): n for s, o, n in archive.execute("SELECT source, op, sum(stored) FROM event_aggregates GROUP BY 1, 2 HAVING sum(stored)")}
    tap.same(counted, kept, f"{name}: sums per minute know what is stored")
    asked = [json.loads(run("query", "--json", file, "SELECT count(*), sum(duration) FROM events")[1])["rows"] for file in (theirs, ours, imported)]
    tap.ok(asked[0] == asked[1] == asked[2], f"{name}: ingero-query has one answer", asked)
    with open(os.path.join(where, name), "rb") as a, open(theirs, "rb") as b:
        tap.ok(a.read() == b.read(), f"{name}: stays as it was")
tap.done_testing()
