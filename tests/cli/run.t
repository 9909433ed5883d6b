#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The test runner itself: what it counts as passed, failed and skipped, its last line and status.
# Every kind of broken test has to be noticed.
. tests/tap.sh

export BUILD=$TMP/build
t() { # NAME BODY: a test in the build directory, where only this run finds it
	mkdir -p "$BUILD/$(dirname "$1")"
	printf '#!/bin/bash\n%s\n' "$2" >"$BUILD/$1.t"
	chmod +x "$BUILD/$1.t"
}
last() { # TEST...: last line and status of a run of these
	local words=() w
	for w in "$@"; do
		case $w in
		--*) words+=("$w") ;;
		*) words+=("$BUILD/$w.t") ;;
		esac
	done
	local status=0
	tests/run "${words[@]}" >"$TMP/log" 2>&1 || status=$?
	echo "$(tail -n 1 "$TMP/log"), status $status"
}

t unit/good 'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2'
t unit/bad 'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2; exit 1'
t unit/explains 'echo "not ok 1 - a"; echo "# got: 7" >&2; echo 1..1; exit 1'
t unit/silent_bad 'echo "not ok 1 - a"; echo 1..1'
t unit/dies 'echo "ok 1 - a"; exit 3'
t unit/killed 'echo "ok 1 - a"; echo 1..1; kill -9 $$'
t unit/short 'echo "ok 1 - a"; echo 1..3'
t unit/empty 'exit 0'
t unit/skips 'echo "ok 1 - a"; echo "ok 2 - b # SKIP no reason"; echo 1..2'
t unit/skip_all 'echo "1..0 # SKIP not here"'
t live/skip_all 'echo "1..0 # SKIP not here"'
t live/optional 'echo "ok 1 - a"; echo "ok 2 - b # SKIP optional: no such library"; echo 1..2'

is "$(last unit/good)" "2 passed, 0 failed, status 0" "a good test"
is "$(last unit/good unit/bad)" "3 passed, 1 failed, status 1" "a failing check"
for bad in bad silent_bad dies killed short empty; do
	like "$(last "unit/$bad")" '^[01] passed, 1 failed, status 1$' "$bad is one failure"
done
is "$(last unit/explains unit/bad)" "1 passed, 2 failed, status 1" "checks of two tests fail"
is "$(tail -n 6 "$TMP/log")" "unit-bad.tap: not ok 2 - b
unit-explains.tap: not ok 1 - a
unit-explains.tap:   # got: 7
unit-bad.tap: not ok 2 - b
unit-explains.tap: not ok 1 - a
1 passed, 2 failed" "what failed, and why, and once more without, stands right above the sum"
is "$(last unit/skips)" "1 passed, 0 failed, 1 skipped, status 0" "skipped checks are counted"
like "$(cat "$TMP/log")" 'unit-skips.tap: ok 2 - b # SKIP no reason' "with their reason"
is "$(last unit/good unit/skip_all)" "2 passed, 0 failed, 1 skipped, status 0" "a skipped test too"
is "$(last unit/good -- unit/skips)" "3 passed, 0 failed, 1 skipped, status 0" "tests that run alone are counted"
is "$(last unit/good --beside unit/explains -- unit/skips)" "3 passed, 1 failed, 1 skipped, status 1" "and those that run beside others"
like "$(cat "$TMP/log")" 'unit/explains.t .*$' "whose lines are shown"
is "$(last --beside unit/good unit/skips)" "3 passed, 0 failed, 1 skipped, status 0" "also where nothing else runs"
caps=$((16#$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)))
if [ -r /sys/kernel/btf/vmlinux ] && ((caps >> 39 & 1 || caps >> 21 & 1)); then
	is "$(last unit/good live/skip_all)" "2 passed, 1 failed, status 1" "BPF works here: a live test may not skip"
else
	is "$(last unit/good live/skip_all)" "2 passed, 0 failed, 1 skipped, status 0" "without BPF a live test may skip"
fi
is "$(last live/optional)" "1 passed, 0 failed, 1 skipped, status 0" "what no machine must have may be missing"

# The report for programs: what its schema says, and the same counts.
is "$(tests/run -r "$TMP/report.json" "$BUILD"/unit/{good,silent_bad,skips,killed}.t -- "$BUILD/live/optional.t" 2>/dev/null | tail -n 1)" \
	"5 passed, 2 failed, 2 skipped" "with a report"
is "$(python3 - "$TMP/report.json" <<'EOF'
import json, sys
sys.path.insert(0, "tests")
import schema
report = json.load(open(sys.argv[1]))
print(*schema.complaints(report, json.load(open("formats/test-report.schema.json"))), sep="\n", end="")
print({k: report[k] for k in ("passed", "failed", "skipped")})
print([(s["suite"], s["files"], s["passed"], s["failed"], s["skipped"]) for s in report["suites"]])
for t in report["tests"]:
    print(t["file"], t["status"], t["failures"], t["skips"])
print(report["wall_s"] > 0, report["cpu_s"] >= 0)
EOF
)" "{'passed': 5, 'failed': 2, 'skipped': 2}
[('live', 1, 1, 0, 1), ('unit', 4, 4, 2, 1)]
live/optional.t 0 [] ['b # SKIP optional: no such library']
unit/good.t 0 [] []
unit/killed.t 137 [] []
unit/silent_bad.t 0 ['a'] []
unit/skips.t 0 [] ['b # SKIP no reason']
True True" "it says what was counted, per suite and per file"
done_testing
