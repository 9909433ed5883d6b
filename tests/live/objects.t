#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What threads sleep on and who wakes them, move by move: a workload that sleeps in every way it knows and writes
# down when, compared with its off-CPU intervals. Migration while waiting, threads older than the recording.
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
import tracks
from recording import tap

rec.need_bpf()
SLEEP = 0.03

# Each way sleeps once for SLEEP seconds at least; one JSON line each: name, when, the thread that ends it.
WAYS = r'''
import ctypes, json, mmap, os, select, signal, socket, sys, threading, time
SLEEP = %r
libc = ctypes.CDLL(None, use_errno=True)
FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
word = ctypes.c_int(7)


def await_sleep(pid, tid):
    """Until that thread sleeps, and has for SLEEP: it did not run in between, though Python's lock was free."""
    seen = None
    while True:
        with open("/proc/%%d/task/%%d/status" %% (pid, tid)) as f:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in f)
        now = [fields[k] for k in ("State", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")]
        if now == seen and now[0][0] == "S":
            return
        seen = now
        time.sleep(SLEEP)


def later(fn):
    """Calls fn in a thread when the caller has slept for SLEEP; the thread's id."""
    got, caller = [], threading.get_native_id()

    def body():
        got.append(threading.get_native_id())
        await_sleep(os.getpid(), caller)
        fn()
    t = threading.Thread(target=body)
    t.start()
    while not got:
        time.sleep(0.001)
    return t, got[0]


def say(name, begin, **more):
    print(json.dumps({"way": name, "begin_ns": begin, "end_ns": time.monotonic_ns(), "tid": threading.get_native_id(),
                      "pid": os.getpid(), **more}), flush=True)


def timed(name, fn, **more):
    begin = time.monotonic_ns()
    fn()
    say(name, begin, **more)


def woken(name, sleep, wake, **more):
    t, tid = later(wake)
    begin = time.monotonic_ns()
    sleep()
    say(name, begin, by=tid, **more)
    t.join()


timed("sleep", lambda: time.sleep(SLEEP))
r, w = os.pipe()
woken("pipe", lambda: os.read(r, 1), lambda: os.write(w, b"x"), fd=r)
a, b = socket.socketpair()
woken("socket", lambda: a.recv(1), lambda: b.send(b"x"), fd=a.fileno())
timed("select with nothing to watch", lambda: select.select([], [], [], SLEEP))
p = select.poll()
p.register(r, select.POLLIN)
woken("poll", lambda: p.poll(500000), lambda: os.write(w, b"x"))
os.read(r, 1)
timed("poll that times out", lambda: p.poll(SLEEP * 1000))
a.settimeout(500)
woken("socket with a timeout", lambda: a.recv(1), lambda: b.send(b"x"), fd=a.fileno())
p.register(a, select.POLLIN)
woken("poll of a socket and a pipe", lambda: p.poll(500000), lambda: b.send(b"x"))
a.recv(1)
e = select.epoll()
e.register(r, select.EPOLLIN)
woken("epoll", lambda: e.poll(500), lambda: os.write(w, b"x"), fd=e.fileno())
os.read(r, 1)
woken("futex", lambda: libc.syscall(FUTEX, ctypes.byref(word), 0, 7, None, None, 0),
      lambda: libc.syscall(FUTEX, ctypes.byref(word), 1, 1, None, None, 0), address=ctypes.addressof(word))
parent, caller = os.getpid(), threading.get_native_id()
pid = os.fork()
if pid == 0:
    await_sleep(parent, caller)
    os._exit(0)
timed("child", lambda: os.waitpid(pid, 0))
pid = os.fork()
if pid == 0:
    begin = time.monotonic_ns()
    os.kill(os.getpid(), signal.SIGSTOP)
    say("stop", begin)
    os._exit(0)
os.waitpid(pid, os.WUNTRACED)
time.sleep(SLEEP)
os.kill(pid, signal.SIGCONT)
os.waitpid(pid, 0)
f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for i in range(20):
    os.pwrite(f, os.urandom(1 << 18), 0)
    timed("fsync", lambda: os.fsync(f), fd=f)
''' % SLEEP

WANT = {  # way -> (object, waker)
    "sleep": (tracks.TIMER, tracks.BY_TIMER),
    "pipe": (tracks.FD, tracks.BY_TASK),
    "socket": (tracks.SOCKET, tracks.BY_TASK),
    "select with nothing to watch": (tracks.TIMER, tracks.BY_TIMER),
    "poll": (tracks.POLL, tracks.BY_TASK),
    "poll that times out": (tracks.POLL, tracks.BY_TIMER),
    "socket with a timeout": (tracks.SOCKET, tracks.BY_TASK),
    "poll of a socket and a pipe": (tracks.POLL, tracks.BY_TASK),
    "epoll": (tracks.POLL, tracks.BY_TASK),
    "futex": (tracks.FUTEX, tracks.BY_TASK),
    "child": (tracks.CHILD, tracks.BY_TASK),
    "stop": (tracks.STOP, tracks.BY_TASK),
}

