/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every file of a recording says of the recording: whose it is, where probes are, which
 * samples were left out on purpose. Files end and begin; this is said again in each.
 */
#include "lib/record/recorder_internal.h"

#include "lib/record/host_records.h"

int recorder_say_start(struct recorder *r, struct err *e)
{
	uint32_t cpu_hz = r->session ? probe_session_cpu_hz(r->session) : 0;
	int rc = metadata_write_node(r->writer, &r->node, e);

	if (rc == 0)
		rc = metadata_write_session(r->writer, r->start_ns, r->opt.tool, r->opt.command,
					    r->opt.target, r->opt.probe.sched, cpu_hz,
					    r->opt.hung_ns, e);
	if (rc == 0)
		rc = metadata_write_clock(r->writer, "start", e);
	if (rc == 0)
		rc = recorder_repeat_pauses(r, e);
	return rc ? rc : recorder_repeat_uncovered(r, e);
}

int recorder_say_coverage(struct recorder *r, int64_t now, struct err *e)
{
	int rc = 0;

	if (r->session) {
		rc = metadata_write_coverage(r->writer, r->copies, r->wire, NULL, recorder_process,
					     r, e);
		if (rc == 0)
			rc = metadata_write_stack_ends(r->writer, r->world, &r->stack_ends, e);
		if (rc == 0)
			rc = metadata_write_unwinds(r->writer, r->unwinds, e);
		if (rc == 0)
			rc = metadata_write_pythons(r->writer, r->pythons, NULL, recorder_process,
						    r, e);
		if (rc == 0)
			rc = metadata_write_optional(r->writer, probe_session_optional(r->session),
						     now, e);
	}
	/* Wait for the first answer of the driver and of the kubelet. */
	if (rc == 0 && (r->finished || record_gpus_settled(&r->gpus)))
		rc = record_gpus_say_coverage(&r->gpus, r->writer, now, e);
	if (rc == 0 && (r->finished || !r->kubelet.waiting || r->kubelet.answers))
		rc = metadata_write_pods(r->writer, &r->kubelet, now, e);
	return rc;
}

int recorder_say_names(struct recorder *r, struct err *e)
{
	int rc = 0;

	/* Events of one that has ended may still come, but not in the file after this one. */
	for (size_t i = r->lives.names.n; rc == 0 && i-- > 0;) {
		struct thread_name *v = &r->lives.names.v[i];
		struct record rec = { .kind = RECORD_NAME };

		REC_SET(&rec, NAME, time_ns, v->time_ns);
		REC_SET(&rec, NAME, thread, v->thread);
		REC_SET(&rec, NAME, comm, world_text(r->world, v->name));
		rc = ige_writer_record(r->writer, &rec, e);
		if (!v->ended)
			continue;
		map_del(&r->lives.name_of, v->thread);
		*v = r->lives.names.v[--r->lives.names.n];
		if (i < r->lives.names.n)
			map_put(&r->lives.name_of, v->thread, i);
	}
	return rc;
}

int recorder_say_thinned(struct recorder *r, int64_t now, struct err *e)
{
	struct record rec = { .kind = RECORD_THINNED };
	int rc;

	if (!r->thinned.band.on)
		return 0;
	REC_SET(&rec, THINNED, since_ns, r->thinned.since_ns);
	REC_SET(&rec, THINNED, until_ns, now);
	REC_SET(&rec, THINNED, said, r->thinned.band.said - r->thinned.said);
	REC_SET(&rec, THINNED, left_out, r->thinned.band.left_out - r->thinned.left_out);
	REC_SET(&rec, THINNED, deadband, r->thinned.band.deadband);
	if (r->thinned.band.heartbeat_ns)
		REC_SET(&rec, THINNED, heartbeat_ns, r->thinned.band.heartbeat_ns);
	rc = ige_writer_record(r->writer, &rec, e);
	r->thinned.said = r->thinned.band.said;
	r->thinned.left_out = r->thinned.band.left_out;
	r->thinned.since_ns = now;
	return rc;
}
