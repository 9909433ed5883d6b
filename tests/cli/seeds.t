#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Lines of the older agent's documents (seeds.txt) that need no rights run through `ingero` as they stand. Those whose program
# is not there yet say so and name what to use instead; they are marked TODO until they run.

import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import seeds  # noqa: E402
import tap  # noqa: E402

tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
here = tmp.name
db = os.path.join(here, "runs")
os.makedirs(db)
run = os.path.join(db, "run-20260101-000000-7.ige")
subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "incident", "--duration", "5s", "-o", run], check=True)
subprocess.run([os.path.join(tap.BIN, "ingero-export"), "-q", "-o", os.path.join(here, "old.db"), run], check=True)
for name in ("node-a.db", "node-b.db", "node-c.db"):
    shutil.copy(os.path.join(here, "old.db"), os.path.join(here, name))
copies = os.path.join(here, "copies")
os.makedirs(copies)
subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "memcpy-bottleneck", "--duration", "1s", "-o", os.path.join(copies, "run-20260101-000000-8.ige")], check=True)
victim = subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "incident", "--truth", "--json"], check=True, capture_output=True, text=True)
victim = json.loads(victim.stdout)["truths"][0]["victim_pid"]
# The recording begins at midnight UTC: 15:40 where clocks are so far ahead.
env = {**os.environ, "INGERO_DB": db, "INGERO_CONFIG": "", "TZ": "AHEAD-15:40"}
# What answers on other machines stands here.
nodes = [subprocess.Popen([os.path.join(tap.BUILD, "tests", "serve", "node"), str(i), "0", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
         for i in (1, 2)] if os.path.exists(os.path.join(tap.BUILD, "tests", "serve", "node")) else []
hosts = ",".join(n.stdout.readline().strip() for n in nodes)
other = os.path.join(here, "other.ige")
subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "incident", "--duration", "4s", "--node", "gpu-2", "-o", other], check=True)
boards = [dashboard.Dashboard(path) for path in (run, other)] if nodes else []
stand_for = {":8080": ":0", ":9090": ":0", "{DB}": run, "{CERT}": "cert.pem", "{KEY}": "key.pem", "{HOSTS}": hosts or "127.0.0.1:1", "4821": victim, "5032": 1}


def counted(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as archive:
        return archive.execute("select count(*) from events").fetchone()[0]


def answers(command, p):
    """What a person expects of the answer; None: it is there."""
    what = command.split()[1]
    if "--nodes" in command and what != "export":
        wanted = "node 2 stood still" if what == "explain" else "gpu-2"
        return None if wanted in p.stdout else "not in it: " + wanted
    if "--last 100" in command:
        counted_all = seeds.run(command + " --json", stand_for, cwd=here, env=env)
        got = json.loads(counted_all.stdout)["coverage"]["events"]
        return None if got == 100 else f"{got} events explained"
    if what == "explain" and "--json" in command:
        return None if json.loads(p.stdout)["chains"][0]["culprit"]["comm"] == "log-compactor" else "another culprit"
    if what == "export":
        with open(os.path.join(here, "trace.json"), encoding="utf-8") as f:
            text = f.read()
        if "--nodes" in command and "gpu-2" not in text:
            return "not in it: gpu-2"
        return None if json.loads(text)["traceEvents"] else "an empty trace"
    if what == "merge":
        rows = [counted(os.path.join(here, name)) for name in ("old.db", command.split()[-1])]
        return None if rows[0] and rows[0] == rows[1] else f"{rows[1]} events of {rows[0]}"  # copies count once
    if "--per-process" in command:
        return None if re.search(r"^== train .*?^ +Culprit +log-compactor \(pid \d+\)", p.stdout, re.M | re.S) else "not in it: train and its culprit"
    if what == "query" and "--json" in command:
        found = {e["op"] for e in json.loads(p.stdout)}
        return None if found == {"cudaMemcpy"} else f"not only events of that operation: {found}"
    if what == "query" and "--pid" in command:
        rows = json.loads(seeds.run(command + " --json", stand_for, cwd=here, env=env).stdout)
        pids = {e["pid"] for e in rows}
        return None if pids == {victim} else f"not only events of those processes: {pids}"
    wanted = {"query": r"cudaLaunchKernel", "explain": r"log-compactor \(pid \d+\) took the CPU", "demo": r"log-compactor|embed-server", "check": r"btf", "version": r"^ingero \d"}[what]
    return None if re.search(wanted, p.stdout) else "not in it: " + wanted


def certificate():
    if not shutil.which("openssl"):
        return False
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost", "-days", "1",
                    "-keyout", os.path.join(here, "key.pem"), "-out", os.path.join(here, "cert.pem")], check=True, capture_output=True)
    return True


HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "seeds", "version": "1"}}}


def served(command, address, lines):
    """What the address that a server printed gives whom it gave its token."""
    where, _, token = address.partition("#token=")
    asked = urllib.request.Request(where + "api/v1/overview")
    if "mcp" in command.split():
        token = lines.readline().split()[-1]
        asked = urllib.request.Request(where, json.dumps(HELLO).encode(), {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
    asked.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(asked, context=dashboard.ANY if where.startswith("https") else None, timeout=120) as answer:
        return answer.read().decode()


def serve(command):
    """A server says where it answers, does so, and ends cleanly when it is interrupted."""
    if "{CERT}" in command and not certificate():
        tap.skip(command, "optional: no openssl here")
        return
    with subprocess.Popen(seeds.words(command, stand_for), cwd=here, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        said, got = p.stdout.readline(), ""
        if said:
            got = served(command, said.strip(), p.stdout)
            p.send_signal(signal.SIGINT)
        rest = p.communicate(timeout=120)[1]
    if p.returncode == 3 and re.search("in use|taken", rest):
        tap.skip(command, "optional: that port is taken here")
    elif p.returncode == 3 and "built without" in rest:
        tap.skip(command, "optional: " + rest.strip().split("\n")[-1][:100])
    else:
        scheme = "http" if "--no-tls" in command else "https"
        tap.ok(p.returncode == 0 and said.startswith(f"{scheme}://"), command, f"status {p.returncode}\n{said}\n{rest}")
        if "mcp" in command.split():
            tap.ok('"serverInfo":{"name":"ingero"' in got, f"{command}: a client is answered there", got[:300])
        else:
            tap.ok(json.loads(got)["event_count"] > 1000, f"{command}: the recording's events are counted there", got[:300])


def ask(command):
    """A server on standard input and output answers whom it gets to know."""
    p = subprocess.run(seeds.words(command, stand_for), cwd=here, env=env, input=json.dumps(HELLO) + "\n", capture_output=True, text=True, timeout=120)
    tap.ok(p.returncode == 0 and '"serverInfo":{"name":"ingero"' in p.stdout, command, f"status {p.returncode}\n{p.stdout[:600]}\n{p.stderr}")


count = 0
for kind, reason, command in seeds.lines():
    count += 1
    if kind == "live":
        continue
    if kind in ("serve", "ask"):
        serve(command) if kind == "serve" else ask(command)
        continue
    if kind == "run" and "{HOSTS}" in command and not nodes:
        tap.skip(command, "optional: built without libmicrohttpd")
        continue
    # What is asked for recordings are those who have some.
    hosts_of = {"{HOSTS}": ",".join(b.url.split("/")[2] for b in boards)} if boards and "export" in command else {}
    p = seeds.run(command, {**stand_for, **hosts_of}, cwd=here, env={**env, "INGERO_DB": copies} if "cudaMemcpy" in command else env)
    said = f"status {p.returncode}\n{p.stdout[:600]}\n{p.stderr}"
    if kind == "todo":
        if p.returncode == 3:
            tap.ok(re.search(r"not part of this build yet: |cannot be asked by this build: |not there yet", p.stderr),
                   f"{command}: says that it is not there yet", said)
        tap.todo(p.returncode == 0, command, reason)
        continue
    why = f"status {p.returncode}" if p.returncode > (command == "ingero check") else answers(command, p)
    tap.ok(why is None and not seeds.unknown(p.stderr), command, f"{why}\n{said}")
for b in boards:
    b.end()
for n in nodes:
    n.stdin.close()
    n.wait(60)
tap.same(count, 74, "all lines of the documents")
tap.done_testing()
