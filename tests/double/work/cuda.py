# SPDX-License-Identifier: Apache-2.0
"""The CUDA runtime through ctypes, and the truth line, for the Python workloads. Standard library only."""
import ctypes
import json
import os
import sys
import threading
import time

_SIGNATURES = {
    "cudaMalloc": "Pz", "cudaMallocAsync": "Pzp", "cudaMallocManaged": "PzI", "cudaMallocHost": "Pz",
    "cudaFree": "p", "cudaFreeAsync": "pp", "cudaFreeHost": "p", "cudaMemset": "piz", "cudaMemsetAsync": "pizp",
    "cudaMemcpy": "ppzi", "cudaMemcpyAsync": "ppzip", "cudaLaunchKernel": "pddpzp", "cudaStreamCreate": "P",
    "cudaEventCreate": "P", "cudaStreamSynchronize": "p", "cudaDeviceSynchronize": "", "cudaEventSynchronize": "p",
    "cudaEventRecord": "pp",
}


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


_TYPES = {"P": ctypes.POINTER(ctypes.c_void_p), "p": ctypes.c_void_p, "z": ctypes.c_size_t, "i": ctypes.c_int,
          "I": ctypes.c_uint, "d": Dim3}
ONE = Dim3(1, 1, 1)


class Cuda:
    """Attributes are the runtime's functions; the library is loaded here and can be called at once."""

    def __init__(self, lib="libcudart.so.13"):
        self._lib = ctypes.CDLL(lib)
        for name, signature in _SIGNATURES.items():
            function = getattr(self._lib, name)
            function.argtypes = [_TYPES[c] for c in signature]
            function.restype = ctypes.c_int
            setattr(self, name, function)


def burn(cpu_ns):
    """Uses that much CPU time of this thread, however long that takes."""
    end = time.thread_time_ns() + cpu_ns
    while time.thread_time_ns() < end:
        for _ in range(50):
            pass


def sched():
    """This thread's CPU time, time spent runnable but not running, and slices, from the kernel."""
    with open("/proc/thread-self/schedstat") as f:
        return [int(v) for v in f.read().split()]


def truth(workload, path, before, **members):
    after = sched()
    line = {"workload": workload, "pid": os.getpid(), "tid": threading.get_native_id()}
    line.update(members)
    line["life_run_delay_ns"] = after[1]
    line.update(zip(("cpu_ns", "run_delay_ns", "slices"), (a - b for a, b in zip(after, before))))
    text = json.dumps(line, separators=(",", ":")) + "\n"
    if path:
        with open(path, "a") as f:
            f.write(text)
    else:
        sys.stdout.write(text)


def pin(cpu):
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
