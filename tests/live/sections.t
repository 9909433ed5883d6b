#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The sections of ingero-stat on the real kernel: memory, devices and GPU health against the double's own account, sleeps
# and sockets against the clock of the workload. What it sleeps for is the least, what its clock says the most there can be.
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

sys.path.insert(0, os.path.join(rec.ROOT, "tests"))
import schema  # noqa: E402

rec.need_bpf()
MIB = 1 << 20


def recorded(name, *command, **settings):
    """What stat says of a recording, and what the workload said last."""
    ige = rec.path(name + ".ige")
    p = rec.run("-o", ige, "--", *command, **settings)
    tap.ok(p.returncode == 0, f"{name}: recorded", p.stderr)
    said = rec.stat(ige)
    tap.none(schema.check(said, os.path.join(rec.ROOT, "formats", "stat.schema.json")), f"{name}: by the schema")
    return said, rec.truth(p.stdout)[-1]


# ---- what the double counts

said, truth = recorded("memory", rec.work("calls"), "--count", 50, "--op", "cudaMalloc", "--bytes", MIB, DOUBLE_NVML_BOARDS=1,
                       DOUBLE_NVML_XID=79)
made = truth["ops"]["cudaMalloc"]
op = next(o for o in said["ops"] if o["op"] == "cudaMalloc")
tap.same((op["count"], sum(d["count"] for d in op["devices"])), (made["count"], made["count"]), "memory: every call is on some device")
mine = [m for m in said["memory"] if m["pid"] == truth["pid"]]
if tap.same(len(mine), 1, "memory: the process holds memory"):
    good = made["count"] - made["errors"]
    tap.same((mine[0]["allocations"], mine[0]["peak_bytes"]), (good, good * MIB), "memory: as much as it was given")
    tap.same(sum(s["allocations"] for s in mine[0]["sites"]), good, "memory: by the lines that asked for it")
gpu = {m["metric"]: m["last"] for m in said["metrics"] if m.get("gpu") and "pid" not in m}
tap.same({k: gpu[k] for k in ("gpu.utilization", "gpu.memory_used", "gpu.temperature", "gpu.power_limit")},
         {"gpu.utilization": 50, "gpu.memory_used": 1 << 30, "gpu.temperature": 45, "gpu.power_limit": 700},
         "gpu: as the management library tells")
tap.same([x["xid"] for g in said["gpus"] for x in g["xids"]], [79], "gpu: its error")
text = subprocess.run([rec.STAT, "--sections", "gpu,memory,system", rec.path("memory.ige")], capture_output=True, text=True).stdout
tap.ok("XID 79" in text and "50.0% of the time" in text and "Memory of devices" in text and "\nSystem\n" in text,
       "gpu, memory and the machine, in text", text)

# ---- what the workload's clock says

SCRIPT = r'''
import json, os, socket, threading, time
def timed(call):
    begin = time.monotonic_ns()
    call()
    return time.monotonic_ns() - begin
NAP = 0.01
naps = [timed(lambda: time.sleep(NAP)) for _ in range(20)]
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
client = socket.create_connection(listener.getsockname())
server = listener.accept()[0]
ready, waits = threading.Semaphore(0), []
def serve():
    for _ in range(10):
        ready.acquire()
        time.sleep(NAP)
        server.send(b"x")
threading.Thread(target=serve, daemon=True).start()
for _ in range(10):
    ready.release()
    waits.append(timed(lambda: client.recv(1)))
print(json.dumps({"pid": os.getpid(), "tid": threading.get_native_id(), "naps": naps, "waits": waits,
                  "remote": "%s:%u" % client.getpeername()}))
'''
path = rec.path("script.py")
with open(path, "w") as f:
    f.write(SCRIPT)
said, truth = recorded("waits", sys.executable, path)
off = [d for d in said["host"] if d["op"] == "offcpu"]
slept = sum(d["ns"] for d in off if "nanosleep" in d["text"] or d["text"].startswith(("select", "pselect6")))
tap.ok(20 * 10**7 <= slept, "waits: slept as long as was asked for at least, in a call with a name", off)
total = next(o["total_ns"] for o in said["ops"] if o["op"] == "offcpu")
tap.same(sum(d["ns"] for d in off), total, "waits: all time off the CPU is about something")
mine = [s for s in said["sockets"] if s["remote"] == truth["remote"]]
if tap.same(len(mine), 1, "waits: one socket to the server"):
    tap.ok(1 <= mine[0]["count"] <= 10 and 0 < mine[0]["total_ns"] <= sum(truth["waits"]) and mine[0]["max_ns"] <= max(truth["waits"]),
           "waits: no more of them, and no longer, than its clock says", (mine, truth["waits"]))
    tap.same(mine[0]["protocol"], "tcp", "waits: what kind")
tap.ok(any(d["op"] == "socket" and truth["remote"] in d["text"] for d in said["host"]), "waits: told in the detail of the host", said["host"])
tap.ok({"system", "rates"} <= set(said) and any(m["metric"] == "cpu.busy" for m in said["metrics"]), "the machine was sampled")

# ---- live, through a pipe

p = subprocess.run(f"exec 3>&1; {rec.RECORD} --no-gpu -o - -- {rec.work('calls')} --count 300 --rate 1000 2>/dev/null | "
                   f"{rec.STAT} --json --sections runtime,rates", shell=True, executable="/bin/bash", capture_output=True, text=True,
                   env=rec.environment())
live = json.loads(p.stdout)
launches = sum(o["count"] for o in live["ops"] if o["source"] == "cuda")
tap.ok(launches >= 300 and sum(sum(r["series"]["counts"]) for r in live["rates"] if r["source"] == "cuda") == launches,
       "record | stat: every call is in a span of time", (launches, p.stderr[-500:]))
tap.done_testing()
