#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Stalls that people reported in public, each made as small as it can be and happening for real on the CUDA double. What a report
# has to say of each is a row: who, at which line, and what to change.
#
# Alone: what others take of the CPUs would come before it.

import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

COMMON = r"""
import ctypes, gc, hashlib, multiprocessing, os, subprocess, sys, threading, time
import cuda

lib = cuda.Cuda()
stream, kernel = ctypes.c_void_p(), ctypes.c_char()
lib.cudaMalloc(ctypes.c_void_p(), 1 << 20)
lib.cudaStreamCreate(stream)
began = time.monotonic()

def launch(count=8):
    for _ in range(count):
        lib.cudaLaunchKernel(ctypes.addressof(kernel), cuda.ONE, cuda.ONE, None, 0, stream)

def wait():
    lib.cudaStreamSynchronize(stream)

def go_on(seconds=3):
    return time.monotonic() - began < seconds

def worker(function, *args):
    started = multiprocessing.get_context("fork").Process(target=function, args=args, daemon=True)
    started.start()
    return started

def rename():
    with open("/proc/self/comm", "w", encoding="ascii") as f:
        f.write("pt_data_worker")

def communicator(rank):
    class Id(ctypes.Structure):
        _fields_ = [("b", ctypes.c_char * 128)]
    nccl, comm, known = ctypes.CDLL("libnccl.so.2"), ctypes.c_void_p(), Id()
    nccl.ncclGetUniqueId(ctypes.byref(known))
    nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
    nccl.ncclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                                   ctypes.c_void_p]
    nccl.ncclCommInitRank(ctypes.byref(comm), 2, known, rank)
    nccl.comm = comm
    return nccl
"""

# pytorch#77139: a thread that pins memory frees something large while it has the interpreter's lock.
GIL = r"""
def free_batches():
    while go_on():
        batch = [[i] for i in range(1500000)]
        del batch
        time.sleep(0.15)
threading.Thread(target=free_batches, daemon=True).start()
def train_step():
    launch()
    wait()
while go_on():
    train_step()
"""

# lorax#352: what is written to standard error goes to somebody who reads slowly.
PIPE = r"""
end, other = os.pipe()
def collect():
    with open("/proc/self/comm", "w", encoding="ascii") as f:
        f.write("log-shipper")
    os.close(other)
    while os.read(end, 65536):
        time.sleep(0.3)
reader = worker(collect)
def show_progress():
    os.write(other, b"#" * 1000)
def train_step():
    launch()
    wait()
while go_on():
    train_step()
    show_progress()
"""

# sglang#28067: a collection of garbage in one rank holds up all of them.
COLLECTOR = r"""
rank = int(sys.argv[1])
nccl = communicator(rank)
heap = [{"i": [j]} for j in range(1000000)] if rank else []
gc.disable()
def collect():
    gc.collect()
def train_step(n):
    launch()
    cuda.burn(500000)
    if rank and n % 40 == 20:
        collect()
    nccl.ncclAllReduce(stream, stream, 1024, 7, 0, nccl.comm, stream)
    wait()
for n in range(300):
    train_step(n)
"""

# autocast#386: one rank enters a collective that the other does not.
EXTRA = r"""
rank = int(sys.argv[1])
nccl = communicator(rank)
def save_checkpoint():
    nccl.ncclAllReduce(stream, stream, 1, 7, 0, nccl.comm, stream)
def train_step(n):
    launch()
    cuda.burn(500000)
    if rank == 0 and n == 200:
        save_checkpoint()
    nccl.ncclAllReduce(stream, stream, 1024, 7, 0, nccl.comm, stream)
    wait()
for n in range(400):
    train_step(n)
time.sleep(20)
"""

# transformers#31372: all that the allocator keeps is given back in each step.
EMPTIED = r"""
blocks = [ctypes.c_void_p() for _ in range(10)]
def forward():
    for block in blocks:
        lib.cudaMalloc(block, 64 << 20)
    launch()
def empty_cache():
    for block in blocks:
        lib.cudaFree(block)
while go_on():
    forward(); wait(); empty_cache()
"""

# pytorch#65078: the allocator is refused memory, frees what it keeps and asks again.
RETRIES = r"""
kept = []
def allocate(n):
    block = ctypes.c_void_p()
    if lib.cudaMalloc(block, n):
        lib.cudaDeviceSynchronize()
        while kept:
            lib.cudaFree(kept.pop())
        lib.cudaMalloc(block, n)
    kept.append(block)
def train_step(n):
    allocate((300 + n % 7) << 20)
    launch()
    wait()
n = 0
while go_on():
    train_step(n)
    n += 1
"""

# pytorch#101850: a library that was imported has bound the program to one CPU of the machine.
BOUND = r"""
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
batches = multiprocessing.get_context("fork").Queue(4)
def load():
    rename()
    while True:
        cuda.burn(4000000)
        batches.put(1)
workers = [worker(load) for _ in range(3)]
def train_step():
    batches.get()
    launch()
    wait()
while go_on():
    train_step()
"""

