#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stubs.py LIBRARY OUT: writes the rows of a stub library for stubs.c to OUT, and its version script to OUT.map.

The names are those of needs.txt; stubs.def has the rows of those that must answer something. The others are one of
CREATE (gives a handle through the first argument), KERNEL (gives the device one kernel) and PLAIN (returns 0)."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# No work of the device's, whatever else they are named.
ABOUT = re.compile(r"Create|Destroy|Set|Get|[Bb]uffer[Ss]ize|Version|Logger|Init|Descr|Info|Params|Property|Check")
WORK = re.compile(r"cublas|cusolverDn|cusparse\w*(SpM|SDDMM|SpSV|SpSM|bsrm|csrgeam|Xcsr|bsrs)|cufft(Xt)?Exec|cudnn(Backend)?Execute|"
                  r"cudnn(Convolution|BatchNorm|RNN(Forward|Backward)|CTCLoss)|cusparseLtMatmul$")


def needed(library):
    """The version of a library's symbols ("-": none) and their names."""
    version, names, here = "-", [], False
    with open(os.path.join(HERE, "needs.txt")) as f:
        for line in f:
            if line[0] == "\t":
                names += line.split() if here else []
            elif line[0] != "#" and line.strip():
                here = line.split()[0] == library
                version = line.split()[1] if here else version
    return version, names


def answers():
    with open(os.path.join(HERE, "stubs.def")) as f:
        return {m[1]: m[0] for m in re.finditer(r"^ANSWER\([^,]+, (\w+),.*\)$", f.read(), re.M)}


def row(name, answer):
    if name in answer:
        return answer[name]
    if WORK.match(name) and not ABOUT.search(name):
        return f"KERNEL({name})"
    return f"CREATE({name})" if "Create" in name else f"PLAIN({name})"


library, path = sys.argv[1:]
version, names = needed(library)
answer = answers()
with open(path, "w") as f:
    f.write("".join(row(n, answer) + "\n" for n in names))
with open(path + ".map", "w") as f:
    f.write((version + " " if version != "-" else "") + "{ global: *; };\n")
