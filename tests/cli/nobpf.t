#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without clang, bpftool and libbpf everything is built, and the two programs that need them say so
# when they are run.
. tests/tap.sh

case "${SAN-}$BUILD" in
*address* | *undefined* | */valgrind) skip_all "tried with the plain build" ;;
esac

[ -n "$(ls "$BIN" 2>/dev/null)" ] || { fail "programs are built"; done_testing; }
# What is the same with and without it is not compiled again: objects that nothing of it went into are taken along, and
# make says by itself which are not these.
with=$BUILD
export BUILD=$BUILD/nobpf
rm -rf "$BUILD"
mkdir -p "$BUILD"
for part in flags formats lib cmd; do cp -a "$with/$part" "$BUILD/"; done
rm -f "$BUILD"/lib/attach/session*.o
if make --no-print-directory -j"$(nproc)" INSTALL=no BUILD="$BUILD" SAN= HAVE_LIBBPF= BPFTOOL= BPFCLANG= all >"$TMP/log" 2>&1; then
	pass "builds without BPF"
else
	fail "builds without BPF" "$(tail -20 "$TMP/log")"
fi
BIN=$BUILD/bin
is "$(ls "$BIN" | sort | tr '\n' ' ')" "$(ls cmd/*.c | sed 's|cmd/\(.*\)\.c|\1|' | sort | tr '\n' ' ')" "every program is there"
for p in "$BIN"/ingero-*; do
	unlike "$(ldd "$p")" 'libbpf' "${p##*/} does not need libbpf"
done
run "$BIN/ingero-record" -o "$TMP/x.ige" -- true
is "$status" 125 "ingero-record -- COMMAND fails as itself"
like "$err" '^ingero-record: .*built without BPF.*(clang|bpftool|libbpf)' "and says why"
run "$BIN/ingero-record" -a -o "$TMP/x.ige"
is "$status" 3 "ingero-record cannot"
is "$(ls "$TMP/x.ige" 2>&1 | grep -c '^/.*x.ige$')" 0 "and leaves no file"
like "$err" '--no-probes' "and says what can be recorded all the same"
run "$BIN/ingero-record" --no-probes -o "$TMP/samples.ige" -- sh -c 'exit 7'
is "$status" 7 "--no-probes needs no BPF"
run "$BIN/ingero-stat" --json "$TMP/samples.ige"
is "$status" 0 "the recording is one"
like "$out" '"metric": *"mem\.used"' "and holds samples"
run "$BIN/ingero-check"
like "$status" '^[13]$' "ingero-check does not say yes"
like "$out$err" 'built without BPF' "and says why"
done_testing
