#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What our servers have in common, by way of a program of the tests that is one: TLS, names, tokens, limits, answers in pieces, and
# peers that send slowly, take slowly, leave, or come in crowds.

import concurrent.futures
import contextlib
import http.client
import json
import os
import queue
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, "tests")
import tap  # noqa: E402

HTTPD = os.path.join(tap.BUILD, "tests", "serve", "httpd")
if not os.path.exists(HTTPD):
    tap.skip_all("optional: built without libmicrohttpd")
TMP = tempfile.TemporaryDirectory(prefix="ingero-test.")
ENV = dict(os.environ)
PATIENCE = 120


class Server:
    def __init__(self, *args, env=None):
        self.p = subprocess.Popen([HTTPD, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**ENV, **(env or {})})
        self.url = self.p.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(self.p.stderr.read())
        self.tls = self.url.startswith("https")
        self.port = int(self.url.rsplit(":", 1)[1])
        self.said = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.p.stdout:
            self.said.put(line.strip())

    def hears(self):
        return self.said.get(timeout=PATIENCE)

    def socket(self, host="127.0.0.1"):
        s = socket.create_connection((host, self.port), timeout=PATIENCE)
        return ANY.wrap_socket(s, server_hostname="localhost") if self.tls else s

    def ask(self, method="GET", path="/echo", body=None, headers=None):
        c = http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=ANY) if self.tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(c):
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            return r.status, dict(r.headers), r.read()

    def stop(self):
        """Its exit status, and what it said on standard error."""
        self.p.stdin.close()
        status = self.p.wait(timeout=PATIENCE)
        self.reader.join(PATIENCE)
        return status, "".join(line for line in self.p.stderr if "open to every user" not in line)


ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE


def refused(*args, env=None):
    """(status, text) of a server that does not start."""
    p = subprocess.run([HTTPD, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**ENV, **(env or {})}, timeout=PATIENCE)
    return p.returncode, p.stderr


def raw(server, data, half_close=False):
    """Everything that comes back."""
    with server.socket() as s:
        s.sendall(data)
        if half_close:
            s.shutdown(socket.SHUT_WR)
        out = b""
        while piece := s.recv(65536):
            out += piece
        return out


def status_of(answer):
    m = re.match(rb"HTTP/1\.[01] (\d+)", answer)
    return int(m[1]) if m else None


# ---- what is asked, what is answered
s = Server("--no-tls")
status, headers, body = s.ask(path="/echo?q=a%20b%2Bc+d&q=again", headers={"X-Asked": "yes"})
tap.same((status, headers["X-Answered"], json.loads(body)["q"]), (200, "yes", "a b+c d"), "a query is decoded, headers go both ways")
status, headers, body = s.ask("POST", body=b"x" * 100000)
tap.same((status, json.loads(body)["body"]), (200, 100000), "a body of the greatest length")
status, headers, body = s.ask("HEAD")
tap.same((status, body, int(headers["Content-Length"]) > 0), (200, b"", True), "HEAD: a GET without its body")
status, headers, body = s.ask("OPTIONS")
tap.same((status, headers.get("Allow")), (204, "GET, POST"), "OPTIONS says which methods there are")
for method in ("DELETE", "PUT", "PATCH", "TRACE", "G", "BREW"):
    status, headers, body = s.ask(method)
    tap.same((status, headers.get("Allow")), (405, "GET, POST"), f"{method}: 405")
