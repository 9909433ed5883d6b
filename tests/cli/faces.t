#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# One question, one answer on every face: what ingero-explain finds in a recording, all that show findings find, too, whether
# anybody analyzed it before or not; and of several recordings that were analyzed one by one as of one.

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import perfetto  # noqa: E402
import tap  # noqa: E402

TMP = tempfile.TemporaryDirectory(prefix="ingero-test.")
ENV = {k: v for k, v in os.environ.items() if not k.startswith("INGERO_")} | {"INGERO_CONFIG": ""}
PATIENCE = 300


def path(name):
    return os.path.join(TMP.name, name)


def run(program, *args):
    p = subprocess.run([os.path.join(tap.BIN, "ingero-" + program), *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, env=ENV)
    assert p.returncode == 0, (program, args, p.stderr)
    return p.stdout


def made(name, program, *args):
    run(program, *args, "-o", path(name))
    return path(name)


def explained(*files):
    return [c["kind"] for c in json.loads(run("explain", "--json", "--top", "0", *files))["chains"]]


def in_perfetto(*files):
    return [s["args"]["kind"] for s in perfetto.Trace(run("export", "-f", "perfetto", *files)).slices if s["category"] == "causal_chain"]


def in_chrome(*files):
    return [e["args"]["kind"] for e in json.loads(run("export", "-f", "chrome", *files))["traceEvents"] if e.get("cat") == "causal_chain"]


def in_archive(*files):
    with sqlite3.connect(made("x.db", "export", *files)) as db:
        return [kind for kind, in db.execute("SELECT kind FROM causal_chains")]


def explained_of_archive(*files):
    return explained(made("x.db", "export", *files))


def asked_in_sql(*files):
    return json.loads(run("query", "--jq", "[.rows[][0]]", *files, "SELECT kind FROM causal_chains"))


def merged(*files):
    return explained(made("x.ige", "merge", *files))


def in_clickhouse(*files):
    newest = {x["id"]: x["kind"] for x in map(json.loads, run("export", "-f", "clickhouse", *files).splitlines()) if x["row"] == "cause"}
    return list(newest.values())


def by_kind(text):
    return [kind for kind, n in re.findall(r'^ingero_chains\{.*kind="([^"]*)".*\} (\d+)', text.decode(), re.M) for _ in range(int(n))]


def in_prometheus(*files):
    return by_kind(run("export", "-f", "prometheus", *files))


def in_otlp(*files):
    found = []
    for r in json.loads(run("export", "-f", "otlp", *files))["resourceMetrics"]:
        for m in r["scopeMetrics"][0]["metrics"]:
            for p in m["gauge"]["dataPoints"] if m["name"] == "ingero.chains" else ():
                found += [a["value"]["stringValue"] for a in p["attributes"] if a["key"] == "kind"] * int(p["asDouble"])
    return found


def served(ask):
    def face(*files):
        with dashboard.Dashboard(*files) as b:
            return ask(b, b.url.split("/")[2])
    return face


def asked_of_mcp(*files):
    said = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": p}) + "\n" for i, (m, p) in enumerate((
        ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        ("tools/call", {"name": "get_causal_chains", "arguments": {"jq": "[.chains[].kind]"}}))))
    p = subprocess.run([os.path.join(tap.BIN, "ingero-mcp"), *files], input=said, capture_output=True, text=True, timeout=PATIENCE, env=ENV)
    return {m["id"]: m for m in map(json.loads, p.stdout.splitlines()) if "id" in m}[1]["result"]["structuredContent"]["filtered"][0]


FACES = (
    ("export -f perfetto", in_perfetto),
    ("export -f chrome", in_chrome),
    ("export -f sqlite", in_archive),
    ("explain of an archive", explained_of_archive),
    ("query", asked_in_sql),
    ("merge", merged),
    ("export -f clickhouse", in_clickhouse),
    ("export -f prometheus", in_prometheus),
    ("export -f otlp", in_otlp),
)
SERVED = (
    ("mcp", asked_of_mcp),
    ("/api/v1/chains", served(lambda b, _: [c["kind"] for c in b.json("chains")[1]["chains"]])),
    ("/metrics", served(lambda b, _: by_kind(b.ask("/metrics")[2]))),
    ("explain --nodes", served(lambda _, at: [c["kind"] for c in json.loads(run("explain", "--nodes", at, "--top", "0", "--json"))])),
    ("export --nodes -f chrome", served(lambda _, at: in_chrome("--nodes", at))),
    ("export --nodes -f clickhouse", served(lambda _, at: in_clickhouse("--nodes", at))),
)
incident, errors, straggler = (made(f"{s}.ige", "demo", s, "--duration", "1s", "-n", f"node-{s}") for s in ("incident", "errors", "straggler"))
found = [made(f"{os.path.basename(f)}.found", "correlate", f) for f in (incident, errors)]
RECORDINGS = (
    ("nobody analyzed it", [incident], "cpu-preempted"),
    ("nobody analyzed the ranks", [straggler], "straggler"),
    ("analyzed before", found[:1], "cpu-preempted"),
    ("two, analyzed one by one", found, "cpu-preempted"),
    ("two, one of them analyzed", [found[0], errors], "cpu-preempted"),
)
SERVES = os.path.exists(dashboard.PROGRAM) and os.path.exists(os.path.join(tap.BUILD, "tests", "serve", "node"))
for what, files, kind in RECORDINGS:
    want = sorted(explained(*files))
    tap.ok(any(kind in k for k in want), f"{what}: explain finds {', '.join(want)}")
    for name, face in FACES + (SERVED if SERVES else ()):
        tap.same(sorted(face(*files)), want, f"{what}: {name}")
tap.done_testing()
