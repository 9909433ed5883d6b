#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Calls that were made before probes were in place are said to be missing, in the file when it happens and by every face, and nobody
# concludes anything from that none is there. What the recorder itself takes is a cost with a line of its own, and no culprit.
import json
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
ige = rec.path("u.ige")
LATE = "it was loaded before the probes were in place"
UNSEEN = "the process ended before its libraries could be read"


def tool(name, *arguments):
    p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-" + name), *arguments, ige], capture_output=True, text=True, timeout=300)
    return p.stdout + p.stderr


def explained():
    return json.loads(tool("explain", "--json"))


def uncovered(records):
    return [x for x in records if x["record"] == "uncovered"]


def begin(*arguments, **how):
    if os.path.exists(ige):
        os.unlink(ige)
    r = rec.start("-o", ige, *arguments, **how)
    rec.attached(r)
    return r


def end(r):
    r.send_signal(signal.SIGINT)
    r.wait(rec.PATIENCE)
    return rec.dump(ige)


def latedl(*arguments):
    return subprocess.Popen([rec.work("latedl"), "--asked", *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, env=rec.environment())


def asked(w, what):
    w.stdin.write(what + "\n")
    w.stdin.flush()


def held(r, do):
    """What `do` does happens while the recorder cannot look."""
    r.send_signal(signal.SIGSTOP)
    rec.until(lambda: open(f"/proc/{r.pid}/stat", encoding="ascii").read().rsplit(") ", 1)[1][0] == "T")
    try:
        return do()
    finally:
        r.send_signal(signal.SIGCONT)


def not_known(name):
    """No face says that no call was made, and all say why that is not known."""
    text, stat = tool("explain"), tool("stat")
    said = explained()["coverage"]["uncovered"]
    tap.ok("No call was made" not in text and "none began" not in text and "were not recorded" in text, f"{name}: explain", text[:600])
    tap.ok("were not recorded" in stat, f"{name}: stat", stat[-600:])
    counted = json.loads(tool("stat", "--json"))["coverage"]["uncovered"]
    tap.ok(counted and all(x["calls"] is None for x in counted) and said, f"{name}: JSON, how many is not known", f"{counted} {said}")


# ---- a library that is loaded, called and waits, all while the recorder could not look
w = latedl("--count", 500, "--second", "libcudart.so.12")
r = begin("-p", w.pid, "--flush", "50ms")


def load_and_call():
    asked(w, "load")
    w.stdout.readline()
    asked(w, "call")
    # It waits for the next line again when it has called.
    rec.until(lambda: open(f"/proc/{w.pid}/wchan", encoding="ascii").read() in ("pipe_read", "anon_pipe_read", "0")
              and open(f"/proc/{w.pid}/stat", encoding="ascii").read().rsplit(") ", 1)[1][0] == "S")


held(r, load_and_call)
tap.ok(rec.until(lambda: len(uncovered(rec.dump(ige)[1])) >= 2), "records in the file that grows")
events, records, _ = end(r)
u = uncovered(records)
tap.same({(x["layer"], os.path.basename(x["path"]), x["reason"]) for x in u},
         {("runtime", "libcudart.so.13", LATE), ("driver", "libcuda.so.1", LATE)}, "both libraries, and why")
tap.ok(all(0 < x["until_ns"] - x["since_ns"] for x in u), "from when to when", u)
tap.ok(not any(e["source"] == "cuda" for e in events), "no call is there")
not_known("loaded late")
q = tool("export", "-f", "html")
tap.ok("No call was made" not in q and "were not recorded" in q, "loaded late: the page")
call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_causal_chains", "arguments": {}}})
hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-mcp"), ige], input=f"{hello}\n{call}\n", capture_output=True, text=True,
                   timeout=300)
# It names one library of a process, whichever lies lower in memory.
tap.ok("no call was made" not in p.stdout and re.search(r"were not recorded: its libcuda(rt\.so\.13|\.so\.1) ", p.stdout), "loaded late: MCP",
       p.stdout[-800:] + p.stderr)

# ---- it was there before: its first time is missing, from then on that nothing was called is known
r = begin("-p", w.pid)
events, records, _ = end(r)
u = uncovered(records)
tap.ok(len(u) == 2 and all(x.get("from_start") == 1 for x in u), "a process that was there: from its start", u)
text = tool("explain")
tap.ok("No call was made" in text and "calls of the first " in text and f"of process {w.pid} (latedl) were not recorded" in text,
       "since then none was made", text)
w.kill()
w.wait()

