#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What can be tried with our programs and their files: recordings that become pipes, sockets and devices while they are served, and
# damaged ones, of which an exit status must not say that all is well.

import contextlib
import csv
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import tap  # noqa: E402

TMP = tempfile.TemporaryDirectory(prefix="ingero-test.")
BOUND = 20  # seconds for what takes milliseconds
DEMO, EXPORT, STAT = (os.path.join(tap.BIN, "ingero-" + n) for n in ("demo", "export", "stat"))


def path_of(name):
    return os.path.join(TMP.name, name)


run = path_of("run.ige")
subprocess.run([DEMO, "incident", "-q", "--duration", "2s", "-o", run], check=True)
archive = path_of("run.db")
subprocess.run([EXPORT, "-q", "-f", "sqlite", "-o", archive, run], check=True)

# ---- a recording that is replaced while it is served ----


def put_socket(path):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as s:
        s.bind(path)


def put_device(path):
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero


def put_folder(path):
    os.mkdir(path)


KINDS = (("FIFO", os.mkfifo), ("socket", put_socket), ("device", put_device), ("folder", put_folder))
ASKED = ("/api/v1/overview", "/api/v1/ops", "/api/v1/chains", "/api/v1/report", "/metrics")


def ask_replaced(kind, put, original):
    served = path_of("served" + os.path.splitext(original)[1])
    with open(original, "rb") as f, open(served, "wb") as g:
        g.write(f.read())
    board = dashboard.Dashboard(served)
    if not board.url:
        tap.skip_all("optional: " + board.said.strip()[-100:])
    dashboard.PATIENCE, patience = BOUND, dashboard.PATIENCE
    os.unlink(served)
    try:
        put(served)
    except OSError as e:
        board.end()
        print(f"# no {kind} can be made here: {e}")
        return
    statuses, said = [], b""
    for path in ASKED:
        try:
            status, _, said = board.ask(path)
        except TimeoutError:
            status = "no answer"
        statuses.append(status)
    name = f"{os.path.basename(original)} that became a {kind}"
    tap.ok(all(s in (404, 500, 503) for s in statuses), f"{name}: every question is answered, by an error", f"{statuses} {said[:200]}")
    tap.same(board.end(), 0, f"{name}: the server ends when it is told to")
    dashboard.PATIENCE = patience
    (os.rmdir if kind == "folder" else os.unlink)(served)


for kind, put in KINDS:
    for original in (run, archive):
        ask_replaced(kind, put, original)

# ---- who may ask: an address of this machine is every user's ----

MCP = os.path.join(tap.BIN, "ingero-mcp")
TOLD = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def statuses(board, token):
    wanted = {"Authorization": f"Bearer {token}"}
    return [board.ask(path, headers=h)[0] for path in ("/", "/api/v1/overview", "/metrics") for h in ({}, {"Authorization": "Bearer x"}, wanted)]


GUARDED, OPEN = [200, 200, 200, 401, 401, 200, 401, 401, 200], [200] * 9
with dashboard.Dashboard(run, token=True) as board, dashboard.Dashboard(run, token=True) as other:
    tap.ok(re.fullmatch("[0-9a-f]{32}", board.token) and board.token != other.token, "a dashboard prints a token of this run with its address", f"{board.token} {other.token}")
    tap.same(statuses(board, board.token), GUARDED, "and answers who has it; the page itself asks for it")
    tap.same(statuses(board, other.token), GUARDED[:5] + [401] + GUARDED[6:8] + [401], "not who has another's")
with dashboard.Dashboard(run, token=True, env={"INGERO_TOKEN": "a-token"}) as board:
    tap.same((board.token, statuses(board, "a-token")), ("", GUARDED), "one that was set is not printed")
    with open(f"/proc/{board.p.pid}/environ", "rb") as f:
        tap.ok(b"a-token" not in f.read(), "and stands in its environment no longer")
with dashboard.Dashboard(run, "--no-token") as board:
    tap.same(statuses(board, "x"), OPEN, "--no-token: everybody is answered")
tap.ok("open to every user" in board.said, "which is told", board.said)
p = subprocess.run([dashboard.PROGRAM, "--no-token", "--token-file", run, run], capture_output=True, text=True, env=dashboard.ENV)
tap.same((p.returncode, "not both" in p.stderr), (2, True), "--no-token with a token")


def ask_mcp(*args, env=None):
    """The token that is printed; statuses without one and with that or the other."""
    with subprocess.Popen([MCP, "--http", ":0", "--no-tls", *args, run], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**dashboard.ENV, **(env or {})}) as p:
        port = int(re.search(r":(\d+)/", p.stdout.readline())[1])
        token = p.stdout.readline().strip().removeprefix("Authorization: Bearer ") if not args and not env else ""
        found = []
        for sent in "", token or "a-token":
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND)) as c:
                c.request("POST", "/mcp", json.dumps(TOLD), {"Content-Type": "application/json", **({"Authorization": f"Bearer {sent}"} if sent else {})})
                found.append(c.getresponse().status)
        with open(f"/proc/{tap.children_of(p.pid)[0]}/environ", "rb") as f:
            found.append(b"a-token" in f.read())
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=BOUND)
    return len(token), found


