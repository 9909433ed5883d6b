/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording costs, told and kept within a budget (budget.h decides). What is given up, or sampled because somebody asked, is counted exactly by the kernel side.
 */
#include "lib/probe/recorder_state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/human.h"
#include "lib/probe/devices.h"
#include "lib/base/io.h"
#include "lib/probe/spec.h"

#define NAMED 6 /* ops in a line */

static struct shed_op *op_of(struct probe_recorder *r, uint16_t op)
{
	for (size_t i = 0; i < r->shed.n; i++)
		if (r->shed.v[i].op == op)
			return &r->shed.v[i];
	return NULL;
}

int probe_recorder_start_cost(struct probe_recorder *r, struct err *e)
{
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);
	int rc = 0;

	probe_cost_start(&r->cost, r->session);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct shed_op s = { .op = specs[i].op.op };
		struct probe_budget_op b = { 0 };

		if ((specs[i].op.flags & SPEC_SILENT) || op_of(r, s.op))
			continue;
		s.every = r->opt.sample > 1 ? r->opt.sample : 1;
		if (s.every > 1)
			rc = probe_session_every(r->session, s.op, (uint16_t)s.every, e);
		if (rc == 0 && (!vec_push(&r->shed, s) || !vec_push(&r->budget, b)))
			rc = err_nomem(e);
	}
	return rc;
}

/* What was left out under the rule that held until now. */
static int say_op(struct probe_recorder *r, struct shed_op *s, int64_t now, struct err *e)
{
	struct record rec = { .kind = RECORD_SAMPLED };
	uint64_t left_out = probe_session_left_out(r->session, s->op);
	uint64_t n = left_out - s->told;
	/* Where every call is recorded, those left out are the last of a time when none was. */
	bool given_up = s->every == SPEC_NONE || s->every == 1;

	if (s->every == 1 && n == 0) {
		s->since_ns = now;
		return 0;
	}
	if (n == 0)
		return 0;
	REC_SET(&rec, SAMPLED, since_ns, s->since_ns ? s->since_ns : r->start_ns);
	REC_SET(&rec, SAMPLED, until_ns, now);
	REC_SET(&rec, SAMPLED, op, s->op);
	REC_SET(&rec, SAMPLED, every, s->every == SPEC_NONE ? 0 : s->every);
	REC_SET(&rec, SAMPLED, left_out, n);
	REC_SET(&rec, SAMPLED, reason, bytes_of(given_up ? "budget" : "asked"));
	s->told = left_out;
	s->since_ns = now;
	r->left_out += n;
	r->given_up += given_up ? n : 0;
	return ige_writer_record(r->writer, &rec, e);
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

int probe_recorder_say_cost(struct probe_recorder *r, int64_t now, struct err *e)
{
	struct record rec = { .kind = RECORD_COST };
	double seconds = (double)(now - r->cost_since) / 1e9, cpu = probe_recorder_cpu(),
	       call = probe_cost_call(&r->cost), host = probe_cost_host(&r->cost);
	uint64_t calls = r->calls - r->cost_calls, left_out = r->left_out;
	struct probe_stops stops;
	int rc = 0;

	if (!r->session)
		call = host = -1;
	for (size_t i = 0; rc == 0 && i < r->shed.n; i++)
		rc = say_op(r, &r->shed.v[i], now, e);
	if (rc)
		return rc;
	left_out = r->left_out - left_out;
	REC_SET(&rec, COST, since_ns, r->cost_since);
	REC_SET(&rec, COST, until_ns, now);
	REC_SET(&rec, COST, calls, calls);
	REC_SET(&rec, COST, left_out, left_out);
	if (call > 0) {
		REC_SET(&rec, COST, call_ns, call);
		REC_SET(&rec, COST, calls_ns,
			(uint64_t)((double)calls * call + (double)left_out * r->cost.skipped_ns));
		r->cost_ns += rec.u.COST.calls_ns;
	}
	if (host >= 0) {
		REC_SET(&rec, COST, host_ns, (uint64_t)(host * seconds));
		r->cost_host_ns += rec.u.COST.host_ns;
	}
	REC_SET(&rec, COST, recorder_cpu_ns, (uint64_t)((cpu - r->cost_cpu) * 1e9));
	REC_SET(&rec, COST, recorder_rss, rss_bytes());
	REC_SET(&rec, COST, measured_ns, r->cost.measured_ns - r->cost_measured);
	if (r->session) {
		stops = probe_targets_stops(r->targets);
		REC_SET(&rec, COST, stops, stops.n - r->cost_stops.n);
		REC_SET(&rec, COST, stopped_ns, stops.ns - r->cost_stops.ns);
		r->cost_stops = stops;
	}
	r->cost_since = now;
	r->cost_calls = r->calls;
	r->cost_cpu = cpu;
	r->cost_measured = r->cost.measured_ns;
	return ige_writer_record(r->writer, &rec, e);
}

/* From now on one of so many calls of it is recorded. */
static int change(struct probe_recorder *r, struct shed_op *s, uint32_t every, int64_t now,
		  struct err *e)
{
	int rc = say_op(r, s, now, e);

	if (every == SPEC_NONE && probe_devices_needs(s->op))
		probe_wire_no_devices(r->wire);
	s->since_ns = now;
	s->every = every;
	return rc ? rc : probe_session_every(r->session, s->op, (uint16_t)every, e);
}

/* The ops of that verdict: "cudaFree, cudaMalloc and 3 more". 0: none. */
static size_t name_ops(struct probe_recorder *r, enum probe_budget_verdict verdict, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->budget.n; i++) {
		const struct op_def *def = op_builtin(r->shed.v[i].op);

		if (r->budget.v[i].verdict == verdict && n++ < NAMED)
			buf_printf(out, "%s%s", n > 1 ? ", " : "", def ? def->name : "?");
	}
	if (n > NAMED)
		buf_printf(out, " and %zu more", n - NAMED);
	buf_putc(out, 0);
	return n;
}