# Pointcept#454: six workers of four threads each on two CPUs.
CROWD = r"""
batches, data = multiprocessing.get_context("fork").Queue(4), os.urandom(1 << 20)
def transform():
    threads = [threading.Thread(target=lambda: [hashlib.sha256(data).digest() for _ in range(8)]) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
def load():
    rename()
    while True:
        transform()
        batches.put(1)
workers = [worker(load) for _ in range(6)]
def train_step():
    batches.get()
    for _ in range(8):
        launch(1)
        cuda.burn(100000)
    wait()
while go_on(4):
    train_step()
"""

# streaming#643: workers that start anew in each epoch.
RESPAWNED = r"""
def open_shards():
    cuda.burn(120000000)
def load(batches):
    rename()
    open_shards()
    for _ in range(200):
        batches.put(1)
def train_step():
    launch()
    wait()
def epoch():
    batches = multiprocessing.get_context("fork").Queue(8)
    loader = worker(load, batches)
    for _ in range(200):
        batches.get()
        train_step()
    loader.join()
for _ in range(8):
    epoch()
"""

# vLLM: a new shape is compiled while requests wait, by a child process and then in the driver.
COMPILED = r"""
driver = ctypes.CDLL("libcuda.so.1")
def compile_kernel():
    subprocess.run(["sh", "-c", "x=0; while [ $x -lt 60000 ]; do x=$((x+1)); done"], check=False)
    driver.cuModuleLoadData(ctypes.byref(ctypes.c_void_p()), b"elf")
def execute_model(n):
    if n % 200 == 100:
        compile_kernel()
    launch()
    wait()
n = 0
while go_on():
    execute_model(n)
    n += 1
"""

# sglang#35711: the first launch of a kernel loads its module.
LAZY = r"""
kernels = [ctypes.c_char() for _ in range(12)]
def launch_one(k):
    lib.cudaLaunchKernel(ctypes.addressof(k), cuda.ONE, cuda.ONE, None, 0, stream)
def request(n):
    for k in kernels[: 1 + n // 100]:
        launch_one(k)
    wait()
for n in range(1200):
    request(n)
"""

# pytorch#154318: the worker computes while it collates; a thread of its own that feeds the queue rests.
COLLATED = r"""
batches = multiprocessing.get_context("fork").Queue(2)
def collate():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
def load():
    rename()
    while True:
        collate()
        batches.put(1)
loader = worker(load)
def train_step():
    batches.get()
    launch()
    wait()
while go_on():
    train_step()
"""

# torch.compile: each new size records a graph.
RECORDED = r"""
graphs = {}
def record_graph():
    graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
    lib._lib.cudaStreamBeginCapture(stream, 0)
    launch(20)
    lib._lib.cudaStreamEndCapture(stream, ctypes.byref(graph))
    lib._lib.cudaGraphInstantiate(ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
    return ready
def run(size):
    if size not in graphs:
        graphs[size] = record_graph()
    lib._lib.cudaGraphLaunch(graphs[size], stream)
    wait()
for n in range(2000):
    run(n // 200)
"""

# pytorch#124456: memory of the host is pinned anew for each batch.
PINNED = r"""
device = ctypes.c_void_p()
lib.cudaMalloc(device, 16 << 20)
def pin():
    block = ctypes.c_void_p()
    lib.cudaMallocHost(block, 16 << 20)
    return block
def train_step():
    block = pin()
    lib.cudaMemcpyAsync(device, block, 16 << 20, 1, stream)
    launch()
    wait()
    lib.cudaFreeHost(block)
while go_on():
    train_step()
"""

# The driver starts with the first call of a program.
COLD = r"""
for _ in range(2000):
    launch(1); wait()
"""

