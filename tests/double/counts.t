#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Every workload makes exactly the calls it says, and the libraries count the same, with the nested driver calls.
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import DOUBLE_REAL, WORK, Ran, counts, done, ok, same, skip

NESTED = {
    "cudaMalloc": "cuMemAlloc_v2", "cudaMallocAsync": "cuMemAllocAsync", "cudaMallocManaged": "cuMemAllocManaged",
    "cudaMallocHost": "cuMemAllocHost_v2", "cudaMemset": "cuMemsetD8_v2", "cudaMemsetAsync": "cuMemsetD8Async",
    "cudaMemcpy": "cuMemcpyHtoD_v2", "cudaMemcpyAsync": "cuMemcpyHtoDAsync_v2", "cudaLaunchKernel": "cuLaunchKernel",
    "cudaStreamSynchronize": "cuStreamSynchronize", "cudaEventSynchronize": "cuEventSynchronize",
    "cudaDeviceSynchronize": "cuCtxSynchronize", "cudaFreeHost": "cuMemFreeHost", "cudaFreeAsync": "cuMemFreeAsync",
    "cudaFree": "cuMemFree_v2",
}


def check(r, want, name):
    """want: runtime op -> calls; the driver call nested in each is counted as often."""
    got = {op: r.count(op) for op in want}
    same((r.status, got), (0, want), f"{name}: the runtime's counts")
    nested = {NESTED[op]: n for op, n in want.items() if op in NESTED}
    same({op: r.count(op) for op in nested}, nested, f"{name}: the nested driver calls")


for command, each in ((("calls", "--count", 1000), 1000), (("calls", "--count", 500, "--threads", 3), 1500),
                      (("calls-static", "--count", 300), 300),
                      ((sys.executable, WORK + "/calls.py", "--count", 200), 200),
                      ((sys.executable, WORK + "/calls.py", "--count", 50, "--threads", 2), 100)):
    r = Ran(*command)
    name = " ".join(os.path.basename(str(c)) for c in command)
    check(r, dict.fromkeys(NESTED, each), name)
    same(r.truth[0]["ops"], {op: {"count": each, "errors": 0} for op in NESTED}, f"{name}: its own truth")
    same(len(r.log), 1, f"{name}: one line for the process")

extra = ["cudaMemcpyAsync_ptsz", "cudaLaunchKernel_ptsz", "cudaStreamSynchronize_ptsz", "cudaMemcpy_ptds",
         "cuStreamSynchronize_ptsz", "cuLaunchKernel"]
r = Ran("calls", "--count", 70, *[x for op in extra for x in ("--op", op)])
same({op: r.count(op) for op in extra},
     {**dict.fromkeys(extra, 70), "cuStreamSynchronize_ptsz": 140}, "twins and driver calls, called directly")
same((r.count("cuMemcpyHtoDAsync_v2_ptsz"), r.count("cuLaunchKernel_ptsz"), r.count("cuMemcpyHtoD_v2_ptds")),
     (70, 70, 70), "the runtime's twins call the driver's twins")

for command in (("train", "--steps", 20), (sys.executable, WORK + "/train.py", "--steps", 20)):
    r = Ran(*command)
    t = r.truth[0]
    want = {"cudaMalloc": 3, "cudaMallocHost": 1, "cudaMemcpyAsync": 40, "cudaLaunchKernel": 160,
            "cudaStreamSynchronize": 20, "cudaFree": 3, "cudaFreeHost": 1}
    name = os.path.basename(str(command[-3]))
    same((t["steps"], t["errors"], t["ops"]), (20, 0, want), f"{name}: its own truth")
    same({op: r.count(op) for op in want}, want, f"{name}: the libraries' counts")
    same((r.count("cuMemcpyHtoDAsync_v2"), r.count("cuMemcpyDtoHAsync_v2")), (20, 20), f"{name}: one copy each way a step")

for options, processes in (((), 4), (("--loaded",), 5), (("--exec",), 4)):
    r = Ran("forker", "--count", 25, *options)
    want = dict.fromkeys(("cudaMalloc", "cudaLaunchKernel", "cudaDeviceSynchronize", "cudaFree"), 25)
    name = "forker " + " ".join(options)
    same([{op: p["ops"][op]["count"] for op in want} for p in r.log], [want] * processes,
         f"{name}: a line per process with its own calls only")
    same(r.truth[0]["ops"], {op: 25 * processes for op in want}, f"{name}: its own truth")
    pids = {p["pid"] for p in r.log}
    ok(set(r.truth[0]["pids"]) <= pids and len(pids) == processes, f"{name}: the pids it names", pids)

