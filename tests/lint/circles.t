#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Files of the library call each other one way: what two files need stands in a third. Read from the
# objects of the build, so that it holds whatever the headers say.

import collections
import os
import shutil
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

objects = []
with open(os.path.join(tap.BUILD, "libingero.list")) as f:
    objects = sorted(f.read().split())
if not shutil.which("nm"):
    tap.skip_all("no nm here")

# nm -A: "lib/base/buf.o: 0000000000000000 T buf_putc", with no address where it is undefined
defined, wanted = {}, collections.defaultdict(set)
for line in subprocess.run(["nm", "-A", *objects], capture_output=True, text=True, check=True).stdout.splitlines():
    place, _, rest = line.partition(":")
    kind, name = rest.split()[-2:]
    if kind in "TDRBCVW":
        defined[name] = place
    elif kind == "U":
        wanted[place].add(name)
uses = {o: sorted({defined[n] for n in wanted[o] if n in defined} - {o}) for o in objects}
tap.ok(sum(map(len, uses.values())) > len(objects), f"calls between {len(objects)} files were seen")


def circles():
    """Tarjan's strongly connected components of more than one file, without recursion."""
    index, low, stack, number = {}, {}, [], 0
    for root in objects:
        work = [(root, iter(uses[root]))] if root not in index else []
        while work:
            v, rest = work[-1]
            if v not in index:
                index[v] = low[v] = number
                number += 1
                stack.append(v)
            for w in rest:
                if w not in index:
                    work.append((w, iter(uses[w])))
                    break
                if w in stack:
                    low[v] = min(low[v], index[w])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[v])
                if low[v] == index[v]:
                    at = stack.index(v)
                    found = stack[at:]
                    del stack[at:]
                    if len(found) > 1:
                        yield found


def explain(found):
    short = lambda o: os.path.relpath(o, tap.BUILD)[:-2]  # noqa: E731
    return "; ".join(
        f"{short(a)} calls {sorted(n for n in wanted[a] if defined.get(n) == b)[0]} of {short(b)}"
        for a in found
        for b in uses[a]
        if b in found
    )


tap.none(map(explain, circles()), "no two of them call each other, nor in a longer circle")
tap.done_testing()
