#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The tarball for arm64, built on another machine: the same bytes twice, each file with its checksum, each library with its
# package, and run by qemu-user every program starts with nothing but what is in it, and a generated stall is explained.
. tests/tap.sh

command -v aarch64-linux-gnu-gcc >/dev/null || skip_all "optional: no aarch64-linux-gnu-gcc here"
there=$(realpath --relative-to=. "$BUILD")-arm64
quietly() { make --no-print-directory ARCH=arm64 BUILD="$there" "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; return 1; }; }
quietly features || skip_all "optional: libraries of arm64 cannot be had: $(tail -n 1 "$TMP/log")"
grep -q '^STATIC_LIBS := .' "$TMP/log" || skip_all "nothing can be linked statically for arm64"
ok "make tarball ARCH=arm64" quietly tarball
tarball=$(tail -n 1 "$TMP/log")
first=$(sha256sum <"$tarball")
ok "and again" quietly tarball
is "$(sha256sum <"$tarball")" "$first" "gives the same bytes"
tar -x -f "$tarball" -C "$TMP"
root=$(echo "$TMP"/ingero-*-linux-aarch64)
ok "every file has its checksum" sh -c "cd '$root' && sha256sum -c --quiet SHA256SUMS"
is "$(for f in "$root"/bin/ingero "$root"/lib/*.so.* "$root"/lib/*.elf; do readelf -h "$f" | sed -n 's/.*Machine: *//p'; done | sort -u)" "AArch64" "programs and libraries are of arm64"
is "$(python3 -c 'import json, sys; print([p["name"] for p in json.load(sys.stdin)["packages"] if p["versionInfo"] == "NOASSERTION"])' <"$root/ingero.spdx.json")" "[]" "parts have the versions of their packages"
if tests/emulated aarch64 "$root" true >"$TMP/why"; then
	for p in "$BIN"/*; do
		p=${p##*/}
		like "$(tests/emulated aarch64 "$root" "$root/bin/$p" --version 2>&1)" "^$p [0-9]" "$p starts"
	done
	ok "a stall is generated" tests/emulated aarch64 "$root" "$root/bin/ingero" demo incident -o "$TMP/run.ige"
	like "$(tests/emulated aarch64 "$root" "$root/bin/ingero" explain "$TMP/run.ige")" 'HIGH cpu-preempted' "and explained"
else
	skip "starting them" "optional: $(cat "$TMP/why")"
fi
done_testing
