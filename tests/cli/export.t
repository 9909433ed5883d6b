#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-export: what it writes is what the recording holds, as ingero-stat counts it; choices leave out what they say;
# an output is whole or not there.

import csv
import gzip
import html
import io
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import schema  # noqa: E402
import tap  # noqa: E402

EXPORT, DEMO, STAT, CORRELATE, EXPLAIN = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "stat", "correlate", "explain"))
TMP = tempfile.TemporaryDirectory()
NEWS = {"timeout": 300, "capture_output": True}


def run(*args, data=None, env=None):
    how = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    p = subprocess.run([EXPORT, *args], env={**os.environ, **(env or {})}, **how, **NEWS)
    return p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")


def lines(out):
    return [json.loads(x) for x in out.splitlines()]


def path(name):
    return os.path.join(TMP.name, name)


def sums(events):
    """By source and op: count, ns in all, failures."""
    by = {}
    for e in events:
        row = by.setdefault((e["source"], e["op"]), [0, 0, 0])
        row[0] += 1
        row[1] += e["duration_ns"]
        row[2] += e.get("return_code", 0) != 0
    return by


demo = subprocess.run([DEMO, "errors", "--duration", "1s"], **NEWS)
data = demo.stdout if demo.returncode == 0 else subprocess.run([DEMO, "incident", "--duration", "1s"], **NEWS).stdout
run_ige = path("run.ige")
with open(run_ige, "wb") as f:
    f.write(data)
stat = json.loads(subprocess.run([STAT, "--json", run_ige], **NEWS).stdout)

status, out, err = run(run_ige)
events = lines(out)
tap.same((status, err), (0, ""), "json: done without a word")
tap.same(len(events), stat["coverage"]["events"], "as many lines as stat counts events")
tap.same({k: v[:2] for k, v in sums(events).items()},
         {(r["source"], r["op"]): [r["count"], r["total_ns"]] for r in stat["ops"]},
         "count and time of each op are stat's")
rules = json.load(open("formats/event.schema.json"))
tap.none((x for e in events[:3000] for x in schema.complaints(e, rules)), "lines are of formats/event.schema.json")
tap.same(run("-", data=data)[1], out, "from a pipe the same bytes")
tap.same(lines(run("--no-stacks", run_ige)[1]), [{k: v for k, v in e.items() if k != "stack"} for e in events],
         "--no-stacks leaves out the stacks and nothing else")

others = lines(run("-e", "occupied", "-", data=subprocess.run([DEMO, "incident", "--duration", "300ms"], **NEWS).stdout)[1])
tap.ok(others, "who had the CPU")
tap.none([e for e in others if e["args"] != [e["cpu"], e["occupant"]["tid"]]], "args: threads by the numbers that the machine gives them")

# What is chosen.
pid = events[0]["pid"]
mine = [e for e in events if e.get("pid") == pid]
tap.same(lines(run("-p", str(pid), run_ige)[1]), mine, "-p: events of that process")
tap.same(lines(run("-e", "cuda", run_ige)[1]), [e for e in events if e["source"] == "cuda"], "-e: of that source")
node = events[0]["node"]
tap.same(run("-n", node, run_ige)[1], out, "-n: the machine")
tap.same(run("-n", "elsewhere", run_ige)[:2], (0, b""), "-n: another machine has none")
tap.ok(not [x for x in lines(run("--records", "-n", "elsewhere", run_ige)[1]) if x["record"] == "sample"], "-n: nor samples")
slow = sorted(e["duration_ns"] for e in events)[-50]
tap.same(lines(run("-w", f".duration_ns >= {slow} and .pid == ($p | tonumber)", "--arg", f"p={pid}", run_ige)[1]),
         [e for e in mine if e["duration_ns"] >= slow], "-w with --arg: for which it is true")
os.mkdir(path(".jq"))
with open(path(".jq/own.jq"), "w") as f:
    f.write(f"def slow: .duration_ns >= {slow};")
tap.same(lines(run("-w", 'include "own"; slow', run_ige, env={"HOME": path(""), "MALLOC_PERTURB_": "165"})[1]),
         lines(run("-w", f".duration_ns >= {slow}", run_ige)[1]), "-w: modules of ~/.jq")
