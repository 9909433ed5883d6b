#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Why a program hangs, by the path: main waits for a mutex, for two in a circle, for a pipe, a child, a thread, a queue whose
# producer has ended. The chain names whom it waits for, how that is known, and what that one does.
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

# It says its pid and that of the thread waited for. While it hangs that thread stands in what its name says.
HANG = r"""
import ctypes, os, queue, sys, threading, time
libc = ctypes.CDLL(None)
what = sys.argv[1]
locks = [ctypes.create_string_buffer(64) for _ in range(2)]
for lock in locks:
    libc.pthread_mutex_init(lock, None)
ready, who = threading.Event(), None
q = queue.Queue()

def naps():
    time.sleep(1000)

def work():
    global who
    who = threading.get_native_id()
    if what in ("mutex", "circle"):
        libc.pthread_mutex_lock(locks[1])
    if what == "queue":
        time.sleep(0.3)  # main waits for it by then
        q.put(1)
        return
    ready.set()
    if what == "circle":
        libc.pthread_mutex_lock(locks[0])
    naps()

sys.stdin.readline()  # it is recorded
there = [None, None]
if what == "pipe":
    there = os.pipe()
if what in ("pipe", "child"):
    who = os.fork()
    if who == 0:
        naps()
    if what == "pipe":
        os.close(there[1])
else:
    if what == "circle":
        libc.pthread_mutex_lock(locks[0])
    t = threading.Thread(target=work)
    t.start()
    if what == "queue":
        q.get()
        t.join()
    else:
        ready.wait()
print(os.getpid(), who, flush=True)
if what in ("mutex", "circle"):
    libc.pthread_mutex_lock(locks[1])
elif what == "pipe":
    os.read(there[0], 1)
elif what == "child":
    os.waitpid(who, 0)
elif what == "thread":
    t.join()
else:
    q.get()
"""
script = rec.path("hang.py")
with open(script, "w") as f:
    f.write(HANG)

# How the second one is known, and what it does.
CASES = {
    "mutex": ("owns the lock", "sleeps"),
    "circle": ("owns the lock", "waits for a thread that waits for it"),
    "pipe": ("has the other end of the pipe", "sleeps"),
    "child": ("is the child waited for", "sleeps"),
    "thread": ("ended its last wait", "sleeps"),
    "queue": ("ended its last wait", "has ended"),
}


def asleep(tid):
    try:
        with open(f"/proc/{tid}/stat", encoding="ascii") as s:
            return s.read().rsplit(")", 1)[1].split()[0] == "S"
    except FileNotFoundError:
        return True


def end(*pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def record(what, ige):
    """Of the program that hangs: its pid, the thread waited for, and what the recorder said."""
    program = subprocess.Popen([sys.executable, script, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    recorder = rec.start("-o", ige, "-p", program.pid)
    rec.attached(recorder)
    program.stdin.write("\n")
    program.stdin.flush()
    pid, who = map(int, program.stdout.readline().split())
    rec.until(lambda: asleep(pid) and asleep(who))
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate()[1]
    end(pid, who)
    program.wait()
    program.stdin.close()
    program.stdout.close()
    return pid, who, said


for what, (by, ends) in CASES.items():
    ige = rec.path("hang.ige")
    pid, who, said = record(what, ige)
    shown = subprocess.run(
        [os.path.join(rec.BUILD, "tests/tools/path_print"), "-n", "10", "-a", str(pid), ige], capture_output=True, text=True
    )
    chain = re.findall(r"^  ([a-z' ]+) \| (.*) \| (.*)$", shown.stdout, re.M)
    tap.ok(shown.returncode == 0 and len(chain) == 2 and chain[0][0] == "never ended", f"{what}: a wait never ended", shown.stdout + shown.stderr + (said or ""))
    second = chain[1] if len(chain) > 1 else ("", "", "")
    tap.ok(f"id {who}" in second[1] and second[0] == by, f"{what}: for that thread, which {by}", shown.stdout)
    tap.same("perhaps" in second[1], what in ("thread", "queue"), f"{what}: whether that is a candidate or proven")
    tap.ok(f"\n  {ends}" in shown.stdout, f"{what}: it {ends}", shown.stdout)
tap.done_testing()
