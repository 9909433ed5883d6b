#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Who is slow to answer: a program whose device waits for a socket is told the address and the process behind it, over IPv4, IPv6,
# and IPv4 to a server of both; with a timeout (poll) or without; in another network namespace of the same addresses nobody of this one is
# taken for it. A server that is recorded, too, is followed to its line instead.
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
SERVER = r"""
import socket, sys, time
listener = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
listener.bind((sys.argv[1], int(sys.argv[2])))
listener.listen()
print(listener.getsockname()[1], flush=True)
while True:
    one = listener.accept()[0]
    while one.recv(1):
        time.sleep(0.01)
        one.send(b"x")
"""
CLIENT = r"""
import ctypes, select, socket, sys
c = ctypes.CDLL("libcudart.so.13")
p, s = ctypes.c_void_p(), ctypes.c_void_p()
c.cudaMalloc(ctypes.byref(p), 1 << 20)
c.cudaStreamCreate(ctypes.byref(s))
server = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3]) or None,
                                  source_address=("", int(sys.argv[4])) if int(sys.argv[4]) else None)
ready = select.epoll()
ready.register(server, select.EPOLLIN)
def fetch():
    server.send(b"x")
    if len(sys.argv) > 5:
        ready.poll()
    server.recv(1)
for _ in range(100):
    fetch()
    c.cudaMemsetAsync(p, 0, 1 << 16, s)
    c.cudaStreamSynchronize(s)
"""
def line_of(text, what):
    return 1 + next(i for i, line in enumerate(text.splitlines()) if what in line)


# Both have both ends.
FORKED = r"""
import ctypes, os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(listener.getsockname())
far = listener.accept()[0]
child = os.fork()
while not child and far.recv(1):
    time.sleep(0.01)
    far.send(b"x")
if not child:
    os._exit(0)
with open(sys.argv[1], "w") as f:
    f.write(str(child))
c = ctypes.CDLL("libcudart.so.13")
p, s = ctypes.c_void_p(), ctypes.c_void_p()
c.cudaMalloc(ctypes.byref(p), 1 << 20)
c.cudaStreamCreate(ctypes.byref(s))
for _ in range(150):
    near.send(b"x")
    near.recv(1)
    c.cudaMemsetAsync(p, 0, 1 << 16, s)
    c.cudaStreamSynchronize(s)
near.shutdown(socket.SHUT_RDWR)
os.wait()
"""
LINE = line_of(CLIENT, "server.recv")
paths = {}
for name, text in (("server", SERVER), ("client", CLIENT), ("forked", FORKED)):
    paths[name] = rec.path(name + ".py")
    with open(paths[name], "w") as f:
        f.write(text)


ends, rows, text = {}, {}, {}  # of each recording: what events and tables say of the far ends of sockets


def record(name, *command):
    ige = rec.path("peer.ige")
    p = rec.run("-o", ige, "--", *command)
    got = json.loads(subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), "--json", ige], capture_output=True,
                                    text=True).stdout)
    ends[name] = [e for e in subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-f", "json", "-e", "net", ige], capture_output=True,
                                            text=True).stdout.splitlines()]
    ends[name] = {(e["remote"], e.get("remote_process"), e.get("remote_pid")) for e in map(json.loads, ends[name]) if e.get("op") == "socket" and "remote" in e}
    rows[name] = json.loads(subprocess.run([rec.STAT, "--json", ige], capture_output=True, text=True).stdout)["sockets"]
    text[name] = subprocess.run([rec.STAT, ige], capture_output=True, text=True).stdout
    return [c for c in got["chains"] if c["kind"] == "gpu-idle"], p.stderr


def cause(name, *command):
    idle, said = record(name, *command)
    idle = [c for c in idle if "socket" in c["lost"]]
    tap.ok(idle, f"{name}: the device waits for the socket", said)
    return idle[0]["culprit"]["text"] if idle else ""


def program(pid):
    with open(f"/proc/{pid}/comm") as f:
        return f"{f.read().strip()} server.py"


def where(to, port):
    return f"[{to}]:{port}" if ":" in to else f"{to}:{port}"


