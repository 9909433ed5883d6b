#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Many machines asked at once, by processes here that answer as dashboards do: sixty of them, some dead, some that stall, some that
# lie, and clocks that differ.

import csv
import datetime
import fcntl
import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import tap  # noqa: E402

NODE = os.path.join(tap.BUILD, "tests", "serve", "node")
QUERY, EXPLAIN, EXPORT, STAT, DEMO, MCP = (os.path.join(tap.BIN, "ingero-" + n) for n in ("query", "explain", "export", "stat", "demo", "mcp"))
if not os.path.exists(NODE):
    tap.skip_all("optional: built without libmicrohttpd")
TMP = tempfile.TemporaryDirectory(prefix="ingero-test.")
ENV = os.environ | {"TERM": "dumb"}
PATIENCE = 120
running = []


def start(*nodes):
    """Addresses of nodes of (id, clock ahead by, lie, token)."""
    begun = []
    for id_, ahead, lie, *token in nodes:
        begun.append(subprocess.Popen([NODE, str(id_), str(ahead), lie, *token], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    running.extend(begun)
    return [p.stdout.readline().strip() for p in begun]


def run(program, *args, env=None):
    p = subprocess.run([program, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, env={**ENV, **(env or {})})
    return p.returncode, p.stdout, p.stderr


SLOWED = "san" in os.path.basename(tap.BUILD) or os.environ.get("VALGRIND")


def measured(program, *args):
    """The same, and the most memory that it had, in MiB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen([program, *args], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENV)
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return p.returncode, out.read(), err.read(), used.ru_maxrss // 1024


taken = []  # held to the end: whoever is started later would get the number


def nobody():
    """An address where nobody listens, nor ever will."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    taken.append(s)
    return "127.0.0.1:%d" % s.getsockname()[1]


# ---- fifty that are well
fifty = start(*((i, 0, "") for i in range(1, 51)))
everybody = ",".join(fifty)
status, out, err = run(QUERY, "--nodes", everybody, "--json", "SELECT count(*) AS n FROM events")
got = json.loads(out)
tap.same((status, got["columns"], got["rows"]), (0, ["node", "n"], [[a, i + 1] for i, a in enumerate(fifty)]), "rows of fifty nodes, in their order, with their names")
tap.same(err, "", "without a word")
status, out, err = run(QUERY, "--nodes", everybody, "--csv", "SELECT node, count(*) AS n FROM events GROUP BY node")
rows = list(csv.reader(io.StringIO(out)))
tap.same((rows[0], sorted(rows[1:])), (["node", "n"], sorted([f"gpu-{i}", str(i)] for i in range(1, 51))), "a statement's own column node is the only one")
status, out, err = run(QUERY, "--nodes", everybody, "--json")
row = json.loads(out)["ops"][0]
durations = sorted(1000 * i + k * k for i in range(1, 51) for k in range(100) for _ in range(i))
tap.same((row["count"], row["errors"], row["total_ns"], row["max_ns"], row["nodes"]), (len(durations), sum(range(51)), sum(durations), durations[-1], 50), "calls of all nodes")
for q in (50, 95, 99):
    exact = durations[-(-len(durations) * q // 100) - 1]
    tap.ok(abs(row[f"p{q}_ns"] - exact) <= exact / 256 + 1, f"p{q} is that of all calls, not a mean of percentiles", f"{row[f'p{q}_ns']} {exact}")
tap.same(row["approximate"], False, "and said to be")
status, out, err = run(EXPLAIN, "--nodes", everybody, "--json")
chains = json.loads(out)
order = sorted(range(1, 51), key=lambda i: (-(i % 3), -i))
tap.same([c["node"] for c in chains], [fifty[i - 1] for i in order], "causes of all nodes, most severe first and then by what they lost")
status, out, err = run(EXPLAIN, "--nodes", everybody, "--top", "2")
tap.ok(out.startswith(f"FLEET: 50 findings from 50 nodes\n[HIGH] [{fifty[49]}] node 50 stood still\n  root cause: somebody else\n  fix: move it\n") and "48 more" in out, "as text", out)
tap.same(run(QUERY, "--nodes", ",".join(fifty[:4]), "SELECT count(*) AS n FROM events")[2], "4 rows from 4 nodes\n", "how many rows, from how many nodes")
tap.same([run(EXPLAIN, "--nodes", fifty[k], "--fail-on", s)[0] for k, s in ((1, "high"), (0, "high"), (0, "medium"), (2, "low"))], [1, 0, 1, 1], "--fail-on")
status, out, err = run(QUERY, "--nodes", f"{fifty[0]},http://{fifty[1]}/,{fifty[0]},{fifty[1]},http://{fifty[0]}", "--csv", "SELECT 1")
tap.same(out, f"node,n\n{fifty[0]},1\nhttp://{fifty[1]},2\n", "URLs are nodes, too, and nobody counts twice")

tap.same([run(QUERY, "--nodes", ",".join(fifty[:2]), "--jq", f, *sql) for f, sql in ((".rows[] | .[1]", ("SELECT 1",)), (".ops[0].count", ()))],
         [(0, "1\n2\n", ""), (0, "300\n", "")], "--jq: of their rows, or operations")

# ---- some that are not
bad = {lie: start((60, 0, lie))[0] for lie in ("500", "away", "html", "list", "empty", "types", "deep", "numbers", "columns", "rows", "flood")}
dead = nobody()
some = [fifty[0], *bad.values(), dead, fifty[1]]
for name, args in (("rows", ("--csv", "SELECT 1")), ("operations", ("--json",))):
    status, out, err = run(QUERY, "--nodes", ",".join(some), "--timeout", "60s", *args)
    well = {"columns", "rows"} if name == "operations" else set()
    unsaid = [lie for lie, a in {**bad, "dead": dead}.items() if (f"node {a} is left out" in err) == (lie in well)]
    tap.same((status, unsaid), (0, []), f"{name}: whoever does not answer as agreed is named, and left out")
    if name == "rows":
        tap.same(out, f"node,n\n{fifty[0]},1\n{fifty[1]},2\n", "the others' rows are there")
    else:
        tap.same([o["operation"] for o in json.loads(out)["ops"]], ["cudaMalloc"], "the others' operations are there")
    tap.ok("\033" not in err, "what nodes say reaches no terminal as it is")
status, out, err = run(EXPLAIN, "--nodes", ",".join(some), "--json", "--timeout", "60s")
unsaid = [lie for lie, a in bad.items() if (f"node {a} is left out" in err) == (lie in ("columns", "rows", "empty"))]
tap.ok(status == 0 and {c["node"] for c in json.loads(out)} == {fifty[0], fifty[1], bad["columns"], bad["rows"]}, "causes: the same", f"{unsaid} {err}")
wide, more = start((60, 0, "wide"), (61, 0, "more"))
status, out, err = run(QUERY, "--nodes", f"{wide},{fifty[4]}", "--csv", "SELECT 1")
tap.ok((status, out) == (0, f"node,n\n{fifty[4]},5\n") and f"node {wide} is left out: it holds more values than are taken" in err,
       "a short text that would take gigabytes is not taken apart", err)
status, out, err = run(QUERY, "--nodes", more, "--limit", "2", "--csv", "SELECT 1")
tap.ok((status, out) == (0, f"node,n\n{more},1\n{more},2\n") and "only the first rows" in err, "nobody gives more rows than were asked for", f"{out} {err}")
many = start((62, 0, "many"), (63, 0, "many"))
status, out, err = run(QUERY, "--nodes", ",".join(many), "--json")
left = [a for a in many if f"node {a} is left out: more than 4096 operations in all" in err]
got = json.loads(out)["ops"]
tap.same((status, len(left), len(got), {o["nodes"] for o in got}), (0, 1, 3001, {1}), "of one whose operations are too many with those of others none counts")
# Forty that each stay below what one may take: 80 MB of values in 600 KB, and ten of 20 MB that come slowly enough to be there at once.
fat, long = (start(*((60 + i, 0, lie) for i in range(n))) for lie, n in (("fat", 40), ("long", 10)))
for name, liars, size in (("values", fat, "100M"), ("text", long, "100M")):
    status, out, err, peak = measured(QUERY, "--nodes", ",".join([fifty[0], *liars, *fifty[5:49]]), "--max-answers", size, "--csv", "SELECT 1")
    well = [fifty[0], *fifty[5:49]]
    rows = dict(line.split(",") for line in out.splitlines()[1:])
    tap.same((status, [a for a in well if a not in rows]), (0, []), f"{name} of many that stay within bounds one by one: whoever gives a normal answer counts")
    unsaid = [a for a in liars if (f"node {a} is left out: its answer is the l" in err) == (a in rows)]
    tap.ok(not unsaid and len(rows) < len(well) + len(liars), "liars are left out by name where they are too much together", f"{unsaid} {err}")
    tap.ok(SLOWED or peak < 450, "and take no more memory together than they may", f"{peak} MiB")
status, out, err, peak = measured(QUERY, "--nodes", ",".join([fifty[4], *start((60, 0, "long error"))]), "--csv", "SELECT 1")
tap.ok(status == 0 and out == f"node,n\n{fifty[4]},5\n" and "HTTP status 500" in err and (SLOWED or peak < 450), "what an error says is not taken apart where it is long", f"{peak} MiB {err}")
status, out, err = run(EXPLAIN, "--nodes", everybody, "--json", "--max-answers", "1M")
tap.same((status, [c["node"] for c in json.loads(out)], err), (0, [c["node"] for c in chains], ""), "normal answers are far below")
status, out, err = run(QUERY, "--nodes", f"{dead},{bad['500']}", "SELECT 1")
tap.ok(status == 3 and not out and "no node answered" in err, "nobody answers: status 3", err)
slow = start((1, 0, "stall"), (2, 0, "drip"))
began = time.monotonic()
status, out, err = run(QUERY, "--nodes", ",".join([*slow, fifty[4]]), "--timeout", "5s", "--csv", "SELECT 1")
tap.same((status, out, [a in err for a in slow]), (0, f"node,n\n{fifty[4]},5\n", [True, True]), "nodes that take too long are not waited for")
tap.same(run(QUERY, "--nodes", slow[0], "--timeout", "100us", "SELECT 1")[0], 3, "however short that is")
(escapes,) = start((7, 0, "escapes"))
for program, args in ((QUERY, ()), (QUERY, ("SELECT 1",)), (EXPLAIN, ())):
    tap.ok("\033" not in run(program, "--nodes", escapes, *args)[1], f"{os.path.basename(program)} {' '.join(args)}: what stands in names is harmless")

# ---- one that has percentiles only
(plain,) = start((9, 0, "plain"))
status, out, err = run(QUERY, "--nodes", f"{fifty[2]},{plain}", "--json")
row = json.loads(out)["ops"][0]
both = sorted([3000 + k * k for k in range(100)] * 3 + [9000 + k * k for k in range(100)] * 9)
tap.ok(row["approximate"] and row["nodes"] == 2 and row["count"] == 1200, "a node without sketches makes quantiles approximate", out)
tap.ok(all(row[f"p{q}_ns"] >= both[len(both) * q // 100 - 1] for q in (50, 95, 99)), "and they are not too small", out)
tap.ok("<= " in run(QUERY, "--nodes", f"{fifty[2]},{plain}")[1], "which the table says")

# ---- an assistant that asks
def ask(action, *args, **more):
    """What query_fleet answers: (failed, text, structured)."""
    asked = [("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
             ("tools/call", {"name": "query_fleet", "arguments": {"action": action, **more}})]
    said = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": p}) + "\n" for i, (m, p) in enumerate(asked))
    p = subprocess.run([MCP, *args], input=said, capture_output=True, text=True, timeout=PATIENCE, env={**ENV, "INGERO_DB": os.path.join(TMP.name, "none")})
    said = {m["id"]: m for m in map(json.loads, p.stdout.splitlines()) if "id" in m}.get(1, {})
    if "error" in said:
        return True, said["error"]["message"], None
    result = said.get("result", {})
    return result.get("isError", False), "".join(c.get("text", "") for c in result.get("content", [])), result.get("structuredContent")


three = ",".join([*fifty[:2], dead])
failed, text, got = ask("sql", "--nodes", three, query="SELECT count(*) AS n FROM events")
tap.ok(not failed and dead in text, "an assistant hears of the one that does not answer", text)
tap.same((got["rows"], got["nodes"], got["nodes_answered"]), ([[fifty[0], 1], [fifty[1], 2]], 3, 2), "and gets the rows of the others")
failed, text, got = ask("sql", "--nodes", more, query="SELECT 1", limit=2)
tap.ok(not failed and len(got["rows"]) == 2 and got["truncated"] and "more rows than the limit" in text, "and hears that a node has more of them", text)
failed, text, got = ask("ops", "--nodes", three)
tap.same([o["count"] for o in got["ops"]], [300], "operations of both are one")
failed, text, got = ask("chains", "--nodes", everybody)
tap.same([c["node"] for c in got["chains"]], [c["node"] for c in chains[:20]], "the first twenty causes, in the order that explain has")
for action, more, why in (("ops", {"pid": 7}, "has no 'pid'"), ("chains", {"until": "1s"}, "has no 'until'"), ("chains", {"query": "SELECT 1"}, "action sql"),
                          ("sql", {"query": "SELECT 1", "since": "1s"}, "WHERE")):
    failed, text, got = ask(action, "--nodes", fifty[0], **more)
    tap.ok(failed and why in text, f"{action}: {', '.join(more)} would choose nothing, and is refused", text)
failed, text, got = ask("chains")
tap.ok(failed and "--nodes" in text, "who was given no nodes says so", text)
tap.same(subprocess.run([MCP, "--nodes", "a b"], stdin=subprocess.DEVNULL, capture_output=True, env=ENV).returncode, 2, "a node that is none is refused at the start")

# ---- clocks: told by the names of the recordings; by the address where an older agent says none, or two say the same
ahead, behind = 2_000_000_000, -3_000_000_000
SKEW = r"clock skew: (\S+) is ~([\d.]+) s (ahead of|behind) (\S+) \(RTT: "
for name, nodes, called in (
    ("names", ((1, 0, ""), (2, ahead, ""), (3, 0, ""), (4, behind, "")), ("gpu-1", "gpu-2", "gpu-3", "gpu-4")),
    ("an older agent", ((1, 0, "old"), (2, ahead, "old"), (3, 0, "old"), (4, behind, "")), (0, 1, 2, "gpu-4")),
    ("one name twice", ((1, 0, ""), (2, ahead, ""), (3, 0, ""), (2, behind, "")), ("gpu-1", 1, "gpu-3", 3)),
):
    clocks = start(*nodes)
    called = [clocks[c] if isinstance(c, int) else c for c in called]
    for program, args in ((QUERY, ("SELECT 1",)), (QUERY, ()), (EXPLAIN, ())):
        status, out, err = run(program, "--nodes", ",".join(clocks), "--clock-skew-threshold", "1s", *args)
        found = {m[1]: (round(float(m[2])), m[3]) for m in re.finditer(SKEW, err)}
        tap.same((status, found), (0, {called[1]: (2, "ahead of"), called[3]: (3, "behind")}), f"{name}: {os.path.basename(program)} {' '.join(args)}: clocks that differ are told, and by how much")
        tap.ok({m[4] for m in re.finditer(SKEW, err)} <= {called[0], called[2]}, "from the one in the middle", err)
status, out, err = run(QUERY, "--nodes", ",".join(clocks), "--clock-skew-threshold", "1h", "SELECT 1")
tap.ok(status == 0 and "clock skew" not in err, "and not within the threshold", err)

# ---- whoever is well is named, and how long the tail of a symptom is
some = start((1, 0, "healthy"), (2, 0, "named"), (3, 0, "healthy"), (4, 0, "healthy"))
status, out, err = run(EXPLAIN, "--nodes", ",".join(some))
tap.ok(out.startswith("FLEET: 1 finding from 4 nodes\nnothing found on gpu-1, gpu-3, gpu-4\n"), "nodes without findings are named", out)
tap.ok("  symptom: cuLaunchKernel p99 843 us, 63.9 times its p50\n" in out, "the symptom says how many times p50 its p99 is", out)

# ---- tokens
(guarded,) = start((5, 0, "", "tok-1234"))
status, out, err = run(QUERY, "--nodes", guarded, "SELECT 1")
tap.ok(status == 3 and "401" in err and "token" in err, "a node that wants a token", err)
token = os.path.join(TMP.name, "token")
with open(token, "w", encoding="utf-8") as f:
    f.write("tok-1234\n")
os.chmod(token, 0o600)
tap.same([run(QUERY, "--nodes", guarded, "--csv", "SELECT 1", *a, env=e)[:2] for a, e in ((("--token-file", token), {}), ((), {"INGERO_TOKEN": "tok-1234"}))],
         [(0, f"node,n\n{guarded},5\n")] * 2, "from a file or the environment")

# ---- words
config = os.path.join(TMP.name, "ingero.yaml")
with open(config, "w", encoding="utf-8") as f:
    f.write(f"fleet:\n  nodes: [{fifty[5]}, {fifty[6]}]\n")
tap.same(run(QUERY, "--csv", "SELECT 1", env={"INGERO_CONFIG": config})[:2], (0, f"node,n\n{fifty[5]},6\n{fifty[6]},7\n"), "nodes of the configuration")
run_ige = os.path.join(TMP.name, "run.ige")
subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "incident", "--duration", "2s", "-o", run_ige], check=True, env=ENV)
status, out, err = run(QUERY, "--csv", run_ige, "SELECT 1 AS one", env={"INGERO_CONFIG": config})
tap.same((status, out), (0, "one\n1\n"), "are left out where a recording is named")
with open(run_ige, "rb") as f:
    p = subprocess.run([EXPLAIN, "--json"], stdin=f, capture_output=True, text=True, timeout=PATIENCE, env={**ENV, "INGERO_CONFIG": config})
tap.ok(p.returncode == 0 and json.loads(p.stdout)["schema"].startswith("ingero.explain"), "or comes through standard input", p.stderr)
for name, program, args in (("a recording, too", QUERY, (run_ige, "SELECT 1")), ("a choice that nodes do not know", QUERY, ("-p", "1")), ("a view that is of recordings", EXPLAIN, ("--steps",))):
    tap.same(run(program, "--nodes", fifty[0], *args)[0], 2, f"{name}: a mistake")
for program, option in ((EXPLAIN, "--timeout=1s"), (EXPLAIN, "--max-answers=1m"), (QUERY, "--clock-skew-threshold=1s"), (QUERY, f"--token-file={token}"),
                        (QUERY, f"--ca-cert={token}"), (EXPORT, "--max-node=1m"), (EXPORT, "--max-nodes=1m"), (EXPORT, "--timeout=1s")):
    status, out, err = run(program, option, run_ige)
    tap.ok(status == 2 and not out and f"option '{option.split('=')[0]}' is for --nodes" in err, f"{os.path.basename(program)} {option.split('=')[0]} of no nodes is a mistake, not silence", err)
for node in ("ftp://a", "a b", "-x", "http://a?b", "user@a:80"):
    tap.same(run(QUERY, f"--nodes={node}", "SELECT 1")[0], 2, f"'{node}' is no node")

# ---- their recordings
def recording(name, *args):
    path = os.path.join(TMP.name, name)
    subprocess.run([DEMO, "incident", "-q", "--duration", "1s", "--node", name, "-o", path, *args], check=True, env=ENV)
    return path


def counted(*paths):
    return json.loads(run(STAT, "--json", *paths)[1])["coverage"]["events"]


def address(board):
    return board.url.split("/")[2]


files = [recording("gpu-a"), recording("gpu-b", "--seed", "2")]
boards = [dashboard.Dashboard(path) for path in files]
tap.same([b.json(p)[1]["nodes"] for b in boards for p in ("nodes", "chains")], [["gpu-a"]] * 2 + [["gpu-b"]] * 2, "a dashboard says what its machines are called")
both = ",".join(address(b) for b in boards)
wanted = counted(*files)
status, out, err = run(EXPORT, "--nodes", both, "-f", "json")
lines = [json.loads(line) for line in out.splitlines()]
events = [x for x in lines if "record" not in x]
tap.same((status, len(events), {x["node"] for x in events}, err), (0, wanted, {"gpu-a", "gpu-b"}, ""), "events of two nodes are those of their recordings, without a word")
tap.same([sum(x["node"] == f"gpu-{k}" for x in events) for k in "ab"], [counted(f) for f in files], "as many of each as it has")
tap.same(out, run(EXPORT, "-f", "json", *files)[1], "line for line what their files give")
recent = run(EXPORT, "--nodes", both, "--last", "200ms", "-f", "csv", "--no-stacks")[1]
tap.ok(0 < recent.count("\n") < wanted / 2 and recent == run(EXPORT, "--last", "200ms", "-f", "csv", "--no-stacks", *files)[1], "and their last part")
# A time without a zone is of who asks, wherever the nodes are.
whole = json.loads(run(STAT, "--json", files[0])[1])
half, ours = datetime.datetime.fromisoformat(whole["coverage"]["start"][:26]) + datetime.timedelta(hours=3, milliseconds=500), {"TZ": "AAA-3"}
with dashboard.Dashboard(files[0], env={"TZ": "BBB+4"}) as b:
    here = json.loads(run(STAT, "--json", "--since", half.isoformat(), files[0], env=ours)[1])["ops"]
    there = json.loads(run(QUERY, "--nodes", address(b), "--json", "--since", half.isoformat(), env=ours)[1])["ops"]
    tap.ok(here and sum(o["count"] for o in here) < sum(o["count"] for o in whole["ops"]), "since half a second after the start")
    tap.same({(o["source"], o["operation"]): o["count"] for o in there}, {(o["source"], o["op"]): o["count"] for o in here}, "is the same time on a machine in another zone")
trace = os.path.join(TMP.name, "trace.json")
status, out, err = run(EXPORT, "--nodes", both, "--format", "perfetto", "-o", trace)
with open(trace, encoding="utf-8") as f:
    drawn = json.load(f)["traceEvents"]
run(EXPORT, "--format", "perfetto", "-o", trace, *files)
with open(trace, encoding="utf-8") as f:
    same = sorted(map(str, drawn)) == sorted(map(str, json.load(f)["traceEvents"]))  # samples may stand elsewhere among events
tap.ok(status == 0 and len(drawn) > wanted and same, "a timeline of both", err)
status, out, err = run(EXPORT, "--nodes", f"{both},{dead}", "-f", "csv")
tap.ok(status == 0 and out.count("\n") == wanted + 1 and f"node {dead} is left out" in err, "one that is not there is named, and the others are written", err)
liars = {lie: bad[lie] for lie in ("500", "away", "html", "empty", "flood")}
status, out, err = run(EXPORT, "--nodes", ",".join([both, *liars.values(), *slow]), "-f", "csv", "--max-node", "64M", "--timeout", "10s")
unsaid = [lie for lie, a in {**liars, "stall": slow[0], "drip": slow[1]}.items() if f"node {a} is left out" not in err]
tap.same((status, out.count("\n"), unsaid), (0, wanted + 1, []), "whoever sends something else, without end, or a byte now and then, is left out by name")
tap.ok(f"{liars['html']} is left out: its answer is no recording" in err and f"{liars['flood']} is left out: the answer is longer than" in err, "with the reason", err)
status, out, err = run(EXPORT, "--nodes", ",".join(liars.values()), "-f", "csv", "--max-node", "1M", "-o", trace + ".csv")
tap.ok(status == 3 and not os.path.exists(trace + ".csv"), "nobody has one: status 3, and nothing is written", err)
half = os.path.join(TMP.name, "half.ige")
with open(files[0], "rb") as f, open(half, "wb") as g:
    g.write(f.read()[: os.path.getsize(files[0]) // 2])
with dashboard.Dashboard(half) as b:
    status, out, err = run(EXPORT, "--nodes", f"{address(b)},{address(boards[1])}", "-f", "csv")
    tap.ok(status == 4 and 0 < out.count("\n") - 1 < wanted and address(b) in err and "/proc" not in err, "what a node has of a damaged recording is written, and said by its name: status 4", f"{status} {err}")
    with open(half, "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        status, out, err = run(EXPORT, "--nodes", address(b), "-f", "csv")
        tap.ok(status == 0 and out.count("\n") > 1 and not err, "one that still grows is whole as far as it is", f"{status} {err}")
with dashboard.Dashboard(files[0], "--token-file", token) as b:
    tap.same([run(EXPORT, "--nodes", address(b), "-f", "csv", *a)[0] for a in ((), ("--token-file", token))], [3, 0], "a node that wants a token")
with dashboard.Dashboard(*files) as b:
    status, out, err = run(EXPORT, "--nodes", address(b), "-f", "csv")
    tap.same((status, out.count("\n")), (0, wanted + 1), "several recordings of one node")
archive = os.path.join(TMP.name, "both.db")
subprocess.run([EXPORT, "-q", "-o", archive, *files], check=True, env=ENV)
with dashboard.Dashboard(archive) as b:
    status, out, err = run(EXPORT, "--nodes", address(b), "-f", "csv")
    tap.same((status, out.count("\n")), (0, wanted + 1), "an archive of one")

# A clock that is three seconds ahead, and so are the times of the recording that was made by it: the other two agree.
third = recording("gpu-c", "--seed", "3")
with dashboard.Dashboard(third) as c:
    three = f"{both},{address(c)}"
    size = sum(map(os.path.getsize, (*files, third)))
    status, out, err = run(EXPORT, "--nodes", f"{three},{bad['flood']}", "-f", "csv", "--max-nodes", str(4 * size))
    tap.ok(status == 0 and out.count("\n") == counted(*files, third) + 1 and f"node {bad['flood']} is left out" in err and err.count("--max-nodes") == 1, "what sends without end is left out when there is no room for more in all, and nobody else", err)
    status, out, err = run(EXPORT, "--nodes", three, "-f", "csv", "--max-nodes", str(size // 2))
    left = re.findall(r"node (\S+) is left out: .*--max-nodes", err)
    tap.ok(status == 0 and left and out.count("\n") == 1 + sum(counted(f) for f, a in zip((*files, third), three.split(",")) if a not in left), "of recordings that are more than there is room for in all, so many are left out as have to be", err)
wrong = start((1, 0, "", "", files[0]), (2, 3_000_000_000, "", "", files[1]), (3, 0, "", "", third))
right = [json.loads(line) for line in run(EXPORT, "-f", "json", "--no-stacks", *files, third)[1].splitlines()]
status, out, err = run(EXPORT, "--nodes", ",".join(wrong), "-f", "json", "--no-stacks")
told = re.search(r"clock skew: gpu-2 is ~3(?:\.\d+)? s ahead of .*± ([\d.]+) (ns|us|ms|s)\)", err)
tap.ok(status == 0 and told and "gpu-2: its clock is 3" in err and "put right" in err, "a clock that is 3 s ahead is told, and that times were put right", err)


def moved(lines, node):
    """By how much its events, in their order."""
    return {a["start_ns"] - b["start_ns"] for a, b in zip(*([x for x in of if x["node"] == node and "record" not in x] for of in (lines, right)))}


lines = [json.loads(line) for line in out.splitlines()]
error = float(told[1]) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[told[2]] * 1.06 + 2 if told else 0
tap.same((moved(lines, "gpu-a"), moved(lines, "gpu-c"), len(moved(lines, "gpu-b")), len(lines)), ({0}, {0}, 1, len(right)), "events of the clocks in the middle stay, those of the third move as one")
tap.ok(all(abs(by) <= error for by in moved(lines, "gpu-b")), "to where they were, as exactly as was said", f"{moved(lines, 'gpu-b')} {error}")
last = run(EXPORT, "--nodes", ",".join(wrong), "--last", "500ms", "-f", "csv", "--no-stacks")[1]
tap.ok({line.split(",")[3] for line in last.splitlines()[1:]} >= {"gpu-a", "gpu-b", "gpu-c"}, "so that the last half second is that of all", last[:300])
(stranger,) = start((2, 3_000_000_000, "stranger", "", files[1]))
status, out, err = run(EXPORT, "--nodes", f"{wrong[0]},{stranger},{wrong[2]}", "-f", "json", "--no-stacks")
lines = [json.loads(line) for line in out.splitlines()]
tap.ok(status == 0 and moved(lines, "gpu-b") == {3_000_000_000} and "put right" not in err, "a recording that another machine made says nothing of the clock of who has it", f"{moved(lines, 'gpu-b')} {err}")
tap.same([run(EXPORT, "--nodes", both, *a)[0] for a in (("-f", "csv", files[0]), ("--interval", "1s"))], [2, 2], "a recording, too, is a mistake")
all_rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) SELECT i FROM n"
rows_of = [run(QUERY, "--nodes", address(boards[0]), "--csv", *a, all_rows)[1].count("\n") - 1 for a in ((), ("--limit", "0"), ("--limit", "1200"))]
tap.same(rows_of, [1500, 1500, 1200], "--limit 0 is as many rows as a node gives, not as many as it gives unasked")
tap.same([b.end() for b in boards], [0, 0], "the dashboards live")

for p in running:
    p.stdin.close()
tap.same({p.wait(PATIENCE) for p in running}, {0}, "all nodes end well")
tap.done_testing()
