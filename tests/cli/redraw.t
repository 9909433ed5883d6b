#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-stat on a terminal while its input grows: drawn over in place, never more than the screen holds, with the causes and
# the coverage at its foot, notices of other programs above it, and the whole answer at the end. A small screen is kept here
# by the sequences that come, as a terminal would.

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading

sys.path.insert(0, "tests")
import tap  # noqa: E402

STAT, DEMO, CORRELATE = (os.path.join(tap.BIN, "ingero-" + p) for p in ("stat", "demo", "correlate"))
PLAIN = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))}
STEP = re.compile(r"\033\[(\d+)A|\033\[J|\033\[\?7[lh]|\033\[[\d;]*m|\r\n|\r|\n|[^\033\r\n]+")


class Screen:
    """What is on a terminal of so many rows: lines that scrolled out can be reached by nobody."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines, self.row, self.scrolled, self.wrap, self.lost_up, self.unknown = [""], 0, 0, True, 0, 0

    def feed(self, text):
        at = 0
        while at < len(text):
            m = STEP.match(text, at)
            if not m:
                self.unknown += 1
                at += 1
                continue
            at = m.end()
            piece = m.group(0)
            if m.group(1):
                self.lost_up += int(m.group(1)) > self.row
                self.row = max(0, self.row - int(m.group(1)))
            elif piece == "\033[J":
                self.lines = self.lines[:self.row] + [""]
            elif piece in ("\033[?7l", "\033[?7h"):
                self.wrap = piece.endswith("h")
            elif piece in ("\n", "\r\n"):
                self.row += 1
                while len(self.lines) <= self.row:
                    self.lines.append("")
                if self.row >= self.rows:
                    self.lines.pop(0)
                    self.row -= 1
                    self.scrolled += 1
            elif not piece.startswith("\033") and piece != "\r":
                self.lines[self.row] += piece if self.wrap else piece[:self.columns]


class Live:
    """ingero-stat with a pipe as input and a terminal as output."""

    def __init__(self, rows, columns, *args, **kw):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([STAT, "--interval", "1ms", "--color=never", *args], stdin=subprocess.PIPE, stdout=slave,
                                        stderr=subprocess.PIPE, env=PLAIN, **kw)
        os.close(slave)
        self.out = ""

    def take(self, seconds):
        """What has come; waits no longer than that for it."""
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.out += os.read(self.master, 65536).decode()
            except OSError:  # it has ended
                return False
        return True

    def draws(self):
        return self.out.count("\033[?7h")

    def feed(self, data, draws):
        """Bit by bit until so many pictures were drawn; returns how much was sent."""
        sent = 0
        while sent < len(data) and self.draws() < draws:
            self.process.stdin.write(data[sent:sent + 8192])
            self.process.stdin.flush()
            sent += 8192
            self.take(0.02)
        return sent

    def end(self, rest=b""):
        """The rest of the input, while all is taken that comes until it ends."""
        feeder = threading.Thread(target=self.feed_rest, args=(rest,))
        feeder.start()
        while self.take(60):
            pass
        feeder.join()
        err = self.process.stderr.read().decode()
        self.process.stderr.close()
        os.close(self.master)
        return self.process.wait(), err

    def feed_rest(self, rest):
        self.process.stdin.write(rest)
        self.process.stdin.close()


tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
plain = os.path.join(tmp.name, "plain.ige")
subprocess.run([DEMO, "incident", "--dose", "50", "--duration", "6s", "-o", plain], check=True)
analyzed = os.path.join(tmp.name, "analyzed.ige")
subprocess.run([CORRELATE, plain, "-o", analyzed], check=True)
data = open(analyzed, "rb").read()
summary = subprocess.run([STAT, "--color=never", analyzed], stdin=subprocess.DEVNULL, capture_output=True, env=PLAIN).stdout.decode()

# ---- in place

for rows, columns in ((24, 80), (50, 140), (8, 40)):
    name = f"{rows} rows of {columns}"
    live = Live(rows, columns)
    sent = live.feed(data, 5)
    tap.ok(live.draws() >= 5, f"{name}: drawn again and again", live.out[-500:])
    drawn = live.out[:live.out.rindex("\033[?7h") + 5]
    screen = Screen(rows, columns)
    screen.feed(drawn)
    tap.same((screen.unknown, screen.scrolled, screen.lost_up), (0, 0, 0), f"{name}: the screen never scrolls, nothing is drawn above it")
    shown = [line for line in screen.lines if line]
    tap.ok(len(screen.lines) <= rows, f"{name}: no more than it holds")
    tap.ok(max(map(len, screen.lines)) <= columns, f"{name}: lines are cut, not continued")
    tap.same(sum(line.startswith("gpu-host-1: ") for line in screen.lines), 1, f"{name}: one picture on it")
    tap.ok(shown[-1].startswith("coverage: ") and screen.lines[0].startswith("gpu-host-1: "), f"{name}: coverage at its foot",
           screen.lines)
    events = [int(n.replace(",", "")) for n in re.findall(r"coverage: ([\d,]+) events", drawn)]
    tap.ok(events == sorted(events) and events[-1] > events[0], f"{name}: more events every time", events)
    status, err = live.end(data[sent:])
    screen.feed(live.out[len(drawn):])
    tap.same((status, err, screen.unknown, screen.lost_up), (0, "", 0, 0), f"{name}: ends well")
    tail = live.out[live.out.rindex("\033[J") + 3:]
    want = [w for w in summary.split() if w not in ("-", "op", "event", "errors", "lost", "flags", "detail")]
    missing = [w for w in want if w not in tail.replace("\r\n", "\n").split()]
    tap.none(missing[:20], f"{name}: at the end everything, where the last picture was")

# ---- causes at the foot

live = Live(24, 100)
sent = 0
while sent < len(data) and "found: " not in live.out[:live.out.rfind("\033[?7h") + 1]:
    live.process.stdin.write(data[sent:sent + 8192])
    live.process.stdin.flush()
    sent += 8192
    live.take(0.02)
tap.ok(re.search(r"found: \w+ .*\r\ncoverage: ", live.out), "causes stand at the foot of the picture as they are found", live.out[-1500:])
tap.same(live.end(data[sent:]), (0, ""), "and it ends well")

# ---- what others say meanwhile

read_end, write_end = os.pipe()
live = Live(24, 100, "--notices", str(read_end), pass_fds=[read_end])
os.close(read_end)
sent = live.feed(data, 2)
os.write(write_end, b"recorder: 7 events were lost\n")
draws = live.draws()
while live.draws() < draws + 2 and sent < len(data):
    live.process.stdin.write(data[sent:sent + 8192])
    live.process.stdin.flush()
    sent += 8192
    live.take(0.02)
os.close(write_end)
status, err = live.end(data[sent:])
tap.same((status, err), (0, "recorder: 7 events were lost\n"), "what others say goes to standard error, between two pictures")

# ---- sections, and no terminal

live = Live(24, 100, "--sections", "system,rates")
live.feed(data, 3)
drawn = live.out[:live.out.rindex("\033[?7h") + 5]
screen = Screen(24, 100)
screen.feed(drawn)
text = "\n".join(screen.lines)
tap.ok("Events per second" in text and "Runtime API" not in text, "only the sections asked for", text)
live.end()

p = subprocess.Popen([STAT, "--interval", "1ms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN)
out, sent = b"", 0
while out.count(b"\n") < 2 and sent < len(data):
    p.stdin.write(data[sent:sent + 8192])
    p.stdin.flush()
    sent += 8192
    if select.select([p.stdout], [], [], 0.02)[0]:
        out += os.read(p.stdout.fileno(), 65536)
p.stdin.close()
rest = p.stdout.read()
lines = (out + rest).decode().splitlines()
tap.ok(all(re.search(r" events, [\d.]+/s, 0 lost, window ", line) for line in lines[:2]), "elsewhere a line per interval", lines[:2])
tap.ok(b"\033" not in out + rest, "without a single sequence for terminals")
tap.ok("Runtime API" in "\n".join(lines), "and the whole at the end")
p.wait()
p.stdout.close()
p.stderr.close()
tap.done_testing()
