#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What an assistant can ask of a recording, through ingero-mcp on standard input: every tool, what it answers against what the
# other programs say of the same file, budgets, and what somebody hostile would ask for, or record.

import fcntl
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, "tests")
import tap  # noqa: E402

BIN = os.path.join(tap.BUILD, "bin")
SERVER = os.path.join(BIN, "ingero-mcp")
GOOD = "formats/samples/v1/good"
WAIT = 120  # seconds until a test gives up

if not os.path.exists(SERVER):
    tap.skip_all("this build has no ingero-mcp")

folder = tempfile.TemporaryDirectory()


def at(name):
    return os.path.join(folder.name, name)


def run(program, *args, **more):
    return subprocess.run([os.path.join(BIN, program), *args], capture_output=True, check=more.pop("check", True), **more).stdout


def demo(scenario, name, seconds="5s"):
    run("ingero-demo", scenario, "--duration", seconds, "-o", at(name))
    return at(name)


class Server:
    def __init__(self, *files):
        self.p = subprocess.Popen([SERVER, *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.said, self.id = queue.Queue(), 0
        threading.Thread(target=self.read, daemon=True).start()
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})

    def read(self):
        for line in self.p.stdout:
            self.said.put(json.loads(line))
        self.said.put(None)

    def request(self, method, **params):
        self.id += 1
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode() + b"\n")
        self.p.stdin.flush()
        while (m := self.said.get(timeout=WAIT)) is not None:
            if m.get("id") == self.id:
                return m
        raise SystemExit("the server is gone")

    def call(self, tool, **args):
        return self.request("tools/call", name=tool, arguments=args)

    def answer(self, tool, **args):
        """(text, structured) of an answer; (None, why) of a refusal or failure."""
        m = self.call(tool, **args)
        if "error" in m:
            return None, m["error"]["message"]
        r = m["result"]
        text = "".join(c.get("text", "") for c in r["content"])
        return (None, text) if r.get("isError") else (text, r.get("structuredContent"))

    def end(self):
        self.p.stdin.close()
        return self.p.wait(WAIT)


def tokens(text):
    """As lib/mcp/token_budget.h counts them, in other words: words of six letters, three digits, other characters."""
    import re

    n = 0
    for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|  +| (?![A-Za-z])|[^A-Za-z0-9 ]", text):
        n += -(-len(part) // 6) if part.isalpha() and part.isascii() else -(-len(part) // 3) if part.isdigit() else len(part.encode()) if not part.startswith(" ") else 1
    return n


TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list}


def breaks(value, schema, where="$"):
    """Where a value breaks a schema, of the words that ours use."""
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind in ("integer", "number") and isinstance(value, bool))):
        return [f"{where} is no {kind}: {value!r}"]
    wrong = [f"{where}.{k} is missing" for k in schema.get("required", []) if k not in value]
    if "enum" in schema and value not in schema["enum"]:
        wrong.append(f"{where} is none of {schema['enum']}")
    if isinstance(value, dict):
        for k, v in value.items():
            wrong += breaks(v, schema.get("properties", {}).get(k, {}), f"{where}.{k}")
    if isinstance(value, list):
        for i, v in enumerate(value):
            wrong += breaks(v, schema.get("items", {}), f"{where}[{i}]")
    return wrong


incident, clean, graphs = demo("incident", "incident.ige"), demo("clean", "clean.ige"), demo("graph-serving", "graphs.ige")
explained = json.loads(run("ingero-explain", "--json", incident))
counted = json.loads(run("ingero-stat", "--json", incident))
first = explained["chains"][0]
s = Server(incident)

# ---- what there is ----

tools = {t["name"]: t for t in s.request("tools/list")["result"]["tools"]}
tap.same(
    sorted(tools),
    sorted(
        "get_check get_trace_stats get_causal_chains get_stacks graph_lifecycle graph_frequency run_demo get_test_report run_sql "
        "query_fleet compare_runs get_timeline explain_call".split()
    ),
    "the tools",
)
tap.none([n for n, t in tools.items() if t["inputSchema"]["type"] != "object" or "outputSchema" not in t], "each has both schemas")
tap.none([n for n, t in tools.items() if not t["annotations"].get("readOnlyHint")], "each only reads")
tap.ok(tokens(json.dumps([{k: t[k] for k in ("name", "description", "inputSchema")} for t in tools.values()])) < 8000, "what a model has to know of them is short")

