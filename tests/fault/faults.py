# SPDX-License-Identifier: Apache-2.0
"""Programs that write, run where something fails, and what may come of it: either what comes of it elsewhere, or a message
that names what and where, a status of the documented ones, and no file changed. FAULTS=all tries every place, otherwise a
part of them, spread evenly."""
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tap

ALL = os.environ.get("FAULTS") == "all"
INJECT = os.path.join(tap.BUILD, "tests", "fault", "inject")
NOMEM = os.path.join(tap.BUILD, "tests", "fault", "nomem.so")
SCRATCH = tempfile.TemporaryDirectory(prefix="ingero-fault-")
OLD = b"what was there before\n"
TIMEOUT = 300


def path(name):
    return os.path.join(SCRATCH.name, name)


def program(name):
    return os.path.join(tap.BIN, "ingero-" + name)


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SUDO_", "INGERO_", "OTEL_"))} | {"INGERO_CONFIG": ""}
    env.update({"TMPDIR": path("tmp"), "INGERO_CONFIG": ""}, **more)
    return env


def digest(name):
    with open(name, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Case:
    """A program with its arguments. {o}: where it writes, over a file that is there or not; without it to standard output.
    beside: what else it may make. dies: statuses of a library of others that ends the process without memory.
    over: the input of which a copy stands where it writes."""

    def __init__(self, name, arguments, ending=None, beside=(), dies=(), over=None):
        self.name, self.arguments, self.ending, self.beside, self.dies = name, arguments, ending, beside, dies
        self.over = over
        self.program = arguments.split()[0]

    def command(self):
        words = self.arguments.format(o=self.out(), i=path("in")).split()
        return [program(words[0]), *(w.replace("+", " ") for w in words[1:])]

    def old(self, there):
        """What stands where it writes; None: nothing."""
        if not self.over:
            return OLD if there else None
        with open(path("in/" + self.over), "rb") as f:
            return f.read()

    def out(self):
        return path("out/it" + self.ending) if self.ending else None


CASES = [
    Case("demo", "demo incident --duration 200ms -o {o}", ".ige"),
    Case("merge", "merge {i}/a.ige {i}/b.ige -o {o}", ".ige"),
    Case("merge, one as it is", "merge {i}/a.ige -o {o}", ".ige"),
    Case("merge --compact", "merge --compact {i}/a.ige -o {o}", ".ige"),
    Case("merge --recover", "merge --recover {i}/cut.ige -o {o}", ".ige"),
    Case("merge of an archive", "merge {i}/a.db -o {o}", ".ige"),
    Case("merge to an archive", "merge {i}/a.ige {i}/b.ige -o {o}", ".db"),
    Case("merge, one more into an archive", "merge {o} {i}/b.ige -o {o}", ".db", over="a.db"),
    Case("correlate", "correlate {i}/a.ige -o {o}", ".ige"),
    Case("export, perfetto", "export {i}/a.ige -o {o}", ".pftrace"),
    Case("export, gzip", "export {i}/a.ige -f json -o {o}", ".json.gz"),
    Case("export, html", "export {i}/a.ige -o {o}", ".html"),
    Case("export, sqlite", "export {i}/a.ige -o {o}", ".db"),
    # jq's compiler does not ask whether it got memory.
    Case("export -w", "export {i}/small.ige -w .pid>1 -f json -o {o}", ".json", dies=(-signal.SIGSEGV, -signal.SIGABRT)),
    Case("query --cache", "query --cache {i}/small.ige select+count(*)+from+events", beside=("small.ige.db",)),
    Case("query", "query {i}/small.ige select+count(*)+from+events"),
    Case("stat", "stat {i}/a.ige"),
    Case("stat --json", "stat --json {i}/a.ige"),
    Case("explain", "explain {i}/a.ige"),
    Case("explain --json", "explain --json {i}/a.ige"),
    Case("export to a pipe", "export -f csv {i}/small.ige"),
    Case("correlate to a pipe", "correlate {i}/small.ige"),
]


def prepare():
    for folder in ("in", "out", "tmp"):
        os.mkdir(path(folder))
    # What the cases expect is run with the same arguments, without harm.
    make = lambda *a: subprocess.run([program(a[0]), *a[1:]], check=True, stderr=subprocess.DEVNULL, env=environment())  # noqa: E731
    make("demo", "incident", "--duration", "400ms", "-o", path("in/a.ige"))
    make("demo", "lock", "--duration", "300ms", "-n", "other", "-o", path("in/b.ige"))
    make("demo", "incident", "--duration", "50ms", "-o", path("in/small.ige"))
    make("export", path("in/small.ige"), "-o", path("in/a.db"))
    with open(path("in/a.ige"), "rb") as f, open(path("in/cut.ige"), "wb") as g:
        g.write(f.read()[:-5000])


class Result:
    def __init__(self, status, out, err, files, wrote):
        self.status, self.out, self.err, self.files, self.wrote = status, out, err, files, wrote


def tree(folder):
    return {os.path.join(d, f) for d, _, files in os.walk(path(folder)) for f in files}


def run(case, wrapped=(), there=False, env=None):
    """One run, with `wrapped` before the command; there: an older file stands where it writes."""
    out = case.out()
    for name in tree("out") | tree("tmp") | {path("in/" + b) for b in case.beside}:
        if os.path.exists(name):
            os.unlink(name)
    old = case.old(there) if out else None
    if old is not None:
        with open(out, "wb") as f:
            f.write(old)
    before = {f: digest(f) for f in tree("in")}
    try:
        p = subprocess.run([*wrapped, *case.command()], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT,
                           env=env or environment())
        status, stdout, err = p.returncode, p.stdout, p.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as e:
        status, stdout, err = "no end", e.stdout or b"", str(e.stderr)
    after = {f: digest(f) for f in tree("in") | tree("out") | tree("tmp")}
    r = Result(status, stdout, err, after, None)
    if out and out in after:
        with open(out, "rb") as f:
            r.wrote = f.read()
    r.changed = [os.path.basename(f) for f in before if after.get(f) != before[f]]
    allowed = {out, *(path("in/" + b) for b in case.beside)} if out or case.beside else set()
    r.left = [os.path.relpath(f, SCRATCH.name) for f in after if f not in before and f not in allowed]
    r.made = {b: after.get(path("in/" + b)) for b in case.beside}
    return r


def wrong(case, r, good, there, why=None, killed=False, reads=False):
    """What is wrong with a run, as text; None: nothing. why: words of which the message has one."""
    base = case.old(there)

    if r.changed:
        return f"inputs changed: {r.changed}"
    if r.left and not (killed and killed_may_leave(r.left)):
        return f"left behind: {r.left}"
    for name, now in r.made.items():
        if now not in (None, good.made[name]):
            return f"{name} is not whole"
    if (killed and r.status == -signal.SIGKILL) or r.status in case.dies:
        return None if not case.ending or r.wrote in (base, good.wrote) else "a part was written over what was there"
    if r.status == good.status:
        return None if (r.wrote, r.out) == (good.wrote, good.out) else f"status {r.status}, and other output: {r.err[-300:]}"
    if r.status == 4 and reads:
        return None if r.err else "status 4 without a word"
    if r.status != 3:
        return f"status {r.status}: {r.err[-300:]}"
    said = [line for line in r.err.splitlines() if re.match(r"ingero[a-z-]*: ", line)]
    if not said:
        return f"nothing is said: {r.err!r}"
    if why and not any(w in r.err for w in why):
        return f"what and where? {r.err}"
    if case.ending and r.wrote != base:
        return f"a part was written over what was there: {r.err}"
    return None


def killed_may_leave(left):
    """Between the name that a file gets and its place there is one step."""
    return all(re.search(r"\.[0-9a-f]{6}$", name) for name in left)


def places(count, few):
    """Which of the places 1..count are tried: all, or few of them, the first and last among them."""
    if ALL or count <= few:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // (few - 1) for i in range(few)})


def injecting():
    """Skips the test where system calls cannot be made to fail."""
    p = subprocess.run([INJECT, "write:0:EIO", "--", "true"], capture_output=True, text=True)
    if p.returncode:
        tap.skip_all(p.stderr.strip() or "optional: system calls cannot be made to fail here (seccomp user notifications)")


def inject(*rules, at=None, counts=None):
    return [INJECT, *(["-a", at] if at else []), *(["-o", counts] if counts else []), *rules, "--"]


def counted(case, *rules, at=None):
    """How many calls each of the rules met in a run without harm."""
    run(case, inject(*rules, at=at, counts=path("counts")))
    with open(path("counts")) as f:
        return [int(line) for line in f]
