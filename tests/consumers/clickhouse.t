#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The tables of formats/clickhouse in a real ClickHouse: statements are accepted, one stream fills all tables with what the recording
# counts, names that are SQL or JSON stay names, and the queries find what was planted on 100 machines. A server older than 23 gets the
# types that formats/clickhouse/README.md names for it. Tried on the server that is installed, and on the current engine as a library
# (`make chdb`, or CHDB names the folder); SKIP where there is neither.

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, "tests")
import tap  # noqa: E402

EXPORT, DEMO, CORRELATE, MERGE, STAT, EXPLAIN = (os.path.join(tap.BIN, "ingero-" + n)
                                                 for n in ("export", "demo", "correlate", "merge", "stat", "explain"))
TMP = tempfile.TemporaryDirectory()
SERVER = ["clickhouse-server"] if shutil.which("clickhouse-server") else ["clickhouse", "server"]
CHDB = os.environ.get("CHDB", os.path.join(tap.BUILD, "chdb"))
PORT = None  # of the one that is tried


def path(name):
    return os.path.join(TMP.name, name)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write(name, text):
    with open(path(name), "w") as f:
        f.write(text)
    return path(name)


def installed():
    """The arguments that start the server of this machine on PORT."""
    write("users.xml", """<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>""")
    write("config.xml", f"""<yandex><logger><level>warning</level><log>{path('log')}</log><errorlog>{path('errors')}</errorlog></logger>
<http_port>{PORT}</http_port><tcp_port>{free_port()}</tcp_port><listen_host>127.0.0.1</listen_host><path>{path('data')}/</path>
<tmp_path>{path('tmp')}/</tmp_path><users_config>{path('users.xml')}</users_config><default_profile>default</default_profile>
<mark_cache_size>67108864</mark_cache_size></yandex>""")
    return [*SERVER, f"--config-file={path('config.xml')}"]


def library():
    return ["node", os.path.abspath("tests/consumers/chdb.js"), CHDB, path("session"), str(PORT)]


def http(statement, data=None, database="ingero", **settings):
    query = urllib.parse.urlencode({"database": database, "query": statement, **settings})
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/?{query}", data=data if data is not None else b"")
    try:
        with urllib.request.urlopen(request, timeout=300) as r:
            return r.read().decode()
    except urllib.error.HTTPError as e:
        raise RuntimeError(f"{statement[:200]}\n{e.read().decode()[:1500]}") from None


def ask(statement):
    return [json.loads(x) for x in http(statement.rstrip().rstrip(";") + " FORMAT JSONEachRow", output_format_json_quote_64bit_integers=0).splitlines()]


def one(statement):
    return next(iter(ask(statement)[0].values()))


def statements(name):
    text = re.sub(r"--[^\n]*", "", open(f"formats/clickhouse/{name}").read())
    return [s.strip() for s in text.split(";") if s.strip()]


def output(*argv, data=None):
    how = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run(argv, capture_output=True, timeout=600, check=True, **how).stdout


def demo(name, *args):
    with open(path(name), "wb") as f:
        f.write(output(DEMO, *args))
    return path(name)


def load(data):
    http("INSERT INTO feed FORMAT JSONEachRow", data=data)


