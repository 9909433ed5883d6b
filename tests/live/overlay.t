#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Containers of one image: each sees the libraries of its own mount, and all run the same files. And files of two file systems that
# have one inode number are two files.
import atexit
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

# Mounts of a namespace of its own: they end with it.
if "OVERLAY_OF" not in os.environ:
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        tap.skip_all("optional: no mounts can be made here")
    os.environ["OVERLAY_OF"] = str(os.getpid())
    os.execvp("unshare", ["unshare", "-m", sys.executable, os.path.abspath(__file__)])

rec.need_bpf()
top = rec.path("mounts")
atexit.register(subprocess.run, ["umount", "-R", "-l", top], stderr=subprocess.DEVNULL)
os.mkdir(top)


def mount(where, *options):
    os.makedirs(where, exist_ok=True)
    return subprocess.run(["mount", *options, where], stderr=subprocess.DEVNULL).returncode == 0


def container(name):
    """Where the double is, as a container made of that image sees it; None: not to be had."""
    here = os.path.join(top, name)
    for folder in ("upper", "work"):
        os.makedirs(os.path.join(here, folder))
    return os.path.join(here, "root") if mount(os.path.join(here, "root"), "-t", "overlay", "overlay", "-o",
        f"lowerdir={top}/image,upperdir={here}/upper,workdir={here}/work") else None


def both(program, *arguments):
    """One command that runs it in both containers, at the same time; what each says is told whole, one after the other."""
    runs = " & ".join(f"LD_LIBRARY_PATH={root} {root}/{program} {' '.join(arguments)} >{root}.said" for root in roots)
    return f"{runs} & wait; cat {' '.join(root + '.said' for root in roots)}"


if not mount(top, "-t", "tmpfs", "none"):
    tap.skip_all("optional: no mounts can be made here")
os.mkdir(f"{top}/image")
for name in ("libcuda.so.1", "libcudart.so.13", "libnvToolsExt.so.1", "calls", "ranges"):
    shutil.copy(os.path.join(rec.DOUBLE, name), f"{top}/image")
roots = [container("one"), container("other")]
if None in roots:
    tap.skip("containers of one image", "optional: this kernel has no overlay file system")
else:
    rec.every_call("two containers of one image", ["--no-sched"], "sh", "-c", both("calls", "--count", "200"), minimum=30)
    events, records, _ = rec.dump(rec.path("count.ige"))
    calls = {}
    for e in events:
        calls[e["source"], e["pid"]] = calls.get((e["source"], e["pid"]), 0) + 1
    told = sorted(({"runtime": "cuda"}.get(r["layer"], r["layer"]), r.get("delivered")) for r in rec.libraries(records))
    tap.same(told, sorted((source, n) for (source, _), n in calls.items() if source in ("cuda", "driver")),
             "delivered, for each process and library")
    tap.same(len(told), 4, "of both containers, two libraries")
    ige = rec.path("marks.ige")
    p = rec.run("--no-sched", "-o", ige, "--", "sh", "-c", both("ranges", "--rounds", "20"))
    events, _, _ = rec.dump(ige)
    count = {}
    for e in events:
        if e["source"] == "mark":
            count[e["pid"]] = count.get(e["pid"], 0) + 1
    said = [t for t in rec.truth(p.stdout) if "range" in t or "mark" in t]
    tap.same(sum(count.values()), len(said), "NVTX: each range and mark once" + ("" if said else ": none was made"))
    tap.ok(said, "NVTX: some were made", p.stdout + p.stderr)

for name, what in (("first", shutil.which("true")), ("second", rec.work("calls-static"))):
    mount(f"{top}/{name}", "-t", "tmpfs", "none")
    shutil.copy(what, f"{top}/{name}/program")
tap.same(os.stat(f"{top}/first/program").st_ino, os.stat(f"{top}/second/program").st_ino, "two programs, one inode number")
rec.every_call("a program with the inode number of another", ["--no-sched"], "sh", "-c",
               f"{top}/first/program; {top}/second/program --count 20", minimum=30)
tap.done_testing()
