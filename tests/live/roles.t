#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What a socket is for its process, told with the socket: listening, accepted, connected, one of a pair; of TCP and of Unix
# sockets, of those that were there before the recorder as well; of datagrams, who asks. The program names its own by their
# addresses and inodes.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

# Two threads and each kind of socket: the second one answers only when the first one sleeps in recv, by /proc's word.
BOTH = r"""
import json, os, socket, sys, threading
mine = {}
def asleep(tid):
    while open(f"/proc/self/task/{tid}/stat").read().rsplit(")", 1)[1].split()[0] != "S":
        pass
def inode(s):
    return int(os.readlink(f"/proc/self/fd/{s.fileno()}")[8:-1])
def name(s):
    return inode(s) if s.family == socket.AF_UNIX else "%s:%u %s:%u" % (*s.getsockname(), *s.getpeername())
def wake(sleeper, act):
    asleep(sleeper)
    act()
def sleeps(s, role, act, receive=True):
    if receive:
        mine[name(s)] = role
    t = threading.Thread(target=wake, args=(threading.get_native_id(), act))
    t.start()
    got = s.recv(1) if receive else s.accept()[0]
    t.join()
    return got
def ends(listener, near):
    # The listener's accept sleeps, too.
    near.append(socket.socket(listener.family))
    far = sleeps(listener, "listening", lambda: near[-1].connect(listener.getsockname()), False)
    return near[-1], far
kept = []
listeners = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
listeners[1].bind("\0ingero-roles-%u" % os.getpid())
listeners[1].listen()
old = [socket.create_connection(listeners[0].getsockname())]
old.append(listeners[0].accept()[0])
pair = socket.socketpair()
if sys.argv[1:]:
    print("ready", flush=True)
    sys.stdin.readline()
sleeps(old[0], "connected", lambda: old[1].send(b"x"))
sleeps(old[1], "accepted", lambda: old[0].send(b"x"))
for listener in listeners:
    near, far = ends(listener, kept)
    sleeps(near, "connected", lambda: far.send(b"x"))
    sleeps(far, "accepted", lambda: near.send(b"x"))
    kept.append(far)
sleeps(pair[0], "pair", lambda: pair[1].send(b"x"))
# Of datagrams: one that asks has a port of the kernel's, with an address by connect() or without; a server chose its own, and is
# not known to be one where it let the kernel choose.
def bound(chosen):
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    if not chosen:
        return server
    at = server.getsockname()
    server.close()
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.bind(at)
    return server
for connects, chosen in ((True, False), (False, False), (False, True)):
    server, client = bound(chosen), socket.socket(type=socket.SOCK_DGRAM)
    if connects:
        client.connect(server.getsockname())
    mine["%s:%u None" % server.getsockname()] = "listening" if chosen else None
    t = threading.Thread(target=wake, args=(threading.get_native_id(), lambda: client.sendto(b"x", server.getsockname())))
    t.start()
    server.recv(1)
    t.join()
    mine["%s:%u %s" % (*client.getsockname(), "%s:%u" % server.getsockname() if connects else None)] = "connected"
    t = threading.Thread(target=wake, args=(threading.get_native_id(), lambda: server.sendto(b"y", ("127.0.0.1", client.getsockname()[1]))))
    t.start()
    client.recv(1)
    t.join()
print(json.dumps(list(mine.items())), flush=True)
"""
script = rec.path("both.py")
with open(script, "w") as f:
    f.write(BOTH)


def told(ige):
    """Role by inode or addresses; a later word about the same socket holds."""
    sockets = [r for r in rec.dump(ige)[1] if r["record"] == "socket"]
    return {r.get("inode") or f"{r.get('local')} {r.get('remote')}": r.get("role") for r in sockets}, sockets


for when in ("from the start", "attached to"):
    ige = rec.path("roles.ige")
    if when == "from the start":
        said = rec.run("-o", ige, "--", sys.executable, script).stdout
    else:
        program = subprocess.Popen([sys.executable, script, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        program.stdout.readline()
        recorder = rec.start("-o", ige, "-p", program.pid)
        rec.attached(recorder)
        said = program.communicate("\n")[0]
        recorder.communicate()
    want = dict(json.loads(said.splitlines()[-1]))
    got, sockets = told(ige)
    tap.same({k: got.get(k) for k in want}, want, f"{when}: each socket's role")
    tap.ok("listening" in got.values(), f"{when}: those that listen are told, too", sockets)
tap.done_testing()