status, some, err = run("-w", "input", run_ige, env={"MALLOC_PERTURB_": "165"})
tap.ok(status == 0 and some == b"" and "had no answer" in err, "-w: there are no further inputs", f"{status} {err}")
status, some, err = run("-w", ".bytes | keys", run_ige)
tap.ok(status == 0 and some == b"" and "left out" in err, "-w without an answer: left out, and told", err)
last = lines(run("--last", "100ms", run_ige)[1])
edge = max(e["start_ns"] + e["duration_ns"] for e in last) - 100_000_000
tap.ok(last and len(last) < len(events) and
       all(e["start_ns"] + e["duration_ns"] >= edge - 1 for e in last), "--last: what ended in that time")

# Other forms of the same events.
status, out_csv, err = run("-f", "csv", run_ige)
rows = list(csv.DictReader(io.StringIO(out_csv.decode(), newline="")))
tap.same(len(rows), len(events), "csv: a row per event")
tap.none((f"{i}: {r} {e}" for i, (r, e) in enumerate(zip(rows, events))
          if (r["op"], int(r["duration_ns"]), int(r["start_ns"]), r["pid"], r["bytes"]) !=
          (e["op"], e["duration_ns"], e["start_ns"], str(e.get("pid", "")), str(e.get("bytes", "")))),
         "csv: the same values as json")
status, text, err = run("-f", "text", run_ige)
tap.same(len(text.splitlines()), len(events) + 1, "text: a line per event under its heading")

# Records and chains.
told = [x for x in lines(run("--records", run_ige)[1]) if "record" in x]
tap.ok({"session", "clock", "node", "coverage"} <= {x["record"] for x in told}, "--records: what the recording says of itself")
analyzed = subprocess.run([CORRELATE], input=data, **NEWS).stdout
both = lines(run(data=analyzed)[1])
chains = [x for x in both if x.get("record") == "chain"]
tap.same([x for x in both if "record" not in x], events, "correlated: the same events")
told = subprocess.run([CORRELATE, "--json"], input=data, **NEWS).stdout
tap.same([(x["id"], x["revision"], x["body"]) for x in chains],
         [(x["id"], x["revision"], x["body"]) for x in lines(told) if x["record"] == "chain"],
         "correlated: its chains, with what they say")

# Files.
target = path("x.json.gz")
status, nothing, err = run("-o", target, run_ige)
tap.ok(status == 0 and nothing == b"" and f" -> {target} (json, " in err and "findings" in err, "-o: says what was written", err)
tap.same(gzip.open(target).read(), out, "-o FILE.json.gz: the same, compressed")
tap.same(gzip.decompress(run("--gzip", run_ige)[1]), out, "--gzip: the same")
tap.same(os.stat(target).st_mode & 0o777, 0o600, "for nobody else to read")
before = set(os.listdir(TMP.name))
status, nothing, err = run("-o", path("y.json"), path("none.ige"))
tap.ok(status == 3 and set(os.listdir(TMP.name)) == before, "no input, no output", err)
tap.same(run("-o", path("x.strange"), run_ige)[0], 2, "an ending that says nothing is asked about")
tap.same(run("-o", run_ige, "-f", "json", run_ige)[0], 2, "never over its input")
status, nothing, err = run("-o", "/dev/full", "-f", "json", run_ige)
tap.ok(status == 3 and "/dev/full" not in before and "space" in err, "a full disk is told", err)

# An archive: rows are the events.
import sqlite3  # noqa: E402
target = path("x.db")
status, nothing, err = run("-o", target, run_ige)
db = sqlite3.connect(f"file:{target}?mode=ro", uri=True)
tap.same((status, db.execute("select count(*), sum(duration) from events").fetchone()),
         (0, (len(events), sum(e["duration_ns"] for e in events))), "sqlite: a row per event")
db.close()
run("-o", target, "-e", "cuda", run_ige)
db = sqlite3.connect(f"file:{target}?mode=ro", uri=True)
tap.same(db.execute("select count(*) from events").fetchone()[0], sum(e["source"] == "cuda" for e in events),
         "sqlite: of those that were chosen")
db.close()
tap.same([run("-o", target, f"formats/samples/v1/good/{name}.ige")[0] for name in ("foreign", "joined", "records")], [0] * 3,
         "sqlite: whatever records say, as of a filter that names no time")
tap.same(run("-f", "sqlite", run_ige)[0], 2, "sqlite wants a file")
tap.same(run("-f", "json", "--max-db", "1m", run_ige)[0], 2, "--max-db is for archives")

