# SPDX-License-Identifier: Apache-2.0
#
# Records in a kernel booted by tests/kernels/vm and compares with what the workloads know: exact call
# counts for every way to attach that the kernel has, and preemption against its own run delay.

import fcntl
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402


PROGRAMS = ("ingero-record", "ingero-check")


def cross_build(arch):
    """Programs of another architecture, linked statically, and the double; where they are. One test builds them, others wait."""
    lacks = [p for p in ("aarch64-linux-gnu-gcc", "qemu-system-aarch64") if not shutil.which(p)]
    if lacks:
        tap.skip_all(f"no {' and no '.join(lacks)} (packages gcc-aarch64-linux-gnu, qemu-system-arm)")
    build = os.path.relpath(f"{tap.BUILD}-{arch}")  # as make names it: flags have it in them
    make = ["make", "--no-print-directory", "-s", f"ARCH={arch}", f"BUILD={build}"]
    os.makedirs(build, exist_ok=True)
    with open(os.path.join(build, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = cross_built(arch, build, make)
    os.environ["SYSROOT"] = os.path.join(build, "sysroot")
    return made


def cross_built(arch, build, make):
    sysroot = subprocess.run([*make, "features"], capture_output=True, text=True)
    if sysroot.returncode:
        tap.skip_all(f"no libraries of {arch}: {sysroot.stderr.strip()}")
    if "STATIC_LIBS := -" not in sysroot.stdout or "HAVE_BPF := 1" not in sysroot.stdout:
        tap.skip_all(f"nothing that records can be linked statically for {arch} here")
    run = subprocess.run([*make, *(f"{build}/static/{p}" for p in PROGRAMS), "double"], capture_output=True, text=True)
    tap.ok(run.returncode == 0, f"programs for {arch} are built", run.stdout + run.stderr)
    return os.path.join(build, "static"), os.path.join(build, "double")


def main(package, links, arch=None, light=False):
    """links: which --link must work on this kernel; the others must say that they cannot. light: the default way alone."""
    programs, double = cross_build(arch) if arch else (tap.BIN, os.path.join(tap.BUILD, "double"))
    if not os.path.exists(os.path.join(programs, "ingero-record")):
        tap.skip_all("ingero-record is not built")
    out = os.path.join(tap.BUILD, "kernels", "out-" + package + "-light" * light)
    subprocess.run(["rm", "-rf", out], check=True)
    files = [os.path.join(programs, p) + "=/bin/" + p for p in PROGRAMS]
    files += [f"{double}/{name}=/double/{name}" for name in ("calls", "train", "hog", "libcuda.so.1", "libcudart.so.13")]
    files += [__file__ + "=/light"] if light else []
    vm = subprocess.run(["tests/kernels/vm", package, out, "tests/kernels/guest.sh", *files],
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if vm.returncode == 77:
        tap.skip(package, vm.stdout.strip())
        tap.done_testing()
    if not tap.ok(vm.returncode == 0, f"{package} boots, records and comes back", vm.stdout):
        tap.done_testing()

    def text(name):
        with open(os.path.join(out, name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def truth(name):
        return json.loads(text(name + ".truth").splitlines()[-1])

    def waits_after_calls(name):
        """What its process waited for a CPU on its way out: the kernel had been asked before."""
        run = subprocess.run([os.path.join(tap.BIN, "ingero-export"), "-f", "json", "-p", str(truth(name)["pid"]), os.path.join(out, name + ".ige")],
                             capture_output=True, text=True)
        events = [json.loads(line) for line in run.stdout.splitlines()]
        last = max((e["start_ns"] + e["duration_ns"] for e in events if e["source"] == "cuda"), default=0)
        return sum(e.get("wait_ns", 0) for e in events if e["op"] == "offcpu" and e["start_ns"] >= last)

    def stat(name):
        run = subprocess.run([os.path.join(tap.BIN, "ingero-stat"), "--json", os.path.join(out, name + ".ige")],
                             capture_output=True, text=True)
        if not tap.ok(run.returncode == 0, f"{name}: its recording reads clean", run.stderr):
            return None
        return json.loads(run.stdout)

    print("# Linux " + text("release").strip())

    tap.same(text("check.exit").strip(), "0", "ingero-check says this kernel can record")
    check = json.loads(text("check.json") or "{}")
    tap.same(set(check.get("links") or []), links, "and with which links")
    tap.same(sorted(x["kind"] for x in check.get("libraries", [])), ["driver", "runtime"], "and finds the libraries")

    def compare(name):
        want = truth(name)["ops"]
        got = stat(name)
        if not got:
            return
        counts = {op["op"]: op["count"] for op in got["ops"] if op["source"] == "cuda"}
        complaints = [f"{op}: {counts.get(op)} events, {n['count']} calls" for op, n in want.items()
                      if op in counts and counts[op] != n["count"]]
        tap.none(complaints, f"{name}: exactly as many events as calls, per op")
        tap.ok(sum(counts.values()) >= sum(n["count"] for op, n in want.items() if op in counts) > 0,
               f"{name}: there are calls")
        tap.same(got["coverage"]["lost"], 0, f"{name}: none lost")

    tap.same(text("calls.exit").strip(), "0", "the default way records")
    compare("calls")

    got = stat("calls")
    if got:
        tap.none((x for x in got["coverage"]["layers"] if x["layer"] in ("block", "memory", "file", "tcp", "oom") and x["failed"]),
                 "every source of the host's side is there")

    if light:
        tap.done_testing()

    for link in ("session", "multi", "perf"):
        name = "calls-" + link
        if link in links:
            tap.same(text(name + ".exit").strip(), "0", f"--link {link} records")
            compare(name)
        else:
            tap.ok(text(name + ".exit").strip() in ("3", "125") and link in text(name + ".stderr"),
                   f"--link {link} says that this kernel cannot", text(name + ".stderr"))
    tap.same(text("samples.exit").strip(), "0", "-F records")
    compare("samples")
    got = stat("samples")
    if got:
        taken = sum(op["count"] for op in got["ops"] if op["source"] == "cpu")
        layers = [x for x in got["coverage"]["layers"] if x["layer"] == "cpu"]
        tap.ok(taken > 0 and got["coverage"].get("cpu_samples_hz") == 997, f"and samples: {taken}", text("samples.stderr"))
        tap.ok([x["attached"] for x in layers] == [1], "on this kernel too", layers)

    # The hog's dose, by the recording and by the kernel's accounting of the same thread.
    got = stat("train")
    if got:
        run = subprocess.run([os.path.join(tap.BIN, "ingero-explain"), "--json", os.path.join(out, "train.ige")],
                             capture_output=True, text=True)
        report = json.loads(run.stdout) if run.returncode == 0 else {"chains": []}
        # The loop alone, and the thread from its birth: an emulated machine takes seconds to start a recorder, and what the
        # command waited before is not in the recording.
        loop, life = truth("train")["run_delay_ns"], truth("train")["life_run_delay_ns"]
        chains = [c for c in report["chains"] if c["kind"] in ("cpu-preempted", "cpu-contended")]
        # A CPU that idled is the thread's own from the wake-up on, by the kernel's clock.
        lost, waking = (sum(p["parts"].get(k, 0) for p in report.get("breakdown", []) if p["pid"] == truth("train")["pid"] for k in kinds)
                        for kinds in (("preempted", "runqueue", "wait_unknown", "throttled"), ("wakeup",)))
        tap.ok(chains and chains[0]["culprit"]["comm"] == "thief", "explain names the hog", run.stdout + run.stderr)
        late = waits_after_calls("train")
        tap.ok(0.95 * loop <= lost + waking and lost <= 1.05 * life + late and loop > 0,
               f"{lost / 1e6:.1f} ms of waiting and {waking / 1e6:.1f} ms of waking up, the kernel says {loop / 1e6:.1f} ms of the loop, "
               f"{life / 1e6:.1f} ms from its birth until it was asked, {late / 1e6:.1f} ms were behind the last call",
               text("train.stderr"))
    tap.done_testing()
