#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What tracing costs the traced, and the recorder itself, as ratios within one run: make bench NAMES='cost.*'
b=${BUILD:-build}/tests/bench
for part in cost_calls cost_sched cost_record cost_python; do
	if [ -x "$b/$part" ]; then
		"$b/$part" || exit 1
	else
		echo "bench: SKIP cost.*: built without BPF"
	fi
done
python3 "$(dirname "$0")/cost_peers.py" || exit 1
