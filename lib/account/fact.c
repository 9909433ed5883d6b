/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns what a detector found into a finding and hands it to the listener of findings. It has what
 * findings of lost time have, and besides the numbers that prove this one.
 */
#include "lib/account/fact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/account/finding_details.h"
#include "lib/account/chain_records.h"
#include "lib/account/names.h"
#include "lib/account/moments.h"
#include "lib/account/without.h"

void fact_evidence(struct fact *f, const char *what, double value, const char *unit)
{
	details_add_number(&f->found, what, value, unit);
}

void fact_evidence_text(struct fact *f, const char *what, const char *text)
{
	details_add_text(&f->found, what, text);
}

static uint64_t whole_ns(const struct fact *f, uint64_t measured)
{
	return f->estimate.is ? (uint64_t)((double)measured * f->estimate.ns_factor + 0.5)
			      : measured;
}

static uint64_t whole_count(const struct fact *f, uint64_t measured)
{
	return f->estimate.is ? (uint64_t)((double)measured * f->estimate.count_factor + 0.5)
			      : measured;
}

/* "", "~", ">=" or, before a sentence's first figure, "at least ". */
static const char *precision_mark(const struct fact *f, bool in_words)
{
	if (!f->estimate.is)
		return "";
	return !f->estimate.least ? "~" : in_words ? "at least " : ">=";
}

static void add_fix(struct fact *f, const char *action, const char *kind, const char *command,
		    uint64_t gain_low_ns, uint64_t gain_high_ns, const char *basis)
{
	gain_low_ns = whole_ns(f, gain_low_ns);
	gain_high_ns = whole_ns(f, gain_high_ns);
	if (f->one_ns && f->one_ns < f->lost_ns) {
		double one = (double)f->one_ns / (double)f->lost_ns;

		gain_low_ns = (uint64_t)((double)gain_low_ns * one + 0.5);
		gain_high_ns = (uint64_t)((double)gain_high_ns * one + 0.5);
	}
	details_add_fix(&f->found, action, kind, command,
			gain_low_ns < gain_high_ns ? gain_low_ns : gain_high_ns, gain_high_ns,
			basis);
}

void fact_fix(struct fact *f, const char *action, const char *command, uint64_t gain_low_ns,
	      uint64_t gain_high_ns, const char *basis)
{
	add_fix(f, action, "shell", command, gain_low_ns, gain_high_ns, basis);
}

void fact_fix_code(struct fact *f, const char *action, const char *code, uint64_t gain_low_ns,
		   uint64_t gain_high_ns, const char *basis)
{
	add_fix(f, action, "code", code, gain_low_ns, gain_high_ns, basis);
}

void fact_victim(const struct fact *f, const struct cause *c, struct buf *out)
{
	name_victim(out, c->w, &c->tally, f->process);
}

void fact_amount(const struct fact *f, struct buf *out)
{
	const char *counted = f->counted ? f->counted : "times";
	/* An upper bound of what was recorded, which is the least there was, bounds nothing. */
	bool recorded = f->upper_bound && f->estimate.least;
	/* How grave it is follows from the time in which its calls were recorded. */
	bool part = f->estimate.is && f->estimate.least && f->estimate.covered > 0 && !f->of_steps;

	buf_printf(out, "%s%s%s%s (%.1f%% of %s, %s", f->upper_bound ? "up to " : "",
		   recorded ? "" : precision_mark(f, true), fmt_ns(whole_ns(f, f->lost_ns)).s,
		   recorded ? " in the time recorded" : "",
		   100 * (part ? f->share / f->estimate.covered : f->share),
		   f->of_steps ? "its steps"
		   : !part     ? "wall time"
		   : recorded  ? "that"
			       : "the time recorded",
		   precision_mark(f, false));
	fmt_counted(out, whole_count(f, f->count), bytes_of(counted));
	buf_putc(out, ')');
}

void fact_lost(struct fact *f, const struct cause *c, const char *what)
{
	fact_victim(f, c, &f->summary);
	buf_puts(&f->summary, what);
	fact_amount(f, &f->summary);
}

void fact_number(const struct fact *f, uint64_t n, struct buf *out)
{
	buf_printf(out, "%s%s", precision_mark(f, false), fmt_count(whole_count(f, n)).s);
}

