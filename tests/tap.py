# SPDX-License-Identifier: Apache-2.0
#
# Test Anything Protocol for tests in Python (standard library only). A test script starts with
#
#     import sys; sys.path.insert(0, "tests"); import tap
#
# runs in the repository root, and ends with tap.done_testing(). A test without a check fails.

import contextlib
import gc
import os
import signal
import sys
import tempfile

# Lists and tables of a whole recording would be gone over again and again for cycles that they do not have.
gc.disable()

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
BIN = os.path.join(BUILD, "bin")
ALL = os.environ.get("CHECK") == "all"  # make check-all: everything, however long it takes

# Whoever runs a test may ignore signals, as nohup and background jobs of a shell do; what it starts would ignore them too.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL), (signal.SIGTERM, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)

# What programs read of a person's environment, default recording, options and cache is the same on every machine.
_scratch = tempfile.TemporaryDirectory(prefix="ingero-own.")
for _name in [n for n in os.environ if n.startswith(("OTEL_", "SUDO_")) or n in ("INGERO_TOKEN", "INGERO_MCP_BEARER_TOKEN", "NO_COLOR")]:
    del os.environ[_name]
os.environ.update(INGERO_CONFIG="", INGERO_DB=os.path.join(_scratch.name, "runs"), LC_ALL="C", TZ="UTC")
if not os.environ.get("INGERO_RESULTS"):  # else tests/run has chosen it
    os.environ["XDG_CACHE_HOME"] = os.path.join(_scratch.name, "cache")

_count = 0
_failed = 0


def ok(passed, name, why=""):
    """One check; why is printed when it fails."""
    global _count, _failed
    _count += 1
    if not passed:
        _failed += 1
    print(f"{'ok' if passed else 'not ok'} {_count} - {str(name).replace('#', '')}")
    if not passed and why:
        diag(why)
    sys.stdout.flush()
    return bool(passed)


def same(got, want, name):
    return ok(got == want, name, f"got:  {got!r}\nwant: {want!r}")


def none(found, name):
    """Passes when the list of complaints is empty; prints them otherwise."""
    found = list(found)
    return ok(not found, name, "\n".join(map(str, found[:40])) + (f"\n… {len(found)} in all" if len(found) > 40 else ""))


def skip(name, reason):
    global _count
    _count += 1
    print(f"ok {_count} - {name} # SKIP {reason}")


def todo(passed, name, reason):
    """One check of what is not there yet: it may fail."""
    global _count
    _count += 1
    print(f"{'ok' if passed else 'not ok'} {_count} - {str(name).replace('#', '')} # TODO {reason}")
    sys.stdout.flush()


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def children_of(pid):
    """The processes that a process has, as text: a machine may have no ps."""
    children = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
            if f.read().rsplit(")", 1)[1].split()[1] == str(pid):
                children.append(entry)
    return children


def diag(text):
    sys.stdout.flush()
    for line in str(text).splitlines():
        print("# " + line, file=sys.stderr)


def done_testing():
    print(f"1..{_count}")
    if not _count:
        diag("no checks were made")
    sys.stdout.flush()
    sys.exit(1 if _failed or not _count else 0)
