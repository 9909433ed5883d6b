#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A run that hangs: threads that sleep when recording begins, or still sleep when it ends, are in the recording with what they
# wait for, as long as the kernel and the recording's own length say; and the report says who stands still, and where.
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, "tests")
import pythons
import recording as rec
import schema
from recording import tap

rec.need_bpf()
SCHEMA = json.load(open("formats/explain.schema.json"))

# A hundred steps, and then it waits for what never comes; it says so just before.
HANG = r"""
import ctypes, os, socket, sys, threading, time
c = ctypes.CDLL("libcudart.so.13")
p, s = ctypes.c_void_p(), ctypes.c_void_p()
c.cudaMalloc(ctypes.byref(p), 1 << 20)
c.cudaStreamCreate(ctypes.byref(s))
for _ in range(100):
    c.cudaMemsetAsync(p, 0, 1 << 16, s)
    c.cudaStreamSynchronize(s)
lock, (a, b) = threading.Lock(), socket.socketpair()
lock.acquire()
def checkpoint():
    lock.acquire()
def fetch():
    b.recv(1)
print("hangs", flush=True)
{"lock": checkpoint, "socket": fetch}[sys.argv[1]]()
"""
script = rec.path("hang.py")
with open(script, "w") as f:
    f.write(HANG)


def explain(ige):
    p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), ige], capture_output=True, text=True, timeout=300)
    return p.stdout


def waits(ige, pid):
    events, _, _ = rec.dump(ige)
    return [e for e in events if e["op"] == "offcpu" and e["pid"] == pid and "cpu_in" not in e["x"]]


def line_of(text):
    return 1 + next(i for i, line in enumerate(HANG.splitlines()) if text in line)


KINDS = {"lock": (1, "waiting for another thread (condition, semaphore)", "waiting for another thread in checkpoint",
                  "checkpoint", line_of("    lock.acquire()"), "a lock or a condition in checkpoint (hang.py:"),
         "socket": (10, "blocked on a socket", "waiting for a socket in fetch", "fetch", line_of("b.recv"),
                    "a socket or descriptors in fetch (hang.py:")}
LAST = line_of("sys.argv[1]]()")
for what, (kind, state, cause, function, line, path) in KINDS.items():
    # It hangs already, and is attached to.
    hung = subprocess.Popen([sys.executable, script, what], stdout=subprocess.PIPE, text=True, env=rec.environment())
    hung.stdout.readline()
    while open(f"/proc/{hung.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "S":
        pass
    ige = rec.path(what + ".ige")
    p = rec.run("-o", ige, "-p", str(hung.pid), "--duration", "3s")
    asleep = waits(ige, hung.pid)
    tap.ok(p.returncode == 0 and len(asleep) == 1, f"{what}: attached to, one wait without an end", (p.stderr, asleep))
    tap.ok(asleep and asleep[0]["x"].get("object_kind") == kind, f"{what}: what it waits for", asleep)
    tap.same(asleep and [(name, at) for name, _, at in pythons.python_of(asleep[0])], [(function, line), ("<module>", LAST)], f"{what}: with the stack it had before")
    said = explain(ige)
    tap.ok("No call was made" in said and "1 process stood still" in said and f"(pid {hung.pid}): {state}" in said and
           f"{function} (hang.py:{line})" in said, f"{what}: the report says so, and where", said)
    p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), "--json", ige], capture_output=True, text=True, timeout=300)
    standing, wall = json.loads(p.stdout)["standing"], json.loads(p.stdout)["coverage"]["duration_ns"]
    tap.ok(asleep and wall / 2 < asleep[0]["dur"] <= wall, f"{what}: for most of the recording", (wall, asleep))
    tap.same([(x["pid"], x["threads"], x["frames"]) for x in standing],
             [(hung.pid, 1, [f"{function} (hang.py:{line})", f"<module> (hang.py:{LAST})"])], f"{what}: as JSON, too")
    tap.none(schema.complaints(json.loads(p.stdout), SCHEMA), f"{what}: and as its schema says")
    hung.kill()
    hung.wait()
    hung.stdout.close()

    # It was recorded before it hung.
    if os.path.exists(ige):
        os.unlink(ige)
    recorder = subprocess.Popen([os.path.join(rec.BUILD, "bin", "ingero-record"), "-o", ige, "--", sys.executable, script, what],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=rec.environment())
    recorder.stdout.readline()
    try:
        recorder.communicate(timeout=2.5)
        tap.ok(False, f"{what}: it hangs")
    except subprocess.TimeoutExpired:
        pass
    recorder.send_signal(signal.SIGTERM)
    err = recorder.communicate(timeout=rec.PATIENCE)[1]
    said = explain(ige)
    first = said.splitlines()[0] if said else ""
    tap.ok(f"waits to the end for {path}" in first, f"{what}: recorded from the beginning", said + err)
    # Of steps as short as these it is chance whether they are known as a loop: without one it is the device that stands still.
    tap.ok("HIGH hang " in said or ("until the end" in said and cause in said), f"{what}: and so says the cause", said)
