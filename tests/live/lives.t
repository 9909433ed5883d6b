#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Ends of threads and processes: all of them, also where all threads of a process end at one time, and of the program that ended.
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
ige = rec.path("lives.ige")


def records(kind):
    """As the independent reader gives them."""
    lines = subprocess.run([sys.executable, os.path.join(rec.ROOT, "tests", "ige_reader.py"), ige], capture_output=True, text=True).stdout.splitlines()
    return [x for x in map(rec.json.loads, lines) if x.get("record") == kind]


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

# ---- what has ended is not looked at in place of what goes on
p = rec.run("-o", ige, "--no-sched", "--", sys.executable, "-c", """
import ctypes, os, time
ctypes.CDLL("libcudart.so.13").cudaDeviceSynchronize()
print(os.getpid(), flush=True)
for _ in range(1500):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
time.sleep(3)
""")
pid, samples = int(p.stdout), [r for r in records("sample") if r["metric"] in (6, 18)]  # load of the machine, memory of a process
rounds = sorted({r["time_ns"] for r in samples})[1:-1]  # it may not be there yet, or any more
seen = {r["time_ns"] for r in samples if r.get("process", {}).get("pid") == pid}
tap.ok(rounds and len(seen & set(rounds)) >= len(rounds) - 1, "a process is sampled that has had 1500 children", (len(rounds), len(seen)))

# ---- more than are sampled
p = rec.run("-o", ige, "--", sys.executable, "-c", "import os, time\n[os.fork() or (time.sleep(3), os._exit(0)) for _ in range(300)]\ntime.sleep(3)")
tap.ok("sampled of 256 of them" in p.stderr, "that not all processes are sampled is told", p.stderr)

# ---- the number of a thread stands for its process
THREAD = """
import ctypes, sys, threading
cuda = ctypes.CDLL("libcudart.so.13")
def run():
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
    cuda.cudaDeviceSynchronize()
    print("called", flush=True)
threading.Thread(target=run).start()
"""
p = subprocess.Popen([sys.executable, "-c", THREAD], env=rec.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
tid = int(p.stdout.readline())
r = rec.start("-p", str(tid), "--no-sched", "-o", ige)
text = rec.attached(r)
p.stdin.write("\n")
p.stdin.flush()
p.stdout.readline()
r.send_signal(signal.SIGINT)
r.communicate(timeout=rec.PATIENCE)
p.wait()
tap.ok(tid != p.pid and f"pid {p.pid}" in text and rec.counts(ige)[0].get(("cuda", "cudaDeviceSynchronize")) == 1,
       "-p with the number of a thread records its process", text)

# ---- numbers are used again
DECOY = """
import ctypes, sys
for name in ("libcudart.so.13", "libcuda.so.1"):
    ctypes.CDLL(name)
print("there", flush=True)
sys.stdin.read()
"""


def ended(pid):
    """When a child began, as the kernel says; waits for its end, and leaves it to be waited for."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rpartition(")")[2].split()[19]) * (10 ** 9 // os.sysconf("SC_CLK_TCK"))


def at_number(pid, *command):
    """When the command began that was run under this number; None where that cannot be had."""
    for _ in range(200):
        try:
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as f:
                f.write(str(pid - 1))
        except OSError:
            return None
        child = os.fork()
        if child == 0:
            if os.getpid() != pid:
                os._exit(99)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.execve(command[0], command, rec.environment())
        began = ended(child)
        if os.WEXITSTATUS(os.waitpid(child, 0)[1]) != 99:
            return began
    return None


decoy = subprocess.Popen([sys.executable, "-c", DECOY], env=rec.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
decoy.stdout.readline()
r = rec.start("-a", "--no-sched", "-o", ige)
rec.attached(r)
first = subprocess.Popen([rec.work("calls"), "--count", "5", "--rate", "20"], env=rec.environment(), stdout=subprocess.DEVNULL)
began = ended(first.pid)
first.wait()
time.sleep(0.1)  # starts are told apart by hundredths of a second
second = at_number(first.pid, rec.work("calls"), "--count", "50", "--rate", "200")
r.send_signal(signal.SIGINT)
r.communicate(timeout=rec.PATIENCE)
decoy.stdin.close()
decoy.wait()
if second is None:
    tap.skip("numbers used again", "no number of a process can be had again here")
else:
    # Between the two, others of this machine may have had the number.
    processes = [(c["process"], c["delivered"]) for c in records("coverage") if c["layer"] == "runtime" and "process" in c]
    got = [[n for p, n in processes if (p["pid"], p["start_ns"]) == (first.pid, start)] for start in (began, second)]
    tap.ok([len(n) for n in got] == [1, 1] and 5 <= got[0][0] < got[1][0], "two processes of one number each have their own coverage", got)
tap.done_testing()
