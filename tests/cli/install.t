#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make install` puts programs, manual and completions where PREFIX and DESTDIR say, installed
# programs run from there, and `make uninstall` leaves nothing behind.
. tests/tap.sh

case "${SAN-}$BUILD" in
*address* | *undefined* | */valgrind) skip_all "tried with the plain build" ;;
esac

[ -n "$(ls "$BIN" 2>/dev/null)" ] || { fail "programs are built"; done_testing; }
# A copy of the build: the test must not race with another that builds.
root=$TMP/root
quietly() { make --no-print-directory NOBUILD=1 INSTALL=no BUILD="$BUILD" "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; return 1; }; }
installed() { (cd "$root" && find . -type f | sort); }

ok "make install" quietly install DESTDIR="$root" PREFIX=/opt/ingero
list=$(installed)
for p in "$BIN"/ingero "$BIN"/ingero-*; do
	p=${p##*/}
	like "$list" "^\./opt/ingero/bin/$p\$" "$p is installed"
	like "$list" "^\./opt/ingero/share/man/man1/$p\.1\$" "with its page"
	like "$list" "^\./opt/ingero/share/bash-completion/completions/$p\$" "and completions for bash"
	like "$list" "^\./opt/ingero/share/fish/vendor_completions.d/$p\.fish\$" "and fish"
done
like "$list" '/zsh/site-functions/_ingero$' "and zsh"
like "$list" '/man/man5/ige\.5$' "the format's page"
p=$(ls "$root/opt/ingero/bin" | head -1)
like "$(cd / && "$root/opt/ingero/bin/$p" --version)" "^$p [0-9]" "$p runs from there"
unlike "$(grep -rlI "$root" "$root" 2>/dev/null)" . "nothing mentions DESTDIR"
# Programs without shared libraries: where none can be linked it is said what is missing.
make --no-print-directory INSTALL=no BUILD="$BUILD" static STATIC_LIBS= >"$TMP/log" 2>&1
is "$?" 2 "make static fails where it cannot"
like "$(cat "$TMP/log")" "^ingero: cannot link statically: " "and says why"
ok "make uninstall" quietly uninstall DESTDIR="$root" PREFIX=/opt/ingero
is "$(installed)" "" "nothing is left"
done_testing