def checks(version):
    http("CREATE DATABASE IF NOT EXISTS ingero", database="default")
    old = int(version.split(".")[0]) < 23
    for s in statements("schema.sql") * 2:  # twice: running it again changes nothing
        if old:
            s = re.sub(r"LowCardinality\((\w+)\)", r"\1", s)
            s = re.sub(r" CODEC\([^()]*\)", "", s)
            s = re.sub(r",\s*time DateTime64[^\n]*", "", s)
        http(s)
    tap.ok(True, f"schema.sql is accepted by {version}")

    # One machine: counts are those of the recording.
    run = demo("run.ige", "errors", "--duration", "1s")
    found = output(CORRELATE, "-q", run)
    rows = output(EXPORT, "-f", "clickhouse", data=found)
    lines = [json.loads(x) for x in rows.splitlines()]
    load(rows)
    stat = json.loads(output(STAT, "--json", run))
    tap.same(one("SELECT count() FROM events"), stat["coverage"]["events"], "as many events as the recording has")
    got = {(r["source"], r["op"]): [r["n"], r["ns"], r["bad"]] for r in
           ask("SELECT source, op, count() AS n, sum(duration_ns) AS ns, sum(return_code != 0) AS bad FROM events GROUP BY source, op")}
    tap.same({k: v[:2] for k, v in got.items()}, {(r["source"], r["op"]): [r["count"], r["total_ns"]] for r in stat["ops"]}, "count and time of each operation")
    tap.same(sum(v[2] for v in got.values()), sum(r["errors"] for r in stat["ops"]), "errors")
    merged = ask("SELECT source, op, countMerge(calls) AS n, sumMerge(total_ns) AS ns FROM op_minutes GROUP BY source, op")
    tap.same({(r["source"], r["op"]): [r["n"], r["ns"]] for r in merged}, {k: v[:2] for k, v in got.items()}, "the minutes add up to the events")
    records = [json.loads(x) for x in output(EXPORT, "--records", data=found).splitlines()]
    tap.same(one("SELECT count() FROM samples"), sum(r.get("record") == "sample" for r in records), "samples")
    explain = json.loads(output(EXPLAIN, "--json", "--top", "0", run))
    tap.same({r["id"]: [r["lost_ns"], r["kind"]] for r in ask("SELECT id, lost_ns, kind FROM causes FINAL")},
             {c["id"]: [c["lost_ns"], c["kind"]] for c in explain["chains"]}, "causes, the newest revision of each")
    tap.same(one("SELECT sum(duration_ns) FROM times FINAL"), sum(sum(p["parts"].values()) for p in explain["breakdown"]), "where the time went")
    tap.same(one("SELECT sum(count) FROM loops FINAL"), sum(s["count"] for s in explain["steps"]), "steps of loops")
    first = min(e["timestamp"] for e in records if "record" not in e)
    tap.same(one("SELECT toString(toDateTime(intDiv(min(time_ns), 1000000000), 'UTC')) FROM events"), first[:19].replace("T", " "), "UTC")
    load(rows)
    tap.same(one("SELECT count() FROM causes FINAL"), len(explain["chains"]), "loaded twice: every cause once")

    # A hundred machines, on three of which something is wrong; one is called what no machine should be.
    EVIL = "x'); DROP TABLE events; --\"\\\t<b>"
    for t in ("events", "samples", "causes", "times", "loops", "steps", "losses", "op_minutes", "collectives", "taken_minutes"):
        http(f"TRUNCATE TABLE {t}")
    nodes = [demo(f"{i}.ige", "clean", "--duration", "50ms", "--seed", str(i), "-n", f"node-{i:03}") for i in range(97)]
    nodes += [demo("s.ige", "straggler", "--duration", "2s", "-n", "node-097"), demo("n.ige", "incident", "--duration", "2s", "-n", "node-098"),
              demo("e.ige", "disk", "--duration", "2s", "-n", EVIL)]
    merged = output(MERGE, "-q", *nodes)
    load(output(EXPORT, "-f", "clickhouse", data=output(CORRELATE, "-q", data=merged)))
    tap.same(one("SELECT count() FROM events"), json.loads(output(STAT, "--json", data=merged))["coverage"]["events"], "100 machines: every event")
    tap.same({r["node"] for r in ask("SELECT DISTINCT node FROM events")}, {f"node-{i:03}" for i in range(99)} | {EVIL}, "100 machines, each by its name")
    answers = {}
    named = re.split(r"^-- ([a-z ]+): ", open("formats/clickhouse/queries.sql").read(), flags=re.M)[1:]
    for name, text in zip(named[::2], named[1::2]):
        answers[name] = ask(text[text.index("\n"):])
    tap.same(set(answers), {"straggler", "slow steps", "culprit hosts", "noisy neighbours", "lost per job", "causes", "slow operations", "coverage"}, "queries")
    late = answers["straggler"][0]
    tap.same([late["rank"], late["node"], late["process"]], [2, "node-097", "train-2"], "straggler: the rank that is late")
    tap.ok(answers["noisy neighbours"][0]["command"] == "log-compactor", "noisy neighbours: who took the CPU", answers["noisy neighbours"][:3])
    tap.ok({"node-098", EVIL} >= {r["node"] for r in answers["culprit hosts"][:2]}, "culprit hosts: those that lost most", answers["culprit hosts"][:4])
    tap.ok(any(r["node"] in ("node-098", EVIL) for r in answers["slow steps"][:5]), "slow steps: where they are slow", answers["slow steps"][:3])
    tap.ok(answers["lost per job"] and answers["lost per job"][0]["lost_ms"] > 100 and answers["lost per job"][0]["command"], "lost per job: with the fix")
    tap.ok({"cpu-preempted", "collective-straggler"} <= {r["kind"] for r in answers["causes"]}, "causes: all that were planted", answers["causes"])
    tap.ok(answers["slow operations"], "slow operations: over all machines")
    tap.same(answers["coverage"], [], "coverage: nothing was lost")


def tried(name, argv):
    """All checks on the ClickHouse that argv starts."""
    os.mkdir(path(name))  # each looks for a configuration where it is started
    with open(path("out"), "w") as out:
        server = subprocess.Popen(argv, cwd=path(name), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        version = None
        for _ in range(600):
            try:
                version = http("SELECT version()", database="default").strip()
                break
            except (OSError, RuntimeError):
                if server.poll() is not None:
                    break
                time.sleep(0.1)
        if version:
            checks(version)
        else:
            tap.skip(name, f"optional: does not start here: {open(path('out')).read()[-200:]!r}")
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()


found = [(SERVER[0], installed)] if shutil.which(SERVER[0]) else []
if os.path.isdir(os.path.join(CHDB, "node_modules", "chdb")) and shutil.which("node"):
    found.append(("chdb", library))
if not found:
    tap.skip_all("optional: no clickhouse-server here, and no chdb")
for name, how in found:
    PORT = free_port()
    tried(name, how())
tap.done_testing()
