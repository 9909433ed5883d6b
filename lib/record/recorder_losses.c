/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder could not keep, into the recording once a second, and to the person who
 * records: which events, why, how many, and what to change, at most every few seconds.
 */
#include "lib/record/recorder_internal.h"

#include "lib/base/fmt.h"
#include "lib/host/clock.h"
#include "lib/decode/kernel_handles.h"
#include "lib/decode/wire_known.h"

#define TELL_NS 5000000000ll

static const char *loss_advice(uint32_t reason)
{
	switch (reason) {
	case LOSS_RING_FULL:
		return "a larger --ring loses less";
	case LOSS_NO_STATE:
		return "the kernel had no memory for it";
	case LOSS_MISSED_RETURN:
		return "calls left by an exception, longjmp or a killed thread; nothing to change";
	case LOSS_NESTING:
		return "calls more than 16 deep are not followed";
	case LOSS_QUEUE_FULL:
		return "write to a faster disk, or record less: --no-stacks, --no-sched, --sample";
	case LOSS_DISK_FULL:
		return "make room, or use --max-size";
	case LOSS_NOT_UNDERSTOOD:
		return "please report it";
	default:
		return "";
	}
}

static int write_output_losses(struct recorder *r, unsigned i, int64_t now, struct err *e)
{
	static const uint32_t reasons[2] = { LOSS_QUEUE_FULL, LOSS_DISK_FULL };
	struct record_output_state o;
	uint64_t dropped[2];
	int rc = 0;

	if (r->finished)
		record_output_last(r->opt.outputs[i], &o);
	else
		record_output_state(r->opt.outputs[i], &o);
	dropped[0] = o.dropped_queue;
	dropped[1] = o.dropped_disk;
	if (dropped[1] && !r->loss.dropped[i][1])
		recorder_tell(r, RECORD_WARNING,
			      "%s: recording goes on without events until there is room",
			      o.error.text);
	/* Said once for both outputs: each holds the statement, only one lost the events. */
	for (unsigned k = 0; rc == 0 && k < 2; k++) {
		uint64_t n = dropped[k] - r->loss.dropped[i][k];

		if (n) {
			rc = metadata_write_loss(r->writer, reasons[k], n, r->loss.since_ns, now,
						 e);
			r->loss.lost += n;
		}
		r->loss.dropped[i][k] = dropped[k];
	}
	return rc;
}

static int write_refused(struct recorder *r, int64_t now, struct err *e)
{
	uint64_t all = wire_decoder_refused(r->wire), n = all - r->loss.refused;

	r->loss.refused = all;
	r->loss.lost += n;
	return n ? metadata_write_loss(r->writer, LOSS_NOT_UNDERSTOOD, n, r->loss.since_ns, now, e)
		 : 0;
}

static const char *kernel_reason(const __u64 *untold, uint64_t roomless)
{
	if (roomless)
		return "no more than 64 MiB of them are kept";
	return untold[WIRE_UNTOLD_KERNEL] ? loss_reason_text(LOSS_RING_FULL)
					  : "their memory could not be read";
}

/* Writes totals into each file, and again whenever they have grown. */
static int write_missing(struct recorder *r, struct err *e)
{
	static const struct decode_name_counts none;
	const struct decode_name_counts *names = r->wire ? wire_decoder_names(r->wire) : &none;
	const struct decode_name_counts *texts = r->wire ? wire_decoder_texts(r->wire) : &none;
	const __u64 *untold = r->loss.slots.n[0];
	uint64_t roomless = recorder_roomless(r);
	uint64_t marks = r->marks.bad + r->marks.over + r->marks.full;
	uint64_t ranges = r->nvtx.unmatched + r->nvtx.vague + r->nvtx.over;
	uint64_t kernels = untold[WIRE_UNTOLD_KERNEL] + names->lost;
	const struct {
		const char *layer, *reason;
		uint64_t n, of;
		bool late; /* not lost */
	} all[MISSING_KINDS] = {
		[MISSING_STACKS] = { "lost stacks", loss_reason_text(LOSS_RING_FULL),
				     untold[WIRE_UNTOLD_STACK],
				     r->session ? probe_session_stacks(r->session) : 0, false },
		[MISSING_KERNELS] = { "lost kernel names", kernel_reason(untold, roomless),
				      kernels + roomless, kernels + names->read, false },
		[MISSING_MARKS] = { "lost marks",
				    "lines not understood, too many in a second, or with more "
				    "different texts than are kept",
				    marks, r->marks.taken + marks, false },
		[MISSING_RANGES] = { "lost ranges",
				     "NVTX: the beginning was not seen, several had the same id, "
				     "or too many names or ranges at a time",
				     ranges, r->nvtx.ranges + r->nvtx.points + ranges, false },
		[MISSING_NAMES] = { "lost range names",
				    texts->lost ? "NVTX: their memory could not be read"
						: "NVTX: more than 65536 were registered at a time",
				    r->nvtx.nameless + texts->lost, texts->read + texts->lost,
				    false },
		[MISSING_LATE_KERNELS] = { "late kernel names", NULL, names->late,
					   kernels + names->read, true },
		[MISSING_LATE_TEXTS] = { "late range names", NULL, texts->late,
					 texts->read + texts->lost, true },
	};
	int rc = 0;

	for (unsigned k = 0; rc == 0 && k < MISSING_KINDS; k++) {
		if (all[k].n == r->loss.missing[k])
			continue;
		r->loss.missing[k] = all[k].n;
		if (all[k].late)
			rc = metadata_write_late(r->writer, all[k].layer, all[k].n, all[k].of, e);
		else
			rc = metadata_write_missing(r->writer, all[k].layer, all[k].n, all[k].of,
						    all[k].reason, e);
	}
	return rc;
}

