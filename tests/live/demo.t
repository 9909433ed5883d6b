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
like "$out" '^nightly-backup \(pid [0-9]+\) took the CPU from train \(pid [0-9]+\)' "the first line of the report is the verdict"
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
chains = [c for c in report["chains"] if c["kind"] == "cpu-preempted" and c["culprit"]["comm"] == "nightly-backup"]
lost = sum(c["lost_ns"] for c in chains)
delay = truth["run_delay_ns"]
error = abs(lost - delay) / delay
print(f"{len(chains)} chain, {'agrees' if error < 0.05 else f'lost {lost}, run delay {delay}: off by {error:.1%}'}")
PY
)
is "$verdict" "1 chain, agrees" "what it attributes is within 5 % of the kernel's run delay"

run setpriv --bounding-set=-bpf,-sys_admin,-perfmon tests/scenarios/demo.sh
is "$status" 0 "without the right to use BPF the demonstration still succeeds"
like "$out" 'BPF does not work here: .*not permitted' "says why"
like "$out" 'took the CPU from train' "and explains the generated recording"
done_testing
