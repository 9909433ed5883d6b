#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The Model Context Protocol as those judge it who define it: the official SDKs over both transports, their inspector, and the
# conformance suites, against the server of fixtures (tests/consumers/mcp_server.c) and against ingero-mcp.
# make check-consumers runs this where the tools are (CHECKERS).

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

CHECKERS = os.environ.get("CHECKERS", "../shared/checkers")
CLIENT, SUITE, INSPECT = (os.path.join(CHECKERS, n) for n in ("mcp-client", "mcp-conformance", "mcp-inspect"))
SERVER, MCP = os.path.join(tap.BUILD, "tests", "consumers", "mcp_server"), os.path.join(tap.BIN, "ingero-mcp")
TMP = tempfile.TemporaryDirectory()
RUN = os.path.join(TMP.name, "run.ige")

if not os.path.exists(CLIENT):
    tap.skip_all(f"optional: no {CLIENT} here (CHECKERS says where)")


def check(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


works = check(CLIENT, "--cmd", f"{SERVER} --plain 1", "info")
if works.returncode == 2:
    tap.skip_all(f"optional: {CLIENT}: {works.stderr.strip()[:100]}")
subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "incident", "--duration", "10s", "-o", RUN], check=True)


@contextlib.contextmanager
def served(*command):
    """The address of a server over HTTP."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
        yield p.stdout.readline().strip()
        p.send_signal(signal.SIGTERM)
        tap.same(p.wait(60), 0, f"{os.path.basename(command[0])} ends")


def client(name, *args, status=0):
    """What the SDK's client made of it; a list of its operations."""
    p = check(CLIENT, *args)
    try:
        ops = json.loads(p.stdout)
    except ValueError:
        ops = {}
    said = "\n".join(f"{o['op']}: {o.get('error')}" for o in ops.get("ops", []) if not o.get("ok"))
    tap.ok(p.returncode == status, name, f"status {p.returncode}\n{said}\n{p.stdout[-600:]}{p.stderr[-600:]}")
    return ops.get("ops", [])


ERAS = (["--era", "2026-07-28"], ["--era", "legacy"], ["--sdk", "1"])
USES = ["call", "test_tool_with_progress", "{}", "+", "call", "test_tool_with_logging", "{}", "+", "call", "echo", '{"op":"x","top":3}', "+", "prompt", "test_prompt_with_arguments", '{"arg1":"a","arg2":"b"}',
        "+", "read", "test://template/7/data", "+", "complete", "test_prompt_with_arguments", "arg1", "te"]  # fmt: skip
for era in ERAS:
    client(f"SDK {' '.join(era)}: everything there is", *era, "--cmd", f"{SERVER} --plain 1", "all")
    ops = client(f"SDK {' '.join(era)}: calls with structured content, prompts, resources, completions", *era, "--cmd", f"{SERVER} --plain 1", *USES)
    tap.same([o["ok"] for o in ops], [True] * 6, f"SDK {' '.join(era)}: each of them")
    client(f"SDK {' '.join(era)}: ingero-mcp", *era, "--cmd", f"{MCP} {RUN}", "all")
    ops = client(f"SDK {' '.join(era)}: what caused the stall", *era, "--cmd", f"{MCP} {RUN}", "call", "get_causal_chains", "{}")
    tap.ok("log-compactor" in json.dumps(ops), f"SDK {' '.join(era)}: one call names the culprit", json.dumps(ops)[:600])

with served(SERVER, "--http", "0", "--plain", "1") as url:
    for era in ERAS:
        client(f"SDK {' '.join(era)} over HTTP: everything there is", *era, "--url", url, "all")
        client(f"SDK {' '.join(era)} over HTTP: calls", *era, "--url", url, *USES)
    if os.path.exists(INSPECT):
        p = check(INSPECT, "--server-url", url, "--transport", "http", "--method", "tools/list", "--strict")
        tap.ok(p.returncode == 0 and "test_simple_text" in p.stdout, "the inspector", p.stdout[-600:] + p.stderr[-600:])

# Scenarios that want a server to ask its client, or to keep tasks, are none of ours: they are the suites' own fixtures and n/a.
LEAST = {"2025-11-25": (24, 26), "2026-07-28": (27,)}
for command, least in (([SERVER, "--http", "0"], LEAST), ([MCP, "--http", ":0", "--no-tls", "--no-token", RUN], {"2025-11-25": (8, 9), "2026-07-28": (11,)})):
    name = os.path.basename(command[0])
    with served(*command) as url:
        for revision, passes in least.items():
            p = check(SUITE, "--rev", revision, "-o", os.path.join(TMP.name, "out"), url)
            failed = "\n".join(re.findall(r"^FAIL .*(?:\n +.*)*", p.stdout, re.M))
            tap.ok(p.returncode == 0 and "no scenario fails" in p.stdout, f"{name}, suites of {revision}: no scenario fails", failed or p.stdout[-600:] + p.stderr[-600:])
            counted = [int(n) for n in re.findall(r"^(\d+) PASS", p.stdout, re.M)]
            tap.ok(len(counted) == len(passes) and all(n >= m for n, m in zip(counted, passes)), f"{name}, suites of {revision}: {passes} scenarios pass at least", f"{counted}\n{p.stdout[-4000:]}")
tap.done_testing()
