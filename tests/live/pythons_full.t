#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The kernel side's table of Python processes: one that finds it full is told, by name and in the recording, and one that comes
# when there is room again has its frames; what a number once stood for is not inherited by the next process that has it.
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
BPFTOOL = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
ROOM = 4096
NOT_A_PID = 1 << 23  # from here on numbers are nobody's: the kernel gives 22 bits


def bpftool(*arguments):
    return subprocess.run([BPFTOOL, "-j", *map(str, arguments)], capture_output=True, text=True)


def table_of(pid):
    """The table that a recorder holds open."""
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
            number = [line.split()[1] for line in f if line.startswith("map_id:")]
        shown = bpftool("map", "show", "id", number[0]).stdout if number else ""
        if shown and json.loads(shown).get("name") == "pythons":
            return json.loads(shown)
    return None


def bytes_of(n):
    return " ".join(str(b) for b in n.to_bytes(4, sys.byteorder))


def batch(lines):
    """Up to the first that fails, which is one too many."""
    path = rec.path("batch")
    with open(path, "w") as f:
        f.write("".join(line + "\n" for line in lines))
    bpftool("batch", "file", path)


CALLS = 'import ctypes, sys; c = ctypes.CDLL("libcudart.so.13"); c.cudaMalloc(ctypes.byref(ctypes.c_void_p()), 4096); sys.stdin.read()'
PARENT = f"""
import subprocess, sys
ran = sys.stdin.readline()
while ran:
    p = subprocess.Popen([sys.executable, "-c", {CALLS!r}], stdin=subprocess.PIPE)
    print(p.pid, flush=True)
    sys.stdin.readline()
    p.communicate()
    print(flush=True)
    ran = sys.stdin.readline()
"""
if not BPFTOOL:
    tap.skip_all("optional: no bpftool")
parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=rec.environment())
ige = rec.path("full.ige")
r = rec.start("-o", ige, "-p", parent.pid)
rec.attached(r)
table = table_of(r.pid)


def turn():
    parent.stdin.write("\n")
    parent.stdin.flush()
    return parent.stdout.readline()


def in_table(pid):
    return '"value"' in bpftool("map", "lookup", "id", table["id"], "key", *bytes_of(pid).split()).stdout


def child(see):
    """A Python that makes a call and lives until the recorder has seen to it, however busy the machine is; and what see() gave."""
    pid = int(turn())
    found = see(pid)
    turn()
    return pid, found


empty = " ".join(["0"] * table["bytes_value"])
fillers = range(NOT_A_PID, NOT_A_PID + ROOM)
tap.same(table["max_entries"], ROOM, "the table's size is the one that is told")
batch(f"map update id {table['id']} key {bytes_of(n)} value {empty}" for n in fillers)
outside, told = child(lambda pid: rec.said(r, f"process {pid}: "))
batch(f"map delete id {table['id']} key {bytes_of(n)}" for n in fillers[:ROOM // 2])
inside, _ = child(lambda pid: rec.until(lambda: in_table(pid)))
parent.stdin.close()
parent.wait()
r.send_signal(signal.SIGINT)
told += r.communicate(timeout=rec.PATIENCE)[1]
lines = subprocess.run([sys.executable, "tests/ige_reader.py", ige], capture_output=True, text=True).stdout.splitlines()
python = {x["process"]["pid"]: x for x in map(json.loads, lines) if x.get("record") == "coverage" and x["layer"] == "python"}
tap.ok(python.get(outside, {}).get("failed") == 1 and "4096 processes" in python[outside].get("reason", ""), "one more Python than there is room for is told in the recording", python)
tap.ok(f"process {outside}: " in told and "without Python's frames" in told, "and to the person who records", told)
tap.same((python.get(inside) or {}).get("attached"), 1, "when there is room again, one has its frames")

# ---- a number that was a Python's, by what the table says, and is now that of a shell's child
NUMBERS = 200
fifo = rec.path("fifo")
os.mkfifo(fifo)
shell = subprocess.Popen(["sh", "-c", f"while read a; do (read b <{fifo}) & echo $!; done"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True)
r = rec.start("-o", ige, "-p", shell.pid)
rec.attached(r)
table = table_of(r.pid)
with open("/proc/sys/kernel/ns_last_pid", encoding="ascii") as f:
    last = int(f.read())
batch(f"map update id {table['id']} key {bytes_of(n)} value {empty}" for n in range(last + 1, last + NUMBERS))
shell.stdin.write("\n")
shell.stdin.flush()
child = int(shell.stdout.readline())
found = bpftool("map", "lookup", "id", table["id"], "key", *bytes_of(child).split()).stdout
if last < child < last + NUMBERS:
    tap.ok('"value"' not in found, "what a number once stood for is not its next owner's", found)
else:
    tap.skip("what a number once stood for is not its next owner's", "optional: others took the numbers")
with open(fifo, "w") as f:
    f.write("\n")
shell.stdin.close()
shell.wait()
r.send_signal(signal.SIGINT)
r.communicate(timeout=rec.PATIENCE)
tap.done_testing()
