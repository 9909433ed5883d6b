#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The host's side of a stall, laid against what the kernel itself counts: block I/O of a loop device, files of a disk and
# of a file system in user space by path, major faults, segments sent again, reclaim, a process killed for memory.
import ctypes
import json
import mmap
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
import tracks
from recording import tap

rec.need_bpf()
SELF = os.path.abspath(__file__)
UNWIND = {"unwind"} if platform.machine() in ("x86_64", "aarch64") else set()  # tables of stacks
undo = []


def command(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True)


def sources(records):
    return {r["layer"]: r for r in records if r["record"] == "coverage" and "process" not in r and r["layer"] not in ("stacks", "xid", "nvtx")}


def said(records, kind):
    """id -> record; ids are unsigned in events."""
    return {r["id"] % (1 << 64): r for r in records if r["record"] == kind}


def of(events, source, op, pid=None):
    return [e for e in events if e["source"] == source and e["op"] == op and (pid is None or e["pid"] == pid)]


def record(name, script, *arguments, before=None):
    """A Python workload under the recorder: its last line as JSON, events, records. before: run with the workload waiting."""
    ige, path = rec.path(name + ".ige"), rec.path(name + ".py")
    with open(path, "w") as f:
        f.write("import ctypes, json, mmap, os, resource, socket, sys, threading, time\n" + script)
    p = subprocess.Popen([rec.RECORD, *rec.WHOLE, "-o", ige, "--", sys.executable, path, *map(str, arguments)], env=rec.environment(),
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if before:
        p.stdout.readline()
        before()
    out, err = p.communicate("go\n", timeout=rec.PATIENCE)
    lines = [line for line in out.splitlines() if line.startswith("{")]
    events, records, report = rec.dump(ige)
    tap.ok(p.returncode == 0 and lines, f"{name}: recorded", err)
    lost = sum(r["count"] for r in records if r["record"] == "loss" and r.get("source") in (3, 5, 7))
    tap.same(lost, 0, f"{name}: nothing of the host's side is lost")
    return json.loads(lines[-1]) if lines else {}, events, records


def loop_device(size):
    """A loop device on a file of that size, or why there is none."""
    backing = os.path.join(rec.BUILD, "host-loop.tmp")
    with open(backing, "wb") as f:
        for _ in range(size >> 20):
            f.write(os.urandom(1 << 20))
    undo.append(lambda: os.unlink(backing))
    p = command("losetup", "--find", "--show", backing) if shutil.which("losetup") else None
    if not p or p.returncode:
        return None, p.stderr.strip() if p else "no losetup"
    device = p.stdout.strip()
    undo.append(lambda: command("losetup", "-d", device))
    return device, None


def disk_stat(device):
    with open(f"/sys/block/{os.path.basename(device)}/stat") as f:
        n = list(map(int, f.read().split()))
    return {"reads": n[0], "read_bytes": n[2] * 512, "writes": n[4], "write_bytes": n[6] * 512}


def direct_reads(device, count, each):
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    room = mmap.mmap(-1, each)
    for i in range(count):
        os.preadv(fd, [room], i * each)
    os.close(fd)


DIRECT = r'''
device, each = sys.argv[1], 65536
print("ready", flush=True)
sys.stdin.readline()
fd = os.open(device, os.O_RDWR | os.O_DIRECT)
room = mmap.mmap(-1, each)
for i in range(50):
    os.preadv(fd, [room], i * each)
for i in range(20):
    os.pwritev(fd, [room], i * each)
print(json.dumps({"pid": os.getpid(), "rdev": os.stat(device).st_rdev}))
'''


def block_io(device):
    before, alone = disk_stat(device), {}

    def others():
        direct_reads(device, 128, 65536)
        alone.update(disk_stat(device))
    truth, events, records = record("block", DIRECT, device, before=others)
    after = disk_stat(device)
    if not truth:
        return
    number = os.major(truth["rdev"]) << 20 | os.minor(truth["rdev"])
    mine = [e for e in of(events, "io", "block") if e["x"]["device"] == number]
    for way, write in (("read", 0), ("write", 1)):
        got = [e for e in mine if e["x"]["write"] == write]
        tap.same(len(got), after[way + "s"] - alone[way + "s"], f"block: {way}s, as the device counts them")
        tap.same(sum(e["x"]["bytes"] for e in got), after[way + "_bytes"] - alone[way + "_bytes"], f"block: bytes of {way}s")
    tap.none([e for e in mine if e["pid"] != truth["pid"]], "block: by the process that asked")
    tap.none([e for e in mine if not 0 <= e["x"]["queue_ns"] <= e["dur"]], "block: time in the queue is a part of it")
    tap.same(sorted(e["x"]["sector"] for e in mine if e["x"]["write"] == 0), [i * 128 for i in range(50)], "block: where")
    other = [r for r in records if r["record"] == "sample" and r.get("device") == number]
    tap.ok(other, "block: what others did on the device is a sample", other)
    reads = alone["reads"] - before["reads"]
    tap.same({m: max(r["value"] for r in other if r["metric"] == m) for m in (41, 42)} if other else None,
             {41: reads, 42: alone["read_bytes"] - before["read_bytes"]}, "block: all of it, and nothing of the target's")
    mine = [r["value"] for r in records if r["record"] == "sample" and r["metric"] == 24 and r.get("pid") == os.getpid()]
    tap.ok(mine and max(mine) - min(mine) >= 128 * 65536, "block: who it was, and how much", mine)


FILES = r'''
path = sys.argv[1]
size = os.path.getsize(path)
fd = os.open(path, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for i in range(0, size, 65536):
    os.pread(fd, 4096, i)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
m = mmap.mmap(fd, size, prot=mmap.PROT_READ)
m.madvise(mmap.MADV_RANDOM)
m[0]
# Sleeps in faults that need no disk: of a thread that touches new memory while another has the address space copied.
room, used, more = mmap.mmap(-1, 64 << 20), b"x" * (256 << 20), True
def copies():
    while more:
        if os.fork() == 0:
            os._exit(0)
        os.wait()
forks = threading.Thread(target=copies)
forks.start()
mine = lambda: resource.getrusage(resource.RUSAGE_THREAD)
place = ctypes.c_char.from_buffer(room)
slept = minor = 0
for i in range(100):
    before = mine()
    ctypes.memset(ctypes.addressof(place), i, 64 << 20)
    slept, minor = mine().ru_nvcsw - before.ru_nvcsw, mine().ru_minflt - before.ru_minflt
    if slept > 1:
        break
    room.madvise(mmap.MADV_DONTNEED)
more = False
forks.join()
time.sleep(0.2)
begin, faults, each = time.monotonic_ns(), mine().ru_majflt, []
for i in range(65536, size, 65536):
    since = time.monotonic_ns()
    m[i]
    each.append((since, time.monotonic_ns()))
faults, end = mine().ru_majflt - faults, time.monotonic_ns()
print(json.dumps({"pid": os.getpid(), "faults": faults, "begin": begin, "end": end, "each": each, "slept": slept, "minor": minor, "address":
    ctypes.addressof(ctypes.c_char.from_buffer_copy(b"x")), "reads": size // 65536}))
'''


def files(device):
    mount = tempfile.mkdtemp(prefix="ingero host ")
    undo.append(lambda: os.rmdir(mount))
    if not shutil.which("mkfs.ext4") or command("mkfs.ext4", "-q", "-F", device).returncode \
            or command("mount", device, mount).returncode:
        tap.skip("files of a disk", "optional: no ext4 on a loop device here")
        return
    undo.append(lambda: command("umount", mount))
    path = os.path.join(mount, "a folder", "shard-0001.bin")
    os.mkdir(os.path.dirname(path))
    with open(path, "wb") as f:
        f.write(os.urandom(8 << 20))
    os.sync()
    truth, events, records = record("files", FILES, path)
    if not truth:
        return
    known = said(records, "file")
    waits = [e for e in of(events, "io", "file", truth["pid"]) if known[e["x"]["file"]].get("path") == path]
    tap.ok(waits, "files: waits for the file, by its path", [r.get("path") for r in known.values()])
    if waits:
        r = known[waits[0]["x"]["file"]]
        tap.same((r["fstype"], r["mount"], r["origin"]), ("ext4", mount, device), "files: its file system")
        number = os.stat(path).st_dev
        tap.same(r.get("device"), os.major(number) << 20 | os.minor(number), "files: its device")
        tap.none([e for e in waits if e["x"].get("write") not in (0, None)], "files: they are reads")
        ends = {(e["tid"], e["end"], e["dur"]) for e in tracks.sched(events, "offcpu")}
        tap.none([e for e in waits if (e["tid"], e["end"], e["dur"]) not in ends], "files: each is an off-CPU interval")
    faults = [e for e in of(events, "host", "fault", truth["pid"]) if truth["begin"] <= e["end"] <= truth["end"]]
    tap.same(len(faults), truth["faults"], "faults: as getrusage counts major ones")
    tap.ok(truth["faults"] >= 50, "faults: there are some", truth)
    within = lambda e: any(a <= e["end"] - e["dur"] and e["end"] <= b for a, b in truth["each"])
    tap.none([e for e in faults if not within(e)], f"faults: each as long as its access was, after {truth['slept']} sleeps in others")
    if "file" in (faults[0]["x"] if faults else {}):
        tap.same({known[e["x"]["file"]]["path"] for e in faults if "file" in e["x"]}, {path}, "faults: in which file")
    elif faults:
        tap.skip("faults: in which file", "optional: this kernel does not let us look up mappings")


# ---- a file system in user space: the kernel's side of the protocol is linux/fuse.h --------------------------------------

FILES_THERE = {(1, b"model.bin"): 2, (1, b"data"): 3, (3, b"part.bin"): 4}  # folder, name: node


def fuse(mount):
    """Serves some files, each answer after a sleep, and nothing may be kept. None: not possible here."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError as e:
        return str(e)
    data = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"server:/export", mount.encode(), b"fuse.slow", 6, data):
        os.close(fd)
        return os.strerror(ctypes.get_errno())
    size = 1 << 20

    def attr(node):
        mode, n = (0o40755, 0) if node in (1, 3) else (0o100644, size)
        return node.to_bytes(8, "little") + n.to_bytes(8, "little") + b"\0" * 44 + mode.to_bytes(4, "little") \
            + (1).to_bytes(4, "little") + b"\0" * 12 + (4096).to_bytes(4, "little") + b"\0" * 4

    def serve():
        import struct
        import time
        while True:
            try:
                got = os.read(fd, 1 << 17)
            except OSError:
                return
            _, op, unique, node = struct.unpack_from("<IIQQ", got)
            body, error = b"", 0
            if op in (2, 42):  # forget: nobody waits
                continue
            if op in (1, 3, 14, 15, 27, 28):
                time.sleep(0.01)
            if op == 26:  # init
                body = struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 8, 6, 65536, 1, 0, 0, 0)
            elif op == 1:  # lookup
                found = FILES_THERE.get((node, got[40:].split(b"\0")[0]))
                if found:
                    body = struct.pack("<QQQQII", found, 0, 0, 0, 0, 0) + attr(found)
                else:
                    error = -2
            elif op == 3:  # getattr
                body = struct.pack("<QII", 0, 0, 0) + attr(node)
            elif op in (14, 27):  # open: past the page cache
                body = struct.pack("<QII", 1, 1, 0)
            elif op == 15:  # read
                n = struct.unpack_from("<QQI", got, 40)[2]
                body = b"x" * n
            elif op == 28:  # readdir
                names = [n for (folder, n) in FILES_THERE if folder == node]
                for i, n in list(enumerate(names))[struct.unpack_from("<QQ", got, 40)[1]:]:
                    body += struct.pack("<QQII", i + 100, i + 1, len(n), 8) + n + b"\0" * (-len(n) % 8)
            elif op in (18, 25, 29):  # release, flush
                pass
            else:
                error = -38
            try:
                os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
            except OSError:
                pass
    threading.Thread(target=serve, daemon=True).start()
    undo.append(lambda: os.close(fd))
    undo.append(lambda: command("umount", "-l", mount))
    return None


SLOW = r'''
fd = os.open(sys.argv[1], os.O_RDONLY)
begin = time.monotonic_ns()
for i in range(20):
    os.pread(fd, 4096, i * 4096)
print(json.dumps({"pid": os.getpid(), "begin": begin, "end": time.monotonic_ns()}))
'''


NAMES = r'''
mount = sys.argv[1]
model, data, none = (os.path.join(mount, n) for n in ("model.bin", "data", "none.bin"))
said = []
def phase(name, waits, path, do, *arguments):
    begin = time.monotonic_ns()
    for i in range(5):
        try:
            do(*arguments)
        except FileNotFoundError:
            pass
    said.append({"name": name, "waits": waits, "path": path, "begin": begin, "end": time.monotonic_ns()})
fd, folder = os.open(model, os.O_RDONLY), os.open(data, os.O_RDONLY)
phase("opened", [2, 0], model, os.open, model, os.O_RDONLY)
phase("looked up in vain", [1, 0], none, os.stat, none)
phase("asked for its state", [1, 1], model, os.stat, model)
phase("opened from a folder", [2, 0], os.path.join(data, "part.bin"), lambda: os.open("part.bin", os.O_RDONLY, dir_fd=folder))
phase("by descriptor", [1, 0], model, os.fstat, fd)
phase("listed", [2, 0], data, lambda: os.listdir(folder))
os.chdir(mount)
phase("relative", [1, 1], model, os.stat, "./data/../model.bin")
print(json.dumps({"pid": os.getpid(), "phases": said}))
'''


def names(mount, states):
    """states: the kernel tells of whom a file's state is asked."""
    truth, events, records = record("fuse-names", NAMES, mount)
    if not truth:
        return
    known = said(records, "file")
    for phase in truth["phases"]:
        during = [e for e in of(events, "io", "file", truth["pid"]) if phase["begin"] <= e["end"] <= phase["end"]]
        found = [(known[e["x"]["file"]]["path"], known[e["x"]["file"]]["fstype"], known[e["x"]["file"]]["mount"]) for e in during
                 if e["dur"] > 5_000_000]
        # What the way leads over is looked up as well.
        at = [f for f in found if f[0] == phase["path"]]
        waits, unnamed = phase["waits"]
        tap.ok(len(at) >= 5 * (waits + unnamed * states) and set(at) == {(phase["path"], "fuse.slow", mount)} and
               all(phase["path"].startswith(f[0]) or f[0].startswith(mount + "/data") for f in found),
               f"fuse, {phase['name']}: the file that was waited for, each time", (phase, found))
        kinds = {e["x"].get("object_kind") for e in tracks.of_thread(events, truth["pid"])
                 if phase["begin"] <= e["end"] <= phase["end"] and e["dur"] > 5_000_000}
        tap.same(kinds, {tracks.DISK}, f"fuse, {phase['name']}: and waited for as a file")


def user_space_files(states):
    mount = tempfile.mkdtemp(prefix="ingero-fuse-")
    undo.append(lambda: os.rmdir(mount))
    why = fuse(mount)
    if why:
        tap.skip("a file system in user space", f"optional: {why}")
        return
    path = os.path.join(mount, "model.bin")
    truth, events, records = record("fuse", SLOW, path)
    if not truth:
        return
    known = said(records, "file")
    waits = [e for e in of(events, "io", "file", truth["pid"]) if truth["begin"] <= e["end"] <= truth["end"]]
    named = {(r["path"], r["fstype"], r["mount"], r["origin"]) for r in (known[e["x"]["file"]] for e in waits)}
    tap.same(named, {(path, "fuse.slow", mount, "server:/export")}, "fuse: what was waited for, by name")
    tap.ok(len(waits) >= 20 and sum(e["dur"] for e in waits) >= 20 * 5_000_000, "fuse: every slow read", len(waits))
    kinds = {e["x"].get("object_kind") for e in tracks.of_thread(events, truth["pid"])
             if truth["begin"] <= e["end"] <= truth["end"] and e["dur"] > 5_000_000}
    tap.same(kinds, {tracks.DISK}, "fuse: waiting for it is waiting for files")
    told = command(os.path.join(rec.BUILD, "bin", "ingero-explain"), "--json", rec.path("fuse.ige")).stdout
    stalls = [c["summary"] for c in json.loads(told or "{}").get("chains", []) if c["kind"] == "disk-stall"]
    tap.ok(any(f"slow reads of {path} (fuse.slow, server:/export) took " in line for line in stalls),
           "fuse: the explanation names it", told[:2000])
    names(mount, states)


# ---- connections ------------------------------------------------------------------------------------------------------------

SOCKETS = r'''
import threading
def talk(family, address):
    listener = socket.socket(family)
    listener.bind((address, 0))
    listener.listen()
    client = socket.create_connection(listener.getsockname()[:2])
    server = listener.accept()[0]
    def answer(tid):
        # It answers who waits: in a call whose first argument is that descriptor.
        while True:
            with open("/proc/self/task/%d/syscall" % tid) as f:
                words = f.read().split()
            if len(words) > 1 and words[1] == hex(client.fileno()):
                break
            time.sleep(0.001)
        server.send(b"x")
    t = threading.Thread(target=answer, args=(threading.get_native_id(),))
    t.start()
    begin = time.monotonic_ns()
    client.recv(1)
    end = time.monotonic_ns()
    t.join()
    names = [client.getsockname(), client.getpeername()]
    form = "[%s]:%u" if family == socket.AF_INET6 else "%s:%u"
    return {"begin": begin, "end": end, "fd": client.fileno(), "local": form % names[0][:2], "remote": form % names[1][:2],
            "tid": threading.get_native_id()}, (client, server, listener)
said, keep = [], []
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    try:
        got, open_ = talk(family, address)
    except OSError:
        continue
    said.append(got)
    keep.append(open_)
print(json.dumps({"pid": os.getpid(), "talks": said}))
'''


def sockets():
    truth, events, records = record("sockets", SOCKETS)
    known = said(records, "socket")
    for talk in truth.get("talks", []):
        waits = [e for e in of(events, "net", "socket", truth["pid"])
                 if e["tid"] == talk["tid"] and talk["begin"] <= e["end"] <= talk["end"] and e["x"].get("fd") == talk["fd"]]
        if tap.ok(waits, f"sockets: the wait on {talk['local']}", of(events, "net", "socket")[:5]):
            r = known[waits[-1]["x"]["socket"]]
            tap.same((r["protocol"], r["local"], r["remote"]), ("tcp", talk["local"], talk["remote"]), "sockets: which one")
            tap.same(waits[-1]["x"].get("write"), 0, "sockets: it is a read")


class Counted:
    """The kernel's own trace of an event, in a buffer of its own."""

    def __init__(self, *events):
        self.top = None
        tracing = "/sys/kernel/tracing"
        if not os.path.isdir(tracing + "/instances"):
            return
        self.top = f"{tracing}/instances/ingero-{os.getpid()}"
        os.mkdir(self.top)
        self.put("buffer_size_kb", "8192")
        self.put("trace_clock", "mono")
        for event in events:
            if os.path.isdir(f"{self.top}/events/{event}"):
                self.put(f"events/{event}/enable", "1")

    def put(self, name, value):
        with open(f"{self.top}/{name}", "w") as f:
            f.write(value)

    def end(self):
        self.put("tracing_on", "0")
        with open(self.top + "/trace") as f:
            lines = f.read().splitlines()
        os.rmdir(self.top)
        return [line for line in lines if not line.startswith("#")]


# Both ends in namespaces of their own, over a link whose queue drops bursts: sent by who connected, then by who accepted.
# With a fourth argument they wait to be told to, once they are connected.
DROPS = r"""
libc = ctypes.CDLL(None, use_errno=True)
def enter(name):
    fd = os.open("/var/run/netns/" + name, os.O_RDONLY)
    if libc.setns(fd, 0x40000000):
        raise OSError(ctypes.get_errno(), "setns")
family = socket.AF_INET6 if ":" in sys.argv[3] else socket.AF_INET
out, back = os.pipe()
def counted():
    n = {}
    for file, name in (("snmp", "RetransSegs"), ("netstat", "TCPRetransFail")):
        with open("/proc/thread-self/net/" + file) as f:
            lines = f.read().splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            n.update(zip(names.split(), values.split()) if name in names.split() else ())
    return int(n["RetransSegs"]), int(n["TCPRetransFail"])
def move(send, sock, n):
    while n > 0:
        got = sock.send(b"x" * min(n, 65536)) if send else len(sock.recv(65536))
        if not got:
            break
        n -= got
def tell(**what):
    segments, failed = counted()
    print(json.dumps(dict(what, pid=os.getpid(), segments=segments - before[0], failed=failed - before[1])), flush=True)
N = 400000
child = os.fork()
if child == 0:
    enter(sys.argv[2])
    listener = socket.socket(family)
    listener.bind(("", 7777))
    listener.listen()
    before = counted()
    os.write(back, b"r")
    s = listener.accept()[0]
    move(False, s, N)
    move(True, s, N)
    s.recv(1)
    tell()
    s.close()
    os._exit(0)
enter(sys.argv[1])
before = counted()
os.read(out, 1)
s = socket.socket(family)
s.connect((sys.argv[3], 7777))
if len(sys.argv) > 4:
    print(json.dumps({"child": child}), flush=True)
    sys.stdin.readline()
move(True, s, N)
move(False, s, N)
s.close()
os.waitpid(child, 0)
tell()
"""


def namespaces():
    """Two, with a lossy link between; why not otherwise."""
    if not shutil.which("ip") or not shutil.which("tc"):
        return "no ip or tc"
    names = (f"ingero-a-{os.getpid()}", f"ingero-b-{os.getpid()}")
    steps = [["ip", "netns", "add", n] for n in names]
    steps.append(["ip", "link", "add", "ige0", "netns", names[0], "type", "veth", "peer", "name", "ige0", "netns", names[1]])
    for i, n in enumerate(names):
        steps += [["ip", "-n", n, "addr", "add", f"192.0.2.{i + 1}/24", "dev", "ige0"],
                  ["ip", "-n", n, "addr", "add", f"2001:db8::{i + 1}/64", "dev", "ige0", "nodad"],
                  ["ip", "-n", n, "link", "set", "ige0", "up"],
                  ["tc", "-n", n, "qdisc", "add", "dev", "ige0", "root", "tbf", "rate", "20mbit", "burst", "8kb", "limit", "8kb"]]
    undo.append(lambda: [command("ip", "netns", "del", n) for n in names])
    for step in steps:
        p = command(*step)
        if p.returncode:
            return f"{' '.join(step)}: {p.stderr.strip()}"
    return names


class Resent:
    """Lines of the kernel's trace of segments sent again, by the end that sent them, up to a time."""

    def __init__(self, lines, until):
        unseen = set(os.listdir("/proc/1/task"))
        self.of = {"accepted": [], "connected": []}
        self.unseen = {"accepted": 0, "connected": 0}
        for line in lines:
            m = re.match(r".*-(\d+) +\[.* (\d+\.\d+): tcp_retransmit_skb: .*sport=(\d+) dport=(\d+) .*state=(\w+)(.*)", line)
            if not m or "7777" not in m.group(3, 4) or float(m[2]) * 1e9 > until:
                continue
            end = "accepted" if m[3] == "7777" else "connected"
            self.of[end].append(m[5])
            # Hardened kernels run no programs of ours while the first process has the CPU, interrupts included.
            self.unseen[end] += m[1] in unseen
        self.failures = any(" err=" in line for line in lines)

    def of_open(self, end):
        """Of sockets that somebody has open."""
        return sum(state in ("TCP_ESTABLISHED", "TCP_CLOSE_WAIT", "TCP_SYN_SENT") for state in self.of[end])

    def same(self, got, want, end, what):
        ends = [end] if end else list(self.of)
        unseen = sum(self.unseen[e] for e in ends)
        tap.ok(want - unseen <= got <= want if unseen else got == want, what, f"{got} of {want}, {unseen} not to be seen")

    def same_segments(self, got, b, end, what):
        """The kernel counts what could not be handed to the device too; before 6.16 it does not tell of it."""
        want = b["segments"] - (0 if self.failures else b["failed"])
        tap.ok(got == want if not self.unseen[end] else got <= want, what, f"{got} of {want}, {self.unseen[end]} not to be seen")


def others_of(records):
    """Retransmits and segments of nobody who is recorded."""
    return [max([r["value"] for r in records if r["record"] == "sample" and r["metric"] == m], default=0) for m in (44, 45)]


def end_of(events, pids):
    return max((e["end"] for e in of(events, "host", "exit") if e["pid"] in pids), default=0)


def retransmits():
    names = namespaces()
    if isinstance(names, str):
        tap.skip("segments sent again", f"optional: {names}")
        return
    path = rec.path("drops.py")
    with open(path, "w") as f:
        f.write("import ctypes, json, os, socket, sys\n" + DROPS)
    for version, address in (("IPv4", "192.0.2.2"), ("IPv6", "2001:db8::2")):
        launched(version, [sys.executable, path, *names, address], address)
        older(version, [sys.executable, path, *names, address, "wait"])


def launched(version, command_line, address):
    """Both ends are targets, from their beginning."""
    ige = rec.path("drops.ige")
    counted = Counted("tcp/tcp_retransmit_skb")
    p = rec.run("-o", ige, "--", *command_line)
    lines = counted.end() if counted.top else []
    both = [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]
    if not tap.ok(p.returncode == 0 and len(both) == 2, f"{version}: two that talk over a bad link", p.stderr):
        return
    events, records, _ = rec.dump(ige)
    known = said(records, "socket")
    if not sum(b["segments"] for b in both):
        tap.skip(f"{version}: segments sent again", "optional: the link lost nothing")
        return
    until = end_of(events, [b["pid"] for b in both])
    resent = Resent(lines, until)
    all_of = [e for e in of(events, "net", "retransmit") if e["end"] <= until]
    for b, end in zip(both, ("accepted", "connected")):
        mine = [e for e in all_of if e["pid"] == b["pid"]]
        if lines:
            resent.same(sum(e["x"]["tcp_state"] in (1, 2, 8) for e in mine), resent.of_open(end), end,
                        f"{version}: sent again by who {end} it, as traced")
            resent.same_segments(sum(e["x"]["segments"] for e in mine), b, end, f"{version}: segments, as its namespace counts")
        ends = {known[e["x"]["socket"]]["remote" if end == "connected" else "local"] for e in mine}
        want = (f"[{address}]" if ":" in address else address) + ":7777"
        tap.ok(ends <= {want}, f"{version}: on which connection", ends)
    if lines:
        resent.same(len(all_of) + others_of(records)[0], sum(map(len, resent.of.values())), None,
                    f"{version}: nothing is passed over in silence")


def older(version, command_line):
    """Connected before; of both ends only the one that accepted is a target."""
    w = subprocess.Popen(command_line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child = json.loads(w.stdout.readline())["child"]
    ige = rec.path("older.ige")
    counted = Counted("tcp/tcp_retransmit_skb")
    r = rec.start("-o", ige, "-p", child)
    rec.attached(r)
    both = [json.loads(line) for line in w.communicate("go\n", timeout=rec.PATIENCE)[0].splitlines()]
    err, status = r.stderr.read(), r.wait(rec.PATIENCE)
    lines = counted.end() if counted.top else []
    if not tap.ok(status == 0 and len(both) == 2, f"{version}: a connection older than the recording", err):
        return
    events, records, _ = rec.dump(ige)
    until = end_of(events, [child])
    resent = Resent(lines, until)
    mine = [e for e in of(events, "net", "retransmit") if e["end"] <= until]
    tap.none([e for e in mine if e["pid"] != child], f"{version}: what the other end sends is not the target's")
    if lines:
        resent.same(sum(e["x"]["tcp_state"] in (1, 2, 8) for e in mine), resent.of_open("accepted"), "accepted",
                    f"{version}: sent again on an older connection, as traced")
        resent.same_segments(sum(e["x"]["segments"] for e in mine), both[0], "accepted", f"{version}: segments of it")
        times, segments = others_of(records)
        resent.same(int(times), len(resent.of["connected"]), "connected", f"{version}: sent again by others, as traced")
        resent.same_segments(int(segments), both[1], "connected", f"{version}: segments of others")


# ---- memory -----------------------------------------------------------------------------------------------------------------

def memory_cgroup(limit):
    """A fresh one with that limit and one without in it: (their folders, the file where the outer one counts hits of its
    limit, the inner one's that counts kills), or why there is none."""
    name = f"ingero-host-{os.getpid()}"
    for top, limits, hits, kills in (("/sys/fs/cgroup", "memory.max", "memory.events.local", "memory.events"),
                                     ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.failcnt",
                                      "memory.oom_control")):
        outer = os.path.join(top, name)
        try:
            os.mkdir(outer)
        except OSError:
            continue
        undo.append(lambda outer=outer: os.rmdir(outer))
        if not os.path.exists(os.path.join(outer, limits)):
            continue
        try:
            if limits == "memory.max":
                with open(os.path.join(outer, "cgroup.subtree_control"), "w") as f:
                    f.write("+memory")
            inner = os.path.join(outer, "job")
            os.mkdir(inner)
        except OSError:
            continue
        undo.append(lambda inner=inner: os.rmdir(inner))
        with open(os.path.join(outer, limits), "w") as f:
            f.write(str(limit))
        return (outer, inner), os.path.join(outer, hits), os.path.join(inner, kills)
    return None, "no memory controller that may be used", None


def number_of(path, name="max"):
    with open(path) as f:
        words = f.read().split()
    return int(words[words.index(name) + 1] if name in words else words[0])


MEMORY = r'''
folder, path = sys.argv[1:]
def join():
    with open(folder + "/cgroup.procs", "w") as f:
        f.write("0")
reader = os.fork()
if reader == 0:
    join()
    print("reader", os.getpid(), flush=True)
    fd = os.open(path, os.O_RDONLY)
    while os.read(fd, 1 << 20):
        pass
    time.sleep(4)  # the recorder looks at its cgroup each second, or when it gets to it
    os._exit(0)
os.waitpid(reader, 0)
eater = os.fork()
if eater == 0:
    join()
    m = mmap.mmap(-1, 256 << 20)
    for i in range(0, 256 << 20, 4096):
        m[i] = 1
    os._exit(0)
status = os.waitpid(eater, 0)[1]
print(json.dumps({"reader": reader, "eater": eater, "status": status}), flush=True)
'''


def memory():
    folders, hits, kills = memory_cgroup(48 << 20)
    if not folders:
        tap.skip("memory", f"optional: {hits}")
        return
    outer, inner = folders
    path = os.path.join(rec.BUILD, "host-read.tmp")
    with open(path, "wb") as f:
        for _ in range(160):
            f.write(os.urandom(1 << 20))
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    undo.append(lambda: os.unlink(path))
    counted = Counted("vmscan/mm_vmscan_memcg_reclaim_end", "vmscan/mm_vmscan_direct_reclaim_end")
    truth, events, records = record("memory", MEMORY, inner, path)
    lines = counted.end() if counted.top else []
    if not truth:
        return
    got = of(events, "host", "reclaim", truth["reader"])
    mine = [line for line in lines if line.split("[")[0].rstrip().endswith(f"-{truth['reader']}")]
    if counted.top and mine:
        tap.same(len(got), len(mine), "reclaim: as often as the kernel traced it")
        tap.same(sum(e["x"]["pages"] for e in got), sum(int(line.split("nr_reclaimed=")[1]) for line in mine), "reclaim: pages")
    else:
        tap.ok(got, "reclaim: there is some")
    with open(kills) as f:
        told = dict(line.split() for line in f)
    dead = [e for e in of(events, "host", "oom") if e["pid"] == truth["eater"]]
    tap.same(truth["status"], signal.SIGKILL, "oom: killed")
    tap.same(len(dead), int(told["oom_kill"]), "oom: as often as the cgroup counts")
    # Paths of version 1 have their controller before them.
    limited, own = ({m: [r["value"] for r in records if r["record"] == "sample" and r["metric"] == m
                         and r.get("path", "").endswith(end)] for m in (28, 29, 31, 32)}
                    for end in (outer[outer.rindex("/"):], "/job"))
    tap.same(set(limited[29]), {48 << 20}, "cgroup: the limit of the one above is a sample")
    tap.same(own[29], [], "cgroup: its own has none")
    tap.ok(any(1 << 20 < v <= 48 << 20 for v in own[28]), "cgroup: what it uses", own[28])
    tap.ok(limited[31] and 0 < max(limited[31]) <= number_of(hits), "cgroup: the limit above was hit", (limited[31], hits))
    tap.same(set(own[31]), {0}, "cgroup: its own was not")
    tap.ok(own[32] and max(own[32]) <= int(told["oom_kill"]), "cgroup: its kills", own[32])
    tap.same([e["threads"]["trigger"][0] for e in dead], [truth["eater"]] * len(dead), "oom: who asked for the memory")
    tap.same([e["x"]["status"] for e in of(events, "host", "exit", truth["eater"])], [signal.SIGKILL], "oom: and its end")


try:
    first = record("nothing", "print('{\"pid\": 0}')")[2]
    got = sources(first)
    tap.same(set(got), {"block", "memory", "fault", "file", "tcp", "oom", "cpu", *UNWIND}, "which sources there are is said")
    tap.none([r for r in got.values() if r["requested"] != r["attached"] + r["failed"] or (r["failed"] and not r.get("reason"))],
             "and why one is missing")
    print("#", ", ".join(f"{k}: {v['attached']} of {v['requested']}" for k, v in got.items()))
    have = {k for k, r in got.items() if not r["failed"]}
    device, why = loop_device(32 << 20)
    if device and "block" in have:
        block_io(device)
        files(device)
    else:
        tap.skip("block I/O", f"optional: {why or got['block'].get('reason')}")
    user_space_files("file" in have)
    sockets()
    # Who accepts a connection is also found without a program of its own.
    if got["tcp"]["attached"] + 1 >= got["tcp"]["requested"]:
        retransmits()
    else:
        tap.skip("segments sent again", f"optional: {got['tcp'].get('reason')}")
    if {"memory", "oom"} <= have:
        memory()
    else:
        tap.skip("memory", "optional: the kernel does not show it")
finally:
    for step in reversed(undo):
        try:
            step()
        except OSError:
            pass
tap.done_testing()
