#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Who owns the mutex that a thread sleeps on: its holder by the program's own word, for each kind of mutex; attached to, and
# from the start; of a lock that was held when the process was forked, the parent's thread; of an owner that is gone, nobody.
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

# A thread locks and keeps, and main waits for the lock; it says who has it, and who waits.
HANG = r"""
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
kind = sys.argv[1]
lock, attr = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
libc.pthread_mutexattr_init(attr)
if kind == "pi mutex":
    libc.pthread_mutexattr_setprotocol(attr, 1)
if kind == "robust mutex":
    libc.pthread_mutexattr_setrobust(attr, 1)
if kind == "recursive":
    libc.pthread_mutexattr_settype(attr, 1)
if kind == "shared":
    libc.pthread_mutexattr_setpshared(attr, 1)
    import mmap
    lock = (ctypes.c_char * 64).from_buffer(mmap.mmap(-1, 64))
libc.pthread_mutex_init(lock, attr)
has, owner = threading.Event(), None
def keep():
    global owner
    owner = threading.get_native_id()
    libc.pthread_mutex_lock(lock)
    has.set()
    if kind != "ended":
        time.sleep(1000)
t = threading.Thread(target=keep, daemon=True)
t.start()
has.wait()
if kind == "ended":
    t.join()
    while os.path.exists(f"/proc/self/task/{owner}"):
        pass
child = os.fork() if kind in ("forked", "shared") else 0
if not child:
    print(owner, os.getpid(), os.getppid() if kind in ("forked", "shared") else os.getpid(), flush=True)
    libc.pthread_mutex_lock(lock)
os.waitpid(child, 0)
"""
script = rec.path("hang.py")
with open(script, "w") as f:
    f.write(HANG)


def asleep(tid):
    with open(f"/proc/{tid}/syscall") as s:
        return s.read().split()[0] in ("202", "98")


def slept(tid, seconds, since={}):
    since.setdefault(tid, time.monotonic())
    return time.monotonic() - since[tid] > seconds


def end(*pids):
    for pid in set(pids):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def owners(ige, pid):
    return [r for r in rec.dump(ige)[1] if r["record"] == "owner" and r["threads"]["thread"]["tid"] == pid]


for kind in ("mutex", "pi mutex", "robust mutex", "recursive", "forked", "shared", "ended"):
    for when in ("attached to", "from the start"):
        ige = rec.path("owner.ige")
        if when == "attached to":
            program = subprocess.Popen([sys.executable, script, kind], stdout=subprocess.PIPE, text=True)
            owner, waiter, holder = map(int, program.stdout.readline().split())
            rec.until(lambda: asleep(waiter))
            p = rec.run("-o", ige, "-p", program.pid, "-p", waiter, "--duration", "500ms")
            end(waiter, holder)
            program.wait()
            program.stdout.close()
        else:
            if kind not in ("mutex", "forked"):
                continue
            out = rec.path("said")
            recorder = rec.start("-o", ige, "--", "sh", "-c", f'exec "$@" > {out} 2>&1', "sh", sys.executable, script, kind)
            rec.until(lambda: os.path.exists(out) and os.path.getsize(out))
            with open(out) as f:
                owner, waiter, holder = map(int, f.read().split())
            os.remove(out)
            rec.until(lambda: slept(waiter, 6))  # the recorder looks every 2 s or so
            end(waiter, holder)
            recorder.communicate()
        said = owners(ige, waiter)
        what = f"{kind}, {when}"
        if not tap.ok(said, f"{what}: somebody is told", rec.dump(ige)[2]):
            continue
        last = said[-1]
        tap.same((last["tid"], last["lock"]), (owner, kind if "mutex" in kind else "mutex"), f"{what}: the thread in the lock")
        tap.same(last.get("pid"), None if kind == "ended" else holder, f"{what}: its process")
        tap.same(last["threads"].get("owner", {}).get("tid"), None if kind == "ended" else owner, f"{what}: that thread of the recording")
        tap.same(last.get("shared", 0), int(kind == "shared"), f"{what}: whether other processes take it")
        if when == "from the start":
            tap.ok(len(said) > 1 and 1e9 <= said[0]["time_ns"] - said[0]["since_ns"] < 4e9, f"{what}: told while it sleeps, not before a second is over", said)
tap.done_testing()
