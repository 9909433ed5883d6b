#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# A recording that is still being made: what ingero-correlate tells of two seconds ago it has told. Time is that of the
# events: blocks are given through a pipe that stays open, up to two seconds behind the last thing that a chain counts,
# and the chain must come out of the other end without another byte; then the next one.

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, "tests")
import ige_reader  # noqa: E402
import tap  # noqa: E402

LATE_NS = 2 * 10**9
ONCE = 6  # lines of a scenario waited for one by one
signal.alarm(600)  # a chain that never comes ends the test


def demo(name):
    return subprocess.run([os.path.join(tap.BIN, "ingero-demo"), name, "--duration", "15s", "--seed", "3"], stdout=subprocess.PIPE,
                          check=True).stdout


def correlate(*args):
    return subprocess.Popen([os.path.join(tap.BIN, "ingero-correlate"), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def blocks(data):
    """(end of the block, event time since the first event that is over with it), in order."""
    at, first, newest, out = ige_reader.SEGMENT, None, None, []
    while at < len(data):
        header = ige_reader.Header(data, at)
        at += header.length
        if header.type == 3 and header.end_max != ige_reader.UNKNOWN_TIME:
            first = header.start_min if first is None else first
            newest = header.end_max - first
        out.append((at, newest))
    return out


def last_of(line):
    record = json.loads(line)
    return record["body"]["last_ns"] if record["record"] == "chain" else None


def given_until(data, ends, ns):
    return next((at for at, newest in ends if newest is not None and newest >= ns), len(data))


for name in ("incident", "disk", "starved", "throttled", "sync-storm", "straggler", "alloc-churn"):
    data = demo(name)
    ends = blocks(data)
    whole = correlate("--json").communicate(data)[0].splitlines(keepends=True)
    over = max(n for _, n in ends if n is not None)
    # What is told once more in the end is no matter of being early.
    early = [line for line in whole if last_of(line) is not None and last_of(line) + LATE_NS < over][:ONCE]
    tap.ok(early, f"{name}: chains are told while it goes on")
    live, given, heard = correlate("--json"), 0, []
    for line in early:
        upto = given_until(data, ends, last_of(line) + LATE_NS)
        if upto > given:
            live.stdin.write(data[given:upto])
            live.stdin.flush()
            given = upto
        heard.append(live.stdout.readline())
    tap.same(heard, early, f"{name}: within two seconds of what they tell of")
    rest = live.communicate(data[given:])[0].splitlines(keepends=True)
    tap.same(heard + rest, whole, f"{name}: and are those of the whole")

tap.done_testing()
