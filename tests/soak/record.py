#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorder for a long time: threads that call all along and processes that come and go beside them, a row of files that
are read as they are done and one that is read while it grows, and a pipe of readers that follow. Then: what grew, what of
the calls that the libraries counted themselves is neither there nor told as lost, and whether every file could be read.
Half of the time the same threads call all along, the other half processes come and go beside them. What is remembered of
each process of the machine (any can be one that took a CPU) has a limit, and besides nothing may grow.

  record.py TIME     90s, 10m, 1h, 2d"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "live")]
import recording as rec
from recording import tap

RATE, THREADS = 2000, 2   # calls of the runtime a second, of all threads together
CHURN = 0.1               # seconds between processes that come and go
# KiB for each process or thread that came to be on the machine: its name, whose child it was, what it lost in all.
REMEMBERED = {"ingero-record": 8, "ingero-correlate": 8, "ingero-stat": 8}
ROTATE = "10s"
WARM = 0.25               # of the time: tables have their size then
GROWN, MIB = 1.10, 1 << 20  # what a program may have grown since, and what is no growth in any case
OPS = 15                  # that calls calls, a round

LOAD = """"$0" --count "$1" --rate "$2" --threads "$3" & p=$!
while [ "$4" != 0 ] && kill -0 $p 2>/dev/null; do "$0" --count 2; sleep "$4"; done
wait $p
"""


def seconds(text):
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[text[-1]]


def born():
    """Processes and threads since the machine started."""
    with open("/proc/stat", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("processes "))


