# SPDX-License-Identifier: Apache-2.0
"""A shell in a terminal of tmux, as a person has it: keys go in, what the screen shows comes out."""
import os
import re
import select
import shutil
import subprocess
import sys
import time

import tap

PLAIN = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "TMUX"))}
PATIENCE = 60  # seconds that a busy machine may take for a page


def need():
    """Skips the whole test where there is no tmux."""
    if not shutil.which("tmux"):
        tap.skip_all("no tmux here (make deps-check installs it)")
    sys.stdout.reconfigure(line_buffering=True)


def found_of(screen):
    """The first finding of a page, as one line; None: it has none."""
    text = " ".join(line.strip() for line in screen)
    m = re.search(r"found: (\w+ .*?)(?: found: | coverage: )", text)
    return re.sub(r"\s+", " ", m.group(1)) if m else None


class Terminal:
    """Its files are in a folder of the caller's."""
    count = 0

    def __init__(self, folder, columns, rows, term="screen-256color"):
        Terminal.count += 1
        self.name = os.path.join(folder, f"terminal.{Terminal.count}")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "env", f"TERM={term}", "LC_ALL=C.UTF-8", "PS1=$ ",
                  "bash", "--norc", "--noprofile")
        self.until(lambda s: s[0].startswith("$"), "a shell")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.name, *words], env=PLAIN, capture_output=True, text=True).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p").split("\n")[:-1]

    def all(self):
        """With what has scrolled out of it."""
        return self.tmux("capture-pane", "-p", "-S", "-1000")

    def until(self, want, what, meanwhile=None):
        """The screen once it is as wanted; meanwhile() is called between two looks."""
        begun = time.monotonic()
        while True:
            s = self.screen()
            if want(s):
                return s
            if time.monotonic() - begun > PATIENCE:
                tap.ok(False, f"{what} within {PATIENCE} s", "\n".join(s))
                return s
            if meanwhile:
                meanwhile()
            select.select([], [], [], 0.02)

    def child(self):
        """The process that the shell runs."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(open(f"/proc/{shell}/task/{shell}/children").read().split()[0])

    def run(self, line):
        """Types it, with what modes() reads behind it."""
        self.type(f"{line}; echo status $?; stty -a > {self.name}.stty")

    def modes(self):
        """Of the terminal, once what run() began has ended."""
        begun = time.monotonic()
        while not os.path.exists(f"{self.name}.stty"):
            # An interrupt ends the whole line that the shell was given.
            if [line for line in self.screen() if line][-1:] == ["$"]:
                self.type(f"stty -a > {self.name}.stty")
            select.select([], [], [], 0.02)
            if time.monotonic() - begun > PATIENCE:
                tap.ok(False, f"its end within {PATIENCE} s", "\n".join(self.screen()))
                return []
        self.until(lambda s: [line for line in s if line][-1:] == ["$"], "the shell again")
        return open(f"{self.name}.stty").read().split()

    def end(self):
        self.tmux("kill-server")
