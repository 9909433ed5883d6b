#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make demo`: a stall that really happens on this machine, recorded, correlated and explained. A
# training-like loop on the CUDA double shares one CPU with a hog; the report has to name the hog. The loop is in
# Python where there is a python3 whose frames are known, so that the report names its lines; else in C.
# Where BPF is not permitted it says so and explains a generated recording instead. The recording and
# the report stay in $BUILD/demo.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
BIN=$BUILD/bin
double=$(cd "$BUILD/double" && pwd)
to=$BUILD/demo
seconds=${DEMO_SECONDS:-6}
duty=${DEMO_DUTY:-40}
mkdir -p "$to"

say() { printf '\n== %s\n' "$*"; }
generated() {
	say "$1"
	echo "So the same analysis runs on a generated recording, whose truth is known:"
	echo "\$ ingero-demo incident | ingero-explain"
	"$BIN/ingero-demo" incident >"$to/generated.ige" && "$BIN/ingero-explain" "$to/generated.ige"
	exit
}

# Recording needs CAP_BPF and CAP_PERFMON, in practice root.
sudo=
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && echo "Recording needs root:" && sudo true; }; }; then
		sudo=sudo
	else
		generated "This user may not use BPF (no root, no sudo), so nothing can be recorded here."
	fi
fi
why=$($sudo "$BIN/ingero-record" -q -o /dev/null -- true 2>&1) ||
	generated "BPF does not work here: ${why:-ingero-record failed}"

# The last CPU this shell may use, so that the rest of the machine stays out of it.
cpu=$(taskset -cp $$ 2>/dev/null | sed 's/.*[:,-] *//')
hog=
trap '[ -z "$hog" ] || kill "$hog" 2>/dev/null' EXIT

loop=$double/train shown=train
if [ "${DEMO_LOOP:-python}" = python ] &&
	python=$(python3 -c 'import sys
if sys.implementation.name == "cpython" and (3, 8) <= sys.version_info[:2] <= (3, 15): print(sys.executable)' 2>/dev/null) &&
	[ -n "$python" ]; then
	loop="$python tests/double/work/train.py" shown="python3 train.py"
fi

say "A training loop and a CPU hog (\"nightly-backup\", $duty % of a CPU) share CPU ${cpu:=0} for $seconds seconds"
"$double/hog" --cpu "$cpu" --duty "$duty" --period-ms 40 --seconds 0 --comm nightly-backup >"$to/hog.json" &
hog=$!
echo "\$ ingero-record -o $to/run.ige -- $shown --cpu $cpu --seconds $seconds"
rm -f "$to/run.ige"
$sudo env LD_LIBRARY_PATH="$double" "$BIN/ingero-record" -o "$to/run.ige" -- \
	env LD_LIBRARY_PATH="$double" DOUBLE_LAUNCH_NS=100000 PYTHONDONTWRITEBYTECODE=1 $loop --cpu "$cpu" --seconds "$seconds" --call-us 150 \
	--step-us 500 >"$to/train.json" || {
	echo "make demo: ingero-record failed" >&2
	exit 1
}
kill "$hog" 2>/dev/null
wait "$hog" 2>/dev/null
truth_pid=$hog hog=
[ -z "$sudo" ] || $sudo chown "$(id -u):$(id -g)" "$to/run.ige"

say "What happened, by operation"
echo "\$ ingero-stat $to/run.ige"
"$BIN/ingero-stat" "$to/run.ige" || exit
say "Whose fault it was"
echo "\$ ingero-correlate $to/run.ige | ingero-explain"
"$BIN/ingero-correlate" "$to/run.ige" >"$to/chains.ige" && "$BIN/ingero-explain" "$to/chains.ige" | tee "$to/report.txt"
[ "${PIPESTATUS[0]}" = 0 ] || exit 1

say "The truth"
delay=$(sed -n 's/.*"run_delay_ns": *\([0-9]*\).*/\1/p' "$to/train.json" | head -1)
echo "The hog was nightly-backup, pid $truth_pid; by the kernel's own accounting the loop waited $((${delay:-0} / 1000000)) ms for its CPU."
grep -q "$truth_pid" "$to/report.txt" && grep -q nightly-backup "$to/report.txt" && exit
number() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$to/hog.json" | head -1; }
got=$(number thread_cpu_ns) wall=$(number wall_ns)
got=$((${got:-0} * 100 / ${wall:-1}))
# Where many others run a small share is one among those that are no cause by themselves.
if [ "$got" -lt 10 ]; then
	echo "It had only $got % of that CPU: this machine is busy with other things, the largest of which the report names."
	exit 0
fi
echo "make demo: the report does not name it, although it had $got % of that CPU" >&2
exit 1
