#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Lines of the older agent's documents (tests/cli/seeds.txt) that record: each runs as it stands beside a loop on the double until
# Ctrl-C, and leaves a recording unless it says otherwise. How trace ends, whoever is told to end it.
import glob
import fcntl
import http.server
import json
import os
import pty
import pwd
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

import seeds

rec.need_bpf()
EXPORT = os.path.join(tap.BIN, "ingero-export")
SECONDS = 300  # until what does not come is given up


def loop():
    return subprocess.Popen([rec.work("train"), "--seconds", "6000", "--step-us", "0", "--device-us", "5000"], env=rec.environment(), stdout=subprocess.DEVNULL)


loops = [loop(), loop()]
stand_for = {"{DB}": rec.path("db"), "4821": loops[0].pid, "5032": loops[1].pid, "bob": pwd.getpwuid(os.getuid()).pw_name}


def runs():
    return sorted(glob.glob(os.path.join(home, "*.ige")) + glob.glob(os.path.join(rec.path("db"), "*.ige")))


def read_until(p, wanted):
    """Standard error up to a line that holds wanted, or to its end."""
    text, end = "", time.monotonic() + SECONDS
    while time.monotonic() < end:
        line = p.stderr.readline()
        text += line
        if not line or wanted in line:
            break
    return text


def start(words, **settings):
    # A group of its own, as a shell would give it: Ctrl-C goes to all of it.
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**rec.environment(), "INGERO_DB": home, "INGERO_CONFIG": "", **settings}, start_new_session=True)


def ends(p):
    out, err = p.communicate(timeout=SECONDS)
    return p.returncode, out, err


def calls(path):
    return sum(n for n in rec.counts(path)[0].values())


def interrupt(p):
    os.killpg(p.pid, signal.SIGINT)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    def do_POST(self):
        self.server.came.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
receiver.came = []
threading.Thread(target=receiver.serve_forever, daemon=True).start()
stand_for[":9090"] = ":0"  # that port may be another's
stand_for["localhost:4318"] = f"127.0.0.1:{receiver.server_address[1]}"


def events(path):
    p = subprocess.run([EXPORT, "-e", "cuda", path], env=rec.environment(), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in p.stdout.splitlines()]


