#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Probes are where they should be: each kind of link, the cheap instruction, every copy of a library whenever and
# wherever it appears, for the targets asked for and for nobody else.
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige = rec.path("a.ige")
NOBODY, OURS = 65534, 100000 + os.getpid()  # who no other test is


def coverage(records):
    """Of libraries; that of the kernel's own sources has no file."""
    return rec.libraries(records)


def begin(*arguments, **settings):
    """A recorder that has its probes."""
    if os.path.exists(ige):
        os.unlink(ige)
    r = rec.start("-o", ige, *arguments, **settings)
    rec.attached(r)
    return r


def end(r):
    r.send_signal(signal.SIGINT)
    r.wait(rec.PATIENCE)
    return rec.dump(ige)


def await_calls(pid, source="cuda"):
    """Until the recording, which grows, holds calls of that process."""
    return rec.until(lambda: any(e["pid"] == pid and e["source"] == source for e in rec.dump(ige)[0]))


# ---- kinds of links, places of probes
for link in ("session", "multi", "perf"):
    p = rec.run("-o", ige, "--link", link, "--", rec.work("calls"), "--count", 1)
    c = coverage(rec.dump(ige)[1])
    tap.same({(x["layer"], x["site"], x["link"], x["failed"], x["attached"] == x["requested"] > 0) for x in c},
             {("runtime", "+0", link, 0, True), ("driver", "+10", link, 0, True)}, f"{link}: all attached, at the cheap place")
    tap.ok(all(x["gap_ns"] == 0 and x["delivered"] > 0 and len(x["build_id"]) >= 16 for x in c), f"{link}: from the first call on", c)

# Perf links are for the functions that stalls happen in, unless somebody says which.
few = {x["layer"]: x["attached"] for x in c}
p = rec.run("-o", ige, "--link", "perf", "-e", "cudaStreamQuery,cuStreamQuery", "--", rec.work("calls"), "--count", 1)
tap.same({x["layer"]: x["attached"] > 0 for x in coverage(rec.dump(ige)[1])}, {"runtime": True, "driver": True},
         "perf: ops that were asked for")
p = rec.run("-o", ige, "--link", "session", "--", rec.work("calls"), "--count", 1)
all_of = {x["layer"]: x["attached"] for x in coverage(rec.dump(ige)[1])}
tap.ok(0 < few["runtime"] < all_of["runtime"] / 2 and 0 < few["driver"] < all_of["driver"] / 2,
       "perf: by default the core", f"{few} of {all_of}")

# ---- copies that appear late
p = rec.run("-o", ige, "--", rec.work("latedl"), "--after-ms", 50, "--again-ms", 50, "--second", "libcudart.so.12")
c = coverage(rec.dump(ige)[1])
tap.same(sorted(os.path.basename(x["path"]) for x in c), ["libcuda.so.1", "libcudart.so.12", "libcudart.so.13"],
         "a second copy of the runtime, loaded later")
