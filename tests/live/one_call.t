#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# An exported function that another exported function of the same op enters is one call: by NVIDIA's tail jump
# (__cudaLaunchKernel of CUDA 13), by a call (ncclBcast), and where the code around the jump is too much for the plan to see
# that, so that both are probed.
import glob
import os
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
CALLS = 50
CLIENT = f"""
import ctypes, sys
runtime, nccl = sys.argv[1:3]
def call(path, *names):
    lib = ctypes.CDLL(path)
    for name in names:
        getattr(lib, name).argtypes = [ctypes.c_void_p] * 8
        for _ in range({CALLS}): getattr(lib, name)(*[None] * 8)
call(runtime, "__cudaLaunchKernel", "cudaLaunchKernel")
if nccl: call(nccl, "ncclBcast", "ncclBroadcast")
"""
# The wrappers are plain, as NVIDIA's are: the runtime's jumps to the other function, NCCL's goes through the PLT. With CHECKED
# they look at something first and may return early: then both have to be probed.
SOURCE = """
#define EXPORT __attribute__((visibility("default"), noipa))
#ifdef CHECKED
#define CHECK(p) if (((long)(p) & 7) == 5) return 1;
#else
#define CHECK(p)
#endif
static volatile int called;
EXPORT int cudaLaunchKernel(void *f, long a, long b, long c, long d, void **args, long shared, void *stream)
{ called++; return 0; }
EXPORT int __cudaLaunchKernel(void *f, long a, long b, long c, long d, void **args, long shared, void *stream)
{ CHECK(f) return cudaLaunchKernel(f, a, b, c, d, args, shared, stream); }
EXPORT int ncclBroadcast(const void *s, void *r, unsigned long n, int type, int root, void *comm, void *stream)
{ called++; return 0; }
EXPORT int ncclBcast(void *r, unsigned long n, int type, int root, void *comm, void *stream)
{ CHECK(r) return ncclBroadcast(r, r, n, type, root, comm, stream); }
"""


def library(name, *flags):
    folder = rec.path("-".join(["lib", *flags]))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "source.c"), "w", encoding="utf-8") as f:
        f.write(SOURCE)
    compiler = shlex.split(os.environ.get("INGERO_COMPILE", "gcc"))[:1 + ("ccache" in os.environ.get("INGERO_COMPILE", ""))]
    made = os.path.join(folder, name)
    subprocess.run([*compiler, "-O2", "-fPIC", "-shared", *(["-fno-semantic-interposition"] if "cudart" in name else []), *flags, f.name, "-o", made], check=True)
    return made


def counted(what, arguments, runtime, nccl):
    ige = rec.path("one.ige")
    p = rec.run("-q", "--no-sched", "-o", ige, *arguments, "--", sys.executable, "-c", CLIENT, runtime, nccl)
    tap.ok(p.returncode == 0, f"{what}: recorded", p.stderr)
    got, lost = rec.counts(ige)
    want = {("cuda", "cudaLaunchKernel"): 2 * CALLS}
    if nccl:
        want["nccl", "ncclBroadcast"] = 2 * CALLS
    tap.same(({k: got.get(k, 0) for k in want}, got.get(("nccl", "ncclBcast"), 0), lost), (want, 0, 0), f"{what}: each call once")
    return ige


def probed(ige, name):
    """Functions of that library that were probed."""
    return sum(r["requested"] for r in rec.libraries(rec.dump(ige)[1]) if os.path.basename(r["path"]) == name)


for link in ("session", "multi", "perf"):
    for flags, functions in (((), 1), (("-DCHECKED",), 2)):
        what = f"{link} links, {'both are' if functions == 2 else 'only the inner one is'} probed"
        ige = counted(what, ["--link", link], library("libcudart.so.13", *flags), library("libnccl.so.2", *flags))
        tap.same([probed(ige, name) for name in ("libcudart.so.13", "libnccl.so.2")], [functions] * 2, f"{what}, as planned")
p = rec.run("-q", "--no-sched", "-e", "ncclBcast", "-o", rec.path("chosen.ige"), "--", sys.executable, "-c", CLIENT,
            library("libcudart.so.13"), library("libnccl.so.2"))
tap.same(rec.counts(rec.path("chosen.ige"))[0], {("nccl", "ncclBroadcast"): 2 * CALLS}, "-e takes the exported name, too")

real = sorted(glob.glob("/usr/local/cuda*/lib*/libcudart.so.13"))
if real:
    counted("NVIDIA's runtime", [], real[0], "")
else:
    tap.skip("NVIDIA's runtime", "optional: no CUDA 13 toolkit here")
tap.done_testing()
