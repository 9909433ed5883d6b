#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make demo-torch`, as a new user sees it: the report on a real training loop names the trouble that was planted in it, which the
# loop's own clock confirms; and it says why where nothing may be recorded.
. tests/tap.sh

REAL=${REAL:-$BUILD/real}
export REAL
[ -r /sys/kernel/btf/vmlinux ] && [ "$(id -u)" = 0 ] || skip_all "recording needs root and /sys/kernel/btf/vmlinux"
[ -e "$REAL/torch.installed" ] || skip_all "optional: torch is not installed: make check-real installs it"

run tests/real/demo.sh
is "$status" 0 "the demonstration succeeds" || diag "$err
$(tail -20 "$TMP/.out")"
line=$(grep -n 'os.fsync(file' tests/real/work/troubles.py | cut -d: -f1)
like "$out" "Checkpoint.save \\(troubles.py:$line\\)" "the report names the line that waits for the disk"
like "$out" 'python train.py \(pid [0-9]+\): ~?[0-9]+ steps of Trainer.step \(train.py:[0-9]+-[0-9]+\)' "and says how long a step takes"
like "$out" '(HIGH|MEDIUM) disk-stall' "as a stall by a disk"
like "$out" 'Fix +Write and sync less often, from another thread' "and says what to do"
verdict=$(python3 - "$BUILD" <<'PY'
import json, subprocess, sys

build = sys.argv[1]
p = subprocess.run([f"{build}/bin/ingero-explain", "--json", f"{build}/demo-torch/chains.ige"], capture_output=True, text=True)
with open(f"{build}/demo-torch/truth.json") as f:
    planted = json.load(f)["planted_s"]
lost = sum(c["lost_ns"] for c in json.loads(p.stdout)["chains"] if c["kind"] == "disk-stall") / 1e9
print("within" if 0.1 * planted < lost < planted else f"{lost} of {planted} s")
PY
)
is "$verdict" within "the time it lost is within what the loop's own clock says"

run setpriv --bounding-set=-bpf,-sys_admin,-perfmon tests/real/demo.sh
is "$status" 1 "without the right to use BPF"
like "$err" 'BPF does not work here: .*not permitted' "it says why"
run env DEMO_TROUBLE=rain tests/real/demo.sh
like "$err" 'DEMO_TROUBLE=rain: there are none, getitem' "a trouble that is not known"
done_testing