# Rows for a column store: each of a kind, every event once, and no text of the recording beyond its value.
SHAPES = {"row": str, "node": str, "job": str, "rank": int, "pid": int, "tid": int, "process": str, "thread": str, "cgroup": str, "gpu": int,
          "time_ns": int, "until_ns": int, "duration_ns": int, "source": str, "op": str, "return_code": int, "error": str, "bytes": int,
          "direction": str, "detail": str, "other": str, "wait_ns": int, "comm_id": str, "sequence": int, "function": str, "file": str, "line": int,
          "metric": str, "unit": str, "value": (int, float), "device": int, "id": str, "revision": int, "kind": str, "severity": str, "count": int,
          "lost_ns": int, "share": (int, float), "culprit": str, "culprit_kind": str, "site": str, "fix": str, "summary": str, "body": str,
          "reason": str, "part": str, "wall_ns": int, "slow": int, "p50_ns": int, "p99_ns": int, "max_ns": int}
status, out, err = run("-f", "clickhouse", data=analyzed)
rows = lines(out)
tap.same((status, err), (0, ""), "clickhouse: done without a word")
tap.none((r for r in rows if not all(isinstance(v, SHAPES.get(k, ())) for k, v in r.items())), "clickhouse: values of their column's type")
schema_sql = open("formats/clickhouse/schema.sql").read()
feed = schema_sql[schema_sql.index("feed ("):schema_sql.index("ENGINE = Null")]
tap.same({x.split()[0] for x in feed.splitlines()[1:] if x.startswith("\t")}, set(SHAPES), "clickhouse: columns are those of schema.sql")
tap.same([(r["source"], r["op"], r["duration_ns"], r.get("pid"), r.get("bytes")) for r in rows if r["row"] == "event"],
         [(e["source"], e["op"], e["duration_ns"], e.get("pid"), e.get("bytes")) for e in events], "clickhouse: a row per event")
tap.same([r["summary"] for r in rows if r["row"] == "cause"], [c["summary"] for c in chains], "clickhouse: its causes")
tap.ok({"sample", "time", "loop"} <= {r["row"] for r in rows}, "clickhouse: samples, where the time went, loops")
tap.same(sum(r["count"] for r in rows if r["row"] == "loop"), sum(s["count"] for s in
         json.loads(subprocess.run([EXPLAIN, "--json", run_ige], **NEWS).stdout)["steps"]), "clickhouse: as many steps")
odd = "n\"'\\\n\t{}\x01\u00e9"
evil = subprocess.run([DEMO, "clean", "--duration", "20ms", "-n", odd], **NEWS).stdout
tap.same({r["node"] for r in lines(run("-f", "clickhouse", data=evil)[1])}, {odd}, "clickhouse: a name that is anything stays a name")

# The report as a page: what explain and stat say, in any form of input, and nothing that a browser would fetch or run.

def esc(text):
    return html.escape(text).replace("&#x27;", "&#39;")


