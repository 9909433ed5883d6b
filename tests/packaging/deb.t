#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The Debian packages: the same bytes twice, every program and page in them, installed into an empty folder they run, and
# lintian has nothing to say.
. tests/tap.sh

command -v dpkg-deb >/dev/null || skip_all "optional: no dpkg-deb here"
export DEB_MAINTAINER='A Packager <packager@example.org>'
quietly() { make --no-print-directory INSTALL=no BUILD="$BUILD" "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; return 1; }; }
ok "make deb" quietly deb
debs=$(tail -n 2 "$TMP/log")
# shellcheck disable=SC2086
first=$(sha256sum $debs)
ok "and again" quietly deb
# shellcheck disable=SC2086
is "$(sha256sum $debs)" "$first" "gives the same bytes"
is "$(for d in $debs; do dpkg-deb -f "$d" Package; done | sort | tr '\n' ' ')" "ingero ingero-doc " "two packages"
for d in $debs; do dpkg-deb -x "$d" "$TMP/root"; done
for p in "$BIN"/*; do
	p=${p##*/}
	like "$("$TMP/root/usr/bin/$p" --version 2>&1)" "^$p [0-9]" "$p runs"
	ok "$p has its page" test -s "$TMP/root/usr/share/man/man1/$p.1.gz"
done
ok "a service" test -s "$TMP/root/usr/lib/systemd/system/ingero-flight.service"
# shellcheck disable=SC2086
like "$(dpkg-deb -f ${debs%%$'\n'*} Depends)" 'libc6.*libjq1' "what it needs is told"
if command -v lintian >/dev/null; then
	# shellcheck disable=SC2086
	is "$(lintian --no-tag-display-limit $debs 2>/dev/null)" "" "lintian has nothing to say"
else
	skip "lintian" "optional: not here"
fi
done_testing
