#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Who is slow to answer: a program whose device waits for a socket is told the address and the process behind it, over IPv4, IPv6,
# and IPv4 to a server of both; with a timeout (poll) or without; in another network namespace of the same addresses nobody of this one is
# taken for it.
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
import ctypes, socket, sys
c = ctypes.CDLL("libcudart.so.13")
p, s = ctypes.c_void_p(), ctypes.c_void_p()
c.cudaMalloc(ctypes.byref(p), 1 << 20)
c.cudaStreamCreate(ctypes.byref(s))
server = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3]) or None,
                                  source_address=("", int(sys.argv[4])) if int(sys.argv[4]) else None)
def fetch():
    server.send(b"x")
    server.recv(1)
for _ in range(100):
    fetch()
    c.cudaMemsetAsync(p, 0, 1 << 16, s)
    c.cudaStreamSynchronize(s)
"""
LINE = 1 + next(i for i, line in enumerate(CLIENT.splitlines()) if "server.recv" in line)
paths = {}
for name, text in (("server", SERVER), ("client", CLIENT)):
    paths[name] = rec.path(name + ".py")
    with open(paths[name], "w") as f:
        f.write(text)


ends, rows, text = {}, {}, {}  # of each recording: what events and tables say of the far ends of sockets


def cause(name, *command):
    ige = rec.path("peer.ige")
    p = rec.run("-o", ige, "--", *command)
    got = json.loads(subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), "--json", ige], capture_output=True,
                                    text=True).stdout)
    ends[name] = [e for e in subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-f", "json", "-e", "net", ige], capture_output=True,
                                            text=True).stdout.splitlines()]
    ends[name] = {(e["remote"], e.get("remote_process"), e.get("remote_pid")) for e in map(json.loads, ends[name]) if e.get("op") == "socket" and "remote" in e}
    rows[name] = json.loads(subprocess.run([rec.STAT, "--json", ige], capture_output=True, text=True).stdout)["sockets"]
    text[name] = subprocess.run([rec.STAT, ige], capture_output=True, text=True).stdout
    idle = [c for c in got["chains"] if c["kind"] == "gpu-idle" and "socket" in c["lost"]]
    tap.ok(idle, f"{name}: the device waits for the socket", p.stderr)
    return idle[0]["culprit"]["text"] if idle else ""


def comm(pid):
    with open(f"/proc/{pid}/comm") as f:
        return f.read().strip()


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
    told(cause(name, sys.executable, paths["client"], to, port, timeout, 0), f"to {where(to, port)} ({comm(p.pid)}, pid {p.pid}) in fetch"
         f" (client.py:{LINE})", f"{name}: which address, which process, and the line")
    far = where(to, port), comm(p.pid), p.pid
    tap.ok(far in ends[name], f"{name}: the events say who it is", f"{far} {ends[name]}")
    tap.ok(far in [(r["remote"], r["remote_process"], r["remote_pid"]) for r in rows[name]], f"{name}: and the table of sockets", rows[name])
    told(text[name], f"{far[1]} (pid {far[2]})", f"{name}: as text, too")
    p.kill()
    p.wait()

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
    both = rec.path("both.sh")
    with open(both, "w") as f:
        f.write(f"""ip link set lo up
"{sys.executable}" "{paths['server']}" 127.0.0.1 {port} > "$1" &
until [ -s "$1" ]; do :; done
"{sys.executable}" "{paths['client']}" 127.0.0.1 {port} 0 {source}
echo $! > "$1.pid"
kill $!
""")
    far = rec.path("far")
    said = cause("another namespace", "unshare", "--net", "sh", both, far)
    with open(far + ".pid") as f:
        pid = int(f.read())
    told(said, f"to 127.0.0.1:{port} (", "another namespace: the address")
    told(said, f", pid {pid})", "not who has it in this one")
    hold.communicate()
tap.done_testing()