script, scratch = rec.path("ways.py"), os.path.join(rec.BUILD, "sched-objects.tmp")
with open(script, "w") as f:
    f.write(WAYS)
ige = rec.path("objects.ige")
p = rec.run("-o", ige, "--", sys.executable, script, scratch)
os.unlink(scratch)
said = [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]
tap.ok(p.returncode == 0 and {s["way"] for s in said} >= set(WANT), "a workload that sleeps in many ways", p.stderr)
events = rec.dump(ige)[0]
for s in said:
    if s["way"] not in WANT:
        continue
    name, (kind, waker) = s["way"], WANT[s["way"]]
    inside = [e for e in tracks.of_thread(events, s["tid"])
              if e["end"] - e["dur"] >= s["begin_ns"] and e["end"] <= s["end_ns"]]
    # The longest: taking Python's lock again, or being preempted, are others.
    longest = max(inside, key=lambda e: e["dur"], default=None)
    if not tap.ok(longest and longest["dur"] > SLEEP * 1e9 / 2, f"{name}: an interval", inside):
        continue
    x = longest["x"]
    tap.same(x.get("object_kind", 0), kind, f"{name}: what it sleeps on")
    if "fd" in s:
        tap.same(x.get("object"), s["fd"], f"{name}: which descriptor")
    if "address" in s:
        tap.same((x.get("object"), x.get("futex_op"), x.get("futex_val")), (s["address"], 0, 7), f"{name}: which futex")
    if tap.ok(x.get("waker_kind", 0) in (waker, tracks.NO_WAKER), f"{name}: what kind of waker", longest) and "by" in s:
        if x.get("waker_kind"):
            tap.same(longest["threads"]["waker"][0], s["by"], f"{name}: the waker")
    tap.same(longest["pid"], s["pid"], f"{name}: the process")
wakers = [e["x"].get("waker_kind", 0) for e in tracks.sched(events, "offcpu") if e["dur"] > e["x"]["wait_ns"]]
tap.ok(wakers and wakers.count(0) <= max(3, 0.1 * len(wakers)), "nearly every sleeper has a waker",
       f"{wakers.count(0)} of {len(wakers)} without")

syncs = [s for s in said if s["way"] == "fsync"]
disk = [e for e in events if e["source"] == "sched" and e["op"] == "offcpu" and e["x"].get("object_kind") == tracks.DISK
        and any(s["begin_ns"] <= e["end"] - e["dur"] and e["end"] <= s["end_ns"] for s in syncs)]
spent = sum(s["end_ns"] - s["begin_ns"] for s in syncs)
if spent < 5_000_000:
    tap.skip("waiting for the disk", f"optional: the disk is too fast, 20 fsyncs took {tracks.ms(spent)} here")
else:
    tap.ok(sum(e["dur"] for e in disk) > spent / 4, "waiting for the disk", f"{len(disk)} intervals, {tracks.ms(spent)}")
    want = os.stat(rec.BUILD).st_dev
    named = {e["x"]["object"] for e in disk if "object" in e["x"]}
    tap.ok(named <= {os.major(want) << 20 | os.minor(want)}, "and for which", named)

# A sleep outside calls carries the stack it was entered with.
p = rec.run("-o", ige, "--", rec.work("sleeper"), "--rounds", 20, "--sleep-us", 3000)
said = rec.truth(p.stdout)
if tap.ok(p.returncode == 0 and said, "a program that sleeps between its calls", p.stderr):
    naps = [e for e in tracks.of_thread(rec.dump(ige)[0], said[0]["tid"])
            if e["x"].get("object_kind") == tracks.TIMER and e["dur"] >= 3_000_000 and e["depth"] == 0]
    tap.ok(len(naps) >= 20, "its sleeps", len(naps))
    tap.none([e["stack"] for e in naps if [f[0] for f in e["stack"] if f[0] != "work_sleep_until"][1:3] != ["doze", "main"]], "where it sleeps")

# A probe is looked for in the process's memory map: a thread that calls waits while another one changes that.
MAPS = """
import ctypes, mmap, os, sys, threading, time
sys.path.insert(0, %r)
import cuda
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE = 256 << 20
area = mmap.mmap(-1, SIZE)
for at in range(0, SIZE, 4096):
    area[at] = 1
address = ctypes.addressof(ctypes.c_char.from_buffer(area))
c = cuda.Cuda()
over = False
def protect():
    while not over:
        libc.mprotect(address, SIZE, 1)
        libc.mprotect(address, SIZE, 3)
t = threading.Thread(target=protect)
t.start()
end = time.monotonic() + 2
while time.monotonic() < end:
    c.cudaLaunchKernel(0x1000, cuda.ONE, cuda.ONE, None, 0, None)
over = True
t.join()
print(os.getpid())
""" % os.path.join(rec.ROOT, "tests", "double", "work")
with open(script, "w", encoding="utf-8") as f:
    f.write(MAPS)
