#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Recordings in several files: together they hold every call, each alone is whole and says what it is of; limits remove
# the oldest; the ring that is the default recording spares what others write. A flight recorder writes what it remembers
# when asked, when a call is slow, fails or hangs, and at the end.
import fcntl
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
LAUNCH = ("cuda", "cudaLaunchKernel")


def folder(name):
    path = rec.path(name)
    os.makedirs(path)
    return path


def files(where, stem):
    return sorted(glob.glob(os.path.join(where, stem + "-*.ige")))


def told(path, kind=None):
    """Records, as the independent reader gives them."""
    lines = subprocess.run([sys.executable, os.path.join(rec.ROOT, "tests", "ige_reader.py"), path], capture_output=True,
                           text=True).stdout.splitlines()
    return [x for x in map(rec.json.loads, lines) if "record" in x and kind in (None, x["record"])]


def records(path):
    return [x["record"] for x in told(path)]


where = folder("rows")
p = rec.run("-o", os.path.join(where, "run.ige"), "--rotate-every", "100ms", "--", rec.work("calls"), "--count", 1500,
            "--rate", 20000, RANK="1", WORLD_SIZE="2")
calls = rec.truth(p.stdout)[0]["ops"]
found = files(where, "run")
tap.ok(p.returncode == 0 and len(found) > 2, f"a recording in {len(found)} files", p.stderr)
got = [rec.counts(f) for f in found]
tap.same((sum(c[LAUNCH] if LAUNCH in c else 0 for c, _ in got), sum(lost for _, lost in got)),
         (calls["cudaLaunchKernel"]["count"], 0), "together they hold every call")
whole, lost = {}, 0
s = subprocess.run([rec.STAT, "--json", *found], capture_output=True, text=True)
whole = {o["op"]: o["count"] for o in rec.json.loads(s.stdout)["ops"] if o["source"] == "cuda"}
asked = {op: n["count"] for op, n in calls.items()}
tap.same({op: whole.get(op) for op in asked}, asked, "read together they are one recording")
bad = [f for f in found if subprocess.run([rec.STAT, f], capture_output=True).returncode]
tap.same(bad, [], "each alone is whole")
kinds = [set(records(f)) for f in found]
# The first may end before the program has loaded what is probed.
tap.ok(all({"node", "session", "clock", *(["coverage"] if counted else [])} <= k for k, (counted, _) in zip(kinds, got)), "and says of what it is",
       str(kinds))
tap.ok(all("place" in k for k, (counted, _) in zip(kinds[:-1], got) if counted), "and where its processes belong", str(kinds))
tap.none([f for f in found if not {"block", "memory"} <= {c["layer"] for c in told(f, "coverage")}], "and which of the kernel's own events it holds")

# ---- who has ended is told of until nothing more can come, a second or two, not in every file from then on
where = folder("ended")
p = rec.run("-o", os.path.join(where, "run.ige"), "--rotate-every", "1s", "--", "sh", "-c",
            f"for i in 1 2 3 4 5 6 7 8; do {rec.work('calls')} --count 3; sleep 0.8; done")
found = files(where, "run")
said = [{c["process"]["pid"]: c["delivered"] for c in told(f, "coverage") if c["layer"] == "runtime"} for f in found]
whose = set().union(*said)
tap.same(len(whose), 8, "each process is told of")
tap.ok(len(found) > 5 and max(sum(pid in s for s in said) for pid in whose) <= 3, "in the file in which it ended and those just after", str(said))
came = sum(n for f in found for (source, _), n in rec.counts(f)[0].items() if source == "cuda")
tap.same(sum(max(s.get(pid, 0) for s in said) for pid in whose), came, "with all that came of it")

where = folder("kept")
p = rec.run("-o", os.path.join(where, "run.ige"), "--rotate-every", "100ms", "--keep", 2, "--", rec.work("calls"),
            "--count", 1500, "--rate", 20000)
found = files(where, "run")
tap.same(len(found), 2, "--keep 2")
tap.ok("removed" in p.stderr and found[-1] > os.path.join(where, "run-000003.ige"), "the newest two", str(found))

where = folder("sized")
p = rec.run("-o", os.path.join(where, "run.ige"), "--max-size", "1m", "--rotate", "256k", "--ring", "256k", "--", rec.work("calls"), "--count",
            30000, "--threads", 2, timeout=rec.PATIENCE)
found = files(where, "run")
size = sum(os.path.getsize(f) for f in found)
# What came between two looks comes on top, however slow the recorder is: at most what the ring holds; at the end also what it
# has at hand, of 50 ms.
tap.ok(p.returncode == 0 and "removed" in p.stderr and len(found) > 1 and size < 2 << 20,
       f"--max-size 1m: {size} bytes in {len(found)} files", p.stderr)

where = folder("ring")
for name, age in (("busy.ige", 1000), ("first.ige", 2000), ("second.ige", 3000), ("notes.txt", 500)):
    path = os.path.join(where, name)
    with open(path, "wb") as f:
        f.write(b"x" * (2 << 20))
    os.utime(path, (age, age))
