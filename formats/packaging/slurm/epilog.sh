#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Slurm's Epilog (slurm.conf: Epilog=…/epilog.sh): ends the recorder that prolog.sh started, waits until its file is
# complete, and gives the recording to the job's user. Afterwards, anywhere:
#
#   ingero-merge /var/lib/ingero/slurm/JOB/*.ige | ingero-correlate | ingero-explain
: "${INGERO_DIR:=/var/lib/ingero/slurm}" "${INGERO_RUN:=/run/ingero}" "${INGERO_WAIT:=20}"
job=${SLURM_JOB_ID:?this is a Slurm epilog} user=${SLURM_JOB_USER:?}
pidfile=$INGERO_RUN/slurm-$job.pid
[ -s "$pidfile" ] || exit 0
read -r pid <"$pidfile"
# Only if the number still is that recorder's.
if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = ingero-record ]; then
	kill -TERM "$pid"
	waited=0
	while kill -0 "$pid" 2>/dev/null && [ "$waited" -lt $((INGERO_WAIT * 10)) ]; do
		sleep 0.1
		waited=$((waited + 1))
	done
fi
rm -f "$pidfile"
chown -R "$user" "$INGERO_DIR/$job"
exit 0
