# SPDX-License-Identifier: Apache-2.0
#
# Tokens of the tools' text beside those of the same answer as JSON, counted with the vocabulary of a model where one is installed
# (tiktoken), else by words of six letters, three digits and other characters; and the time to the first answers of a server that has
# just been started, on recordings with an index, and of the next one.

import fnmatch
import json
import os
import re
import subprocess
import tempfile
import time

BUILD = os.environ.get("BUILD", "build")
NAMES = os.environ.get("NAMES", "").split()
SERVER = os.path.join(BUILD, "bin", "ingero-mcp")
SECONDS = 180  # of generated time: ten million events
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|  +| (?![A-Za-z])|[^A-Za-z0-9 ]")

try:
    import tiktoken

    vocabulary = tiktoken.get_encoding("cl100k_base")
except Exception:
    vocabulary = None


def tokens(text):
    if vocabulary:
        return len(vocabulary.encode(text))
    return sum(-(-len(p) // 6) if p.isalpha() and p.isascii() else -(-len(p) // 3) if p.isdigit() else 1 for p in PART.findall(text))


def wanted(name):
    return not NAMES or any(fnmatch.fnmatch(name, n) for n in NAMES)


def figure(name, value, unit):
    if wanted(name):
        print(f"bench: {name} {value:.4g} {unit}")


ENVIRONMENT = dict(os.environ)


class Server:
    def __init__(self, *files):
        self.p = subprocess.Popen([SERVER, *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        self.id = 0
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "bench", "version": "1"})

    def request(self, method, **params):
        self.id += 1
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode() + b"\n")
        self.p.stdin.flush()
        for line in self.p.stdout:
            if json.loads(line).get("id") == self.id:
                return json.loads(line)["result"]

    def call(self, tool, args):
        began = time.monotonic()
        r = self.request("tools/call", name=tool, arguments=args)
        return r["content"][0]["text"], r.get("structuredContent"), time.monotonic() - began

    def waited(self):
        """For how long each thread could have run and did not, in ms, as others had the processors."""
        found = {}
        for thread in os.listdir(f"/proc/{self.p.pid}/task"):
            try:
                with open(f"/proc/{self.p.pid}/task/{thread}/schedstat", encoding="ascii") as f:
                    found[thread] = int(f.read().split()[1]) / 1e6
            except OSError:  # it has ended
                pass
        return found

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def measure_tokens(file):
    s = Server(file)
    all_text = all_json = 0
    for name, args in [
        ("get_causal_chains", {}),
        ("get_trace_stats", {}),
        ("get_stacks", {}),
        ("get_timeline", {}),
        ("explain_call", {"call": "cudaStreamSynchronize"}),
        ("run_sql", {"query": "SELECT op_name, count(*) AS n, avg(duration) AS avg_ns, max(duration) AS max_ns FROM named_events GROUP BY 1"}),
        ("run_sql.events", {"query": "SELECT * FROM named_events LIMIT 20"}),
    ]:
        tool = name.split(".")[0]
        text, structured, _ = s.call(tool, args)
        text, plain = tokens(text), tokens(json.dumps(structured))
        all_text, all_json = all_text + text, all_json + plain
        figure(f"mcp.tokens.{name}", text, f"tokens, {100 * (1 - text / plain):.0f} % fewer than the {plain} of JSON")
        if tool == "run_sql":  # whose rows are lists: their keys are named once there, too
            rows = tokens(json.dumps([dict(zip(structured["columns"], r)) for r in structured["rows"]]))
            figure(f"mcp.tokens.{name}.objects", text, f"tokens, {100 * (1 - text / rows):.0f} % fewer than the {rows} of JSON with its rows as objects")
    figure("mcp.tokens.all", all_text, f"tokens, {100 * (1 - all_text / all_json):.0f} % fewer than the {all_json} of JSON")
    s.end()


def measure_call(s, name, tool):
    """Of a busy machine, also how much of the time was others': a call has a thread of its own."""
    before = s.waited()
    ms = s.call(tool, {})[2] * 1000
    others = max((w for thread, w in s.waited().items() if thread not in before), default=0)
    figure(f"mcp.{name}.{tool}", ms, f"ms, {others:.3g} of them while others had the processors")


def measure_time(file, name):
    """first: right after the first start on this file; second: after another start, which finds what the first one kept."""
    for start in ("first", "second"):
        for tool in ("get_trace_stats", "get_causal_chains"):
            s = Server(file)
            measure_call(s, f"{start}.{name}", tool)
            if start == "first":
                measure_call(s, f"again.{name}", tool)
            s.end()


if not os.path.exists(SERVER):
    print("bench: mcp.* SKIP this build has no ingero-mcp")
elif any(map(wanted, ["mcp.tokens.all", "mcp.first.recorded.get_trace_stats", "mcp.first.analyzed.get_causal_chains"])):
    with tempfile.TemporaryDirectory() as folder:
        ENVIRONMENT["XDG_CACHE_HOME"] = folder
        short, long, analyzed = (os.path.join(folder, n) for n in ("short.ige", "long.ige", "analyzed.ige"))
        program = lambda n: os.path.join(BUILD, "bin", n)  # noqa: E731
        subprocess.run([program("ingero-demo"), "incident", "-o", short], check=True)
        subprocess.run([program("ingero-demo"), "incident", "--duration", f"{SECONDS}s", "-o", long], check=True)
        with open(analyzed, "wb") as out:
            subprocess.run([program("ingero-correlate"), long], stdout=out, check=True)
        print(f"bench: tokens by {'cl100k_base' if vocabulary else 'an estimate, for want of tiktoken'}")
        measure_tokens(short)
        measure_time(long, "recorded")
        measure_time(analyzed, "analyzed")