w = subprocess.Popen([rec.work("latedl"), "--asked", "--count", "500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                     env=rec.environment())
r = begin("-p", w.pid)
for name in ("libcudart.so.13", "libcudart.so.12"):
    w.stdin.write("load\n")
    w.stdin.flush()
    w.stdout.readline()
    rec.said(r, f"/{name}: ")
    w.stdin.write("call\n")
    w.stdin.flush()
want = rec.truth(w.communicate()[0])[0]["ops"]
status = r.wait(rec.PATIENCE)
events, records, _ = rec.dump(ige)
tap.same((status, {op: sum(e["op"] == op and e["source"] == "cuda" for e in events) for op in want}), (0, want),
         "a running process that loads the runtime later: every call once that is probed")

# ---- a library that was deleted after it was loaded
gone = rec.path("gone")
shutil.copytree(rec.DOUBLE, gone)
w = subprocess.Popen([os.path.join(gone, "train"), "--seconds", "1000", "--step-us", "500"], stdout=subprocess.DEVNULL,
                     env={**rec.environment(), "LD_LIBRARY_PATH": gone})
rec.until(lambda: "libcuda.so" in open(f"/proc/{w.pid}/maps").read())  # the runtime has opened it
shutil.rmtree(gone)
r = begin("-p", w.pid, "--flush", "50ms")
seen = await_calls(w.pid, "driver")
tap.ok(seen, "a deleted library is probed all the same", coverage(end(r)[1]))
w.kill()
w.wait()

# ---- whose processes
busy = subprocess.Popen([rec.work("train"), "--seconds", "1000", "--step-us", "500"], stdout=subprocess.DEVNULL, env=rec.environment())
r = begin("-a", "--flush", "50ms")
await_calls(busy.pid)
p = subprocess.run([rec.work("calls"), "--count", "50", "--no-setup"], capture_output=True, text=True, env=rec.environment())
late = rec.truth(p.stdout)[0]
events, records, _ = end(r)
tap.same(sum(e["pid"] == late["pid"] and e["source"] == "cuda" for e in events), late["calls"],
         "-a: a process that starts later, from its first call on")
tap.ok(any(e["pid"] == busy.pid for e in events), "-a: a process that was there")
if os.geteuid() == 0:
    os.chmod(rec.SCRATCH.name, 0o755)
    r = begin("-u", OURS, "--flush", "50ms")
    w = subprocess.Popen([rec.work("train"), "--seconds", "1000", "--step-us", "500"], user=OURS, stdout=subprocess.DEVNULL,
                         env=rec.environment())
    await_calls(w.pid)
    events, _, _ = end(r)
    w.kill()
    w.wait()
    tap.same({e["pid"] for e in events if e["source"] == "cuda"}, {w.pid}, "-u: that user's processes and no others")

    # Behind sudo the command and the recording are the user's.
    own = rec.path("own")
    os.mkdir(own)
    os.chown(own, NOBODY, NOBODY)
    p = rec.run("-o", own + "/x.ige", "--", "sh", "-c", "id -u; id -g; pwd", SUDO_UID=NOBODY, SUDO_GID=NOBODY)
    s = os.stat(own + "/x.ige")
    tap.same((p.stdout.split(), s.st_uid, s.st_mode & 0o777), ([str(NOBODY)] * 2 + [os.getcwd()], NOBODY, 0o600),
             "behind sudo: command and recording belong to the user")
    os.symlink("/etc/ingero-must-not-be", own + "/link.ige")
    stranger = rec.path("stranger")
    os.mkdir(stranger)
    os.chown(stranger, 54321, 54322)
    p = rec.run("-o", stranger + "/x.ige", "--", "sh", "-c", "id -u; id -g; id -G", SUDO_UID=54321, SUDO_GID=54322)
    tap.same(p.stdout.split(), ["54321", "54322", "54322"], "of a user that the machine does not know: in no group of ours")
    p = rec.run("-o", own + "/link.ige", "--", "true", SUDO_UID=NOBODY, SUDO_GID=NOBODY)
    tap.ok(p.returncode == 125 and not os.path.exists("/etc/ingero-must-not-be"), "a link planted by the user leads nowhere", p.stderr)
    p = rec.run("-o", own + "/env.ige", "--", "env", SUDO_UID=NOBODY, SUDO_GID=NOBODY, SUDO_USER="x", SUDO_COMMAND="y", INGERO_TOKEN="t", INGERO_MCP_BEARER_TOKEN="t")
    tap.none([line for line in p.stdout.splitlines() if line.startswith(("SUDO_", "INGERO_TOKEN", "INGERO_MCP_BEARER_TOKEN"))], "the command gets neither sudo's variables nor tokens")
    theirs = rec.path("theirs.ige")
    with open(theirs, "w", encoding="ascii") as f:
        f.write("precious")
    os.chmod(theirs, 0o600)
    p = rec.run("-o", theirs, "--", "true", SUDO_UID=NOBODY, SUDO_GID=NOBODY)
    with open(theirs, encoding="ascii") as f:
        tap.ok(p.returncode != 0 and "not replaced" in p.stderr and f.read() == "precious" and os.stat(theirs).st_uid == 0, "a file of root's is neither replaced nor given away", f"{p.returncode} {p.stderr}")
    # Where only root may write root's rights make nothing for the user; what is the user's there already may be written.
    mine = rec.path("mine.ige")
    p = rec.run("-o", mine, "--", "true", SUDO_UID=NOBODY, SUDO_GID=NOBODY)
    tap.ok(p.returncode == 125 and "may not write in its folder" in p.stderr and not os.path.exists(mine), "a new file where only root may write is refused", f"{p.returncode} {p.stderr}")
    p = rec.run("-o", rec.path("new") + "/", "--", "true", SUDO_UID=NOBODY, SUDO_GID=NOBODY)
    tap.ok(p.returncode == 125 and not os.path.exists(rec.path("new")), "and a new folder", f"{p.returncode} {p.stderr}")
    with open(mine, "wb"):
        os.chown(mine, NOBODY, NOBODY)
    p = rec.run("-o", mine, "--", "true", SUDO_UID=NOBODY, SUDO_GID=NOBODY)
    tap.ok(p.returncode == 0 and os.stat(mine).st_uid == NOBODY and os.path.getsize(mine), "one of the user's is replaced there", f"{p.returncode} {p.stderr}")
    shared = rec.path("shared")
    os.mkdir(shared)
    os.chmod(shared, 0o770)  # root's group may write: the user is not in it
    p = rec.run("-o", shared + "/x.ige", "--", "true", SUDO_UID=NOBODY, SUDO_GID=NOBODY)
    tap.ok(p.returncode == 125 and not os.listdir(shared), "the groups are the user's, not root's", f"{p.returncode} {p.stderr}")
    for name, status in (("theirs.igb", 3), ("new.igb", 3), ("own/new.igb", 0)):
        packed = rec.path(name)
        if name.startswith("theirs"):
            shutil.copyfile(theirs, packed)
            os.chmod(packed, 0o600)
        p = rec.run("--bundle", "-o", packed, mine, SUDO_UID=NOBODY, SUDO_GID=NOBODY)
        whose = os.stat(packed).st_uid if os.path.exists(packed) else None
        tap.same((p.returncode, whose), (status, {"theirs.igb": 0, "own/new.igb": NOBODY}.get(name)), f"a bundle, {name}: status {status}")
    whose = rec.path("whose.ige")
    shutil.copyfile(mine, whose)
    os.chmod(whose, 0o600)
    p = rec.run("--bundle", "-o", rec.path("leak.igb"), whose, SUDO_UID=NOBODY, SUDO_GID=NOBODY)
    tap.ok(p.returncode == 3 and not os.path.exists(rec.path("leak.igb")), "a recording of root's is not given away as a bundle", f"{p.returncode} {p.stderr}")
else:
    tap.skip("other users", "not root")
busy.kill()
busy.wait()

# ---- nobody stays stopped, nothing stays behind
p = rec.run("-o", ige, "--", sys.executable, "-c", "import ctypes, json, sqlite3, ssl, threading; print('through')")
tap.same((p.returncode, p.stdout), (0, "through\n"), "a program that loads many libraries runs through")

# ---- NVIDIA's own runtime, where the toolkit is installed
p = rec.run("-o", ige, "--", rec.work("realcudart"), "--count", 300)
if p.returncode == 77:
    tap.skip("NVIDIA's runtime", "optional: no toolkit here")
else:
    said = rec.truth(p.stdout)
    got, lost = rec.counts(ige)
    want = {}
    for name, op in said[0]["ops"].items() if said else ():
        key = rec.ops().get(name)
        if key:
            want[key] = want.get(key, 0) + op
    tap.same(({k: got.get(k, 0) for k in want}, bool(want)), (want, True), "NVIDIA's runtime: every call")
tap.done_testing()
