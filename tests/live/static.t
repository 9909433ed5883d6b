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
target = subprocess.Popen([rec.work("latedl"), "--asked", "--second", "", "--count", "2000"], env=rec.environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)
target.stdin.write("load\n")
target.stdin.flush()
target.stdout.readline()
# Mounts of a namespace of its own: they end with it.
script = f"""
mount --bind /proc {root}/proc && mount --rbind /sys {root}/sys || exit 77
exec chroot {root} /record -o /tmp/run.ige -p {target.pid}
"""
p = subprocess.Popen(["unshare", "-m", "sh", "-c", script], env=rec.environment(), stderr=subprocess.PIPE, text=True)
said = ""
for line in p.stderr:
    said += line
    if "Ctrl-C" in line:
        break
out = target.communicate("call\n")[0]
said += p.stderr.read()
if p.wait() == 77:
    tap.skip("an empty root folder", "optional: no mounts can be made here")
else:
    tap.same(p.returncode, 0, "it records from an empty root folder" + ("" if p.returncode == 0 else ": " + said))
    run = os.path.join(root, "tmp", "run.ige")
    counts, lost = rec.counts(run)
    # It came when the target was already running, and had its libraries.
    tap.same((counts[("cuda", "cudaLaunchKernel")], lost), (rec.truth(out)[0]["ops"]["cudaLaunchKernel"], 0), "every call, and lost nothing")
    events, _, _ = rec.dump(run)
    tap.ok(any(f[0] for e in events if e["op"] == "cudaLaunchKernel" for f in e["stack"]), "with names in its stacks")
tap.done_testing()
