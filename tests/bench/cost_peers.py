#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What the same question costs with other tools: a loop of one runtime call, alone and with each of ingero-record (all it
# does by default), bpftrace doing the same (a line per call, stacks counted), bpftrace keeping sums only, and perf record
# with two uprobes and stacks attached to it, in turn within each round. Added CPU time per call of a peer divided by
# ours: above 1 they cost the program more. Needs root, and a quiet machine for figures that mean something.

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
BIN, DOUBLE = os.path.join(BUILD, "bin"), os.path.join(BUILD, "double")
LIBRARY = os.path.join(DOUBLE, "libcudart.so.13")
NAME = "cudaMemcpyAsync"
ROUNDS, COUNT = 5, 400000
# A call that fails makes no call inside it: as many probes for everybody.
env = {**os.environ, "LD_LIBRARY_PATH": DOUBLE, "DOUBLE_FAIL": NAME + ":1"}


wanted = os.environ.get("NAMES", "")
if wanted and "cost" not in wanted and "?" not in wanted and not wanted.startswith("*"):
    sys.exit(0)


def skip(why):
    print(f"bench: SKIP cost.vs_*: {why}")
    sys.exit(0)


if os.geteuid() != 0:
    skip("needs root")
if not os.path.exists(os.path.join(BIN, "ingero-record")) or not os.path.exists(LIBRARY):
    skip("needs ingero-record and the CUDA double")
tmp = tempfile.TemporaryDirectory(prefix="ingero-bench.")


def loop():
    """A program that calls one function in a loop, once it is told to."""
    return subprocess.Popen(["taskset", "-c", "0", os.path.join(DOUBLE, "calls"), "--op", NAME, "--count", str(COUNT), "--wait"],
                         env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def measure(p):
    out, _ = p.communicate("\n")
    # CPU time by the kernel's account: what else the machine does is not in it.
    return int(re.search(r'"cpu_ns":(\d+)', out).group(1)) / COUNT


def attached(argv, ready):
    """A tool that says on standard error or output when it is attached."""
    p = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in p.stdout:
        if ready in line:
            return p
    return None


def with_tool(start):
    p = loop()
    tool = start(p.pid)
    if tool is None:
        p.kill()
        p.wait()
        return None
    ns = measure(p)
    if tool is not True:
        tool.send_signal(signal.SIGINT)
        tool.communicate()
    return ns


def ours(pid):
    return attached([os.path.join(BIN, "ingero-record"), "--budget", "none", "-p", str(pid), "-o", os.path.join(tmp.name, "run.ige")], "runtime ")


def perf_events(pid):
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            n += "perf_event" in os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass  # closed meanwhile
    return n


def bpftrace(program):
    where = f"{LIBRARY}:{NAME}"
    program = f'BEGIN {{ printf("attached\\n"); }} ' + program.replace("ENTRY", f"uprobe:{where}").replace("RETURN", f"uretprobe:{where}")
    out = open(os.path.join(tmp.name, "bpftrace.out"), "w+")

    def start(pid):
        out.seek(0)
        out.truncate()
        p = subprocess.Popen(["bpftrace", "-B", "full", "-e", program.replace("PID", str(pid))], env=env, stdout=out,
                             stderr=subprocess.STDOUT)
        while p.poll() is None:
            if perf_events(p.pid) > 3:  # two probes, and a buffer for each CPU
                return p
        return None
    return start


SUM = "ENTRY /pid == PID/ { @s[tid] = nsecs; } RETURN /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s[tid]); }"
SAME = ("ENTRY /pid == PID/ { @s[tid] = nsecs; } RETURN /@s[tid]/ { "
        'printf("%d %d %lu %lu %d\\n", pid, tid, nsecs, nsecs - @s[tid], retval); @n[ustack(perf, 24)] = count(); delete(@s[tid]); }')


TRACEFS = "/sys/kernel/tracing"


def tell_tracefs(line):
    fd = os.open(f"{TRACEFS}/uprobe_events", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def perf_probes():
    """Names of two events that perf can record; made by hand, as perf probe wants debug information."""
    nm = subprocess.run(["nm", "-D", LIBRARY], capture_output=True, text=True).stdout
    place = re.search(rf"^([0-9a-f]+) T {NAME}$", nm, re.M)
    try:
        for kind, name in ("p", "entry"), ("r", "back"):
            tell_tracefs(f"{kind}:ingero_bench/{name} {LIBRARY}:0x{int(place.group(1), 16):x}\n")
    except (OSError, AttributeError):
        return None
    return ["ingero_bench:entry", "ingero_bench:back"]


def perf(pid):
    argv = ["perf", "record", "-q", "-g", "-o", os.path.join(tmp.name, "perf.data"), "-p", str(pid)]
    for name in probes:
        argv += ["-e", name]
    p = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # It is attached once the file of its events is there and it sleeps.
    while p.poll() is None:
        try:
            with open(f"/proc/{p.pid}/wchan") as f:
                if "poll" in f.read() and os.path.exists(os.path.join(tmp.name, "perf.data")):
                    return p
        except OSError:
            break
    return None


tools = {"alone": lambda pid: True, "ours": ours}
if shutil.which("bpftrace"):
    tools["bpftrace_sum"] = bpftrace(SUM)
    tools["bpftrace"] = bpftrace(SAME)
else:
    print("bench: SKIP cost.vs_bpftrace_x: no bpftrace here")
probes = perf_probes() if shutil.which("perf") else None
if probes:
    tools["perf"] = perf
else:
    print("bench: SKIP cost.vs_perf_x: no perf that can set probes here")
rounds = []
try:
    for i in range(ROUNDS):
        names = list(tools) if i % 2 == 0 else list(tools)[::-1]
        rounds.append({name: with_tool(tools[name]) for name in names})
finally:
    for name in probes or ():
        tell_tracefs(f"-:{name.replace(':', '/')}\n")
for name in tools:
    got = [r[name] - r["alone"] for r in rounds if r[name] and r["alone"]]
    if name != "alone" and got:
        print(f"bench: cost.added_{name}_ns {statistics.median(got):.0f} ns")
for name in ("bpftrace_sum", "bpftrace", "perf"):
    ratios = [(r[name] - r["alone"]) / (r["ours"] - r["alone"]) for r in rounds if r.get(name) and r["ours"] and r["alone"]]
    if ratios:
        print(f"bench: cost.vs_{name}_x {statistics.median(ratios):.2f} x")