busy = open(os.path.join(where, "busy.ige"))
fcntl.flock(busy, fcntl.LOCK_EX)
p = rec.run("--db", where, "--max-size", "6m", "--rotate-every", "200ms", "--", rec.work("calls"), "--count", 500, "--rate",
            10000)
left = sorted(f for f in os.listdir(where) if not f.startswith("run-"))
tap.same(left, ["busy.ige", "notes.txt", "second.ige"], "the ring lets the oldest go, but nobody's that is being written")
busy.close()
tap.ok(len(files(where, "run")) > 1, "and goes on in files of its own", str(os.listdir(where)))

# ---- each file says what its events only number: the ones before it may be gone
NAMED = r"""
import ctypes, os, socket, sys, threading, time
cuda = ctypes.CDLL("libcuda.so.1")
function = ctypes.c_void_p()
cuda.cuModuleGetFunction(ctypes.byref(function), ctypes.c_void_p(16), b"_Z6scale2Pf")
listener = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(listener.getsockname())
far = listener.accept()[0]
def answer():
    while far.recv(1):
        time.sleep(0.005)
        far.send(b"x")
threading.Thread(target=answer).start()
print(listener.getsockname()[1], near.fileno(), far.fileno(), flush=True)
f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
while os.path.exists(sys.argv[1]):
    near.send(b"x")
    near.recv(1)
    os.pwrite(f, os.urandom(1 << 18), 0)
    os.fsync(f)
    cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
near.close()
far.shutdown(socket.SHUT_RDWR)
"""
WANTED = {"socket": 0, "file": 0, "cuLaunchKernel": 0}


def nameless(path, port, fds, data):
    """How many of the waits and launches in a file say whom, what and which; those that do not."""
    named, silent = dict(WANTED), []
    for line in subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-f", "json", path], capture_output=True, text=True).stdout.splitlines():
        e = rec.json.loads(line)
        if e.get("op") == "socket" and e.get("fd") in fds:
            what, said = "socket", f"127.0.0.1:{port}" in (e.get("remote"), e.get("local"))
        elif e.get("op") == "file" and e.get("write") == 2:
            what, said = "file", e.get("file") == data
        elif e.get("op") == "cuLaunchKernel":
            what, said = "cuLaunchKernel", "scale2" in e.get("kernel_name", "")
        else:
            continue
        if said:
            named[what] += 1
        else:
            silent.append((os.path.basename(path), line))
    return named, silent


def many_files(name, *arguments, enough):
    where, data, script = folder(name), os.path.join(rec.BUILD, f"rotate-{name}.tmp"), rec.path("named.py")
    with open(script, "w") as f:
        f.write(NAMED)
    open(data, "w").close()
    p = rec.start("-o", os.path.join(where, "run.ige"), *arguments, "--", sys.executable, script, data)
    port, *fds = map(int, p.stdout.readline().split())
    rec.until(lambda: enough(where) or p.poll() is not None)
    os.unlink(data)
    p.communicate(timeout=rec.PATIENCE)
    return [nameless(f, port, fds, data) for f in files(where, "run")]


rows = many_files("named", "--rotate-every", "300ms", enough=lambda where: len(files(where, "run")) > 4)
tap.ok(sum(all(n.values()) for n, _ in rows) > 1, "several files with waits and launches", str(rows))
tap.none([s for _, silent in rows for s in silent], "each says for which file and socket, and what is launched")

# ---- the flight recorder


# ---- a folder behind -o: the same, beside standard output
where = folder("outputs")
p = subprocess.run([rec.RECORD, *rec.WHOLE, "-o", where + "/new/", "-o", "-", "--", rec.work("calls"), "--count", "50"], env=rec.environment(),
                   capture_output=True)
found = files(where + "/new", "run")
tap.same((p.returncode, len(found)), (0, 1), "-o FOLDER/ makes the folder, and a run in it")
tap.ok(p.stdout[:4] == b"\x89IGE" and found and rec.counts(found[0])[0][("cuda", "cudaMalloc")] > 0, "and -o - still streams", p.stderr)

def flight(name, *arguments, until, then, **settings):
    """Runs until a line of standard error holds `until`, then calls `then` with the process; its files and text."""
    where = folder(name)
    p = rec.start("-o", os.path.join(where, "f.ige"), "--flight-recorder", "2s", *arguments, **settings)
    text = ""
    for line in p.stderr:
        text += line
        if until in line:
            break
    then(p)
    text += p.communicate(timeout=rec.PATIENCE)[1] or ""
    return files(where, "f"), text, p.returncode


work = ["--", rec.work("calls"), "--count", 1000000, "--rate", 5000]


def ask_and_end(p):
    p.send_signal(signal.SIGUSR1)
    for line in p.stderr:
        if "asked for" in line:
            break
    p.send_signal(signal.SIGINT)


found, text, status = flight("asked", *work, until="runtime", then=ask_and_end)
tap.same((status, len(found)), (0, 2), "SIGUSR1, and the end")
tap.ok(all(subprocess.run([rec.STAT, f], capture_output=True).returncode == 0 for f in found), "each is a whole recording")
tap.ok("the recording ended" in text, "it says why", text)

