# SPDX-License-Identifier: Apache-2.0
"""Running the recorder over a workload, and reading what it wrote, for the live tests."""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "double")]
import tap

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
DOUBLE = os.path.join(BUILD, "double")
WORK = os.path.join(ROOT, "tests", "double", "work")
RECORD = os.path.join(BUILD, "bin", "ingero-record")
STAT = os.path.join(BUILD, "bin", "ingero-stat")
PATIENCE = 300  # seconds until what does not come is given up: how long it took says nothing. A busy kernel may take its time to let go of probes
SCRATCH = tempfile.TemporaryDirectory(prefix="ingero-live-")


def path(name):
    return os.path.join(SCRATCH.name, name)


def environment(**settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DOUBLE_", "SUDO_", "INGERO_"))}
    env["INGERO_CONFIG"] = ""  # nobody's own options
    env.update({k: str(v) for k, v in settings.items()})
    env["LD_LIBRARY_PATH"] = DOUBLE
    return env


def kept(name):
    """Where a thing is that the tests of one run have in common; a test alone has its own."""
    return os.path.join(os.path.abspath(os.environ.get("INGERO_RESULTS") or SCRATCH.name), "common", name)


def keep(made, name):
    """Puts it there, whole, whoever else does at the same time; where it is then."""
    os.makedirs(os.path.dirname(kept(name)), exist_ok=True)
    beside = f"{kept(name)}.{os.getpid()}"
    shutil.copy(made, beside)
    os.rename(beside, kept(name))
    return kept(name)


def need_bpf():
    """Skips the whole test where the kernel or our rights do not allow it: tried once."""
    if not os.path.exists(RECORD):
        tap.skip_all("no ingero-record was built")
    if os.path.exists(kept("recorded")):
        return
    p = run("-o", path("trial.ige"), "--", "true")
    if p.returncode == 125:
        tap.skip_all(p.stderr.strip().splitlines()[-1])
    keep(path("trial.ige"), "recorded")


def work(name):
    return name if os.path.isabs(name) else os.path.join(DOUBLE, name)


# Every traced call of a busy machine is an event of its own: no budget, nothing folded. For tests that count; windows.t is about
# the rest.
WHOLE = ["--budget", "none", "--nested"]


# Options for every recording of a test: RECORD_WITH="--unwind-memory 64m" tests/live/python.t
WITH = shlex.split(os.environ.get("RECORD_WITH", ""))


def command(arguments, every):
    return [RECORD, *(WHOLE if every else []), *WITH, *map(str, arguments)]


def run(*arguments, timeout=PATIENCE, every=True, **settings):
    """The recorder with these arguments, to its end. Perf links take their time while others of them are being closed."""
    return subprocess.run(command(arguments, every), env=environment(**settings), capture_output=True, text=True, timeout=timeout)


def start(*arguments, every=True, **settings):
    return subprocess.Popen(command(arguments, every), env=environment(**settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(true, seconds=PATIENCE):
    """Whether it became true: what a test waits for happens, or the test has failed; how long it took says nothing."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def said(recorder, words):
    """Waits until the recorder has said these words on standard error; all of it until then. It fails when it ends without."""
    text = ""
    for line in recorder.stderr:
        text += line
        if words in line:
            return text
    raise RuntimeError(f"the recorder ended and had not said {words!r}: {text}")


def attached(recorder):
    """Waits until the probes are in every target that was there when the recorder was started; not for one that runs a command."""
    return said(recorder, "Ctrl-C ends the recording")


def children(parent):
    """Process -> its state, of those that this one started; none when it is gone."""
    states = {}
    try:
        with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as c:
            for child in c.read().split():
                with open(f"/proc/{child}/stat", encoding="ascii") as s:
                    states[int(child)] = s.read().rsplit(") ", 1)[1][0]
    except OSError:
        pass
    return states


def places(name):
    """PLACE records of one of our recordings, as the independent reader gives them: process number -> columns, the newest."""
    lines = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "ige_reader.py"), path(name)],
                           capture_output=True, text=True).stdout.splitlines()
    found = [x for x in map(json.loads, lines) if x.get("record") == "place"]
    return {x["process"]["pid"]: {k: v for k, v in x.items() if k not in ("record", "process", "time_ns")} for x in found}


def cgroup(name):
    """A cgroup of that name that processes can be put into, the caller's to remove; None where none can be made."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        fields = [line.split() for line in f]
    for one in fields:
        if one[one.index("-") + 1] not in ("cgroup", "cgroup2"):
            continue
        where = os.path.join(one[4], name)
        try:
            os.mkdir(where)
        except OSError:
            continue
        # A cpuset has to be told its CPUs first.
        p = subprocess.Popen(["sleep", "1000"])
        try:
            with open(os.path.join(where, "cgroup.procs"), "w", encoding="utf-8") as f:
                f.write(str(p.pid))
            return where
        except OSError:
            pass
        finally:
            p.kill()
            p.wait()
        os.rmdir(where)
    return None


def truth(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def stat(recording):
    p = subprocess.run([STAT, "--json", recording], capture_output=True, text=True)
    return json.loads(p.stdout)


def counts(recording):
    """((source, op) -> count), events lost."""
    s = stat(recording)
    return {(o["source"], o["op"]): o["count"] for o in s["ops"] if o["source"] in ("cuda", "driver", "nccl")}, s["coverage"]["lost"]


def logged(log):
    """The double's own log of what was called, as the recorder names ops: variants folded."""
    with open(log) as f:
        lines = [json.loads(line) for line in f]
    total = {}
    for line in lines:
        for name, op in line["ops"].items():
            key = ops().get(name)
            if key:
                total[key] = total.get(key, 0) + op["count"]
    return total


_ops = {}


def ops():
    """Exported name -> (source, op), from the table the recorder is built from."""
    if not _ops:
        import re
        table = open(os.path.join(ROOT, "formats", "ops.def")).read()
        named = {m[1]: (m[0].lower(), m[2]) for m in re.findall(r'^OP\((\w+), \d+, (\w+), "(\w+)"', table, re.M)}
        # __cudaRegisterFunction names kernels and is no event.
        for name, variants, op in re.findall(r'^SYMBOL\(\w+, "(\w+)", ([^,]+), (\w+),', table, re.M):
            if name == "__cudaRegisterFunction":
                continue
            forms = [name] + ([f"{name}_v{i}" for i in range(2, 10)] if "V" in variants.replace(" ", "").split("|") else [])
            for form in forms:
                for suffix in ("", "_ptsz", "_ptds"):
                    _ops[form + suffix] = named[op]
    return _ops


def dump(recording):
    """Events, records and the reader's report of a recording, as dicts."""
    tool = kept("dump")
    if not os.path.exists(tool):
        compiler = shlex.split(os.environ.get("INGERO_COMPILE", "gcc -std=gnu11 -D_GNU_SOURCE -I."))
        subprocess.run([*compiler, os.path.join(HERE, "dump.c"), os.path.join(BUILD, "libingero.a"), "-o", path("dump"), "-lbpf",
                        "-lelf", "-ljq", "-lz", "-lm", "-ldl", "-lpthread"], check=True, cwd=ROOT)
        keep(path("dump"), "dump")
    lines = [json.loads(line) for line in subprocess.run([tool, recording], capture_output=True, text=True).stdout.splitlines()]
    return ([x for x in lines if "op" in x and "source" in x and "record" not in x], [x for x in lines if "record" in x],
            next((x for x in lines if "report" in x), None))


def every_call(name, arguments, *command, minimum=0):
    """One recording; its counts must be the log's. Returns the truths the workload printed."""
    ige, log = path("count.ige"), path("count.log")
    if os.path.exists(log):
        os.unlink(log)
    p = run("-o", ige, *arguments, "--", *command, DOUBLE_LOG=log)
    if not tap.ok(p.returncode == 0, f"{name}: the recorder is content", p.stderr):
        return []
    got, lost = counts(ige)
    want = logged(log)
    tap.same(got, want, f"{name}: every call, runtime and driver")
    tap.ok(len(want) >= minimum and sum(want.values()) > 0, f"{name}: the libraries were called", want)
    tap.ok(" lost 0" in p.stderr, f"{name}: nothing lost", p.stderr)
    return truth(p.stdout)


def has_find_vma():
    """Whether the kernel can tell the files of a new process's list without stopping it."""
    with open("/proc/kallsyms", encoding="ascii") as f:
        return any("__find_vma" in line or " bpf_find_vma" in line for line in f)


def libraries(records):
    """What the records say of the attachment of CUDA's libraries; other layers name files for other reasons."""
    return [r for r in records if r["record"] == "coverage" and "path" in r and r["layer"] in ("runtime", "driver", "nccl")]


def cpu_seconds_of_child(session, comm):
    """CPU time so far of the processes called comm in that session."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                head, rest = f.read().rsplit(")", 1)
        except OSError:
            continue
        fields = rest.split()
        if head.split("(", 1)[1] == comm and int(fields[3]) == session:
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")
