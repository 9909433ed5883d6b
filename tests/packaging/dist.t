#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The sources as a tarball: the same bytes twice, also from a clone in another folder at another time, and make finds
# everything in them.
. tests/tap.sh

command -v git >/dev/null && git rev-parse -q --verify HEAD >/dev/null 2>&1 || skip_all "optional: not a git checkout"
quietly() { make --no-print-directory INSTALL=no "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; return 1; }; }
ok "make dist" quietly BUILD="$BUILD" dist
version=$(sed -n 's/^VERSION := //p' Makefile)
first=$BUILD/dist/ingero-$version.tar.gz
ok "a clone" git clone -q . "$TMP/clone"
(cd "$TMP/clone" && quietly dist)
is "$(sha256sum <"$TMP/clone/build/dist/ingero-$version.tar.gz")" "$(sha256sum <"$first")" "gives the same bytes"
tar -x -f "$first" -C "$TMP"
is "$(cd "$TMP/ingero-$version" && find . -type f -o -type l | sed 's|^\./||' | sort)" "$(git ls-files | sort)" "every file of the commit"
like "$(make --no-print-directory -n INSTALL=no -C "$TMP/ingero-$version" all 2>&1)" 'bin/ingero-stat' "from which make builds"
done_testing