static int follow_verdicts(struct probe_recorder *r, double share, int64_t now, struct err *e)
{
	uint32_t every = r->opt.sample > 1 ? r->opt.sample : 1;
	struct buf names = { 0 };
	int rc = 0;
	size_t n;

	n = name_ops(r, PROBE_BUDGET_GIVE_UP, &names);
	if (n && !names.failed)
		probe_recorder_tell(r, PROBE_WARNING,
				    "recording costs %s of the time, more than --budget: %s %s not "
				    "recorded for now",
				    human_percent(share).s, names.p, n > 1 ? "are" : "is");
	buf_reset(&names);
	n = name_ops(r, PROBE_BUDGET_TAKE_BACK, &names);
	if (n && !names.failed)
		probe_recorder_tell(r, PROBE_LINE, "%s %s recorded again", names.p,
				    n > 1 ? "are" : "is");
	buf_free(&names);
	for (size_t i = 0; rc == 0 && i < r->budget.n; i++)
		if (r->budget.v[i].verdict != PROBE_BUDGET_STAYS)
			rc = change(r, &r->shed.v[i], r->budget.v[i].given_up ? SPEC_NONE : every,
				    now, e);
	return rc;
}

/* Calls of the last second are what the next one is taken to be like. */
static int keep_budget(struct probe_recorder *r, int64_t now, struct err *e)
{
	double host = probe_cost_host(&r->cost);
	struct probe_budget b = { .share = r->opt.budget,
				  .call_ns = probe_cost_call(&r->cost),
				  .skipped_ns = r->cost.skipped_ns,
				  .others = host > 0 ? host / 1e9 : 0,
				  .seconds = (double)(now - r->budget_ns) / 1e9,
				  .sample = r->opt.sample };

	r->budget_ns = now;
	for (size_t i = 0; i < r->shed.n; i++) {
		struct shed_op *s = &r->shed.v[i];
		uint64_t left_out = probe_session_left_out(r->session, s->op),
			 recorded = r->op_calls[s->op % OPS_COUNTED];

		r->budget.v[i].recorded = recorded - s->recorded;
		r->budget.v[i].left_out = left_out - s->left_out;
		s->recorded = recorded;
		s->left_out = left_out;
	}
	return follow_verdicts(r, probe_budget_decide(&b, r->budget.v, r->budget.n), now, e);
}

int probe_recorder_look_at_cost(struct probe_recorder *r, int64_t now, bool at_end, struct err *e)
{
	if (!r->session)
		return 0;
	probe_cost_look(&r->cost, r->session, now, r->calls, at_end);
	return r->opt.budget > 0 && !at_end ? keep_budget(r, now, e) : 0;
}

void probe_recorder_tell_cost(struct probe_recorder *r)
{
	double wall = (double)(r->cost_since - r->start_ns), call = probe_cost_call(&r->cost);

	if (!r->session)
		return;
	if (call > 0 && wall > 0)
		probe_recorder_tell(
			r, PROBE_LINE,
			"probes took %s of the wall time from the recorded programs: "
			"%.2f us a call (calibrated trap%s)%s%s",
			human_percent((double)r->cost_ns / wall).s, call / 1000,
			r->cost.measures ? " and measured programs" : "",
			r->cost.measured_ns ? ", kernel events beside " : "",
			r->cost.measured_ns ? human_percent((double)r->cost_host_ns / wall).s : "");
	else
		probe_recorder_tell(r, PROBE_LINE, "what the probes cost is not known");
	if (r->cost_stops.n)
		probe_recorder_tell(
			r, PROBE_LINE,
			"programs were stopped %s time%s to attach to what they had loaded, for %s "
			"in all",
			human_count(r->cost_stops.n).s, r->cost_stops.n == 1 ? "" : "s",
			human_ns(r->cost_stops.ns).s);
	if (r->left_out > r->given_up)
		probe_recorder_tell(
			r, PROBE_LINE,
			"sampled: %s calls more were counted and not recorded (--sample)",
			human_count(r->left_out - r->given_up).s);
	if (r->given_up)
		probe_recorder_tell(
			r, PROBE_LINE,
			"given up: %s calls more were counted and not recorded (--budget)",
			human_count(r->given_up).s);
}