# ---- one call answers "what caused the GPU stall?" ----

text, got = s.answer("get_causal_chains")
for none in ({"pid": 99}, {"node": "elsewhere"}, {"op": "cudaFree"}):
    said, left = s.answer("get_causal_chains", **none)
    tap.ok(left["found"] == 0 and said.startswith("1 cause was found, none of them in what was asked for"), f"{none}: that none is left is not that there is none", said)
for what, part in [
    ("culprit", first["culprit"]["text"]),
    ("line", "train.cpp:80"),
    ("milliseconds", f"{first['sites'][0]['lost_ns'] / 1e6:.4g} ms"),
    ("fix", first["recommendations"][0]["command"]),
    ("id", first["id"]),
]:
    tap.ok(part in text, f"the causes name the {what}", text)
tap.same([c["id"] for c in got["chains"]], [c["id"] for c in explained["chains"]], "the causes are explain's")
tap.same(round(got["chains"][0]["lost_ms"], 3), round(first["lost_ns"] / 1e6, 3), "with explain's figures")
tap.ok(tokens(text) <= 0.4 * tokens(json.dumps(got)), "the text takes 60 % fewer tokens than JSON", f"{tokens(text)} of {tokens(json.dumps(got))}")
call = got["chains"][0]["timeline"]
call = next(m["call"] for m in call if "call" in m)

# ---- statistics ----

text, got = s.answer("get_trace_stats", top_n=0)
rows = {(o["source"], o["op"]): o for o in got["ops"]}
want = {(o["source"], o["op"]): o for o in counted["ops"]}
tap.same({k: v["count"] for k, v in rows.items()}, {k: v["count"] for k, v in want.items()}, "counts are stat's")
tap.none([k for k, v in rows.items() if abs(v["total_ms"] * 1e6 - want[k]["total_ns"]) > 1000], "totals are stat's")
tap.ok(tokens(text) <= 0.4 * tokens(json.dumps(got)), "the text takes 60 % fewer tokens than JSON", f"{tokens(text)} of {tokens(json.dumps(got))}")
text, got = s.answer("get_trace_stats", top_n=2)
tap.same([len(got["ops"]), got["left_out"][0]["rows"]], [2, len(want) - 2], "two rows, and how many are left out")
text, got = s.answer("get_trace_stats", op="cudaMalloc", lost_time=True)
tap.same([o["op"] for o in got["ops"]], ["cudaMalloc"], "one operation")
tap.same(got["ops"][0]["lost_ms"], round(want["cuda", "cudaMalloc"]["lost_ns"] / 1e6, 3), "with what it lost")
text, got = s.answer("get_trace_stats", by="line", source="cuda")
tap.ok(any("train.cpp:80" in r["key"] for r in got["rows"]), "rows by line", text)
text, got = s.answer("get_trace_stats", pids=[999999])
tap.same(got["ops"], [], "nothing of a process that is not there")
text, got = s.answer("get_trace_stats", since="1s")
tap.ok(0 < got["recording"]["selected"] < got["recording"]["events"], "the last second only")
text, got = s.answer("get_trace_stats", tsc=False, top_n=1)
tap.same(json.loads(text), got, "JSON instead of columns")

# ---- the other tools ----

text, got = s.answer("explain_call", call=call)
tap.ok(got["call"] == call and abs(sum(p["ms"] for p in got["parts"]) - got["ms"]) < 0.01, "the parts of a call are all of it", text)
tap.ok(first["culprit"]["comm"] in text, "and it names who took it")
text, got = s.answer("explain_call", call="cudaMalloc")
tap.same(got["op"], "cudaMalloc", "the longest of an operation")
text, got = s.answer("get_timeline", at=first["id"], limit=5)
tap.same(len(got["events"]), 5, "five events around a cause")
tap.ok(all(a["at_ms"] <= b["at_ms"] for a, b in zip(got["events"], got["events"][1:])), "in order")
for when in ({"since": "1s"}, {"until": "1s"}, {"at": "999"}, {"at": "0", "window_ms": 60000}):
    text, got = s.answer("get_timeline", **when)
    tap.ok(0 <= got["from_s"] < got["to_s"] < 1000, f"from when to when, at an open side too: {when}", text[:100])
