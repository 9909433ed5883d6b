#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Lets the members of a group record without sudo: a copy of the recorder with file capabilities, which only that group may
# start. Undo: rm the copy. Whoever may start it sees what every process of the machine does: the group is one of trust.
#
#   setcap.sh [GROUP [RECORDER [COPY]]]
set -eu
group=${1:-ingero} recorder=${2:-/usr/bin/ingero-record} copy=${3:-/usr/local/bin/ingero-record}
# cap_dac_read_search: libraries in home directories of others. cap_syslog: XIDs of the kernel log.
caps=cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog
install -o root -g "$group" -m 0750 "$recorder" "$copy"
setcap "$caps=ep" "$copy"
getcap "$copy"
