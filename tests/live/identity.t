#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A process is one and the same through a new title, a fork and an exec, and is shown by the name it had at the time.
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige, BIN, CALLS, TITLE = rec.path("identity.ige"), os.path.dirname(rec.RECORD), 10, "WORK::EngineCore-0"
workload = rec.path("serve.py")
with open(workload, "w", encoding="utf-8") as f:
    f.write(f"""
import ctypes, os, sys, threading
sys.path.insert(0, {rec.WORK!r})
import cuda
c, libc = cuda.Cuda("libcudart.so.13"), ctypes.CDLL(None)
def call(name, *args):
    for _ in range({CALLS}): getattr(c, name)(*args)
def title(text):
    # As setproctitle does: over the arguments, then the kernel's name, which is cut.
    stat = open("/proc/self/stat").read().rpartition(")")[2].split()
    begin, end = int(stat[45]), int(stat[46])
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, text, len(text))
    libc.prctl(15, text, 0, 0, 0)
if len(sys.argv) > 1 and sys.argv[1] == "again":
    call("cudaFreeAsync", None, None)
    sys.exit()
call("cudaDeviceSynchronize")
def loader():
    libc.prctl(15, b"loader", 0, 0, 0)
    call("cudaStreamSynchronize", None)
t = threading.Thread(target=loader); t.start(); t.join()
title({TITLE!r}.encode())
call("cudaEventSynchronize", None)
child = os.fork()
if not child:
    call("cudaFree", None)
    libc.prctl(15, b"child", 0, 0, 0)
    call("cudaFreeHost", None)
    os.execv(sys.executable, [sys.executable, {workload!r}, "again"])
os.waitpid(child, 0)
print(os.getpid(), child)
""")
p = rec.run("-q", "-o", ige, "--", sys.executable, workload, "with", "room", "for", "a", "title")
tap.ok(p.returncode == 0, "recorded", p.stderr)
parent, child = map(int, p.stdout.split())


def out(program, *args):
    p = subprocess.run([os.path.join(BIN, program), *args, ige], capture_output=True, text=True, timeout=rec.PATIENCE)
    tap.ok(p.returncode == 0, f"{program} {' '.join(args)}", p.stderr)
    return p.stdout


def callers(op):
    """(pid, process, thread) -> calls, outermost ones of the runtime."""
    found = {}
    for e in map(json.loads, out("ingero-export", "-f", "json", "-e", op).splitlines()):
        if not e.get("depth"):
            who = e["pid"], re.sub(r"^python[0-9.]* ", "python ", e["process_name"]), e.get("thread_name")
            found[who] = found.get(who, 0) + 1
    return found


before = callers("cudaDeviceSynchronize")
tap.same([(k[:2], n) for k, n in before.items()], [((parent, "python serve.py"), CALLS)], "before: the interpreter with its script")
tap.same(callers("cudaStreamSynchronize"), {(parent, "python serve.py", "loader"): CALLS}, "a thread's name beside its process's")
tap.same(callers("cudaEventSynchronize"), {(parent, TITLE, TITLE): CALLS}, "after: the title, whole")
tap.same([(k[:2], n) for k, n in callers("cudaFree").items()], [((child, TITLE), CALLS)], "a child by the name it was forked with")
tap.same(callers("cudaFreeHost"), {(child, "child", "child"): CALLS}, "then by its own")
again = callers("cudaFreeAsync")
tap.same([(k[:2], n) for k, n in again.items()], [((child, "python serve.py"), CALLS)], "and after its exec it is the same process by another")

rows = json.loads(out("ingero-stat", "--by", "pid", "--json"))["by"]["rows"]
names = {int(r["key"]): r["name"] for r in rows if r["key"] and r["key"].isdigit()}
tap.same(len([r for r in rows if r["key"] == str(parent)]), 1, "one row a process")
tap.same(names.get(parent), TITLE, "by its newest name")
text = out("ingero-stat")
tap.ok(re.search(rf"process {parent} {TITLE} \(was python\S* serve.py\)", text), "with the one it had", text)

# Wherever a name stands before a pid it is one of that process's, and none of a thread's.
OF = {parent: {TITLE, "serve.py", TITLE[:15]}, child: {TITLE, "child", "serve.py", TITLE[:15]}}
faces = out("ingero-explain") + text
wrong = [m.group(0) for m in re.finditer(r"(\S+) \(pid (\d+)", faces) if int(m.group(2)) in OF and m.group(1) not in OF[int(m.group(2))]]
tap.same(wrong, [], "no thread's name before a process's number")
tap.ok("loader (pid" not in faces, "nor the loader's")
story = json.loads(out("ingero-explain", "--json"))
told = {(v["victim"]["pid"], v["victim"]["comm"]) for v in story.get("chains", []) if v.get("victim", {}).get("pid") in OF}
tap.ok(all(v["summary"].find(f"(pid {v['victim']['pid']})") >= 0 for v in story.get("chains", []) if v["victim"]["pid"] in OF), "text and JSON name one pid", told)
shown = {}
for e in json.loads(out("ingero-export", "-f", "chrome"))["traceEvents"]:
    if e.get("name") == "process_name":
        shown[e["pid"]] = e["args"]["name"].split(" (")[0]
tap.same(shown.get(parent), TITLE, "its line in a timeline")
tap.done_testing()
