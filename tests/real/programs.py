# SPDX-License-Identifier: Apache-2.0
"""Runs real GPU programs on the double's libraries, plain and under the recorder, and compares a recording with the libraries'
own count of calls.

A recording is read as an SQLite archive, which ingero-export makes of it: the same way for all tests, and by a reader that
anybody has. What exported names are which op is read from formats/ops.def; a name that is not in it is not traced.
"""
import ast
import json
import os
import re
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "live"))
import recording as rec
import support
from recording import tap

WORK = os.path.join(HERE, "work")
REAL = os.path.abspath(os.environ.get("REAL") or os.path.join(rec.BUILD, "real"))
LIBRARIES = support.DOUBLE_REAL
PYTHON = os.path.join(REAL, "python", "bin", "python")
TRAIN = os.path.join(WORK, "train.py")
TROUBLES = os.path.join(WORK, "troubles.py")
PATIENCE = 300  # seconds until a program that does not end is given up


def need(*programs):
    """Skips the whole test where one of them could not be installed, or nothing can be recorded. One that nobody tried to install is
    a fault of who runs the tests, not of the machine."""
    rec.need_bpf()
    if not os.path.isdir(LIBRARIES):
        tap.skip_all("no double-real was built")
    for program in programs:
        if not os.path.exists(os.path.join(REAL, f"{program}.installed")):
            why = "make check-real installs it"
            if os.path.exists(os.path.join(REAL, f"{program}.missing")):
                with open(os.path.join(REAL, f"{program}.missing"), encoding="utf-8") as f:
                    why = f.read().strip()
            elif os.environ.get("INGERO_RESULTS"):
                tap.ok(False, f"{program} was to be installed before its tests are run", f"nothing of it is in {REAL}")
                tap.done_testing()
            tap.skip_all(f"optional: {program} is not installed: {why}")


def environment(counts=None, cuda=13, **settings):
    """Of a program whose calls the double's libraries count into files of that folder."""
    env = rec.environment(**{"DOUBLE_LAUNCH_NS": 10000, **settings})
    env["LD_LIBRARY_PATH"] = settings.get("LD_LIBRARY_PATH", os.path.join(LIBRARIES, f"cuda{cuda}"))
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["PYTHONHASHSEED"] = "1"
    if counts:
        env["DOUBLE_COUNTS"] = counts
    return env


def model():
    """The language model's file, made once a run of tests."""
    made = rec.kept("model.gguf")
    if not os.path.exists(made):
        subprocess.run([sys.executable, os.path.join(WORK, "model.py"), rec.path("model.gguf")], check=True)
        rec.keep(rec.path("model.gguf"), "model.gguf")
    return made


def train(*options):
    return [PYTHON, TRAIN, *map(str, options)]


def generate(tokens, *options):
    return ["node", os.path.join(WORK, "generate.mjs"), os.path.join(REAL, "llama"), model(), str(tokens), *options]


def generate12(tokens, *options):
    return ["node", os.path.join(WORK, "generate12.js"), os.path.join(REAL, "llama12"), model(), str(tokens), *options]


def counted(folder):
    """Process -> {(source, op): calls}, as the libraries counted them until now, for names that are traced."""
    total = {}
    for process in support.counts(folder):
        calls = total.setdefault(process["pid"], {})
        for name, op in process["ops"].items():
            key = rec.ops().get(name)
            if key:
                calls[key] = calls.get(key, 0) + op["count"]
    return {pid: calls for pid, calls in total.items() if calls}


