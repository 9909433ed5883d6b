/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every file of a recording says of the recording: whose it is, where probes are, which samples were left out on
 * purpose. Files end and begin; this is said again in each.
 */
#include "lib/probe/recorder_state.h"

int probe_recorder_say_start(struct probe_recorder *r, struct err *e)
{
	int rc = probe_say_node(r->writer, &r->node, e);

	if (rc == 0)
		rc = probe_say_session(r->writer, r->start_ns, r->opt.tool, r->opt.command,
				       r->opt.target, r->opt.probe.sched, r->opt.probe.cpu_hz, e);
	return rc ? rc : probe_say_clock(r->writer, "start", e);
}

int probe_recorder_say_coverage(struct probe_recorder *r, struct err *e)
{
	int rc;

	if (!r->session)
		return 0;
	rc = probe_say_coverage(r->writer, r->copies, r->wire, probe_recorder_process, r, e);
	return rc ? rc : probe_say_stack_ends(r->writer, r->world, &r->stack_ends, e);
}

int probe_recorder_say_thinned(struct probe_recorder *r, int64_t now, struct err *e)
{
	struct record rec = { .kind = RECORD_THINNED };
	int rc;

	if (!r->thin.on)
		return 0;
	REC_SET(&rec, THINNED, since_ns, r->thin_since);
	REC_SET(&rec, THINNED, until_ns, now);
	REC_SET(&rec, THINNED, said, r->thin.said - r->thin_said);
	REC_SET(&rec, THINNED, left_out, r->thin.left_out - r->thin_left_out);
	REC_SET(&rec, THINNED, deadband, r->thin.deadband);
	if (r->thin.heartbeat_ns)
		REC_SET(&rec, THINNED, heartbeat_ns, r->thin.heartbeat_ns);
	rc = ige_writer_record(r->writer, &rec, e);
	r->thin_said = r->thin.said;
	r->thin_left_out = r->thin.left_out;
	r->thin_since = now;
	return rc;
}