tap.same(ask_mcp(), (32, [401, 200, False]), "ingero-mcp over HTTP prints one, too")
tap.same(ask_mcp(env={"INGERO_TOKEN": "a-token"}), (0, [401, 200, False]), "or takes the one that is set, which its child does not get")
tap.same(ask_mcp("--no-token"), (0, [200, 200, False]), "or none")

# ---- memory that a question took is given back ----

SORT = """WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000000)
SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY x * 7919 % 2000003) AS r, x, x || 'some text that is not short' AS t FROM c) WHERE t > ''"""


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) / 1024


with dashboard.Dashboard(run) as board:
    board.sql("SELECT count(*) FROM events")
    before = resident_mb(board.p.pid)
    asked = []
    askers = [threading.Thread(target=lambda: asked.append(board.sql(SORT)[0])) for _ in range(3)]
    for asker in askers:
        asker.start()
    most = before
    while any(asker.is_alive() for asker in askers):
        most = max(most, resident_mb(board.p.pid))
        time.sleep(0.02)
    after = resident_mb(board.p.pid)
    if "-fsanitize" in os.environ.get("INGERO_COMPILE", ""):
        tap.skip("of large sorts nothing stays", "a sanitizer keeps what is freed for a while")
    else:
        tap.ok(most > before + 50 and after < before + 64, "of large sorts nothing stays", f"{asked}: {before:.0f} MB, {most:.0f}, {after:.0f}")

