#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Ways to record: samples thinned and counted, two recorders at once, what was lost told with its reason.
import os
import re
import select
import struct
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


def records(path, kind):
    """As the independent reader gives them."""
    lines = subprocess.run([sys.executable, os.path.join(rec.ROOT, "tests", "ige_reader.py"), path], capture_output=True,
                           text=True).stdout.splitlines()
    return [x for x in map(rec.json.loads, lines) if x.get("record") == kind]


def op_numbers():
    """(source, op) -> number in files."""
    text = open(os.path.join(rec.ROOT, "formats", "ops.def")).read()
    source = {s: (int(n), name) for n, s, name in re.findall(r'^SOURCE\((\d+), (\w+), "(\w+)"', text, re.M)}
    return {(source[s][1], name): source[s][0] << 8 | int(n) for s, n, name in
            re.findall(r'^OP\((\w+), (\d+), \w+, "(\w+)"', text, re.M)}


def expected(p):
    return {("cuda", op): n["count"] for op, n in rec.truth(p)[0]["ops"].items() if op.startswith("cuda")}


def same_counts(path, calls, name):
    got, lost = rec.counts(path)
    tap.same(({k: n for k, n in got.items() if k in calls}, lost), (calls, 0), name)


# ---- thinned samples
work = ["--", rec.work("calls"), "--count", 300, "--rate", 1000]
out = rec.path("thin.ige")
# Another process writes meanwhile: what it wrote is two samples, which are never left out.
writes = f"while :; do dd if=/dev/zero of={rec.path('beside')} bs=1M count=16 conv=fsync status=none; done"
with subprocess.Popen(["sh", "-c", writes]) as beside:
    p = rec.run("-o", out, "--deadband", "1000", "--heartbeat", "1h", *work)
    beside.kill()
said, thinned = records(out, "sample"), records(out, "thinned")
tap.same(sum(t["said"] for t in thinned), len(said), "every sample that was recorded is counted")
tap.ok(sum(t["left_out"] for t in thinned) > 0, "and those left out", str(thinned))
seen = {}
for s in said:
    key = (s["metric"], str([s.get(k) for k in ("process", "cgroup", "gpu", "cpu")]))
    seen.setdefault(key, []).append(s["time_ns"])
last = max(s["time_ns"] for s in said)
tap.ok(all(times[-1] == last for key, times in seen.items() if key[0] == 1), "the last values are there", str(seen))
tap.ok("left out" in p.stderr, "and a line says so", p.stderr)
out = rec.path("thick.ige")
rec.run("-o", out, *work)
tap.same(records(out, "thinned"), [], "nothing is left out unless asked for")
for bad in (["--deadband", "-1"], ["--deadband", "x"], ["--heartbeat", "soon"]):
    tap.same(rec.run(*bad, "-o", out, "--", "true").returncode, 2, "refused: " + " ".join(bad))

# ---- without probes, and without rights
out = rec.path("samples.ige")
os.chmod(os.path.dirname(out), 0o777)


def nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


WAIT = "import os, sys, time\nprint(os.getpid())\nend = time.monotonic() + 2.2\nwhile time.monotonic() < end:\n  pass"
plain = subprocess.run([rec.RECORD, "-o", out, "--", "true"], env=rec.environment(), capture_output=True, text=True, preexec_fn=nobody)
tap.ok(plain.returncode == 125 and "--no-probes" in plain.stderr, "a user without rights is told of --no-probes", plain.stderr)
p = subprocess.run([rec.RECORD, "--no-probes", "-o", out, "--", "python3", "-c", WAIT], env=rec.environment(RANK=3, WORLD_SIZE=8),
                   capture_output=True, text=True, preexec_fn=nobody)
tap.same(p.returncode, 0, "and can record without probes")
pid = int(p.stdout)
own = [s for s in records(out, "sample") if s.get("process", {}).get("pid") == pid]
cpu = [s["value"] for s in own if s["metric"] == 17]
tap.ok(len(cpu) >= 2 and cpu == sorted(cpu) and 0 < cpu[-1], "its CPU time is there, growing", str(own))
tap.ok(any(s["metric"] == 18 and s["value"] > 0 for s in own), "and its memory")
tap.same([(x["rank"], x["world_size"]) for x in records(out, "place") if x["process"]["pid"] == pid], [(3, 8)], "and its rank")
names = {x["comm"] for x in records(out, "name") if x["thread"]["tid"] == pid}
tap.ok(any(name.startswith("python3") for name in names), "under the name it executes", str(names))
tap.ok(any("gpu" in s for s in records(out, "sample")), "GPU health is there")
tap.same(subprocess.run([rec.STAT, out], capture_output=True).returncode, 0, "it is a recording")
child = subprocess.Popen(["sleep", "1000"])
r = rec.start("--no-probes", "-o", out, "-p", child.pid)
rec.attached(r)
child.kill()
child.wait()
tap.same((r.wait(rec.PATIENCE), rec.run("--no-probes", "-o", out, "-p", child.pid).returncode), (0, 3),
         "it ends with its target; there must be one")

