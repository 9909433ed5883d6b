#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The recorder as a program: how recordings end, whatever ends them; statuses and messages; outputs of all kinds.
import contextlib
import errno
import fcntl
import os
import pty
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige = rec.path("a.ige")


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def forget(path):
    if os.path.exists(path):
        os.unlink(path)


@contextlib.contextmanager
def training(seconds=300, **settings):
    """A target that lives as long as it is needed."""
    p = subprocess.Popen([rec.work("train"), "--seconds", str(seconds), "--step-us", "500"], env=rec.environment(**settings),
                         stdout=subprocess.DEVNULL)
    try:
        yield p
    finally:
        p.kill()
        p.wait()


# ---- statuses of a command
for name, command, status in (("its own", ["sh", "-c", "exit 7"], 7), ("a signal's", ["sh", "-c", "kill -TERM $$"], 143),
                              ("no such command", ["/nowhere/at/all"], 127), ("not executable", ["/etc/passwd"], 126)):
    p = rec.run("-o", ige, "--", *command)
    tap.same(p.returncode, status, f"status of the command: {name}")
    if status in (126, 127):
        why = os.strerror(errno.ENOENT if status == 127 else errno.EACCES)
        tap.same(p.stderr.splitlines()[-1:], [f"ingero-record: cannot run {command[0]}: {why}"], f"and says why: {name}")
        tap.ok("holds no calls" not in p.stderr, f"and only that: {name}", p.stderr)
p = rec.run("-v", "-o", ige, "--", rec.work("calls"), "--count", 5)
tap.ok("functions attached in" in p.stderr and "detached from 2 libraries in" in p.stderr, "-v: how long attaching and detaching took",
       p.stderr)

# ---- a recording that never began: nothing is left of it, and nothing was lost by it
for name, arguments in (("no such process", ["-p", "4194000"]), ("no such command", ["--", "/nowhere/at/all"]),
                        ("not executable", ["--", "/etc/passwd"])):
    forget(ige)
    p = rec.run("-o", ige, *arguments)
    tap.ok(p.returncode and not os.path.exists(ige), f"{name}: no file is left", (p.returncode, size(ige)))
    with open(ige, "w") as f:
        f.write("what was there")
    p = rec.run("-o", ige, *arguments)
    with open(ige) as f:
        tap.same((p.returncode != 0, f.read()), (True, "what was there"), f"{name}: what was there is as it was")
forget(ige)
p = rec.run("-o", ige, "--", "true")
events, records, report = rec.dump(ige)
tap.ok(p.returncode == 0 and report and records, "a recording that did begin takes its place", report)
p = rec.run("-o", "/nowhere/x.ige", "--", "true")
tap.same((p.returncode, "cannot write /nowhere/x.ige: No such file or directory" in p.stderr), (125, True),
         "an output that cannot be: 125 before the command runs")

if os.geteuid() == 0 and os.stat(rec.RECORD).st_mode & 1 and subprocess.run([rec.RECORD, "--version"], user=65534, capture_output=True).returncode == 0:
    p = subprocess.run([rec.RECORD, "-o", "/dev/null", "--", "touch", rec.path("ran")], user=65534, capture_output=True, text=True)
    tap.same((p.returncode, "goes on" in p.stderr, "CAP_BPF" in p.stderr), (125, False, True),
             "without rights: said once, nothing about the command")
else:
    tap.skip("without rights", "optional: the programs lie where only root can run them")

# ---- messages
p = rec.run("-o", "/nowhere/x.ige", "-a", "--duration", "1s")
tap.same((p.returncode, "No such file" in p.stderr), (3, True), "without a command: 3")
p = rec.run("-o", ige, "-p", "4194000")
tap.same((p.returncode, p.stderr.strip().splitlines()[-1]), (3, "ingero-record: no process 4194000"), "no such process")
for name, arguments in (("not a number", ["-p", "x"]), ("two kinds of target", ["-a", "-p", "1"]), ("no such user", ["-u", "nobody-here"]),
                        ("a command without --", ["true"]), ("nothing behind --", ["--"]), ("a wrong option", ["--rign", "4m"]),
                        ("three outputs", ["-o", "a", "-o", "b", "-o", "c", "-a"]),
                        ("one output twice", ["-o", "-", "-o", "-", "-a"]), ("an odd ring", ["--ring", "100000", "-a"])):
    p = rec.run(*arguments)
    tap.same((p.returncode, p.stdout), (2, ""), f"usage: {name}")