uint64_t recorder_roomless(const struct recorder *r)
{
	return r->wire ? kernel_handles_roomless(wire_decoder_handles(r->wire)) : 0;
}

static void notify_loss(struct recorder *r, uint64_t n, const char *source, uint32_t reason,
			int64_t ns)
{
	if (n)
		recorder_tell(r, RECORD_WARNING, "lost %s %s%sevent%s in %s: %s (%s)",
			      fmt_count(n).s, source, *source ? " " : "", n == 1 ? "" : "s",
			      fmt_ns((uint64_t)ns).s, loss_reason_text(reason),
			      loss_advice(reason));
}

static uint64_t dropped_of(const struct recorder *r, unsigned k)
{
	return r->loss.dropped[0][k] + r->loss.dropped[1][k];
}

static void notify_losses(struct recorder *r, const struct loss_slot *before,
			  const uint64_t dropped[2], uint64_t refused, int64_t ns)
{
	for (uint32_t source = 1; source < LOSS_SOURCES; source++)
		for (uint32_t reason = 0; reason < LOSS_REASONS; reason++)
			notify_loss(r, r->loss.slots.n[source][reason] - before->n[source][reason],
				    source_name((uint8_t)source) ? source_name((uint8_t)source)
								 : "",
				    reason, ns);
	notify_loss(r, dropped_of(r, 0) - dropped[0], "", LOSS_QUEUE_FULL, ns);
	notify_loss(r, dropped_of(r, 1) - dropped[1], "", LOSS_DISK_FULL, ns);
	notify_loss(r, r->loss.refused - refused, "", LOSS_NOT_UNDERSTOOD, ns);
}

int recorder_say_losses(struct recorder *r, int64_t now, struct err *e)
{
	struct loss_slot sum;
	int rc = 0;

	if (r->session) {
		probe_session_losses(r->session, &sum);
		rc = metadata_write_losses(r->writer, &sum, &r->loss.slots, r->loss.since_ns, now,
					   &r->loss.lost, e);
		if (rc == 0)
			rc = write_refused(r, now, e);
	}
	if (rc == 0)
		rc = write_missing(r, e);
	for (unsigned i = 0; rc == 0 && i < r->opt.noutputs; i++)
		rc = write_output_losses(r, i, now, e);
	r->loss.since_ns = now;
	if (r->loss.lost == r->loss.lost_told || r->finished || now < r->loss.next_ns)
		return rc;
	notify_losses(r, &r->loss.slots_told, r->loss.dropped_told, r->loss.refused_told,
		      now - (r->loss.told_ns ? r->loss.told_ns : r->start_ns));
	r->loss.slots_told = r->loss.slots;
	r->loss.dropped_told[0] = dropped_of(r, 0);
	r->loss.dropped_told[1] = dropped_of(r, 1);
	r->loss.lost_told = r->loss.lost;
	r->loss.refused_told = r->loss.refused;
	r->loss.told_ns = now;
	r->loss.next_ns = now + TELL_NS;
	return rc;
}

void recorder_tell_all_losses(struct recorder *r)
{
	static const struct loss_slot nothing;
	static const uint64_t none[2];

	notify_losses(r, &nothing, none, 0, host_clock_mono() - r->start_ns);
}

uint64_t recorder_ring_losses(const struct recorder *r)
{
	uint64_t n = 0;

	for (uint32_t source = 1; source < LOSS_SOURCES; source++)
		n += r->loss.slots.n[source][LOSS_RING_FULL];
	return n;
}
