#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Python frames are the truth (pythons.py) also for interpreters that this machine does not have: those of Debian's next
# releases, each in a root of its own as in a container; as an executable, as a library, with machine code made at
# run time, with debugging compiled in.
#
# Heavy: each is fetched, and made to be found by every way to it; live/python.t does the same with those that are here.
import os
import shlex
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pythons
import recording as rec
from recording import tap

rec.need_bpf()
NEEDED = ["libc6", "libgcc-s1", "libffi8", "zlib1g", "libexpat1", "libzstd1"]
VERSIONS = ["3.13", "3.14", "3.15"]
PARTS = ["python%s-minimal", "libpython%s-minimal", "libpython%s-stdlib", "libpython%s"]
# A program that becomes Python only after it has begun, by a library it looks for itself.
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char name[64];
	void *library;
	int (*run)(int, char **);

	snprintf(name, sizeof(name), "libpython%s.so.1.0", strstr(argv[0], "host") + 4);
	library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	if (!library || !(run = (int (*)(int, char **))dlsym(library, "Py_BytesMain")))
		return fprintf(stderr, "%s\n", dlerror()), 1;
	return run(argc, argv);
}
"""


def make_root(suite, packages):
    """(path, None) or (None, why not)."""
    p = subprocess.run([os.path.join(rec.HERE, "debian_root"), suite, *packages], capture_output=True, text=True,
                       env=dict(os.environ, BUILD=rec.BUILD))
    if p.returncode:
        return None, (p.stdout.strip() or p.stderr.strip() or "status %d" % p.returncode).splitlines()[-1]
    root = p.stdout.strip()
    for path in [pythons.FRAMES, *(os.path.join(rec.DOUBLE, x) for x in ("libcudart.so.13", "libcuda.so.1"))]:
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        shutil.copy2(path, root + path)
    return root, None


def of_release(suite):
    root, why = make_root(suite, [p % v for v in VERSIONS for p in PARTS] + NEEDED)
    if why:
        tap.ok(True, f"Debian {suite} # SKIP optional: {why}")
        return
    for v in VERSIONS:
        inside = f"/usr/bin/python{v}"
        if not os.path.exists(root + inside):
            tap.ok(True, f"Debian {suite}: Python {v} # SKIP optional: not in this release")
            continue
        run(pythons.Python(["chroot", root, inside], root, f"Debian {suite}"))
        if v >= "3.14":
            compiled(pythons.Python(["chroot", root, inside], root, f"Debian {suite}, with machine code", PYTHON_JIT=1))
        # In a container there is one more thing: its processes have numbers of their own.
        contained = pythons.Python(["unshare", "--pid", "--fork", "--mount", "chroot", root, inside], root, f"Debian {suite}, own numbers", own_pids=True)
        if contained.supported():
            pythons.kinds_of(contained, "nested,through_c,threads,forked")
        else:
            tap.ok(True, f"{contained.name} # SKIP optional: {contained.why}")
        shutil.copy2(host, f"{root}/usr/bin/host{v}")
        run(pythons.Python(["chroot", root, f"/usr/bin/host{v}"], root, f"library, Debian {suite}"))


def run(python):
    if tap.ok(python.supported(), f"{python.name} starts", python.why):
        pythons.known(python)


def compiled(python):
    """With machine code made at run time of what runs often."""
    said, calls, _, _ = pythons.recorded(python.name, python, ["hot"])
    wrong = pythons.differs(said, calls)
    made = sum(s["part"] == "machine code" for s in said)
    tap.ok(len(said) > 9000 and not wrong, f"{python.name}: {len(said)} stacks, {made} of them out of machine code", pythons.explain(wrong))


host, source = rec.path("host"), rec.path("host.c")
with open(source, "w", encoding="utf-8") as f:
    f.write(HOST)
subprocess.run(["gcc", "-O1", source, "-o", host, "-ldl"], check=True)
for suite in sys.argv[1:] or ["sid"]:
    of_release(suite)
tap.done_testing()
