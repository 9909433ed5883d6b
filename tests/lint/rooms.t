#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The architecture as a test: which room of lib/ may include which, and who owns a third-party
# header. ROOMS lists the direct arrows; a room may also use everything its own rooms use. A new
# arrow is a decision about the house, made here.

import collections
import glob
import os
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

ROOMS = {
    "base": [],
    "cli": ["base"],
    "model": ["base", "formats"],
    "event": ["model"],
    "world": ["event"],
    "stat": ["base"],
    "ige": ["world"],
    "symbols": ["world", "bpf"],  # bpf: the layout of a CPython, as its walker reads it
    "host": ["world"],
    "filter": ["world"],
    "archive": ["world"],
    # cli: an older command line is said to the front door
    "compat": ["archive", "cli"],
    "bundle": ["base"],
    # bpf: bytes as the kernel side writes them; symbols: lines of Python code
    "decode": ["bpf", "symbols"],
    # filter: which ops are not attached to at all
    "attach": ["decode", "host", "filter"],
    # ige: the recorder writes what it drains; filter: what triggers it
    "record": ["attach", "ige"],
    "sim": ["world", "stat"],
    "clock": ["ige", "stat"],
    # symbols: names for frames, from the symbol tables in a bundle
    # compat: recordings of the older agent, as such
    "input": ["clock", "archive", "compat", "bundle", "filter", "symbols"],
    "attrib": ["world", "stat"],
    "gpustate": ["attrib"],
    "loops": ["attrib"],
    "path": ["loops"],
    # gpustate: names of kernels
    "tracks": ["path", "gpustate"],
    "account": ["tracks"],
    "advice": ["account"],
    "detect": ["advice"],
    "query": ["input", "detect"],
    # tracks: the steps of programs in a timeline
    "export": ["tracks"],
    "report": ["tracks"],
    "html": ["report"],
    "live": ["report"],
    "net": ["base"],
    # cli: it draws on the terminal; host: this machine is shown as well as a generated one
    "demo": ["sim", "query", "report", "cli", "host"],
    # export: answers are kept as formats write them; host: rights are given away before anybody asks
    "store": ["query", "export", "archive", "cli", "host"],
    "api": ["store", "html", "net"],
    "compat/api": ["api"],  # a room in the other one's folder: what is there for the older agent goes away together
    "fleet": ["store", "net"],
    # sim: a generated recording is one that nobody had to bring
    "mcp": ["fleet", "report", "sim"],
}

# header (or its folder) -> the one file or room that includes it
OWNERS = {
    "zlib.h": "lib/base/deflate.c",
    "jv.h": "lib/base/json.c",
    "jq.h": "lib/filter/",
    "libelf.h": "lib/symbols/elf",
    "gelf.h": "lib/symbols/elf",
    "bpf/libbpf.h": "lib/attach/session",  # and what of it fills a file of its own
    "bpf/bpf.h": "lib/attach/session",
    "bpf/btf.h": "lib/attach/session",
    "bpf/ingero.skel.h": "lib/attach/session",
    "ingero.skel.h": "lib/attach/session",
    "sqlite3.h": "lib/archive/",
    "archive.h": "lib/bundle/",
    "archive_entry.h": "lib/bundle/",
    "microhttpd.h": "lib/net/",
    "gnutls/": "lib/net/",
    "nghttp2/": "lib/host/grpc",
    "curl/": "lib/net/",
    "Python.h": "tests/live/python_headers.c",
    "internal/": "tests/live/python_headers.c",
}

# What the C library and the kernel's user-space headers bring.
SYSTEM = set(
    """assert.h ctype.h dirent.h dlfcn.h elf.h endian.h errno.h fcntl.h fnmatch.h getopt.h glob.h grp.h
    inttypes.h libgen.h limits.h link.h locale.h malloc.h math.h mntent.h netdb.h poll.h pthread.h pwd.h regex.h
    sched.h search.h semaphore.h setjmp.h signal.h spawn.h stdalign.h stdarg.h stdatomic.h stdbool.h
    stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h strings.h syscall.h sysexits.h syslog.h
    cpuid.h emmintrin.h immintrin.h termios.h threads.h time.h ucontext.h unistd.h utime.h wchar.h ucred.h fts.h ftw.h pty.h""".split()
)
SYSTEM_FOLDERS = ("sys/", "linux/", "asm/", "net/", "netinet/", "arpa/")


