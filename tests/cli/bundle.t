#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Bundles on the command line: made of a recording, taken by every program for that recording, and refused when they
# are none. That names come out of them is looked at in tests/unit/bundle.c.

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

tmp = tempfile.TemporaryDirectory(prefix="ingero-test.")


def path(name):
    return os.path.join(tmp.name, name)


def run(program, *args, stdin=b""):
    p = subprocess.run([os.path.join(tap.BIN, "ingero-" + program), *args], input=stdin, capture_output=True, timeout=60)
    return p.returncode, p.stdout, p.stderr.decode()


IGE, IGB = path("run.ige"), path("run.igb")
status, out, err = run("demo", "-o", IGE, "cpu-steal")
if status:
    status, out, err = run("demo", "-o", IGE)
tap.ok(status == 0, "a recording", err)
status, out, err = run("record", "--bundle", IGE)
if status == 3 and "libarchive" in err:
    tap.skip_all("optional: no libarchive here")
tap.ok((status, out) == (0, b""), "is packed", err)
tap.ok(f"bundle {IGB}:" in err, "which is told", err)
tap.same(oct(os.stat(IGB).st_mode & 0o777), "0o600", "for nobody else")
first = open(IGB, "rb").read()
run("record", "-q", "--bundle", IGE)
tap.ok(open(IGB, "rb").read() == first, "the same recording is the same bundle, over the one that was there")
status, out, err = run("record", "-q", "--bundle", "-o", "-", IGE)
tap.ok((status, out, err) == (0, first, ""), "also on standard output", err)
tap.same(sorted(os.listdir(tmp.name)), ["run.ige", "run.igb"][::-1], "nothing else is left")

for program, *args in (["stat", "--json"], ["stat", "--last", "100ms", "--json"], ["explain", "--json"], ["correlate"],
                       ["merge", "--recover"]):
    whole, packed = run(program, *args, IGE), run(program, *args, IGB)
    tap.ok(whole[:2] == packed[:2] and whole[0] == 0, f"{program} {' '.join(args)}: the same as of the recording",
           packed[2] + whole[2])
status, out, err = run("merge", IGB, IGE)
tap.ok(status == 0 and "same recording" in err, "beside the recording it is the same one", err)

# ---- what is refused


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)
    return path(name)


before = open(IGE, "rb").read()
for args, want, words in (([IGE, IGE], 2, "one recording"), ([path("none.ige")], 3, "No such file"),
                          (["-o", path("no/such/dir.igb"), IGE], 3, "No such file"), ([tmp.name], 2, "is no file"),
                          ([write("text.ige", b"hello\n" * 20)], 4, "not an .ige"), ([write("empty.ige", b"")], 4, "is empty")):
    status, out, err = run("record", "--bundle", *args)
    tap.ok(status == want and words in err and out == b"", f"--bundle {' '.join(os.path.basename(a) for a in args)}: {words}", f"{status}: {err}")
status, out, err = run("record", "--bundle", "-o", "-", "--", "true")
if "built without BPF" not in err:
    tap.ok(status == 2 and "-o FILE" in err, "while recording a bundle needs a file", err)
for cut in (3, 20, len(first) // 2, len(first) - 20):
    status, out, err = run("stat", write("cut.igb", first[:cut]))
    tap.ok(status == 4 and ("bundle" in err or "not an .ige" in err), f"a bundle of its first {cut} bytes is damaged", f"{status}: {err}")
status, out, err = run("stat", "-", stdin=first)
tap.ok(status == 4, "a bundle in a pipe is no recording", err)
tap.same(open(IGE, "rb").read(), before, "the recording is as it was")
tap.done_testing()
