# SPDX-License-Identifier: Apache-2.0
"""TAP, and running a workload with its truth and the libraries' own, for the Python tests of the double."""
import json
import os
import struct
import subprocess
import sys
import tempfile

DOUBLE = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "double"))
DOUBLE_REAL = DOUBLE + "-real"
WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "work")
_made = [0, 0]


def ok(good, name, why=""):
    _made[0] += 1
    _made[1] += not good
    print(f"{'ok' if good else 'not ok'} {_made[0]} - {name}", flush=True)
    if not good and why != "":
        for line in str(why).splitlines():
            print("# " + line, file=sys.stderr)
    return good


def same(got, want, name):
    return ok(got == want, name, f"got:  {got}\nwant: {want}")


def skip(name, why):
    _made[0] += 1
    print(f"ok {_made[0]} - {name} # SKIP {why}")


def done():
    print(f"1..{_made[0]}")
    sys.exit(_made[1] != 0 or not _made[0])


def counts(folder):
    """What each process of $DOUBLE_COUNTS has counted until now, whether it lives or not: as lines of $DOUBLE_LOG, without those
    that made no call."""
    found = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        magic, pid, number, comm = struct.unpack_from("8sII112s", data)
        assert magic == b"DOUBLE1\0", name
        ops = {}
        for at in range(128, 128 * (number + 1), 128):
            op, count, errors, total_ns = struct.unpack_from("96sQQQ", data, at)
            if count:
                ops[op.rstrip(b"\0").decode()] = {"count": count, "errors": errors, "total_ns": total_ns}
        if ops:
            found.append({"pid": pid, "comm": comm.partition(b"\0")[0].decode(), "ops": ops})
    return found


def run_with_libraries(folder, **settings):
    """Starts this test again with those libraries in front, so that it can load them itself."""
    if os.environ.get("LD_LIBRARY_PATH") != folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith("DOUBLE_")}
        env.update({k: str(v) for k, v in settings.items()}, LD_LIBRARY_PATH=folder, PYTHONDONTWRITEBYTECODE="1")
        os.execve(sys.executable, [sys.executable, *sys.argv], env)


class Ran:
    """status, out, err of a command; truth: its JSON lines; log: what the libraries counted, a dict per process."""

    def __init__(self, *command, timeout=300, libraries=DOUBLE, **settings):
        command = [str(c) for c in command]
        if not command[0].startswith("/"):
            command[0] = os.path.join(DOUBLE, command[0])
        env = {k: v for k, v in os.environ.items() if not k.startswith("DOUBLE_")}
        env.update({k: str(v) for k, v in settings.items()})
        env["LD_LIBRARY_PATH"] = libraries
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        with tempfile.TemporaryDirectory() as folder:
            env["DOUBLE_LOG"] = os.path.join(folder, "log")
            try:
                p = subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout)
                self.status, self.out, self.err = p.returncode, p.stdout, p.stderr
            except subprocess.TimeoutExpired as e:
                text = [t.decode() if isinstance(t, bytes) else t or "" for t in (e.stdout, e.stderr)]
                self.status, self.out, self.err = None, *text
            self.log = []
            if os.path.exists(env["DOUBLE_LOG"]):
                with open(env["DOUBLE_LOG"]) as f:
                    self.log = [json.loads(line) for line in f]
        self.truth = [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]

    def count(self, name, what="count"):
        """Over all processes."""
        return sum(p["ops"].get(name, {}).get(what, 0) for p in self.log)
