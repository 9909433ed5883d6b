/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops the state of processes that have ended, since a recording may run for weeks, after writing
 * their last records. Invariant: a process is dropped only when all of its events are written and
 * its coverage is in the same file.
 */
#include "lib/record/recorder_internal.h"

#include "lib/decode/kernel_handles.h"
#include "lib/host/proc.h"

static void reap_processes(struct recorder *r, const struct gone_processes *gone)
{
	uint64_t process, tgid, known;
	size_t at = 0;

	library_instances_forget(r->copies, gone);
	recorder_forget_uncovered(r, gone);
	probe_pythons_forget(r->pythons, gone);
	python_codes_gone(r->codes, gone);
	wire_decoder_gone(r->wire, gone);
	record_nvtx_gone(&r->nvtx, gone);
	/* The driver may report the GPU memory of a process for any time after its end. */
	while (map_each(&gone->processes, &at, &process, &tgid))
		if (map_get(&r->lives.processes, tgid, &known) &&
		    known == (process | PROCESS_ENDED) && !map_get(&r->gpus.named, process, NULL))
			map_del(&r->lives.processes, tgid);
}

int recorder_forget(struct recorder *r, int64_t now, struct err *e)
{
	const struct gone_processes *gone;
	int rc = 0;

	/* Events of processes that had ended at the last call may still arrive. */
	if (r->watermark < r->lives.forgot_ns)
		return 0;
	r->lives.forgot_ns = now;
	probe_stacks_forget(r->stacks);
	kernel_handles_forget(wire_decoder_handles(r->wire));
	wire_decoder_forget(r->wire);
	gone = ended_processes_next(&r->lives.ended);
	if (gone)
		rc = metadata_write_coverage(r->writer, r->copies, r->wire, gone, recorder_process,
					     r, e);
	if (gone && rc == 0)
		rc = metadata_write_pythons(r->writer, r->pythons, gone, recorder_process, r, e);
	if (gone)
		reap_processes(r, gone);
	return rc;
}

bool recorder_awaits_end(const struct recorder *r)
{
	uint64_t tgid, process;
	size_t at = 0;

	while (map_each(&r->lives.processes, &at, &tgid, &process))
		if (!(process & PROCESS_ENDED) && host_proc_killed((uint32_t)tgid))
			return true;
	return false;
}
