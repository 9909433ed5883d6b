#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Slurm's Prolog (slurm.conf: Prolog=…/prolog.sh, run as root on every node of a job): starts a recorder of the job's
# user, whose recording is found under the job's number. Users ask for it with `sbatch --comment=ingero`, or set
# INGERO_ALWAYS=1 here. It never fails a job: what goes wrong is in the log beside the recording.
#
# INGERO_DIR      where recordings go, default /var/lib/ingero/slurm; a shared file system gathers all nodes
# INGERO_OPTIONS  of ingero-record, default --max-size 2g
: "${INGERO_DIR:=/var/lib/ingero/slurm}" "${INGERO_OPTIONS:=--max-size 2g}" "${INGERO_RUN:=/run/ingero}"
job=${SLURM_JOB_ID:?this is a Slurm prolog} user=${SLURM_JOB_USER:?}
node=${SLURMD_NODENAME:-$(hostname)}

wanted=${INGERO_ALWAYS:-}
if [ -z "$wanted" ]; then
	case ${SLURM_JOB_COMMENT-$(scontrol show job "$job" 2>/dev/null | sed -n 's/^ *Comment=//p')} in
	*ingero*) wanted=1 ;;
	esac
fi
[ -n "$wanted" ] || exit 0

umask 077
mkdir -p "$INGERO_DIR/$job" "$INGERO_RUN" || exit 0
# The job may end without its epilog; the recorder then ends with its limit of size.
# shellcheck disable=SC2086
setsid ingero-record -q -n "$node" -u "$user" $INGERO_OPTIONS -o "$INGERO_DIR/$job/$node.ige" \
	</dev/null >"$INGERO_DIR/$job/$node.log" 2>&1 &
echo $! >"$INGERO_RUN/slurm-$job.pid"
exit 0