found, text, _ = flight("slow", "--trigger", "cudaMalloc>50ms", *work, until="took", then=lambda p: p.send_signal(signal.SIGINT),
                        DOUBLE_NS_cudaMalloc="60000000:at=500")
events, _, _ = rec.dump(found[0])
slow = [e for e in events if e["op"] == "cudaMalloc" and e["dur"] > 50000000]
tap.ok(slow, "a slow call triggers, and is in what is written", (len(events), found, text))

found, text, _ = flight("failed", "--trigger", "error", *work, until="returned an error",
                        then=lambda p: p.send_signal(signal.SIGINT), DOUBLE_FAIL="cudaMemset:1:at=300")
events, _, _ = rec.dump(found[0])
tap.ok([e for e in events if e["op"] == "cudaMemset" and e["ret"] == 1], "a failed call too")

found, text, _ = flight("both", "--trigger", "cudaMalloc>50ms", *work, until="wrote", then=lambda p: p.send_signal(signal.SIGINT),
                        DOUBLE_NS_cudaMalloc="60000000:at=500", DOUBLE_FAIL="cuMemAlloc_v2:2:at=500")
slow = [e["ret"] for e in rec.dump(found[0])[0] if e["op"] == "cudaMalloc" and e["dur"] > 50000000]
tap.ok(2 in slow and "cudaMalloc took" in text, "one that took too long and failed is told for what it was asked for", f"{slow} {text}")

def later(p):
    time.sleep(6)
    p.send_signal(signal.SIGINT)


found, text, _ = flight("hung", "--hung", "500ms", "--", rec.work("hang"), until="has not returned", then=later)
tap.ok("open" in records(found[0]), "and one that does not return")
tap.same((len(found), text.count("has not returned")), (2, 1), "once, however long that is")

p = rec.run("-o", os.path.join(folder("rarely"), "f.ige"), "--flight-recorder", "2s", "--hung", "500ms", "--flush", "1h", "--", "timeout", "6", rec.work("hang"))
tap.ok("has not returned" in p.stderr, "nor does it wait for --flush", p.stderr)

# ---- what could not be written is no file; a memory that is too small is told
where = folder("full")
gone, log = where + ".away", rec.path("flight.log")


def ask(p, words, times=1):
    """Asks for a file until the recorder has said these words so often."""
    def answered():
        p.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        with open(log, encoding="utf-8") as f:
            return f.read().count(words) >= times
    return rec.until(answered)


def begin(*arguments):
    with open(log, "w", encoding="utf-8") as f:
        p = subprocess.Popen([rec.RECORD, *arguments, *map(str, work)], env=rec.environment(), stdout=subprocess.DEVNULL, stderr=f)
    rec.until(lambda: "runtime" in open(log, encoding="utf-8").read())
    return p


p = begin("-o", os.path.join(where, "f.ige"), "--flight-recorder", "2s", "--keep", "2")
ask(p, "asked for", 2)
os.rename(where, gone)
tap.ok(ask(p, "are lost", 2), "a file that cannot be written is told")
os.rename(gone, where)
before = files(where, "f")
tap.ok(ask(p, "wrote ", open(log, encoding="utf-8").read().count("wrote ") + 1), "and written when it can be")
tap.same((len(before), len(files(where, "f"))), (2, 2), "in its place nothing else goes: --keep 2")
p.send_signal(signal.SIGINT)
p.wait(rec.PATIENCE)
where = folder("lost")
p = begin("-o", os.path.join(where, "f.ige"), "--flight-recorder", "2s")
os.rename(where, where + ".away")
p.send_signal(signal.SIGINT)
tap.same(p.wait(rec.PATIENCE) != 0, True, "the last file cannot be written: that is no success")
said = open(log, encoding="utf-8").read()
tap.ok("the recording ended, but the last seconds are lost" in said and "recorded " in said and "next:" not in said, "and is told as what it is", said)
p = begin("-o", os.path.join(folder("small"), "f.ige"), "--flight-recorder", "1h", "--flight-memory", "50k")
tap.ok(ask(p, "--flight-memory had room for"), "a memory that has no room for the time asked for is told")
p.send_signal(signal.SIGINT)
p.wait(rec.PATIENCE)

for bad in (["--keep", "3"], ["--rotate", "10k"], ["--max-size", "100k"], ["--trigger", "x"],
            ["--flight-recorder", "1s", "--trigger", "cudaMalloc"], ["--flight-recorder", "1s", "-o", "-"],
            ["--flight-recorder", "1s", "--trigger", "cudaNoSuch>1s"],
            ["--flight-recorder", "1s", "-o", rec.path("one.ige"), "-o", rec.path("two.ige")]):
    p = rec.run(*bad, "-o", rec.path("bad.ige"), "--", "true") if "-o" not in bad else rec.run(*bad, "--", "true")
    tap.ok(p.returncode in (2, 125) and not os.path.exists(rec.path("bad.ige")), " ".join(bad) + " is refused", p.stderr)
tap.done_testing()