class Memory:
    """What a process keeps in memory of its own, over time; files it maps are not counted."""

    def __init__(self, name, pid):
        self.name, self.pid, self.samples = name, pid, []

    def sample(self, at):
        try:
            with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
                held = {line.split(":")[0]: line.split()[1] for line in f if line.startswith("Rss")}
            self.samples.append((at, (int(held["RssAnon"]) + int(held["RssShmem"])) * 1024, born()))
        except (OSError, KeyError):
            pass  # it has ended

    def between(self, begin, end):
        """(bytes, processes born until then) in the middle of that time."""
        found = sorted((b, n) for at, b, n in self.samples if begin <= at < end)
        return found[len(found) // 2] if found else (0, 0)


class Tally:
    """Calls and losses of recordings, by source and operation."""

    def __init__(self):
        self.calls, self.lost, self.bad, self.files, self.bytes = {}, {}, [], 0, 0

    def add(self, stat):
        for o in stat["ops"]:
            key = o["source"], o["op"]
            self.calls[key] = self.calls.get(key, 0) + o["count"]
        for o in stat["coverage"]["folded"]:  # calls that others explain are counted, not stored
            key = o["source"], o["op"]
            self.calls[key] = self.calls.get(key, 0) + o["calls"]
        for x in stat["coverage"]["losses"]:
            self.lost[x["source"]] = self.lost.get(x["source"], 0) + x["count"]

    def file(self, path):
        p = subprocess.run([rec.STAT, "--json", path], capture_output=True, text=True)
        self.files += 1
        self.bytes += os.path.getsize(path)
        if p.returncode:
            self.bad.append(f"{os.path.basename(path)}: status {p.returncode}: {p.stderr.strip()}")
        if p.stdout:
            self.add(json.loads(p.stdout))

    def unaccounted(self, truth):
        """(source, op) -> calls that were made and are neither there nor lost, or are there too often."""
        wrong, missing = {}, {}
        for key, made in truth.items():
            got = self.calls.get(key, 0)
            if got > made:
                wrong[key] = got - made
            missing[key[0]] = missing.get(key[0], 0) + max(made - got, 0)
        unknown = sum(n for source, n in self.lost.items() if source is None)
        for source, n in missing.items():
            if n > self.lost.get(source, 0) + unknown:
                wrong[source] = n - self.lost.get(source, 0) - unknown
        return wrong


def growing(path, bad):
    """A look into a file that is being written."""
    p = subprocess.run([rec.STAT, "--json", path], capture_output=True, text=True)
    report = json.loads(p.stdout)["coverage"] if p.stdout.startswith("{") else {}
    if p.returncode == 4 and not p.stdout or report.get("damaged"):
        bad.append(f"{os.path.basename(path)} while it grows: status {p.returncode}: {p.stderr.strip()}")


def soak(length, churn):
    what = "processes that come and go" if churn else "the same threads"
    folder = tempfile.mkdtemp(prefix="ingero-soak-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    log, row = os.path.join(folder, "calls.log"), os.path.join(folder, "row")
    os.mkdir(row)
    env = rec.environment(DOUBLE_LOG=log, INGERO_CONFIG="")
    count = int(length * RATE / OPS / THREADS)
    err = open(os.path.join(folder, "messages"), "w+", encoding="utf-8")
    r = subprocess.Popen([rec.RECORD, "-o", row + "/run.ige", "-o", "-", "--rotate-every", ROTATE, "--budget", "none", "--", "bash", "-c", LOAD,
                          rec.work("calls"), str(count), str(RATE), str(THREADS), str(churn)],
                         env=env, stdout=subprocess.PIPE, stderr=err, start_new_session=True)
    # The loops' own words would be on the recorder's standard output: they have none.
    c = subprocess.Popen([os.path.join(tap.BIN, "ingero-correlate")], stdin=r.stdout, stdout=subprocess.PIPE, stderr=err, env=env)
    s = subprocess.Popen([rec.STAT, "--json", "--interval", "0"], stdin=c.stdout, stdout=subprocess.PIPE, stderr=err, env=env, text=True)
    r.stdout.close()
    c.stdout.close()
    watched = [Memory("ingero-record", r.pid), Memory("ingero-correlate", c.pid), Memory("ingero-stat", s.pid)]
    files, looks, began, told = Tally(), [], time.monotonic(), 0
    try:
        while r.poll() is None:
            time.sleep(1)
            now = time.monotonic() - began
            for m in watched:
                m.sample(now)
            found = sorted(os.listdir(row))
            for name in found[:-1]:
                files.file(os.path.join(row, name))
                os.unlink(os.path.join(row, name))
            if found:
                growing(os.path.join(row, found[-1]), looks)
            if now - told > 60:
                told = now
                print(f"# {now:.0f} s: {files.files} files, {sum(files.calls.values()):,} events, " +
                      ", ".join(f"{m.name} {m.samples[-1][1] / MIB:.1f} MiB" for m in watched if m.samples), flush=True)
            if now > 2 * length + 120:
                raise TimeoutError("the load does not end")
        for name in sorted(os.listdir(row)):
            files.file(os.path.join(row, name))
        out, _ = s.communicate(timeout=120)
        c.wait(timeout=60)
    finally:
        for p in (r, c, s):
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL) if p is r else p.kill()
    lasted = watched[0].samples[-1][0]
    truth = rec.logged(log)
    piped = Tally()
    piped.add(json.loads(out))
    err.seek(0)
    said = err.read()
    if not tap.same((r.returncode, c.returncode, s.returncode), (0, 0, 0), f"{what}: recorder and readers end as they should"):
        tap.diag(said[-2000:])
    tap.none(files.bad + looks, f"{what}: {files.files} files, {files.bytes / MIB:.0f} MiB, each read when it was done, and while it grew")
    for where, t in (("in the files", files), ("through the pipe", piped)):
        got = sum(t.calls.get(k, 0) for k in truth)
        tap.same(t.unaccounted(truth), {}, f"{what}, {where}: {sum(truth.values()):,} calls made, {got:,} there, {sum(t.lost.values()):,} told as lost")
    for m in watched:
        warm, before = m.between(WARM * lasted, (WARM + 0.15) * lasted)
        end, after = m.between(0.85 * lasted, lasted)
        came = after - before
        tap.ok(0 < warm and end <= max(warm * GROWN, warm + MIB) + came * REMEMBERED[m.name] * 1024,
               f"{what}: {m.name}: {warm / MIB:.1f} MiB when warm, {end / MIB:.1f} MiB at the end, {came:,} processes and threads later: "
               f"{max(end - warm, 0) / 1024 / max(came, 1):.1f} KiB each")
    shutil.rmtree(folder)


if len(sys.argv) != 2:
    sys.exit(__doc__)
rec.need_bpf()
soak(seconds(sys.argv[1]) / 2, 0)
soak(seconds(sys.argv[1]) / 2, CHURN)
tap.done_testing()