p = rec.run("-o", ige, "--", sys.executable, script)
slept = [e for e in tracks.sched(rec.dump(ige)[0], "offcpu") if e["dur"] > e["x"]["wait_ns"] and e["stack"]]
at_probe = [e for e in slept if e["x"].get("object_kind") == tracks.PROBE]
tap.ok(p.returncode == 0 and at_probe, "waits at a probe for the memory map", p.stderr)
tap.none([e["stack"] for e in slept if e["stack"][0][0].startswith("cudaLaunchKernel") and e["x"].get("object_kind") == tracks.FAULT],
         "none of them is a page fault")
tap.none([e["stack"] for e in at_probe if not e["stack"][0][0].startswith("cuda") or len(e["stack"]) < 3], "they have their callers")
text = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), ige], capture_output=True, text=True, check=True).stdout
tap.ok("held up by ingero-record's probes" in text, "and are the recorder's", text[-1500:])

# The same lock as the program's own affair: memory that is filled while another thread changes the map.
FILL = MAPS.replace("c.cudaLaunchKernel", "area2 = mmap.mmap(-1, 1 << 20); area2.write(b'x' * (1 << 20)); area2.close(); c.cudaLaunchKernel")
with open(script, "w", encoding="utf-8") as f:
    f.write(FILL)
p = rec.run("-o", ige, "--", sys.executable, script)
pid = int(p.stdout.split()[-1])
slept = [e for e in tracks.sched(rec.dump(ige)[0], "offcpu") if e["x"].get("object_kind") == tracks.MAP]
by_task = [e for e in slept if e["tid"] == pid and e["x"].get("waker_kind") == tracks.BY_TASK]
tap.ok(p.returncode == 0 and len(slept) >= 20, "waits for the memory map's lock", (p.stderr, len(slept)))
tap.ok(len(by_task) >= 10, "woken by who held it", by_task[:3])
text = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), ige], capture_output=True, text=True, check=True).stdout
tap.ok(re.search(r"held the memory map's lock \(mmap_lock\) that .* waited for.* the holder was in protect ", text), "whose it was", text)
tap.ok("instead of mapping it anew" in text, "what to change", text[-1500:])

# Two that only compute, thrown from CPU to CPU while they wait for each other.
cpus = sorted(os.sched_getaffinity(0))
if len(cpus) < 2:
    tap.skip("moving", "one CPU")
else:
    burn = "import threading; print(threading.get_native_id(), flush=True)\nwhile True: pass\n"
    mover = f'''
import os, subprocess, sys, time
kids = [subprocess.Popen([sys.executable, "-c", {burn!r}], stdout=subprocess.PIPE) for _ in range(3)]
for k in kids:
    print(int(k.stdout.readline()), flush=True)
end = time.monotonic() + 1.8
n = 0
while time.monotonic() < end:
    n += 1
    for i, k in enumerate(kids):
        os.sched_setaffinity(k.pid, {{{cpus!r}[(n + i // 2) % 2]}})
    time.sleep(0.005)
for k in kids:
    k.kill()
    k.wait()
'''
    with open(script, "w") as f:
        f.write(mover)
    p = rec.run("-o", ige, "--", sys.executable, script)
    tap.ok(p.returncode == 0, "threads thrown from CPU to CPU", p.stderr)
    events = rec.dump(ige)[0]
    for tid in [int(line) for line in p.stdout.split() if line.isdigit()]:
        moved = sum(len(pieces) > 1 for _, pieces, _ in tracks.waits(events, tid))
        who, waited, hole, unsound = tracks.occupancy(events, tid)
        tap.ok(moved > 10 and waited > 100_000_000, "moved while it waited", (moved, waited))
        tap.same(unsound, 0, "every move is there")
        tap.ok(hole <= waited / 500, "who had the CPU is known throughout", f"{tracks.ms(hole)} of {tracks.ms(waited)}")
    tracks.check_given_once(events)

# A process that was there before: its threads are followed, also the one that slept when recording began.
old = subprocess.Popen([sys.executable, "-c", """
import os, sys, threading, time
r, w = os.pipe()
t = threading.Thread(target=lambda: (print(threading.get_native_id(), flush=True), os.read(r, 1), time.sleep(0.2)))
t.start()
sys.stdin.read(1)
os.write(w, b"x")
t.join()
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
tid = int(old.stdout.readline())
recorder = rec.start("-o", ige, "-p", old.pid, "--duration", 30)
err = ""
while "  probes" not in err:  # said when they are there
    err += recorder.stderr.readline() or "  probes"
old.stdin.write("x")
old.stdin.flush()
old.wait()
err += recorder.communicate()[1]
events, records, _ = rec.dump(ige)
began = next(r["start_ns"] for r in records if r["record"] == "session")
mine = tracks.of_thread(events, tid)
tap.ok(any(e["x"].get("object_kind") == tracks.TIMER and e["dur"] > 150_000_000 for e in mine),
       "a thread older than the recording", err)
tap.none([e for e in tracks.sched(events, "offcpu") if e["end"] - e["dur"] < began], "nothing from before the recording")
tap.done_testing()
