#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-export --push and --listen, with real receivers and real requests: what arrives is what -f otlp and -f
# prometheus write, busy receivers are tried again, and refusals are told.

import http.server
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, "tests")
import tap  # noqa: E402

EXPORT, DEMO = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo"))
HOW = {"timeout": 300, "capture_output": True}
TMP = tempfile.TemporaryDirectory()


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers with the statuses it was given one after another, then with 200; keeps what came."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.append((self.path, dict(self.headers), body))
        status, extra, *said = self.server.say.pop(0) if self.server.say else (200, {})
        said = said[0].encode() if said else b"well"
        self.send_response(status)
        for k, v in extra.items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *args):
        pass


def receiver(say=(), cert=None):
    s = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    s.say, s.came = list(say), []
    if cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert)
        s.socket = context.wrap_socket(s.socket, server_side=True)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    return s


def export(*args, data=None, env=None):
    how = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    p = subprocess.run([EXPORT, *args], env={**os.environ, **(env or {})}, **how, **HOW)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def url(s, path=""):
    return f"{'https' if isinstance(s.socket, ssl.SSLSocket) else 'http'}://127.0.0.1:{s.server_port}{path}"


data = subprocess.run([DEMO, "incident", "--duration", "5s"], **HOW).stdout
recording = os.path.join(TMP.name, "run.ige")
with open(recording, "wb") as f:
    f.write(data)
body = json.loads(export("-f", "otlp", recording)[1])

s = receiver()
status, out, err = export("--push", url(s), "--header", "Authorization: Bearer x", recording)
tap.same((status, out, err), (0, "", ""), "pushed without a word")
tap.same([json.loads(b) for _, _, b in s.came], [body], "what -f otlp writes, once")
path, headers, _ = s.came[0]
tap.same((path, headers["Content-Type"], headers["Authorization"]), ("/v1/metrics", "application/json", "Bearer x"),
         "to OTLP's path, as JSON, with the header")
export("--push", url(s, "/otlp/here"), recording)
tap.same(s.came[-1][0], "/otlp/here", "a path that is given is kept")

s = receiver([(503, {}), (429, {"Retry-After": "1"})])
status, out, err = export("--push", url(s), recording)
tap.ok(status == 0 and len(s.came) == 3 and all(json.loads(b) == body for _, _, b in s.came), "busy: tried again", err)
tap.ok(err.count("trying again in") == 2 and "503" in err and "429" in err, "and told why it takes so long", err)
s = receiver([(400, {})])
status, out, err = export("--push", url(s), recording)
tap.ok(status == 3 and len(s.came) == 1 and "400" in err and "well" in err, "refused: told, with what it said", err)

# Taken in part, or with something to say about it.
for part, want, says in ((r'"rejectedDataPoints":"7","errorMessage":"too old\u001b[2J"', 3, "7 of the values: too old"), ('"rejectedDataPoints":7', 3, "7 of the values"),
                         ('"errorMessage":"use v2"', 0, "warning: use v2"), ('"rejectedDataPoints":"0"', 0, ""), ("", 0, "")):
    s = receiver([(200, {}, '{"partialSuccess":{%s}}' % part)])
    status, out, err = export("--push", url(s), recording)
    tap.ok((status, len(s.came), bool(err)) == (want, 1, bool(says)) and says in err and "\033" not in err, f"a receiver that says {part}", f"{status} {err}")
s = receiver([(200, {}, '{"partialSuccess":{"rejectedDataPoints":"1"}}')])
status, out, err = export("--push", url(s), "--interval", "1s", recording)
tap.ok(status == 0 and err.count("1 of the values") == 1 and len(s.came) == 5, "on the way that is told once, and made up for", err)
for said in ("[" * 100000, "{" + "[[[" * 30, '{"partialSuccess":[]}', '{"partialSuccess":{"rejectedDataPoints":"x"}}'):
    s = receiver([(200, {}, said)])
    tap.same(export("--push", url(s), recording)[0], 0, f"what is no such answer says nothing: {said[:40]}")

