/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording costs, in COST records and to the person who records. What is left out because
 * somebody asked, and what is folded, is counted exactly by the kernel side.
 */
#include "lib/record/recorder_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fmt.h"
#include "lib/base/io.h"
#include "lib/attach/spec.h"

static struct sampled_op *op_of(struct recorder *r, uint16_t op)
{
	for (size_t i = 0; i < r->sampled.n; i++)
		if (r->sampled.v[i].op == op)
			return &r->sampled.v[i];
	return NULL;
}

int recorder_start_cost(struct recorder *r, struct err *e)
{
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);
	int rc = 0;

	record_cost_start(&r->spent.cost, r->session);
	r->spent.budget.busiest = 1;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct sampled_op s = { .op = specs[i].op.op };

		r->spent.budget.tier_of[s.op % OPS_COUNTED] = specs[i].op.tier;
		if ((specs[i].op.flags & SPEC_SILENT) || op_of(r, s.op))
			continue;
		s.every = r->opt.sample > 1 ? r->opt.sample : 1;
		if (s.every > 1)
			rc = probe_session_every(r->session, s.op, (uint16_t)s.every, e);
		if (rc == 0 && !vec_push(&r->sampled, s))
			rc = err_nomem(e);
	}
	return rc;
}

/* Writes SAMPLED for calls left out and FOLDED for calls folded into others, since last time. */
static int write_op(struct recorder *r, struct sampled_op *s, int64_t now, struct err *e)
{
	struct record rec = { .kind = RECORD_SAMPLED };
	uint64_t left_out = probe_session_left_out(r->session, s->op),
		 folded = probe_session_folded(r->session, s->op);
	int rc = 0;

	if (left_out > s->told) {
		REC_SET(&rec, SAMPLED, since_ns, r->spent.since_ns);
		REC_SET(&rec, SAMPLED, until_ns, now);
		REC_SET(&rec, SAMPLED, op, s->op);
		REC_SET(&rec, SAMPLED, every, s->every);
		REC_SET(&rec, SAMPLED, left_out, left_out - s->told);
		REC_SET(&rec, SAMPLED, reason, bytes_of("asked"));
		r->spent.left_out += left_out - s->told;
		s->told = left_out;
		rc = ige_writer_record(r->writer, &rec, e);
	}
	if (rc == 0 && folded > s->folded_told) {
		rec = (struct record){ .kind = RECORD_FOLDED };
		REC_SET(&rec, FOLDED, since_ns, r->spent.since_ns);
		REC_SET(&rec, FOLDED, until_ns, now);
		REC_SET(&rec, FOLDED, op, s->op);
		REC_SET(&rec, FOLDED, calls, folded - s->folded_told);
		r->spent.folded += folded - s->folded_told;
		s->folded_told = folded;
		rc = ige_writer_record(r->writer, &rec, e);
	}
	return rc;
}

static uint64_t rss_bytes(void)
{
	unsigned long long pages = 0, resident = 0;
	char text[128] = "";
	struct buf b = { 0 };
	struct err ignored = { 0 };

	if (read_file("/proc/self/statm", &b, sizeof(text), &ignored) == 0 && b.n < sizeof(text)) {
		memcpy(text, b.p, b.n);
		sscanf(text, "%llu %llu", &pages, &resident);
	}
	buf_free(&b);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

int recorder_say_cost(struct recorder *r, int64_t now, struct err *e)
{
	struct record rec = { .kind = RECORD_COST };
	double seconds = (double)(now - r->spent.since_ns) / 1e9, cpu = recorder_cpu(),
	       factor = recorder_budget_factor(&r->spent.budget),
	       call = record_cost_call(&r->spent.cost) * factor,
	       host = record_cost_host(&r->spent.cost);
	uint64_t calls = r->calls - r->spent.calls, left_out = r->spent.left_out,
		 folded = r->spent.folded;
	struct probe_stops stops;
	int rc = 0;

	if (!r->session)
		call = host = -1;
	for (size_t i = 0; rc == 0 && i < r->sampled.n; i++)
		rc = write_op(r, &r->sampled.v[i], now, e);
	if (rc)
		return rc;
	left_out = r->spent.left_out - left_out;
	folded = r->spent.folded - folded;
	REC_SET(&rec, COST, since_ns, r->spent.since_ns);
	REC_SET(&rec, COST, until_ns, now);
	REC_SET(&rec, COST, calls, calls);
	REC_SET(&rec, COST, left_out, left_out);
	if (call > 0) {
		REC_SET(&rec, COST, call_ns, call);
		REC_SET(&rec, COST, calls_ns,
			(uint64_t)((double)calls * call +
				   (double)(left_out + folded) *
					   record_cost_skipped(&r->spent.cost) * factor));
		r->spent.ns += rec.u.COST.calls_ns;
	}
	if (host >= 0) {
		REC_SET(&rec, COST, host_ns, (uint64_t)(host * seconds) + recorder_ticks_ns(r));
		r->spent.host_ns += rec.u.COST.host_ns;
	}
	REC_SET(&rec, COST, recorder_cpu_ns, (uint64_t)((cpu - r->spent.cpu) * 1e9));
	REC_SET(&rec, COST, recorder_rss, rss_bytes());
	REC_SET(&rec, COST, measured_ns, r->spent.cost.measured_ns - r->spent.measured);
	if (r->session) {
		stops = probe_targets_stops(r->targets);
		REC_SET(&rec, COST, stops, stops.n - r->spent.stops.n);
		REC_SET(&rec, COST, stopped_ns, stops.ns - r->spent.stops.ns);
		r->spent.stops = stops;
	}
	r->spent.since_ns = now;
	r->spent.calls = r->calls;
	r->spent.cpu = cpu;
	r->spent.measured = r->spent.cost.measured_ns;
	return ige_writer_record(r->writer, &rec, e);
}

static void notify_slowdown(struct recorder *r)
{
	struct recorder_slowdown s = recorder_slowdown(r);

	if (s.windows)
		recorder_tell(r, RECORD_LINE,
			      "recording slowed the programs by %s (%s to %s, by their own "
			      "progress with and without probes, %u times)",
			      fmt_percent(s.share).s, fmt_percent(s.low).s, fmt_percent(s.high).s,
			      s.windows);
	else
		recorder_tell(r, RECORD_LINE,
			      "recording took about %s of the programs' time: %.2f us a call "
			      "(calibrated trap%s)",
			      fmt_percent(s.share).s,
			      record_cost_call(&r->spent.cost) *
				      recorder_budget_factor(&r->spent.budget) / 1000,
			      r->spent.cost.measures ? " and measured programs" : "");
}

void recorder_tell_cost(struct recorder *r)
{
	if (!r->session)
		return;
	if (record_cost_call(&r->spent.cost) > 0 && r->spent.since_ns > r->start_ns)
		notify_slowdown(r);
	else
		recorder_tell(r, RECORD_LINE, "what the probes cost is not known");
	if (r->spent.stops.n)
		recorder_tell(
			r, RECORD_LINE,
			"programs were stopped %s time%s to attach to what they had loaded, for %s "
			"in all",
			fmt_count(r->spent.stops.n).s, r->spent.stops.n == 1 ? "" : "s",
			fmt_ns(r->spent.stops.ns).s);
	if (r->spent.left_out)
		recorder_tell(r, RECORD_LINE,
			      "sampled: %s calls more were counted and not recorded (--sample)",
			      fmt_count(r->spent.left_out).s);
	recorder_tell_budget(r);
}
