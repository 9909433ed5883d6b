#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a container image of a tarball: its programs, libraries, licences and list of parts.
#
#   image.sh ENGINE TARBALL TAG
#
# With ENGINE "none" only the root file system is made, as TAG, a tar file.
set -eu
engine=$1 tarball=$(realpath "$2") tag=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root"
tar -x -f "$tarball" -C "$work/root" --strip-components=1
(cd "$work/root" && rm -rf share README.md SHA256SUMS && mkdir -p -m 1777 tmp && mkdir -p -m 755 var/lib && mkdir -m 700 var/lib/ingero)
tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:?}" --owner=0 --group=0 --numeric-owner --format=gnu -C "$work/root" -c . >"$work/root.tar"
if [ "$engine" = none ]; then
	mv "$work/root.tar" "$tag"
	exit 0
fi
cp "$here/Containerfile" "$work/Containerfile"
rm -rf "$work/root"
case $engine in
buildah) buildah bud --timestamp "$SOURCE_DATE_EPOCH" -t "$tag" -f "$work/Containerfile" "$work" ;;
podman) podman build --timestamp "$SOURCE_DATE_EPOCH" -t "$tag" -f "$work/Containerfile" "$work" ;;
*) "$engine" build -t "$tag" -f "$work/Containerfile" "$work" ;;
esac >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
printf '%s: %s bytes, compressed %s\n' "$tag" "$(stat -c %s "$work/root.tar")" "$(gzip -9n <"$work/root.tar" | wc -c)"
