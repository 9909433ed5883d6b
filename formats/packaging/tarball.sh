#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the tarball for machines without a network, the same bytes from the same build: every program, the libraries of those
# that are not linked statically, the manual as text and HTML, completions, recipes, checksums and a list of parts.
# `make tarball` calls it; of what is not a program it takes what git knows.
#
#   tarball.sh BUILD VERSION MACHINE OUTDIR FILE:PROGRAM...
#
# PROGRAM is one of those in BUILD/multi/FILE. CC finds libraries, SYSROOT has those of another machine; READELF fits the
# machine; SOURCE_DATE_EPOCH is the time of all files.
set -eu
build=$1 version=$2 machine=$3 outdir=$4
shift 4
cd "$(dirname "$0")/../.."
readelf=${READELF:-readelf}
name=ingero-$version-linux-$machine
stage=$outdir/$name
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/lib" "$stage/share/doc"

# where LIBRARY: the file the linker would take. Of another machine's, all from one place: a cross compiler brings a C library
# of its own, and a loader takes none but its own.
where() {
	local path
	for path in ${SYSROOT:+"$SYSROOT"/lib/*-linux-gnu/"$1" "$SYSROOT"/usr/lib/*-linux-gnu/"$1"}; do
		[ ! -e "$path" ] || { readlink -f "$path"; return; }
	done
	path=$($CC -print-file-name="$1")
	case $path in
	*/*) readlink -f "$path" ;;
	*) echo "ingero: $1 is not on this machine" >&2; return 1 ;;
	esac
}
# gather FILE: its libraries, and theirs, into lib/.
gather() {
	local needed path
	for needed in $("$readelf" -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		[ ! -e "$stage/lib/$needed" ] || continue
		path=$(where "$needed")
		cp "$path" "$stage/lib/$needed"
		chmod 755 "$stage/lib/$needed"
		printf '%s\t%s\n' "lib/$needed" "$path" >>"$outdir/taken"
		gather "$path"
	done
}

# libarchive of the functions that bundles use and no more: the whole one wants libraries of 37 MB, for XML and its letters.
# What it then still names of those stands for formats that bundles are not in.
small_archive() {
	local out=$stage/lib/libarchive.so.13 path functions absent link
	path=$(where libarchive.a 2>/dev/null) || path=
	functions=$(sed -n 's/^\tX([a-z_]*, \(archive_[a-z_]*\)).*/-Wl,-u,\1/p' lib/bundle/library.h)
	link="$CC -shared -s -o $out $functions -Wl,-soname,libarchive.so.13 -Wl,-Bsymbolic -Wl,--as-needed -Wl,--gc-sections -l:libarchive.a
		-l:libzstd.so.1 -l:libz.so.1 -l:libbz2.so.1.0 -l:liblzma.so.5 -l:libnettle.so.8"
	if [ -n "$path" ] && $link 2>/dev/null; then
		absent=$(${READELF%readelf}nm -D --undefined-only "$out" | sed -n 's/^ *U \(xml[A-Za-z0-9]*\|UTF8Toisolat1\)$/-Wl,--defsym,\1=0/p')
		# shellcheck disable=SC2086
		[ -z "$absent" ] || $link $absent
	else
		path=$(where libarchive.so.13) || return 0
		cp "$path" "$out"
	fi
	printf '%s\t%s\n' lib/libarchive.so.13 "$path" >>"$outdir/taken"
	gather "$out"
}

: >"$outdir/taken"
cp "$build/static/ingero" "$build/static/ingero-record" "$stage/bin/"
cp "$build/multi/launch" "$stage/lib/launch"
for one; do
	file=${one%%:*} program=${one#*:}
	[ -e "$stage/lib/$file.elf" ] || { cp "$build/multi/$file" "$stage/lib/$file.elf"; gather "$build/multi/$file"; }
	ln -s "$file.elf" "$stage/lib/$program.elf"
	ln -s ../lib/launch "$stage/bin/$program"
	ln -s launch "$stage/lib/$program"
done
# What programs open by name when there is a use for it: bundles, names of C++ functions, answers of a kubelet.
small_archive
for optional in libstdc++.so.6 libnghttp2.so.14; do
	[ ! -e "$stage/lib/$optional" ] || continue
	path=$(where "$optional") || continue
	cp "$path" "$stage/lib/$optional"
	chmod 755 "$stage/lib/$optional"
	printf '%s\t%s\n' "lib/$optional" "$path" >>"$outdir/taken"
	gather "$path"
done
# Who starts others looks for them beside itself.
ln -s ../bin/ingero ../bin/ingero-record "$stage/lib/"

for page in man/*.[1-8]; do
	section=${page##*.} base=${page##*/}
	mkdir -p "$stage/share/man/man$section" "$stage/share/doc/html" "$stage/share/doc/text"
	cp "$page" "$stage/share/man/man$section/"
	mandoc -T html -O man=%N.%S.html "$page" >"$stage/share/doc/html/$base.html"
	mandoc -T utf8 "$page" | LC_ALL=C.UTF-8 sed 's/.\x08//g' >"$stage/share/doc/text/$base.txt"
done
cp README.md LICENSE "$stage/"
cp -r formats/*.md formats/*.json formats/*.sql "$stage/share/doc/"
mkdir -p "$stage/share/completions" "$stage/share/packaging"
cp completions/ingero.bash completions/ingero.fish completions/_ingero "$stage/share/completions/"
for recipe in kubernetes systemd slurm prometheus grafana sudoers setcap.sh; do
	cp -r "formats/packaging/$recipe" "$stage/share/packaging/"
done

formats/packaging/sbom.py "$stage" "$name" "$version" "$outdir/taken" "${SOURCE_DATE_EPOCH:?}" >"$outdir/sbom"
mv "$outdir/sbom" "$stage/ingero.spdx.json"
find "$stage" -type d -exec chmod 755 {} + -o -type f -perm -u+x -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
(cd "$stage" && find . -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum) >"$outdir/sums"
mv "$outdir/sums" "$stage/SHA256SUMS"
rm "$outdir/taken"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$outdir" -c "$name" | gzip -9n >"$outdir/$name.tar.gz.new"
mv "$outdir/$name.tar.gz.new" "$outdir/$name.tar.gz"
(cd "$outdir" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$outdir/$name.tar.gz"
