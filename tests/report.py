#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Writes what tests/run counted as one JSON document (formats/test-report.schema.json), whole or not at all:
#
#   report.py RESULTS REPORT BEGAN PASSED FAILED SKIPPED
#
# RESULTS holds of every test its TAP, its end (status, seconds by the clock, in user space and in the kernel, path)
# and tests/run's counts of it.

import json
import os
import pathlib
import re
import subprocess
import sys
import time


def commit():
    try:
        return subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def quoted(tap, pattern):
    """The lines of a test that match, without their numbers."""
    return [re.sub(r"^(not )?ok\s*\d*\s*-?\s*", "", line)[:400] for line in tap.splitlines() if re.search(pattern, line, re.I)]


def test_of(log):
    status, wall, user, kernel, path = pathlib.Path(f"{log}.end").read_text().split(" ", 4)
    passed, failed, skipped = map(int, pathlib.Path(f"{log}.counts").read_text().split())
    tap = log.read_text(errors="replace")
    file = path.strip().removeprefix(os.environ.get("BUILD", "build") + "/")
    return {
        "file": file, "suite": file.removeprefix("tests/").split("/")[0], "status": int(status),
        "passed": passed, "failed": failed, "skipped": skipped,
        "wall_s": float(wall), "cpu_s": round(float(user) + float(kernel), 3),
        "failures": quoted(tap, r"^not ok(?!.*# *todo)"), "skips": quoted(tap, r"^(ok|1\.\.0).*# *skip"),
    }


def main():
    results, report, began = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    ended = time.time()
    tests = sorted((test_of(log) for log in results.glob("*.tap")), key=lambda t: t["file"])
    suites = {}
    for t in tests:
        suite = suites.setdefault(t["suite"], {"suite": t["suite"], "files": 0, "passed": 0, "failed": 0, "skipped": 0,
                                               "wall_s": 0, "cpu_s": 0})
        suite["files"] += 1
        for key in "passed", "failed", "skipped", "wall_s", "cpu_s":
            suite[key] = round(suite[key] + t[key], 3)
    machine = os.uname()
    whole = {
        "schema": "ingero.test-report/1", "commit": commit(), "kernel": machine.release, "machine": machine.machine,
        "cores": os.cpu_count(), "began": utc(began), "ended": utc(ended), "wall_s": round(ended - began, 3),
        "cpu_s": round(sum(t["cpu_s"] for t in tests), 3),
        "passed": int(sys.argv[4]), "failed": int(sys.argv[5]), "skipped": int(sys.argv[6]),
        "suites": list(suites.values()), "tests": tests,
    }
    with open(f"{report}.new", "w") as out:
        # A line per suite and test, for people and diff.
        head = json.dumps({k: v for k, v in whole.items() if k not in ("suites", "tests")})[:-1]
        rows = [f'"{name}": [\n' + ",\n".join(map(json.dumps, whole[name])) + "]" for name in ("suites", "tests")]
        out.write(f"{head},\n" + ",\n".join(rows) + "}\n")
    os.rename(f"{report}.new", report)


main()