# name, program, settings of the double, what the first line says, a finding with what to do
ROWS = (
    ("interpreter's lock", GIL, {}, r"waits for the interpreter lock \(GIL\) of python\S* \(tid \d+ of pid \d+\), which was on the CPU in free_batches",
     r"HIGH lock-wait .*free_batches"),
    ("slow reader", PIPE, {}, r"waits for log-shipper \(pid \d+\), which slept in collect ",
     r"HIGH gpu-idle .*waiting in show_progress .*for log-shipper \(pid \d+\), which slept in collect "),
    ("garbage in one rank", COLLECTOR, {"ranks": 2}, r"waits for python\S* garbage\S* \(pid \d+\), which was on the CPU in collect ",
     r"HIGH collective-straggler Rank 1, .*it was on the CPU in collect "),
    ("extra collective", EXTRA, {"ranks": 2, "seconds": 9},
     r"made no step .*Collective number 200 .*4 B on rank 0, .*in save_checkpoint .*4\.0 KiB on rank 1, .*in train_step ",
     r"HIGH collective-(mismatch|hang) "),
    ("emptied cache", EMPTIED, {"NS_cudaFree": 400000, "NS_cudaMalloc": 300000}, r"in cudaFree called from empty_cache ",
     r"HIGH alloc-churn .*forward "),
    ("refused memory", RETRIES, {"DEVICE_MB": 4096, "NS_cudaFree": 1500000, "NS_cudaMalloc": 600000, "gpu": False},
     r"in cudaFree called from allocate ", r"HIGH gpu-oom .*it freed memory and asked again until it got it"),
    # What it is bound to is told where it could have had another one: not where this machine had no other to give.
    ("one CPU", BOUND, {}, (r"may run on CPU \d+ only since .*CPU \d+ was idle for", r"waits for a CPU of pt_data_worker"), r"HIGH "),
    ("crowd", CROWD, {}, r"pt_data_worker \(pid \d+\) and 5 more like it had the CPU", r"HIGH cpu-preempted \S+ \(6 processes: "),
    ("respawned workers", RESPAWNED, {}, r"new processes began in .*DataLoader\(persistent_workers=True\) keeps them",
     r"HIGH gpu-idle .*waiting in epoch .*persistent_workers=True"),
    ("compiled while it serves", COMPILED, {"NS_cuModuleLoadData": 20000000}, r"waits for sh( -c)? \(pid \d+\)",
     r"gpu-idle .*waiting in compile_kernel .*for .*Keep these processes, or what they find"),
    ("lazy loading", LAZY, {"NS_cuLaunchKernel": "250000000:at=1005"},
     r"on the CPU in cudaLaunchKernel called from launch_one .*2[5-9]\d ms (of it )?at once", None),
    ("slow collate", COLLATED, {}, r"waits for pt_data_worker \(pid \d+\), which was on the CPU in collate ",
     r"HIGH gpu-idle .*waiting in train_step .*for pt_data_worker \(pid \d+\), .*collate .*Give more workers"),
    ("graphs", RECORDED, {"NS_cudaGraphInstantiate": 60000000, "NS_cuGraphInstantiateWithFlags": 60000000},
     r"in cudaGraphInstantiate called from record_graph ", r"graph-recapture .*record_graph "),
    ("pinned anew", PINNED, {"NS_cudaMallocHost": 4000000, "NS_cudaFreeHost": 1000000},
     r"on the CPU in cudaMallocHost called from pin ", r"HIGH alloc-churn .*pin "),
    ("cold start", COLD, {"NS_cuInit": 1000000000}, r"before the first: 1\.\d+ s on the CPU in cudaMalloc called from <module> ",
     r"cold-start .*cudaMalloc "),
)


def record(name, program, settings):
    script = rec.path(name.split("'")[0].replace(" ", "_") + ".py")
    with open(script, "w", encoding="ascii") as f:
        f.write(COMMON + program)
    settings = {"LAUNCH_NS": 100000, **settings}
    ranks, seconds, gpu = settings.pop("ranks", 0), settings.pop("seconds", 30), settings.pop("gpu", True)
    command = [sys.executable, script]
    if ranks:
        settings["SHARED"], settings["DEVICES"] = rec.path("shared"), ranks
        if os.path.exists(settings["SHARED"]):
            os.remove(settings["SHARED"])
        each = [f"RANK={i} WORLD_SIZE={ranks} LOCAL_RANK={i} CUDA_VISIBLE_DEVICES={i} {sys.executable} {script} {i} & p{i}=$!" for i in range(ranks)]
        command = ["sh", "-c", "\n".join(each) + f"\n(sleep {seconds + 2}; kill -9 {' '.join(f'$p{i}' for i in range(ranks))} 2>&-) &\nwait $p0 $p1"]
    out = rec.path("report.ige")
    said = rec.run("-o", out, *(() if gpu else ("--no-gpu",)), "--duration", f"{seconds}s", "--", *command, every=False, PYTHONPATH=rec.WORK,
                   **{f"DOUBLE_{k}": v for k, v in settings.items()})
    text = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), out], capture_output=True, text=True).stdout
    chains = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-explain"), "--json", out], capture_output=True, text=True).stdout
    return text.split("\n")[0], json.loads(chains)["chains"], said.stderr


def idle_ticks():
    """Of each CPU, since this machine began."""
    with open("/proc/stat", encoding="ascii") as f:
        return [int(line.split()[4]) for line in f if re.match(r"cpu\d", line)]


for name, program, settings, first, finding in ROWS:
    before, began = idle_ticks(), time.monotonic()
    line, chains, said = record(name, program, settings)
    if isinstance(first, tuple):
        most = max(b - a for a, b in zip(before, idle_ticks())) / os.sysconf("SC_CLK_TCK")
        first = first[most < 0.5 * (time.monotonic() - began)]
    advice = [" ".join(str(r[k]) for r in c["recommendations"] for k in ("action", "command")) for c in chains]
    told = [f"{c['severity']} {c['kind']} {c['summary']} {do}" for c, do in zip(chains, advice)]
    tap.ok(re.search(first, line), f"{name}: the first line", line + "\n" + said)
    if finding:
        tap.ok(any(re.search(finding, t) for t in told), f"{name}: the finding", "\n".join(told))
tap.done_testing()
