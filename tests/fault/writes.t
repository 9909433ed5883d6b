#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Disks that are full or broken, calls that are interrupted or done in part: at every place where a program writes, names or
# reads a file. The result is whole and as ever, or what was there is untouched and the message names what and where.
import errno
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults as f
from faults import tap

f.injecting()
f.prepare()
FEW = 4  # places of a kind
NO_ROOM = ("ENOSPC", "EIO", "EDQUOT", "EFBIG")


def text(name):
    return os.strerror(getattr(errno, name))


def harmed(case, good, calls, kinds, at, forms=("",), why=True, reads=False, few=FEW):
    """Each of the errors, at each place of these calls (form "+": from there on); a list of complaints, how many runs."""
    bad, runs = [], 0
    count = f.counted(case, f"{calls}:0:EIO", at=at)[0]
    for n in f.places(count, few):
        for form in forms:
            for kind in kinds if f.ALL else [kinds[(n + runs) % len(kinds)]]:
                there = runs % 2 == 1
                rule = f"{calls}:{n}{form}:{kind}"
                r = f.run(case, f.inject(rule, at=at), there)
                said = f.wrong(case, r, good, there, [text(kind)] if why else None, reads=reads)
                runs += 1
                if said:
                    bad.append(f"{rule}: {said}")
    return bad, runs


for case in f.CASES:
    good = f.run(case)
    tap.same((good.status, good.left), (0, []), f"{case.name}: without harm")

    everywhere = f.path("") if case.ending or case.beside or case.program == "query" else None
    ours = "writes,reads" if everywhere else "writes"  # the loader's reads are not ours
    bad, runs = harmed(case, good, "writes,writev", NO_ROOM, everywhere, ("", "+"))
    tap.none(bad, f"{case.name}: {runs} writes that fail")
    bad, runs = harmed(case, good, "fsync,fdatasync,ftruncate,fallocate,linkat,rename,renameat,renameat2", ("EIO", "ENOSPC"),
                       everywhere or f.path("out"))
    tap.none(bad, f"{case.name}: {runs} that make room, keep or name")
    # What cannot be closed was not written; of what is only read nobody has to care.
    bad, runs = harmed(case, good, "close", ("EIO",), f.path("out"))
    tap.none(bad, f"{case.name}: {runs} closed")
    bad, runs = harmed(case, good, "openat,open", ("ENOSPC", "EACCES", "EMFILE"), f.path("out"), ("", "+"))
    tap.none(bad, f"{case.name}: {runs} made")
    bad, runs = harmed(case, good, "openat,open", ("EIO", "EMFILE", "EACCES"), f.path("in"))
    tap.none(bad, f"{case.name}: {runs} opened")
    bad, runs = harmed(case, good, "reads,lseek", ("EIO",), f.path("in"), ("", "+"), reads=True)
    tap.none(bad, f"{case.name}: {runs} reads that fail")

    # Nothing is wrong: interrupted, and taken up again; a part now, the rest then; a file system without nameless files.
    for what, rules in (("interrupted", (f"{ours},writev:/2:EINTR",)), ("in parts", (f"{ours}:/1:short",)),
                        ("both", (f"{ours}:/3:EINTR", f"{ours}:/2:short"))):
        r = f.run(case, f.inject(*rules, at=everywhere), True)
        tap.ok(not (r.status or f.wrong(case, r, good, True)), f"{case.name}: {what}", f.wrong(case, r, good, True))
    if case.program == "merge":  # its threads are for comfort
        r = f.run(case, f.inject("forks:1+:EAGAIN"), True)
        tap.ok(not (r.status or f.wrong(case, r, good, True)), f"{case.name}: without threads", f.wrong(case, r, good, True))
    if case.ending and not case.over:  # what is there already is read by that name first
        r = f.run(case, f.inject("openat,open:1:EOPNOTSUPP", at=f.path("out") + "/"), False)
        tap.ok(not (r.status or f.wrong(case, r, good, False)), f"{case.name}: by a name of its own", f.wrong(case, r, good, False))
tap.done_testing()