moments = [m for c in s.answer("get_causal_chains", since="800ms")[1]["chains"] for m in c["timeline"] if "call" in m]
tap.ok(moments, "a part has causes of its own")
for m in moments[:2]:
    text, got = s.answer("get_timeline", at=str(m["t_s"]), window_ms=2 * m["ms"] + 1, limit=10)
    tap.ok(any(e.get("call") == m["call"] for e in got["events"]), "moments of a part are since the recording's start, too", f"{m} {text[:100]}")
text, got = s.answer("get_timeline", at=call, window_ms=1)
tap.ok(any(e.get("call") == call for e in got["events"]), "a call is in its own timeline")
text, got = s.answer("get_stacks", op="cudaMemcpyAsync")
tap.same(sum(r["count"] for r in got["stacks"]), want["cuda", "cudaMemcpyAsync"]["count"], "stacks of an operation are all of it")
tap.ok("copy_batch (train.cpp:42)" in text, "with lines", text)
tap.none([t for t, a in (("get_stacks", {}), ("get_timeline", {}), ("graph_lifecycle", {}), ("explain_call", {"call": call})) if "warnings" in s.answer(t, **a)[1]], "nothing is wrong with what was read")
text, got = s.answer("run_sql", query="SELECT op_name, count(*) AS n FROM named_events WHERE source_name = 'cuda' GROUP BY 1")
tap.same(sorted(n for _, n in got["rows"]), sorted(o["count"] for o in counted["ops"] if o["source"] == "cuda"), "SQL counts the same")
text, got = s.answer("run_sql", query="SELECT 'a|b' AS x")
tap.same(text.splitlines(), ["x", "a\\|b"], "what parts cells is marked in a text")
def rows_of(text):
    """What a table says, as texts in the order of its columns: what its head says of all rows, and is counted from, is put back."""
    lines, same, nothing = text.splitlines(), {}, []
    if lines[0].startswith("in every row: "):
        same = dict(c.split(" ", 1) for c in re.split(r"(?<!\\)\|", lines.pop(0).removeprefix("in every row: ")))
    if lines[0].startswith("in no row: "):
        nothing = lines.pop(0).removeprefix("in no row: ").split("|")
    marks = {}
    names = [re.fullmatch(r"(.*?)(?:-(\d+))?", n).groups() for n in lines.pop(0).split("|")]
    for line in lines:
        cells = re.split(r"(?<!\\)\|", line)
        cells += [""] * (len(names) - len(cells))
        marks |= dict(c.split("=", 1) for c in cells if re.match(r"\$\d+=", c))
        cells = [marks.get(c.split("=")[0], c) for c in cells]
        row = {n: str(int(c) + int(base)) if base else c for (n, base), c in zip(names, cells)}
        yield {k: re.sub(r"^\\(?=\$)", "", v).replace("\\|", "|") for k, v in (row | same | dict.fromkeys(nothing, "")).items()}


