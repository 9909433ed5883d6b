# SPDX-License-Identifier: Apache-2.0
"""An ingero-dashboard that a test talks to."""
import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess

import tap

PROGRAM = os.path.join(tap.BIN, "ingero-dashboard")
PATIENCE = 120
ENV = dict(os.environ)
ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE


class Dashboard:
    """Use with `with`. Plain HTTP on any port, unless tls; without a token, unless one is given, or token."""

    def __init__(self, *args, tls=False, token=False, env=None):
        free = not token and "--token-file" not in args and "INGERO_TOKEN" not in (env or {}) and "INGERO_MCP_BEARER_TOKEN" not in (env or {})
        self.p = subprocess.Popen([PROGRAM, "--addr", "127.0.0.1:0", *([] if tls else ["--no-tls"]), *(["--no-token"] if free else []), *args], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**ENV, **(env or {})})
        self.url = self.p.stdout.readline().strip()
        if not self.url:
            self.said = self.p.communicate()[1]
            return
        self.url, _, self.token = self.url.partition("#token=")
        self.tls = tls
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def ask(self, path, method="GET", body=None, headers=None):
        """(status, headers, bytes)"""
        c = http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=ANY) if self.tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(c):
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()

    def json(self, what, **how):
        """(status, value)"""
        status, headers, body = self.ask("/api/v1/" + what, **how)
        assert headers["content-type"].startswith("application/json"), headers
        return status, json.loads(body)

    def sql(self, statement, **more):
        return self.json("query", method="POST", body=json.dumps({"sql": statement, **more}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Its exit status."""
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGINT)
            try:
                self.said = self.p.communicate(timeout=PATIENCE)[1]
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.said = self.p.communicate()[1]
        return self.p.returncode