def scraped(where):
    """Metrics until a call is counted in them."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with urllib.request.urlopen(where, timeout=SECONDS) as answer:
            text = answer.read().decode()
        if re.search(r'^gpu_cuda_operations_total\{.*operation="cudaLaunchKernel".*\} [1-9]', text, re.M):
            return text
        time.sleep(0.05)
    return ""


def check_effect(command, out, err, path, scrape):
    """What a line of the documents promises, beyond that it runs."""
    words, found = command.split(), events(path) if path else []
    pids = {e["pid"] for e in found}
    if "--pid" in words:
        tap.same(pids, {loops[0].pid} | ({loops[1].pid} if "," in words[-1] else set()), f"{command}: only calls of those processes")
    elif path:
        tap.ok({x.pid for x in loops} <= pids, f"{command}: calls of every CUDA process of that user", str(pids))
    if "--node" in words:
        tap.same({e["node"] for e in found}, {"gpu-node-07"}, f"{command}: events carry the node's name")
    if "--stack=false" in words:
        tap.ok(not any(e.get("stack") for e in found), f"{command}: no event has a stack")
    elif path:
        tap.ok(any(e.get("stack") for e in found), f"{command}: events have stacks")
    if "--json" in words:
        printed = [json.loads(line) for line in out.splitlines()]
        tap.ok([e for e in printed if e.get("op") == "cudaLaunchKernel" and e["duration_ns"] > 0 and e.get("stack")],
               f"{command}: events on standard output, with stacks", out[:500])
    if "--verbose" in words:
        tap.ok(re.search(rf"^ +[\d.]+s +{loops[0].pid} +cudaLaunchKernel .*", out, re.M), f"{command}: single events on the screen", out[:500])
    if "--debug" in words:
        tap.ok("recorder used" in err and ("detached from" in err or "has not let go of the probes" in err), f"{command}: details on standard error", err)
        tap.ok(re.search(r" cudaLaunchKernel .*\n(?: {24}\S.*\n)+ {24}main \(train.c:", out), f"{command}: every event with its stack to main", out[:1500])
    if "--prometheus" in words:
        tap.ok(scrape, f"{command}: a scrape while it records counts the calls", err)
    if "--otlp" in words:
        sent = {m["name"] for path, body in receiver.came for r in json.loads(body)["resourceMetrics"] for s in r["scopeMetrics"] for m in s["metrics"]}
        tap.ok("gpu.cuda.operation.duration" in sent and {p for p, _ in receiver.came} == {"/v1/metrics"}, f"{command}: a push arrives at the receiver", str(sent))
        receiver.came.clear()


home = rec.path("home")
try:
    for kind, _, command in seeds.lines():
        if kind != "live":
            continue
        for folder in (home, rec.path("db")):
            shutil.rmtree(folder, ignore_errors=True)
        if command.startswith("ingero demo"):
            for x in loops:  # the CPU is for those of the demonstration
                x.send_signal(signal.SIGSTOP)
            p = start(seeds.words(command, stand_for))
            status, out, err = ends(p)
            for x in loops:
                x.send_signal(signal.SIGCONT)
            tap.ok(status == 0 and re.search(r"nightly-backup", out) and not seeds.unknown(err), command, err + out[:2000])
            if "--json" in command:
                tap.ok("nightly-backup" in [c["culprit"]["comm"] for c in json.loads(out)["chains"]], f"{command}: the hog is named", out[:500])
            continue
        p = start(seeds.words(command, stand_for))
        err = read_until(p, "libcuda.so.1: ")
        kept = "--record=false" not in command
        end = time.monotonic() + SECONDS
        while kept and time.monotonic() < end and not (runs() and calls(runs()[0])):
            time.sleep(0.05)
        scrape = ""
        if "--prometheus" in command:
            err += read_until(p, "/metrics")
            scrape = scraped(re.search(r"http://\S+/metrics", err)[0])
        interrupt(p)
        status, out, rest = ends(p)
        err += rest
        answer = '"op"' in out if "--json" in command else "coverage: " in out
        found = runs()
        tap.ok(status == 0 and answer and not seeds.unknown(err), command, f"status {status}\n{err}\n{out[:1000]}")
        tap.ok(len(found) == kept and (not kept or calls(found[0]) > 0), f"{command}: {'a recording with calls' if kept else 'no recording'} is left",
               f"{found}")
        check_effect(command, out, err, found[0] if found else None, scrape)

    # ---- a time that is set
    shutil.rmtree(home, ignore_errors=True)
    p = start([seeds.FRONT, "trace", "--pid", str(loops[0].pid), "--duration", "1s"])
    status, out, err = ends(p)
    tap.ok(status == 0 and "coverage: " in out and calls(runs()[0]) > 0, "--duration: it ends by itself, with a recording", f"{status} {err}")

    # ---- how it ends
    for name, number in (("SIGINT", signal.SIGINT), ("SIGTERM", signal.SIGTERM), ("SIGHUP", signal.SIGHUP)):
        for whom, tell in (("it alone", lambda p, n: p.send_signal(n)), ("all of it", lambda p, n: os.killpg(p.pid, n))):
            shutil.rmtree(home, ignore_errors=True)
            p = start([seeds.FRONT, "trace", "--pid", str(loops[0].pid)])
            read_until(p, "libcuda.so.1: ")
            tell(p, number)
            status, out, err = ends(p)
            s = rec.stat(runs()[0]) if runs() else {"coverage": {"complete": False}}
            tap.ok(status == 0 and "coverage: " in out and s["coverage"]["complete"], f"{name} to {whom}: a whole recording, a table, status 0",
                   f"status {status}\n{err}\n{out[:500]}")

    p = start([seeds.FRONT, "trace", "--record=false", "--", "sh", "-c", "echo said; exit 7"])
    status, out, err = ends(p)
    tap.ok(status == 7 and "said" in err and "said" not in out, "the program's status, and its output apart", f"{status}\n{out}\n{err}")
    p = start([seeds.FRONT, "trace", "--", "/nowhere/at/all"])
    status, out, err = ends(p)
    tap.ok(status == 127 and out == "" and err.splitlines()[-1].startswith("ingero-record: cannot run /nowhere"),
           "a program that is not there: the recorder's word is the last", f"{status}\n{out}\n{err}")
    p = start([seeds.FRONT, "trace", "--nosuch"])
    status, out, err = ends(p)
    tap.ok(status == 2 and out == "" and err.count("\n") == 1, "a wrong option: one line", f"{status}\n{out}\n{err}")

    # ---- on a terminal a page is renewed
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 60, 160, 0, 0))
    p = subprocess.Popen([seeds.FRONT, "trace", "--record=false", "--pid", str(loops[0].pid)], stdin=slave, stdout=slave, stderr=slave,
                         env={**rec.environment(), "TERM": "xterm", "INGERO_CONFIG": ""}, start_new_session=True,
                         preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # a page is for whoever has the keys
    os.close(slave)
    drawn, end = b"", time.monotonic() + SECONDS
    while (drawn.count(b"\033[H") < 4 or b"cudaLaunchKernel" not in drawn) and time.monotonic() < end:
        if select.select([master], [], [], 1)[0]:
            drawn += os.read(master, 65536)
    tap.ok(b"\033[?1049h" in drawn and drawn.count(b"\033[H") >= 4 and b"cudaLaunchKernel" in drawn, "on a terminal a page is renewed while it records", drawn[:2000])
    interrupt(p)
    while True:
        try:
            got = os.read(master, 65536)
        except OSError:
            break
        drawn += got
        if not got:
            break
    tap.same(p.wait(SECONDS), 0, "Ctrl-C ends it there too")
    last = drawn[drawn.rfind(b"\033[?1049l"):]
    tap.ok(b"target" in last and b"recorded " in last and b"coverage: " in last[last.find(b"recorded "):],
           "then what the recorder said and the whole stand there", last[:3000])
    os.close(master)
finally:
    for p in loops:
        p.kill()
        p.wait()
tap.done_testing()
