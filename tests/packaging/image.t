#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The container image: 15 MB as a registry keeps it, nothing in it but programs and their libraries, and its entry works
# from that root file system; built by a container engine where one is here.
. tests/tap.sh

quietly() { make --no-print-directory INSTALL=no BUILD="$BUILD" "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; return 1; }; }
grep -q '^STATIC_LIBS := .' "$BUILD/features.mk" || skip_all "nothing can be linked statically here"
export SOURCE_DATE_EPOCH=1700000000
ok "its tarball" quietly "dist=$TMP/dist" tarball
ok "its root file system" formats/packaging/image.sh none "$(tail -n 1 "$TMP/log")" "$TMP/root.tar"
size=$(gzip -9n <"$TMP/root.tar" | wc -c)
echo "# compressed $size bytes, unpacked $(wc -c <"$TMP/root.tar")"
ok "no more than 15 MiB, compressed" test "$size" -le $((15 << 20))
mkdir "$TMP/root"
tar -x -f "$TMP/root.tar" -C "$TMP/root"
is "$(cd "$TMP/root" && ls | tr '\n' ' ')" "LICENSE bin ingero.spdx.json lib licenses tmp var " "nothing else is in it"
mkdir -p "$TMP/root/proc"
chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)
export chroot
entry() { unshare -mn sh -c 'mount --bind /proc "$1/proc" && root=$1 && shift && exec env -i PATH=/bin "$chroot" "$root" "$@"' sh "$TMP/root" "$@"; }
if unshare -mn true 2>/dev/null; then
	like "$(entry ingero --version)" '^ingero [0-9]' "its entry"
	for p in "$BIN"/ingero-*; do
		like "$(entry "${p##*/}" --version 2>&1)" "^${p##*/} [0-9]" "${p##*/} runs in it"
	done
else
	skip "its entry" "optional: no namespaces can be made here"
fi
if command -v podman >/dev/null || command -v buildah >/dev/null; then
	ok "an engine builds it" quietly image
	like "$(tail -n 1 "$TMP/log")" '^ingero:.* bytes, compressed' "and says how large it is"
else
	skip "an engine" "optional: neither podman nor buildah here"
fi
done_testing