void fact_place(const struct cause *c, const struct where_place *p, struct buf *out)
{
	uint32_t frame = name_site_frame(c->w, p->stack);

	if (p->op) {
		buf_puts(out, "in ");
		name_op(out, c->w, p->op);
		if (frame)
			buf_puts(out, " called from ");
	} else if (frame) {
		buf_puts(out, "in ");
	}
	if (frame)
		name_frame(out, c->w, frame);
}

void fact_blame_site(const struct cause *c, struct fact *f, const char *otherwise)
{
	const char *place = f->nsites ? fact_blame_place(c, f) : "";

	f->culprit.kind = "code";
	f->culprit.text = *place ? place + strlen("in ") : otherwise;
}

const char *fact_blame_place(const struct cause *c, struct fact *f)
{
	struct buf place = { 0 };

	fact_place(c, &f->sites[0], &place);
	f->culprit.kind = "code";
	f->culprit.text = details_text(&f->found, &place);
	return f->culprit.text;
}

/* "GPU 1 NVIDIA H200 (GPU-5f0c…)"; "a GPU" when it is not known. */
static void print_gpu(const struct cause *c, const struct world_gpu *g, struct bytes uuid,
		      struct buf *out)
{
	struct bytes name = g ? world_text(c->w, g->name) : (struct bytes){ 0 };

	if (g)
		buf_printf(out, "GPU %u", g->index);
	else
		buf_puts(out, "a GPU");
	if (name.n)
		buf_printf(out, " %.*s", (int)name.n, name.p);
	if (uuid.n)
		buf_printf(out, " (%.*s)", (int)uuid.n, uuid.p);
}

void fact_blame_gpu(const struct cause *c, struct fact *f, uint32_t gpu, const char *what)
{
	const struct world_gpu *g = world_get_gpu(c->w, gpu);
	struct bytes uuid = g ? world_text(c->w, g->uuid) : (struct bytes){ 0 };
	struct buf who = { 0 };

	print_gpu(c, g, uuid, &who);
	f->node = g ? g->node : 0;
	f->identity = details_print(&f->found, "%.*s %s", (int)uuid.n, uuid.n ? uuid.p : "", what);
	f->culprit.kind = "gpu";
	f->culprit.text = details_text(&f->found, &who);
}

void fact_blame_process(const struct cause *c, struct fact *f, uint32_t process)
{
	struct buf who = { 0 };

	name_victim(&who, c->w, &c->tally, process);
	f->culprit.kind = "process";
	f->culprit.pid = world_process_pid(c->w, process);
	f->culprit.text = details_text(&f->found, &who);
}

bool fact_due_count(const struct cause *c, const struct fact_told *told, uint64_t count)
{
	return count && (c->ended || told->revision == 0 || count >= 2 * told->count);
}

bool fact_due(const struct cause *c, const struct fact_told *told, uint64_t lost_ns, double share)
{
	if (c->ended || told->revision == 0 || lost_ns >= 2 * told->lost_ns)
		return true;
	return cause_severity(share > told->worst_share ? share : told->worst_share) >
	       told->severity;
}

bool fact_material(const struct cause *c, uint64_t lost_ns, uint64_t count, uint64_t wall_ns)
{
	return lost_ns >= c->opt.min_lost_ns && cause_often(c, count, lost_ns, wall_ns) &&
	       wall_ns > 0 && (double)lost_ns >= c->opt.min_share * (double)wall_ns;
}

/* told: the kind of its first report, and its number among facts of the same identity. */
static void make_ids(const struct cause *c, const struct fact *f, const struct fact_told *told,
		     uint64_t *id, uint64_t *match)
{
	struct bytes victim = name_process_first(c->w, &c->tally, f->process);
	const char *identity = f->identity ? f->identity : "";
	uint64_t a = CHAIN_HASH_START, b;

	a = chain_hash(a, told->kind, strlen(told->kind));
	a = chain_hash(a, identity, strlen(identity));
	if (told->nth)
		a = chain_hash_u64(a, told->nth);
	b = chain_hash(a, victim.p, victim.n);
	a = chain_hash_victim(a, c, f->process, f->node);
	*id = a;
	*match = b;
}

/* Two facts may be called the same: at one place of the program, by way of another or on another
 * device. Each is a chain of its own. False: out of memory. */
static bool assign_number(struct cause *c, const struct fact *f, struct fact_told *told)
{
	uint64_t id, match, n = 0;

	told->kind = f->kind;
	make_ids(c, f, told, &id, &match);
	map_get(&c->told_ids, id, &n);
	told->nth = (uint32_t)n;
	return map_put(&c->told_ids, id, n + 1);
}

