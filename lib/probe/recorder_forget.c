/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has ended, and the last words on them: a recording goes on for weeks, and what the recorder keeps is of those that live.
 * Invariant: a process is let go of when all of its events have been written, and its coverage stands in the same file.
 */
#include "lib/probe/recorder_state.h"

#include "lib/probe/handles.h"

static void let_go(struct probe_recorder *r, const struct probe_gone *gone)
{
	uint64_t process, tgid, known;
	size_t at = 0;

	probe_copies_forget(r->copies, gone);
	probe_recorder_forget_uncovered(r, gone);
	probe_pythons_forget(r->pythons, gone);
	probe_codes_gone(r->codes, gone);
	probe_wire_gone(r->wire, gone);
	probe_nvtx_gone(&r->nvtx, gone);
	/* Of the memory of one that had a GPU the driver may speak as long as it likes. */
	while (map_each(&gone->processes, &at, &process, &tgid))
		if (map_get(&r->processes, tgid, &known) && known == (process | PROBE_ENDED) &&
		    !map_get(&r->gpus.named, process, NULL))
			map_del(&r->processes, tgid);
}

int probe_recorder_forget(struct probe_recorder *r, int64_t now, struct err *e)
{
	const struct probe_gone *gone;
	int rc = 0;

	/* Of who had ended at the last look something may still come. */
	if (r->watermark < r->forgot_ns)
		return 0;
	r->forgot_ns = now;
	probe_stacks_forget(r->stacks);
	probe_handles_forget(probe_wire_handles(r->wire));
	probe_wire_forget(r->wire);
	gone = probe_ended_next(&r->ended);
	if (gone)
		rc = probe_say_coverage(r->writer, r->copies, r->wire, gone, probe_recorder_process,
					r, e);
	if (gone && rc == 0)
		rc = probe_say_pythons(r->writer, r->pythons, gone, probe_recorder_process, r, e);
	if (gone)
		let_go(r, gone);
	return rc;
}
