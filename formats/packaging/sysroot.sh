#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Debian's libraries and headers of another architecture in a folder, for a cross compiler: downloaded and unpacked, nothing is
# installed and no rights are needed. Beside them apt's own state for that architecture, and which package each file is of.
#
#   sysroot.sh ARCH FOLDER PACKAGE...
#
# makes FOLDER/root, FOLDER/apt.conf (APT_CONFIG for more packages) and FOLDER/files, whose lines are
# "path <tab> package <tab> version". A folder that has the last is finished. Of several at a time one makes it, and the others
# wait for that.
set -eu
arch=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
exec 9>"$folder/lock"
flock 9
[ ! -e "$folder/files" ] || exit 0
for program in apt-get dpkg-deb; do
	command -v $program >/dev/null || { echo "ingero: no $program: libraries of $arch are taken from Debian packages" >&2; exit 1; }
done
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
: >"$folder/status"
cat >"$folder/apt.conf" <<CONF
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "0";
Dir::State::lists "$folder/lists";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
Debug::NoLocking "1";
CONF
export APT_CONFIG=$folder/apt.conf DEBIAN_FRONTEND=noninteractive
{ apt-get -q update && apt-get -qy --download-only install "$@"; } >"$folder/log" 2>&1 ||
	{ echo "ingero: packages of $arch cannot be had: $(grep '^E:' "$folder/log" | head -n 1)" >&2; exit 1; }
rm -rf "$folder/root" "$folder/files"
mkdir "$folder/root"
for deb in "$folder"/cache/archives/*.deb; do
	dpkg-deb -x "$deb" "$folder/root"
	# shellcheck disable=SC2016
	dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -n 's|^\.\(/.*[^/]\)$|\1|p' |
		sed "s|\$|\t$(dpkg-deb -W --showformat '${Package}\t${Version}' "$deb")|"
done >"$folder/files.new"
rm -r "$folder/cache/archives"
# Links to absolute paths lead out of the folder.
find "$folder/root" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link to; do
	ln -sfnr "$folder/root$to" "$link"
done
mv "$folder/files.new" "$folder/files"