for query, head in (("SELECT * FROM named_events LIMIT 50", ["in every row: ", "in no row: ", "timestamp-1"]),
                    ("SELECT 'a|b' AS same, NULL AS none, CASE pid % 2 WHEN 0 THEN NULL ELSE 'x|y' END AS some, timestamp, -timestamp AS minus, 0 AS zero, "
                     "timestamp || 'x' AS text, NULL AS last FROM events LIMIT 40", ["in every row: same a\\|b|", "zero 0", "in no row: none|", "|minus|", "timestamp-1"]),
                    ("SELECT 1767225600000000000 + value * 1000 AS t FROM json_each('[5, 3, 9007]')", ["t-1767225600000003000"]),
                    ("SELECT op_name, stack_hash, source_name || ' of process ' || pid || ' | ' || op_name AS a, 'no mark either ' || pid || tid AS b FROM named_events LIMIT 60",
                     ["|$1=", "|$2=", "|$1|", "|$2|"]),
                    ("SELECT value AS twice, CASE value WHEN 'x' THEN '$1=y' ELSE value END AS dollar FROM json_each('[\"cudaStreamSynchronize of some thread of ours\", \"x\", "
                     "\"cudaStreamSynchronize of some thread of ours\", \"cudaStreamSynchronize of some thread of ours\"]')", ["$1=cuda", "\nx|\\$1=y\n", "\n$1|$2\n"]),
                    ("SELECT 1767225600000000 + value AS us FROM json_each('[5, 3, 9007]')", ["us-1767225600000003"]),
                    ("SELECT 1767225600000000 + value AS us, 9007199254740991 - value AS n FROM json_each('[5, 3]')", ["us|n"]),
                    ("SELECT 1767225600000000000 + value * 1000 AS t, NULL AS n FROM json_each('[5, 3]')", ["t|n"]),
                    ("SELECT 7 AS n, 8 AS m FROM json_each('[5, 3, 2]')", ["in every row: m 8", "\nn\n"])):
    text, got = s.answer("run_sql", query=query)
    want_rows = [{c: "" if v is None else str(v) for c, v in zip(got["columns"], r)} for r in got["rows"]]
    tap.same(list(rows_of(text)), want_rows, f"the text says what the rows say: {query[:60]}")
    tap.ok(all(h in text for h in head), "and not the same twice", text[:400])
text, got = s.answer("run_sql", query="SELECT pid FROM events", limit=3)
tap.same([got["row_count"], got["truncated"]], [3, True], "rows are limited, and it is said")
text, got = s.answer("run_demo", scenario="throttled")
tap.same([c["kind"] for c in got["chains"]][:1], ["cpu-throttled"], "a generated incident")
text, got = s.answer("get_check")
tap.ok(got and {"kernel", "probes"} <= {c["id"] for c in got["checks"]}, "a check", str(got))
tap.ok("--look-only" in next(c["text"] for c in got["checks"] if c["id"] == "probes"), "which loads nothing")
text, why = s.answer("query_fleet", action="chains")
tap.ok(text is None and "no other nodes" in why, "there is no fleet here", why)
text, why = s.answer("compare_runs")
tap.ok(text is None and "two" in why, "one recording cannot be compared", why)

report = os.path.join(tap.BUILD, "test-report.json")
text, got = s.answer("get_test_report")
tap.ok(("suites" in got) == os.path.exists(report) if text else "make check" in got, "the report of tests, where there is one")

# ---- all keep to their schemas, and to their budgets ----

calls = [
    ("get_causal_chains", {}),
    ("get_trace_stats", {"top_n": 0, "lost_time": True}),
    ("get_trace_stats", {"by": "stack"}),
    ("get_stacks", {"limit": 100}),
    ("explain_call", {"call": call}),
    ("get_timeline", {"limit": 500}),
    ("run_sql", {"query": "SELECT * FROM named_events LIMIT 2000"}),
    ("run_demo", {"scenario": "list"}),
    ("get_check", {}),
]
wrong, over, silent = [], [], []
for tool, args in calls:
    text, whole = s.answer(tool, **args, budget=200000)
    wrong += breaks(whole, tools[tool]["outputSchema"], tool)
    for budget in (100, 400, 1500):
        for tsc in (True, False):
            text, got = s.answer(tool, **args, budget=budget, tsc=tsc)
            wrong += breaks(got, tools[tool]["outputSchema"], tool)
            kept = {k: len(v) for k, v in got.items() if isinstance(v, list) and k != "left_out"}
            cut = {k for k, n in kept.items() if n < len(whole[k])}
            # What get_check finds on this machine may have changed between two answers.
            if tool != "get_check" and (cut - {x["list"] for x in got.get("left_out", [])} or (tsc and cut and "left out" not in text)):
                silent.append((tool, budget, cut))
            # Heads are not cut: what a call is about is said whole. As JSON so are the members that are no lists.
            if tsc and tokens(text) > budget * 1.1 and any(kept.values()):
                over.append((tool, budget, tokens(text)))
tap.none(wrong[:5], "answers keep to their output schemas")
tap.none(over, "texts keep to their budgets")
tap.none(silent, "nothing is left out silently")

# ---- jq ----

