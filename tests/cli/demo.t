#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# ingero-demo: its lists and truths, that a recording is a function of its options, and where it may go.
. tests/tap.sh

demo=$BIN/ingero-demo
by_schema() { # NAME COMMAND...: prints JSON of that shape
	local name=$1
	shift
	ok "$name" python3 -c '
import subprocess
import json, sys
sys.path.insert(0, "tests")
import schema
out = subprocess.run(sys.argv[1:], check=True, capture_output=True).stdout
bad = schema.check(json.loads(out), "formats/demo.schema.json")
sys.exit("\n".join(bad) or 0)' "$@"
}
# One interpreter for all: starting it takes longer than what it looks at.
wrong_truths() { # SCENARIO...: "SCENARIO: what", where its truth is not of that shape
	python3 - "$demo" "$@" <<'EOF'
import json
import subprocess
import sys
sys.path.insert(0, "tests")
import schema
for name in sys.argv[2:]:
    p = subprocess.run([sys.argv[1], name, "--duration", "2s", "--truth", "--json"], capture_output=True)
    try:
        bad = [f"status {p.returncode}"] if p.returncode else schema.check(json.loads(p.stdout), "formats/demo.schema.json")
    except ValueError as e:
        bad = [str(e)]
    print(*(f"{name}: {what}" for what in bad), sep="\n", end="\n" * bool(bad))
print("all")
EOF
}
by_schema() { # NAME COMMAND...: prints JSON of that shape
	local name=$1
	shift
	ok "$name" python3 -c '
import subprocess
import json, sys
sys.path.insert(0, "tests")
import schema
out = subprocess.run(sys.argv[1:], check=True, capture_output=True).stdout
bad = schema.check(json.loads(out), "formats/demo.schema.json")
sys.exit("\n".join(bad) or 0)' "$@"
}
planted() { "$demo" "$@" --duration 5s --truth --json | python3 -c '
import json, sys
print(*sorted({t["kind"] for t in json.load(sys.stdin)["truths"]}))'; }

run "$demo" --list
is "$status" 0 "--list"
names=$(printf '%s\n' "$out" | awk 'NR > 1 { print $1 }')
like "$names" '^incident$' "--list has the incident"
by_schema "--list --json is what the schema says" "$demo" --list --json
wrong=$(wrong_truths $names)
is "$(tail -n 1 <<<"$wrong")" all "the truths of all of them are read"
for s in $names; do
	is "$(grep "^$s: " <<<"$wrong")" "" "$s: the truth is what the schema says"
done
is "$(planted incident)" "cpu-contended cpu-preempted" "incident plants a process that takes the CPU"
is "$(planted contended)" "cpu-contended" "contended plants late wake-ups"
is "$(planted throttled)" "cpu-throttled" "throttled plants a quota"
is "$(planted lock)" "lock-wait" "lock plants a lock"
is "$(planted disk)" "disk-stall" "disk plants a disk"
is "$(planted clean)" "" "clean plants nobody"
is "$(planted errors)" "gpu-oom" "errors plants allocations that are refused"
is "$(planted cold-start)" "cold-start" "cold-start plants a start"
is "$(planted memcpy-bottleneck)" "copy-bound" "memcpy-bottleneck plants copies"
is "$(planted periodic-spike)" "periodic-spike" "periodic-spike plants spikes"
is "$(planted cpu-contention)" "cpu-contended cpu-preempted" "cpu-contention plants a process that takes the CPU and delays wake-ups"
is "$(planted gpu-steal)" "gpu-shared" "gpu-steal plants another process on the device"
is "$(planted incident --dose 0)" "" "a dose of 0 plants nothing"
run "$demo" incident --duration 5s --truth
like "$out" '^cpu-preempted +log-compactor +[0-9]+' "the truth as a table"

"$demo" incident --duration 2s >"$TMP/a"
"$demo" incident --duration 2s -o "$TMP/b"
ok "-o FILE is what standard output gets" cmp "$TMP/a" "$TMP/b"
is "$(stat -c %a "$TMP/b")" 600 "and only its owner may read it"
"$demo" incident --duration 2s --seed 2 >"$TMP/c"
ok "another seed is another recording" test "$(cmp "$TMP/a" "$TMP/c" >/dev/null; echo $?)" = 1
ok "it is an .ige" test "$(head -c 4 "$TMP/a" | od -An -c | tr -d ' ')" = '211IGE'
count() { "$BIN/ingero-stat" --json "$1" | python3 -c '
import json, sys
j = json.load(sys.stdin)
print(j["coverage"]["events"] > 10000 and j["coverage"]["complete"], j["coverage"]["lost"], [p["threads"] for p in j["processes"]])'; }
is "$(count "$TMP/a")" "True 0 [2]" "ingero-stat reads it whole"
"$demo" incident --duration 2s --archive >"$TMP/e"
ok "an archive is smaller" test "$(stat -c %s "$TMP/e")" -lt "$(stat -c %s "$TMP/a")"
is "$("$BIN/ingero-stat" --json "$TMP/e")" "$("$BIN/ingero-stat" --json "$TMP/a")" "and says the same"
"$demo" incident --duration 2s --threads 5 >"$TMP/d"
is "$(count "$TMP/d")" "True 0 [5]" "with as many threads as asked for"

for args in "--archive" "-o -"; do
	run script -qec "$demo incident --duration 1s $args" /dev/null
	like "$out" "binary and not for a terminal" "a recording asked for with $args is refused on a terminal, with a hint"
done

# The incident is one to be seen: calls that are usually short take long now and then, and the CPU is busy in its midst.
is "$("$BIN/ingero-stat" --json <("$demo" incident) | python3 -c '
import json, sys
ops = {o["op"]: o for o in json.load(sys.stdin)["ops"]}
o = ops["cudaStreamSynchronize"]
print(o["p99_ns"] > 10 * o["p50_ns"], o["flags"], [name for name in ops if ops[name]["flags"] and "Synchronize" not in name])')" \
	"True ['tail'] []" "the 99th percentile of cudaStreamSynchronize is over ten times the median and is flagged, and nothing else is"
busy=$("$BIN/ingero-export" --records -e oom <("$demo" incident) 2>/dev/null | python3 -c '
import json, sys
v = [r["value"] for r in map(json.loads, sys.stdin) if r.get("metric") == "cpu.busy"]
n = len(v) // 3
print(min(v[n + 1:2 * n - 1]) > 90, max(v[:n - 1]) < 40, max(v[2 * n + 1:]) < 40)')
is "$busy" "True True True" "the CPU is busy in the second third"
run "$demo" incidnt
is "$status" 2 "a wrong scenario is status 2"
like "$err" "did you mean 'incident'" "and the right one is named"
run "$demo" incident clean
is "$status" 2 "two scenarios are refused"
run "$demo" --list clean
is "$status" 2 "a list of one is refused"
run "$demo" incident --json
is "$status" 2 "a recording is not JSON"
for args in "--explain -o $TMP/x.ige" "--truth --archive" "--gpu --dose 30" "--gpu --archive"; do
	run "$demo" $args
	is "$status,$out" "2," "$args: what would be left undone is refused"
done
run "$demo" cold-start --gpu
is "$status" 2 "only the incident happens for real"
run env TMPDIR="$TMP/none" "$demo" --gpu
is "$status" 3 "what happens for real is recorded where TMPDIR says"
like "$err" "cannot create $TMP/none/ingero-demo" "which it cannot where that is not there"
# Named to its loader, as in the tarball, a program is not what /proc/self/exe says. What it has recorded is itself all the same.
loader=$(LC_ALL=C grep -ao '/lib[^[:cntrl:]]*/ld-linux[^[:cntrl:]]*' "$demo" | head -n 1)
if [ -x "$loader" ] && [ -e "$BUILD/double/libcuda.so.1" ]; then
	mkdir "$TMP/other"
	printf '#!/bin/sh\nshift 3\n[ "$2" = --loop ] && "$1" --version\nexit 9\n' >"$TMP/other/ingero-record"
	chmod +x "$TMP/other/ingero-record"
	run env PATH="$TMP/other:$(realpath "$BIN"):$PATH" LD_LIBRARY_PATH="$BUILD/double" "$loader" --argv0 ingero-demo "$demo" --gpu
	like "$out" "^ingero-demo [0-9]" "what is recorded is the program itself, however it was started"
else
	skip "what is recorded is the program itself, however it was started" "optional: no loader, or no stand-in for the libraries, in this build"
fi
run "$demo" incident --dose 81
is "$status" 2 "a dose beyond 80 is refused"
run "$demo" incident -o "$TMP/none/x"
is "$status" 3 "an output that cannot be made is status 3"
like "$err" "cannot create $TMP/none/x: No such file" "and why"
"$demo" incident >/dev/full 2>"$TMP/err"
is "$?" 3 "a full disk is status 3"
like "$(cat "$TMP/err")" "No space left" "and why"
{ "$demo" incident; echo "$?" >"$TMP/status"; } 2>"$TMP/err" | head -c 10 >/dev/null
is "$(cat "$TMP/status" "$TMP/err")" 0 "| head ends quietly"

if [ -x "$BIN/ingero-correlate" ] && [ -x "$BIN/ingero-explain" ]; then
	pid=$("$demo" incident --truth --json | sed -n 's/.*"culprit_pid": \([0-9]*\).*/\1/p' | head -1)
	run "$demo"
	is "$status" 0 "without a scenario: the whole way"
	like "$out" "log-compactor.*$pid|$pid.*log-compactor" "and the verdict names the culprit and its pid"
	run "$demo" --explain
	is "$status" 0 "--explain: the tour"
	tour="incident cold-start memcpy-bottleneck periodic-spike cpu-contention gpu-steal"
	is "$(printf '%s\n' "$out" | sed -n 's/^== \([a-z-]*\): .*/\1/p' | tr '\n' ' ')" "$tour " "six scenarios, the incident first"
	like "$out" "^train .* each: [^;]* log-compactor \\(pid $pid\\) had the CPU" "with their verdicts"
	like "$out" '^gpu-shared +embed-server +[0-9]+' "and what was planted, beside them"
	run "$demo" --explain contention --duration 5s
	is "$(printf '%s\n' "$out" | grep -c '^== ')$(printf '%s\n' "$out" | grep -c '^== gpu-steal:')" 11 "one scenario, by another of its names"
	run "$demo" --explain contended --duration 5s --dose 30
	like "$out" '^cpu-contended +log-compactor' "any scenario can be explained"
	by_schema "--explain --json is what the schema says" "$demo" --explain --json --duration 3s
	like "$err" '^(GPU: |no GPU here: what is shown is generated$)' "it says which GPU this machine has"
	is "$(printf '%s' "$out$err" | tr -dc '\033' | wc -c)" 0 "without a terminal nothing is drawn over"
	if [ -e "$BUILD/double/libnvidia-ml.so.1" ]; then
		run env LD_LIBRARY_PATH="$BUILD/double" "$demo" --explain contended --duration 1s
		like "$err" '^GPU: .*, 1\.0 GiB of 80\.0 GiB used, driver 580\.00$' "by its model and the driver"
	else
		skip "by its model and the driver" "optional: no stand-in for NVML in this build"
	fi
	# On a terminal the machine of the recording is drawn while it runs, and what it tells comes behind it.
	run script -qec "$demo incident --duration 5s --color=never" /dev/null
	is "$status" 0 "on a terminal a scenario is explained"
	is "$(printf '%s' "$out" | grep -c 'CPU .* busy, at most')" 6 "the bar of the CPU is drawn each second, and at the end"
	is "$(printf '%s' "$out" | LC_ALL=C grep -c 'load .* CPUs')" 6 "and that of the load"
	ok "over what was there before" test "$(printf '%s' "$out" | grep -c "$(printf '\033')\[[0-9]*A")" = 5
	like "$out" "HIGH cpu-preempted +log-compactor" "then the report"
	like "$out" "The truth, which no program above has read" "and what was planted"
	run script -qec "$demo -q incident --duration 5s --color=never" /dev/null
	is "$(printf '%s' "$out" | grep -c 'CPU .* busy, at most\|GPU here')" 0 "-q draws nothing"
	run "$demo" --explain --json lock --duration 5s
	is "$(printf '%s' "$out" | python3 -c 'import json, sys
r = json.load(sys.stdin)["reports"]
print(len(r), r[0]["truths"][0]["kind"], r[0]["report"]["schema"], r[0]["report"]["chains"][0]["kind"])')" \
		"1 lock-wait ingero.explain/1 lock-wait" "with the report inside"
else
	fail "correlate and explain are built"
fi
done_testing