master, slave = pty.openpty()
p = subprocess.run([rec.RECORD, "-o", "-", "--", "true"], stdout=slave, stderr=subprocess.PIPE, text=True, env=rec.environment())
tap.ok(p.returncode == 125 and "terminal" in p.stderr, "no recording to a terminal", (p.returncode, p.stderr))
p = rec.run("-o", ige, "--", "sleep", "1.2")
tap.ok(p.returncode == 0 and "no CUDA library in the target" in p.stderr and "holds no calls" in p.stderr,
       "a target without CUDA: said in time and at the end", p.stderr)
said = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), ige], capture_output=True, text=True).stdout
tap.ok(said and "stood still" not in said, "and one that did nothing but sleep, and ended, does not stand still", said)

# ---- how it ends
p = rec.run("-o", ige, "-a", "--duration", "300ms")
tap.same((p.returncode, rec.dump(ige)[2]["unterminated"], oct(os.stat(ige).st_mode & 0o777)), (0, 0, "0o600"),
         "--duration: status 0, a complete file, for its owner alone")
with training() as t:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        forget(ige)
        r = rec.start("-o", ige, "-p", t.pid)
        rec.until(lambda: size(ige) > 20000)
        r.send_signal(number)
        status, err = r.wait(rec.PATIENCE), r.stderr.read()
        events, records, report = rec.dump(ige)
        tap.same((status, report["unterminated"], report["damaged"]), (0, 0, 0), f"{number.name} ends it cleanly")
    coverage = rec.libraries(records)
    tap.ok({c["layer"] for c in coverage} == {"runtime", "driver"} and all(c["gap_ns"] > 0 for c in coverage),
           "a process that ran before: what was missed is in the coverage", coverage)
    tap.ok([c["source"] for c in records if c["record"] == "clock"] == ["start", "end"], "clocks at both ends")
    tap.ok({e["pid"] for e in events if e["source"] == "cuda"} == {t.pid}, "only the target")

    # Killed: what was flushed is there, whole, and the file says that it has no end.
    forget(ige)
    r = rec.start("-o", ige, "-p", t.pid, "--flush", "50ms")
    rec.until(lambda: size(ige) > 40000)
    mid = rec.dump(ige)[2]
    r.kill()
    r.wait()
    written = size(ige)
    events, records, report = rec.dump(ige)
    tap.same((mid["growing"], mid["damaged"]), (1, 0), "while it runs the file is growing")
    tap.same((report["unterminated"], report["growing"], report["damaged"]), (1, 0, 0), "kill -9: unterminated, not damaged")
    tap.ok(len(events) > 100 and written == size(ige), f"kill -9: {len(events)} events are there")
    tap.ok(t.poll() is None, "the target noticed nothing")

    # Two recorders at once, and one file.
    a, b = rec.path("two-a.ige"), rec.path("two-b.ige")
    r = [rec.start("-o", x, "-p", t.pid, "--duration", "700ms") for x in (a, b)]
    tap.same([x.wait(rec.PATIENCE) for x in r], [0, 0], "two recorders at once")
    n = [sum(rec.counts(x)[0].values()) for x in (a, b)]
    tap.ok(min(n) > 0, f"both saw calls: {n}; that each sees all of them is in modes.t")
    forget(a)
    r = rec.start("-o", a, "-p", t.pid)
    rec.until(lambda: size(a) > 1000)
    p = rec.run("-o", a, "-p", t.pid)
    tap.ok(p.returncode == 3 and "another recorder" in p.stderr, "a file has one recorder", p.stderr)
    r.send_signal(signal.SIGINT)
    r.wait(rec.PATIENCE)
    forget(ige)
    r = rec.start("-o", ige, "-p", t.pid)
    rec.until(lambda: size(ige) > 1000)
    t.kill()
    tap.same(r.wait(rec.PATIENCE), 0, "it ends with its last target")

# ---- outputs
both = rec.path("both.ige")
with open(rec.path("pipe.ige"), "wb") as out:
    p = subprocess.run([rec.RECORD, *rec.WHOLE, "-o", both, "-o", "-", "--", "sh", "-c", rec.work("calls") + " --count 200 >&2"],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=rec.environment())
    out.write(p.stdout)
tap.ok(p.stdout == open(both, "rb").read() and len(p.stdout) > 10000, "a file and a pipe get the same bytes")
got, lost = rec.counts(rec.path("pipe.ige"))
# What sets the device up is called a few times only.
tap.same(sum(n for n in got.values() if n >= 200), 6000, "all of it through the pipe")
p = subprocess.run(f"{rec.RECORD} -o - -- {rec.work('calls')} --count 3000 --truth /dev/null | head -c 200 | wc -c", shell=True,
                   executable="/bin/bash", capture_output=True, text=True, env=rec.environment(), timeout=rec.PATIENCE)
tap.ok(p.stdout.strip() == "200" and "Broken pipe" not in p.stderr and "cannot" not in p.stderr,
       "a pipe closed early ends quietly", p.stderr)
