#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The recipes of formats/packaging are of the programs as they are: options exist, metrics have the names they are exported
# under, and what their own checkers say of them where those are here. The Slurm scripts leave a whole recording.

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

HERE = "formats/packaging"
TMP = tempfile.TemporaryDirectory()


def text(path):
    with open(os.path.join(HERE, path), encoding="utf-8") as f:
        return f.read()


def run(*args, **how):
    return subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, **how)


def judged(name, program, *args, **how):
    """What another program says of a file, where that program is here."""
    if not shutil.which(program):
        tap.skip(name, f"optional: no {program} here")
        return
    p = run(program, *args, **how)
    tap.ok(p.returncode == 0 and not p.stderr.strip(), name, p.stdout + p.stderr)


# ---- options

known = set(re.findall(r"(?<![\w-])(-[a-z-]+|-[A-Za-z])\b", run(os.path.join(tap.BIN, "ingero-record"), "--help").stdout))
daemonset = text("kubernetes/daemonset.yaml")
args = re.findall(r"^ {12}- (\S+)$", daemonset[:daemonset.index("          env:")], re.M)
tap.same(args[0], "record", "the container records")
unit = text("systemd/ingero-flight.service").replace("\\\n", " ")
start = re.search(r"^ExecStart=(.*)$", unit, re.M)[1].split()
tap.same(os.path.basename(start[0]), "ingero-record", "the service records")
for name, words in (("DaemonSet", args[1:]), ("service", start[1:])):
    options = [w.split("=")[0] for w in words if w.startswith("-")]
    tap.ok(len(options) > 5, f"{name}: it says how")
    tap.none([o for o in options if o not in known], f"{name}: every option is one of ingero-record's")
flight = {"--flight-recorder", "--trigger", "--hung", "--max-size"}
tap.same([flight - {w.split("=")[0] for w in words} for words in (args, start)], [set(), set()], "both are flight recorders with a limit of size")
for key in ("CPUQuota", "MemoryMax", "TasksMax"):
    tap.ok(re.search(rf"^{key}=\S+$", unit, re.M), f"the service has a limit: {key}")
tap.ok(re.search(r"limits:\n\s+cpu: \S+\n\s+memory: \S+", daemonset), "and so has the container")

# One list of capabilities, wherever it stands; the service reads the kernel log besides.
container = {f"CAP_{c}" for c in re.findall(r"^ {16}- ([A-Z_]+) #", daemonset, re.M)}
service = set(re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M)[1].split())
files = {c.upper() for c in re.search(r"^caps=(\S+)$", text("setcap.sh"), re.M)[1].split(",")}
tap.same(container, {"CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"}, "the container's capabilities")
tap.same(service, container | {"CAP_SYSLOG"}, "the service's")
tap.same(files, service, "those of the file")

# ---- metrics

exported = set()
for operand in sorted(glob.glob("formats/samples/v*/*.ige")):
    exported |= set(re.findall(r"^# TYPE (\S+)", run(os.path.join(tap.BIN, "ingero-export"), "-f", "prometheus", operand).stdout, re.M))
for scenario in ("incident", "call-hang", "errors"):
    path = os.path.join(TMP.name, scenario)
    run(os.path.join(tap.BIN, "ingero-demo"), scenario, "-o", path + ".ige")
    run(os.path.join(tap.BIN, "ingero-correlate"), path + ".ige", "-o", path + "-chains.ige")
    exported |= set(re.findall(r"^# TYPE (\S+)", run(os.path.join(tap.BIN, "ingero-export"), "-f", "prometheus", path + "-chains.ige").stdout, re.M))
# Without losses and a driver that tells errors these two do not come up; tests/live exports them.
exported |= {"ingero_events_lost_total", "gpu_xid_errors_total"}
tap.ok(len(exported) > 10, "metrics are exported")
dashboard = json.loads(text("grafana/ingero.json"))
expressions = [t["expr"] for p in dashboard["panels"] for t in p["targets"]] + re.findall(r"expr: (.*)", text("prometheus/rules.yml"))
used = {re.sub(r"_(bucket|sum|count)$", "", n) for e in expressions for n in re.findall(r"\b(?:ingero|gpu|system)_\w+", e)}
tap.ok(len(used) >= 12, f"rules and dashboard use {len(used)} metrics")
tap.none(sorted(used - exported), "each of them is exported under that name")
tap.same(len({p["id"] for p in dashboard["panels"]}), len(dashboard["panels"]), "panels of the dashboard have ids of their own")
tap.none([p["title"] for p in dashboard["panels"] if not p["targets"] or not p["description"]], "and say what they show")
alerts = set(re.findall(r"- alert: (\w+)", text("prometheus/rules.yml")))
tap.same(alerts - set(re.findall(r"alertname: (\w+)", text("prometheus/rules_test.yml"))), set(), "every alert has a test")
judged("promtool takes the rules", "promtool", "check", "rules", "rules.yml", cwd=f"{HERE}/prometheus")
judged("and they fire when they have to", "promtool", "test", "rules", "rules_test.yml", cwd=f"{HERE}/prometheus")

# ---- what their own checkers say

judged("visudo takes the sudo rules", "visudo", "-cf", f"{HERE}/sudoers")
place = os.path.join(TMP.name, "ingero-flight.service")
with open(place, "w") as f:
    f.write(unit.replace("/usr/bin/ingero-record", os.path.abspath(os.path.join(tap.BIN, "ingero-record"))))
judged("systemd takes the service", "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", place)
for script in sorted(glob.glob(f"{HERE}/*.sh") + glob.glob(f"{HERE}/*/*.sh")):
    with open(script) as f:
        shell = f.readline().strip().removeprefix("#!")
    p = run(shell, "-n", script)
    tap.ok(p.returncode == 0 and os.access(script, os.X_OK), f"{script} is a script", p.stderr)

# ---- Slurm: a job from its prolog to its epilog, with samples only, which need no rights

store = os.path.join(TMP.name, "slurm")
user = run("id", "-un").stdout.strip()
job = dict(os.environ, PATH=f"{os.path.abspath(tap.BIN)}:{os.environ['PATH']}", INGERO_DIR=store, INGERO_RUN=os.path.join(TMP.name, "run"),
           INGERO_OPTIONS="--no-probes", SLURM_JOB_ID="4711", SLURM_JOB_USER=user, SLURMD_NODENAME="gpu-7", SLURM_JOB_COMMENT="nothing")


def stage(name, **more):
    return run(f"{HERE}/slurm/{name}.sh", env={**job, **more}).returncode


tap.same((stage("prolog"), os.path.exists(store)), (0, False), "nobody asked: nothing is recorded")
tap.same(stage("epilog"), 0, "and nothing to end")
tap.same(stage("prolog", SLURM_JOB_COMMENT="please ingero"), 0, "a job that asks for it is recorded")
with open(os.path.join(TMP.name, "run", "slurm-4711.pid")) as f:
    pid = f.read().strip()
# A recorder is one once its file is there.
recording = os.path.join(store, "4711", "gpu-7.ige")
p = run("sh", "-c", f'until [ -s "{recording}" ] || ! kill -0 {pid}; do sleep 0.05; done')
tap.same(stage("epilog"), 0, "until the job ends")
tap.ok(not os.path.exists(f"/proc/{pid}"), "then the recorder is gone")
p = run(os.path.join(tap.BIN, "ingero-stat"), "--json", recording)
tap.same(p.returncode, 0, "and its file whole" + ("" if p.returncode == 0 else f": {p.stderr} {run('cat', os.path.join(store, '4711', 'gpu-7.log')).stdout}"))
tap.done_testing()
