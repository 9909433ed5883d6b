#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Servers over HTTP give away what they do not need before anybody asks, in every thread, and answer all that can be asked of them
# nevertheless. What is refused then is tests/unit/host_confine.c's.

import contextlib
import fcntl
import glob
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import tap  # noqa: E402

MCP, DEMO = (os.path.join(tap.BIN, "ingero-" + n) for n in ("mcp", "demo"))
TMP = tempfile.TemporaryDirectory(prefix="ingero-test.")
ENV = dict(os.environ) | {"XDG_CACHE_HOME": os.path.join(TMP.name, "cache"), "TMPDIR": TMP.name}
PATIENCE = 120
run = os.path.join(TMP.name, "run.ige")
subprocess.run([DEMO, "incident", "-q", "--duration", "2s", "-o", run], check=True, env=ENV)


def threads(pid):
    """What the kernel says of each."""
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as f:
            yield {k: v.strip() for k, v in (line.split(":", 1) for line in f)}


def confined(pid, what):
    told = list(threads(pid))
    tap.same({(t["NoNewPrivs"], t["Seccomp"]) for t in told}, {("1", "2")}, f"{what}: all {len(told)} threads are confined")


with dashboard.Dashboard("-v", run, env=ENV) as board:
    said = next((line for line in board.p.stderr if "confined" in line), "")
    if "no system calls" in said or "no files" in said:
        tap.skip_all("optional: this kernel, or this build, confines nothing")
    pages = [board.ask(path)[0] for path in ("/", "/metrics", "/api/v1/overview", "/api/v1/ops", "/api/v1/chains", "/api/v1/snapshots", "/api/v1/recording", "/api/v1/report")]
    tap.same(pages, [200] * len(pages), "dashboard: it answers as ever")
    tap.same(board.sql("SELECT count(*) > 0 AS n FROM events")[1]["rows"], [[1]], "SQL too, of an archive that it makes")
    confined(board.p.pid, "dashboard")
    children = tap.children_of(board.p.pid)
    tap.same(children, [], "it has no other process")
    nodes = board.url.split("/")[2]
    grows = os.path.join(TMP.name, "grows.ige")
    with open(run, "rb") as f, open(grows, "wb") as g:
        fcntl.flock(g, fcntl.LOCK_EX)
        g.write(f.read()[: os.path.getsize(run) // 2])
        g.flush()
        with dashboard.Dashboard(grows, env=ENV) as growing:
            status, _, text = growing.ask("/metrics")
            with open(f"/proc/{growing.p.pid}/stat", encoding="ascii") as f:
                faults = int(f.read().rsplit(") ", 1)[1].split()[8])  # cminflt: of children that have ended
            tap.ok(status == 200 and b"ingero_chains" in text and faults > 0, "but copies that say what a recording that grows comes to", f"{status} {faults}")
    os.unlink(grows)

    web = subprocess.Popen([MCP, "--http", "127.0.0.1:0", "--no-tls", "--no-token", "--nodes", nodes, run], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENV)
    port = int(web.stdout.readline().rsplit(":", 1)[1].split("/")[0])

    def call(name, **arguments):
        """The result of a tool."""
        said = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}}}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as c:
            c.request("POST", "/mcp", json.dumps(said), {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
                                                         "Mcp-Method": "tools/call", "Mcp-Name": name})
            r = c.getresponse()
            text = r.read().decode()
        if r.getheader("Content-Type", "").startswith("text/event-stream"):
            text = [line[6:] for line in text.splitlines() if line.startswith("data: ")][-1]
        return json.loads(text).get("result") or {"isError": text}

    for name, arguments in (("get_causal_chains", {}), ("get_trace_stats", {"jq": ".ops[0].op"}), ("run_sql", {"query": "SELECT count(*) FROM events"}), ("get_check", {}), ("run_demo", {}),
                            ("query_fleet", {"action": "ops"}), ("explain_call", {"call": "cudaStreamSynchronize"})):
        got = call(name, **arguments)
        tap.ok(not got.get("isError"), f"ingero-mcp over HTTP: {name}", str(got)[:400])
    confined(web.pid, "ingero-mcp")
    helpers = [open(f"/proc/{pid}/comm").read().strip() for pid in tap.children_of(web.pid)]
    tap.same(helpers, ["ingero-checker"], "the one process that it has is the one that starts ingero-check")
    web.send_signal(signal.SIGINT)
    tap.same(web.wait(PATIENCE), 0, "and it ends well")
    web.stdout.close()
tap.same(sorted(os.listdir(TMP.name)), ["cache", "run.ige"], "nothing is left behind but what is kept")
stdio = subprocess.Popen([MCP, run], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENV)
stdio.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n')
stdio.stdin.flush()
stdio.stdout.readline()
tap.same({t["NoNewPrivs"] for t in threads(stdio.pid)}, {t["NoNewPrivs"] for t in threads(os.getpid())}, "over standard input it is its client's own")
stdio.communicate()
tap.done_testing()