# ---- a child that is over before it can be looked at
launcher = subprocess.Popen(["sh", "-c", f"read x; {rec.work('calls')} --count 50; echo over; read x"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, env=rec.environment())
r = begin("-p", launcher.pid)


def run_through():
    asked(launcher, "go")
    while launcher.stdout.readline() != "over\n":
        pass


held(r, run_through)
launcher.stdin.write("end\n")
launcher.stdin.close()
r.wait(rec.PATIENCE)
launcher.wait()
records = rec.dump(ige)[1]
tap.same([x["reason"] for x in uncovered(records)], [UNSEEN], "a child that nobody saw: once, without a library")
not_known("over before it was looked at")

# ---- launched: nothing is missing, and what the recorder took is told as that
SCRIPT = """
import ctypes, json, sqlite3, ssl, decimal
c, p = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
for _ in range(300):
    c.cudaMalloc(ctypes.byref(p), 4096)
    c.cudaFree(p)
"""
r = rec.start("-o", ige, "--", sys.executable, "-c", SCRIPT)
pid = r.pid
r.communicate(timeout=rec.PATIENCE)
events, records, _ = rec.dump(ige)
session = next(x for x in records if x["record"] == "session")
tap.same(session["pid"], pid, "whose recorder it was")
costs = [x for x in records if x["record"] == "cost"]
tap.ok(sum(x["stops"] for x in costs) > 0 and sum(x["stopped_ns"] for x in costs) > 0, "how often it stopped the program", costs)
tap.same(uncovered(records), [], "launched: nothing is missing")
said = explained()
parts = [x["parts"] for x in said["breakdown"] if x["calls"]]
tap.ok(parts and all(x.get("stopped", 0) == 0 and x.get("attach", 0) > 0 for x in parts), "its stops are the recorder's", parts)
tap.ok(said["coverage"]["recorder"] and said["coverage"]["recorder"]["stops_ns"] > 0, "in the cost", said["coverage"]["recorder"])
text = tool("explain")
tap.ok("Recorder: " in text and "held up by ingero-record's probes" in text and "stopped or traced" not in text, "in words", text[-800:])
tap.ok(not any(pid in x["culprit"]["pids"] or x["culprit"]["pid"] == pid for x in said["chains"]), "no culprit", said["chains"])

# ---- a hundred short-lived children, and a library that is closed and opened again
p = rec.run("-o", ige, "--", rec.work("forker"), "--children", 100, "--count", 20)
want = rec.truth(p.stdout)[0]
events, records, _ = rec.dump(ige)
tap.same({op: sum(e["op"] == op and e["source"] == "cuda" for e in events) for op in want["ops"]}, want["ops"],
         "a hundred children: every call of each")
tap.same(uncovered(records), [], "and nothing is missing")
REOPEN = """
import _ctypes, ctypes
for _ in range(3):
    c = ctypes.CDLL("libcudart.so.13")
    c.cudaDeviceSynchronize()
    _ctypes.dlclose(c._handle)
"""
p = rec.run("-o", ige, "--", sys.executable, "-c", REOPEN)
events, records, _ = rec.dump(ige)
tap.same((sum(e["op"] == "cudaDeviceSynchronize" for e in events), uncovered(records)), (3, []), "closed and opened again")


# ---- who loads what was looked at before is not stopped for it; who loads what has probes is
LIBRARIES = "import ctypes, json, sqlite3, ssl, decimal, zlib, bz2, lzma, hashlib, curses\n"
CALLS = "c = ctypes.CDLL('libcudart.so.13')\nfor _ in range(50): c.cudaDeviceSynchronize()\n"


def stops_of(times, script):
    p = rec.run("-o", ige, "--", "sh", "-c", '"$0" -c "$1"; ' * times + "true", sys.executable, script)
    events, records, _ = rec.dump(ige)
    stops = sum(x["stops"] for x in records if x["record"] == "cost")
    return stops, sum(e["op"] == "cudaDeviceSynchronize" for e in events), len(uncovered(records))


one, _, _ = stops_of(1, LIBRARIES)
three, _, _ = stops_of(3, LIBRARIES)
if rec.has_find_vma():
    tap.ok(0 < one < 10 and three <= 3 * one, "more than ten libraries that hold nothing: stopped for none of them", f"{one} {three}")
else:
    tap.skip("known libraries", "this kernel has no bpf_find_vma")
stops, calls, missing = stops_of(3, LIBRARIES + CALLS)
tap.same((calls, missing), (150, 0), "and each of their calls is there")
p = rec.run("-o", ige, "--", "sh", "-c", "for i in $(seq 40); do cat /dev/null | tr a b; done; \"$0\" --children 5 --count 20 --exec", rec.work("forker"))
want = rec.truth(p.stdout)[0]
events, records, _ = rec.dump(ige)
if rec.has_find_vma():
    stops = sum(x["stops"] for x in records if x["record"] == "cost")
    tap.ok(0 < stops < 40, "eighty helpers that hold nothing: stopped for the first of each", str(stops))
else:
    tap.skip("known programs", "this kernel has no bpf_find_vma")
tap.same({op: sum(e["op"] == op and e["source"] == "cuda" for e in events) for op in want["ops"]}, want["ops"],
         "a program executed again and again: every call of each")
tap.same(uncovered(records), [], "and nothing is missing")

# ---- a runtime inside a library, without symbols; the same that loads the shared one has none inside
source = rec.path("blas.c")
with open(source, "w", encoding="ascii") as f:
    f.write('__asm__(".section .nv_fatbin,\\"a\\"\\n.quad 1\\n.previous"); int cublasNothing(void) { return 0; }\n')
inside, loads = rec.path("libcublas.so.99"), rec.path("libcufft.so.99")
compiler = ["gcc", "-shared", "-fPIC", "-s", source]
subprocess.run([*compiler, "-o", inside], check=True)
subprocess.run([*compiler, "-o", loads, "-Wl,--no-as-needed", os.path.join(rec.DOUBLE, "libcudart.so.13")], check=True)
rec.run("-o", ige, "--", sys.executable, "-c", f"import ctypes\nctypes.CDLL({inside!r})\nctypes.CDLL({loads!r})\n" + CALLS)
events, records, _ = rec.dump(ige)
at = [x for x in records if x["record"] == "coverage" and x.get("path", "").startswith(os.path.dirname(inside))]
tap.same([(os.path.basename(x["path"]), x["layer"], x["requested"], x["reason"]) for x in at],
         [("libcublas.so.99", "runtime", 0, "its own CUDA runtime has no symbols: its work is recorded at the driver's calls")],
         "a runtime inside, and none where the shared one is loaded")
tap.same((uncovered(records), sum(e["op"] == "cudaDeviceSynchronize" for e in events)), ([], 50), "which is no gap")
text = tool("stat")
tap.ok("libcublas.so.99: its own CUDA runtime has no symbols" in text and "not traced: its own" not in text, "stat says so", text[-600:])

tap.done_testing()
