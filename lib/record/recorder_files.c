/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that goes on for days: files that end when they are large or old enough, and a memory
 * of the last seconds that is written down when something happened. Each file is a recording of its
 * own: it begins with what is true of all of them. Coverage counts from the beginning of the
 * recording, not of the file.
 */
#include "lib/record/recorder_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fmt.h"
#include "lib/host/clock.h"

/* A flight recorder's memory is made of about so many segments: what is kept is longer than asked
 * for by one of them. */
#define FLIGHT_PARTS  4
#define FLIGHT_CUT_NS 1000000000

/* Ends the writer's segment, after the records that a reader of the segment needs. */
static int cut_segment(struct recorder *r, int64_t now, struct err *e)
{
	int rc = recorder_say_losses(r, now, e);

	if (rc == 0)
		rc = record_samples_rest(&r->samples, r->writer, e);
	if (rc == 0)
		rc = recorder_say_coverage(r, now, e);
	if (rc == 0)
		rc = recorder_say_thinned(r, now, e);
	if (rc == 0)
		rc = recorder_say_cost(r, now, e);
	if (rc == 0)
		rc = metadata_write_clock(r->writer, "tick", e);
	if (rc == 0)
		rc = ige_writer_cut(r->writer, e);
	r->trigger.cut_ns = now;
	return rc;
}

/* The same recording goes on in a segment that knows nothing yet. */
static int go_on(struct recorder *r, struct err *e)
{
	int rc;

	host_sampler_again(r->samples.sampler);
	deadband_forget(&r->thinned.band);
	map_clear(&r->waits.others);
	map_clear(&r->lives.comms);
	map_clear(&r->gpus.named);
	memset(r->loss.missing, 0, sizeof(r->loss.missing));
	recorder_marks_again(r);
	if (r->session)
		wire_decoder_again(r->wire, r->watermark);
	open_call_list_again(&r->opens);
	sleepers_again(&r->waits.sleepers);
	sleepers_again(&r->waits.locked);
	pipe_holders_again(&r->waits.pipes);
	rc = recorder_say_start(r, e);
	if (rc == 0)
		rc = recorder_say_names(r, e);
	return rc ? rc : recorder_say_places(r, e);
}

static uint64_t largest_file(const struct recorder *r)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < r->opt.noutputs; i++) {
		struct record_output_state o;

		record_output_state(r->opt.outputs[i], &o);
		if (o.files && o.file_bytes > bytes)
			bytes = o.file_bytes;
	}
	return bytes;
}

static int next_file(struct recorder *r, int64_t now, struct err *e)
{
	int rc = cut_segment(r, now, e);

	for (unsigned i = 0; rc == 0 && i < r->opt.noutputs; i++)
		rc = record_output_next(r->opt.outputs[i], e);
	return rc ? rc : go_on(r, e);
}

/* ---- the flight recorder
 * ---------------------------------------------------------------------------- */

static int write_down(struct recorder *r, const char *why, struct err *lost)
{
	const char *path = record_rotation_next(r->opt.flight_files);
	int64_t kept = host_clock_mono() - r->flight.given_up_ns;
	struct err e = { 0 };
	uint64_t bytes, tail = 0;
	int fd = path ? record_output_create(path, &r->opt.flight_owner, &e) : -1;
	int rc = fd < 0 ? -1 : record_flight_dump(&r->flight, fd, &bytes, &e);

	/* At the end the memory has it. */
	if (rc == 0 && !r->finished)
		rc = recorder_say_tail(r, fd, &tail, &e);
	if (fd >= 0 && close(fd) && rc == 0)
		rc = err_sys(&e, "cannot write %s", path);
	if (rc) {
		if (fd >= 0)
			unlink(path);
		if (path)
			record_rotation_unmade(r->opt.flight_files);
		else
			err_nomem(&e);
		return err_set(lost, e.code, "%s, but the last seconds are lost: %s", why, e.text);
	}
	bytes += tail;
	record_rotation_grown(r->opt.flight_files, bytes);
	record_rotation_prune(r->opt.flight_files);
	recorder_tell(r, RECORD_NOTE, "wrote %s (%s): %s", path, fmt_bytes(bytes).s, why);
	if (r->flight.given_up_ns && kept < (int64_t)r->opt.flight_ns)
		recorder_tell(r, RECORD_WARNING,
			      "--flight-memory had room for the last %s, not for %s",
			      fmt_ns((uint64_t)kept).s, fmt_ns(r->opt.flight_ns).s);
	return 0;
}

