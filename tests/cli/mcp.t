#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The Model Context Protocol as a client meets it: every revision, on standard input and over HTTP, with what is right and with
# what is hostile. The server is a table of fixtures behind the product's protocol room (tests/consumers/mcp_server.c).

import base64
import fcntl
import http.client
import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.path.insert(0, "tests")
import tap  # noqa: E402

SERVER = os.path.join(tap.BUILD, "tests", "consumers", "mcp_server")
WAIT = 60  # seconds until a test gives up; nothing here takes one
META = "io.modelcontextprotocol/"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
STATELESS = "2026-07-28"


def request(id, method, params=None):
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


def meta(**more):
    return {META + "protocolVersion": STATELESS, META + "clientCapabilities": {}, **more}


def call(id, tool, args=None, revision=None, **more):
    _meta = {**(meta() if revision == STATELESS else {}), **more}
    return request(id, "tools/call", {"name": tool, **({} if args is None else {"arguments": args}), **({"_meta": _meta} if _meta else {})})


class Client:
    """A server on standard input and output; whatever it says lands in a queue."""

    def __init__(self, *args, command=None):
        self.p = subprocess.Popen(command or [SERVER, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said, self.strange, self.lock = queue.Queue(), [], threading.Lock()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.kept = []

    def read(self):
        for line in self.p.stdout:
            try:
                self.said.put(json.loads(line))
            except ValueError:
                self.strange.append(line)
        self.said.put(None)

    def raw(self, data):
        self.p.stdin.write(data)
        self.p.stdin.flush()

    def send(self, *messages):
        self.raw(b"".join(json.dumps(m).encode() + b"\n" for m in messages))

    def until(self, wanted):
        """The first message for which wanted is true, with those that came before it and were not asked for yet."""
        for i, m in enumerate(self.kept):
            if wanted(m):
                return self.kept.pop(i)
        while True:
            m = self.said.get(timeout=WAIT)
            if m is None or wanted(m):
                return m
            self.kept.append(m)

    def answer(self, id):
        return self.until(lambda m: isinstance(m, dict) and "method" not in m and m.get("id") == id)

    def ask(self, message):
        self.send(message)
        return self.answer(message["id"])

    def next(self):
        return self.until(lambda m: True)

    def initialize(self, revision):
        return self.ask(request("init", "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))["result"]

    def end(self):
        """Everything it says until it ends by itself, and its status."""
        self.p.stdin.close()
        said, self.kept = self.kept, []
        while (m := self.said.get(timeout=WAIT)) is not None:
            said.append(m)
        return said, self.p.wait(WAIT)


def code(m):
    return m.get("error", {}).get("code")


def text(m):
    return m["result"]["content"][0]["text"]


# ---- which revision, and what it has words for ----

for wanted in [*LEGACY, STATELESS, "1999-01-01", ""]:
    c = Client()
    got = c.initialize(wanted)
    tap.same(got["protocolVersion"], wanted if wanted in LEGACY else LEGACY[0], f"initialize with {wanted or 'nothing'}")
    if wanted in LEGACY:
        since = lambda r: wanted >= r  # noqa: E731
        tap.same("completions" in got["capabilities"], since("2025-03-26"), f"{wanted}: completions are declared")
        tap.same("title" in got["serverInfo"], since("2025-06-18"), f"{wanted}: the server has a title")
        tool = next(t for t in c.ask(request(1, "tools/list"))["result"]["tools"] if t["name"] == "echo")
        tap.same([k in tool for k in ("annotations", "title", "outputSchema")], [since("2025-03-26"), since("2025-06-18"), since("2025-06-18")], f"{wanted}: what a tool has")
        r = c.ask(call(2, "echo", {"op": "x", "top": 3}))
        tap.same([json.loads(text(r)), r["result"].get("structuredContent")], [{"op": "x", "top": 3}, {"op": "x", "top": 3} if since("2025-06-18") else None], f"{wanted}: structured content")
        r = c.ask(call(3, "misuse"))
        tap.same(r["result"]["isError"] if since("2025-11-25") else code(r), True if since("2025-11-25") else -32602, f"{wanted}: who hears of wrong arguments")
        tap.same(code(c.ask(request(4, "resources/read", {"uri": "test://none"}))), -32002, f"{wanted}: no such resource")
        tap.same(c.ask(request(5, "ping"))["result"], {}, f"{wanted}: ping")
        tap.same(code(c.ask(request(6, "server/discover"))), -32601, f"{wanted}: has no server/discover")
        batch = [request("b1", "ping"), {"jsonrpc": "2.0", "method": "notifications/x"}, call("b2", "test_simple_text"), 7, request("b3", "no")]
        c.send(batch)
        r = c.next()
        if since("2025-06-18"):
            tap.same([code(r), r["id"]], [-32600, None], f"{wanted}: no batches")
        else:
            tap.same([(m["id"], code(m)) for m in r], [("b1", None), ("b2", None), (None, -32600), ("b3", -32601)], f"{wanted}: a batch")
            c.send([{"jsonrpc": "2.0", "method": "notifications/x"}], [])
            tap.same(code(c.next()), -32600, f"{wanted}: an empty batch; one of notifications is not answered")
            c.send([request(i, "ping") for i in range(65)])
            tap.same(code(c.next()), -32600, f"{wanted}: a batch that is too long")
    said, status = c.end()
    tap.same([said, status, c.strange], [[], 0, []], f"{wanted or 'nothing'}: ends with its input, nothing else was said")

c = Client()
got = c.ask(request(1, "server/discover", {"_meta": meta()}))["result"]
tap.same([got["supportedVersions"], got["resultType"], got["cacheScope"], got["_meta"][META + "serverInfo"]["name"]], [[STATELESS, *LEGACY], "complete", "private", "ingero-test"], "server/discover")
tap.ok(got["ttlMs"] > 0, "and may be kept a while")
for method, params, keeps in (("tools/list", {}, True), ("prompts/list", {}, True), ("resources/list", {}, True), ("resources/templates/list", {}, True), ("resources/read", {"uri": "test://static-text"}, True),
                              ("tools/call", {"name": "test_simple_text"}, False), ("prompts/get", {"name": "test_simple_prompt"}, False)):  # fmt: skip
    got = c.ask(request(2, method, {**params, "_meta": meta()}))["result"]
    tap.same([got["resultType"], "ttlMs" in got and "cacheScope" in got], ["complete", keeps], f"{STATELESS}: {method} says what it is")
for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen", "no"):
    tap.same(code(c.ask(request(3, method, {"_meta": meta(), "protocolVersion": "2025-11-25"}))), -32601, f"{STATELESS}: has no {method}")
for name, m in {"no capabilities": {META + "protocolVersion": STATELESS}, "capabilities a text": meta(**{META + "clientCapabilities": "x"}), "a version that is a number": meta(**{META + "protocolVersion": 7}),
                "a client without a version": meta(**{META + "clientInfo": {"name": "x"}}), "no such level": meta(**{META + "logLevel": "loud"})}.items():  # fmt: skip
    r = c.ask(request(4, "tools/list", {"_meta": m}))
    tap.same([code(r), "envelope" in r["error"]["data"]], [-32602, True], f"{STATELESS}: {name}")
for version in ("2099-01-01", "2025-11-25", ""):
    r = c.ask(request(5, "tools/list", {"_meta": meta(**{META + "protocolVersion": version})}))
    tap.same([code(r), r["error"]["data"]], [-32022, {"supported": [STATELESS, *LEGACY], "requested": version}], f"a request in revision '{version}'")
r = c.ask(request(6, "resources/read", {"uri": "test://none", "_meta": meta()}))
tap.same([code(r), r["error"]["data"]], [-32602, {"uri": "test://none"}], f"{STATELESS}: no such resource")
tap.same(c.ask(call(7, "misuse", revision=STATELESS))["result"]["isError"], True, f"{STATELESS}: wrong arguments are told to the model")
r = c.initialize("2025-11-25")
tap.same(r["protocolVersion"], "2025-11-25", "who asked server/discover may still initialize")
tap.same(c.end(), ([], 0), "ends")

# ---- what is no message, or a wrong one: line, code, id ----

MANY = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":'
MALFORMED = [
    ("no JSON", b"hello", -32700, None),
    ("cut short", b'{"jsonrpc":"2.0","id":1,', -32700, None),
    ("two values", b'{"jsonrpc":"2.0"} {}', -32700, None),
    ("invalid UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"p\xff"}', -32700, None),
    ("UTF-16", '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16-le").replace(b"\n", b""), -32700, None),
    ("nan", b'{"jsonrpc":"2.0","id":nan,"method":"ping"}', -32700, None),
    ("a comma too many", b'{"jsonrpc":"2.0","id":1,"method":"ping",}', -32700, None),
    ("nested without end", b"[" * 100000, -32700, None),
    ("a million arrays", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[' + b"[]," * 1000000 + b"[]]}}", -32700, None),
    ("nested deeply", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 200 + b"]" * 200 + b"}}", -32700, None),
    ("a number of a million digits", b'{"jsonrpc":"2.0","id":' + b"1" * 1000000 + b',"method":"ping"}', -32700, None),
    ("a number", b"7", -32600, None),
    ("a text", b'"ping"', -32600, None),
    ("null", b"null", -32600, None),
    ("nothing in it", b"{}", -32600, None),
    ("no version", b'{"id":1,"method":"ping"}', -32600, 1),
    ("version 1.0", b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1),
    ("version is a number", b'{"jsonrpc":2.0,"id":1,"method":"ping"}', -32600, 1),
    ("no method", b'{"jsonrpc":"2.0","id":1}', -32600, 1),
    ("method is a number", b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, 1),
    ("id is null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    ("id is an object", b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
    ("id is a fraction", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
    ("id is huge", b'{"jsonrpc":"2.0","id":1e300,"method":"ping"}', -32600, None),
    ("id is a long text", b'{"jsonrpc":"2.0","id":"' + b"x" * 5000 + b'","method":"ping"}', -32600, None),
    ("params is an array", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, 1),
    ("params is a text", b'{"jsonrpc":"2.0","id":"a","method":"ping","params":"x"}', -32602, "a"),
    ("an unknown method", b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 3000 + b'"}', -32601, 1),
    ("no method of JSON-RPC", b'{"jsonrpc":"2.0","id":1,"method":""}', -32601, 1),
    ("initialize without a version", b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}', -32602, 1),
    ("version is an object", b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":{}}}', -32602, 1),
    ("no level", b'{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}', -32602, 1),
    ("level is a number", b'{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":1}}', -32602, 1),
    ("cursor is a number", b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}', -32602, 1),
    ("cursor of another's", b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"abc"}}', -32602, 1),
    ("cursor behind the end", b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"999"}}', -32602, 1),
    ("cursor without end", b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"99999999999999999999"}}', -32602, 1),
    ("no tool", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', -32602, 1),
    ("an unknown tool", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', -32602, 1),
    ("tool is an array", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["echo"]}}', -32602, 1),
    ("arguments are an array", MANY + b"[]}}", -32602, 1),
    ("arguments are null", MANY + b"null}}", -32602, 1),
    ("an unknown prompt", b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}', -32602, 1),
    ("a prompt without its arguments", b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"test_prompt_with_arguments"}}', -32602, 1),
    ("a prompt's argument is a number", b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"test_prompt_with_arguments","arguments":{"arg1":1,"arg2":"x"}}}', -32602, 1),
    ("no address", b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}', -32602, 1),
    ("a file", b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}', -32002, 1),
    ("a path out of a template", b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://template/../../x/data"}}', -32002, 1),
    ("a zero byte in an address", b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://static-text\\u0000"}}', -32002, 1),
    ("completion of nothing", b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}', -32602, 1),
    ("completion of an unknown prompt", b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}}}', -32602, 1),
    ("completion of an unknown argument", b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"a","value":""}}}', -32602, 1),
    ("completion of an unknown kind", b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/tool"},"argument":{"name":"a","value":""}}}', -32602, 1),
]  # fmt: skip
SILENT = [
    ("an empty line", b""),
    ("blanks", b" \t\r"),
    ("an unknown notification", b'{"jsonrpc":"2.0","method":"notifications/none","params":{"x":1}}'),
    ("a cancelled request that is not there", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}'),
    ("a cancellation of nothing", b'{"jsonrpc":"2.0","method":"notifications/cancelled"}'),
    ("an answer nobody asked for", b'{"jsonrpc":"2.0","id":7,"result":{}}'),
    ("an error nobody asked for", b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}'),
]
c = Client()
c.initialize("2025-06-18")
for name, line, want, id in MALFORMED:
    c.raw(line + b"\n")
    r = c.next()
    tap.same([code(r), r["id"], isinstance(r["error"]["message"], str)], [want, id, True], name)
for name, line in SILENT:
    c.raw(line + b"\n")
    tap.same(c.ask(request("p", "ping"))["result"], {}, name + ": not answered")
c.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (5 << 20) + b'"}}\n')
tap.same(code(c.next()), -32600, "a message of 5 MiB")
c.raw(b"y" * (9 << 20) + b"\n")
tap.same(code(c.next()), -32600, "a line of 9 MiB: one answer")
r = c.ask(request("\U0001f600 \u0000", "ping"))
tap.same([r["id"], r["result"]], ["\U0001f600 \u0000", {}], "an id comes back as it was sent")
tap.same(c.ask(request(9007199254740992, "ping"))["id"], 9007199254740992, "2^53 too")
c.raw(json.dumps(request("last", "ping")).encode())
tap.same(c.end(), ([{"jsonrpc": "2.0", "id": "last", "result": {}}], 0), "the last line needs no newline")

# ---- arguments against the tool's schema: what is said ----

SCHEMA = [
    ({"op": "x"}, None),
    ({"op": "x", "top": 100, "pids": [1, 2], "by": "op", "deep": False, "since": "5m"}, None),
    ({"op": "\u00e9" * 20}, None),
    ({"op": "x", "top": 3.0, "since": 0.5}, None),
    ({}, "arguments needs 'op'"),
    ({"op": 7}, "arguments.op has to be of type string"),
    ({"op": None}, "arguments.op has to be of type string"),
    ({"op": ""}, "arguments.op needs at least 1 characters"),
    ({"op": "x" * 21}, "arguments.op may have 20 characters at most"),
    ({"op": "x", "top": 0}, "arguments.top has to be at least 1"),
    ({"op": "x", "top": 101}, "arguments.top has to be at most 100"),
    ({"op": "x", "top": 1e308}, "arguments.top has to be at most 100"),
    ({"op": "x", "top": 1.5}, "arguments.top has to be of type integer"),
    ({"op": "x", "top": "3"}, "arguments.top has to be of type integer"),
    ({"op": "x", "top": True}, "arguments.top has to be of type integer"),
    ({"op": "x", "pids": 3}, "arguments.pids has to be of type array"),
    ({"op": "x", "pids": [1, "2"]}, "arguments.pids[1] has to be of type integer"),
    ({"op": "x", "pids": [1, 2, 3, 4, 5]}, "arguments.pids may have 4 elements at most"),
    ({"op": "x", "by": "step"}, 'arguments.by has to be one of ["op","thread"]'),
    ({"op": "x", "deep": 1}, "arguments.deep has to be of type boolean"),
    ({"op": "x", "since": 0}, "arguments.since has to be more than 0"),
    ({"op": "x", "since": []}, "arguments.since has to be of type number"),
    ({"op": "x", "file": "/etc/passwd"}, "arguments has no 'file', only op, top, pids, by, deep, since"),
]
c = Client()
c.initialize("2025-11-25")
for args, wrong in SCHEMA:
    r = c.ask(call(1, "echo", args))["result"]
    name = json.dumps(args)[:60]
    if wrong:
        tap.same([r.get("isError"), r["content"][0]["text"]], [True, wrong], name)
    else:
        tap.same([r.get("isError"), r.get("structuredContent")], [None, args], name)
tap.same(text(c.ask(call(1, "test_simple_text"))), "This is a simple text response for testing.", "no arguments at all")
r = c.ask(call(2, "test_error_handling"))["result"]
tap.same([r["isError"], r["content"][0]["text"]], [True, "This tool intentionally returns an error for testing"], "a tool's own failure")

# ---- prompts, resources, completions, pages ----

r = c.ask(request(3, "prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}))["result"]
tap.same(r["messages"][0]["content"]["text"], "Prompt with arguments: arg1='a', arg2='b'", "a prompt")
r = c.ask(request(4, "resources/read", {"uri": "test://template/12/data"}))["result"]
tap.same(json.loads(r["contents"][0]["text"])["id"], "12", "a template's resource")
for value, want in (("t", [["testing"], 1, False]), ("x", [[], 0, False]), ("many", [["many"] * 100, 150, True])):
    r = c.ask(request(5, "completion/complete", {"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "argument": {"name": "arg1", "value": value}}))["result"]["completion"]
    tap.same([r["values"], r["total"], r["hasMore"]], want, f"completions of {value}")
r = c.ask(request(6, "completion/complete", {"ref": {"type": "ref/resource", "uri": "test://template/{id}/data"}, "argument": {"name": "id", "value": ""}, "context": {"arguments": {"a": "b"}}}))
tap.same(r["result"]["completion"]["values"], ["testing"], "completions of a template's variable")
whole = {m: c.ask(request(7, m + "/list"))["result"] for m in ("tools", "prompts", "resources", "resources/templates")}
tap.none((m for m in whole if "nextCursor" in whole[m]), "short lists are one page")
c.end()
for page in (1, 2, 3):
    c = Client("--page", str(page))
    c.initialize("2025-11-25")
    for m, want in whole.items():
        key = "resourceTemplates" if "/" in m else m
        got, cursor, pages = [], None, 0
        while pages < 50 and (pages == 0 or cursor):
            r = c.ask(request(1, m + "/list", {"cursor": cursor} if cursor else {}))["result"]
            got, cursor, pages = got + r[key], r.get("nextCursor"), pages + 1
        tap.same([got, pages], [want[key], -(-len(want[key]) // page)], f"{m} in pages of {page}")
    c.end()

# ---- what goes with an answer ----

for revision in [*LEGACY, STATELESS]:
    for token in ("t", 7):
        c = Client()
        if revision != STATELESS:
            c.initialize(revision)
        c.ask(call(1, "test_tool_with_progress", revision=revision, progressToken=token))
        got = [m["params"] for m in c.kept]
        tap.same([(p["progressToken"], p["progress"], p["total"], "message" in p) for p in got], [(token, 0, 100, False), (token, 50, 100, revision > "2025"), (token, 100, 100, revision > "2025")], f"{revision}: progress, token {token!r}")
        c.kept = []
        c.ask(call(2, "test_tool_with_progress", revision=revision))
        tap.same(c.kept, [], f"{revision}: no progress for who does not want it")
        c.end()
c = Client()
c.initialize("2025-11-25")
for level, n in ((None, 0), ("debug", 3), ("info", 3), ("notice", 0), ("emergency", 0)):
    if level:
        tap.same(c.ask(request(1, "logging/setLevel", {"level": level}))["result"], {}, f"level {level}")
    c.ask(call(2, "test_tool_with_logging"))
    tap.same([(m["method"], m["params"]["level"], m["params"]["logger"]) for m in c.kept], [("notifications/message", "info", "ingero-test")] * n, f"log messages from {level or 'what nobody chose'} on")
    c.kept = []
for level, n in ((None, 0), ("info", 3), ("error", 0)):
    c.ask(call(3, "test_tool_with_logging", revision=STATELESS, **({META + "logLevel": level} if level else {})))
    tap.same(len(c.kept), n, f"{STATELESS}: log messages of a request that says {level}")
    c.kept = []
c.end()

# ---- several at once, cancelled, too many, ended ----

for revision in ("2025-11-25", STATELESS):
    c = Client()
    if revision != STATELESS:
        c.initialize(revision)
    c.send(call("long", "wait", {"ms": 1000000}, revision, progressToken="long"), call(1, "wait", {"ms": 1000000}, revision, progressToken="one"))
    for token in ("long", "one"):
        c.until(lambda m: m.get("params", {}).get("progressToken") == token)
    tap.same(text(c.ask(call(2, "test_simple_text", revision=revision))), "This is a simple text response for testing.", f"{revision}: others are answered meanwhile")
    c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1", "reason": "another"}}, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long"}}, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    tap.same(c.end(), ([], 0), f"{revision}: what is cancelled ends and is not answered")
c = Client("--calls", "2", "--waiting", "3")
c.send(*[call(i, "wait", {"ms": 1000000}, progressToken=i) for i in (1, 2)])
c.until(lambda m: m.get("params", {}).get("progressToken") == 1)
c.until(lambda m: m.get("params", {}).get("progressToken") == 2)
c.send(*[call(i, "wait", {"ms": 1000000}) for i in range(3, 9)])
tap.same(sorted((m["id"], code(m)) for m in (c.next(), c.next(), c.next())), [(6, -32000), (7, -32000), (8, -32000)], "two run, three wait, the others are refused")
c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}})
tap.same(c.ask(request(10, "ping"))["result"], {}, "ping while all are busy")
c.send(*[{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i}} for i in (1, 2, 3, 5)])
tap.same(c.end(), ([], 0), "one that waits can be cancelled, too")
c = Client()
c.send(*[call(i, "wait", {"ms": 20}) for i in range(100)])
said, status = c.end()
tap.same([sorted(m["id"] for m in said), status], [list(range(100)), 0], "what was asked before the end is answered")
c = Client()
c.send(call(1, "wait", {"ms": 1000000}, progressToken=1))
c.next()
c.p.send_signal(signal.SIGTERM)
tap.same(c.p.wait(WAIT), 0, "told to end while a call runs, it ends")
for slow in (False, True):
    p = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    fcntl.fcntl(p.stdout, fcntl.F_SETPIPE_SZ, 4096)  # one page: with anything in it nobody is told that there is room
    question = call(1, "echo", {"op": "x" * 20}) if slow else request(1, "tools/list")
    p.stdin.write(b"".join(json.dumps(question).encode() + b"\n" for i in range(100)))
    p.stdin.flush()
    until = time.monotonic() + WAIT
    held = lambda: struct.unpack("i", fcntl.ioctl(p.stdout, termios.FIONREAD, b"\0\0\0\0"))[0]  # noqa: E731
    while not held() and time.monotonic() < until:
        time.sleep(0.01)
    tap.ok(held() > 0, "a client that does not read: there is no room for a second answer")
    p.send_signal(signal.SIGTERM)
    tap.same(p.wait(WAIT), 0, f"told once, the server ends, {'and calls that answer' if slow else 'and whoever answers at once'}")
    p.stdout.close()
p = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdout.close()
try:
    for i in range(1000):
        p.stdin.write(json.dumps(request(i, "tools/list")).encode() + b"\n")
        p.stdin.flush()
except OSError:
    pass
tap.same(p.wait(WAIT), 0, "nobody reads: it ends, whoever still writes")

# ---- the program itself ----

MCP = os.path.join(tap.BIN, "ingero-mcp")
with tempfile.TemporaryDirectory() as tmp:
    run = os.path.join(tmp, "run.ige")
    subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "incident", "--duration", "10s", "-o", run], check=True)
    c = Client(command=[MCP, run])
    tap.same(c.initialize("2025-11-25")["serverInfo"]["name"], "ingero", "ingero-mcp")
    names = [t["name"] for t in c.ask(request(1, "tools/list"))["result"]["tools"]]
    tap.ok("get_causal_chains" in names and "get_trace_stats" in names, "its tools", names)
    r = c.ask(call(2, "get_causal_chains"))
    tap.ok("log-compactor" in json.dumps(r["result"]), "what caused the stall: one call", json.dumps(r)[:600])
    tap.ok("only" in text(c.ask(call(3, "get_causal_chains", {"no_such": 1}))), "an argument that is not there")
    tap.same(c.end(), ([], 0), "ends with its input")
    # What is wrong with its files is told at once, whoever asks or not.
    cut, empty, other = (os.path.join(tmp, n) for n in ("cut.ige", "empty.ige", "other.ige"))
    with open(run, "rb") as f, open(cut, "wb") as to:
        to.write(f.read()[: os.path.getsize(run) // 2])
    open(empty, "wb").close()
    with open(other, "w", encoding="ascii") as f:
        f.write("kept, and no recording at all\n" * 9)
    secret = os.path.join(tmp, "secret")
    with open(secret, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as to:
        to.write("a-token")
    for program, args in (("ingero-mcp", []), ("ingero-dashboard", ["--no-tls", "--token-file", secret, "--addr", ":0"])):
        for path, why in ((cut, b"it ends inside a block"), (empty, b"is empty"), (other, b"is not an .ige file"), (run, None)):
            p = subprocess.Popen([os.path.join(tap.BIN, program), *args, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            what = f"{program} {os.path.basename(path)}"
            if program == "ingero-dashboard" and not p.stdout.readline():
                tap.skip(what, "optional: " + p.stderr.read().decode().strip()[-100:])
            elif why:
                line = p.stderr.readline()
                tap.ok(why in line and b"warning" in line, f"{what}: told when it starts", line)
                p.send_signal(signal.SIGTERM)
                tap.same((p.wait(WAIT), p.stderr.read()), (0, b""), f"{what}: once, and it serves")
            elif program == "ingero-mcp":
                p.stdin.write((json.dumps(request(1, "ping")) + "\n" + json.dumps(call(2, "get_causal_chains")) + "\n").encode())
                p.stdin.flush()
                while json.loads(p.stdout.readline()).get("id") != 2:
                    pass
                p.stdin.close()
                tap.same((p.wait(WAIT), p.stderr.read()), (0, b""), f"{what}: of a whole recording there is nothing to tell")
            p.kill()
            p.wait(WAIT)
            for pipe in (p.stdout, p.stderr):
                pipe.close()
    env = {**os.environ, "INGERO_DB": os.path.join(tmp, "empty"), "INGERO_CONFIG": ""}
    hello = json.dumps(request(1, "server/discover", {"_meta": meta()})) + "\n"
    for args, status, why in (([run + ".no"], 3, "run.ige.no"), (["--tls-cert", "x", run], 2, "--http"), (["--http", ":0", "--no-tls", "--tls-cert", "x", "--tls-key", "y", run], 2, "no-tls"),
                              (["--http", "nowhere:x", run], 2, "nowhere"), (["--no-such"], 2, "no-such"), ([], 0, "no recording yet")):  # fmt: skip
        p = subprocess.run([MCP, *args], input=hello, env=env, capture_output=True, text=True, timeout=WAIT)
        if "built without" in p.stderr:
            tap.skip(f"ingero-mcp {' '.join(args[:1])}", "optional: " + p.stderr.strip()[:100])
            continue
        tap.ok(p.returncode == status and why in p.stderr, f"ingero-mcp {' '.join(a.replace(tmp, '') for a in args)}: status {status}", f"{p.returncode} {p.stderr}")

p = subprocess.run([MCP, "--http", ":0", "--no-tls"], stdin=subprocess.DEVNULL, stdout=open("/dev/full", "w"), stderr=subprocess.PIPE, text=True, timeout=WAIT)
if "built without" not in p.stderr:
    tap.ok(p.returncode == 3 and "No space left" in p.stderr, "an address that cannot be told is a failure, not a server that nobody finds", p.stderr)

# ---- over HTTP ----

web = subprocess.Popen([SERVER, "--http", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
url = web.stdout.readline().strip()
if not url:
    why = web.stderr.read()
    if "libmicrohttpd" in why:
        tap.skip("over HTTP", f"optional: {why.strip()}")
        tap.done_testing()
    tap.ok(False, "a server over HTTP", why)
    tap.done_testing()
PORT = int(url.rsplit(":", 1)[1].split("/")[0])


class Reply:
    def __init__(self, r):
        self.status, self.type, self.session = r.status, r.getheader("Content-Type", ""), r.getheader("Mcp-Session-Id")
        self.allow, self.body = r.getheader("Allow"), r.read()
        if "event-stream" in self.type:
            self.messages = [json.loads(line[6:]) for line in self.body.split(b"\n") if line.startswith(b"data: ")]
        else:
            self.messages = [json.loads(self.body)] if self.body and "json" in self.type else []

    @property
    def m(self):
        return self.messages[-1] if self.messages else None


def http_do(body, method="POST", path="/mcp", **headers):
    h = http.client.HTTPConnection("127.0.0.1", PORT, timeout=WAIT)
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent.update({k.replace("_", "-"): v for k, v in headers.items()})
    h.request(method, path, body if isinstance(body, bytes) or body is None else json.dumps(body).encode(), {k: v for k, v in sent.items() if v is not None})
    r = Reply(h.getresponse())
    h.close()
    return r


def stateless(m, **headers):
    p = m["params"]
    sent = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": m["method"]}
    if "name" in p or "uri" in p:
        sent["Mcp_Name"] = p.get("name", p.get("uri"))
    return http_do({**m, "params": {"_meta": meta(), **p}}, **{**sent, **headers})


for name, line, want, id in MALFORMED:
    r = http_do(line, MCP_Protocol_Version="2025-06-18")
    status = 400 if want in (-32700, -32600) or name.startswith("params is") else 200
    tap.same([r.status, code(r.m), r.m["id"]], [status, want, id], f"HTTP: {name}")
for name, line in SILENT[2:]:
    r = http_do(line)
    tap.same([r.status, r.body], [202, b""], f"HTTP: {name}")
tap.same([http_do(b"").status, http_do(b"[]").status, http_do(b"x" * (5 << 20)).status], [400, 400, 413], "HTTP: nothing, an empty batch, too much")
r = http_do([request(1, "ping"), request(2, "ping")])
tap.same([r.status, [m["id"] for m in r.m]], [200, [1, 2]], "HTTP: a batch")
tap.same([http_do(request(1, "ping"), Content_Type=t).status for t in ("text/plain", None, "application/jsonx", "application/json; charset=utf-8")], [415, 415, 415, 200], "HTTP: only JSON is taken")
for method, status in (("GET", 405), ("PUT", 405), ("OPTIONS", 204)):
    r = http_do(None, method)
    tap.same([r.status, r.allow and "POST" in r.allow], [status, True], f"HTTP: {method}")
tap.same(http_do(request(1, "ping"), path="/").status, 404, "HTTP: another path")
for host in ("evil.example", "127.0.0.1.evil.example"):
    tap.same(http_do(request(1, "ping"), Host=host).status, 403, f"HTTP: called {host}")
tap.same([http_do(request(1, "ping"), Origin=o).status for o in ("http://evil.example", "null", f"http://127.0.0.1:{PORT}")], [403, 403, 200], "HTTP: asked from a page")

INIT = request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
a, b = http_do(INIT), http_do(INIT)
tap.ok(a.session and b.session and a.session != b.session and len(a.session) >= 32, "HTTP: sessions have ids")
tap.same(http_do({"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=a.session).status, 202, "HTTP: initialized")
http_do(request(2, "logging/setLevel", {"level": "debug"}), Mcp_Session_Id=a.session)
tap.same([len(http_do(call(3, "test_tool_with_logging"), Mcp_Session_Id=s).messages) for s in (a.session, b.session, None)], [4, 1, 1], "HTTP: a level is one session's own")
r = http_do(call(4, "test_tool_with_progress", progressToken="p"), Mcp_Session_Id=a.session)
tap.same([r.type, [m.get("method", "answer") for m in r.messages]], ["text/event-stream", ["notifications/progress"] * 3 + ["answer"]], "HTTP: a stream where there is progress")
r = http_do(call(5, "test_tool_with_progress", progressToken="p"), Accept="application/json")
tap.same([r.type, len(r.messages)], ["application/json", 1], "HTTP: plain JSON for who reads no streams")
tap.same(http_do(call(6, "test_simple_text"), Mcp_Session_Id=a.session).type, "application/json", "HTTP: and where there is nothing to say before the end")
cancelled = []
t = threading.Thread(target=lambda: cancelled.append(http_do(call("c", "wait", {"ms": 1000000}), Mcp_Session_Id=b.session)))
t.start()
while not cancelled:  # until the call is there to be cancelled
    http_do({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}}, Mcp_Session_Id=b.session)
    t.join(0.01)
t.join(WAIT)
tap.same(code(cancelled[0].m), -32000, "HTTP: cancelled by another request of the session")
tap.same([http_do(None, "DELETE", Mcp_Session_Id=a.session).status, http_do(request(7, "ping"), Mcp_Session_Id=a.session).status, http_do(None, "DELETE", Mcp_Session_Id=a.session).status, http_do(None, "DELETE").status], [204, 404, 404, 400], "HTTP: a session that was ended")
tap.same(http_do(request(8, "ping"), Mcp_Session_Id=b.session).status, 200, "HTTP: the other one goes on")
tap.same([http_do(request(9, "ping"), MCP_Protocol_Version=v).status for v in (*LEGACY, "1999-01-01", "x" * 500)], [200] * 4 + [400] * 2, "HTTP: revisions in the header")

listing = request(1, "tools/list", {})
echo = request(1, "tools/call", {"name": "echo", "arguments": {"op": "x"}})
encoded = "=?base64?" + base64.b64encode(b"echo").decode() + "?="
HEADERS = [
    ("as it should be", listing, {}, 200, None),
    ("with a name", echo, {}, 200, None),
    ("a name in base64", echo, {"Mcp_Name": encoded}, 200, None),
    ("blanks around", echo, {"Mcp_Name": "  echo "}, 200, None),
    ("no version", listing, {"MCP_Protocol_Version": None}, 400, -32020),
    ("another version", listing, {"MCP_Protocol_Version": "2025-11-25"}, 400, -32020),
    ("no method", listing, {"Mcp_Method": None}, 400, -32020),
    ("another method", listing, {"Mcp_Method": "prompts/list"}, 400, -32020),
    ("the method in capitals", listing, {"Mcp_Method": "TOOLS/LIST"}, 400, -32020),
    ("no name", echo, {"Mcp_Name": None}, 400, -32020),
    ("another name", echo, {"Mcp_Name": "wait"}, 400, -32020),
    ("a name in bad base64", echo, {"Mcp_Name": "=?base64?ZWNo!!?="}, 400, -32020),
    ("base64 that is cut", echo, {"Mcp_Name": "=?base64?ZWNob?="}, 400, -32020),
    ("another name in base64", echo, {"Mcp_Name": "=?base64?d2FpdA==?="}, 400, -32020),
    ("no _meta", request(1, "tools/list", {"_meta": {}}), {}, 400, -32602),
    ("an unknown version", request(1, "tools/list", {"_meta": meta(**{META + "protocolVersion": "2099-01-01"})}), {"MCP_Protocol_Version": "2099-01-01"}, 400, -32022),
    ("an unknown method", request(1, "no", {}), {}, 404, -32601),
    ("a method that is gone", request(1, "ping", {}), {}, 404, -32601),
    ("initialize", INIT, {}, 404, -32601),
    ("wrong params", request(1, "tools/call", {"name": "none"}), {}, 200, -32602),
]
for name, m, headers, status, want in HEADERS:
    r = stateless(m, **headers)
    tap.same([r.status, code(r.m), r.m["id"]], [status, want, 1], f"HTTP, {STATELESS}: {name}")
tap.same(http_do(listing, MCP_Protocol_Version=STATELESS).status, 400, "HTTP: the header without a body that agrees")
tap.same(http_do(INIT, MCP_Protocol_Version=STATELESS).status, 400, "HTTP: initialize in a revision that has none")
r = stateless(request(1, "tools/call", {"name": "test_tool_with_progress", "_meta": meta(progressToken=1)}))
tap.same([r.type, len(r.messages), r.m["result"]["resultType"], r.session], ["text/event-stream", 4, "complete", None], f"HTTP, {STATELESS}: a stream, and no session")

# Who hangs up is not waited for: its call ends, or the 16 threads would soon be gone.
for half in (False, True):
    for _ in range(40):
        s = socket.create_connection(("127.0.0.1", PORT), timeout=WAIT)
        body = json.dumps(call(1, "wait", {"ms": 1000000})).encode()
        s.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        if half:
            s.shutdown(socket.SHUT_WR)
        s.close()
    tap.same(http_do(request(1, "ping")).status, 200, "HTTP: lives on after 40 that hung up" + (", half of them first" if half else ""))
s = [socket.create_connection(("127.0.0.1", PORT), timeout=WAIT) for _ in range(10)]
for i in s:
    i.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
tap.same(http_do(request(1, "ping")).status, 200, "HTTP: lives on beside ten that send nothing more")
for i in s:
    i.close()
answers = []
threads = [threading.Thread(target=lambda i=i: answers.append(text(http_do(call(i, "wait", {"ms": 10})).m))) for i in range(50)]
for t in threads:
    t.start()
for t in threads:
    t.join(WAIT)
tap.same(answers, ["waited"] * 50, "HTTP: fifty at once")
ids = [http_do(INIT).session for _ in range(1100)]
tap.same([http_do(request(1, "ping"), Mcp_Session_Id=i).status for i in (ids[0], ids[-1])], [404, 200], "HTTP: sessions are bounded; the oldest makes room")
web.send_signal(signal.SIGTERM)
tap.same(web.wait(WAIT), 0, "HTTP: told to end, it ends")
tap.done_testing()
