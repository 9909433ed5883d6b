#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Programs of which each makes its steps and then waits to the end, recorded side by side. A hang is told with who stands behind it;
# a server that nobody asks any more, workers that rest and a program that waits for a terminal are none. The steps are those that
# were made.

import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

PROGRAM = r"""
import ctypes, http.server, multiprocessing, os, queue, signal, socket, sys, threading, time, urllib.request
import cuda

signal.alarm(40)
lib = cuda.Cuda()
stream, kernel = ctypes.c_void_p(), ctypes.c_char()
lib.cudaStreamCreate(stream)

def step():
    for _ in range(4):
        lib.cudaLaunchKernel(ctypes.addressof(kernel), cuda.ONE, cuda.ONE, None, 0, stream)
    lib.cudaStreamSynchronize(stream)

def ask(port):
    if os.fork() == 0:
        time.sleep(0.3)
        for _ in range(300):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/").read()
        os._exit(0)

def serve(kind):
    requests = queue.Queue()
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            done = threading.Event()
            requests.put(done)
            done.wait()
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
        def log_message(self, *ignored):
            pass
    server = kind(("127.0.0.1", 0), Handler)
    ask(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while True:
        done = requests.get(); step(); done.set()

def idle_server():
    serve(http.server.HTTPServer)

def thread_for_each_request():
    serve(http.server.ThreadingHTTPServer)

def other_order():
    a, b = threading.Lock(), threading.Lock()
    has_b, has_a = [], []
    def save():
        time.sleep(1)
        with b:
            has_b.append(True)
            while not has_a:
                time.sleep(0.005)
            a.acquire()
    threading.Thread(target=save, daemon=True).start()
    while True:
        with a:
            if has_b:
                has_a.append(True)
                b.acquire()
            step()

def producer_ended():
    items = queue.Queue(4)
    def produce():
        for i in range(400):
            items.put(i)
            time.sleep(0.002)
    threading.Thread(target=produce, daemon=True).start()
    while True:
        items.get(); step()

def no_answer():
    server = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        other, _ = server.accept()
        for _ in range(300):
            other.recv(10)
            other.send(b"x")
        time.sleep(30)
        os._exit(0)
    client = socket.create_connection(server.getsockname())
    def fetch():
        client.send(b"y"); client.recv(10)
    while True:
        fetch(); step()

def work(tasks, results):
    signal.alarm(40)
    while True:
        tasks.get()
        results.put(sum(range(20000)))

def resting_workers():
    tasks, results = multiprocessing.Queue(), multiprocessing.Queue()
    for _ in range(2):
        multiprocessing.Process(target=work, args=(tasks, results), daemon=True).start()
    for _ in range(300):
        tasks.put(1); results.get(); step()
    while True:
        step()

def terminal():
    for _ in range(500):
        step()
    os.read(0, 1)

globals()[sys.argv[1]]()
"""
# steps: as made, where the recording can know; in: function of the hang; behind: what the finding says of whom it is for
CASES = (
    ("idle_server", 300, None, ""),
    ("thread_for_each_request", 300, None, ""),
    ("other_order", None, "other_order", r"(never woke up again either|ended its last wait) \(perhaps\), and waits itself in .*save "),
    ("producer_ended", 400, "producer_ended", r"ended such a wait last \(likely\), last seen in .*produce .*; that one has ended"),
    ("no_answer", 300, "fetch", r"has the other end of the socket, .*; that one sleeps"),
    ("resting_workers", None, None, ""),
    ("terminal", 500, None, ""),
)
script = rec.path("hangs.py")
with open(script, "w", encoding="ascii") as f:
    f.write(PROGRAM)


def explained(name):
    p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), "--json", rec.path(name)], capture_output=True, text=True)
    return json.loads(p.stdout)


def begin(name):
    return subprocess.Popen(
        rec.command(["-o", rec.path(name), "--duration", "10s", "--", sys.executable, script, name], False),
        env=rec.environment(PYTHONPATH=rec.WORK, DOUBLE_LAUNCH_NS=200000), stdin=stdin[0], stdout=subprocess.DEVNULL,
        stderr=open(rec.path(name + ".said"), "w", encoding="utf-8"))


# They hardly compute, but each recorder that begins does.
AT_ONCE = 3
stdin = os.pipe()
recorders = [begin(name) for name, *_ in CASES[:AT_ONCE]]
for i, (name, steps, where, behind) in enumerate(CASES):
    recorders[i].wait(timeout=rec.PATIENCE)
    if i + AT_ONCE < len(CASES):
        recorders.append(begin(CASES[i + AT_ONCE][0]))
    with open(rec.path(name + ".said"), encoding="utf-8") as f:
        stderr = f.read()
    report = explained(name)
    hangs = [c for c in report["chains"] if c["kind"] == "hang"]
    grave = [c for c in report["chains"] if c["severity"] == "HIGH" and c["kind"] in ("hang", "gpu-idle", "call-hung") and
             "until the end" in c["summary"]]
    if where:
        tap.ok(len(hangs) == 1 and hangs[0]["severity"] == "HIGH" and re.search(rf"waits to the end .*{where} \(hangs.py:\d+\)[^:]*( \(threading.py:\d+\))?: .*{behind}",
                                                                               hangs[0]["summary"]),
               f"{name}: a hang, and who stands behind it", "\n".join(c["summary"] for c in report["chains"]) + stderr)
    else:
        tap.none((c["summary"] for c in hangs + grave), f"{name}: no hang, nor a device that stands still for that")
    if steps:
        counted = max((s["count"] for s in report["steps"] if "hangs.py" in s["loop"]), default=0)
        tap.ok(abs(counted - steps) <= 2, f"{name}: its steps", f"{counted} of {steps}")
tap.done_testing()