# One that says nothing is not waited for once that is enough.
with socket.create_server(("127.0.0.1", 0)) as silent:
    p = subprocess.Popen([EXPORT, "--push", f"http://127.0.0.1:{silent.getsockname()[1]}", recording], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env={**os.environ, "OTEL_EXPORTER_OTLP_TIMEOUT": "600000"})
    asking, _ = silent.accept()
    asking.recv(1)
    p.send_signal(signal.SIGINT)
    tap.same((p.wait(timeout=60), p.stderr.read()), (130, b""), "Ctrl-C ends it while a receiver stalls")
    asking.close()

# Several in the recording's time.
s = receiver()
status, out, err = export("--push", url(s), "--interval", "1s", recording)
calls = [sum(float(p["asDouble"]) for r in json.loads(b)["resourceMetrics"] for m in r["scopeMetrics"][0]["metrics"]
             if m["name"] == "gpu.cuda.operation.count" for p in m["sum"]["dataPoints"]) for _, _, b in s.came]
tap.ok(len(s.came) == 5 and calls == sorted(calls) and json.loads(s.came[-1][2]) == body,
       "--interval: one for each second of the recording and one at its end", f"{len(s.came)} {calls} {err}")
s = receiver([(500, {})])
status, out, err = export("--push", url(s), "--interval", "1s", recording)
tap.ok(status == 0 and err.count("500") == 1 and json.loads(s.came[-1][2]) == body,
       "one that fails on the way is told once, and made up for", err)

# What OpenTelemetry's environment says.
s = receiver()
status, out, err = export("--push", "env", recording, env={"OTEL_EXPORTER_OTLP_ENDPOINT": url(s), "OTEL_EXPORTER_OTLP_HEADERS": "k=v%20w,x-y=z"})
tap.ok(status == 0 and s.came and (s.came[0][1].get("k"), s.came[0][1].get("x-y")) == ("v w", "z"), "endpoint and headers of the environment", err)
# What would end the header and begin another, or a request, is refused, and a secret in it is not told.
s.came.clear()
for line in ("A: secret\r\nX: y", "A: secret\nX: y", "A: secret\rX", "secret", ": secret", "A b: secret", "A\tb: secret"):
    status, out, err = export("--push", url(s), "--header", line, recording)
    tap.ok((status, s.came, "secret" in err, err.count("\n")) == (2, [], False, 1), f"refused: --header {line!r}", f"{status} {err} {s.came}")
for text in ("a=secret%0d%0aX: y", "a=secret%0aX: y", "a=secret%0dX", "a b=secret", "a:b=secret\nX: y"):
    status, out, err = export("--push", url(s), recording, env={"OTEL_EXPORTER_OTLP_HEADERS": text})
    tap.ok((status, s.came, "secret" in err, err.count("\n")) == (2, [], False, 1), f"refused: OTEL_EXPORTER_OTLP_HEADERS={text!r}", f"{status} {err} {s.came}")
for name, path, arrives in (("OTEL_EXPORTER_OTLP_ENDPOINT", "/below/", "/below/v1/metrics"), ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "/exactly", "/exactly")):
    export("--push", "env", recording, env={name: url(s, path)})
    tap.same(s.came[-1][0], arrives, f"{name}: its path as OpenTelemetry has it")