text, got = s.answer("get_trace_stats", jq="[.ops[].count] | add", top_n=0)
tap.same(json.loads(text), sum(o["count"] for o in counted["ops"]), "a jq filter over the whole answer")
tap.same(got["filtered"], [json.loads(text)], "structured, too")
for jq in ["$ENV", "env"]:
    tap.same(s.answer("get_trace_stats", jq=jq)[1].get("filtered"), [{}], f"{jq} is empty")
for jq in [".ops[", "include \"/etc/passwd\"; .", "[range(1e9)]", "def f: f | f; f", "last(range(1e12))"]:
    text, why = s.answer("get_trace_stats", jq=jq)
    tap.ok(text is None and "jq" in why and "root:" not in why, f"a hostile filter is refused: {jq}", why)

# ---- what is wrong ----

for tool, args in [
    ("get_trace_stats", {"since": "yesterday"}),
    ("get_trace_stats", {"op": "cudaFrobnicate"}),
    ("get_trace_stats", {"by": "weather"}),
    ("get_trace_stats", {"pid": -1}),
    ("get_trace_stats", {"pids": [1.5]}),
    ("get_trace_stats", {"budget": 5}),
    ("get_trace_stats", {"jq": 7}),
    ("get_causal_chains", {"file": "/etc/passwd"}),
    ("explain_call", {}),
    ("explain_call", {"call": "../../etc/passwd"}),
    ("explain_call", {"call": "1@99999999999999999999999"}),
    ("get_timeline", {"at": "nowhere"}),
    ("get_timeline", {"at": "1e400"}),
    ("get_timeline", {"window_ms": -1}),
    ("compare_runs", {"before": "/etc/passwd", "after": "../x"}),
    ("run_demo", {"scenario": "../../bin/sh"}),
    ("query_fleet", {"action": "reboot"}),
    ("run_sql", {"query": ""}),
    ("run_sql", {"query": "SELECT 1; SELECT 2"}),
    ("run_sql", {"query": "WITH x AS (SELECT 1) DELETE FROM events"}),
    ("run_sql", {"query": "WITH x AS (SELECT 1) INSERT INTO events SELECT * FROM events RETURNING *"}),
    ("run_sql", {"query": "ATTACH '/etc/passwd' AS p"}),
    ("run_sql", {"query": "PRAGMA writable_schema = 1"}),
    ("run_sql", {"query": "PRAGMA journal_mode = WAL"}),
    ("run_sql", {"query": "VACUUM INTO '%s'" % at("stolen.db")}),
    ("run_sql", {"query": "SELECT load_extension('x')"}),
    ("run_sql", {"query": "SELECT readfile('/etc/passwd')"}),
    ("run_sql", {"query": "SELECT randomblob(1e9)"}),
    ("run_sql", {"query": "SELECT zeroblob(4000000) FROM events LIMIT 10000"}),
    ("run_sql", {"query": "SELECT " + "abs(" * 5000 + "1" + ")" * 5000}),
]:
    m = s.call(tool, **args)
    refused = "error" in m or m["result"].get("isError")
    tap.ok(refused and "root:" not in json.dumps(m), f"refused: {tool} {json.dumps(args)[:80]}", json.dumps(m)[:300])
tap.ok(not os.path.exists(at("stolen.db")), "nothing was written")
tap.same(s.answer("run_sql", query="SELECT count(*) FROM events")[1]["rows"], [[counted["coverage"]["events"]]], "and it lives")

# ---- prompt, resources, completions ----

got = s.request("prompts/get", name="investigate", arguments={"focus": "slow step", "pid": "4801"})["result"]["messages"]
tap.ok("slow step" in json.dumps(got) and "get_causal_chains" in json.dumps(got), "the prompt takes its arguments")
for uri, part in [
    ("ingero://summary", first["culprit"]["text"]),
    ("ingero://chains", first["id"]),
    ("ingero://schema", "CREATE TABLE"),
    (f"ingero://chain/{first['id']}", "taskset"),
    (f"ingero://call/{call}", "cudaStreamSynchronize"),
]:
    m = s.request("resources/read", uri=uri)
    tap.ok("result" in m and part in m["result"]["contents"][0]["text"], f"resource {uri}", json.dumps(m)[:200])
for uri in ["ingero://chain/nothing", "ingero://call/1@2", "ingero://chain/..%2f..%2fetc%2fpasswd", "ingero:///etc/passwd", "file:///etc/passwd"]:
    tap.ok("error" in s.request("resources/read", uri=uri), f"no resource: {uri}")