# ---- many processes, and seconds for which the recorder had no CPU
MANY = """
import os, sys
r, w = os.pipe()
for _ in range(30):
    if os.fork() == 0:
        os.close(w)
        os.read(r, 1)
        os._exit(0)
print("there", flush=True)
sys.stdin.read()
"""
many = subprocess.Popen([sys.executable, "-c", MANY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
many.stdout.readline()
p = subprocess.run(["sh", "-c", 'ulimit -Sn 64; exec "$@"', "sh", rec.RECORD, "--no-probes", "--no-gpu", "-o", out, "--duration", "1500ms", "-p",
                    str(many.pid)], env=rec.environment(), capture_output=True, text=True)
sampled = {s["process"]["pid"] for s in records(out, "sample") if s.get("process")}
tap.ok(many.pid in sampled and len(sampled) == 31, "more processes are sampled than a shell lets a program have files for", (p.stderr, sampled))
r = rec.start("--no-probes", "--no-gpu", "-o", out, "-p", many.pid)
rec.attached(r)
for name, seconds in ((signal.SIGSTOP, 4), (signal.SIGCONT, 2)):
    r.send_signal(name)
    time.sleep(seconds)
r.send_signal(signal.SIGINT)
r.communicate(timeout=rec.PATIENCE)
times = sorted({s["time_ns"] for s in records(out, "sample")})[:-1]  # the last are those of the end
gaps = [b - a for a, b in zip(times, times[1:])]
tap.ok(gaps and min(gaps) > 400000000, "seconds in which it was stopped are not made up for", str(gaps))
many.stdin.close()
many.wait()

# ---- marks
fifo, out = rec.path("marks"), rec.path("marked.ige")
TRAIN = f"""
import os, stat, sys
s = os.lstat({fifo!r})
print(stat.S_ISFIFO(s.st_mode), oct(stat.S_IMODE(s.st_mode)))
with open({fifo!r}, "w", buffering=1) as f:
    for step in range(50):
        f.write(f"begin step\\nstep {{step}}\\nloss {{1 / (step + 1)!r}}\\nend step\\n")
    f.write("request a b\\nepoch\\n\\nend nothing\\n" + "x" * 300 + "\\nbad\\x01\\nbegin forever\\n")
"""
p = rec.run("--mark", fifo, "-o", out, "--", "python3", "-c", TRAIN)
tap.same((p.returncode, p.stdout), (0, "True 0o600\n"), "there is a FIFO, for the user alone")
events = rec.dump(out)[0]
words = {x["id"]: x["text"] for x in records(out, "word")}


def bits(value):
    return struct.unpack("<d", struct.pack("<Q", int(value)))[0]


def word_of(event, column):
    return words[int(event["x"][column])] if column in event["x"] else None


marks = [e for e in events if e["source"] == "mark"]
points = [(word_of(e, "name"), bits(e["x"]["value"]) if "value" in e["x"] else None, word_of(e, "text")) for e in marks if
          e["op"] == "point"]
want = [m for step in range(50) for m in (("step", step, None), ("loss", 1 / (step + 1), None))]
tap.same(points, want + [("request", None, "a b"), ("epoch", None, None)], "every point, with its number to the last bit")
tap.same([word_of(e, "name") for e in marks if e["op"] == "range"], ["step"] * 50, "and every range")
tap.ok("3 lines not understood" in p.stderr and "range had not ended" in p.stderr, "the others are told", p.stderr)
tap.ok(not os.path.exists(fifo), "the FIFO is gone")
tap.same(rec.run("--mark", out, "-o", rec.path("x.ige"), "--", "true").returncode, 125, "a file is no FIFO")

# ---- two recorders of one program
DECOY = """
import ctypes, sys
for name in ("libcudart.so.13", "libcuda.so.1"):
    ctypes.CDLL(name)
print("there", flush=True)
sys.stdin.read()
"""
decoy = subprocess.Popen([sys.executable, "-c", DECOY], env=rec.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
decoy.stdout.readline()


def waiting(*arguments):
    """A program that begins when its standard input ends; its libraries are those of the decoy."""
    return subprocess.Popen(["sh", "-c", 'read go; exec "$@"', "sh", rec.work("calls"), *arguments], env=rec.environment(),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def recorder(out, pid):
    r = rec.start("-o", out, "-p", f"{decoy.pid},{pid}")
    rec.said(r, "  driver ")
    return r


def ended(r, meanwhile=None):
    """Ends a recorder. A program that is to be there meanwhile goes on for a second, and when the recorder has ended."""
    r.send_signal(signal.SIGINT)
    try:
        text = r.communicate(timeout=1)[1]
    except subprocess.TimeoutExpired:
        if meanwhile:
            meanwhile.send_signal(signal.SIGSTOP)
        text = r.communicate(timeout=rec.PATIENCE)[1]
        if meanwhile:
            meanwhile.send_signal(signal.SIGCONT)
    tap.same(r.returncode, 0, "a recorder ends well")
    return text


first, second = rec.path("first.ige"), rec.path("second.ige")
w = waiting("--count", "500", "--rate", "20000")
a, b = recorder(first, w.pid), recorder(second, w.pid)
out = w.communicate("\n", timeout=rec.PATIENCE)[0]
ended(a)
ended(b)
same_counts(first, expected(out), "the first of two recorders has every call")
same_counts(second, expected(out), "and so has the second")

# Files of their own: a recorder says what it attached to before its recording takes the place of one that was there.
first, second = rec.path("goes-on.ige"), rec.path("ends.ige")
w = waiting("--count", "3000", "--rate", "20000")
a, b = recorder(first, w.pid), recorder(second, w.pid)
w.stdin.write("\n")
w.stdin.flush()
while (not os.path.exists(second) or os.path.getsize(second) < 40000) and w.poll() is None:  # it is in the middle of it
    select.select([], [], [], 0.01)
ended(b, w)
tap.ok(w.poll() is None, "one recorder ends while the program runs")
out = w.communicate(timeout=rec.PATIENCE)[0]
ended(a)
same_counts(first, expected(out), "the other goes on undisturbed")
got, lost = rec.counts(second)
tap.ok(lost == 0 and 0 < got[LAUNCH] < expected(out)[LAUNCH], "what the one has is whole", f"{lost} lost of {got}")
decoy.communicate(timeout=rec.PATIENCE)

# ---- one call of so many
def left_out(path, said):
    """What is called sampled and what given up: in JSON, and by whom a person reads it."""
    c = rec.stat(path)["coverage"]
    text = subprocess.run([rec.STAT, path], capture_output=True, text=True).stdout
    return c["sampled_out"], c["given_up"], *(sorted(set(re.findall(r"^(?:coverage: )?(sampled|given up): [\d,]+ calls more", t, re.M)))
                                              for t in (said, text))


out = rec.path("sampled.ige")
p = rec.run("--sample", 10, "-o", out, "--", rec.work("calls"), "--count", 1000, "--threads", 2)
calls = expected(p.stdout)
by_op, numbers = {}, {v: k for k, v in op_numbers().items()}
for x in records(out, "sampled"):
    by_op[numbers[x["op"]]] = by_op.get(numbers[x["op"]], 0) + x["left_out"]
got, lost = rec.counts(out)
tap.same(lost, 0, "sampling loses nothing")
tap.same({k: got.get(k, 0) + by_op.get(k, 0) for k in calls}, calls, "recorded and left out are what was called")
tap.none((k for k in calls if abs(got[k] * 10 - calls[k]) > 20), "one of ten is recorded")
tap.same(rec.stat(out)["coverage"]["left_out"], sum(by_op.values()), "and told")
tap.same(left_out(out, p.stderr), (sum(by_op.values()), 0, ["sampled"], ["sampled"]), "as sampled")
# ---- losses are told
out = rec.path("lost.ige")
p = rec.run("-o", out, "--ring", "64k", "--", rec.work("calls"), "--count", 20000, "--threads", 2)
calls = {k: n for k, n in expected(p.stdout).items()}
got, lost = rec.counts(out)
if lost:
    losses = r"lost ([\d,]+) (\w+) events? in [^:]*: ([^(]*) \((.*)\)"
    told = re.findall(losses, p.stderr)
    # A warning may have said the same number while it happened.
    last = [(int(n.replace(",", "")), source) for n, source, why, _ in re.findall(losses, p.stderr[p.stderr.index("recorded "):])
            if why == "ring full"]
    tap.same(sum(n for n, _ in last), lost, "what was lost is told at the end by source")
    tap.ok(all("--ring" in what for _, _, why, what in told if why == "ring full"), "with what to change", p.stderr)
    if rec.stat(out)["coverage"]["duration_ns"] > 2e9:
        tap.ok("warning: lost" in p.stderr[:p.stderr.index("recorded ")], "and while it happens", p.stderr)
else:
    tap.skip("losses are told", "optional: nothing was lost")

tap.done_testing()
