/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording costs, told and kept within a budget: the ops with most calls are given up first, and taken again
 * when there is room. What is given up, or sampled because somebody asked, is counted exactly by the kernel side.
 */
#include "lib/probe/recorder_state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/human.h"
#include "lib/probe/devices.h"
#include "lib/base/io.h"
#include "lib/probe/spec.h"

#define ROOM 0.8 /* of the budget must suffice before an op is taken again */

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

		if ((specs[i].op.flags & SPEC_SILENT) || op_of(r, s.op))
			continue;
		s.every = r->opt.sample > 1 ? r->opt.sample : 1;
		if (s.every > 1)
			rc = probe_session_every(r->session, s.op, (uint16_t)s.every, e);
		if (rc == 0 && !vec_push(&r->shed, s))
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
	REC_SET(&rec, SAMPLED, reason, bytes_of(s->shed ? "budget" : "asked"));
	s->told = left_out;
	s->since_ns = now;
	r->left_out += n;
	r->given_up += s->shed ? n : 0;
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
	r->cost_since = now;
	r->cost_calls = r->calls;
	r->cost_cpu = cpu;
	r->cost_measured = r->cost.measured_ns;
	return ige_writer_record(r->writer, &rec, e);
}

static int give_up(struct probe_recorder *r, struct shed_op *s, double share, int64_t now,
		   struct err *e)
{
	const struct op_def *def = op_builtin(s->op);
	int rc = say_op(r, s, now, e);

	s->shed = true;
	if (probe_devices_needs(s->op))
		probe_wire_no_devices(r->wire);
	s->since_ns = now;
	s->every = SPEC_NONE;
	probe_recorder_tell(
		r, PROBE_WARNING,
		"recording costs %s of the time, more than --budget: %s is not recorded "
		"for now",
		human_percent(share).s, def ? def->name : "?");
	return rc ? rc : probe_session_every(r->session, s->op, SPEC_NONE, e);
}

static int take_again(struct probe_recorder *r, struct shed_op *s, int64_t now, struct err *e)
{
	const struct op_def *def = op_builtin(s->op);
	int rc = say_op(r, s, now, e);

	s->shed = false;
	s->since_ns = now;
	s->every = r->opt.sample > 1 ? r->opt.sample : 1;
	probe_recorder_tell(r, PROBE_LINE, "%s is recorded again", def ? def->name : "?");
	return rc ? rc : probe_session_every(r->session, s->op, (uint16_t)s->every, e);
}

/* Calls of the last second are what the next one is taken to be like. */
static int keep_budget(struct probe_recorder *r, int64_t now, struct err *e)
{
	double seconds = (double)(now - r->budget_ns) / 1e9, call = probe_cost_call(&r->cost),
	       host = probe_cost_host(&r->cost), share = host > 0 ? host / 1e9 : 0;
	struct shed_op *most = NULL, *least = NULL;

	r->budget_ns = now;
	for (size_t i = 0; i < r->shed.n; i++) {
		struct shed_op *s = &r->shed.v[i];
		uint64_t left_out = probe_session_left_out(r->session, s->op),
			 recorded = r->op_calls[s->op % OPS_COUNTED];

		s->calls = recorded - s->recorded + left_out - s->left_out;
		share += (double)(recorded - s->recorded) * call / seconds / 1e9 +
			 (double)(left_out - s->left_out) * r->cost.skipped_ns / seconds / 1e9;
		s->recorded = recorded;
		s->left_out = left_out;
		if (!s->shed && s->calls && (!most || s->calls > most->calls))
			most = s;
		if (s->shed && (!least || s->calls < least->calls))
			least = s;
	}
	if (seconds <= 0 || call <= 0)
		return 0;
	if (share > r->opt.budget && most)
		return give_up(r, most, share, now, e);
	if (least && share + (double)least->calls * (call - r->cost.skipped_ns) / seconds / 1e9 <
			     r->opt.budget * ROOM)
		return take_again(r, least, now, e);
	return 0;
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