def told(text, want, name):
    tap.ok(want in text, name, f"{want!r} is not in {text!r}")


for name, listens, to, timeout in (("IPv4", "127.0.0.1", "127.0.0.1", 0), ("with a timeout", "127.0.0.1", "127.0.0.1", 60),
                                   ("IPv6", "::1", "::1", 0), ("IPv4 to a server of both", "::", "127.0.0.1", 0)):
    if ":" in listens and not os.path.exists("/proc/net/if_inet6"):
        tap.skip(name, "no IPv6")
        continue
    p = subprocess.Popen([sys.executable, paths["server"], listens, "0"], stdout=subprocess.PIPE, text=True)
    port = int(p.stdout.readline())
    told(cause(name, sys.executable, paths["client"], to, port, timeout, 0), f"to {where(to, port)} ({program(p.pid)}, pid {p.pid}) in fetch"
         f" (client.py:{LINE})", f"{name}: which address, which process, and the line")
    far = where(to, port), program(p.pid), p.pid
    tap.ok(far in ends[name], f"{name}: the events say who it is", f"{far} {ends[name]}")
    tap.ok(far in [(r["remote"], r["remote_process"], r["remote_pid"]) for r in rows[name]], f"{name}: and the table of sockets", rows[name])
    told(text[name], f"{far[1]} (pid {far[2]})", f"{name}: as text, too")
    p.kill()
    p.wait()


def follows(name, pid_in, place, *command):
    """The verdict names the line of the recorded server, whose number is in that file then."""
    idle, said = record(name, *command)
    with open(pid_in) as f:
        pid = int(f.read())
    tap.ok([c for c in idle if f"pid {pid})" in c["culprit"]["text"] and f"({place})" in c["culprit"]["text"]],
           f"{name}: the server's line", f"{pid} {[(c['lost'], c['culprit']['text']) for c in idle]} {said}")
    return pid


BOTH = f"""
: > "$1"
"{sys.executable}" "{paths['server']}" 127.0.0.1 $3 > "$1" &
until [ -s "$1" ]; do :; done
"{sys.executable}" "{paths['client']}" 127.0.0.1 $(cat "$1") $2 $4 $5
echo $! > "$1.pid"
kill $!
"""
both, far = rec.path("both.sh"), rec.path("far")
with open(both, "w") as f:
    f.write(BOTH)
SLEEPS = f"server.py:{line_of(SERVER, 'time.sleep')}"
for name, timeout, more in (("recorded, too", 0, ()), ("recorded, with a timeout", 60, ()), ("recorded, with epoll", 0, ("epoll",))):
    follows(name, far + ".pid", SLEEPS, "sh", both, far, timeout, 0, 0, *more)

follows("after a fork", far, f"forked.py:{line_of(FORKED, 'time.sleep')}", sys.executable, paths["forked"], far)
tap.same({one[2] for one in ends["after a fork"]}, {None}, "after a fork: nobody is said to have the other end alone")

# A connection of the same addresses and ports as the recorded one has, in another network namespace.
HOLD = r"""
import socket, sys
listener, near = socket.create_server(("127.0.0.1", 0)), socket.socket()
near.bind(("127.0.0.1", 0))
near.connect(listener.getsockname())
far = listener.accept()
print(listener.getsockname()[1], near.getsockname()[1], flush=True)
sys.stdin.read()
"""
if not shutil.which("ip") or subprocess.run(["unshare", "--net", "ip", "link", "set", "lo", "up"]).returncode:
    tap.skip("namespaces", "no network namespaces here")
else:
    hold = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port, source = hold.stdout.readline().split()
    with open(both, "w") as f:
        f.write("ip link set lo up\n" + BOTH)
    pid = follows("another namespace", far + ".pid", SLEEPS, "unshare", "--net", "sh", both, far, 0, port, source)
    got = {one[2] for one in ends["another namespace"] if one[0] == f"127.0.0.1:{port}"}
    tap.same(got - {None}, {pid}, "another namespace: not who has it in this one")
    hold.communicate()
tap.done_testing()
