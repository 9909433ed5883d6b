#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Every call is on the GPU that its thread had made current, by the workload's own log: several devices, threads that change
# between them, contexts made, pushed and popped, devices renamed by the environment. What was not seen is not claimed.
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def workload(late):
    """Allocates sizes that nobody else does, and says on which device of its own each is; None: nobody can know."""
    import ctypes
    import random
    import threading
    runtime, driver = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcuda.so.1")
    lock, log, size = threading.Lock(), [], [0]

    def alloc(device, by_driver=False):
        with lock:
            size[0] += 1
            n = 10000 + size[0]
            log.append({"bytes": n, "device": device})
        p = ctypes.c_void_p()
        if by_driver:
            driver.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(n))
        else:
            runtime.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(n))

    def changing(seed):
        chance, device = random.Random(seed), 0
        for _ in range(60):
            if chance.random() < 0.3:
                wanted = chance.randrange(3)
                if runtime.cudaSetDevice(wanted) == 0:
                    device = wanted
            alloc(device)

    def contexts():
        def context(make, *arguments):
            c = ctypes.c_void_p()
            assert make(ctypes.byref(c), *arguments) == 0
            return c
        mine = context(driver.cuCtxCreate_v2, 0, 1)
        alloc(1, True)
        first = context(driver.cuDevicePrimaryCtxRetain, 0)
        alloc(1, True)
        driver.cuCtxPushCurrent_v2(first)
        alloc(0, True)
        driver.cuCtxPushCurrent_v2(mine)
        alloc(1)
        out = ctypes.c_void_p()
        driver.cuCtxPopCurrent_v2(ctypes.byref(out))
        alloc(0, True)
        driver.cuCtxPopCurrent_v2(ctypes.byref(out))
        alloc(1, True)
        driver.cuCtxSetCurrent(first)
        alloc(0, True)
        driver.cuCtxSetCurrent(ctypes.c_void_p(0x1234))
        alloc(None, True)
        driver.cuCtxSetCurrent(mine)
        alloc(1, True)

    if late:
        runtime.cudaSetDevice(1)
        print("ready", flush=True)
        sys.stdin.readline()
        alloc(None)
        runtime.cudaSetDevice(0)
        alloc(0)
        runtime.cudaSetDevice(1)
        alloc(1)
    else:
        alloc(0)
        threads = [threading.Thread(target=changing, args=(i,)) for i in range(6)] + [threading.Thread(target=contexts)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        alloc(0)
    print(json.dumps(log), flush=True)
    sys.stdin.readline()


if sys.argv[1:2] == ["workload"]:
    workload(sys.argv[2] == "late")
    sys.exit(0)

import recording as rec  # noqa: E402
from recording import tap  # noqa: E402

rec.need_bpf()
ME = os.path.abspath(__file__)
VISIBLE = {"DOUBLE_NVML_BOARDS": 3, "DOUBLE_DEVICES": 2, "CUDA_VISIBLE_DEVICES": "2,1"}
BOARD = {0: 2, 1: 1}


def uuid(board):
    return f"GPU-00000000-0000-0000-0000-{board:012}"


def allocations(ige):
    """bytes -> (uuid of the GPU of the call, of what it called: None where there is none)"""
    lines = subprocess.run([sys.executable, os.path.join(rec.ROOT, "tests", "ige_reader.py"), ige], capture_output=True,
                           text=True).stdout.splitlines()
    found = {}
    for e in map(json.loads, lines):
        if e.get("op") in ("cuda.cudaMalloc", "driver.cuMemAlloc"):
            found.setdefault(e["args"].get("bytes"), [None, None])[e["depth"] > 0] = (e.get("gpu") or {}).get("uuid")
    return found


def compare(name, said, found, board):
    want = {x["bytes"]: None if x["device"] is None else uuid(board[x["device"]]) for x in said}
    tap.none([f"{n}: {found.get(n)}, it was on {gpu}" for n, gpu in want.items() if n not in found or found[n][0] != gpu],
             f"{name}: each of {len(want)} allocations is on the GPU that was current")
    # That a thread works on the first device without having said so is known behind its first call, not inside it.
    tap.none([f"{n}: {found[n]}" for n, gpu in want.items() if n in found and found[n][1] not in (None, gpu)],
             f"{name}: what it called is on no other")


ige = rec.path("devices.ige")
for name, settings, board in (("as the machine counts", dict(VISIBLE, CUDA_VISIBLE_DEVICES="0,1,2"), {0: 0, 1: 1}),
                              ("renamed by the environment", VISIBLE, BOARD)):
    p = rec.run("-o", ige, "--", sys.executable, ME, "workload", "now", **settings)
    said = json.loads(p.stdout.splitlines()[-1]) if p.returncode == 0 and p.stdout else []
    tap.ok(len(said) > 300, f"{name}: records", p.stderr)
    compare(name, said, allocations(ige), board)

p = rec.run("-o", ige, "--sample", 2, "--", sys.executable, ME, "workload", "now", **VISIBLE)
tap.ok(p.returncode == 0 and all(gpus == [None, None] for gpus in allocations(ige).values()), "calls left out: no device is claimed")


# There before us: its driver told it its GPUs when nobody listened, so the environment has to say.
def late(name, board, where=None, **settings):
    process = subprocess.Popen([sys.executable, ME, "workload", "late"], env=rec.environment(**settings), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    if where:
        with open(os.path.join(where, "cgroup.procs"), "w", encoding="utf-8") as f:
            f.write(str(process.pid))
    process.stdout.readline()
    r = rec.start("-o", ige, "-p", process.pid, DOUBLE_NVML_BOARDS=3)
    for line in r.stderr:
        if "health of 3 GPUs" in line:
            break
    process.stdin.write("go\n")
    process.stdin.flush()
    said = json.loads(process.stdout.readline())
    r.send_signal(signal.SIGINT)
    r.communicate(timeout=rec.PATIENCE)
    process.communicate("end\n")
    tap.same(r.returncode, 0, f"{name}: records")
    if board is None:
        said, board = [dict(x, device=None) for x in said], {}
    compare(name, said, allocations(ige), board)


late("a process that was there before", BOARD, **VISIBLE)
# In a container the process counts the GPUs that the container was given, and those only.
group = rec.cgroup("docker-4f1c0f0b9a2d3e4c5b6a79888776655443322110ffeeddccbbaa99887766abcd.scope")
if group:
    TWO = {"DOUBLE_DEVICES": 2}
    late("a container with two of three GPUs", {0: 1, 1: 2}, group, NVIDIA_VISIBLE_DEVICES=f"{uuid(2)},{uuid(1)}", **TWO)
    late("the same, renamed", {0: 2, 1: 1}, group, NVIDIA_VISIBLE_DEVICES=f"{uuid(2)},{uuid(1)}", CUDA_VISIBLE_DEVICES="1,0", **TWO)
    late("a container with all", {0: 0, 1: 1}, group, NVIDIA_VISIBLE_DEVICES="all", **TWO)
    late("a container that does not say", None, group, NVIDIA_VISIBLE_DEVICES="void", **TWO)
    os.rmdir(group)
else:
    tap.skip("GPUs of containers", "optional: no cgroup can be made here")
tap.done_testing()
