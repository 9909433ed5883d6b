#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make demo`, as a new user sees it: with BPF the report on a real stall names the hog that caused
# it, and agrees with the kernel's accounting; without, it says so and explains a generated recording.
# Alone: it names who took the CPU.
. tests/tap.sh

[ -r /sys/kernel/btf/vmlinux ] && [ "$(id -u)" = 0 ] || skip_all "recording needs root and /sys/kernel/btf/vmlinux"
[ -x "$BIN/ingero-record" ] && [ -x "$BUILD/double/hog" ] || { fail "programs and the double are built"; done_testing; }

# agrees NAME: the same from the recording as JSON, against the loop's own schedstat.
agrees() {
	run "$BIN/ingero-explain" --json "$BUILD/demo/run.ige"
	is "$status" 0 "$1: the recording is explained as JSON"
	verdict=$("$BIN/ingero-export" -f json --no-stacks "$BUILD/demo/run.ige" | python3 tests/live/demo_truth.py "$TMP/.out" "$BUILD/demo/train.json")
	is "$(echo "$verdict" | sed -n 1p)" "agrees" "$1: recorded waits for a CPU are within 1 % of the kernel's run delay"
	is "$(echo "$verdict" | sed -n 2p)" "agrees" "$1: time taken from the loop is these waits but for what others than its takers had"
	is "$(echo "$verdict" | sed -n 3p)" "1 chain within it" "$1: the hog's share of it is one finding"
}

# demonstrated LOOP VICTIM SITE
demonstrated() {
	run env DEMO_SECONDS=4 DEMO_DUTY=40 DEMO_LOOP="$1" tests/scenarios/demo.sh
	is "$status" 0 "$1: the demonstration succeeds" || diag "$err
$(tail -20 "$TMP/.out")"
	like "$out" "nightly-backup \\(pid [0-9]+\\) took the CPU from $2 \\(pid [0-9]+\\)" "$1: the report names the hog"
	like "$out" "called from $3" "$1: with the call site"
	like "$out" '\$ taskset .*[0-9]' "$1: and what to do"
	like "$out" ', 0 lost,' "$1: nothing was lost"
	agrees "$1"
}

if python3 -c 'import sys; sys.exit(sys.implementation.name != "cpython" or not (3, 8) <= sys.version_info[:2] <= (3, 15))'; then
	line=$(grep -n 'cudaLaunchKernel(' tests/double/work/train.py | head -1 | cut -d: -f1)
	demonstrated python 'python3[.0-9]* train.py' "Trainer.launch \\(train.py:$line\\)"
else
	skip "python: the demonstration" "optional: no CPython 3.8 to 3.15 here"
fi
line=$(grep -n 'cudaLaunchKernel(' tests/double/work/train.c | head -1 | cut -d: -f1)
demonstrated c train "launch \\(train.c:$line\\)"

run setpriv --bounding-set=-bpf,-sys_admin,-perfmon tests/scenarios/demo.sh
is "$status" 0 "without the right to use BPF the demonstration still succeeds"
like "$out" 'BPF does not work here: .*not permitted' "says why"
like "$out" 'took the CPU from train' "and explains the generated recording"
done_testing
