# SPDX-License-Identifier: Apache-2.0
#
# ingero-dashboard and ingero-mcp on loopback, over TLS with a token, asked by several at once for as long as it is told: every endpoint,
# tool and resource, answers in pieces, peers that leave in the middle, while the recording is replaced now and then, and beside clients
# that mean no good (neighbours.py). No request may fail but for moments in which no recording lies there, and memory, threads and
# descriptors have to be at the end what they were after a while.

import http.client
import json
import os
import random
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import neighbours

SECONDS = float(sys.argv[1])
BIN = os.path.join(os.environ.get("BUILD", "build"), "bin")
TOKEN = "soak-1234"
PATIENCE = 120
LATER = "asked to come again"
SETTLED = 10  # s after which whatever was asked before a recording lay there again has its answer
MORE_KIB = 16384  # of what a server may hold at the end beyond what it held after the first third
DASHBOARD = ["/", "/metrics", *(f"/api/v1/{n}" for n in ("about", "overview", "ops", "chains", "snapshots", "capabilities", "graph-metrics", "graph-events",
             "time", "stat", "report", "recording", "chains?since=1s", "ops?last=2s", "stat?by=pid"))]
SQL = "SELECT op_name, count(*) AS n, max(duration) AS longest FROM named_events GROUP BY 1"
TOOLS = [("get_causal_chains", {}), ("get_trace_stats", {}), ("get_trace_stats", {"by": "line"}), ("get_stacks", {}), ("get_timeline", {}), ("graph_lifecycle", {}),
         ("graph_frequency", {}), ("explain_call", {"call": "cudaStreamSynchronize"}), ("run_sql", {"query": SQL}), ("query_fleet", {"action": "chains"}),
         ("get_check", {}), ("get_causal_chains", {"jq": ".chains[0].id"})]
URIS = ["ingero://summary", "ingero://chains", "ingero://schema"]


class Server:
    def __init__(self, name, *args, **env):
        self.name, self.rss = name, []
        self.p = subprocess.Popen([os.path.join(BIN, f"ingero-{name}"), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "INGERO_TOKEN": TOKEN, **env})
        self.port = int(self.p.stdout.readline().split("//")[1].split("/")[0].rsplit(":", 1)[1])

    def status(self, key):
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))

    def look(self):
        self.rss.append((self.status("VmRSS"), self.status("Threads"), len(os.listdir(f"/proc/{self.p.pid}/fd"))))

    def connect(self):
        return http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=neighbours.ANY)


class Load:
    """Threads that ask until it is over; what went wrong is told."""

    def __init__(self):
        self.until = time.monotonic() + SECONDS
        self.lock, self.asked, self.left, self.wrong, self.threads = threading.Lock(), {}, 0, [], []
        self.odd = False  # something that is no recording lies in its place, or did so a moment ago

    def over(self):
        return time.monotonic() >= self.until or len(self.wrong) > 20

    def begin(self, many, what, *args):
        for i in range(many):
            self.threads.append(threading.Thread(target=self.run, args=(what, random.Random(i), *args)))
            self.threads[-1].start()

    def run(self, what, chance, *args):
        while not self.over():
            try:
                what(self, chance, *args)
            except Exception as e:  # whatever it is, it is told
                self.note(f"{what.__name__}: {e!r}")

    def note(self, text):
        with self.lock:
            self.wrong.append(text)

    def count(self, name, good, why=""):
        with self.lock:
            self.asked[name] = self.asked.get(name, 0) + 1
            if not good and "ask again in a while" in why:  # one question at a time is answered by SQL, and somebody asks greedy ones
                self.asked[LATER] = self.asked.get(LATER, 0) + 1
                return
            if not good and self.odd:
                self.asked["refused for want of a recording"] = self.asked.get("refused for want of a recording", 0) + 1
        if not good and not self.odd:
            self.note(f"{name}: {why}")


def ask(c, method, path, body=None, **headers):
    c.request(method, path, body, {"Authorization": f"Bearer {TOKEN}", **headers})
    r = c.getresponse()
    return r, r.read()


def browse(load, chance, server):
    c = server.connect()
    for _ in range(chance.randint(1, 20)):
        if load.over():
            break
        if chance.random() < 0.1:
            path, (r, body) = "/api/v1/query", ask(c, "POST", "/api/v1/query", json.dumps({"sql": SQL}), **{"Content-Type": "application/json"})
        else:
            path = chance.choice(DASHBOARD)
            r, body = ask(c, "GET", path)
        load.count(path, r.status == 200 and body, f"{r.status} {body[:200]}")
    c.close()


def watch(load, chance, server):
    """News as they come, for a second or three; then it leaves."""
    c = server.connect()
    c.request("GET", "/api/v1/live", headers={"Authorization": f"Bearer {TOKEN}"})
    r = c.getresponse()
    first = r.readline()
    load.count("/api/v1/live", r.status == 200 and first, f"{r.status} {first}")
    until = time.monotonic() + chance.uniform(0.1, 3)
    while time.monotonic() < until and not load.over():
        r.readline()
    c.close()


