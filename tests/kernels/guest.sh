# SPDX-License-Identifier: Apache-2.0
#
# Runs inside the guest as root: records exactly known workloads, with each way to attach that this
# kernel may have (with a file /light by the default alone), and leaves recordings and truths in /out for the host to compare.
export LD_LIBRARY_PATH=/double
record=/bin/ingero-record

# run NAME OPTIONS... -- COMMAND...: a recording, the recorder's status and words, the workload's truth
run() {
	name=$1
	shift
	timeout 300 "$record" --budget none --nested -o "/out/$name.ige" "$@" --truth "/out/$name.truth" >"/out/$name.stdout" 2>"/out/$name.stderr"
	echo $? >"/out/$name.exit"
}

uname -r >/out/release
/bin/ingero-check --json --library-path /double >/out/check.json 2>/out/check.stderr
echo $? >/out/check.exit
run calls -- /double/calls --count 500
if [ -e /light ]; then exit 0; fi
for link in session multi perf; do
	run "calls-$link" --link "$link" -- /double/calls --count 50 --threads 2
done
run samples -F 997 -- /double/calls --count 2000 --threads 2

# A hog on the CPU of a training loop: preemption that the kernel itself accounts for.
/double/hog --cpu 0 --duty 50 --seconds 0 --comm thief >/out/hog.truth 2>/out/hog.stderr &
hog=$!
run train -- /double/train --cpu 0 --seconds 4 --step-us 2000 --call-us 200
kill "$hog"
wait "$hog"
echo finished
