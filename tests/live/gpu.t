#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# GPU health in a recording: every reading of the double's management library arrives as it was given, processes on a
# GPU have names, and a library that fails, hangs or is not wanted costs the readings and nothing else.
import glob
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()

METRICS = {int(n): name for n, name in re.findall(
    r'^METRIC\((\d+), \w+, "(gpu\.[a-z_]+)"', open(os.path.join(rec.ROOT, "formats", "records.def")).read(), re.M)}
# What tests/double/nvml.c says of a board, in the units of formats/records.def.
BOARD = {
    "gpu.utilization": 50, "gpu.memory_utilization": 20, "gpu.memory_used": 1 << 30, "gpu.memory_total": 80 << 30,
    "gpu.sm_clock": 1.5e9, "gpu.memory_clock": 1.5e9, "gpu.sm_clock_max": 1.98e9, "gpu.power": 250,
    "gpu.power_limit": 700, "gpu.temperature": 45, "gpu.clock_limits": 0, "gpu.power_limited_time": 7e9,
    "gpu.thermal_limited_time": 2e6, "gpu.pcie_tx": 1e6, "gpu.pcie_rx": 1e6, "gpu.pcie_generation": 4,
    "gpu.pcie_width": 8, "gpu.pcie_generation_max": 5, "gpu.pcie_width_max": 16, "gpu.ecc_corrected": 0,
    "gpu.ecc_uncorrected": 0, "gpu.encoder_utilization": 0,
}


def read(path):
    """Records, as the independent reader gives them."""
    lines = subprocess.run([sys.executable, os.path.join(rec.ROOT, "tests", "ige_reader.py"), path], capture_output=True,
                           text=True).stdout.splitlines()
    return [x for x in map(rec.json.loads, lines) if "record" in x]


def record(name, *arguments, **settings):
    out = rec.path(name)
    p = rec.run("-o", out, *arguments, "--", rec.work("calls"), "--count", 10, "--rate", 100, **{"DOUBLE_PCIE_WORN": 1, **settings})
    records = read(out)
    return p, [x for x in records if x["record"] == "sample" and x.get("gpu")], records


me = os.getpid()
p, samples, records = record("two.ige", DOUBLE_NVML_BOARDS=2, DOUBLE_NVML_PIDS=f"{me}:512,1:64", DOUBLE_NVML_XID=79)
tap.ok(p.returncode == 0, "a recording with two GPUs", p.stderr)
tap.ok("gpu      health of 2 GPUs every second, driver 580.00" in p.stderr, "the banner names them", p.stderr)
for board in range(2):
    of = [s for s in samples if s["gpu"]["index"] == board and not s.get("process")]
    got = {METRICS[s["metric"]]: s["value"] for s in of}
    energy = got.pop("gpu.energy", 0)
    xid = got.pop("gpu.xid", None)
    tap.same(got, BOARD, f"every reading of board {board}, and none it does not support")
    tap.ok(energy > 0 and energy % 250 == 0, f"energy of board {board} in joules", str(energy))
    tap.same(xid, 79 if board == 1 else None, f"XID of board {board}")
    tap.same({s["gpu"]["uuid"] for s in of}, {f"GPU-00000000-0000-0000-0000-{board:012}"}, f"uuid of board {board}")
parts = {(s["process"]["pid"], METRICS[s["metric"]]): s["value"] for s in samples if s.get("process")}
tap.same(parts, {(me, "gpu.memory_used"): 512 << 20, (1, "gpu.memory_used"): 64 << 20, (me, "gpu.utilization"): 50,
                 (1, "gpu.utilization"): 50, (me, "gpu.memory_utilization"): 10, (1, "gpu.memory_utilization"): 10,
                 (me, "gpu.encoder_utilization"): 0, (1, "gpu.encoder_utilization"): 0},
         "processes on a GPU, without what the driver did not measure (200 %)")
names = {r["thread"]["process"]["pid"]: r["comm"] for r in records if r["record"] == "name"}
with open(f"/proc/{me}/comm") as f:
    tap.same(names.get(me), f.read().strip(), "a process that only the GPU knows has a name")
tap.ok(all(s["time_ns"] > 0 for s in samples), "every reading has its time")

# Each file of a row names the processes that only the GPU knows: the one before may be gone.
row, nameless, rows = rec.path("row.ige"), [], 0
p = rec.run("-o", row, "--rotate-every", "1s", "--", rec.work("calls"), "--count", 300, "--rate", 100, DOUBLE_NVML_PIDS="1:64")
for file in sorted(glob.glob(row[:-4] + "-*.ige")):
    said = read(file)
    if any(x["record"] == "sample" and x.get("process", {}).get("pid") == 1 for x in said):
        rows += 1
        if not any(x["record"] == "name" and x["thread"]["process"]["pid"] == 1 for x in said):
            nameless.append(file)
tap.ok(p.returncode == 0 and rows > 1, "several files with a process that only the GPU knows", p.stderr)
tap.none(nameless, "it has a name in each")

