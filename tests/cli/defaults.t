#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What is read when nothing is named: on a terminal the newest run of the default recording; a folder is the recordings
# in it; a pipe stays a pipe.

import json
import os
import pty
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

STAT, DEMO = (os.path.abspath(os.path.join(tap.BIN, "ingero-" + p)) for p in ("stat", "demo"))
tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
folder = os.path.join(tmp.name, "home", ".ingero")
os.makedirs(folder)
env = {k: v for k, v in os.environ.items() if k not in ("INGERO_DB", "SUDO_UID")}
env["HOME"] = os.path.join(tmp.name, "home")


def generate(name, seed, when):
    path = os.path.join(folder, name)
    subprocess.run([DEMO, "incident", "--duration", "1s", "--seed", str(seed), "-o", path], check=True)
    os.utime(path, (when, when))
    return events([path])


def events(arguments, **settings):
    p = subprocess.run([STAT, "--json", *arguments], env={**env, **settings}, stdin=subprocess.DEVNULL, capture_output=True,
                       text=True)
    return json.loads(p.stdout)["coverage"]["events"] if p.stdout else (p.returncode, p.stderr)


def on_terminal(**settings):
    """Without operands, a terminal on standard input."""
    master, slave = pty.openpty()
    p = subprocess.run([STAT, "--json"], env={**env, **settings}, stdin=slave, capture_output=True, text=True)
    os.close(slave)
    os.close(master)
    return p.returncode, json.loads(p.stdout)["coverage"]["events"] if p.stdout else None, p.stderr


status, _, said = on_terminal(INGERO_DB=os.path.join(tmp.name, "none"))
tap.ok(status == 2 and "no input" in said, "no default recording: nothing to read", said)
old = generate("run-20260101-000000-7.ige", 1, 1000)
first = generate("run-20260102-000000-8-000001.ige", 2, 2000)
second = generate("run-20260102-000000-8-000002.ige", 3, 3000)
other = generate("run-20260102-000000-88-000001.ige", 4, 2500)
status, got, said = on_terminal()
# In a container the default recording is elsewhere.
if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
    tap.skip("the newest run in the home folder", "optional: inside a container")
else:
    tap.same((status, got), (0, first + second), "all files of the newest run")
    tap.ok("run-20260102-000000-8-000001.ige and what follows it" in said, "it says what it reads", said)
status, got, said = on_terminal(INGERO_DB=os.path.join(folder, "run-20260101-000000-7.ige"))
tap.same((status, got), (0, old), "INGERO_DB may name one recording")
status, got, said = on_terminal(INGERO_DB=folder)
tap.same((status, got), (0, first + second), "or the folder")
tap.same(events([folder]), old + first + second + other, "a folder is all recordings in it")
empty = os.path.join(tmp.name, "empty")
os.makedirs(empty)
status, said = events([empty])
tap.ok(status == 3 and "holds no recording" in said, "an empty folder", said)
tap.same(events(["--db", folder]), first + second, "--db: the newest run of that folder, whatever standard input is")
tap.same(events(["-d", os.path.join(folder, "run-20260101-000000-7.ige")]), old, "or that recording")
tap.same(events(["--db", folder, folder + "/run-20260101-000000-7.ige"]), old, "what is named comes first")
p = subprocess.run([os.path.join(tap.BIN, "ingero"), "stat", "--json", "--", folder + "/run-20260101-000000-7.ige"], env={**env, "INGERO_DB": folder}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
tap.same(json.loads(p.stdout or "{}").get("coverage", {}).get("events"), old, "by the front door, too: " + p.stderr.strip())
status, said = events(["--db", empty])
tap.ok(status == 3 and "holds no recording" in said, "--db of an empty folder", said)
status, said = events(["--db", os.path.join(empty, "none")])
tap.ok(status == 3 and "No such file" in said, "--db of nothing", said)
p = subprocess.run([STAT, "--json"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
tap.ok("reading" not in p.stderr, "what is piped in is read, not the default recording", p.stderr)
tap.done_testing()