def leave(load, chance, server, path):
    c = server.connect()
    c.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
    time.sleep(chance.uniform(0, 0.2))
    c.close()
    load.left += 1
    time.sleep(0.3)


def assist(load, chance, server):
    c = server.connect()
    kind = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def rpc(method, number=1, **params):
        r, body = ask(c, "POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}), **kind)
        if "event-stream" in r.getheader("Content-Type", ""):
            body = body.split(b"data: ")[-1]
        m = json.loads(body) if r.status == 200 else {}
        good = r.status == 200 and "result" in m and not m["result"].get("isError")
        load.count(params.get("name") or params.get("uri") or method, good, f"{r.status} {body[:300]}")
        return r, m.get("result", {})

    r, _ = rpc("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "soak", "version": "1"})
    if r.getheader("Mcp-Session-Id"):
        kind["Mcp-Session-Id"] = r.getheader("Mcp-Session-Id")
    rpc("tools/list")
    rpc("prompts/list")
    for i in range(chance.randint(1, 10)):
        if load.over():
            break
        if chance.random() < 0.2:
            rpc("resources/read", i, uri=chance.choice(URIS))
        else:
            name, args = chance.choice(TOOLS)
            rpc("tools/call", i, name=name, arguments=args, **({"_meta": {"progressToken": i}} if chance.random() < 0.5 else {}))
    if "Mcp-Session-Id" in kind:
        r, body = ask(c, "DELETE", "/mcp", **kind)
        load.count("DELETE", r.status == 204, f"{r.status} {body}")
    c.close()


def replace(load, run, others):
    """Another recording in its place, as who writes aside and renames does it."""
    n = 0
    while not load.over():
        for _ in range(100):
            if load.over():
                return
            time.sleep(0.2)
        n += 1
        with open(others[n % len(others)], "rb") as f, open(run + ".new", "wb") as to:
            to.write(f.read())
        if n % 3 == 0:
            load.odd = True
            neighbours.misplace(run, n // 3)
            time.sleep(2)
        os.rename(run + ".new", run)
        if load.odd:
            time.sleep(SETTLED)
            load.odd = False


def flat(server):
    """How much is there after the first third, and at the end; whether that is the same."""
    third = len(server.rss) // 3
    early, late = server.rss[third: third + max(third // 2, 1)], server.rss[-max(third // 2, 1):]
    same = True
    for i, (what, more) in enumerate((("KiB of memory", MORE_KIB), ("threads", 4), ("descriptors", 16))):
        before, after = (max if i == 0 else statistics.median)(x[i] for x in early), statistics.median(x[i] for x in late)
        print(f"soak: {server.name}: {what}: {before:g} after a third, {after:g} at the end, {max(x[i] for x in server.rss)} at most")
        same = same and after <= before + more
    return same


with tempfile.TemporaryDirectory(prefix="ingero-soak.") as folder:
    run = os.path.join(folder, "run.ige")
    others = [run + ".1", run + ".2"]
    for path, scenario in zip((*others, run), ("incident", "throttled", "incident")):
        subprocess.run([os.path.join(BIN, "ingero-demo"), "-q", scenario, "--duration", "10s", "-o", path], check=True)
    dashboard = Server("dashboard", "--addr", ":0", run, XDG_CACHE_HOME=folder)
    certificate = os.path.join(folder, "own.pem")
    with open(certificate, "w", encoding="ascii") as f:
        f.write(ssl.get_server_certificate(("localhost", dashboard.port)))
    token = os.path.join(folder, "token")
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write(TOKEN)
    mcp = Server("mcp", "--http", ":0", "--nodes", f"localhost:{dashboard.port}", "--nodes-token-file", token, "--ca-cert", certificate, run, XDG_CACHE_HOME=folder)
    servers, load = [dashboard, mcp], Load()
    load.begin(3, browse, dashboard)
    load.begin(2, watch, dashboard)
    load.begin(1, leave, dashboard, "/api/v1/recording")
    load.begin(3, assist, mcp)
    for s in servers:
        load.begin(2, neighbours.drips, s)
        load.begin(1, neighbours.babbles, s)
        load.begin(1, neighbours.guesses, s)
    load.begin(1, neighbours.grabs, mcp, TOKEN)
    swap = threading.Thread(target=replace, args=(load, run, others))
    swap.start()
    while not load.over():
        for s in servers:
            s.look()
        time.sleep(0.5)
    for t in (*load.threads, swap):
        t.join(PATIENCE)
    for name in sorted(load.asked):
        print(f"soak: {name}: {load.asked[name]}")
    good = [flat(s) for s in servers]
    for s in servers:
        s.p.send_signal(signal.SIGTERM)
        good.append(s.p.wait(PATIENCE) == 0)
        said = [line for line in s.p.stderr.read().splitlines() if "certificate" not in line]
        if said:
            print(f"soak: {s.name} said: {said[:5]}")
    print(f"soak: {sum(load.asked.values())} requests in {SECONDS:g} s, {load.left} more were left in the middle, {len(load.wrong)} failed")
    for text in load.wrong[:20]:
        print(f"soak: {text}")
    sys.exit(0 if all(good) and not load.wrong and all(load.asked.get(p) for p in DASHBOARD) else 1)
