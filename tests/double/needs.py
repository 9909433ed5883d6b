#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""needs.py LIST FILE...: adds to LIST (needs.txt) what those programs and libraries import of NVIDIA's libraries.

A symbol belongs to the library whose name is its version; one without a version to the library that the file needs and whose
prefix it has. The driver, the runtime, NCCL and NVML have doubles of their own and are left out."""
import collections
import re
import subprocess
import sys

# The stem of a library's name for symbols that begin so, longest first.
PREFIXES = (("cusparseLt", "libcusparseLt"), ("cublasLt", "libcublasLt"), ("nvJitLink", "libnvJitLink"), ("nvshmem", "libnvshmem_host"),
            ("cusolver", "libcusolver"), ("cusparse", "libcusparse"), ("cublas", "libcublas"), ("curand", "libcurand"),
            ("cuFile", "libcufile"), ("cudnn", "libcudnn"), ("cufft", "libcufft"), ("cupti", "libcupti"), ("nvrtc", "libnvrtc"))
# What a library is called where no file that imports from it says so.
USUAL = {"libcublas": "libcublas.so.13", "libcublasLt": "libcublasLt.so.13", "libcusparseLt": "libcusparseLt.so.0",
         "libcufile": "libcufile.so.0", "libnvshmem_host": "libnvshmem_host.so.3", "libnvJitLink": "libnvJitLink.so.13", "libcurand": "libcurand.so.10"}

# Nobody imports from them; NVIDIA's own libraries need them, so packages look for them.
WITHOUT_SYMBOLS = ("libcublasLt.so.12", "libnvJitLink.so.13")


def out(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def read(path):
    """library -> [version or None, names]"""
    needs = collections.OrderedDict()
    try:
        with open(path) as f:
            for line in f:
                if line[0] == "\t":
                    names.update(line.split())
                elif line[0] != "#" and line.strip():
                    library, version = line.split()
                    names = set()
                    needs[library] = [None if version == "-" else version, names]
    except FileNotFoundError:
        pass
    return needs


def add(needs, path):
    needed = re.findall(r"NEEDED.*\[(lib[^\]]+)\]", out("readelf", "-dW", path))
    for soname in needed:
        if any(soname.startswith(stem + ".so") for _, stem in PREFIXES):
            needs.setdefault(soname, [None, set()])
    for line in out("nm", "-D", "--undefined-only", path).splitlines():
        name, _, version = line.split()[-1].partition("@")
        stem = next((s for p, s in PREFIXES if name.startswith(p) and len(name) > len(p)), None)
        if not stem:
            continue
        soname = version if version.startswith(stem + ".so") else \
            next((n for n in needed if n.startswith(stem + ".so")), USUAL.get(stem))
        if not soname:
            print(f"{path}: no library for {name}", file=sys.stderr)
            continue
        entry = needs.setdefault(soname, [None, set()])
        entry[0] = version or entry[0]
        entry[1].add(name)


def write(path, needs):
    with open(path, "w") as f:
        f.write("# SPDX-License-Identifier: Apache-2.0\n#\n# What real programs import of NVIDIA's libraries, made by needs.py: library, "
                "version of its symbols (-: none), names.\n")
        for library in sorted(needs):
            version, names = needs[library]
            f.write(f"\n{library} {version or '-'}\n")
            f.writelines(f"\t{name}\n" for name in sorted(names))


if len(sys.argv) < 3:
    sys.exit(__doc__)
found = read(sys.argv[1])
for library in WITHOUT_SYMBOLS:
    found.setdefault(library, [None, set()])
for file in sys.argv[2:]:
    add(found, file)
write(sys.argv[1], found)
for library in sorted(found):
    print(f"{library}: {len(found[library][1])}")