tap.same(export("--push", "env", recording, env={"OTEL_EXPORTER_OTLP_ENDPOINT": "", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": ""})[0], 2,
         "none there: a mistake")

# TLS: trusted only when its certificate is.
pem = os.path.join(TMP.name, "cert.pem")
made = shutil.which("openssl") and subprocess.run(
    ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
     "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem + ".key", "-out", pem + ".crt"], **HOW).returncode == 0
if made:
    with open(pem, "wb") as f:
        for part in (".key", ".crt"):
            f.write(open(pem + part, "rb").read())
    s = receiver(cert=pem)
    tap.ok(export("--push", url(s), "--ca-cert", pem + ".crt", recording)[0] == 0 and len(s.came) == 1, "https with its certificate")
    refused = subprocess.Popen([EXPORT, "--push", url(s), recording], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    refused.send_signal(signal.SIGINT) if refused.poll() is None else None
    refused.communicate(timeout=60)
    tap.ok(refused.returncode != 0 and len(s.came) == 1, "and without it nothing is sent")
else:
    tap.skip("https", "optional: no openssl here")

# Who asks.
def listen(*args, **how):
    p = subprocess.Popen([EXPORT, "--listen", ":0", *args], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, **how)
    line = p.stderr.readline().decode()
    return p, re.search(r"http://127\.0\.0\.1:\d+", line)[0]


def get(where, **how):
    try:
        with urllib.request.urlopen(urllib.request.Request(where, **how), timeout=30) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


text = re.sub(r"(?m) \d+$", "", "\n".join(x for x in export("-f", "prometheus", recording)[1].splitlines() if x[0] != "#"))
p, where = listen(recording, stdin=subprocess.DEVNULL)


def until(where, right):
    """What /metrics says once it is right; what it said last when that takes a minute."""
    end = time.monotonic() + 60
    while True:
        said = "\n".join(x for x in get(where + "/metrics")[1].splitlines() if x[0] != "#")
        if right(said) or time.monotonic() > end:
            return said


found = until(where, lambda said: said == text)
tap.ok(found == text, "--listen: what -f prometheus writes, without the times")
tap.same(get(where + "/other")[0], 404, "nothing else is there")
tap.ok(get(where + "/metrics", data=b"x" * 100000)[0] in (405, 413), "nothing can be sent")
with socket.create_connection(tuple(where[7:].split(":"))) as raw:
    raw.sendall(b"GET /met")
    tap.same(get(where + "/metrics")[0], 200, "one who does not finish does not keep others waiting")
with socket.create_connection(tuple(where[7:].split(":"))) as raw:
    raw.sendall(b"DELETE /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    said = b"".join(iter(lambda: raw.recv(4096), b""))
    tap.ok(said.startswith(b"HTTP/1.1 405 ") and b"\r\nAllow: GET, HEAD\r\n" in said, "another method hears which there are", said)
p.send_signal(signal.SIGINT)
tap.same(p.wait(timeout=60), 0, "Ctrl-C ends it, and that is no failure")

p, where = listen(stdin=subprocess.PIPE)
p.stdin.write(data)
p.stdin.flush()
seen = until(where, lambda said: "gpu_cuda_operations_total" in said)
tap.ok("gpu_cuda_operations_total" in seen, "asked while the pipe is open")
p.stdin.close()
tap.same(p.wait(timeout=60), 0, "the pipe's end is its end")
busy = socket.create_server(("127.0.0.1", 0))
status, out, err = export("--listen", f"127.0.0.1:{busy.getsockname()[1]}", recording)
tap.ok(status == 3 and "in use" in err, "an address that is taken", err)
for args in (["--listen", "nowhere"], ["--push", "ftp://x/"], ["--header", "a:b"], ["--push", "http://127.0.0.1:1", "--header", "none"],
             ["--push", "http://127.0.0.1:1", "-o", "x"], ["--push", "http://127.0.0.1:1", "-f", "json"],
             ["--push", "http://127.0.0.1:1", "--records"], ["--push", "http://127.0.0.1:1", "--no-stacks"], ["--listen", ":0", "--weight", "count"],
             ["--listen", ":0", "--interval", "1s"], ["--listen", ":0", "--header", "a: b"], ["--listen", ":0", "--max-db", "1m"]):
    status, out, err = export(*args, recording)
    tap.ok(status == 2 and err, f"{args}: status 2", f"{status} {err}")
tap.done_testing()
