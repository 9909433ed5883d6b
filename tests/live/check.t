#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What ingero-check says this kernel loads is what ingero-record can use, kind by kind and source by source; and a
# process that has the CUDA double mapped is found with its user and its libraries.

import json
import os
import pwd
import re
import subprocess
import sys
import time

sys.path[:0] = ["tests", "tests/live"]
import recording as rec  # noqa: E402
import tap  # noqa: E402

PATIENCE = 300  # seconds until what does not come is given up
CHECK, RECORD = (os.path.join(tap.BIN, "ingero-" + name) for name in ("check", "record"))
DOUBLE = os.path.abspath(os.path.join(tap.BUILD, "double"))


def check(*args):
    p = subprocess.run([CHECK, "--json", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    return p.returncode, json.loads(p.stdout) if p.stdout else None, p.stderr


status, value, err = check()
if value["links"] is None:
    tap.skip_all("BPF is not permitted here: " + "; ".join(c["text"] for c in value["checks"] if c["status"] == "fail"))
for link in ("session", "multi", "perf"):
    p = subprocess.run([RECORD, "-q", "--link", link, "-o", "/dev/null", "--", "true"], capture_output=True, text=True, timeout=PATIENCE)
    tap.same(p.returncode == 0, link in value["links"], f"--link {link} works where check says so ({p.returncode})")
tap.same(status == 0, bool(value["links"]), "with links and rights the answer is yes")

said = [c["text"] for c in value["checks"] if c["id"] == "probes"]
tap.ok("each attached and fired" in said[0], "each was put on a function that was then called", said[0])

# What a recording will lack is known before, with the reason.
ige = rec.path("sources.ige")
subprocess.run([RECORD, "-q", "-o", ige, "--", "true"], capture_output=True, timeout=PATIENCE, check=True)
columns = ("requested", "attached", "reason")
recorded = {r["layer"]: tuple(r.get(c) or None for c in columns)
            for r in rec.dump(ige)[1] if r["record"] == "coverage" and "process" not in r and r["layer"] in
            [s["source"] for s in value["sources"]]}
tap.ok(value["sources"], "sources are tried")
tap.same({s["source"]: tuple(s[c] or None for c in columns) for s in value["sources"]}, recorded,
         "each source is attached as far as a recording has it")
lacking = [s for s in value["sources"] if s["attached"] < s["requested"]]
line = [c for c in value["checks"] if c["id"] == "host"][0]
tap.same(line["status"], "warn" if lacking else "ok", "what is lacking is a warning")
tap.none((s for s in lacking if not s["reason"] or s["source"] + ": " + s["reason"] not in line["text"] or "will lack" not in line["advice"]),
         "with the reason, and with what recordings will lack")

# Started by naming it to its loader, as in the tarball, /proc/self/exe is the loader.
with open(CHECK, "rb") as f:
    loader = re.search(rb"/lib[^\0]*/ld-linux[^\0]*", f.read(1 << 16))
if loader:
    p = subprocess.run([loader.group().decode(), CHECK, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    tap.same(json.loads(p.stdout)["links"], value["links"], "started by its loader it finds the same")
else:
    tap.skip("started by its loader", "optional: this build is linked statically")

# The libraries are there as soon as it made its first call.
env = dict(os.environ, LD_LIBRARY_PATH=DOUBLE)
work = subprocess.Popen([os.path.join(DOUBLE, "train"), "--seconds", "1000"], env=env, stdout=subprocess.DEVNULL)
try:
    deadline = time.monotonic() + PATIENCE
    kinds = []
    while time.monotonic() < deadline and len(kinds) < 2:
        status, seen, err = check("-p", str(work.pid))
        kinds = [x["kind"] for x in seen["libraries"]]
    tap.same(sorted(kinds), ["driver", "runtime"], "the libraries of a process are found")
    tap.none((x for x in seen["libraries"] if x["pid"] != work.pid or not x["path"].startswith(DOUBLE)), "as it sees them")
    tap.none((x["missing"] for x in seen["libraries"] if x["missing"]), "with all their functions")
    own = [(p["pid"], p["name"], p["uid"], p["user"], [x["kind"] for x in p["libraries"]]) for p in seen["processes"]]
    user = pwd.getpwuid(os.geteuid()).pw_name
    tap.same(own, [(work.pid, "train", os.geteuid(), user, own[0][4] if own else None)], "the process is listed with its user")
    tap.same(sorted(own[0][4]), ["driver", "runtime"], "and its libraries")
    status, seen, err = check("--look-only")
    tap.same([p["name"] for p in seen["processes"] if p["pid"] == work.pid], ["train"], "without -p it is among all that use CUDA")
    said = [c["text"] for c in seen["checks"] if c["id"] == "process" and c["text"].startswith(f"{work.pid} ")]
    tap.same(said, [f"{work.pid} train, user {user}: libcudart.so.13, libcuda.so.1"], "and for people it is a line")
    # A Python among them is named, with what is known of it.
    loop = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    try:
        deadline, seen = time.monotonic() + PATIENCE, {"pythons": []}
        while time.monotonic() < deadline and not seen["pythons"]:
            status, seen, err = check("-p", str(loop.pid))
        name = "CPython %d.%d" % sys.version_info[:2]
        tap.same([(x["version"], x["pid"]) for x in seen["pythons"]], [(name, loop.pid)], "a process's Python is found")
        tap.same([x["known"] for x in seen["pythons"]], [(3, 8) <= sys.version_info[:2] <= (3, 15)], "known or not")
    finally:
        loop.kill()
        loop.wait()
finally:
    work.kill()
    work.wait()
tap.done_testing()