# Ranks that wait for one that waits for something else: that one is told first.
RANKS = r"""
import os, socket, threading
pairs, lock = [socket.socketpair() for _ in range(4)], threading.Lock()
lock.acquire()
def load_batch():
    lock.acquire()
def all_reduce(rank):
    pairs[rank][0].recv(1)
for rank in range(4):
    pid = os.fork()
    if pid == 0:
        load_batch() if rank == 2 else all_reduce(rank)
    print(pid, flush=True)
os.wait()
"""
with open(script, "w") as f:
    f.write(RANKS)
parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=rec.environment())
ranks = [int(parent.stdout.readline()) for _ in range(4)]
while any(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "S" for pid in (parent.pid, *ranks)):
    pass
ige = rec.path("ranks.ige")
p = rec.run("-o", ige, "-p", str(parent.pid), "--duration", "300ms")
said = explain(ige)
lines = [line for line in said.splitlines() if not line.startswith("No CUDA library was seen")]
tap.ok(len(lines) > 9 and lines[1].startswith("5 processes stood still.") and f"(pid {ranks[2]}): waiting for another thread" in lines[2] and
       "load_batch (hang.py:" in lines[3], "of five processes, the one that waits for something else comes first", said)
asked = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                                       "clientInfo": {"name": "asleep.t", "version": "1"}}},
         {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_causal_chains", "arguments": {}}}]
p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-mcp"), ige], input="".join(json.dumps(x) + "\n" for x in asked),
                   capture_output=True, text=True, timeout=300)
told = json.loads(p.stdout.splitlines()[-1])["result"]
standing = told["structuredContent"]["standing"]
tap.ok(standing[0]["pids"] == [ranks[2]] and standing[0]["frames"][0].startswith("load_batch (hang.py:") and
       "load_batch (hang.py:" in told["content"][0]["text"] and "no call was made" in told["structuredContent"]["verdict"],
       "an assistant is told, too", told)
together = [line for line in lines if all(str(pid) in line for pid in (ranks[0], ranks[1], ranks[3]))]
tap.ok(len(together) == 1 and "blocked on a socket" in together[0], "those that wait alike are told once", said)
for pid in (*ranks, parent.pid):
    os.kill(pid, signal.SIGKILL)
parent.wait()
parent.stdout.close()

# A launcher that waits for its child, and the tracker of resources that Python started, stand still in every run.
LAUNCHED = r"""
import os, threading, time
import multiprocessing.resource_tracker as tracker
tracker.ensure_running()
lock = threading.Lock()
lock.acquire()
def checkpoint():
    lock.acquire()
def serve():
    while True:
        time.sleep(0.01)
print(os.getpid(), tracker._resource_tracker._pid, flush=True)
"""


def launched(what):
    """The pids of a launcher, its program, and the tracker of that; all of them asleep."""
    with open(script, "w") as f:
        f.write(LAUNCHED + what + "()\n")
    launcher = subprocess.Popen(["timeout", "600", sys.executable, script], stdout=subprocess.PIPE, text=True, env=rec.environment())
    pids = [launcher.pid, *map(int, launcher.stdout.readline().split())]
    while any(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "S" for pid in pids):
        pass
    return launcher, pids


def end(launcher, pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    launcher.wait()
    launcher.stdout.close()


launcher, pids = launched("checkpoint")
ige = rec.path("launched.ige")
p = rec.run("-o", ige, "-p", str(launcher.pid), "--duration", "1s")
said = explain(ige)
tap.ok("1 process stood still" in said and f"(pid {pids[1]}): waiting for another thread" in said and "checkpoint (hang.py:" in said,
       "a launcher and a tracker are not told with the weight of who hangs", said)
tap.ok(f"(pid {pids[0]})" not in said and f"(pid {pids[2]})" not in said, "nor as having a time of their own", said)
ige = rec.path("tracker.ige")
p = rec.run("-o", ige, "-p", str(pids[2]), "--duration", "1s")
said = explain(ige)
tap.ok("1 process stood still" in said and f"(multiprocessing.resource_tracker) (pid {pids[2]})" in said, "where nobody else is recorded they are", said)
end(launcher, pids)
launcher, pids = launched("serve")
ige = rec.path("serves.ige")
p = rec.run("-o", ige, "-p", str(launcher.pid), "--duration", "1s")
said = explain(ige)
tap.ok(said and "stood still. " not in said and f"(pid {pids[2]})" not in said, "beside one that goes on they are not, either", said)
end(launcher, pids)
tap.done_testing()
