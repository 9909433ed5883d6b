#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The list of capabilities that the recipes give the recorder is enough to record another user's program whose libraries
# only that user may read, and none of the list can be left out.
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
if os.geteuid() != 0 or not shutil.which("setpriv"):
    tap.skip_all("optional: capabilities are taken away by root, with setpriv")
with open(os.path.join(rec.ROOT, "formats/packaging/kubernetes/daemonset.yaml")) as f:
    LIST = [c.lower() for c in re.findall(r"^ {16}- ([A-Z_]+) #", f.read(), re.M)]
tap.ok(len(LIST) >= 3, "the DaemonSet's list is " + " ".join(LIST))

# Another user's program, with its own copy of everything in a folder of mode 0700.
home = rec.path("home")
os.mkdir(home)
for name in os.listdir(rec.DOUBLE):
    if ".so" in name or name == "calls":
        shutil.copy(os.path.join(rec.DOUBLE, name), home, follow_symlinks=True)
os.chmod(rec.SCRATCH.name, 0o711)
for name in ("", *os.listdir(home)):
    os.chown(os.path.join(home, name), 65534, 65534)
os.chmod(home, 0o700)
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def record(name, capabilities):
    """Root with these capabilities and no way to others, over calls of nobody's: status, counted, made, words."""
    out = rec.path(name + ".ige")
    target = subprocess.Popen([*NOBODY, os.path.join(home, "calls"), "--count", "1000000", "--rate", "2000"], stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, cwd=home,
                              env={**rec.environment(), "LD_LIBRARY_PATH": home})
    caps = ",".join(["-all", *("+" + c for c in capabilities)])
    try:
        p = subprocess.run(["setpriv", "--bounding-set=" + caps, "--inh-caps=" + caps, "--no-new-privs", rec.RECORD, "-q", "-p", str(target.pid),
                            "--duration", "500ms", "-o", out], capture_output=True, text=True, timeout=120, env=rec.environment())
    finally:
        target.kill()
        target.wait()
    counted = rec.counts(out)[0].get(("cuda", "cudaLaunchKernel"), 0) if os.path.exists(out) else 0
    return p.returncode, counted, p.stderr


status, counted, words = record("all", LIST)
tap.same(status, 0, "with these it records" + ("" if status == 0 else ": " + words))
tap.ok(counted > 0, f"and what was called: {counted} launches", words)
for left_out in LIST:
    status, counted, words = record("without-" + left_out, [c for c in LIST if c != left_out])
    tap.ok(status != 0 or counted == 0, f"without {left_out} it does not", f"{counted} launches, {words}")
tap.done_testing()
