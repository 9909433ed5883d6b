#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A bundle made while recording names functions of a program that was deleted before the recording ended; one made
# afterwards says what it could not find. Both are read as the recording.
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()


def run(*args):
    p = subprocess.run(args, env=rec.environment(), capture_output=True, text=True, timeout=rec.PATIENCE)
    return p.returncode, p.stdout, p.stderr


RECORD, EXPLAIN = (os.path.join(rec.BUILD, "bin", "ingero-" + name) for name in ("record", "explain"))
IGE, IGB, AFTER = rec.path("run.ige"), rec.path("run.igb"), rec.path("after.igb")
copy = rec.path("gone")
shutil.copy(rec.work("nest"), copy)
status, out, err = run(RECORD, "-v", "--bundle", "-o", IGE, "--", "sh", "-c", f"{copy} --depth 4 --op launch; rm {copy}")
if status == 3 and "libarchive" in err:
    tap.skip_all("optional: no libarchive here")
tap.ok(status == 0, "recorded", err)
tap.ok(not os.path.exists(copy), "the program is gone")
tap.ok(os.path.exists(IGB) and "bundle " + IGB in err, "the bundle is there", err)
tap.ok("no symbols of " + copy not in err, "with the names of the deleted program", err)
status, out, err = run(RECORD, "-v", "--bundle", "-o", AFTER, IGE)
tap.ok(status == 0, "packed once more", err)
tap.ok("no symbols of " + copy in err, "which it cannot find any more, and says so", err)
tap.ok(os.path.getsize(AFTER) < os.path.getsize(IGB), "so that this one is smaller")
whole = run(EXPLAIN, "--json", IGE)
for name in IGB, AFTER:
    tap.same(run(EXPLAIN, "--json", name)[:2], whole[:2], f"{os.path.basename(name)} is read as the recording")

# Under sudo, in a folder that is everybody's: a link of somebody else where the bundle will be leads nowhere its owner could not go.
folder = tempfile.mkdtemp(prefix="ingero-live-", dir="/tmp")
os.chmod(folder, 0o1777)
precious, ige, igb = rec.path("precious"), os.path.join(folder, "run.ige"), os.path.join(folder, "run.igb")
with open(precious, "w", encoding="ascii") as f:
    f.write("precious")
command = ["--", rec.work("calls"), "--count", "5"]
os.symlink(precious, igb)
os.lchown(igb, 4321, 4321)
p = rec.run("--bundle", "-o", ige, *command, SUDO_UID=1234, SUDO_GID=1234)
with open(precious, "rb") as f:
    tap.ok(f.read() == b"precious", "a planted link: what it leads to is as it was")
tap.ok(p.returncode != 0 and "cannot create" in p.stderr, "and that there is no bundle is told", p.stderr)
os.unlink(igb)
os.unlink(ige)
p = rec.run("--bundle", "-o", ige, *command, SUDO_UID=1234, SUDO_GID=1234)
tap.ok(p.returncode == 0 and os.path.isfile(igb), "without the link it is made", p.stderr)
tap.same((os.stat(igb).st_uid, os.stat(igb).st_gid), (1234, 1234), "and the invoking user's")
os.chmod(folder, 0o755)
os.unlink(igb)
p = rec.run("--bundle", "-o", ige, *command, SUDO_UID=1234, SUDO_GID=1234)
tap.ok(p.returncode != 0 and not os.path.exists(igb) and "may not write in its folder" in p.stderr, "not in a folder of root's", p.stderr)
shutil.rmtree(folder)
tap.done_testing()
