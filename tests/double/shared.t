#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Processes that share a machine: what they give one board is done one after the other, on boards of their own at once, and a
# collective is done when the last rank has entered. Times have lower bounds only.
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import DOUBLE, done, ok, same

MS = 1_000_000
PROGRAM = r"""
import ctypes, json, sys, time
sys.path.insert(0, "tests/double/work")
import cuda
what, rank, late_ms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
c, nccl = cuda.Cuda(), ctypes.CDLL("libnccl.so.2")
put_off = ctypes.CDLL("libcuda.so.1").double_put_off
put_off.restype = ctypes.c_uint64
comm, stream, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_char()
class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
c.cudaStreamCreate(stream)
nccl.ncclCommInitRank(ctypes.byref(comm), 2, Id(), rank)
print("ready", flush=True)
sys.stdin.readline()
begin = time.monotonic_ns()
entered, left = [], []
for i in range(40 if what == "meet" else 1):
    if what == "meet":
        if i % 20 == 10:
            time.sleep(late_ms / 1000)
        entered.append(time.monotonic_ns())
        nccl.ncclAllReduce(None, None, ctypes.c_size_t(1), 7, 0, comm, stream)
    else:
        for _ in range(10):
            c.cudaLaunchKernel(ctypes.addressof(kernel), cuda.ONE, cuda.ONE, None, 0, stream)
    c.cudaStreamSynchronize(stream)
    left.append(time.monotonic_ns())
print(json.dumps({"entered": entered, "left": left, "ns": left[-1] - begin, "put_off": put_off(), "begin": begin}))
"""


def both(what, late_ms=0, boards=("0", "0"), **settings):
    """What each of two processes says that begin together."""
    with tempfile.TemporaryDirectory() as folder:
        if settings.pop("coupled", True):
            settings["DOUBLE_SHARED"] = os.path.join(folder, "machine")
        env = {**{k: v for k, v in os.environ.items() if not k.startswith("DOUBLE_")}, "LD_LIBRARY_PATH": DOUBLE, "DOUBLE_DEVICES": "2",
               "PYTHONDONTWRITEBYTECODE": "1", **{k: str(v) for k, v in settings.items()}}
        made = [subprocess.Popen([sys.executable, "-c", PROGRAM, what, str(rank), str(late_ms if rank else 0)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, env={**env, "CUDA_VISIBLE_DEVICES": boards[rank]}) for rank in range(2)]
        for p in made:
            p.stdout.readline()
        for p in made:
            p.stdin.write("\n")
            p.stdin.flush()
        return [json.loads(p.communicate(timeout=300)[0]) for p in made]


said = both("launch", DOUBLE_LAUNCH_NS=50 * MS)  # long enough for the other to begin meanwhile
all_ns = max(s["left"][-1] for s in said) - min(s["begin"] for s in said)
ok(all_ns >= 1000 * MS, "a board that two share takes the time of both", all_ns)
ok(any(s["put_off"] for s in said), "and knows how long one has had to wait for the other", said)
for name, settings in (("boards of their own", {"boards": ("0", "1")}), ("not coupled", {"coupled": False})):
    same([s["put_off"] for s in both("launch", DOUBLE_LAUNCH_NS=20 * MS, **settings)], [0, 0], f"{name}: nobody waits for the other")

said = both("meet", late_ms=300, boards=("0", "1"), DOUBLE_LAUNCH_NS=MS)
early = [i for i in range(40) for s in said if s["left"][i] < max(o["entered"][i] for o in said) + MS]
same(early, [], "no collective is done before a kernel's time after the last rank has entered")
waited = [said[0]["left"][i] - said[0]["entered"][i] for i in (10, 30)]
late = [said[1]["entered"][i] - said[0]["entered"][i] for i in (10, 30)]
ok(all(w >= l for w, l in zip(waited, late)) and max(late) > 50 * MS, "a rank waits for one that is late", (waited, late))
done()