home = rec.path("db")
p = rec.run("--", "true", INGERO_DB=home)
found = os.listdir(home) if os.path.isdir(home) else []
tap.ok(p.returncode == 0 and len(found) == 1 and found[0].startswith("run-") and found[0].endswith(".ige"),
       "without -o: a file in the default folder", (found, p.stderr))
p = rec.run("-o", "/dev/full", "-a", "--duration", "1500ms")
tap.ok(p.returncode == 3 and os.strerror(errno.ENOSPC) in p.stderr, "a device without room: said, status 3", p.stderr)

# Perf events take descriptors for each CPU: on a large machine more than most shells allow, and fewer than they may.
p = subprocess.run(["sh", "-c", 'ulimit -S -n 100 && exec "$@"', "sh", rec.RECORD, *rec.WHOLE, "-o", rec.path("few.ige"), "-F", "97", "--", "sh", "-c", "ulimit -S -n"],
                   env=rec.environment(), capture_output=True, text=True, timeout=rec.PATIENCE)
tap.same((p.returncode, p.stdout.strip()), (0, "100"), "more descriptors than the soft limit are taken, by the recorder alone")

small = rec.path("small")
os.mkdir(small)
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", small], stderr=subprocess.DEVNULL).returncode == 0:
    try:
        log = rec.path("full.log")
        p = rec.run("-o", small + "/x.ige", "--flush", "20ms", "--", rec.work("calls"), "--count", 2000, "--rate", 200000,
                    DOUBLE_LOG=log)
        truth = rec.truth(p.stdout)
        tap.ok(os.strerror(errno.ENOSPC) in p.stderr and p.returncode == 125, "a full disk: said, status of its own", p.stderr)
        tap.ok(truth and truth[0]["calls"] == 2000 * 15, "a full disk: the command made every call")
        report = rec.dump(small + "/x.ige")[2]
        tap.ok(report["damaged"] == 0 and report["events"] > 0, "a full disk: what there was room for is whole", report)
    finally:
        subprocess.run(["umount", small])
else:
    tap.skip("a full disk", "optional: no right to mount one")

# ---- calls that do not return
forget(ige)
r = rec.start("-o", ige, "--hung", "300ms", "--flush", "50ms", "--", rec.work("hang"), "--in", "stream", DOUBLE_NEVER_AFTER=0)
rec.until(lambda: size(ige) and any(o["record"] == "open" and o.get("depth") == 0 for o in rec.dump(ige)[1]))
r.send_signal(signal.SIGINT)
r.wait(rec.PATIENCE)
events, records, report = rec.dump(ige)
opens = [o for o in records if o["record"] == "open"]
tap.ok([o for o in opens if "at_end" not in o] and [o for o in opens if "depth" in o and o["depth"] == 0],
       "a call that hangs is named while it hangs", (opens, r.stderr.read()))
# The first call of a thread: no record has told of the thread before.
FIRST = """
import ctypes, threading
c = ctypes.CDLL("libcuda.so.1")
def stuck():
    print(threading.get_native_id(), flush=True)
    c.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(4096))
t = threading.Thread(target=stuck)
t.start()
t.join()
"""
for how in ([], ["--no-sched"]):
    forget(ige)
    r = rec.start("-o", ige, *how, "--hung", "300ms", "--flush", "50ms", "--", sys.executable, "-c", FIRST,
                  DOUBLE_NS_cuMemAlloc_v2=10**12)
    tid = int(r.stdout.readline())
    rec.until(lambda: size(ige) and any(o["record"] == "open" for o in rec.dump(ige)[1]))
    r.send_signal(signal.SIGINT)
    r.communicate(timeout=rec.PATIENCE)
    lines = subprocess.run([sys.executable, "tests/ige_reader.py", ige], capture_output=True, text=True).stdout.splitlines()
    whose = {(o.get("thread") or {}).get("tid") for o in map(rec.json.loads, lines) if o.get("record") == "open"}
    tap.same(whose, {tid}, " ".join(["a first call that hangs is told with its thread", *how]))
log = rec.path("jump.log")
p = rec.run("-o", ige, "--no-sched", "--", rec.work("jumper"), "--count", 10, DOUBLE_LOG=log)
truth = rec.truth(p.stdout)[0]
events, records, report = rec.dump(ige)
syncs = [e for e in events if e["op"] == "cudaStreamSynchronize"]
lost = sum(x["count"] for x in records if x["record"] == "loss")
tap.same((len(syncs), {e["depth"] for e in syncs}), (truth["returned"], {0}),
         "calls left by longjmp: those that return stand at their own depth")
tap.same(lost, 2 * truth["jumped"], "calls left by longjmp: runtime and driver, counted as lost")
tap.done_testing()