p, samples, _ = record("slices.ige", DOUBLE_NVML_SLICES=2)
tap.same({s["gpu"]["uuid"][:4] for s in samples}, {"GPU-", "MIG-"}, "MIG slices are GPUs of their own")
tap.same(len({s["gpu"]["uuid"] for s in samples}), 3, "one board, two slices")

for name, arguments, settings in (("driver not loaded", (), {"DOUBLE_NVML_FAIL": 9}), ("--no-gpu", ("--no-gpu",), {}),
                                  ("no library", (), {"DOUBLE_NVML_BOARDS": 0}), ("a hanging driver", (), {"DOUBLE_NVML_HANG": 1})):
    p, samples, _ = record("none.ige", *arguments, **settings)
    tap.same((p.returncode, samples), (0, []), f"{name}: a recording without GPU health")
    counts, lost = rec.counts(rec.path("none.ige"))
    tap.same((counts[("cuda", "cudaLaunchKernel")], lost), (10, 0), f"{name}: and nothing else is missing")

# The kernel log tells of errors too: of one that the library tells of as well, and of one with a process. A file in its
# place, so that nobody who watches the log is alarmed.
ige, log = rec.path("log.ige"), rec.path("kmsg")
with open(log, "w") as f:
    f.write("3,1,1,-;NVRM: Xid (PCI:0000:01:00): 48, pid=1, name=before, of before the recording\n")


def errors(records):
    return [r for r in records if r["record"] == "sample" and METRICS.get(r["metric"]) == "gpu.xid"]


def wait_for(number):
    """Until the recording that grows has it; one that never does shall fail, not hang."""
    rec.until(lambda: q.poll() is not None or any(r["value"] == number for r in errors(rec.dump(ige)[1])))


if subprocess.run(["unshare", "-m", "mount", "--bind", log, "/dev/kmsg"], capture_output=True).returncode:
    tap.skip("XIDs of the kernel log", "optional: nothing can be put in its place here")
else:
    rec.dump(ige)  # it is compiled now: the two have to tell within seconds
    q = subprocess.Popen(["unshare", "-m", "sh", "-c", 'mount --bind "$0" /dev/kmsg && exec "$@"', log, rec.RECORD, *rec.WHOLE, "-o", ige,
                          "--flush", "50ms", "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, text=True, env=rec.environment(DOUBLE_NVML_BOARDS=2, DOUBLE_NVML_XID=79))
    wait_for(79)  # the library was first
    with open(log, "a") as f:
        f.write("3,2,1,-;NVRM: Xid (PCI:0000:02:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
                f"3,3,1,-;NVRM: Xid (PCI:0000:01:00): 31, pid={me}, name=python3, Ch 00000008, MMU Fault\n")
    wait_for(31)
    q.communicate("")
    tap.same(q.returncode, 0, "a recording with errors in the kernel log")
    records = read(ige)
    xids = errors(records)
    cover = {r["path"]: (r["attached"], r["delivered"]) for r in records if r["record"] == "coverage" and r["layer"] == "xid"}
    tap.same(sorted(r["value"] for r in xids), [31, 79], "each error once, and none of before")
    tap.same(["process" in r for r in sorted(xids, key=lambda r: r["value"])], [True, False], "with its process, where one is told")
    tap.same({r["value"]: r["gpu"]["index"] for r in xids}, {31: 0, 79: 1}, "of the GPU at that address")
    tap.same(cover, {"/dev/kmsg": (1, 2), "libnvidia-ml": (1, 1)}, "coverage says who told of how many")
    told = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-f", "prometheus", ige], capture_output=True, text=True).stdout
    found = [(dict(re.findall(r'(\w+)="([^"]*)"', line)), line.split()[-2]) for line in told.splitlines()
             if line.startswith("gpu_xid_errors_total{")]
    tap.same(sorted((x.get("xid"), x.get("gpu"), count) for x, count in found), [("31", "0", "1"), ("79", "1", "1")],
             "as metrics each is counted, with its GPU")


def readers():
    """Processes that read GPU health, by pid -> parent."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                head, rest = f.read().rsplit(")", 1)
        except OSError:
            continue
        if head.split("(", 1)[1] == "ingero-gpus" and rest.split()[0] != "Z":
            found[int(pid)] = int(rest.split()[1])
    return found


q = rec.start("-o", rec.path("killed.ige"), "--", rec.work("calls"), "--count", 100000000, "--rate", 1000)
mine = []
while not mine and q.poll() is None:
    mine = [pid for pid, parent in readers().items() if parent == q.pid]
tap.ok(mine, "a child of the recorder reads")
fds = []
for fd in os.listdir(f"/proc/{mine[0]}/fd") if mine else ():
    fds.append(os.readlink(f"/proc/{mine[0]}/fd/{fd}"))
tap.ok(not any("ige" in fd or "bpf" in fd for fd in fds), "and holds nothing of the recording open", str(fds))
children = tap.children_of(q.pid)
q.send_signal(signal.SIGKILL)
q.wait()
for pid in map(int, children):
    if pid not in mine:
        os.kill(pid, signal.SIGKILL)
while any(pid in readers() for pid in mine):
    pass
tap.ok(True, "it ends with a recorder that is killed")
tap.done_testing()
