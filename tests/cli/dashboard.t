#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The dashboard's API as programs see it: the shape of every endpoint, that they say what the other programs say, wrong questions,
# names and tokens, news while a recording grows, and names that attack who shows them.

import contextlib
import fcntl
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from time import monotonic

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import schema  # noqa: E402
import tap  # noqa: E402

TMP = tempfile.TemporaryDirectory(prefix="ingero-test.")
DEMO, EXPLAIN, QUERY, STAT = (os.path.join(tap.BIN, "ingero-" + n) for n in ("demo", "explain", "query", "stat"))


def recording(name, *args):
    path = os.path.join(TMP.name, name)
    subprocess.run([DEMO, "-q", "-o", path, *args], check=True)
    return path


def said(*argv):
    return json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)


run = recording("run.ige", "incident", "--duration", "4s")
explained, counted = said(EXPLAIN, "--json", run), said(STAT, "--json", run)

d = dashboard.Dashboard(run)
if not d.url:
    tap.skip_all("optional: " + d.said.strip()[-100:])

# ---- the page ----

status, headers, page = d.ask("/")
tap.ok(status == 200 and headers["content-type"].startswith("text/html") and b"<main" in page, "the page is there")
policy = headers.get("content-security-policy", "")
tap.ok("default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, "and may load nothing from elsewhere", policy)
parts = re.findall(r'(?:href|src)="([^"#]+)"', page.decode())
got, seen = list(parts), set()
while got:
    name = got.pop()
    if name in seen:
        continue
    seen.add(name)
    status, headers, body = d.ask("/" + name)
    tap.ok(status == 200 and len(body) > 100, f"/{name}, {headers.get('content-type')}")
    if name.endswith(".js"):
        got += re.findall(r'from "\./([^"]+)"', body.decode())
        tap.ok(not re.search(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://(?!www\.w3\.org/2000/svg)", body), f"/{name} makes no markup of text, and asks nobody else")
tap.ok(len(seen) > 8, "all scripts were followed", seen)

# ---- endpoints of the older agent ----


def keys(value, wanted, name, optional=()):
    lacks, strange = set(wanted) - set(value), {k for k in value if k in optional and value[k] is None}
    tap.ok(not lacks and not strange, name, f"lacks {lacks}, null {strange}\n{json.dumps(value)[:600]}")


status, over = d.json("overview")
keys(over, ["event_count", "chain_count", "session_count", "system", "top_chain"], "overview")
keys(over["system"], ["cpu_percent", "mem_percent", "swap_mb", "load_avg"], "its system")
keys(over["top_chain"], ["severity", "summary", "root_cause", "recommendations"], "its worst cause")
tap.same([over["event_count"], over["chain_count"]], [counted["coverage"]["events"], len(explained["chains"])], "counts as the other programs count")
tap.same(over["top_chain"]["summary"], explained["chains"][0]["summary"], "the worst cause is explain's first")
tap.ok("log-compactor" in over["top_chain"]["root_cause"], "the root cause is who did it")

status, ops = d.json("ops")
tap.same(ops["mode"], "percentile", "mode of ops")
for row in ops["ops"][:1]:
    keys(row, ["operation", "source", "count", "p50_us", "p95_us", "p99_us"], "a row of ops")
tap.same([(o["operation"], o["count"], round(o["p99_us"] * 1e3)) for o in ops["ops"]], [(o["op"], o["count"], o["p99_ns"]) for o in counted["ops"]], "ops are stat's")
tap.ok("sketch" not in ops["ops"][0], "without sketches, unless asked")
status, sketched = d.json("ops?sketch=1")
for o in sketched["ops"]:
    s = o["sketch"]
    if sum(s["buckets"][1::2]) != o["count"] or s["sub"] != 128 or s["buckets"][::2] != sorted(set(s["buckets"][::2])) or int(s["sum"]) != o["total_ns"]:
        tap.ok(False, f"the sketch of {o['operation']} counts its calls", s)
        break
else:
    tap.ok(True, "sketches count what was counted")


def quantile(s, q):
    """The nearest rank, from buckets alone."""
    rank, seen_n = max(1, -(-int(q * 1000) * sum(s["buckets"][1::2]) // 1000)), 0
    for bucket, n in zip(s["buckets"][::2], s["buckets"][1::2]):
        seen_n += n
        if seen_n >= rank:
            shift = max(0, bucket // 128 - 1)
            return (bucket - shift * 128) << shift
    return s["max"]


worst = max(abs(quantile(o["sketch"], 0.5) - o["p50_us"] * 1e3) / max(1, o["p50_us"] * 1e3) for o in sketched["ops"] if o["p50_us"])
tap.ok(worst < 0.01, "and give the same medians", f"{worst:.4f} off")
status, few = d.json("ops?since=1s")
tap.ok(0 < sum(o["count"] for o in few["ops"]) < sum(o["count"] for o in ops["ops"]) / 2, "since chooses")
tap.same(d.json("ops?since=")[1]["ops"], ops["ops"], "an empty since is none")

status, chains = d.json("chains")
for c in chains["chains"][:1]:
    keys(c, ["id", "detected_at", "severity", "summary", "root_cause", "explanation", "recommendations", "cuda_op", "cuda_p99_us", "cuda_p50_us", "tail_ratio", "timeline", "node"], "a chain")
    keys(c["timeline"][0], ["layer", "detail"], "a moment of it")
    tap.ok(all(isinstance(r, str) for r in c["recommendations"]), "recommendations are text")

copy = os.path.join(TMP.name, "copy.ige")
status, headers, body = d.ask("/api/v1/recording")
with open(copy, "wb") as f:
    f.write(body)
tap.same((status, headers["content-type"], said(STAT, "--json", copy)["ops"]), (200, "application/octet-stream", counted["ops"]), "the recording itself says the same")
status, headers, body = d.ask("/api/v1/recording?since=1s")
with open(copy, "wb") as f:
    f.write(body)
tap.same([(o["op"], o["count"]) for o in said(STAT, "--json", copy)["ops"]], [(o["operation"], o["count"]) for o in few["ops"]], "and its last second that second")
tap.same([d.ask("/api/v1/recording?since=soon")[0], d.ask("/api/v1/recording", method="POST")[0]], [400, 405], "wrong questions for it")

status, snapshots = d.json("snapshots")
keys(snapshots["snapshots"][0], ["timestamp", "cpu_percent", "mem_percent", "mem_avail_mb", "swap_mb", "load_avg"], "a snapshot")
tap.ok(len(snapshots["snapshots"]) >= 3, "one for each second or so", len(snapshots["snapshots"]))

status, caps = d.json("capabilities")
tap.ok(all(isinstance(c["available"], bool) and c["id"] and c["label"] and (c["available"] or c.get("required_tool") or c.get("tooltip")) for c in caps), "what is missing names a tool or a reason",
       [c for c in caps if not c["available"] and not c.get("required_tool") and not c.get("tooltip")])
by_id = {c["id"]: c["available"] for c in caps}
tap.same([by_id[i] for i in ("cuda_runtime", "off_cpu", "native_stacks", "nccl", "sm_occupancy")], [True, True, True, False, False], "and what is there is said to be there")
tap.same(len(by_id), len(caps), "no id twice")

status, time = d.json("time")
tap.ok(isinstance(time["timestamp_ns"], int) and time["timestamp_ns"] > 1.7e18, "time")
tap.same(d.json("graph-metrics"), (200, {"captures": 0, "instantiations": 0, "launches": 0, "total_events": 0}), "no graphs")
tap.same(d.json("graph-events"), (200, []), "no events of graphs")

# ---- SQL ----

status, answer = d.sql("SELECT op_name, count(*) AS n FROM named_events GROUP BY 1 ORDER BY 2 DESC, 1")
tap.same((status, answer["columns"], answer["truncated"]), (200, ["op_name", "n"], False), "SQL")
tap.same({tuple(r) for r in answer["rows"] if re.match("cu.*(Launch|Malloc|Alloc)", r[0])}, {(o["op"], o["count"]) for o in counted["ops"] if re.match("cu.*(Launch|Malloc|Alloc)", o["op"])}, "counts what stat counts")
status, answer = d.sql("SELECT id FROM events", limit=7)
tap.same((status, len(answer["rows"]), answer["truncated"]), (200, 7, True), "limit")
for statement, why in (("DELETE FROM events", "writing"), ("WITH x AS (SELECT 1) DELETE FROM events", "writing behind WITH"), ("SELECT 1; SELECT 2", "two statements"), ("SELECT", "half a statement"),
                       ("ATTACH '/etc/passwd' AS x", "another file"), ("PRAGMA journal_mode=WAL", "a setting"), ("SELECT load_extension('x')", "a library"), ("", "nothing")):
    status, answer = d.sql(statement)
    tap.ok(status == 400 and isinstance(answer["error"], str), f"refused: {why}", answer)
for body, why in ((b"", "no body"), (b"[1]", "an array"), (b'{"sql": 5}', "sql that is a number"), (b'{"sql": "SELECT 1", "limit": "x"}', "a limit that is text"), (b'{"sql": "SELECT 1", "limit": -1}', "a negative limit"), (b"\xff{", "no JSON"), (b'{"sql":"SELECT 1","x":' + b"[" * 30000 + b"]" * 30000 + b"}", "much in much")):
    status, answer = d.json("query", method="POST", body=body)
    tap.ok(status == 400 and answer["error"], f"refused: {why}", answer)
status, _, _ = d.ask("/api/v1/query", "POST", b"x" * 200000)
tap.same(status, 413, "a body that is too long")

# ---- what the page is made from ----

status, report = d.json("report")
tap.none(schema.check(report, "formats/explain.schema.json"), "report keeps to explain's schema")
tap.same(report["chains"], explained["chains"], "report says what explain says")
status, stat = d.json("stat")
tap.none(schema.check(stat, "formats/stat.schema.json"), "stat keeps to its schema")
tap.same([stat["ops"], stat["latency"], stat["states"]], [counted["ops"], counted["latency"], counted["states"]], "stat says what stat says")
by_op = {(c["source"], c["op"]): sum(c["counts"]) for c in stat["latency"]}
tap.ok(all(by_op.get((o["source"], o["op"]), o["count"]) == o["count"] for o in stat["ops"]), "every call is somewhere in the course of latencies")
tap.same(sum(map(sum, stat["states"]["parts"].values())), sum(t["ns"] for t in stat["time"]), "every nanosecond is somewhere in the course of states")
event = next(m["event"] for m in report["chains"][0]["timeline"] if m["layer"] == "CUDA" and m["event"])
status, call = d.json(f"call?id={event['tid']}%40{event['end']}")
tap.same((status, call["op"], sum(call["parts"].values())), (200, event["op"], call["dur_ns"]), "one call, whose parts sum up")
tap.same(d.json("call?id=cudaMalloc")[1]["op"], "cudaMalloc", "the longest of an operation")
tap.same([d.json(q)[0] for q in ("call", "call?id=1%402", "call?id=%00", "call?id=nonsense")], [400, 404, 400, 400], "calls that are none")
status, about = d.json("about")
tap.same([about["recordings"], about["states"]["preempted"]], [[{"name": "run.ige"}], "preempted"], "about tells no folders")
status, headers, metrics = d.ask("/metrics")
tap.ok(status == 200 and headers["content-type"].startswith("text/plain") and re.search(rb'^gpu_cuda_operations_total\{.*operation="cudaLaunchKernel"\} \d+$', metrics, re.M), "metrics")
tap.ok(b"cpu-preempted" in metrics, "with causes")
tap.same(d.ask("/metrics")[2], metrics, "and the same again")
metrics_whole = metrics

# ---- wrong questions ----

tap.same([d.json(q)[0] for q in ("ops?since=yesterday", "stat?last=x", "report?until=25:99", "nothing", "ops/", "../../etc/passwd", "%2e%2e/x")], [400, 400, 400, 404, 404, 404, 404], "wrong questions")
tap.same([d.ask(p)[0] for p in ("/page.c", "/../api.c", "/etc/passwd", "/index.html/", "//", "/lib/api/page/main.js")], [404] * 6, "files that are not the page's")
tap.same([d.ask("/api/v1/ops", m)[0] for m in ("POST", "PUT", "DELETE")] + [d.ask("/api/v1/query")[0], d.ask("/", "POST", b"x")[0]], [405] * 5, "wrong methods")
status, headers, body = d.ask("/api/v1/overview", "HEAD")
tap.same((status, body), (200, b""), "HEAD")
tap.same([d.ask("/api/v1/ops", headers={"Host": h})[0] for h in ("evil.example", "127.0.0.1.evil.example:80", "localhost", f"127.0.0.1:{d.port}")], [403, 403, 200, 200], "names it is called by")
tap.same([d.sql("SELECT 1")[0], d.json("query", method="POST", body=b'{"sql":"SELECT 1"}', headers={"Origin": "http://evil.example"})[0]], [200, 403], "pages of others")
tap.same(d.end(), 0, "ends when interrupted")
tap.same([line for line in d.said.splitlines() if "open to every user" not in line], [], "and had nothing to complain about")

# ---- TLS and a token ----

secret = os.path.join(TMP.name, "token")
with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
    f.write("a-token-for-tests\n")
with dashboard.Dashboard(run, "--token-file", secret, tls=True) as t:
    if not t.url:
        tap.skip("TLS and a token", "optional: " + t.said.strip()[-100:])
    else:
        ok, bad = {"Authorization": "Bearer a-token-for-tests"}, {"Authorization": "Bearer another"}
        tap.ok(t.url.startswith("https://"), "TLS unless told otherwise", t.url)
        tap.same([t.ask("/")[0], t.ask("/main.js")[0]], [200, 200], "the page itself needs no token")
        tap.same([t.ask("/api/v1/recording", headers=h)[0] for h in ({}, bad, ok)], [401, 401, 200], "the recording does")
        tap.same([t.ask(p, headers=h)[0] for p in ("/api/v1/overview", "/metrics", "/api/v1/time") for h in (None, bad)], [401] * 6, "all that is told does")
        tap.same(t.json("overview", headers=ok)[1]["event_count"], counted["coverage"]["events"], "with it")
        t.end()
        tap.ok(re.search(r"([0-9A-F]{2}:){31}[0-9A-F]{2}", t.said), "the certificate's fingerprint is printed", t.said)

# ---- graphs; several recordings ----

with dashboard.Dashboard(recording("graph.ige", "graph-recapture", "--duration", "4s")) as g:
    metrics, events = g.json("graph-metrics")[1], g.json("graph-events")[1]
    keys(metrics, ["captures", "instantiations", "launches", "total_events", "avg_capture_dur_us", "avg_instantiate_dur_us", "launch_rate_per_sec"], "graph-metrics")
    tap.same({o["operation"]: o["count"] for o in g.json("ops")[1]["ops"]}["cudaGraphLaunch"], metrics["launches"], "launches")
    tap.same(len(events), 100, "a hundred events of graphs")
    keys(events[0], ["timestamp", "pid", "op", "duration_us", "ret_code"], "one of them")
    tap.ok(events == sorted(events, key=lambda x: x["timestamp"], reverse=True) or events[0]["timestamp"] > events[-1]["timestamp"], "newest first")
    tap.ok(any(e.get("exec_handle", "").startswith("0x") for e in events), "handles are text")
with dashboard.Dashboard(run, recording("other.ige", "clean", "--duration", "4s", "-n", "other")) as two:
    tap.same([len(two.json("about")[1]["recordings"]), two.json("overview")[1]["session_count"]], [2, 2], "two recordings at once")

# ---- a run: its recorder goes on in another file, and removes the first

os.mkdir(os.path.join(TMP.name, "runs"))
parts = [recording(f"runs/run-20260102-000000-8-{i:06}.ige", "clean", "--duration", "1s", "--seed", str(i)) for i in (1, 2)]
sizes = [said(STAT, "--json", p)["coverage"]["events"] for p in parts]
os.rename(parts[1], parts[1] + ".later")
with dashboard.Dashboard("-d", os.path.join(TMP.name, "runs")) as r, dashboard.Dashboard(parts[0]) as alone:
    before = r.json("overview")[1]["event_count"]
    os.rename(parts[1] + ".later", parts[1])
    recording("runs/run-20260103-000000-9-000001.ige", "clean", "--duration", "1s", "--seed", "3")
    tap.same([before, r.json("overview")[1]["event_count"]], [sizes[0], sum(sizes)], "the file that a run goes on in is served, too, and no other run's")
    tap.same(alone.json("overview")[1]["event_count"], sizes[0], "who was given one file serves that")
    os.unlink(parts[0])
    got = [r.json("overview"), r.sql("SELECT count(*) FROM events"), r.json("graph-events"), r.ask("/metrics"), r.ask("/api/v1/recording")]
    tap.same([a[0] for a in got], [200] * 5, "the first one is gone: all is still answered")
    tap.same([got[0][1]["event_count"], got[1][1]["rows"], r.json("about")[1]["recordings"]], [sizes[1], [[sizes[1]]], [{"name": os.path.basename(parts[1])}]], "from what is left")

# ---- while it grows: the file becomes another one ----

grows = recording("grows.ige", "clean", "--duration", "2s")
with dashboard.Dashboard(grows) as n:
    before = n.json("overview")[1]["event_count"]
    first = n.ask("/api/v1/live")
    state = json.loads(first[2].decode().split("data:", 1)[1])
    tap.ok(first[1]["content-type"] == "text/event-stream" and state["growing"] is False, "one piece of news about a file that is whole, and no more", first)
    recording("grows.ige", "incident", "--duration", "3s")
    after = json.loads(n.ask("/api/v1/live")[2].decode().split("data:", 1)[1])
    tap.ok(after["version"] != state["version"], "another file is news")
    tap.ok(n.json("overview")[1]["event_count"] != before, "and answered from")
    with open(grows, "r+b") as f:
        f.truncate(os.path.getsize(grows) // 2)
    report = n.json("report")[1]
    tap.ok(report["coverage"]["partial"] and report["coverage"]["partial_reason"], "a file that was cut: told, from what is left", report["coverage"])
    cut = [n.json(q)[1]["partial"] for q in ("overview", "ops", "chains")] + [n.sql("SELECT 1")[1]["partial"]]
    tap.same(cut, [True] * 4, "by each answer")
    at = f"127.0.0.1:{n.port}"
    for program, *args in ((QUERY, "SELECT 1"), (QUERY,), (EXPLAIN,)):
        p = subprocess.run([program, "--nodes", at, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        tap.ok(p.returncode == 0 and "of what could be read" in p.stderr, f"{os.path.basename(program)} {args}: who asks several machines hears of it", p.stderr)
    os.unlink(grows)
    tap.same(n.json("overview")[0], 404, "a file that is gone")
    tap.same(n.ask("/")[0], 200, "and the server lives")

# ---- names that attack ----

names = recording("names.ige", "incident", "--duration", "2s", "-n", '<img src=x onerror=alert(1)>"\'&')
with dashboard.Dashboard(names) as a:
    status, headers, body = a.ask("/api/v1/report")
    tap.ok(status == 200 and json.loads(body)["chains"][0]["node"].startswith("<img") and headers["x-content-type-options"] == "nosniff", "a node called markup stays text", body[:200])
    metrics = a.ask("/metrics")[2].decode()
    tap.ok('node="<img src=x onerror=alert(1)>\\"' in metrics, "also in metrics")

# ---- starting ----

# ---- metrics of a recording that grows: what was counted is counted on, and is what one reading of all of it counts
def counted(board):
    """Status and metrics but for causes, of which some may be found only a second later."""
    status, _, text = board.ask("/metrics")
    return status, sorted(line for line in text.split(b"\n") if b"ingero_chains" not in line and b"ingero_lost_time" not in line)


def counted_anew(path):
    with dashboard.Dashboard(path) as board:
        return counted(board)


with open(run, "rb") as f:
    whole = f.read()
grows = os.path.join(TMP.name, "grows.ige")
with open(recording("other.ige", "incident", "--duration", "1s", "--seed", "9"), "rb") as f:
    other = f.read()
with open(grows, "wb") as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    f.write(whole[:10])
    f.flush()
    with dashboard.Dashboard(grows) as d:
        # Most of these ends lie inside blocks or their headers, the first before anything has begun.
        for end in (10, 64, 1000, len(whole) // 7, len(whole) // 7 + 11, len(whole) // 3, len(whole) // 2, len(whole) - 1, len(whole)):
            f.write(whole[f.tell() : end])
            f.flush()
            tap.same(counted(d), counted_anew(grows), f"metrics of a recording that has grown to {end} bytes")
        for what, content in (("another that is longer", other + whole), ("one that is shorter", other)):
            f.seek(0)
            f.truncate()
            f.write(content)
            f.flush()
            tap.same(counted(d), counted_anew(grows), f"{what} in the same file is counted anew")
        os.replace(shutil.copy(run, grows + ".new"), grows)
        tap.same(d.ask("/metrics")[2], metrics_whole, "another file of its name, too")

# A recorder that is killed writes nothing more, not even an end: whoever follows hears that it is gone.
def told(news, seconds=30):
    """The next state that a stream tells; None: it tells none."""
    until = monotonic() + seconds
    while monotonic() < until and (line := news.readline()):
        if line.startswith(b"data:"):
            return json.loads(line[5:])


with open(grows, "wb", buffering=0) as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    f.write(whole[: len(whole) // 2])
    with dashboard.Dashboard(grows) as d, contextlib.closing(http.client.HTTPConnection("127.0.0.1", d.port, timeout=60)) as c:
        c.request("GET", "/api/v1/live")
        news = c.getresponse()
        first = told(news)
        fcntl.flock(f, fcntl.LOCK_UN)
        last = told(news)
        tap.ok(first["growing"] and last and not last["growing"] and last["version"] != first["version"], "a recorder that is killed is news", f"{first} {last}")
        tap.same([d.json(q)[1]["partial"] for q in ("overview", "ops", "chains")], [True] * 3, "and its recording one that did not end")


# Who has no patience asks again, and each time less is left to be counted.
def answered_within(d, seconds):
    with socket.create_connection(("127.0.0.1", d.port), timeout=seconds) as s:
        try:
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return s.recv(12) == b"HTTP/1.1 200"
        except TimeoutError:
            return False


large = recording("large.ige", "incident", "--duration", "30s")
with dashboard.Dashboard(large, env={"HOME": TMP.name}) as d:
    d.json("chains")
    began = monotonic()
    d.ask("/metrics")
    took = monotonic() - began
with dashboard.Dashboard(large, env={"HOME": TMP.name}) as d:
    d.json("chains")
    tap.ok(any(answered_within(d, took / 8) for _ in range(200)), "metrics that take longer than who asks waits are counted in the end")

for args, status, text in ((["/nowhere/x.ige"], 3, "x.ige"), (["--tls-cert", "x", run], 2, "tls"), (["--addr", "nowhere", run], 2, "nowhere"), (["--no-such"], 2, "no-such")):
    p = subprocess.run([dashboard.PROGRAM, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=dashboard.ENV, timeout=60)
    tap.ok(p.returncode == status and text in p.stderr, f"{args[0]}: status {status}", f"{p.returncode} {p.stderr}")
tap.done_testing()