for ref, argument, value, part in [
    ({"type": "ref/prompt", "name": "investigate"}, "pid", "48", "4801"),
    ({"type": "ref/prompt", "name": "investigate"}, "focus", "cudaM", "cudaMalloc"),
    ({"type": "ref/resource", "uri": "ingero://chain/{id}"}, "id", "", first["id"]),
    ({"type": "ref/resource", "uri": "ingero://call/{id}"}, "id", "cudaS", "cudaStreamSynchronize"),
]:
    got = s.request("completion/complete", ref=ref, argument={"name": argument, "value": value})
    tap.ok(part in got["result"]["completion"]["values"], f"{argument} that begin with '{value}'", json.dumps(got)[:200])
tap.same(s.end(), 0, "it ends with its input")

# Two machines have a process of one number: one value.
run("ingero-demo", "incident", "--duration", "1s", "-n", "other", "-o", at("other.ige"))
s = Server(incident, at("other.ige"))
got = s.request("completion/complete", ref={"type": "ref/prompt", "name": "investigate"}, argument={"name": "pid", "value": "4801"})["result"]["completion"]
tap.same(got, {"values": ["4801"], "total": 1, "hasMore": False}, "a number of two processes is offered once")
tap.same(s.end(), 0, "it ends with its input")

# "Not yet" is no error for who asks whether the device is done, whichever tool tells of it.
s = Server(demo("polling", "polling.ige", "2s"))
failed = sum(o["errors"] for o in s.answer("get_trace_stats", top_n=0)[1]["ops"])
polled = s.answer("get_stacks", op="cudaStreamQuery", limit=100)[1]["stacks"]
tap.same((failed, sum(r["count"] for r in polled) > 100, sum(r["errors"] for r in polled)), (0, True, 0), "a device that was asked too early: no tool counts an error")
seen = s.answer("get_timeline", at="1.0", window_ms=1000, op="cudaStreamQuery", limit=500)[1]["events"]
tap.ok(seen and not any("error" in x for x in seen), "nor does a time line show one", seen[:3])
s.end()

# A cause without a moment that shows it is where it began.
leak = demo("gpu-leak", "leak.ige", "10s")
cause = next(c for c in json.loads(run("ingero-explain", "--json", leak))["chains"] if c["kind"] == "gpu-leak")
s = Server(leak)
when = s.answer("get_timeline", at=cause["id"])[1]
tap.ok(abs(when["from_s"] - cause["first_ns"] / 1e9) < 1e-3 and when["events_found"] > 0, "the time line of a cause that has no moments begins with it", f"{cause['first_ns']} {cause['timeline']} {when}")
s.end()

# ---- graphs, two recordings, an archive, no recording ----

s = Server(graphs)
text, got = s.answer("graph_frequency")
launched = sum(o["count"] for o in json.loads(run("ingero-stat", "--json", "-e", "cuda:cudaGraphLaunch", graphs))["ops"])
tap.same(sum(g["launches"] for g in got["graphs"]) if "left_out" not in got else None, None, "many graphs are cut")
text, got = s.answer("graph_frequency", limit=1000)
tap.same(sum(g["launches"] for g in got["graphs"]), launched, "launches of all graphs")
text, got = s.answer("graph_lifecycle", pid=4801)
tap.same(got["counts"]["launches"], launched, "and of their lives")
s.end()

s = Server(clean, incident)
text, got = s.answer("compare_runs")
tap.same([(c["change"], c["kind"]) for c in got["causes"]], [("new", first["kind"])], "what came from one to the other")
text, got = s.answer("compare_runs", before="incident.ige", after="clean.ige")
tap.same([c["change"] for c in got["causes"]], ["gone"], "and the other way")
tap.ok("warnings" not in got, "both are whole")
for named in ({"before": "incident.ige"}, {"after": "clean.ige"}):
    got = s.answer("compare_runs", **named)[1]
    tap.same((got["before"], got["after"]), ("incident.ige", "clean.ige"), f"{named}: where one is named the other is another")
s.end()

