#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What every program does the same way: help, version, mistakes, closed and full outputs.
. tests/tap.sh

programs=("$BIN"/ingero "$BIN"/ingero-*)
[ -x "${programs[0]}" ] || { fail "programs are built"; done_testing; }
for path in "${programs[@]}"; do
	p=${path##*/}
	run "$path" --help
	is "$status,$err" "0," "$p --help"
	like "$out" "^Usage: $p " "$p --help begins with its usage"
	is "$("$path" -h)" "$out" "$p -h is the same"
	run "$path" --version
	is "$status" 0 "$p --version"
	! git log -1 >/dev/null 2>&1 || like "$out" '^[^ ]+ [0-9.]+ \([0-9a-f]{7,}, 20[0-9]{2}-[0-9]{2}-[0-9]{2}\)$' "$p --version: the commit and its date"
	like "$out" "^$p [0-9]+\.[0-9]+" "$p names its version"
	run "$path" --hlep
	is "$status" 2 "$p: a wrong option is status 2"
	is "$out" "" "$p: and prints nothing on standard output"
	like "$err" "^$p: unknown option '--hlep'; did you mean '--help'\?" "$p: names the right one"
	run "$path" --color=red
	is "$status" 2 "$p: a wrong value is status 2"
	"$path" --help >/dev/full 2>"$TMP/err"
	is "$?" 3 "$p: a full disk under standard output is status 3"
	like "$(cat "$TMP/err")" "^$p: cannot write standard output: No space left" "$p: and said"
	"$path" --help >&- 2>"$TMP/err"
	status=$?
	ok "$p: closed standard output is no crash ($status)" test "$status" -le 4
	{ "$path" --help; echo "$?" >"$TMP/status"; } 2>"$TMP/err" | true
	is "$(cat "$TMP/err")" "" "$p: a reader that left is no complaint"
	like "$(cat "$TMP/status")" '^0$' "$p: and status 0"
done
done_testing
