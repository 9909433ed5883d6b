#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# libbpf built in a folder, for releases whose own is older than 1.0 (Ubuntu 22.04 has 0.5, Debian 11 has 0.3): its source as
# Debian and Ubuntu distribute it. Nothing is installed and no rights are needed.
#
#   libbpf.sh FOLDER COMPILER...
#
# makes FOLDER/lib/libbpf.a, FOLDER/include/bpf and FOLDER/include/linux/bpf.h of its time, FOLDER/version and FOLDER/copyright. A folder that has the first is finished.
set -eu
version=1.5.0
sha256=53492aff6dd47e4da04ef5e672d753b9743848bdb38e9d90eafbe190b7983c44
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
archive=libbpf_$version.orig.tar.gz
"${0%/*}/fetch.sh" pool/main/libb/libbpf/$archive $sha256 "$folder/$archive"
rm -rf "$folder/source" "$folder/made"
mkdir "$folder/source"
tar -xzf "$folder/$archive" --strip-components=1 -C "$folder/source"
unset MAKEFLAGS MAKELEVEL # a make around this one has no built-in variables, which libbpf's has
# The compiler may be several words.
make -s -C "$folder/source/src" CC="$*" CFLAGS='-O2 -g -fPIE' BUILD_STATIC_ONLY=1 NO_PKG_CONFIG=1 OBJDIR="$folder/source/made" \
	DESTDIR="$folder/made" PREFIX= LIBDIR=/lib install >"$folder/log" 2>&1 ||
	{ echo "ingero: libbpf $version cannot be built: $(grep -m 1 -E 'error:|^make' "$folder/log")" >&2; exit 1; }
rm -rf "$folder/include"
mv "$folder/made/include" "$folder/include"
mkdir "$folder/include/linux"
mv "$folder/source/include/uapi/linux/"bpf{,_common}.h "$folder/include/linux"
cat "$folder/source/LICENSE" "$folder"/source/LICENSE.* >"$folder/copyright"
echo $version >"$folder/version"
rm -r "$folder/source" "${folder:?}/$archive"
mkdir -p "$folder/lib"
mv "$folder/made/lib/libbpf.a" "$folder/lib/libbpf.a"
rm -r "$folder/made"