run("ingero-export", "-f", "sqlite", "-o", at("archive.db"), incident)
s = Server(at("archive.db"))
tap.same(s.answer("run_sql", query="SELECT count(*) FROM events")[1]["rows"], [[counted["coverage"]["events"]]], "an archive is asked itself")
tap.same(s.answer("get_trace_stats")[1]["recording"]["events"], counted["coverage"]["events"], "and counted")
s.end()

# ---- recordings that change while they are served ----

shutil.copy(incident, at("served.ige"))
s = Server(at("served.ige"))
before = s.answer("get_trace_stats")[1]["recording"]["events"]
shutil.copy(clean, at("other.ige"))
os.replace(at("other.ige"), at("served.ige"))
after = s.answer("get_trace_stats")[1]["recording"]["events"]
tap.same(after, json.loads(run("ingero-stat", "--json", clean))["coverage"]["events"], "another file in its place is answered from")
tap.same(s.answer("get_causal_chains")[1]["found"], 0, "nothing is wrong with that one")
tap.ok("no process of that number" in s.answer("get_causal_chains", pid=99)[0], "of a process that is not there nothing is said", s.answer("get_causal_chains", pid=99))
tap.ok("partial" not in s.answer("run_sql", query="SELECT 1")[1], "SQL of a whole one")
with open(at("served.ige"), "r+b") as f:
    f.truncate(os.path.getsize(clean) // 2)
text, got = s.answer("get_trace_stats")
tap.ok(0 < got["recording"]["events"] < after and got.get("warnings"), "a cut one is told to be cut", text)
for tool, args in (("get_stacks", {}), ("get_timeline", {}), ("graph_lifecycle", {}), ("graph_frequency", {}), ("explain_call", {"call": "cudaLaunchKernel"})):
    text, got = s.answer(tool, **args)
    tap.ok(text and got.get("warnings") and got["warnings"] in text, f"{tool} tells it, too", text)
text, got = s.answer("run_sql", query="SELECT count(*) FROM events")
tap.ok(got.get("partial") and "did not end cleanly" in text, "by SQL, too", text)
two = Server(incident, at("served.ige"))
text, got = two.answer("compare_runs")
tap.ok(text and "served.ige" in got.get("warnings", "") and got["warnings"] in text, "and a comparison with it", text)
two.end()
text, got = s.answer("get_causal_chains")
tap.ok(text is not None and got.get("warnings"), "causes, too")
with open(at("served.ige"), "wb") as f:
    f.write(b"no recording at all\n" * 100)
for tool in ("get_trace_stats", "get_causal_chains", "get_stacks", "get_timeline"):
    tap.ok(s.answer(tool)[0] is None, f"{tool}: no recording is a failure")
os.unlink(at("served.ige"))
tap.ok(s.answer("get_trace_stats")[0] is None, "so is none")
shutil.copy(incident, at("served.ige"))
tap.same(s.answer("get_trace_stats")[1]["recording"]["events"], before, "and it answers again")
tap.same(s.end(), 0, "and ends as it should")

# A moment of a recording that grows is where it was, however long that is by now.
with open(incident, "rb") as whole, open(at("grows.ige"), "wb", buffering=0) as grows:
    fcntl.flock(grows, fcntl.LOCK_EX)
    data = whole.read()
    grows.write(data[:len(data) // 2])
    s = Server(at("grows.ige"))
    moments = [s.answer("get_timeline", at="1.0")[1]]
    grows.write(data[len(data) // 2:len(data) * 3 // 4])
    moments.append(s.answer("get_timeline", at="1.0")[1])
    tap.same([(m["from_s"], m["to_s"], m["events_found"] > 0) for m in moments], [(0.99, 1.01, True)] * 2, "one second after the start, before and after it grew")
    s.end()

for sample in sorted(os.listdir(GOOD)):
    if sample.endswith(".ige"):
        s = Server(os.path.join(GOOD, sample))
        failed = [t for t in ("get_causal_chains", "get_trace_stats", "get_stacks", "get_timeline") if s.answer(t)[0] is None]
        tap.none(failed, f"{sample} is answered from")
        when = s.answer("get_timeline")[1]
        tap.ok(0 <= when["to_s"] - when["from_s"] <= 60, f"{sample}: its time line is of the time around a moment", when)
        s.end()

tap.done_testing()
