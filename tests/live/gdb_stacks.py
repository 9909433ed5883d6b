# SPDX-License-Identifier: Apache-2.0
"""Native stacks of all threads of a process as gdb finds them."""
import subprocess

SCRIPT = """
import gdb
for t in gdb.selected_inferior().threads():
    t.switch()
    f, at = gdb.newest_frame(), []
    while f and f.is_valid():
        if f.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            at.append(f.pc())
        f = f.older()
    print("stack", t.ptid[1], *at)
"""


def mappings(pid):
    found = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            words = line.split(maxsplit=5)
            start, end = (int(x, 16) for x in words[0].split("-"))
            found.append((start, end, int(words[2], 16), words[5].rstrip("\n") if len(words) > 5 else "?"))
    return found


def place(maps, address):
    """File and place in it of what returns to this address."""
    for start, end, offset, path in maps:
        if start <= address - 1 < end:
            return path, address - 1 - start + offset
    return "?", address


def of(pid, patience=60):
    """tid -> ((file, place), ...), innermost first."""
    maps = mappings(pid)
    p = subprocess.run(["gdb", "-p", str(pid), "-batch", "-nx", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
                        "-ex", "set backtrace past-main on", "-ex", "set backtrace limit 128", "-ex", f"python exec({SCRIPT!r})"],
                       capture_output=True, text=True, timeout=patience)
    stacks = {}
    for line in p.stdout.splitlines():
        words = line.split()
        if words[:1] == ["stack"]:
            stacks[int(words[1])] = tuple(place(maps, int(x)) for x in words[2:])
    return stacks
