#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Who may not record is told what exactly is missing; a kernel that cannot be asked what it looks like is described by a
# file. Programs and recordings are where any user gets at them.
. tests/tap.sh

btf=/sys/kernel/btf/vmlinux
[ "$(id -u)" = 0 ] && [ -r $btf ] || skip_all "recording needs root and $btf"
"$BIN/ingero-record" -q -o "$TMP/trial.ige" -- true 2>/dev/null || skip_all "BPF does not work here"
chmod 777 "$TMP"
cp "$BIN/ingero-record" "$TMP/record"
record=$TMP/record to=$TMP/x.ige
export HOME=$TMP

# nobody CAPABILITIES COMMAND...: with these capabilities only
nobody() {
	local caps=$1
	shift
	run setpriv --reuid=65534 --regid=65534 --clear-groups ${caps:+--inh-caps="$caps" --ambient-caps="$caps"} "$@"
}

if setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
	nobody "" "$record" -a -o "$to"
	is "$status" 3 "a user without rights cannot record"
	like "$err" 'Operation not permitted: user 65534 has no CAP_BPF, CAP_PERFMON \(' "and is told which"
	nobody "" "$record" -o "$to" -- true
	is "$status" 125 "nor a command"
	nobody +bpf "$record" -a -o "$to"
	is "$status" 3 "CAP_BPF alone is not enough"
	like "$err" ' has no CAP_PERFMON \(' "and only the other one is named"
	nobody +bpf,+perfmon "$record" -p $$ -o "$to" --duration 1ms
	is "$status" 3 "a process of another user cannot be looked into"
	like "$err" "cannot look into process $$: .* it is of user 0, and user 65534 has no CAP_SYS_PTRACE" "which is told"
	is "$(ls "$to" 2>/dev/null)" "" "no recording came of all that"
	nobody +bpf,+perfmon "$record" -q -o "$to" -- true
	is "$status" 0 "CAP_BPF and CAP_PERFMON are enough for a command of one's own"
	nobody +bpf,+perfmon,+sys_ptrace "$record" -q -p $$ -o "$TMP/other.ige" --duration 1ms
	is "$status" 0 "with CAP_SYS_PTRACE, too, others' processes are"
	nobody "" "$record" --no-probes -q -o "$TMP/samples.ige" -- true
	is "$status" 0 "samples need no rights"
else
	skip "rights" "optional: no setpriv here"
fi
if unshare -Ur true 2>/dev/null; then
	run unshare -Ur "$record" -a -o "$TMP/ns.ige"
	is "$status" 3 "root of a user namespace cannot record"
	like "$err" 'capabilities of a user namespace do not count' "and is told that"
else
	skip "a user namespace" "optional: there may be none here"
fi

cp $btf "$TMP/btf"
run "$record" -q --btf "$TMP/btf" -o "$TMP/btf.ige" -- sh -c 'exit 3'
is "$status" 3 "--btf with what the kernel says of itself"
is "$(ls "$TMP/btf.ige")" "$TMP/btf.ige" "records"
for wrong in "$TMP/none" "$TMP" tests/tap.sh; do
	run "$record" --btf "$wrong" -a -o "$TMP/wrong.ige"
	is "$status" 3 "--btf ${wrong##*/} is refused"
	like "$err" "(cannot (open|read) $wrong: (No such file|Is a dir))|^ingero-record: $wrong is no BTF: wanted is a copy" "and why"
done
run "$record" --btf "$record" -a -o "$TMP/wrong.ige"
is "$status" 3 "a program is an ELF file, but not this kernel"
like "$err" "with $record: is it the BTF of this kernel" "which is asked"
is "$(ls "$TMP/wrong.ige" 2>/dev/null)" "" "no recording came of all that"

# hidden COMMAND...: /sys/kernel/btf and /boot are empty for it
hidden() { run unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && mount -t tmpfs none /boot && "$@"' sh "$@"; }
mkdir -p /boot 2>/dev/null
hidden true
if [ "$status" = 0 ]; then
	hidden "$record" -a -o "$TMP/hidden.ige"
	is "$status" 3 "a kernel that says nothing of itself"
	like "$err" "cannot open $btf .*--btf FILE" "can be described by a file"
	hidden "$record" --btf "$TMP/btf" -a -o "$TMP/hidden.ige"
	is "$status" 3 "not for its tracepoints"
	like "$err" "put it at /boot/vmlinux-$(uname -r), too" "which want it where it is looked for"
	hidden sh -c "cp $TMP/btf /boot/vmlinux-$(uname -r) && exec $record -q -o $TMP/hidden.ige -- true"
	is "$status" 0 "where it is found"
else
	skip "a hidden description" "optional: no mounts of one's own here"
fi

# What forbids it is nobody's capability: then the words of who met it help. A filter as a service's, for bpf(BPF_PROG_LOAD).
cat >"$TMP/filtered.py" <<'END'
import ctypes, os, struct, sys
bpf = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
code = [(0x20, 0, 0, 0), (0x15, 0, 3, bpf), (0x20, 0, 0, 16), (0x15, 0, 1, 5), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
END
err=$(python3 "$TMP/filtered.py" "$BIN/ingero-record" -q -o "$TMP/filtered.ige" -- true 2>&1)
status=$?
if [ $status = 77 ]; then
	skip "a filter of system calls" "optional: no filters of one's own here"
else
	is "$status" 125 "a filter of system calls"
	like "$err" "no capability is missing: a container must be privileged.*libbpf: " "is told with what libbpf said"
fi
done_testing
