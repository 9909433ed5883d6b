#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The CPU quota helper: the command runs, is throttled as the quota says, and the group is gone afterwards.
. tests/tap.sh
. tests/double/env.sh

# A quota smaller than the part of a CPU that is left to it where others run, too.
run tests/double/throttled --quota-us 1000 --period-us 50000 --truth "$TMP/stat" -- "$DOUBLE/hog" --duty 90 --seconds 1 --truth "$TMP/hog"
[ "$status" != 77 ] || skip_all "$err"
is "$status" 0 "the command's status"
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$2"; }
group=$(sed -n 's/.*"group":"\([^"]*\)".*/\1/p' "$TMP/stat")
ok "it was throttled in many of the 20 periods" test "$(number throttled "$TMP/stat")" -ge 5
ok "for longer than it ran" test "$(number throttled_ns "$TMP/stat")" -gt "$(number thread_cpu_ns "$TMP/hog")"
ok "the command got about its quota" test "$(number thread_cpu_ns "$TMP/hog")" -le 100000000
ok "nothing is left of the group" test ! -e "$group"
run tests/double/throttled --quota-us 50000 -- sh -c 'exit 7'
is "$status" 7 "a failing command's status"
done_testing