tap.same(s.ask(path="/echo?q=%ff")[0], 400, "a query that is no UTF-8")
tap.same(s.ask(path="/..%2f..%2fetc/passwd")[0], 404, "a path that leads elsewhere leads nowhere")
tap.same(s.ask("POST", body=b"x" * 100001)[0], 413, "a body that is too long")
tap.same(status_of(raw(s, b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n")), 413,
         "one that is far too long is not asked for")
chunk = b"2000\r\n" + b"y" * 0x2000 + b"\r\n"
tap.same(status_of(raw(s, b"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunk * 20 + b"0\r\n\r\n")), 413,
         "nor does it help to come in chunks")
tap.same(s.ask(headers={"X-Long": "a" * 40000})[0], 431, "headers that are too long")
tap.ok(s.ask(path="/echo?q=" + "a" * 40000)[0] in (414, 431), "so is a long query")
for name, data in (("nonsense", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03nonsense\r\n\r\n"), ("no version", b"GET /echo\r\n\r\n"),
                   ("a negative length", b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"),
                   ("a length that is none", b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1e3\r\n\r\n")):
    answer = raw(s, data, half_close=True)
    tap.ok(status_of(answer) is None or status_of(answer) >= 400, f"{name}: not answered with 200", answer)
tap.same(s.ask()[0], 200, "and the server lives")

# ---- names
for name, headers, want in (("another's name", {"Host": "evil.example"}, 403), ("its own name with a port", {"Host": f"localhost:{s.port}"}, 200),
                            ("an address that is not here", {"Host": "192.0.2.1"}, 403), ("another's page", {"Origin": "https://evil.example"}, 403),
                            ("a page without a name", {"Origin": "null"}, 403), ("its own page", {"Origin": f"http://127.0.0.1:{s.port}"}, 200),
                            ("an image on another's page", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403)):
    tap.same(s.ask(headers=headers)[0], want, f"{name}: {want}")
tap.ok(status_of(raw(s, b"GET /echo HTTP/1.1\r\nConnection: close\r\n\r\n")) in (400, 403), "no name: not answered")
tap.same(status_of(raw(s, b"GET /echo HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n")), 400, "two names: not answered")
listening = {a for a in ("127.0.0.1", "127.0.0.2", "::1") if not socket.socket(socket.AF_INET6 if ":" in a else socket.AF_INET).connect_ex((a, s.port))}
tap.same(listening, {"127.0.0.1"}, "without a host it listens on this machine only")

# ---- pieces, and peers that leave
status, headers, body = s.ask(path="/stream?n=5&bytes=3")
tap.same((status, headers["Content-Type"], body), (200, "text/event-stream", b"".join(b"data: %d xxx\n\n" % i for i in range(5))), "an answer in pieces")
tap.same(s.hears(), "stream: done", "and its end is its handler's")
tap.same(len(s.ask(path="/stream?n=400&bytes=65536")[2]), sum(len(f"data: {i} ") for i in range(400)) + 400 * 65538, "more than is held arrives whole")
s.hears()
with s.socket() as peer:
    peer.sendall(b"GET /stream?n=1000000&bytes=10&ms=50 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    peer.recv(100)
tap.same(s.hears(), "stream: gone", "whoever streams learns that nobody reads any more")
with s.socket() as peer:
    peer.sendall(b"GET /slow?ms=3600000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    tap.same(s.hears(), "slow: asked", "a long answer is begun")
tap.same(s.hears(), "slow: gone", "and given up when nobody waits")
for path in "/echo", "/slow?ms=300", "/stream?n=5&bytes=3":
    answer = raw(s, b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode(), half_close=True)
    tap.ok(status_of(answer) == 200 and (answer.endswith(b"0\r\n\r\n") or b"Content-Length" in answer), f"{path}: who closes one side is answered", answer)
    if path != "/echo":
        s.hears()
    if "slow" in path:
        s.hears()
tap.same(s.ask("HEAD", "/stream?n=1000000&bytes=10")[0], 200, "HEAD of a stream ends")
s.hears()

# ---- several at once, also when some are slow
with concurrent.futures.ThreadPoolExecutor(6) as pool:
    slow = [pool.submit(s.ask, "GET", "/slow?ms=500") for _ in range(4)]
    for _ in slow:
        while s.hears() != "slow: asked":
            pass
    tap.same(s.ask()[0], 200, "a quick question is not behind slow ones")
    tap.same({f.result()[0] for f in slow}, {200}, "and those are answered, too")
with concurrent.futures.ThreadPoolExecutor(40) as pool:
    answers = list(pool.map(lambda i: s.ask(path=f"/echo?q={i}"), range(400)))
tap.ok(all(a[0] == 200 and json.loads(a[2])["q"] == str(i) for i, a in enumerate(answers)), "400 questions of 40 peers at once")
held = [s.socket() for _ in range(200)]
for h in held:
    h.sendall(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
tap.same([status_of(h.recv(4096)) for h in held], [200] * 200, "200 connections that stay")
for h in held:
    h.close()
tap.same(s.ask()[0], 200, "one more when they have gone")
status, said = s.stop()
tap.ok(status == 0 and not said, "ends when it is told, and had nothing to say", said)

# ---- time
s = Server("--no-tls", "--timeout", "1", "--connections", "20", "--threads", "4", "--streams", "2")
crowd = [s.socket() for _ in range(20)]


def drip(peer):
    """Sends a header, byte by byte, until it is cut off."""
    try:
        for byte in b"GET /echo HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 4000:
            peer.send(bytes([byte]))
            time.sleep(0.05)
    except OSError:
        return True
    return False


s.stop()
s = Server("--no-tls", "--timeout", "60", "--connections", "20")
known = s.socket()
known.sendall(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
known.recv(4096)
many = [s.socket() for _ in range(100)]
with contextlib.suppress(OSError):
    for byte in b"GET /echo HT":
        for peer in many:
            peer.send(bytes([byte]))
begun = time.monotonic()
answers = [s.ask()[0] for _ in range(5)]
tap.ok(answers == [200] * 5 and time.monotonic() - begun < 10, "100 peers that hold 20 connections hold nobody up: the oldest make room", f"{answers} {time.monotonic() - begun:.1f} s")
known.sendall(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
tap.same(status_of(known.recv(4096)), 200, "nor does who was answered before they came lose its connection")
for peer in (*many, known):
    peer.close()
s.stop()
s = Server("--no-tls", "--timeout", "1", "--connections", "20", "--threads", "4", "--streams", "2")
crowd = [s.socket() for _ in range(20)]
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    dripping = [pool.submit(drip, c) for c in crowd]
    tap.same(s.ask()[0], 200, "who sends byte by byte holds nobody up for longer than the time a request may take")
    tap.ok(all(f.result() for f in dripping), "and is cut off")
with s.socket() as peer:
    peer.sendall(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nfew")
    tap.same(peer.recv(100), b"", "so is a body that does not come")
with s.socket() as peer:
    tap.same(peer.recv(100), b"", "and who says nothing")
with s.socket() as peer:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.sendall(b"GET /stream?n=1000000&bytes=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    tap.same(s.hears(), "stream: gone", "who takes nothing of a stream is given up")


def stream(seconds=PATIENCE):
    """One that runs. That of before counts until who wrote it is done, which it says a little earlier."""
    end = time.monotonic() + seconds
    while True:
        peer = s.socket()
        peer.sendall(b"GET /stream?n=1000000&bytes=10&ms=20 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        status = status_of(peer.recv(1000))
        if status != 503 or time.monotonic() > end:
            tap.same(status, 200, "streams run")
            return peer
        s.hears()
        peer.close()


with stream() as one, stream() as two:
    status, headers, body = s.ask(path="/stream?n=1&bytes=1")
    tap.same((status, s.hears()), (503, "stream: refused"), "more of them than may are refused")
    tap.same(s.ask()[0], 200, "and do not hold up what is no stream")
    s.p.stdin.close()
    tap.same(sorted([s.hears(), s.hears()]), ["stream: gone", "stream: gone"], "a server that is stopped ends its streams")
tap.same((s.hears(), s.p.wait(PATIENCE)), ("stopped", 0), "and itself")

# ---- a connection that is kept
s = Server("--no-tls", "--timeout", "3")


def kept(idle, body):
    """The status of a second request: its head comes after so many seconds, its body after as many again."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", s.port, timeout=PATIENCE)) as c:
        c.request("GET", "/echo")
        c.getresponse().read()
        try:
            time.sleep(idle)
            c.sock.sendall(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n")
            time.sleep(body)
            c.sock.sendall(b"abc")
            return status_of(c.sock.recv(4096))
        except OSError:
            return None


# A machine that had no time for us says nothing.
tap.ok(any(kept(1.8, 1.8) == 200 for _ in range(3)), "what comes on a connection that lay idle has as much time as what came first")
s.stop()

# ---- tokens
token = os.path.join(TMP.name, "token")


def put(path, text, mode=0o600):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


for how, args, env in (("of a file", ["--token-file", put(token, "tok-1234\n")], {}), ("of the environment", [], {"INGERO_MCP_BEARER_TOKEN": "tok-1234"}),
                       ("of the environment's other name", [], {"INGERO_TOKEN": "tok-1234"})):
    s = Server("--no-tls", *args, env=env)
    got = [s.ask(headers={"Authorization": a} if a else None)[0] for a in (None, "Bearer tok-123", "Bearer tok-12345", "Basic tok-1234", "Bearer tok-1234")]
    tap.same(got, [401, 401, 401, 401, 200], f"a token {how}")
    if args:
        tap.ok("Bearer" in s.ask()[1]["WWW-Authenticate"], "401 says what is wanted")
        tap.same([s.ask(path=p)[0] for p in ("/open", "/open/x", "/opened")], [404, 401, 401], "what is open is open, and nothing beside it")
        tap.same(s.ask(headers={"Host": "evil", "Authorization": "Bearer tok-1234"})[0], 403, "no token opens for another's name")
        with open(f"/proc/{s.p.pid}/cmdline", "rb") as f:
            tap.ok(b"tok-1234" not in f.read(), "who lists processes does not see it")
    s.stop()
for text, mode, says in (("tok-1234\n", 0o644, "chmod 600"), ("tok-1234\n", 0o620, "may write"), (" \n", 0o600, "no token"), ("two words\n", 0o600, "one word")):
    status, said = refused("--no-tls", "--token-file", put(token, text, mode))
    tap.ok(status in (2, 3) and says in said and "tok-1234" not in said, f"a file with {text!r}, mode {mode:o}: refused", said)
tap.same(refused("--no-tls", "--token-file", token + ".none")[0], 3, "so is a file that is not there")
tap.same(refused("--no-tls", env={"INGERO_TOKEN": "a b"})[0], 2, "and a token that is two words")

# ---- TLS
s = Server("--allow-host", "gpu-7.example,192.0.2.9")
with s.socket() as peer:
    der = peer.getpeercert(True)
    tap.same(peer.version(), "TLSv1.3", "TLS 1.3")
pem = os.path.join(TMP.name, "own.pem")
put(pem, ssl.DER_cert_to_PEM_cert(der))
old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
try:
    old.wrap_socket(socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE))
    tap.ok(False, "TLS 1.2 is refused")
except (ssl.SSLError, ConnectionError) as e:
    tap.ok(not isinstance(e, ssl.SSLCertVerificationError), "TLS 1.2 is refused", e)
strict = ssl.create_default_context(cafile=pem)
strict.verify_flags |= ssl.VERIFY_X509_STRICT
for name in ("localhost", "127.0.0.1", "::1", "gpu-7.example", "192.0.2.9"):
    with strict.wrap_socket(socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE), server_hostname=name) as peer:
        tap.ok(peer.getpeercert(), f"its own certificate holds for {name}")
        cert = peer.getpeercert()
hours = (ssl.cert_time_to_seconds(cert["notAfter"]) - ssl.cert_time_to_seconds(cert["notBefore"])) / 3600
tap.same(hours, 24, "for 24 hours")
try:
    strict.wrap_socket(socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE), server_hostname="evil.example")
    tap.ok(False, "and for nobody else")
except ssl.SSLCertVerificationError:
    tap.ok(True, "and for nobody else")
tap.same(s.ask(headers={"Host": "gpu-7.example"})[0], 200, "a name that is allowed is answered")
tap.same(s.ask(headers={"Host": "gpu-8.example"})[0], 403, "another is not")
tap.same(status_of(raw(Server("--no-tls", "--timeout", "2"), b"GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")), 200, "plain HTTP where it is wanted")
with socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE) as peer:
    peer.sendall(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
    tap.ok(b"200" not in peer.recv(100), "and not where TLS is")
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    tap.same({a[0] for a in pool.map(lambda _: s.ask(), range(100))}, {200}, "100 questions of 20 peers at once")
tap.same(len(s.ask(path="/stream?n=200&bytes=65536")[2]), sum(len(f"data: {i} ") for i in range(200)) + 200 * 65538, "pieces")
if shutil.which("curl"):
    p = subprocess.run(["curl", "-sS", "--cacert", pem, "--fail", f"https://localhost:{s.port}/echo?q=curl"], capture_output=True, text=True, timeout=PATIENCE)
    tap.ok(p.returncode == 0 and '"q":"curl"' in p.stdout, "curl with its certificate", p.stderr)
    p = subprocess.run(["curl", "-sS", f"https://localhost:{s.port}/echo"], capture_output=True, text=True, timeout=PATIENCE)
    tap.same(p.returncode, 60, "and without it")
status, said = s.stop()
import hashlib  # noqa: E402
tap.ok(":".join(f"{b:02X}" for b in hashlib.sha256(der).digest()) in said, "its fingerprint is printed", said)

if not shutil.which("openssl"):
    tap.skip("certificates of others", "optional: no openssl here")
    tap.done_testing()


def certificate(name, *args):
    """(certificate, key) in PEM files."""
    paths = [os.path.join(TMP.name, f"{name}.{end}") for end in ("crt", "key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-out", paths[0], "-keyout", paths[1], *args], check=True, capture_output=True)
    return paths


good, other = certificate("good", "-days", "2"), certificate("other", "-days", "2")
s = Server("--tls-cert", good[0], "--tls-key", good[1])
with s.socket() as peer, open(good[0], encoding="utf-8") as f:
    tap.same(ssl.DER_cert_to_PEM_cert(peer.getpeercert(True)).strip(), f.read().strip(), "a certificate that is given is shown")
tap.same(s.stop(), (0, ""), "without a word")
expired = certificate("expired", "-days", "1")
faked = subprocess.run(["openssl", "x509", "-in", expired[0], "-signkey", expired[1], "-days", "-1", "-out", expired[0] + ".old"], capture_output=True)
if faked.returncode == 0 and os.path.getsize(expired[0] + ".old"):
    status, said = refused("--tls-cert", expired[0] + ".old", "--tls-key", expired[1])
    tap.ok(status == 3 and re.search(r"ended \d{4}-\d\d-\d\dT", said), "one that ended is refused, and it is said when", said)
else:
    tap.skip("a certificate that ended", "optional: this openssl makes none")
for name, args, want, says in (
    ("another's key", ["--tls-cert", good[0], "--tls-key", other[1]], 3, "is not the key"), ("no key", ["--tls-cert", good[0]], 2, "go together"),
    ("no certificate", ["--tls-key", good[1]], 2, "go together"), ("both ways", ["--no-tls", "--tls-cert", good[0], "--tls-key", good[1]], 2, "not both"),
    ("a file that is no certificate", ["--tls-cert", good[1], "--tls-key", good[1]], 4, "no certificate"),
    ("a file that is no key", ["--tls-cert", good[0], "--tls-key", good[0]], 4, "no private key"),
    ("a file that is not there", ["--tls-cert", good[0] + ".none", "--tls-key", good[1]], 3, "No such file"),
):
    status, said = refused(*args)
    tap.ok(status == want and says in said, f"{name}: {says}", f"{status} {said}")

# ---- where others can reach it
s = Server("--no-tls", "--addr", "0.0.0.0:0")
status, said = s.stop()
tap.ok("open to other machines" in said and "no token, no TLS" in said, "open to all: it says so", said)
s = Server("--addr", "0.0.0.0:0", env={"INGERO_TOKEN": "tok-1234"})
tap.ok("open to" not in s.stop()[1], "with TLS and a token there is nothing to say")
taken = Server("--no-tls")
status, said = refused("--no-tls", "--addr", f"127.0.0.1:{taken.port}")
tap.ok(status == 3 and "cannot listen" in said, "an address that is taken", said)
for address in ("nowhere", "1.2.3.4.5:80", "localhost:http", ":", "localhost:99999999", "localhost:65536", ":99999", ""):
    tap.ok(refused("--no-tls", "--addr", address)[0] in (2, 3), f"'{address}' is no address here")
tap.same(taken.stop()[0], 0, "the one that has it lives")
tap.done_testing()