# Counted in a file each, however a process ends: at once, by a signal, in the middle of another program.
ENDS = """
import ctypes, os, signal, sys
cuda = ctypes.CDLL("libcudart.so.13")
def make(n):
    for _ in range(n):
        cuda.cudaDeviceSynchronize()
make(2)
if not os.fork():
    make(3)
    os._exit(0)
os.wait()
if not os.fork():
    make(4)
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
if sys.argv[1] == "again":
    make(5)
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[2], "end", ""])
os.kill(os.getpid(), signal.SIGKILL)
"""
with tempfile.TemporaryDirectory() as folder:
    r = Ran(sys.executable, "-c", ENDS, "again", ENDS, DOUBLE_COUNTS=folder)
    found = [p["ops"]["cudaDeviceSynchronize"]["count"] for p in counts(folder)]
    same((r.status, r.log, sorted(found)), (-9, [], [2, 3, 3, 4, 4, 7]), "counts survive _exit, SIGKILL and exec, a file each")
    same(len({p["pid"] for p in counts(folder)}), 5, "of which one process has two")
    same({p["ops"]["cuCtxSynchronize"]["count"] - p["ops"]["cudaDeviceSynchronize"]["count"] for p in counts(folder)}, {0},
         "and nested driver calls are in them")

r = Ran("calls", "--count", 5, "--op", "cudaMalloc", DOUBLE_COUNTS="/nonexistent")
same((r.status, r.count("cudaMalloc"), "cannot write to /nonexistent" in r.err), (0, 5, True),
     "a folder that cannot be written to ends nobody, and is named")

# Libraries above the driver count there, too; a product is a kernel of the device's, on the handle's stream.
PRODUCTS = """
import ctypes
cuda, blas, nccl = (ctypes.CDLL(n) for n in ("libcudart.so.13", "libcublas.so.13", "libnccl.so.2"))
handle, stream, comm = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
cuda.cudaStreamCreate(ctypes.byref(stream))
blas.cublasCreate_v2(ctypes.byref(handle))
blas.cublasSetStream_v2(handle, stream)
for _ in range(3):
    blas.cublasSgemm_v2(handle)
print(cuda.cudaStreamQuery(stream), cuda.cudaStreamQuery(None))
nccl.ncclCommInitRank(ctypes.byref(comm), 2, Id(), 0)
nccl.ncclBcast(None, ctypes.c_size_t(0), 0, 0, comm, stream)
"""
r = Ran(sys.executable, "-c", PRODUCTS, libraries=DOUBLE_REAL + "/cuda13", DOUBLE_LAUNCH_NS=10_000_000_000)
same((r.status, r.out.split()), (0, ["600", "0"]), "a product keeps its handle's stream busy alone")
same({n: r.count(n) for n in ("cublasSgemm_v2", "cublasSetStream_v2", "ncclBcast", "ncclBroadcast", "cudaLaunchKernel", "cuLaunchKernel")},
     {"cublasSgemm_v2": 3, "cublasSetStream_v2": 1, "ncclBcast": 0, "ncclBroadcast": 1, "cudaLaunchKernel": 0, "cuLaunchKernel": 4},
     "BLAS and NCCL launch at the driver; ncclBcast is a call of ncclBroadcast")

r = Ran("latedl", "--after-ms", 10, "--again-ms", 10, "--count", 40)
check(r, {"cudaLaunchKernel": 80, "cudaStreamSynchronize": 80}, "latedl, two copies of the runtime")
r = Ran("nest", "--each", "--depth", 48, "--op", "malloc")
check(r, {"cudaMalloc": 48, "cudaFree": 48}, "nest")
r = Ran("jumper", "--count", 5)
same((r.count("cudaStreamSynchronize"), r.truth[0]["entered"], r.truth[0]["returned"], r.truth[0]["jumped"]),
     (10, 10, 5, 5), "jumper: every second call is left by a jump")
r = Ran("sleeper", "--rounds", 5, "--sleep-us", 2000)
check(r, {"cudaLaunchKernel": 5, "cudaDeviceSynchronize": 5}, "sleeper")
ok(r.truth[0]["slept_ns"] >= 10e6, "sleeper: it slept", r.out)
r = Ran("locker", "--rounds", 4, "--hold-us", 4000)
check(r, {"cudaLaunchKernel": 8, "cudaStreamSynchronize": 4}, "locker")
r = Ran("reader", "--rounds", 8, "--file-mb", 8, "--dir", os.environ.get("TMPDIR", "/tmp"))
check(r, {"cudaMemcpy": 8, "cudaMalloc": 1, "cudaFree": 1}, "reader")
same(r.truth[0]["bytes"], 8 << 20, "reader: what it read")

r = Ran("hang", "--count", 10, timeout=4)
same((r.status, r.truth[0]["hangs_in"] if r.truth else r.err), (None, "cudaStreamSynchronize"),
     "hang: says where, and never returns")

r = Ran("realcudart", "--count", 100, DOUBLE="set")
if r.status == 77:
    skip("NVIDIA's runtime", r.err.strip())
else:
    same((r.status, len(r.log), r.truth[0]["ops"]["cudaMalloc"]), (0, 0, 100),
         "NVIDIA's runtime is called without the double below it")
done()