# Of a program that reads once a pipe stays an input.
pipe = path_of("pipe")
os.mkfifo(pipe)
with subprocess.Popen([STAT, "--json", pipe], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader, open(run, "rb") as f:
    with open(pipe, "wb") as g:
        g.write(f.read())
    out = reader.communicate(timeout=BOUND)
    tap.ok(reader.returncode == 0 and b'"ops"' in out[0], "a FIFO on the command line is read", str(out)[-300:])

# ---- names that do something where they are printed ----

NAME = b"=ev\x1b[31m\xc2\x9b\xe2\x80\xae\xffl"
MADE = "SELECT '=ev' || char(27) || char(155) || char(8238) AS name FROM nodes"
HARM = {"ESC": b"\x1b", "C1": b"\xc2\x9b", "bidi": b"\xe2\x80\xae"}
# A copy of the program has names of the same length in place of its own: programs, files, functions, groups.
with open(DEMO, "rb") as f:
    program = f.read()
for original in (b"/usr/sbin/log-compactor --all", b"/usr/sbin/log-compactor", b"/opt/train/bin/train", b"/kubepods/pod-train/main", b"train.cpp", b"train_step\0",
                 b"forward_pass", b"read_loss"):
    end = b"\0" if original.endswith(b"\0") else b""
    begin = original[:1] if original.startswith(b"/") else b"="
    program = program.replace(original, (begin + b"\x1b\xe2\x80\xae\xff" + b"=\x1b[31m\xc2\x9bzzzzzzzzzzzzzzz")[: len(original) - len(end)] + end)
hostile = path_of("hostile-demo")
with open(hostile, "wb") as f:
    f.write(program)
os.chmod(hostile, 0o755)
evil, plain = path_of("evil.ige"), path_of("plain.ige")
subprocess.run([hostile, "incident", "-q", "--duration", "2s", "-n", NAME, "-o", plain], check=True)
subprocess.run([os.path.join(tap.BIN, "ingero-correlate"), "-q", plain, "-o", evil], check=True)
found = subprocess.run([STAT, "--by", "stack", "--json", evil], stdout=subprocess.PIPE, check=True, timeout=6 * BOUND).stdout
tap.ok(b"train_step" not in found and b"forward_pass" not in found, "names of the recording are those of the copy", found[-300:])
harmful = []
for name, argv in {
    **{f"stat {o}": ("stat", *o.split(), evil) for o in ("", "--brief", "--plot", "--json", "--by stack", "--by line", "--by kernel", "--by pid", "--by cgroup")},
    **{f"explain {o}": ("explain", *o.split(), evil) for o in ("", "--json", "--per-process", "--steps")},
    **{f"query {o} {q}": ("query", *o.split(), evil, q) for o in ("", "--csv", "--json") for q in (MADE, "SELECT * FROM process_names", "SELECT * FROM stack_traces")},
    "query": ("query", evil), "text with stacks": ("export", "-f", "text", "--stacks", evil), "all records": ("export", "-f", "json", "--records", evil),
    **{"export -f " + f: ("export", "-f", f, evil) for f in ("csv", "text", "json", "folded", "speedscope", "chrome", "prometheus", "otlp", "clickhouse", "html")},
}.items():
    p = subprocess.run([os.path.join(tap.BIN, "ingero-" + argv[0]), *argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=6 * BOUND)
    out = p.stdout + p.stderr
    harmful += [f"{name}: {what}" for what, text in HARM.items() if text in out]
    try:
        out.decode()
    except UnicodeDecodeError:
        harmful.append(f"{name}: no UTF-8")
    if p.returncode:
        harmful.append(f"{name}: {p.stderr}")
    if "csv" in name:
        cells = [cell for row in csv.reader(out.decode(errors="replace").splitlines()) for cell in row]
        if any(cell[:1] in ("=", "+", "@") for cell in cells):
            harmful.append(f"{name}: a formula")
tap.none(harmful, "names with controls, a turn of direction and bytes that are no text are names in every output")

# ---- recordings that are cut or damaged: every program says so ----

with open(run, "rb") as f:
    whole = f.read()
middle = len(whole) // 2
hurt = {"cut": whole[:middle], "flipped": whole[:middle] + bytes(b ^ 0xFF for b in whole[middle : middle + 8]) + whole[middle + 8 :]}
PROGRAMS = {
    "stat": ("stat", "--json"), "explain": ("explain", "--json"), "correlate": ("correlate",), "merge": ("merge",), "query": ("query", "SELECT count(*) FROM events"),
    "record --bundle": ("record", "--bundle"), **{"export -f " + f: ("export", "-f", f) for f in ("csv", "folded", "json", "perfetto", "sqlite", "prometheus", "html")},
}
for name, argv in PROGRAMS.items():
    program = [os.path.join(tap.BIN, "ingero-" + argv[0]), *argv[1:]]
    if not os.path.exists(program[0]):
        print(f"# there is no {program[0]}")
        continue
    for what, content in {"whole": whole, **hurt}.items():
        operand = path_of(what + ".ige")
        with open(operand, "wb") as f:
            f.write(content)
        output = [] if argv[0] in ("stat", "explain") else ["-o", path_of("out")]
        line = [program[0], operand, *program[1:]] if argv[0] == "query" else [*program, *output, operand]
        p = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=6 * BOUND)
        if what == "whole":
            tap.same(p.returncode, 0, f"{name}: a whole recording, nothing to complain of")
        else:
            tap.ok(p.returncode == 4 and operand.encode() in p.stderr, f"{name}: a {what} one, exit status 4 and its name", f"{p.returncode} {p.stderr[-300:]}")

bundle = path_of("run.igb")
subprocess.run([os.path.join(tap.BIN, "ingero-record"), "-q", "--bundle", run], check=False)
for original in (archive, bundle):
    if not os.path.exists(original):
        continue
    with open(original, "rb") as f:
        whole = f.read()
    operand = path_of("cut" + os.path.splitext(original)[1])
    with open(operand, "wb") as f:
        f.write(whole[: len(whole) // 2])
    p = subprocess.run([STAT, "--json", operand], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=6 * BOUND)
    tap.ok(p.returncode == 4 and operand.encode() in p.stderr, f"{os.path.basename(operand)}: exit status 4 and its name", f"{p.returncode} {p.stderr[-300:]}")

# ---- programs that only analyze get no rights to do more ----

if os.geteuid() == 0:
    bin_folder = path_of("bin")
    os.mkdir(bin_folder)
    shutil.copy(DEMO, bin_folder)
    for name in ("ingero-correlate", "ingero-explain"):
        with open(os.path.join(bin_folder, name), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\ncat >/dev/null\ngrep -E '^(Cap|NoNew)' /proc/self/status >&2\n")
        os.chmod(os.path.join(bin_folder, name), 0o755)
    p = subprocess.run([os.path.join(bin_folder, "ingero-demo"), "--explain", "clean", "--duration", "1s"],
                       capture_output=True, text=True, timeout=6 * BOUND)
    sets = re.findall(r"^(CapInh|CapPrm|CapEff|CapBnd|CapAmb):\s*([0-9a-f]+)$", p.stderr, re.M)
    tap.same(len(sets), 10, "both children of a demonstration say what they may do")
    tap.none((s for s in sets if int(s[1], 16) & ~(1 << 2)), "of root's capabilities they have none but that to read files")
    tap.same(re.findall(r"^NoNewPrivs:\s*(\d)$", p.stderr, re.M), ["1", "1"], "and cannot get more")
else:
    tap.skip("rights of children", "optional: there are none to be dropped without root")

tap.done_testing()
