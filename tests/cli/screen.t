#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-stat on a terminal while its input grows: a page that fits the terminal, operations first, keys that show more, and the
# terminal as it was at every end. The terminal is tmux's.

import os
import re
import select
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402
import terminal  # noqa: E402
from terminal import PLAIN, found_of  # noqa: E402

STAT, DEMO, CORRELATE = (os.path.join(tap.BIN, "ingero-" + p) for p in ("stat", "demo", "correlate"))
PIECE = 1 << 15  # bytes: a page or two
terminal.need()
tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")


def path(name):
    return os.path.join(tmp.name, name)


def analyzed(scenario, *options):
    """The bytes of a recording with its findings, and what ingero-stat says of it."""
    subprocess.run([DEMO, scenario, "--dose", "50", "--duration", "6s", *options, "-o", path("plain.ige")], check=True)
    subprocess.run([CORRELATE, "-q", path("plain.ige"), "-o", path("analyzed.ige")], check=True)
    summary = subprocess.run([STAT, "--color=never", path("analyzed.ige")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    data = open(path("analyzed.ige"), "rb").read()
    for name in ("plain.ige", "analyzed.ige"):
        os.unlink(path(name))
    return data, set(re.findall(r"^found: (\w+ .*)$", summary, re.M))


def is_page(s):
    return bool(s) and s[0].startswith("gpu-host-") and "q quit" in s[-1]


class Terminal(terminal.Terminal):
    """ingero-stat runs in it, and reads a pipe that the test writes."""

    def __init__(self, columns, rows, **how):
        self.sent = 0
        super().__init__(tmp.name, columns, rows, **how)
        self.fifo = f"{self.name}.pipe"
        os.mkfifo(self.fifo)

    def stat(self, *options):
        self.run(f"{STAT} --interval 20ms {' '.join(options)} < {self.fifo}")
        self.pipe = open(self.fifo, "wb")

    def until(self, want, what, data=b""):
        """The input is given bit by bit meanwhile."""
        return super().until(want, what, lambda: self.feed(data))

    def feed(self, data):
        if self.sent < len(data):
            self.pipe.write(data[self.sent:self.sent + PIECE])
            self.pipe.flush()
            self.sent += PIECE
            select.select([], [], [], 0.02)

    def rest(self, data):
        self.pipe.write(data[self.sent:])
        self.pipe.close()


one, one_found = analyzed("incident")
eight, eight_found = analyzed("straggler", "--threads", "8")

# ---- sizes

for columns, rows in ((80, 24), (100, 30), (120, 40), (200, 60)):
    for what, data, processes, known in (("one process", one, 1, one_found), ("eight processes", eight, 8, eight_found)):
        name = f"{columns}x{rows}, {what}"
        t = Terminal(columns, rows)
        t.stat()
        s = t.until(lambda s: is_page(s) and found_of(s) in known and f"Processes ({processes})" in "\n".join(s), f"{name}: a page with its finding whole", data)
        text = "\n".join(s)
        tap.same(len(s), rows, f"{name}: as many lines as the terminal has")
        tap.ok(sum(line.startswith("gpu-host-1") for line in s) == 1, f"{name}: one page on it", text)
        tap.ok(s[1].startswith("CPU ["), f"{name}: what the machine does is the second line", text)
        ops = next((i for i, line in enumerate(s) if line.startswith("Runtime API (")), None)
        tap.ok(ops and ops < rows * 2 / 3 and re.search(r"count +.*p50 +p95 +p99", s[ops]), f"{name}: operations stand high", text)
        row = next((line for line in s if line.startswith("cudaLaunchKernel ")), "")
        tap.ok(re.match(r"cudaLaunchKernel +[\d,]+ .*[\d.]+ us", row), f"{name}: one line to an operation, names whole", text)
        tap.ok(any(line.startswith("Host (") for line in s), f"{name}: what the host did is there", text)
        tap.ok(found_of(s) in known, f"{name}: the finding is there, never cut", (found_of(s), known))
        tap.ok(any(line.startswith("coverage: ") for line in s[rows // 2:]), f"{name}: coverage below", text)
        if processes == 8:
            shown = sum(bool(re.match(r"\S+.* \d{4,} +\d+ +", line)) for line in s[:ops])
            tap.ok(shown >= (8 if rows >= 40 else 3), f"{name}: {shown} processes", text)
        t.rest(data)
        tap.ok({"icanon", "echo"} <= set(t.modes()), f"{name}: the terminal as it was")
        tap.ok(any("status 0" in line for line in t.screen()), f"{name}: ends well", "\n".join(t.screen()))
        t.end()

# ---- keys

t = Terminal(80, 24)
t.stat()
t.until(lambda s: is_page(s) and found_of(s), "a page", one)
for key, shows, keys in (("?", r"^Keys$", "Esc back"), ("r", r"^Runtime API$", "Esc back"), ("h", r"^Host$", "Esc back"), ("Escape", r"^Runtime API \(", "? help"),
                         ("Down", r"^process ", "Esc back"), ("End", r"ms|us", "Esc back"), ("Home", r"^process ", "Esc back"), ("a", r"^Runtime API \(", "? help"),
                         ("s", r"^System$", "Esc back"), ("s", r"^Runtime API \(", "? help"), (" ", r"^Runtime API \(", "HELD  ? help")):
    t.keys(key)
    s = t.until(lambda s: re.search(shows, "\n".join(s[1:]), re.M) and s[-1].startswith(keys), f"key '{key}' shows {shows}", one)
    tap.ok(re.search(shows, "\n".join(s[1:]), re.M) and s[-1].startswith(keys) and s[0].startswith("gpu-host-1"), f"key '{key}' shows {shows}",
           "\n".join(s))
held = t.screen()
for _ in range(5):
    t.feed(one)
tap.same(t.screen(), held, "what is held stays as it is while more is read")
t.keys(" ")
t.until(lambda s: s[-1].startswith("? help"), "held no longer")
t.tmux("resize-window", "-x", "120", "-y", "33")
s = t.until(lambda s: len(s) == 33 and is_page(s) and any(len(line) > 80 for line in s), "another size of the terminal", one)
tap.ok(is_page(s) and len(s) == 33, "a terminal that grows: the page grows with it", "\n".join(s))
t.keys("q")
s = t.until(lambda s: not any("q quit" in line for line in s), "the page left")
tap.ok(not is_page(s), "q leaves the page", "\n".join(s))
t.rest(one)
tap.ok({"icanon", "echo"} <= set(t.modes()), "and the terminal is as it was")
text = t.all()
tap.ok("Runtime API" in text and "coverage: " in text and "status 0" in text, "the whole stands there at the end of the input", text)
t.end()

# ---- signals

for name, send in (("Ctrl-C twice", lambda t, pid: (os.kill(pid, signal.SIGINT), t.until(lambda s: is_page(s), "the page, still"), os.kill(pid, signal.SIGINT))),
                   ("SIGTERM", lambda t, pid: os.kill(pid, signal.SIGTERM)), ("SIGQUIT", lambda t, pid: os.kill(pid, signal.SIGQUIT))):
    t = Terminal(80, 24)
    t.stat()
    t.until(is_page, "a page", one)
    send(t, t.child())
    modes = t.modes()
    tap.ok({"icanon", "echo"} <= set(modes), f"{name}: the terminal as it was", modes)
    tap.ok(not is_page(t.screen()), f"{name}: the page has gone", "\n".join(t.screen()))
    t.pipe.close() if t.sent >= len(one) else None
    t.end()

t = Terminal(80, 24)
t.stat()
t.until(is_page, "a page", one)
t.keys("C-z")
s = t.until(lambda s: any("Stopped" in line for line in s), "stopped")
tap.ok(not is_page(s), "Ctrl-Z gives the terminal back", "\n".join(s))
t.type("fg")
s = t.until(is_page, "again")
tap.ok(is_page(s), "and fg brings the page", "\n".join(s))
t.rest(one)
tap.ok({"icanon", "echo"} <= set(t.modes()), "which ends as ever")
t.end()

# ---- what others say meanwhile

t = Terminal(80, 24)
os.mkfifo(path("notices"))
t.type(f"exec 9<> {path('notices')}")
t.stat("--notices", "9")
t.until(is_page, "a page", one)
t.keys("C-l")
with open(path("notices"), "w") as f:
    f.write("recorder: 7 events were lost\nrecorder: \033[31mred\n")
s = t.until(lambda s: any("recorder: ?[31mred" in line for line in s[-4:]), "the notice", one)
tap.ok(is_page(s), "what others say stands below, harmless", "\n".join(s))
LONG = "recorder: " + "".join(chr(97 + i % 26) for i in range(120))
with open(path("notices"), "w") as f:
    f.write(LONG + "\n")
s = t.until(lambda s: any(line.startswith("recorder: abc") for line in s[-4:]), "a long notice", one)
tap.same([line for line in s if line.startswith("recorder: abc")][-1:], [LONG[:80]], "a line that is longer than the terminal is cut where it ends")
t.keys("m")
s = t.until(lambda s: "recorder: 7 events were lost" in s, "messages alone", one)
tap.ok("recorder: 7 events were lost" in s, "and all of it behind a key", "\n".join(s))
t.rest(one)
t.modes()
text = t.all()
tap.ok("recorder: 7 events were lost" in text, "and on standard error at the end", text)
t.end()

# ---- sections, and terminals that are none

t = Terminal(100, 24)
t.stat("--sections", "system,rates")
s = t.until(lambda s: is_page(s) and "Events per second" in "\n".join(s), "the sections", one)
tap.ok("Runtime API" not in "\n".join(s), "only the sections asked for", "\n".join(s))
t.rest(one)
t.modes()
t.end()

t = Terminal(100, 24, term="dumb")
t.stat("--interval", "20ms")
s = t.until(lambda s: sum(" events, " in line for line in s) >= 2, "lines", one)
tap.ok(not any("q quit" in line for line in s), "a terminal that can do nothing gets lines", "\n".join(s))
t.rest(one)
t.modes()
t.end()

p = subprocess.Popen([STAT, "--interval", "1ms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN)
out, sent = b"", 0
while out.count(b"\n") < 2 and sent < len(one):
    p.stdin.write(one[sent:sent + 8192])
    p.stdin.flush()
    sent += 8192
    if select.select([p.stdout], [], [], 0.02)[0]:
        out += os.read(p.stdout.fileno(), 65536)
rest = p.communicate(one[sent:])[0]
lines = (out + rest).decode().splitlines()
tap.ok(all(re.search(r" events, [\d.]+/s, 0 lost, window ", line) for line in lines[:2]), "elsewhere a line per interval", lines[:2])
tap.ok(b"\033" not in out + rest, "without a single sequence for terminals")
tap.ok("Runtime API" in "\n".join(lines), "and the whole at the end")
tap.done_testing()
