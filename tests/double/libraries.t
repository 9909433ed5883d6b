#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The double's libraries are shaped as NVIDIA's: sonames, exported names and twins, first instructions, addresses.
import ctypes
import glob
import os
import platform
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from elf import Elf
from support import DOUBLE, DOUBLE_REAL, done, ok, same, skip

runtime, driver = Elf(DOUBLE + "/libcudart.so.13"), Elf(DOUBLE + "/libcuda.so.1")
for name in ("libcuda.so.1", "libcudart.so.13", "libcudart.so.12", "libnccl.so.2", "libnvidia-ml.so.1", "libnvToolsExt.so.1"):
    same(Elf(f"{DOUBLE}/{name}").soname(), name, f"{name} carries its own soname")

runtime_exports = {n: v for n, v in runtime.exported().items() if n.startswith(("cuda", "__cuda"))}
driver_exports = {n: v for n, v in driver.exported().items() if n.startswith("cu")}
if platform.machine() == "x86_64":
    wrong = [n for n, (_, b) in runtime_exports.items() if b[:4] != bytes.fromhex("554889e5")]
    same(wrong, [], f"all {len(runtime_exports)} runtime exports begin push %rbp; mov %rsp,%rbp")
    shape = re.compile(rb"^\x81\x3d....\x00\xba\x1c\x32\x74.\xff\x25....", re.S)
    wrong = [n for n, (_, b) in driver_exports.items() if not shape.match(b)]
    same(wrong, [], f"all {len(driver_exports)} driver exports begin cmpl $0x321cba00,x(%rip); je; jmp *x(%rip)")
    wrong = [n for n, (_, b) in driver_exports.items() if b[12 + b[11]:][:4] != bytes.fromhex("554889e5")]
    same(wrong, [], "and the je leads to their frame setup")
else:
    skip("first instructions", "known for x86-64 only")

if platform.machine() == "x86_64":
    jumps = {}
    for name in ("__cudaLaunchKernel", "__cudaLaunchKernel_ptsz"):
        address, code = runtime_exports[name]
        jumps[name] = (code[:6], address + 10 + int.from_bytes(code[6:10], "little", signed=True))
    same(jumps, {n: (bytes.fromhex("554889e55de9"), runtime_exports[n[2:]][0]) for n in jumps},
         "__cudaLaunchKernel is push; mov; pop and one jump to cudaLaunchKernel, as NVIDIA's")

# A real program binds to a name with the version that its library had when it was linked.
for folder, library, version in (("cuda13", "libcudart.so.13", "libcudart.so.13"), ("cuda12", "libcudart.so.12", "libcudart.so.12"),
                                 ("cuda13", "libcublas.so.13", "libcublas.so.13"), ("cuda12", "libcublas.so.12", "libcublas.so.12"),
                                 ("cuda13", "libnvshmem_host.so.3", "NVSHMEM"), ("cuda13", "libcuda.so.1", None), ("cuda13", "libnccl.so.2", None)):
    elf = Elf(os.path.join(DOUBLE_REAL, folder, library))
    same((elf.soname(), elf.versions()), (library, {version}), f"{library}: its soname, and the version of all its symbols")
missing = []
with open("tests/double/needs.txt") as f:
    for line in f:
        if line[0] == "\t":
            missing += [n for n in line.split() if n not in exports]
        elif line[0] != "#" and line.strip():
            library = line.split()[0]
            folder = "cuda12" if "libcublas" in library and library.endswith(".12") else "cuda13"
            exports = Elf(os.path.join(DOUBLE_REAL, folder, library)).exported()
same(missing, [], "every symbol that a real program imports is in its library")

for what, exports in (("runtime", runtime_exports), ("driver", driver_exports)):
    addresses = [a for a, _ in exports.values()]
    same(len(set(addresses)), len(addresses), f"no two {what} exports share an address")

missing, twins = [], 0
with open("formats/ops.def") as f:
    rows = re.findall(r'^SYMBOL\((CUDART|LIBCUDA), "(\w+)", ([A-Z |]+),', f.read(), re.M)
for library, name, variants in rows:
    exports = runtime_exports if library == "CUDART" else driver_exports
    if name not in exports and f"{name}_v2" not in exports:
        missing.append(name)
    for word, suffix in (("PTSZ", "_ptsz"), ("PTDS", "_ptds")):
        if word in variants.split(" | "):
            twins += 1
            if not any(f"{name}{v}{suffix}" in exports for v in ("", "_v2")):
                missing.append(name + suffix)
ok(len(rows) > 30 and twins > 10, f"formats/ops.def names {len(rows)} symbols and {twins} twins", rows)
same(missing, [], "each of them is exported")

for what, exports, pattern in (("driver", driver_exports, "stubs/libcuda.so"), ("runtime", runtime_exports, "libcudart.so.*")):
    real = glob.glob("/usr/local/cuda*/lib*/" + pattern)
    if not real:
        skip(f"the {what}'s names are NVIDIA's", "no CUDA toolkit here")
        continue
    names = set(Elf(real[0]).exported())
    same(sorted(set(exports) - names), [], f"the {what}'s names are among the {len(names)} that {real[0]} exports")

lib = ctypes.CDLL(DOUBLE + "/libcuda.so.1")


def address_of(name, flags):
    out, status = ctypes.c_void_p(), ctypes.c_int(-1)
    rc = lib.cuGetProcAddress_v2(name.encode(), ctypes.byref(out), 13000, ctypes.c_uint64(flags), ctypes.byref(status))
    return out.value if not rc and not status.value else None


def exported(name):
    return ctypes.cast(getattr(lib, name), ctypes.c_void_p).value


for name, legacy, twin in (("cuLaunchKernel", "cuLaunchKernel", "cuLaunchKernel_ptsz"),
                           ("cuMemAlloc", "cuMemAlloc_v2", "cuMemAlloc_v2"),
                           ("cuMemcpyHtoD", "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds"),
                           ("cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync_v2_ptsz"),
                           ("cuStreamSynchronize", "cuStreamSynchronize", "cuStreamSynchronize_ptsz")):
    same((address_of(name, 1), address_of(name, 2)), (exported(legacy), exported(twin)),
         f"cuGetProcAddress gives the exported addresses of {legacy} and {twin}")
same(address_of("cuNoSuchThing", 1), None, "and nothing for an unknown name")

loaded = ctypes.CDLL(DOUBLE + "/libnvidia-ml.so.1")
same(loaded.nvmlInit_v2(), 0, "NVML starts")
loaded = ctypes.CDLL(DOUBLE + "/libnccl.so.2")
version = ctypes.c_int()
same((loaded.ncclGetVersion(ctypes.byref(version)), loaded.pncclGetVersion(None)), (0, 4),
     "NCCL answers, under its pnccl names too")
done()