class Archive:
    """A recording as SQLite tables."""

    def __init__(self, recording):
        self.recording = recording
        self.path = recording + ".db"
        made = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-q", "-f", "sqlite", "-o", self.path, recording],
                              capture_output=True, text=True)
        if made.returncode not in (0, 4):  # 4: its end was cut off, the rest was used
            raise RuntimeError(f"ingero-export: {made.stderr}")
        self.db = sqlite3.connect(self.path)

    def ask(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def calls(self):
        """Process -> {(source, op): calls}, as recorded."""
        total = {}
        for pid, name, count in self.ask("""SELECT e.pid, o.description, count(*) FROM events e
                JOIN ops o ON o.source_id = e.source AND o.op_id = e.op WHERE e.source IN (1, 4, 8, 9) GROUP BY 1, 2"""):
            source, op = name.split(":")
            total.setdefault(pid, {})[(source, op)] = count
        return total

    def lost(self):
        """Reason -> how many events the file says were lost for it."""
        p = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-export"), "-q", "-f", "json", "--records", self.recording],
                           capture_output=True, text=True)
        total = {}
        for loss in (json.loads(x) for x in p.stdout.splitlines() if x.startswith('{"record":"loss"')):
            total[loss["reason"]] = total.get(loss["reason"], 0) + loss["count"]
        return total

    def python_calls(self, pid, file):
        """(op, function, line) -> calls whose innermost frame of that source file this is, and calls with no frame of it."""
        stacks = {}
        for number, frames in self.ask("SELECT hash, frames FROM stack_traces"):
            own = [(f["pfn"], f["pl"]) for f in json.loads(frames or "[]") if f.get("pf") == file]
            stacks[number] = own[0] if own else None
        found, elsewhere = {}, 0
        for name, stack, count in self.ask("""SELECT o.description, e.stack_hash, count(*) FROM events e
                JOIN ops o ON o.source_id = e.source AND o.op_id = e.op
                WHERE e.source IN (1, 4, 8, 9) AND e.depth = 0 AND e.pid = ? GROUP BY 1, 2""", pid):
            own = stacks.get(stack)
            if own:
                key = (name.split(":")[1], *own)
                found[key] = found.get(key, 0) + count
            else:
                elsewhere += count
        return found, elsewhere


def launching_ops():
    """Those whose events have a kernel."""
    with open(os.path.join(rec.ROOT, "formats", "ops.def"), encoding="utf-8") as f:
        return re.findall(r'^OP\(\w+, \d+, \w+, "(\w+)",.*OP_LAUNCH.*COLUMNS\(FUNC\b', f.read(), re.M)


def kernels(recording, op=None):
    """Rows of the kernel table of what launches, or of one op alone: name -> launches. "": rows that were too many."""
    p = subprocess.run([rec.STAT, "--json", "--by", "kernel", "--top", "0", "-e", op or ",".join(launching_ops()), recording],
                       capture_output=True, text=True)
    return {row["key"] or "": row["count"] for row in json.loads(p.stdout)["by"]["rows"]}


def unnamed_kernels(recording):
    """Rows that a person could not look up: an address, or launches whose kernel is unknown."""
    return [f"{name}: {count}" for name, count in kernels(recording).items() if re.match(r"(0x[0-9a-f]+|unknown|kernel unknown)\b", name)]


def compare_counts(got, want, name):
    """One check: every process's every op; prints what differs."""
    complaints = []
    for pid in sorted(set(got) | set(want)):
        ours, theirs = got.get(pid, {}), want.get(pid, {})
        for op in sorted(set(ours) | set(theirs)):
            if ours.get(op, 0) != theirs.get(op, 0):
                complaints.append(f"process {pid} {op[1]}: {ours.get(op, 0)} recorded, {theirs.get(op, 0)} counted")
    if not want:
        complaints.append("the libraries counted no call")
    return tap.none(complaints, name)


def none_above(got, want, name):
    """One check: no process has more calls of any op recorded than counted."""
    return tap.none([f"process {pid} {op[1]}: {n} recorded, {want.get(pid, {}).get(op, 0)} counted" for pid, calls in got.items()
                     for op, n in calls.items() if n > want.get(pid, {}).get(op, 0)], name)


def run_plain(command, cuda=13, check=True, **settings):
    """The program without the recorder; what it printed."""
    p = subprocess.run(command, env=environment(cuda=cuda, **settings), capture_output=True, text=True, timeout=PATIENCE,
                       stdin=subprocess.DEVNULL)
    if check and p.returncode:
        raise RuntimeError(f"{command}: status {p.returncode}\n{p.stderr[-2000:]}")
    return p.stdout


def new_run(name):
    """A folder for the libraries' counts, and the recording's path beside it."""
    _runs.append(name)
    counts = rec.path(f"counts{len(_runs)}")
    os.mkdir(counts)
    return counts, rec.path(f"run{len(_runs)}.ige")


