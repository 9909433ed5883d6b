#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The list of parts of a tarball, as SPDX 2.3 JSON on standard output: every file with its checksum, and every library
# of others with the package and version it came from. Their licences go beside it, into licenses/, as Debian words them.
#
#   sbom.py STAGE NAME VERSION TAKEN SECONDS
#
# TAKEN has a line "FILE <tab> LIBRARY" for each copied library; SECONDS is the time to be told. SYSROOT is where libraries of
# another machine are, unpacked by sysroot.sh; "" or / where they are this machine's.

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

# What may be inside programs that are linked statically: the archive, and its package's licence.
INSIDE = {"libc.a": "LGPL-2.1-or-later", "libz.a": "Zlib", "libelf.a": "GPL-2.0-or-later OR LGPL-3.0-or-later",
          "libbpf.a": "LGPL-2.1-only OR BSD-2-Clause", "libsqlite3.a": "blessing"}


# libbpf made here, where the distribution's is too old (libbpf.sh); empty where it is not in the programs.
LIBBPF = os.environ.get("LIBBPF", "")
with open("/etc/os-release", encoding="utf-8") as release:  # platform reads it from Python 3.10 on, Debian 11 has 3.9
    DISTRIBUTION = (re.findall(r"""^ID=["']?([^"'\n]+)""", release.read(), re.M) or ["debian"])[0]
SYSROOT = os.path.realpath(os.environ.get("SYSROOT") or "/").rstrip("/")


@functools.cache
def unpacked():
    """{path: (package, version)} of a sysroot."""
    with open(f"{SYSROOT}/../files", encoding="utf-8") as f:
        return {path: (package, version) for path, package, version in (line.rstrip("\n").split("\t") for line in f)}


@functools.cache
def package_of(path):
    """(name, version) of Debian's package with this file."""
    if LIBBPF and path.startswith(LIBBPF):
        return "libbpf", open(f"{LIBBPF}/version", encoding="utf-8").read().strip()
    if SYSROOT and path.startswith(SYSROOT):
        path = path.removeprefix(SYSROOT)
        found = [unpacked()[p] for p in (path, path.removeprefix("/usr"), "/usr" + path) if p in unpacked()]
        return found[0] if found else (os.path.basename(path), "NOASSERTION")
    for candidate in (path, path.removeprefix("/usr"), "/usr" + path):
        found = subprocess.run(["dpkg", "-S", candidate], capture_output=True, text=True)
        if found.returncode == 0:
            name = found.stdout.split(": ")[0].split(",")[0]
            version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True)
            return name.split(":")[0], version.stdout
    return os.path.basename(path), "NOASSERTION"


def archive(name):
    if LIBBPF and name == "libbpf.a":
        return f"{LIBBPF}/lib/{name}"
    path = subprocess.run([*os.environ["CC"].split(), "-print-file-name=" + name], capture_output=True, text=True).stdout.strip()
    return os.path.realpath(path) if "/" in path else None


def purl(package):
    if LIBBPF and package[0] == "libbpf":
        return f"pkg:generic/libbpf@{package[1]}"
    return f"pkg:deb/{'debian' if SYSROOT else DISTRIBUTION}/{package[0]}@{package[1]}"


def digest(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(f.read()).hexdigest()


def spdx_id(kind, text):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def main():
    stage, name, version, taken, seconds = sys.argv[1:]
    libraries = dict(line.rstrip("\n").split("\t") for line in open(taken))
    packages, licenses = {}, {}
    for path in libraries.values():
        packages[package_of(path)] = None
    static = {}
    for base, license_text in INSIDE.items():
        if archive(base):
            static[package_of(archive(base))] = license_text
    for package in [*packages, *static]:
        words = f"{LIBBPF}/copyright" if LIBBPF and package[0] == "libbpf" else f"{SYSROOT}/usr/share/doc/{package[0]}/copyright"
        if os.path.exists(words):
            os.makedirs(f"{stage}/licenses", exist_ok=True)
            shutil.copyfile(words, f"{stage}/licenses/{package[0]}.txt")
            licenses[package] = f"see licenses/{package[0]}.txt"

    files = []
    for folder, _, names in os.walk(stage):
        for base in names:
            path = os.path.join(folder, base)
            if not os.path.islink(path):
                files.append(os.path.relpath(path, stage))
    files.sort()
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds))),
                         "creators": ["Tool: ingero-tarball"]},
        "documentDescribes": ["SPDXRef-ingero"],
        "packages": [{
            "SPDXID": "SPDXRef-ingero", "name": "ingero", "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "Apache-2.0 AND (GPL-2.0-only OR BSD-3-Clause)",
            "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION"}],
        "files": [{"SPDXID": spdx_id("File", f), "fileName": "./" + f,
                   "checksums": [{"algorithm": "SHA256", "checksumValue": digest(os.path.join(stage, f))}],
                   "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"} for f in files],
        "relationships": [],
    }
    relations = document["relationships"]
    relations.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-ingero"})
    for package in sorted({*packages, *static}):
        document["packages"].append({
            "SPDXID": spdx_id("Package", package[0]), "name": package[0], "versionInfo": package[1],
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": static.get(package, "NOASSERTION"),
            "licenseComments": licenses.get(package, "the build machine had no text of it"), "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl(package)}]})
        relations.append({"spdxElementId": "SPDXRef-ingero",
                          "relationshipType": "STATIC_LINK" if package in static else "DYNAMIC_LINK",
                          "relatedSpdxElement": spdx_id("Package", package[0])})
    for f in files:
        relations.append({"spdxElementId": "SPDXRef-ingero", "relationshipType": "CONTAINS", "relatedSpdxElement": spdx_id("File", f)})
        if f in libraries:
            relations.append({"spdxElementId": spdx_id("File", f), "relationshipType": "GENERATED_FROM",
                              "relatedSpdxElement": spdx_id("Package", package_of(libraries[f])[0])})
    # A name of its own for every content.
    content = "".join(f["checksums"][0]["checksumValue"] for f in document["files"])
    document["documentNamespace"] = f"urn:ingero:spdx:{name}:{hashlib.sha256(content.encode()).hexdigest()}"
    json.dump(document, sys.stdout, indent=1)
    print()


main()
