# SPDX-License-Identifier: Apache-2.0
"""Who else is on the machine while the servers are used: clients that send a byte now and then, that say something else than HTTP or
TLS, that guess tokens, that ask for more than there is, and somebody who puts something else in the recording's place."""
import contextlib
import json
import os
import socket
import ssl
import time

ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE
CROWD = 60  # connections of each that drips
NONSENSE = (b"\x16\x03\x01\xff\xff" + bytes(range(256)), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00" * 4096, b"\x16\x03\x01\x00\x05hello", b"SSH-2.0-x\r\n")
REQUESTS = ((b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"), b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{}",
            b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 9000 + b"\r\n", b"POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"\xff\xfe / HTTP/9.9\r\n\r\n", b"GET /api/v1/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", b"DELETE /mcp HTTP/1.1\r\nHost: x\r\n\r\n")
GREEDY = ({"name": "run_sql", "arguments": {"query": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}},
          {"name": "get_causal_chains", "arguments": {"jq": "def f: f; f"}},
          {"name": "get_causal_chains", "arguments": {"jq": "[range(1e9)]"}},
          {"name": "get_causal_chains", "arguments": {"jq": '"a" * 1e9'}})


def plain(chance, server):
    """A connection from another address of this machine: limits are by address."""
    return socket.create_connection(("127.0.0.1", server.port), 10, (f"127.0.0.{chance.randint(2, 200)}", 0))


def drips(load, chance, server):
    """Many that never finish what they ask, until the server has enough of each."""
    crowd = []
    for _ in range(CROWD):
        with contextlib.suppress(OSError):
            crowd.append(plain(chance, server))
    until = time.monotonic() + 120
    while crowd and time.monotonic() < until and not load.over():
        for s in list(crowd):
            try:
                s.send(b"\x16")
            except OSError:
                crowd.remove(s)
                s.close()
        time.sleep(0.5)
    for s in crowd:
        s.close()
    load.count("dripping crowds", load.over() or not crowd, f"{len(crowd)} of {CROWD} are still connected after two minutes")


def babbles(load, chance, server):
    with contextlib.suppress(OSError), plain(chance, server) as s:
        s.settimeout(60)
        if chance.random() < 0.5:
            s.sendall(chance.choice(NONSENSE))
        else:
            s = ANY.wrap_socket(s)
            s.sendall(chance.choice(REQUESTS))
        while s.recv(65536):
            pass
    load.count("nonsense", True)
    time.sleep(0.05)


def guesses(load, chance, server):
    c = server.connect()
    c.request("GET", "/api/v1/report", headers={"Authorization": f"Bearer soak-{chance.randint(0, 999)}"})
    r = c.getresponse()
    r.read()
    load.count("wrong tokens", r.status in (401, 429), f"{r.status}")
    c.close()
    time.sleep(0.2)


def grabs(load, chance, server, token):
    """What takes more time or memory than anybody gets is refused, and by then no other has waited for it."""
    c = server.connect()
    c.timeout = 600  # 30 s of processor time, of which others take most
    c.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": chance.choice(GREEDY)}),
              {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
    r = c.getresponse()
    body = r.read()
    load.count("greedy questions", r.status != 200 or b"rror" in body, f"{r.status} {body[:200]}")
    c.close()
    time.sleep(chance.uniform(1, 5))


def misplace(run, n):
    """Something in the recording's place that nobody can read."""
    aside = run + ".odd"
    with contextlib.suppress(OSError):
        os.unlink(aside)
    with contextlib.ExitStack() as stack:
        if n % 5 == 0:
            os.mkfifo(aside)
        elif n % 5 == 1:
            stack.enter_context(socket.socket(socket.AF_UNIX)).bind(aside)
        elif n % 5 == 2:
            os.symlink("/dev/zero", aside)
        elif n % 5 == 3:
            os.symlink("/dev/tty", aside)
        else:
            with open(aside, "wb") as f:
                f.write(os.urandom(100000))
        os.rename(aside, run)
