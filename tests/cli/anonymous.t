#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# ingero-merge --anonymize of analyzed recordings: what was found stays found, and nobody is named. The recordings are ingero-demo's
# with names as hostile as a site's may be: a copy of the program has other texts of the same length in place of its own.

import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import ige_reader  # noqa: E402
import tap  # noqa: E402

MERGE, DEMO, CORRELATE, EXPLAIN, EXPORT = (os.path.join(tap.BIN, "ingero-" + p)
                                           for p in ("merge", "demo", "correlate", "explain", "export"))
tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")
path = lambda name: os.path.join(tmp.name, name)  # noqa: E731

NODE = "zyzzyva's rack 7"
# In this order: longer ones first. A user, blanks, an apostrophe, a token, an address, words of the analysis.
NAMES = {
    b"/opt/train/bin/train --epochs 3": b"/home/zoe b/the job --k=hf_Zq9x",
    b"/opt/train/bin/train": b"/home/zoe b/the jobz",
    b"/usr/sbin/log-compactor --all": b"/srv/wyvern/10.77.3.9:81 -p 'x",
    b"/usr/sbin/log-compactor": b"/srv/wyvern/10.77.3.9:81",
    b"/kubepods/pod-train/main": b"/kubepods/pod-zoe b/main",
    b"/kubepods/pod-etl/main": b"/kubepods/p-vqxqv/main",
    b"/opt/embed/bin/embed-server": b"/data/memory/qu ux/bxserver",
    b"embed-server": b"qu ux@blorps",
    b"log-compactor": b"wyv ern(pid 1",
    b"train.cpp": b"zo be.cpp",
    b"embed.cpp": b"blorp.cpp",
    b"loader\0": b"fzb/gl\0",
}
ORIGINALS = ["zyzzyva", "rack 7", "zoe b", "hf_Zq9", "wyvern", "wyv ern", "10.77.3", "vqxqv", "qu ux", "blorp", "zo be", "the job", "fzb/gl"]


def run(program, *args):
    p = subprocess.run([program, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    return p.returncode, p.stdout, p.stderr.decode()


def plain(data):
    """All bytes of a recording, and what is deflated in it inflated."""
    at, out = 0, [data]
    while at < len(data):
        if data[at:at + 4] == b"\x89IGE":
            at += ige_reader.SEGMENT
            continue
        header = ige_reader.Header(data, at)
        out += [c.bytes(1 << 22) for c in ige_reader.columns_of(data, at, header)]
        at += header.length
    return b"\n".join(out)


def hostile_demo():
    with open(DEMO, "rb") as f:
        data = f.read()
    for name, other in NAMES.items():
        data = data.replace(name, (other + b"-" * len(name))[:len(name)])
    with open(path("demo"), "wb") as f:
        f.write(data)
    os.chmod(path("demo"), 0o700)
    return path("demo")


def named_in(data):
    if isinstance(data, str):
        data = data.encode()
    return sorted(n for n in ORIGINALS if any(form.encode() in data for form in {n, json.dumps(n)[1:-1]}))


def found(name):
    answer = json.loads(run(EXPLAIN, "--json", name)[1])
    return answer, [(c["kind"], c["severity"], c["lost_ns"], c["count"], c["first_ns"], c["last_ns"], c["revision"]) for c in answer["chains"]]


demo = hostile_demo()
key = path("site.key")
with open(key, "wb") as f:
    f.write(bytes(range(32)))

SCENARIOS = ("incident", "noisy-neighbour", "throttled", "disk", "lock", "gpu-steal", "worker-starved", "two-nodes", "rank-dies", "gpu-oom",
             "illegal-access", "clock-skew", "graph-capture-failed", "call-hang")
for scenario in sys.argv[1:] or SCENARIOS:
    seen, told, given = (path(f"{scenario}.{n}.ige") for n in ("seen", "told", "given"))
    subprocess.run([demo, scenario, "--seed", "4", "--duration", "2s", "--node", NODE, "-o", seen], check=True)
    subprocess.run([CORRELATE, "-q", seen, "-o", told], check=True)
    with open(told, "rb") as f:
        before = plain(f.read())
    status, out, err = run(MERGE, "--anonymize-key", key, "-o", given, told)
    with open(given, "rb") as f:
        after = plain(f.read())
    tap.ok(status == 0 and "left out" not in err, f"{scenario}: nothing is left out", err)
    tap.ok(len(named_in(before)) >= 4, f"{scenario}: names are in the original", str(named_in(before)))
    tap.same(named_in(after), [], f"{scenario}: and not in what is given away")
    answer, chains = found(told)
    masked, masked_chains = found(given)
    tap.same(masked_chains, chains, f"{scenario}: the same is found, as severe, as long, at the same time")
    tap.ok(b'"paths":[{' in after, f"{scenario}: the analysis is there")
    numbers = lambda a: re.findall(r'"\w*_ns": ?-?\d+|"pid": ?\d+', json.dumps(a["paths"]))  # noqa: E731
    tap.same(numbers(masked), numbers(answer), f"{scenario}: with the same numbers")
    for faces in ([EXPLAIN, given], [EXPLAIN, "--json", given], [EXPORT, "-f", "json", given], [EXPORT, "-f", "chrome", given],
                  [EXPORT, "-f", "perfetto", given]):
        tap.same(named_in(run(*faces)[1]), [], f"{scenario}: nor does {os.path.basename(faces[0])} {' '.join(faces[1:-1])} name anybody")
    text = run(EXPLAIN, told)[1].decode(), run(EXPLAIN, given)[1].decode()
    tap.same(len(text[1].splitlines()), len(text[0].splitlines()), f"{scenario}: explain says as much")
    tap.ok("[left out]" not in text[1], f"{scenario}: of every name there is something", "\n".join(l for l in text[1].splitlines() if "[left out]" in l))
    run(MERGE, "--anonymize-key", key, "-o", path("given.db"), told)
    with open(path("given.db"), "rb") as f:
        tap.same(named_in(f.read()), [], f"{scenario}: nor does an archive")
    os.remove(path("given.db"))
    again = path("again.ige")
    run(MERGE, "--anonymize-key", key, "-o", again, told)
    with open(again, "rb") as a, open(given, "rb") as b:
        tap.ok(a.read() == b.read(), f"{scenario}: the same key, the same bytes and ids")
    ids = {c["id"] for c in answer["chains"]}
    tap.ok(not ids & {c["id"] for c in masked["chains"]} and len({c["id"] for c in masked["chains"]}) == len(ids),
           f"{scenario}: ids lead back to nobody")

tap.done_testing()
