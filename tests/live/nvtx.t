#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# NVTX ranges and marks, where a library exports the functions: which, whose, nested how and when, as the program that made
# them says; what does not match is counted; without a profiler, too.
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()


def called(name):
    """As the recorder keeps it: cut, and never empty; long ones of wchar_t are in capitals."""
    most = 128 if name.isupper() else 127
    return "(no name)" if not name else name if len(name) <= most else name[:most] + "..."


def marks(path):
    events, records, _ = rec.dump(path)
    words = {r["id"] & 2**64 - 1: r["text"] for r in records if r["record"] == "word"}
    return [dict(e, name=words.get(e["x"].get("name"))) for e in events if e["source"] == "mark"]


def within(e, s):
    """Does the event lie where the program says that it made it?"""
    if "mark" in s:
        return s["at"][0] <= e["end"] <= s["at"][1]
    return s["begin"][0] <= e["end"] - e["dur"] <= s["begin"][1] and s["end"][0] <= e["end"] <= s["end"][1]


def compare(what, path, said, left_out=()):
    got, wrong = {}, []
    for e in marks(path):
        got.setdefault((e["op"], e["name"], e["tid"]), []).append(e)
    for s in said:
        key = ("range" if "range" in s else "point", called(s.get("range", s.get("mark"))), s["tid"])
        found = [e for e in got.get(key, []) if within(e, s)]
        if key[1] in left_out:
            continue
        if len(found) != 1:
            wrong.append(f"{s}: {len(found)} of {len(got.get(key, []))} events lie there")
        else:
            got[key].remove(found[0])
    wrong += [f"{key}: {len(v)} more than made" for key, v in got.items() if v]
    tap.none(wrong, f"{what}: {len(said)} ranges and marks, each once, by name and thread and where the program made it")


def told(p):
    """Ranges, marks and open ones that the recorder speaks of."""
    m = re.search(r"NVTX: (\d+) ranges? and (\d+) marks? taken; (\d+) had not ended", p.stderr)
    return tuple(map(int, m.groups())) if m else p.stderr


def record(what, *arguments, **settings):
    path = rec.path("nvtx.ige")
    p = rec.run("-o", path, *arguments, **settings)
    tap.ok(p.returncode == 0 and " lost 0" in p.stderr, f"{what}: recorded", p.stderr)
    said = rec.truth(p.stdout)
    return p, path, said, (sum("range" in s for s in said), sum("mark" in s for s in said))


WORK = ["--", rec.work("ranges"), "--threads", 3, "--rounds", 20]

for link in ("auto", "multi", "perf"):
    p, path, said, n = record(link, "--link", link, *WORK, "--unbalanced")
    compare(link, path, said)
    tap.same(told(p), (*n, 2), f"{link}: how many there were, and that two had not ended")
    tap.ok("NVTX: 2 ends of ranges whose beginning was not seen" in p.stderr, f"{link}: and two ends without a beginning",
           p.stderr)

cover = [r for r in rec.dump(path)[1] if r["record"] == "coverage" and r.get("path", "").endswith("/libnvToolsExt.so.1")]
tap.same([(r["layer"], r["requested"], r["attached"], r["link"]) for r in cover], [("mark", 18, 18, "perf")], "the library is told")
tap.ok("no CUDA library was seen" in p.stderr, "and is none of CUDA's", p.stderr)

p, path, said, n = record("many", "--no-sched", *WORK[:2], "--threads", 8, "--rounds", 200)
compare("many", path, said)
tap.ok("marks taken; 0 had not ended" in p.stderr and "ends of ranges" not in p.stderr, "many: none is left open", p.stderr)

# Where CUDA is used and no such library, the recording says that it cannot know.
p, path, said, n = record("CUDA", *WORK[:1], rec.work("calls"), "--count", 10)
cover = [r for r in rec.dump(path)[1] if r["record"] == "coverage" and r["layer"] == "mark"]
tap.same([(r["requested"], "no libnvToolsExt" in r["reason"]) for r in cover], [(0, True)], "CUDA: no library for NVTX, which is said")
tap.ok("NVTX" not in p.stderr, "CUDA: nothing else is", p.stderr)

# Without a profiler every id is 0, and no text is registered.
p, path, said, n = record("nobody", *WORK[:2], "--threads", 1, "--rounds", 5, DOUBLE_NVTX="none")
got = [(e["op"], e["name"]) for e in marks(path)]
pushed = ["step", "forward étape", "rück 😀", "дом", ""]
want = [("range", called(s["range"])) for s in said if s.get("range") in pushed]
tap.same(sorted(x for x in got if x[0] == "range" and x[1] in map(called, pushed)), sorted(want), "nobody: pushed ranges are there")
tap.same({x for x in got if x[1] in ("load", "lesen", "batch", "weit")}, set(), "nobody: ranges of one id are not mixed up")
tap.ok("20 ranges left out: the library gave several at a time the same id 0" in p.stderr, "nobody: they are counted", p.stderr)

# Only what is asked for.
for ops, ranges, points in (("range", 1, 0), ("point", 0, 1), ("cudaMalloc", 0, 0)):
    p, path, said, n = record(f"-e {ops}", "-e", ops, *WORK)
    kinds = [e["op"] for e in marks(path)]
    tap.same((kinds.count("range"), kinds.count("point")), (n[0] * ranges, n[1] * points), f"-e {ops}: that, and nothing else")

# A range that is open while a GPU becomes the current one of its thread.
FIRST = """
import ctypes
nvtx, cuda, p = ctypes.CDLL("libnvToolsExt.so.1"), ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
nvtx.nvtxRangePushA(b"first")
cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(4096))
nvtx.nvtxRangePop()
"""
p, path, _, _ = record("first call", "--", sys.executable, "-c", FIRST)
tap.same([(e["op"], e["name"]) for e in marks(path)], [("range", "first")], "first call: the range around it is there")

tap.done_testing()
