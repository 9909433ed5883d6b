#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Ends of threads and processes: all of them, also where all threads of a process end at one time, and of the program that ended.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige = rec.path("lives.ige")


def ends(*command):
    p = rec.run("--no-sched", "-o", ige, "--", *command)
    events, _, _ = rec.dump(ige)
    tap.ok(p.returncode == 0 and " lost 0" in p.stderr, "recorded", p.stderr)
    return [e for e in events if e["source"] == "host" and e["op"] == "exit"], events


# The threads sleep when their process ends, and are all woken for it.
PROCESSES, THREADS = 300, 30
found, _ = ends(sys.executable, "-c", f"""
import os, threading, time
threading.stack_size(65536)
for _ in range({PROCESSES}):
    if os.fork() == 0:
        for _ in range({THREADS}):
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        os._exit(0)
    os.wait()
""")
tap.same(len(found), PROCESSES * (THREADS + 1) + 1, f"{THREADS} threads that end at once, in {PROCESSES} processes: an event for each")
tap.same(len({(e["pid"], e["tid"]) for e in found}), len(found), "each once")

found, events = ends("sh", "-c", "sleep 0.01; exec sleep 0.02")
last = {}
for e in events:
    if e["op"] == "exec":
        last[e["pid"]] = e["exec"]
tap.same({e["pid"]: e["exec"] for e in found}, last, "who ends is the program that was executed last")
tap.done_testing()
