#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The kernel side on every architecture it is written for, whatever machine this is: it compiles and links, its
# registers are those of the calling convention (real calls, run natively or under an emulator), its system call
# numbers are those of the headers, and the table of traced functions only asks for arguments it can get.
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

ARCHES = {"x86": "x86_64", "arm64": "aarch64"}
HERE = {v: k for k, v in ARCHES.items()}.get(os.uname().machine)
scratch = tempfile.TemporaryDirectory(prefix="ingero-bpf-")
features = dict(re.findall(r"^(\w+) := (.*)$", open(os.path.join(tap.BUILD, "features.mk")).read(), re.M))
clang, bpftool, multiarch = features.get("BPFCLANG"), features.get("BPFTOOL"), features.get("MULTIARCH")
own_libbpf = [w for w in features.get("HAVE_LIBBPF", "").split() if w.startswith("-I")]
build_cc = shlex.split(os.environ.get("INGERO_COMPILE", "cc"))
build_cc = [w for w in build_cc if not w.endswith("ccache")][:1]


def run(command):
    r = subprocess.run(command, capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


# ---- compiles and links
sources = sorted(glob.glob("bpf/*.bpf.c"))
for arch in ARCHES:
    if not clang or not bpftool or not features.get("HAVE_LIBBPF"):
        tap.skip(f"{arch}: compiles", "optional: this build has no clang, bpftool or libbpf")
        continue
    objects, bad = [], []
    for source in sources:
        objects.append(os.path.join(scratch.name, f"{arch}.{os.path.basename(source)}.o"))
        rc, _, err = run([clang, "-g", "-O2", "-target", "bpf", "-mcpu=v3", f"-D__TARGET_ARCH_{arch}", "-Wall", "-Werror",
                          "-Wno-missing-declarations", *(["-idirafter", f"/usr/include/{multiarch}"] if multiarch else []), "-I.",
                          *own_libbpf, "-c", source, "-o", objects[-1]])
        bad += [err] if rc else []
    tap.none(bad, f"{arch}: {len(sources)} files compile")
    rc, _, err = run([bpftool, "gen", "object", os.path.join(scratch.name, f"{arch}.o"), *objects])
    tap.ok(rc == 0, f"{arch}: and link", err)

# ---- calls of this architecture, seen through bpf/regs.h
for arch, machine in ARCHES.items():
    native = arch == HERE
    cc = build_cc if native else [shutil.which(f"{machine}-linux-gnu-gcc")]
    emulator = [] if native else [shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")]
    if not cc[0] or None in emulator:
        tap.skip(f"{arch}: calls", f"optional: no compiler or emulator for {machine} here")
        continue
    program = os.path.join(scratch.name, f"{arch}.regs")
    rc, _, err = run([*cc, "-std=gnu11", "-D_GNU_SOURCE", f"-D__TARGET_ARCH_{arch}", "-O1", "-fno-omit-frame-pointer",
                      "-fno-optimize-sibling-calls", "-Wno-attributes", *(["-static"] if emulator else []), "-I.", "-idirafter",
                      "/usr/include", "tests/lint/bpf_regs.c", "-o", program])
    if not tap.ok(rc == 0, f"{arch}: the calls compile", err):
        continue
    rc, out, err = run([*emulator, program])
    tap.ok(rc == 0 and out.count("\nok ") >= 14, f"{arch}: arguments, caller, frames and result are where they are looked for", out + err)

# ---- system call numbers against the headers
table = re.findall(r"X\(CALL_\w+, (\w+), (\d+), (\d+|ABSENT\(\d+\))\)", open("bpf/syscalls.h").read())
tap.ok(len(table) > 40, f"{len(table)} system calls are in the table")
# What the header of arm64 says before it includes the generic one, for machines that do not have it.
GENERIC = "".join(f"#define __ARCH_WANT_{w}\n" for w in ("RENAMEAT", "NEW_STAT", "SET_GET_RLIMIT", "TIME32_SYSCALLS", "SYS_CLONE3", "MEMFD_SECRET")) + \
    "#define __BITS_PER_LONG 64\n#include <asm-generic/unistd.h>\n"
for column, (arch, machine) in enumerate(ARCHES.items(), 1):
    cross = shutil.which(f"{machine}-linux-gnu-gcc")
    cc = build_cc if arch == HERE else [cross] if cross else build_cc
    text = "#include <asm/unistd.h>\n" if arch == HERE or cross else GENERIC
    if arch == "x86" and arch != HERE and not cross:
        tap.skip(f"{arch}: numbers", f"optional: no headers of {machine} here")
        continue
    r = subprocess.run([*cc, "-E", "-dM", "-x", "c", "-"], input=text, capture_output=True, text=True)
    defined = dict(re.findall(r"^#define (__NR(?:3264)?_\w+) (\w+)$", r.stdout, re.M))
    bad, met = [], 0
    for row in table:
        says = defined.get("__NR_" + row[0])
        says = defined.get(says, says)  # one name may stand for another
        if says is None:  # newer than these headers: new calls have one number everywhere
            if row[column].isdigit() and row[1] != row[2]:
                bad.append(f"{row[0]}: the headers have none")
            continue
        met += 1
        if row[column] != says:
            bad.append(f"{row[0]}: {row[column]}, the headers say {says}")
    tap.none(bad, f"{arch}: their numbers are those of the headers")
    tap.ok(met > 40, f"{arch}: {met} of them compared")

# ---- the table of traced functions
# Six words come from registers and three from the stack; what a pointer leads to is read as one window.
bad = []
for symbol, fields in re.findall(r'^SYMBOL\(\w+, "(\w+)", [^,]+, \w+, FIELDS\((.*)\)\)$', open("formats/ops.def").read(), re.M):
    for kind, numbers in re.findall(r"(\w+)\(([\d, ]+)\)", fields):
        i = [int(n) for n in numbers.split(",")]
        words = {"MUL": i, "MUL_TIMES": i[:2], "SUM": i, "NCCL_BYTES": i, "ARG_BEHIND": i, "ARG32_BEHIND": i,
                 "DIM3": [i[0] + 1], "ARGS3": [i[0] + 2], "CONST": []}.get(kind, i[:1])
        bad += [f"{symbol}: {kind}({numbers}) is word {w}, which is not read" for w in words if w > 8]
tap.none(bad, "no function asks for an argument that is not there")
tap.done_testing()
