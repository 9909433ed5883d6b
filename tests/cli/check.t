#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-check with and without rights: statuses, the JSON and its schema, libraries that are sound, old,
# cut off or no files at all. Nothing here needs a GPU, or depends on what this machine permits.

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "tests")
import schema  # noqa: E402
import tap  # noqa: E402

CHECK = os.path.join(tap.BIN, "ingero-check")
DOUBLE = os.path.join(tap.BUILD, "double")
NOBODY = 65534


def run(*args, program=CHECK, **kw):
    p = subprocess.run([program, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=600, text=True, **kw)
    return p.returncode, p.stdout, p.stderr


def like(text, pattern, name):
    tap.ok(re.search(pattern, text), name, f"no /{pattern}/ in: {text}")


def lines(value, name):
    return [c for c in value["checks"] if c["id"] == name]


status, out, err = run("--json")
tap.ok(status in (0, 1), "the answer is yes or no", f"status {status}: {err}")
value = json.loads(out)
tap.none(schema.complaints(value, json.load(open("formats/check.schema.json", encoding="utf-8"))), "the JSON is as its schema says")
tap.same(value["ok"], status == 0, "ok is what the status says")
tap.same(value["ok"], not [c for c in value["checks"] if c["status"] == "fail"], "and what the checks say")
tap.same(value["host"]["kernel"], os.uname().release, "the kernel is this one")
tap.same(value["host"]["cpus"], os.sysconf("SC_NPROCESSORS_ONLN"), "the CPUs are counted")
for name in ("kernel", "btf", "rights", "probes", "samples", "gpu"):
    tap.same(len(lines(value, name)), 1, f"{name} was looked at")
tap.none((c for c in value["checks"] if c["status"] == "fail" and not c["advice"]), "what failed comes with advice")

text_status, out, err = run()
tap.same(text_status, status, "text has the same status")
like(out, "can record" if status == 0 else "cannot record yet", "and the same verdict")
tap.ok(len(out.splitlines()) <= 40 and max(map(len, out.splitlines())) < 200, "one screen")
_, quiet, _ = run("-q")
tap.none((line for line in quiet.splitlines() if line.startswith("  ok ")), "-q leaves out what is well")

# Without rights: a copy where anybody may run it.
tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
os.chmod(tmp.name, 0o755)
if os.geteuid() == 0:
    copy = os.path.join(tmp.name, "ingero-check")
    shutil.copy(CHECK, copy)

    def drop():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    status, out, err = run("--json", program=copy, preexec_fn=drop, cwd="/")
    tap.same(status, 1, "without rights the answer is no")
    poor = json.loads(out)
    tap.same(lines(poor, "rights")[0]["status"], "fail", "because of the rights")
    like(lines(poor, "rights")[0]["advice"], "sudo", "and sudo would help")
    like(lines(poor, "rights")[0]["text"], "missing: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH", "each missing one is named")
    for setting in ("unprivileged_bpf_disabled", "perf_event_paranoid"):
        if os.path.exists("/proc/sys/kernel/" + setting):
            now = open("/proc/sys/kernel/" + setting).read().strip()
            like(lines(poor, "rights")[0]["text"], f"{setting} is {now}\\b", f"{setting} is told")
    tap.none(schema.complaints(poor, json.load(open("formats/check.schema.json", encoding="utf-8"))), "this JSON too is as its schema says")
    tap.same(poor["links"], None, "nothing was loaded, and nothing is claimed")
    tap.same(lines(poor, "kernel"), lines(value, "kernel"), "the kernel is looked at all the same")
    ns = subprocess.run(["unshare", "-Ur", copy, "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=600, text=True, preexec_fn=drop, cwd="/")
    if ns.stdout:
        tap.same(ns.returncode, 1, "root of a user namespace has no rights either")
        like(lines(json.loads(ns.stdout), "rights")[0]["text"], "user namespace", "because it is one")
    else:
        tap.skip("root of a user namespace", "optional: no user namespaces for users here")
else:
    tap.skip("without rights", "these tests have none to begin with: shown above")

# BTF from a file.
for name, words in (("/nonexistent/btf", "not a file"), ("/", "not a file")):
    status, out, err = run("--json", "--btf", name)
    tap.same((status, lines(json.loads(out), "btf")[0]["status"]), (1, "fail"), f"--btf {name}")
    like(lines(json.loads(out), "btf")[0]["text"], words, "which is told")
if value["links"]:
    status, out, err = run("--json", "--btf", __file__)
    tap.same((status, lines(json.loads(out), "probes")[0]["status"]), (1, "fail"), "a file that is no BTF loads nothing")
    like(lines(json.loads(out), "probes")[0]["text"], "is no BTF: wanted is a copy of", "and is doubted")
    status, out, err = run("--json", "--btf", "/sys/kernel/btf/vmlinux")
    tap.same(json.loads(out)["links"], value["links"], "with the kernel's own as a file all is as without")

# GPUs, by the double of NVML.
if os.path.exists(os.path.join(DOUBLE, "libnvidia-ml.so.1")):
    status, out, err = run("--json", env=dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(DOUBLE)))
    gpu = json.loads(out)["gpu"]
    tap.ok(gpu["count"] == 1 and gpu["driver"] and len(gpu["devices"]) == 1 and gpu["devices"][0]["uuid"].startswith("GPU-"),
           "NVML's GPU is named", str(gpu))
    tap.same(lines(json.loads(out), "gpu")[0]["status"], "ok", "and is well")
    like(lines(json.loads(out), "gpu")[0]["text"], re.escape(gpu["devices"][0]["name"] or "?"), "with its name")
    tap.same([(d["memory_used_bytes"], d["memory_total_bytes"]) for d in gpu["devices"]], [(1 << 30, 80 << 30)], "its memory, used and total")
    like(lines(json.loads(out), "gpu")[0]["text"], r", 1\.0 GiB of 80\.0 GiB used$", "for people as well")
    status, out, err = run("--json", env=dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(DOUBLE), DOUBLE_NVML_BOARDS="3"))
    tap.same([d["memory_total_bytes"] for d in json.loads(out)["gpu"]["devices"]], [80 << 30] * 3, "of each GPU")
    tap.none(schema.complaints(json.loads(out), json.load(open("formats/check.schema.json", encoding="utf-8"))), "as the schema says")
else:
    tap.skip("GPUs", "the double is not built")

# Libraries.
place = os.path.join(tmp.name, "libs")
os.mkdir(place)


def found():
    status, out, err = run("--json", "--library-path", place)
    tap.ok(status in (0, 1), "libraries do not change the answer", err)
    return {os.path.basename(x["path"]): x for x in json.loads(out)["libraries"] if x["path"].startswith(place)}


open(os.path.join(place, "libcudart.so.9"), "w").write("INPUT(libother.so)\n")
os.mkfifo(os.path.join(place, "libcuda.so.1"))
os.symlink("/nonexistent", os.path.join(place, "libcuda.so.2"))
os.mkdir(os.path.join(place, "libcudart.so.8"))
began = time.monotonic()
tap.same(found(), {}, "linker scripts, pipes, folders and dangling links are no libraries")
tap.ok(time.monotonic() - began < 300, "and hold nobody up")
if os.path.exists(os.path.join(DOUBLE, "libcudart.so.13")):
    shutil.copy(os.path.join(DOUBLE, "libcuda.so.1"), os.path.join(place, "libcuda.so.3"))
    shutil.copy(os.path.join(DOUBLE, "libcudart.so.13"), os.path.join(place, "libcudart-d0da41ae.so.11.0"))
    os.symlink("libcuda.so.3", os.path.join(place, "libcuda.so"))
    whole = open(os.path.join(DOUBLE, "libcudart.so.13"), "rb").read()
    open(os.path.join(place, "libcudart.so.7"), "wb").write(whole[: len(whole) // 2])
    libs = found()
    driver = [x for x in libs.values() if x["kind"] == "driver"]
    tap.same(len(driver), 1, "a file with two names is one library")
    runtime = libs.get("libcudart-d0da41ae.so.11.0", {})
    tap.same(runtime.get("kind"), "runtime", "a name with a hash in it is recognized")
    like(runtime.get("build_id") or "", "^[0-9a-f]{16,}$", "its build-id is read")
    if "requested" in runtime:
        tap.same((runtime["found"], runtime["missing"]), (runtime["requested"], []), "all functions are found in the double")
        machine = os.uname().machine
        tap.same(driver[0]["sites"], "+10" if machine == "x86_64" else "+0", "the driver's cheap place is recognized")
    else:
        tap.skip("functions are found", "built without BPF: no attach plan")
    cut = libs.get("libcudart.so.7")
    tap.ok(cut is None or not cut.get("found"), "half a library has no functions, and is no crash")
else:
    tap.skip("sound libraries", "the double is not built")

# Processes.
status, out, err = run("--json", "-p", str(os.getpid()))
tap.ok(status in (0, 1), "a process without CUDA is no failure", err)
tap.same(lines(json.loads(out), "cuda")[0]["status"], "warn", "but is said")
for pid, want, words in (("x", 2, "not a process id"), ("0", 2, "not a process id"), ("-4", 2, "not a process id"),
                         ("2147483646", 3, "no process 2147483646")):
    status, out, err = run("-p", pid)
    tap.same((status, out), (want, ""), f"-p {pid} is status {want}")
    like(err, words, "and says why")
status, out, err = run("run.ige")
tap.same((status, out), (2, ""), "operands are refused")
tap.done_testing()
