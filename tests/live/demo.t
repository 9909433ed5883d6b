#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make demo`, as a new user sees it: with BPF the report on a real stall names the hog that caused
# it, and agrees with the kernel's accounting; without, it says so and explains a generated recording.
. tests/tap.sh

[ -r /sys/kernel/btf/vmlinux ] && [ "$(id -u)" = 0 ] || skip_all "recording needs root and /sys/kernel/btf/vmlinux"
[ -x "$BIN/ingero-record" ] && [ -x "$BUILD/double/hog" ] || { fail "programs and the double are built"; done_testing; }

run env DEMO_SECONDS=4 DEMO_DUTY=40 tests/scenarios/demo.sh
is "$status" 0 "the demonstration succeeds" || diag "$err
$(tail -20 "$TMP/.out")"
like "$out" 'nightly-backup \(pid [0-9]+\) took the CPU from train \(pid [0-9]+\)' "the report names the hog"
like "$out" 'called from launch\+0x[0-9a-f]+ \(train\)' "with the call site"
like "$out" '\$ taskset .*[0-9]' "and what to do"
like "$out" ', 0 lost,' "nothing was lost"

# The same from the recording as JSON, against the loop's own schedstat.
run "$BIN/ingero-explain" --json "$BUILD/demo/run.ige"
is "$status" 0 "the recording is explained as JSON"
verdict=$(python3 - "$TMP/.out" "$BUILD/demo/train.json" <<'PY'
import json, sys

report = json.load(open(sys.argv[1]))
truth = json.loads(open(sys.argv[2]).readline())
parts = next(b["parts"] for b in report["breakdown"] if b["pid"] == truth["pid"])
found = parts.get("preempted", 0) + parts.get("runqueue", 0)
error = abs(found - truth["run_delay_ns"]) / truth["run_delay_ns"]
print("agrees" if error < 0.05 else f"found {found}, run delay {truth['run_delay_ns']}: off by {error:.1%}")
chains = [c for c in report["chains"] if c["kind"] == "cpu-preempted" and c["culprit"]["comm"] == "nightly-backup"]
lost = sum(c["lost_ns"] for c in chains)
print(f"{len(chains)} chain", "within it" if 0 < lost <= found else f"of {lost} ns")
PY
)
is "$(echo "$verdict" | sed -n 1p)" "agrees" "time taken from the loop is within 5 % of the kernel's run delay"
is "$(echo "$verdict" | sed -n 2p)" "1 chain within it" "the hog's share of it is one finding"

run setpriv --bounding-set=-bpf,-sys_admin,-perfmon tests/scenarios/demo.sh
is "$status" 0 "without the right to use BPF the demonstration still succeeds"
like "$out" 'BPF does not work here: .*not permitted' "says why"
like "$out" 'took the CPU from train' "and explains the generated recording"
done_testing
