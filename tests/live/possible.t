#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A machine that may get more CPUs than tables of a fixed size would hold: said by a file that stands over the kernel's own, in a
# mount namespace. Every call is there, nothing is lost, and requests of others are counted on all CPUs.
import mmap
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
POSSIBLE = "/sys/devices/system/cpu/possible"
EACH, READS = 65536, 20

many = rec.path("possible")
with open(many, "w") as f:
    f.write("0-599\n")
inside = ["unshare", "-m", "sh", "-c", f'mount --bind "$0" {POSSIBLE} && exec "$@"', many]
if not shutil.which("unshare") or subprocess.run([*inside, "true"], capture_output=True).returncode:
    tap.skip_all("optional: no right to mount over a file")

data = os.path.join(rec.BUILD, "possible.tmp")
ige = rec.path("many.ige")
with open(data, "wb") as f:
    f.write(os.urandom(EACH * READS))
    f.flush()
    os.fsync(f.fileno())
try:
    direct = os.open(data, os.O_RDONLY | os.O_DIRECT)
except OSError:
    direct = None
p = subprocess.Popen([*inside, rec.RECORD, *rec.WHOLE, "-o", ige, "--", "sh", "-c", f"echo ready; read go; exec {rec.work('calls')} --count 50 --op cudaMalloc"],
                     env=rec.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
p.stdout.readline()
room = mmap.mmap(-1, EACH)
for i in range(READS if direct is not None else 0):
    os.preadv(direct, [room], i * EACH)
out, err = p.communicate("go\n", timeout=rec.PATIENCE)
os.unlink(data)
truth = rec.truth(out)
tap.ok(p.returncode == 0 and truth, "recorded", err)
counts, lost = rec.counts(ige)
tap.same((counts.get(("cuda", "cudaMalloc")), lost), (truth[0]["ops"]["cudaMalloc"]["count"] if truth else None, 0), "every call")
others = [r["value"] for r in rec.dump(ige)[1] if r["record"] == "sample" and r["metric"] == 42]
if direct is None:
    tap.skip("what others read is counted", "optional: no direct reads in this file system")
else:
    tap.ok(others and max(others) >= EACH * READS, "what others read is counted", others)
tap.done_testing()
