#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The folder of another architecture's libraries, asked for by two at a time: it is made once, and both find it whole. Programs of
# our own stand for apt-get, which takes its time, and dpkg-deb.
. tests/tap.sh

command -v flock >/dev/null || skip_all "optional: no flock"
mkdir "$TMP/bin"
cat >"$TMP/bin/apt-get" <<'END'
#!/bin/sh
case "$*" in
*install*)
	echo one >>"$COUNT"
	until [ -e "$COUNT.go" ]; do sleep 0.02; done
	: >"$(sed -n 's/^Dir::Cache "\(.*\)";/\1/p' "$APT_CONFIG")/archives/libx.deb"
	;;
esac
END
cat >"$TMP/bin/dpkg-deb" <<'END'
#!/bin/sh
case "$1" in
-x) mkdir -p "$3/usr/lib"; echo it >"$3/usr/lib/libx.so" ;;
--fsys-tarfile) mkdir -p "$COUNT.tar/usr/lib"; echo it >"$COUNT.tar/usr/lib/libx.so"; tar -C "$COUNT.tar" -c . ;;
-W) printf 'libx\t1.0' ;;
esac
END
chmod +x "$TMP/bin/apt-get" "$TMP/bin/dpkg-deb"
export COUNT=$TMP/count PATH=$TMP/bin:$PATH
: >"$COUNT"
begin() { formats/packaging/sysroot.sh arm64 "$TMP/sysroot" libx >"$TMP/said.$1" 2>&1; }
begin 1 &
first=$!
until [ -s "$COUNT" ] || ! kill -0 $first 2>/dev/null; do sleep 0.02; done
begin 2 &
second=$!
# The other waits for the lock, or fetches as well.
waits() { grep -q -- "-> FLOCK.*:$(stat -c %i "$TMP/sysroot/lock" 2>/dev/null) " /proc/locks; }
until [ "$(wc -l <"$COUNT")" = 2 ] || waits || [ "$SECONDS" -gt 300 ]; do sleep 0.02; done
: >"$COUNT.go"
wait $first
is "$?" 0 "the first makes it"
wait $second
is "$?" 0 "and the second takes it: $(cat "$TMP/said.2")"
is "$(wc -l <"$COUNT")" 1 "which was fetched once"
is "$(cat "$TMP/sysroot/files")" "$(printf '/usr/lib/libx.so\tlibx\t1.0')" "and is whole"
is "$(cat "$TMP/sysroot/root/usr/lib/libx.so")" it "with what was in the package"
done_testing