def closure():
    reach = {}

    def visit(room, path):
        if room in path:
            raise SystemExit("cycle: " + " -> ".join(path + [room]))
        if room not in reach:
            found = set()
            for target in ROOMS.get(room, []):
                found |= {target} | visit(target, path + [room])
            reach[room] = found
        return reach[room]

    for room in ROOMS:
        visit(room, [])
    return reach


def includes(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if m:
                yield number, m.group(1), m.group(2)


def owner_of(header):
    for key, owner in OWNERS.items():
        if header == key or (key.endswith("/") and header.startswith(key)):
            return owner
    return None


def room_of(parts):
    below = "/".join(parts[1:3])
    return below if below in ROOMS else parts[1]


def rooms_of(path):
    """(own room, rooms it may include); None: any room."""
    parts = path.split("/")
    if parts[0] == "lib":
        room = room_of(parts)
        return room, REACH.get(room, set()) | {room}
    if parts[0] == "bpf":
        return "bpf", {"bpf", "formats"}
    if parts[0] == "cmd":
        return "cmd", set(ROOMS) | {"formats"}
    return parts[0], None


def check(path, where, kind, header, broken, unknown, owners):
    owner = owner_of(header)
    if owner:
        if not path.startswith("tests/") and not path.startswith(owner):
            owners.append(f"{where}: {header} belongs to {owner}")
        return
    if kind == "<":
        bpf_helpers = path.startswith("bpf/") and header.startswith("bpf/bpf_")
        if header not in SYSTEM and not header.startswith(SYSTEM_FOLDERS) and not bpf_helpers:
            unknown.append(f"{where}: <{header}> is nobody's; name its owner in this test")
        return
    # A skeleton is made from the programs beside it, a text from the file of its name, a table of files from their folder.
    if not os.path.exists(re.sub(r"\.sql\.h$", ".sql", re.sub(r"\.bpf\.skel\.h$", ".bpf.c", re.sub(r"\.files\.h$", "", header)))):
        unknown.append(f"{where}: \"{header}\" is not a path from the repository root")
        return
    own, allowed = rooms_of(path)
    parts = header.split("/")
    target = room_of(parts) if parts[0] == "lib" else parts[0]
    if own != "tests" and target == "tests":
        broken.append(f"{where}: product code includes {header}")
    elif target == "cmd":
        broken.append(f"{where}: nobody includes cmd/")
    elif allowed is not None and target not in allowed:
        broken.append(f"{where}: {own} may not use {target} ({header})")


REACH = closure()
tap.ok(True, "the table of rooms has no cycle")
tap.none(
    (d for d in sorted(next(os.walk("lib"))[1]) if d not in ROOMS and os.listdir("lib/" + d)),
    "every folder of lib/ is a room of the table",
)
broken, unknown, owners = [], [], []
files = [f for p in ("lib", "cmd", "bpf", "tests") for e in ("c", "h") for f in glob.glob(f"{p}/**/*.{e}", recursive=True)]
for path in sorted(files):
    for number, kind, header in includes(path):
        if path.startswith("tests/double/"):
            continue  # stands for other people's libraries: on its own
        check(path, f"{path}:{number}", kind, header, broken, unknown, owners)
tap.none(broken, f"arrows between rooms point one way ({len(files)} files)")
tap.none(owners, "a third-party header has one owner")
tap.none(unknown, "every included header is known")
sources = collections.defaultdict(list)
for path in glob.glob("lib/**/*.c", recursive=True):
    sources[os.path.basename(path)].append(path)
tap.none((" and ".join(sorted(v)) for v in sources.values() if len(v) > 1), "no two files of lib/ have one name")
LINES_MOST = 10_000  # of one room; a larger one is to be split
sizes = {d: sum(len(open(f, encoding="utf-8").readlines()) for f in glob.glob(f"lib/{d}/**/*.[ch]", recursive=True)) for d in ROOMS}
tap.none((f"{d}: {n} lines" for d, n in sizes.items() if n > LINES_MOST), "no room is larger than it may be")
tap.done_testing()