status, page, err = run("-f", "html", run_ige)
page = page.decode()
told = json.loads(subprocess.run([EXPLAIN, "--json", "--top", "20", run_ige], **NEWS).stdout)
tap.ok(status == 0 and err == "" and page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n"), "html: a page", err)
tap.ok(told["chains"] and all(esc(c["summary"]) in page for c in told["chains"]),
       "html: every cause with its sentence")
first = subprocess.run([EXPLAIN, run_ige], **NEWS).stdout.decode()
tap.ok(page.index(esc(first)[:40]) < page.index("</title>"), "html: the first line of the report is the title")
stepless = path("stepless.ige")
subprocess.run([DEMO, "sync-storm", "--duration", "3s", "-o", stepless], check=True)
first = subprocess.run([EXPLAIN, stepless], **NEWS).stdout.decode().split(".\n")[0]
page = run("-f", "html", stepless)[1].decode()
tap.ok(": no steps; 3.0" in first and page.index(esc(first)[:40]) < page.index("</title>") and f"<p>{esc(first)}</p>" in page,
       "html: so it is of a program without steps", first)
said = json.loads(subprocess.run([EXPLAIN, "--json", stepless], **NEWS).stdout)
verdict = said.get("stepless_verdict", {})
track = next((t for t in said["paths"] if (t["pid"], t["tid"]) == (verdict.get("pid"), verdict.get("tid"))), {"phases": [{"causes": []}]})
tap.ok(verdict.get("text") == first and verdict["severity"] == max(c["severity"] for c in track["phases"][0]["causes"]) and "step_verdict" not in said,
       "explain --json: the same line in fields, with the worst of its causes", str(verdict))
page = run("-f", "html", run_ige)[1].decode()
tap.none((c["recommendations"][0]["command"] for c in told["chains"]
          if c["recommendations"] and esc(c["recommendations"][0]["command"]) not in page), "html: with the command of its fix")
tap.none((r["op"] for r in stat["ops"] if f'>{r["op"]}</td><td class="n" data-h="count">{r["count"]:,}</td>' not in page),
         "html: every operation, as often as stat counts it")
tap.ok(f'{stat["coverage"]["events"]:,} events, {stat["coverage"]["lost"]:,} lost' in page, "html: what is covered")
tap.none((x for x in ("<script", "http://", "https://", "url(", "@import", "<img", "<link", " onload", "javascript:") if x in page.lower()),
         "html: nothing from elsewhere, nothing that runs")
shown = re.sub(r"(?s)<style>.*?</style>|<pre.*?</pre>|<[^>]*>", "\n", page)
tap.same(re.findall(r"--[a-z]\S*|\d us\b", shown), [], "html: no option of a program, and the letter µ where it is meant")
tap.ok(re.search(r"<div class=\"y\".*?<span>0</span></div>.*?<div class=\"x\".*?<span>0 s</span>", page, re.S), "html: both axes say where they start")
tap.same(run("-f", "html", data=data)[1].decode(), page, "html: from a pipe the same bytes")
tap.same(run("-o", path("x.html"), run_ige)[0], 0, "html: by its ending")
with open(path("x.html")) as f:
    tap.same(f.read(), page, "html: the same bytes in a file")
analyzed_page = run("-f", "html", data=analyzed)[1].decode()
tap.ok(esc(told["chains"][0]["summary"]) in analyzed_page, "html: of a stream that was analyzed before")
tap.ok("No cause found" in run("-f", "html", "-n", "elsewhere", run_ige)[1].decode() or
       "none of them in what was asked for" in run("-f", "html", "-n", "elsewhere", run_ige)[1].decode(), "html: -n chooses causes")
for args, green in ((["-n", "elsewhere"], False), (["-p", "99"], False), ([], True)):
    shown = run("-f", "html", *args, data=data if args else subprocess.run([DEMO, "clean", "--duration", "1s"], **NEWS).stdout)[1].decode()
    tap.same(['<div class="verdict v0">' in shown, '<div class="verdict">' in shown], [green, not green], f"html: green where somebody looked and nothing was there: {args or 'a clean one'}")
part = run("-f", "html", "--last", "100ms", run_ige)[1].decode()
tap.ok("100 ms recorded" in part, "html: --last", part[part.find("recorded") - 60:][:100])
tap.same(run("-f", "html", "-w", ".pid == 1", run_ige)[0], 2, "html: not with -w")
with open(path("half.ige"), "wb") as f:
    f.write(data[:len(data) // 2])
status, half, err = run("-f", "html", path("half.ige"))
tap.ok(status == 4 and b"<b>Incomplete:</b>" in half and err, "html: a recording that was cut says so first", err)

# Damage.
with open(path("cut.ige"), "wb") as f:
    f.write(data[:len(data) // 2])
status, some, err = run(path("cut.ige"))
tap.ok(status == 4 and 0 < len(lines(some)) < len(events) and err, "cut short: what was there, and status 4", err)
tap.ok(lines(some) == events[:len(lines(some))], "cut short: the events it begins with")
tap.same(run(data=b"")[0], 4, "nothing is not a recording")
tap.ok(run(data=b"not a recording at all" * 100)[0] in (3, 4), "nor is anything else")

# Mistakes.
for args, word in ((["-f", "jsonn"], "json"), (["-w", ".a ==="], "syntax"), (["-w", 'include "nowhere"; .'], "module not found"), (["--arg", "a=1"], "-w"),
                   (["-w", ".", "--arg", "novalue"], "NAME=VALUE"), (["-e", "cudaMalocc"], "cudaMalloc"), (["-p", "me"], "process")):
    status, nothing, err = run(*args, run_ige)
    tap.ok(status == 2 and word in err and not nothing, f"{args}: status 2, and what is wrong", err)
tap.done_testing()
