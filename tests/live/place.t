#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Where processes belong: ranks from the environment they were started with, each worker's own; a container's id from
# the cgroup the kernel says they are in.
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ID = "4f1c0f0b9a2d3e4c5b6a79888776655443322110ffeeddccbbaa99887766abcd"

workers = "; ".join(f"RANK={r} LOCAL_RANK={r} WORLD_SIZE=3 MASTER_ADDR=head MASTER_PORT=29500 CUDA_VISIBLE_DEVICES={r} "
                    f"{rec.work('calls')} --count 3 &" for r in range(3)).replace(";", "")
p = rec.run("-o", rec.path("ranks.ige"), "--", "sh", "-c", workers + " wait")
pids = [t["pid"] for t in rec.truth(p.stdout)]
tap.same((p.returncode, len(pids)), (0, 3), "three workers")
got = rec.places("ranks.ige")
tap.same(sorted(got[pid]["rank"] for pid in pids if pid in got), [0, 1, 2], "each has its rank")
for pid in pids:
    rank = got.get(pid, {}).get("rank")
    tap.same({k: v for k, v in got.get(pid, {}).items() if k in ("rank", "local_rank", "world_size", "launcher", "run", "devices")},
             {"rank": rank, "local_rank": rank, "world_size": 3, "launcher": "torchrun", "run": "head:29500",
              "devices": str(rank)}, f"all of worker {rank}'s place")

# A pod's processes are targets: here the one that says so itself, not its neighbours.
procs = {}
for name in ("trainer-0", "trainer-1"):
    env = rec.environment(POD_NAMESPACE="ml", POD_NAME=name)
    procs[name] = subprocess.Popen([rec.work("calls"), "--count", "100000000", "--rate", "2000"], env=env,
                                   stdout=subprocess.DEVNULL)
out = rec.path("pod.ige")
r = rec.start("-o", out, "--pod", "ml/trainer-1", "--flush", "50ms")
rec.until(lambda: os.path.exists(out) and any(rec.counts(out)[0].values()))
r.send_signal(signal.SIGINT)
r.wait(rec.PATIENCE)
for q in procs.values():
    q.kill()
    q.wait()
events, _, _ = rec.dump(out)
tap.same((r.returncode, {e["pid"] for e in events if e["source"] in ("cuda", "driver")}), (0, {procs["trainer-1"].pid}),
         "--pod records that pod's processes")
p = rec.run("-o", out, "--pod", "ml/none", "--duration", "100ms")
tap.ok(p.returncode == 0 and "in pod ml/none" in p.stderr, "a pod that is not here is said to be missing", p.stderr)
for bad in ("ml", "/x", "ml/", "a/b/c"):
    tap.same(rec.run("--pod", bad).returncode, 2, f"--pod {bad} is no pod")

# A cgroup of that name is all that a container is to the kernel.
where = rec.cgroup(f"docker-{ID}.scope")
if not where:
    tap.skip("the id of a container", "optional: no cgroup can be made here")
else:
    with open(os.path.join(where, "cgroup.procs"), "w") as g:
        g.write("0")
    p = rec.run("-o", rec.path("container.ige"), "--", rec.work("calls"), "--count", 3)
    with open(os.path.join(os.path.dirname(where), "cgroup.procs"), "w") as g:
        g.write("0")
    os.rmdir(where)
    pid = rec.truth(p.stdout)[0]["pid"]
    got = rec.places("container.ige").get(pid, {})
    tap.same((got.get("runtime"), got.get("container")), ("docker", ID), "the id of a container from its cgroup")

# Said again in each file of a row: of who has ended no more, for the number may be somebody else's by then.
LAST = "/proc/sys/kernel/ns_last_pid"
if not os.access(LAST, os.W_OK):
    tap.skip("a number that is used again", "optional: numbers of processes cannot be chosen here")
else:
    worker = subprocess.Popen([rec.work("train"), "--seconds", "300", "--step-us", "5000"], stdout=subprocess.DEVNULL,
                              env=rec.environment(RANK=1, WORLD_SIZE=2))
    stays = subprocess.Popen([rec.work("train"), "--seconds", "300", "--step-us", "5000"], stdout=subprocess.DEVNULL,
                             env=rec.environment())
    recorder = rec.start("--no-sched", "-o", rec.path("reused.ige"), "--rotate-every", "300ms", "-p", worker.pid, "-p", stays.pid)
    rec.attached(recorder)
    name = "reused-{:06}.ige".format
    there = lambda n: rec.until(lambda: os.path.exists(rec.path(name(n))))
    there(2)
    worker.kill()
    worker.wait()
    other = None
    while not other:
        with open(LAST, "w", encoding="ascii") as f:
            f.write(str(worker.pid - 1))
        p = subprocess.Popen(["sleep", "1000"], env=rec.environment(RANK=7, WORLD_SIZE=8))
        if p.pid == worker.pid:
            other = p
        else:
            p.kill()
            p.wait()
    after = sum(1 for n in range(1, 1000) if os.path.exists(rec.path(name(n)))) + 2
    there(after + 2)
    recorder.send_signal(signal.SIGINT)
    recorder.communicate()
    for p in other, stays:
        p.kill()
        p.wait()
    tap.same(rec.places(name(1)).get(worker.pid, {}).get("rank"), 1, "the place of a process while it was there")
    tap.same(rec.places(name(after)).get(worker.pid), None, "not that of another with its number")
tap.done_testing()
