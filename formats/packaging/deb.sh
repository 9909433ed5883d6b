#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes Debian packages of a finished build, the same bytes from the same build: ingero (programs, manual pages,
# completions, a service that is not switched on) and ingero-doc (the file format, schemas, recipes).
#
#   deb.sh BUILD VERSION OUTDIR
#
# DEB_MAINTAINER ("Name <address>") answers for them, by default who made the last commit.
set -eu
build=$1 version=$2 outdir=$3
cd "$(dirname "$0")/../.."
command -v dpkg-deb >/dev/null || { echo "ingero: no dpkg-deb: Debian packages are made on Debian or Ubuntu" >&2; exit 1; }
arch=$(dpkg --print-architecture)
here=formats/packaging
date=$(date -u -R -d "@${SOURCE_DATE_EPOCH:?}")
mkdir -p "$outdir"
outdir=$(cd "$outdir" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# finish PACKAGE ARCHITECTURE CONTROL-LINE...: what every package has, and the package
finish() {
	local package=$1 arch=$2 root=$work/$1
	shift 2
	mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$package" "$root/usr/share/lintian/overrides"
	printf '# What was said in a commit stays so.\n%s: spelling-error-in-changelog *\n' "$package" >"$root/usr/share/lintian/overrides/$package"
	sed 1d $here/debian/copyright >"$root/usr/share/doc/$package/copyright"
	{ $here/changelog.sh "$version" ingero "$maintainer" 2>/dev/null ||
		printf 'ingero (%s) unstable; urgency=medium\n\n  * Packaged from the sources of this version.\n\n -- %s  %s\n' \
			"$version" "$maintainer" "$date"; } | gzip -9n >"$root/usr/share/doc/$package/changelog.gz"
	find "$root" -path "$root/DEBIAN" -prune -o -type d -exec chmod 755 {} + -o -type f ! -perm -u+x -exec chmod 644 {} +
	(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
	{
		printf 'Package: %s\nSource: ingero\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %s\n' \
			"$package" "$version" "$arch" "$maintainer" "$(du -k --apparent-size -s --exclude=DEBIAN "$root" | cut -f1)"
		printf '%s\n' "$@"
	} >"$root/DEBIAN/control"
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zxz --build "$root" "$outdir/${package}_${version}_$arch.deb" >/dev/null
	echo "$outdir/${package}_${version}_$arch.deb"
}
maintainer=${DEB_MAINTAINER:-$(git log -1 --format='%an <%ae>' 2>/dev/null || echo 'unknown <root@localhost>')}

root=$work/ingero
make --no-print-directory -s NOBUILD=1 INSTALL=no BUILD="$build" PREFIX=/usr DESTDIR="$root" install >/dev/null
"${STRIP:-strip}" --remove-section=.comment --remove-section=.note "$root"/usr/bin/*
gzip -9nr "$root/usr/share/man"
# zsh of Debian looks into vendor-completions.
mkdir -p "$root/usr/share/zsh/vendor-completions" "$root/usr/lib/systemd/system"
mv "$root/usr/share/zsh/site-functions/_ingero" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
cp $here/systemd/ingero-flight.service "$root/usr/lib/systemd/system/"
# What the programs link with; libarchive is opened when a bundle is met.
mkdir -p "$work/shlibs/debian"
printf 'Source: ingero\n\nPackage: ingero\nArchitecture: any\n' >"$work/shlibs/debian/control"
depends=$(cd "$work/shlibs" && dpkg-shlibdeps -O --ignore-missing-info "$root"/usr/bin/* 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
finish ingero "$arch" "Depends: $depends" "Recommends: libarchive13 | libarchive13t64" "Suggests: ingero-doc" \
	"Section: utils" "Priority: optional" \
	"Description: record what a GPU program's host does to it, and name the culprit" \
	" Records CUDA, NCCL and kernel events with eBPF into one file, and explains" \
	" from it which process, disk, lock or quota took how much time from which" \
	" call. Reading a recording needs neither a GPU nor rights."

root=$work/ingero-doc
mkdir -p "$root/usr/share/doc/ingero-doc/examples" "$root/usr/share/doc-base"
cp formats/*.md formats/*.json formats/*.sql README.md "$root/usr/share/doc/ingero-doc/"
gzip -9nr "$root/usr/share/doc/ingero-doc"
for recipe in kubernetes slurm prometheus grafana sudoers setcap.sh; do
	cp -r $here/$recipe "$root/usr/share/doc/ingero-doc/examples/"
done
find "$root/usr/share/doc/ingero-doc/examples" -type f -exec chmod 644 {} +
rmdir "$root/usr/share/doc-base"
finish ingero-doc all "Section: doc" "Priority: optional" \
	"Description: file format, schemas and recipes of ingero" \
	" The text of the recording format, JSON schemas of every report, and recipes:" \
	" Kubernetes, Slurm, Prometheus rules, a Grafana dashboard, sudo and setcap."
