#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What was ready when a wait for several descriptors ended: each that epoll_wait gave the program, by its own account; the
# pipe of a poll of one; nothing of a wait that timed out.
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

PROGRAM = r"""
import ctypes, json, os, select, socket, sys, threading, time
libc = ctypes.CDLL(None)
me, said = threading.get_native_id(), []
def asleep():
    while open(f"/proc/self/task/{me}/stat").read().rsplit(")", 1)[1].split()[0] != "S":
        pass
    time.sleep(0.01)  # for as long as waits that are told last
def act(f):
    asleep()
    f()
def waits(kind, wait, f):
    t = threading.Thread(target=act, args=(f,))
    before = time.monotonic_ns()
    t.start()
    got = wait()
    said.append([before, time.monotonic_ns(), kind, sorted(fd for fd, _ in got)])
    t.join()
r, w = os.pipe()
event, listener = libc.eventfd(0, 0), socket.create_server(("127.0.0.1", 0))
a, b = socket.socketpair()
timer = libc.timerfd_create(1, 0)
e = select.epoll()
for fd in (r, event, listener.fileno(), a.fileno(), timer):
    e.register(fd, select.EPOLLIN)
near = socket.socket()
waits("pipe", e.poll, lambda: os.write(w, b"x"))
os.read(r, 1)
waits("eventfd", e.poll, lambda: os.write(event, (1).to_bytes(8, "little")))
os.read(event, 8)
waits("socket", e.poll, lambda: near.connect(listener.getsockname()))
far = listener.accept()
waits("socket", e.poll, lambda: b.send(b"x"))
a.recv(1)
waits("timerfd", e.poll, lambda: libc.timerfd_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 20000000), None))
os.read(timer, 8)
p = select.poll()
p.register(r, select.POLLIN)
waits("pipe", p.poll, lambda: os.write(w, b"x"))
os.read(r, 1)
waits("", lambda: e.poll(0.1), lambda: None)
print(json.dumps([me, listener.fileno(), a.fileno(), "%s:%u" % listener.getsockname(), said]))
"""
script = rec.path("waits.py")
with open(script, "w") as f:
    f.write(PROGRAM)
ige = rec.path("ready.ige")
p = rec.run("-o", ige, "--", sys.executable, script)
me, listener, pair, address, said = json.loads(p.stdout.splitlines()[-1])
events, records, _ = rec.dump(ige)
ready = [r for r in records if r["record"] == "ready" and r["threads"]["thread"]["tid"] == me]
sockets = {r["id"]: r for r in records if r["record"] == "socket"}
ends = {e["end"] for e in events if e["op"] == "offcpu" and e["tid"] == me}
for i, (since, until, kind, fds) in enumerate(said):
    # The newest one before the wait returned: starting the other thread may take waits of its own.
    got = [r for r in ready if since <= r["time_ns"] <= until]
    tap.same(sorted(r["fd"] for r in got), fds, f"{i}: {kind or 'a timeout'}: which descriptors were ready")
    tap.same({r["kind"] for r in got}, {kind} if kind else set(), f"{i}: and what they are")
    tap.none((r for r in got if r["time_ns"] not in ends), f"{i}: at the end of a wait of the recording")
    for r in got:
        if r["fd"] in (listener, pair):
            s = sockets.get(r.get("socket"), {})
            tap.same((s.get("role"), s.get("local") if r["fd"] == listener else s["protocol"]),
                     ("listening", address) if r["fd"] == listener else ("pair", "unix"), f"{i}: which socket it is")
tap.done_testing()
