#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Metrics as those read them for whom they are written: promtool and the parsers of Prometheus accept the text, a real
# Prometheus scrapes --listen and answers with the numbers of -f json, and OTLP is what OpenTelemetry's own definitions say
# it is, also to a real Collector that is pushed to.

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

CHECKERS = os.environ.get("CHECKERS", "../shared/checkers")
EXPORT, DEMO, CORRELATE = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "correlate"))
PROM, OTLP, COLLECTOR = (os.path.join(CHECKERS, n) for n in ("promcheck", "otlp-check", "otlp-collector"))
TMP = tempfile.TemporaryDirectory()

if not os.path.exists(PROM):
    tap.skip_all(f"optional: no {PROM} here (CHECKERS says where)")
probe = subprocess.run([PROM, "/dev/null"], capture_output=True, text=True)
if probe.returncode == 2:
    tap.skip_all(f"optional: {PROM}: {probe.stderr.strip()[:100]}")


def path(name):
    return os.path.join(TMP.name, name)


def output(*argv, **how):
    return subprocess.run(argv, capture_output=True, timeout=600, check=True, **(how or {"stdin": subprocess.DEVNULL})).stdout


def judged(what, *argv):
    p = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    said = p.stdout + p.stderr
    tap.ok(p.returncode == 0 and not re.search("REJECTED|LINT|objection", said), what, said[-3000:])
    return said


recordings = {}
for play in ("incident", "straggler", "gpu-oom"):
    recordings[play] = path(play + ".ige")
    with open(recordings[play], "wb") as f:
        f.write(output(CORRELATE, input=output(DEMO, play, "--duration", "3s")))

for play, ige in recordings.items():
    text, otlp = path("m.txt"), path("o.json")
    with open(text, "wb") as f:
        f.write(output(EXPORT, "-f", "prometheus", ige))
    said = judged(f"{play}: Prometheus' parsers accept it", PROM, text)
    tap.same(said.count("accepted"), 3, f"{play}: three of them")
    with open(otlp, "wb") as f:
        f.write(output(EXPORT, "-f", "otlp", ige))
    judged(f"{play}: OTLP is what its definitions say", OTLP, "metrics", otlp)

# A real Prometheus scrapes what --listen serves, and knows as many calls of each function as there are.
ige = recordings["incident"]
calls = {}
for line in output(EXPORT, ige).splitlines():
    e = json.loads(line)
    if e.get("source") in ("cuda", "driver"):
        calls[e["op"]] = calls.get(e["op"], 0) + 1
server = subprocess.Popen([EXPORT, "--listen", "127.0.0.1:0", ige], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
url = next((m[0] for m in (re.search(r"https?://[^\s]+/metrics", line) for line in server.stderr) if m), None)
asked = ["sum(up)"] + [f'sum(gpu_cuda_operations_total{{operation="{op}"}})' for op in calls]
said = judged("a Prometheus that scrapes --listen", PROM, "--scrape", url, *asked).split("query: ")[1:]
answers = {q.splitlines()[0]: re.search(r", '([^']*)'", q) for q in said}
tap.same({q: float(m[1]) if m else None for q, m in answers.items()}, dict(zip(asked, [1.0, *map(float, calls.values())])),
         "what it answers is what was recorded")
server.send_signal(signal.SIGTERM)
tap.same(server.wait(60), 0, "--listen ends when it is told")
server.stderr.close()

# A real Collector, pushed to.
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
collector = subprocess.Popen([COLLECTOR, str(port), "300"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
log = []
for line in collector.stdout:
    log.append(line)
    if "Everything is ready" in line:
        break
else:
    tap.skip("the real Collector", "optional: " + (log[-1].strip() if log else "it does not start"))
    tap.done_testing()
    sys.exit()
posted = json.loads(output(EXPORT, "-f", "otlp", ige))
output(EXPORT, "--push", f"http://127.0.0.1:{port}", ige)
want = {"metrics": 0, "points": 0}
for r in posted["resourceMetrics"]:
    for scope in r["scopeMetrics"]:
        want["metrics"] += len(scope["metrics"])
        want["points"] += sum(len(body["dataPoints"]) for m in scope["metrics"] for body in m.values()
                              if isinstance(body, dict) and "dataPoints" in body)
for line in collector.stdout:
    m = re.search(r'"metrics": (\d+), "data points": (\d+)', line)
    if m:
        tap.same({"metrics": int(m[1]), "points": int(m[2])}, want, "the Collector understood every metric and point")
        break
else:
    tap.ok(False, "the Collector says what it understood")
collector.terminate()
collector.wait(60)
collector.stdout.close()
tap.done_testing()