_runs = []


def check_whole(name, archive, truth, what="every call of every process, by function"):
    """What must hold of every recording: counts equal to the libraries', nothing lost, kernels named."""
    archive.truth = truth
    compare_counts(archive.calls(), truth, f"{name}: {what}")
    tap.same(archive.lost(), {}, f"{name}: nothing lost")
    tap.none(unnamed_kernels(archive.recording), f"{name}: every launched kernel has a name")


def launch(name, command, cuda=13, options=(), printed=None, status=0, whole=True, **settings):
    """Records the program from its start and checks that its output and status are its own, and check_whole(). The archive, with
    .truth and the recorder's .report. printed: what it prints, where that is known already. whole: it makes calls."""
    counts, ige = new_run(name)
    if printed is None:
        printed = run_plain(command, cuda, check=not status, **settings)
    p = subprocess.run([rec.RECORD, *(rec.WHOLE if whole else []), "-o", ige, *options, "--", *command], env=environment(counts, cuda, **settings),
                       capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    if not tap.same(p.returncode, status, f"{name}: the program's status is the recorder's"):
        tap.diag(p.stderr[-3000:])
    tap.same(p.stdout, printed, f"{name}: the program prints what it prints without the recorder")
    archive = Archive(ige)
    archive.out, archive.report = p.stdout, p.stderr
    if whole:
        check_whole(name, archive, counted(counts))
    return archive


class Gated:
    """A program that waits at its gate: .before is what it had called until then."""

    def __init__(self, command, cuda=13, **settings):
        self.counts, self.recording = new_run(command)
        self.process = subprocess.Popen(command, env=environment(self.counts, cuda, **settings), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.out = ""
        for line in self.process.stdout:
            self.out += line
            if line == "ready\n":
                break
        self.before = counted(self.counts)

    def record(self, *options):
        """Starts a recorder on it and waits until that is attached."""
        self.recorder = subprocess.Popen([rec.RECORD, *rec.WHOLE, "-o", self.recording, "-p", str(self.process.pid), *options], env=rec.environment(),
                                         stderr=subprocess.PIPE, text=True)
        self.report = rec.attached(self.recorder)

    def open(self):
        self.process.stdin.write("go\n")
        self.process.stdin.close()

    def finish(self):
        """Waits for its end; its status."""
        self.out += self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(PATIENCE)

    def finish_recorder(self):
        self.report += self.recorder.stderr.read()
        self.recorder.stderr.close()
        return self.recorder.wait(PATIENCE)

    def since(self):
        """Calls counted since the gate."""
        now = counted(self.counts)
        return {pid: {op: n - self.before.get(pid, {}).get(op, 0) for op, n in calls.items() if n != self.before.get(pid, {}).get(op, 0)}
                for pid, calls in now.items()}


def attach(name, command, cuda=13, printed=None, **settings):
    """Attaches to a program that waits at its gate, records it from there to its end, and checks as launch() does. The archive."""
    program = Gated(command, cuda, **settings)
    program.record()
    program.open()
    tap.same(program.finish(), 0, f"{name}: the program ends well")
    if not tap.same(program.finish_recorder(), 0, f"{name}: the recorder ends with it"):
        tap.diag(program.report)
    if printed is not None:
        tap.same(program.out, printed, f"{name}: the program prints what it prints without the recorder")
    archive = Archive(program.recording)
    archive.report = program.report
    archive.pid = program.process.pid
    check_whole(name, archive, program.since(), "every call since it attached, by function")
    return archive


def line_of(file, text):
    """(qualified name of the function, number) of the one line of a Python source that contains the text."""
    with open(file, encoding="utf-8") as f:
        source = f.read()
    lines = [n for n, line in enumerate(source.splitlines(), 1) if text in line]
    if len(lines) != 1:
        raise RuntimeError(f"{file}: {text!r} is in {len(lines)} lines")
    name = []

    def visit(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and child.lineno <= lines[0] <= child.end_lineno:
                name.append(child.name)
                visit(child)

    visit(ast.parse(source))
    return ".".join(name), lines[0]