static void explain_trigger(const struct recorder *r, char *out, size_t size)
{
	const struct op_def *op = op_builtin(r->trigger.slow_op),
			    *hung = op_builtin(r->opens.hung_op);

	if (r->trigger.dump_wanted)
		snprintf(out, size, "asked for");
	else if (r->opens.hung > r->trigger.hung_seen)
		snprintf(out, size, "%s has not returned for %s", hung ? hung->name : "a call",
			 fmt_ns(r->opens.hung_limit_ns).s);
	else if (r->trigger.idle)
		snprintf(out, size, "no call has returned for %s",
			 fmt_ns(r->opt.trigger->idle_ns).s);
	else if (r->trigger.slow_ns)
		snprintf(out, size, "%s took %s", op ? op->name : "a call",
			 fmt_ns(r->trigger.slow_ns).s);
	else
		snprintf(out, size, "%s returned an error", op ? op->name : "a call");
}

static bool is_alive(void *ctx, uint32_t process)
{
	struct recorder *r = ctx;
	const struct world_process *p = world_get_process(r->world, process);
	uint64_t known;

	return p && map_get(&r->lives.processes, p->tgid, &known) && known == process;
}

/* Those that make calls have stopped to. */
static void watch_idle(struct recorder *r, int64_t now)
{
	uint64_t idle_ns = r->opt.trigger ? r->opt.trigger->idle_ns : 0;

	if (!idle_ns || !r->session)
		return;
	if (r->calls != r->trigger.idle_calls) {
		r->trigger.idle_calls = r->calls;
		r->trigger.idle_since = now;
		r->trigger.idle_told = false;
	}
	if (r->trigger.idle_told || !r->calls || now - r->trigger.idle_since < (int64_t)idle_ns)
		return;
	r->trigger.idle_told = true;
	if (r->trigger.fired || !wire_decoder_caller(r->wire, is_alive, r))
		return;
	r->trigger.fired = r->trigger.idle = true;
	r->trigger.end_ns = now;
}

/* Whether the segment is old or large enough to be cut. Small ones are mostly metadata. */
static bool is_part(const struct recorder *r, int64_t now)
{
	int64_t age = now - r->trigger.cut_ns, part = (int64_t)r->opt.flight_ns / FLIGHT_PARTS;

	return age >= FLIGHT_CUT_NS && (age >= part || record_flight_filling(&r->flight) >=
							       r->opt.flight_bytes / FLIGHT_PARTS);
}

static int check_triggers(struct recorder *r, int64_t now, struct err *e)
{
	bool wanted, settled;
	struct err lost;
	char why[200];
	int rc;

	watch_idle(r, now);
	wanted = r->trigger.fired || r->opens.hung > r->trigger.hung_seen;
	/* What triggered has left the writer's waiting room. */
	settled = r->watermark >= r->trigger.end_ns;

	/* One incident is one file: what triggers again within the window is in it, or in the next
	 * one. */
	if (wanted && r->trigger.dumped_ns &&
	    now - r->trigger.dumped_ns < (int64_t)r->opt.flight_ns)
		wanted = false;
	wanted = (wanted || r->trigger.dump_wanted) && settled;
	if (!wanted && !is_part(r, now))
		return 0;
	explain_trigger(r, why, sizeof(why));
	rc = cut_segment(r, now, e);
	if (rc)
		return rc;
	if (wanted) {
		/* A disk that is full now may have room at the next trigger: no reason to stop
		 * remembering. */
		if (write_down(r, why, &lost))
			recorder_tell(r, RECORD_WARNING, "%s", lost.text);
		r->trigger.dumped_ns = now;
		r->trigger.fired = r->trigger.idle = r->trigger.dump_wanted = false;
		r->trigger.hung_seen = r->opens.hung;
	}
	/* What triggered and waits to be written stays, however long that takes. */
	record_flight_cut(&r->flight, now, r->trigger.fired ? r->trigger.end_ns : now);
	return go_on(r, e);
}

int recorder_turn_over(struct recorder *r, int64_t now, struct err *e)
{
	if (r->opt.flight_ns)
		return check_triggers(r, now, e);
	if ((r->opt.rotate_ns && now - r->trigger.cut_ns >= (int64_t)r->opt.rotate_ns) ||
	    (r->opt.rotate_bytes && largest_file(r) >= r->opt.rotate_bytes))
		return next_file(r, now, e);
	return 0;
}

int recorder_land(struct recorder *r, struct err *e)
{
	return r->opt.flight_ns && r->finished ? write_down(r, "the recording ended", e) : 0;
}

void recorder_dump(struct recorder *r)
{
	r->trigger.dump_wanted = true;
	r->trigger.end_ns = host_clock_mono();
}