static void fill_culprit(const struct fact *f, struct finding *to)
{
	struct finding_culprit *who = &to->culprit;

	who->kind = bytes_of(f->culprit.kind ? f->culprit.kind : "none");
	who->text = bytes_of(f->culprit.text ? f->culprit.text : "");
	who->pid = f->culprit.pid;
	who->comm = bytes_of(f->culprit.comm);
	who->processes = f->culprit.pid ? 1 : 0;
	to->failed |= !list_begin(&who->pids, 1, &to->memory);
	if (f->culprit.pid && who->pids.v)
		who->pids.v[who->pids.n++] = f->culprit.pid;
	who->cgroup = bytes_of(f->culprit.cgroup);
	who->device = bytes_of(f->culprit.device);
}

/* Durations of calls at the site, where the detector did not count them itself. */
static struct where_place with_durations(const struct cause *c, const struct fact *f,
					 struct where_place p)
{
	const struct cause_site *s =
		p.op && !p.sum_ns ? classes_find_site(&c->classes, f->process, p.op, p.stack)
				  : NULL;

	if (s && s->n) {
		p.count = s->n;
		p.sum_ns = s->sum_ns;
		p.max_ns = s->max_ns;
	}
	return p;
}

/* What was found in the time covered. */
struct measured {
	uint64_t lost_ns, count;
};

/* Its texts may be those of the fact, which outlive it. */
static void fill_finding(const struct cause *c, const struct fact *f,
			 const struct measured *measured, struct finding *to)
{
	struct buf text = { 0 };

	to->known = true;
	details_fill_victim(c, f->process, f->node, to);
	name_op(&text, c->w, f->op);
	to->op = details_take(to, &text);
	details_fill_times(c, to);
	to->share = f->share;
	to->estimate = f->estimate.is;
	to->at_least = f->estimate.is && f->estimate.least;
	to->covered = f->estimate.covered;
	to->measured_lost_ns = measured->lost_ns;
	to->measured_count = measured->count;
	to->explained = to->unexplained = -1;
	fill_culprit(f, to);
	for (unsigned i = 0; i < f->nsites; i++) {
		struct where_place site = with_durations(c, f, f->sites[i]);

		details_add_site(c, &site, to);
	}
	if (c->ended)
		timeline_add_system(c, f->process, f->node, to);
	for (unsigned i = 0; i < f->nmoments; i++)
		timeline_add_moment(c, &f->moments[i], to);
	finding_sort_moments(to);
	without_fill_fact(c, f, to);
	details_fill_coverage(c, to);
	to->coverage.upper_bound = f->upper_bound;
	to->counted = bytes_of(f->counted ? f->counted : "times");
	buf_free(&text);
}

int fact_tell(struct cause *c, struct fact *f, struct fact_told *told, struct err *e)
{
	const struct measured measured = { f->lost_ns, f->count };
	struct finding *to = &f->found;
	char id[17], match[17];
	uint64_t is, like;
	int rc;

	if (f->share > told->worst_share)
		told->worst_share = f->share;
	told->severity = f->severity ? f->severity : cause_severity(told->worst_share);
	if (told->revision++ == 0) {
		c->chains++;
		if (!assign_number(c, f, told)) {
			rc = err_nomem(e);
			goto out;
		}
	}
	told->lost_ns = f->lost_ns;
	told->count = f->count;
	f->lost_ns = whole_ns(f, f->lost_ns);
	f->count = whole_count(f, f->count);
	make_ids(c, f, told, &is, &like);
	snprintf(id, sizeof(id), "%016" PRIx64, is);
	snprintf(match, sizeof(match), "%016" PRIx64, like);
	to->time_ns = c->settled_ns;
	to->id = bytes_of(id);
	to->match = bytes_of(match);
	to->revision = told->revision;
	to->kind = bytes_of(f->kind);
	to->severity = told->severity;
	to->first_ns = f->first_ns;
	to->last_ns = f->last_ns;
	to->count = f->count;
	to->lost_ns = f->lost_ns;
	to->summary = buf_bytes(&f->summary);
	to->worst_share = told->worst_share;
	fill_finding(c, f, &measured, to);
	to->failed |= f->summary.failed;
	if (!to->failed && f->process < c->tally.processes.n)
		c->tally.processes.v[f->process].told = true;
	rc = chain_emit(c, to, e);
out:
	buf_free(&f->summary);
	finding_free(to);
	return rc;
}
