#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A recorder without shared libraries records from a root folder that holds nothing but itself, /proc and /sys, what a
# process outside of that folder calls.
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
STATIC = os.path.join(rec.BUILD, "static", "ingero-record")
if not os.path.exists(STATIC):
    tap.skip_all("optional: the static libraries it is made of are not on this machine")

kind = subprocess.run(["ldd", STATIC], capture_output=True, text=True)
tap.ok("not a dynamic executable" in kind.stderr + kind.stdout or "statically linked" in kind.stdout, "no shared libraries",
       kind.stdout)
root = rec.path("root")
for folder in ("proc", "sys", "tmp"):
    os.makedirs(os.path.join(root, folder))
subprocess.run(["cp", STATIC, os.path.join(root, "record")], check=True)
truth = rec.path("truth.json")
# Mounts of a namespace of its own: they end with it.
script = f"""
mount --bind /proc {root}/proc && mount --rbind /sys {root}/sys || exit 77
{rec.work("calls")} --count 2000 --rate 4000 --threads 2 >{truth} & target=$!
chroot {root} /record -o /tmp/run.ige -p $target
"""
p = subprocess.run(["unshare", "-m", "sh", "-c", script], env=rec.environment(), capture_output=True, text=True, timeout=60)
if p.returncode == 77:
    tap.skip("an empty root folder", "optional: no mounts can be made here")
else:
    tap.same(p.returncode, 0, "it records from an empty root folder" + ("" if p.returncode == 0 else ": " + p.stderr))
    run = os.path.join(root, "tmp", "run.ige")
    counts, lost = rec.counts(run)
    whole = next(iter(rec.truth(open(truth).read())))["ops"]["cudaLaunchKernel"]["count"]
    # It came when the target was already running.
    tap.ok(0 < counts[("cuda", "cudaLaunchKernel")] <= whole and lost == 0, "what it was there for, and lost nothing",
           str(counts))
    events, _, _ = rec.dump(run)
    tap.ok(any(f[0] for e in events if e["op"] == "cudaLaunchKernel" for f in e["stack"]), "with names in its stacks")
tap.done_testing()
