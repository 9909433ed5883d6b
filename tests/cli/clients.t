#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What README.md and ingero-mcp(1) give to copy into a client's configuration, or into a shell, is started as the client would, and asked
# what caused the stall: one call answers with culprit, line, milliseconds and fix.

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

PATIENCE = 120
ANSWER = ("log-compactor", "read_loss (train.cpp:80)", "ms", "taskset")
TOKEN = "TOKEN"
ENV = dict(os.environ)
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
ASKED = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_causal_chains", "arguments": {}}}


def text_of(message):
    return message["result"]["content"][0]["text"]


def tells(what, text):
    tap.same([word for word in ANSWER if word not in text], [], f"{what}: culprit, line, time and fix")


with tempfile.TemporaryDirectory(prefix="ingero-test.") as tmp:
    run, bin_ = os.path.join(tmp, "run.ige"), os.path.join(tmp, "bin")
    env = {**ENV, "PATH": f"{bin_}:{tap.BIN}:{ENV['PATH']}", "XDG_CACHE_HOME": os.path.join(tmp, "cache")}
    # As ssh does: the rest is a command for the other side's shell.
    os.mkdir(bin_)
    with open(os.path.join(bin_, "ssh"), "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    os.chmod(f.name, 0o755)
    subprocess.run(["ingero-demo", "incident", "-q", "--duration", "3s", "-o", run], check=True, env=env)
    with open(os.path.join(tmp, "token"), "w", encoding="utf-8") as f:
        f.write(TOKEN)
    os.chmod(f.name, 0o600)

    texts = {}
    for page in ("README.md", "man/ingero-mcp.1"):
        with open(page, encoding="utf-8") as f:
            texts[page] = f.read()
    blocks = [(page, json.dumps(json.JSONDecoder().raw_decode(text, at.start())[0])) for page, text in texts.items() for at in re.finditer(r'\{"mcpServers"', text)]
    tap.ok({page for page, _ in blocks} == set(texts) and len(blocks) >= 5, f"{len(blocks)} configurations in both", str(blocks))
    for page, block in blocks:
        (server,) = json.loads(block)["mcpServers"].values()
        what = f"{page}: {block[:90]}"
        if "command" in server:
            said = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}, {"jsonrpc": "2.0", "method": "notifications/initialized"}, ASKED]
            args = [a.replace("/path/to/run.ige", run) for a in server["args"]]
            p = subprocess.run([server["command"], *args], cwd="/", env=env, input="".join(json.dumps(m) + "\n" for m in said), capture_output=True, text=True, timeout=PATIENCE)
            answers = {m.get("id"): m for m in map(json.loads, p.stdout.splitlines())}
            tells(what, text_of(answers[2]) if 2 in answers else p.stderr)
            continue
        headers = server.get("headers", {})
        web = subprocess.Popen(["ingero-mcp", "--http", "127.0.0.1:0", "--no-tls", *(["--token-file", os.path.join(tmp, "token")] if headers else []), run], env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port, path = re.search(r":(\d+)(/\S*)", web.stdout.readline()).groups()
        tap.same(re.sub(r"^http://127\.0\.0\.1:\d+", "", server["url"]), path, f"{what}: the address is that of the server")
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)) as c:
            c.request("POST", path, json.dumps(ASKED), {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers})
            body = c.getresponse().read().decode()
        tells(what, text_of(json.loads([line[6:] for line in body.splitlines() if line.startswith("data: ")][-1] if body.startswith(("event:", "id:", "data:")) else body)))
        web.send_signal(signal.SIGINT)
        web.wait(PATIENCE)
        web.stdout.close()

    if not shutil.which("curl"):
        tap.skip("curl as the README has it", "optional: no curl here")
    else:
        web = subprocess.Popen(["ingero-mcp", "--http", "127.0.0.1:0", "--no-tls", "--token-file", os.path.join(tmp, "token"), run], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = re.search(r":(\d+)/", web.stdout.readline())[1]
        for page, text in texts.items():
            line = re.search(r"^\s*(?:\$ )?(curl .*?\}')$", text, re.M | re.S)[1].replace("\\e\n", "\\\n").replace(":8080/", f":{port}/")
            p = subprocess.run(["sh", "-c", line], cwd=tmp, env=env, capture_output=True, text=True, timeout=PATIENCE)
            tells(f"{page}: curl", text_of(json.loads(p.stdout)) if p.stdout.startswith("{") else p.stdout + p.stderr)
        web.send_signal(signal.SIGINT)
        web.wait(PATIENCE)
        web.stdout.close()
tap.done_testing()
