# SPDX-License-Identifier: Apache-2.0
"""Tools that attach to a running program for a while: the recorder with some options, and bpftrace doing the same.

A tool's start(program) returns once its probes are in place, or raises Refused with the tool's own words. What it returns has pid,
and stop(), which returns once the tool has ended: the share of the wall time that the tool says it took, or None.
"""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests", "double")]
import support  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
BIN = os.path.join(BUILD, "bin")
SCRATCH = tempfile.TemporaryDirectory(prefix="ingero-bench-")
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1  # linux/prctl.h
PATIENCE = 120  # seconds until a tool that does not attach, or does not end, is given up


class Refused(Exception):
    """The tool did not attach; why, in a line."""


def scratch(name):
    return os.path.join(SCRATCH.name, name)


def environment(**settings):
    """Without options of whoever calls, and without what would make the double busy."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DOUBLE_", "SUDO_", "INGERO_"))}
    return {**env, **{k: str(v) for k, v in settings.items()}}


def die_with_us(sent):
    """For a child to run first: it gets that signal when the bench ends, however that is."""
    return lambda: LIBC.prctl(PR_SET_PDEATHSIG, sent)


def cpu_ns(pid):
    """CPU time of a process until now, ended threads included, as its CPU clock has it. 0: it is gone."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)  # the clock number of clock_getcpuclockid()
    except OSError:
        return 0


def kernel_ticks(pids):
    """(ticks in the kernel, ticks in all) of CPU time of these processes until now; those that are gone have none."""
    inside = total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                user, kernel = f.read().rpartition(")")[2].split()[11:13]
        except OSError:
            continue
        inside, total = inside + int(kernel), total + int(user) + int(kernel)
    return inside, total


class Running:
    def __init__(self, process, finish):
        self.process, self.pid, self.finish = process, process.pid, finish

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.finish()


class Recorder:
    """ingero-record with these options."""

    def __init__(self, *options):
        self.options = options

    def start(self, program):
        recording = scratch("run.ige")
        p = subprocess.Popen([os.path.join(BIN, "ingero-record"), "-o", recording, "-p", ",".join(map(str, program.pids)),
                              *self.options], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             preexec_fn=die_with_us(signal.SIGINT))
        text = ""
        for line in p.stderr:
            text += line
            if "Ctrl-C ends the recording" in line:
                return Running(p, lambda: self.finish(p, recording))
        p.wait()
        lines = text.strip().splitlines()
        raise Refused(lines[0] if lines else f"it ended with status {p.returncode}")

    def finish(self, p, recording):
        self.closing = p.communicate(timeout=PATIENCE)[1]
        found = subprocess.run([os.path.join(BIN, "ingero-stat"), "--json", recording], env=environment(), capture_output=True,
                               text=True)
        os.unlink(recording)
        return json.loads(found.stdout)["coverage"].get("recording_cost") if found.stdout else None


def counts(program):
    """(process, function) -> calls until now."""
    return {(process["pid"], name): op["count"] for process in support.counts(program.counts) for name, op in process["ops"].items()}


def traced_functions(program):
    """Library -> exported functions of it that the recorder has probes on and that the program calls within half a second: it takes
    bpftrace a tenth of a second to let go of each."""
    with open(os.path.join(ROOT, "formats", "ops.def"), encoding="utf-8") as f:
        known = set(re.findall(r'^SYMBOL\(\w+, "(\w+)"', f.read(), re.M))
    before = counts(program)
    time.sleep(0.5)
    called = {name for (pid, name), n in counts(program).items() if n > before.get((pid, name), 0)
              and re.sub(r"(_v\d)?(_pt[sd][sz])?$", "", name) in known}
    found = {}
    for pid in program.callers():
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            libraries = {line.split(None, 5)[5].strip() for line in f if re.search(r"/lib(cudart|cuda|nccl)\.so", line)}
        for library in libraries:
            nm = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True)
            found[library] = sorted(called & {line.split()[-1].partition("@")[0] for line in nm.stdout.splitlines()})
    return {library: functions for library, functions in found.items() if functions}


def perf_events(pid):
    n = 0
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                n += "perf_event" in os.readlink(f"/proc/{pid}/fd/{fd}")
            except OSError:
                pass  # closed meanwhile
    except OSError:
        pass
    return n


class Bpftrace:
    """A line for each call of the same functions: thread, function, end and duration. A map for each library, as calls nest."""

    def start(self, program):
        if not shutil.which("bpftrace"):
            raise Refused("no bpftrace here (package bpftrace)")
        actions, probes = [], 0
        for number, (library, functions) in enumerate(traced_functions(program).items()):
            at = f"@at{number}[tid]"
            entry, back = (",".join(f"{kind}:{library}:{f}" for f in functions) for kind in ("uprobe", "uretprobe"))
            actions.append(f'{entry} {{ {at} = nsecs; @f{number}[tid] = reg("ip"); }}\n'
                           f'{back} /{at}/ {{ printf("%d %lx %lu %lu\\n", tid, @f{number}[tid], nsecs, nsecs - {at}); '
                           f'delete({at}); delete(@f{number}[tid]); }}')
            probes += 2 * len(functions)
        if not probes:
            raise Refused("the program has called none of the functions")
        pid = program.callers()[0]
        with open(scratch("calls.bt"), "w", encoding="utf-8") as f:
            f.write("\n".join(actions))
        with open(scratch("bpftrace.err"), "w+", encoding="utf-8") as err:
            p = subprocess.Popen(["bpftrace", "-B", "full", "-p", str(pid), "-o", scratch("bpftrace.out"), scratch("calls.bt")],
                                 env=environment(BPFTRACE_MAX_PROBES=4096), stdout=subprocess.DEVNULL, stderr=err,
                                 preexec_fn=die_with_us(signal.SIGINT))
            end = time.monotonic() + PATIENCE
            while p.poll() is None and time.monotonic() < end:
                if perf_events(p.pid) >= probes:
                    return Running(p, lambda: self.finish(p))
                time.sleep(0.02)
            if p.poll() is None:
                p.kill()
            p.wait()
            err.seek(0)
            raise Refused((err.read().strip().splitlines() or [f"it ended with status {p.returncode}"])[-1])

    def finish(self, p):
        p.wait(PATIENCE)
        os.unlink(scratch("bpftrace.out"))
