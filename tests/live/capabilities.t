#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The list of capabilities that the recipes give the recorder is enough to record another user's program whose libraries
# only that user may read, and none of the list can be left out. Who has more gives the rest away when it records.
import os
import platform
import re
import select
import shutil
import signal
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
    target = subprocess.Popen([*NOBODY, os.path.join(home, "calls"), "--count", "100000000", "--rate", "2000"], stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, cwd=home,
                              env={**rec.environment(), "LD_LIBRARY_PATH": home})
    rec.until(lambda: "libcudart" in open(f"/proc/{target.pid}/maps").read())
    caps = ",".join(["-all", *("+" + c for c in capabilities)])
    try:
        p = subprocess.run(["setpriv", "--bounding-set=" + caps, "--inh-caps=" + caps, "--no-new-privs", rec.RECORD, *rec.WHOLE, "-q", "-p", str(target.pid),
                            "--duration", "500ms", "-o", out], capture_output=True, text=True, timeout=rec.PATIENCE, env=rec.environment())
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


# ---- what root keeps ------------------------------------------------------------------------------------

KERNEL = ["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"]
BITS = {name.lower(): i for i, name in enumerate(KERNEL)}
BITS |= {"sys_ptrace": 19, "sys_admin": 21, "syslog": 34, "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}
RECORDING = {*LIST, "checkpoint_restore"}
FILES = {"dac_override", "fowner", "chown", "setuid", "setgid"}
TABLES = platform.machine() == "x86_64"  # a thread keeps unwind tables


def names(mask):
    return {next((n for n, i in BITS.items() if i == bit), str(bit)) for bit in range(64) if mask >> bit & 1}


def status_of(where):
    with open(where + "/status", encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def rights(where):
    """What a thread or process may do, or could make itself do again: its sets, and whether a program it runs gets more."""
    s = status_of(where)
    mask = 0
    for field in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        mask |= int(s[field], 16)
    return names(mask), s["NoNewPrivs"] == "1"


def helpers_of(pid):
    """Rights of the processes that it started, by name; those it recorded are other users'."""
    found = {}
    for child in filter(str.isdigit, os.listdir("/proc")):
        try:
            s = status_of("/proc/" + child)
            if s["PPid"] == str(pid) and s["Uid"].split()[0] == "0":
                found[s["Name"]] = rights("/proc/" + child)
        except (OSError, KeyError):
            pass
    return found


def dropped(recorder):
    """Waits until all of the recorder has dropped rights; (of its main thread, of its others, of its processes by name)."""
    task = f"/proc/{recorder.pid}/task/"
    gone = select.poll()
    gone.register(os.pidfd_open(recorder.pid), select.POLLIN)
    for _ in range(6000):
        main = rights(task + str(recorder.pid))
        others = [rights(task + t) for t in os.listdir(task) if int(t) != recorder.pid]
        helpers = helpers_of(recorder.pid)
        if all(no_more for _, no_more in [main, *others, *helpers.values()]) or gone.poll(10):
            break
    return main, others, helpers


def calls():
    """A program that calls until launches are in the recording; how many are."""
    w = subprocess.Popen([*NOBODY, os.path.join(home, "calls"), "--count", "100000000", "--rate", "2000"], stdout=subprocess.DEVNULL,
                         cwd=home, env={**rec.environment(), "LD_LIBRARY_PATH": home})
    rec.until(lambda: rec.counts(out)[0].get(("cuda", "cudaLaunchKernel"), 0))
    w.kill()
    w.wait()


def ordered(rights):
    return sorted(rights, key=lambda r: sorted(r[0]))


def end(recorder):
    recorder.send_signal(signal.SIGINT)
    out, err = recorder.communicate(timeout=rec.PATIENCE)
    return recorder.returncode, err


def owners(pattern):
    found = sorted(n for n in os.listdir(home) if re.fullmatch(pattern, n))
    return found, {os.stat(os.path.join(home, n)).st_uid for n in found}


out = rec.path("later.ige")
recorder = rec.start("-q", "-u", "65534", "--flush", "50ms", "-o", out)
main, others, helpers = dropped(recorder)
tap.same(main, (RECORDING, True), "root keeps what recording takes, and cannot get more")
tap.same(ordered(others), ordered([(set(), True)] * 2 + [(RECORDING, True)] * TABLES),
         "the threads that write and look up names keep nothing, that which keeps unwind tables what recording takes")
tap.same(helpers, {"ingero-gpus": (set(), True), "ingero-meter": ({"sys_admin"}, True)},
         "nor who reads the GPUs; who switches the measuring of programs can do that alone")
calls()
status, words = end(recorder)
counted = rec.counts(out)[0].get(("cuda", "cudaLaunchKernel"), 0)
tap.ok(status == 0 and counted > 0, f"a program that begins after that is recorded: {counted} launches", words)

recorder = rec.start("-q", "--link", "perf", "-u", "65534", "--flush", "50ms", "-o", out)
main, _, _ = dropped(recorder)
tap.same(main, (RECORDING | {"sys_admin"}, True), "perf links take more")
calls()
status, words = end(recorder)
counted = rec.counts(out)[0].get(("cuda", "cudaLaunchKernel"), 0)
tap.ok(status == 0 and counted > 0, f"and are made with it: {counted} launches", words)

SUDO = {"SUDO_UID": "65534", "SUDO_GID": "65534"}
row, mark = os.path.join(home, "row.ige"), os.path.join(home, "marks")
recorder = rec.start("-q", "-o", row, "--rotate-every", "100ms", "--mark", mark, "--", os.path.join(home, "calls"), "--count",
                     "300", "--rate", "2000", **SUDO)
main, others, _ = dropped(recorder)
tap.same(main, (RECORDING | FILES | {"kill"}, True), "with a command and a FIFO it may still end the one and remove the other")
tap.same(ordered(others), ordered([(set(), True), (FILES, True)] + [(RECORDING, True)] * TABLES),
         "who writes a row of files may make files")
out, words = recorder.communicate(timeout=rec.PATIENCE)
found, owned = owners(r"row-\d+\.ige")
tap.ok(recorder.returncode == 0 and len(found) > 2, f"it does: {len(found)} files", words)
tap.same(owned, {65534}, "which are the user's behind sudo")
tap.ok(not os.path.exists(mark), "the FIFO is removed")

recorder = rec.start("-q", "-u", "65534", "--flight-recorder", "5s", "-o", os.path.join(home, "flight.ige"), **SUDO)
main, _, _ = dropped(recorder)
tap.same(main, (RECORDING | FILES, True), "a flight recorder may make files")
status, words = end(recorder)
tap.same((status, owners(r"flight-.*\.ige")[1]), (0, {65534}), "and does, the user's")
tap.done_testing()
