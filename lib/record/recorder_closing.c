/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last words of a recorder: what the recording holds, what is missing from it, what it has
 * cost. Unknown is said to be unknown.
 */
#include "lib/record/recorder_internal.h"

#include <string.h>

#include "lib/base/fmt.h"

/* How far stacks can be trusted to be there. */
static void notify_shares(struct recorder *r, const struct decode_shares *s)
{
	if (s->calls > s->stacks)
		recorder_tell(r, RECORD_LINE, "calls without a native stack: %s of %s",
			      fmt_count(s->calls - s->stacks).s, fmt_count(s->calls).s);
	if (s->python)
		recorder_tell(r, RECORD_LINE,
			      "of %s calls out of Python with a whole Python stack: %.2f%%",
			      fmt_count(s->python).s,
			      100.0 * (double)s->python_whole / (double)s->python);
}

#define ENDS_SHOWN 3

struct told_refusals {
	struct buf *text;
	unsigned n;
};

/* How far native frames go, and who stands in the way. */
static void notify_stack_ends(struct recorder *r)
{
	struct stack_ends_sum sum = { 0 };
	struct buf b = { 0 };

	if (stack_ends_count(&r->stack_ends, r->world, &sum) && sum.events) {
		buf_puts(&b, "native stacks: ");
		stack_ends_text(&sum, r->world, ENDS_SHOWN, &b);
		if (sum.by_pointers && !r->unwinds)
			buf_puts(&b, " (--unwind-memory 64m: go by unwind tables)");
		recorder_tell(r, RECORD_LINE, "%s", buf_text(&b));
	}
	stack_ends_sum_free(&sum);
	buf_free(&b);
}

static int add_refusal(void *ctx, const struct probe_unwinds_refusal *refusal, struct err *e)
{
	struct told_refusals *t = ctx;
	const char *slash = strrchr(refusal->path, '/');

	(void)e;
	if (t->n++ >= ENDS_SHOWN)
		return 0;
	buf_puts(t->text, t->n > 1 ? ", " : ": ");
	fmt_safe(t->text, bytes_of(slash ? slash + 1 : refusal->path));
	buf_printf(t->text, " (%s)", refusal->why);
	return 0;
}

/* What the tables cost, and which files have none. */
static void notify_unwinds(struct recorder *r)
{
	struct probe_unwinds_sum sum = probe_unwinds_totals(r->unwinds);
	struct buf b = { 0 };
	struct told_refusals told = { &b, 0 };
	struct err ignored = { 0 };

	if (sum.modules + sum.refused == 0)
		return;
	buf_printf(&b, "unwind tables: of %s files, %s in the kernel, built in %s",
		   fmt_count(sum.modules).s, fmt_bytes(sum.bytes).s, fmt_ns(sum.build_ns).s);
	if (sum.walks)
		buf_printf(&b, "; rules searched for: %.3f a stack",
			   (double)sum.searched / (double)sum.walks);
	if (sum.refused) {
		buf_printf(&b, "; %s cannot be unwound", fmt_count(sum.refused).s);
		probe_unwinds_refusals(r->unwinds, add_refusal, &told, &ignored);
		if (told.n > ENDS_SHOWN)
			buf_puts(&b, ", ...");
	}
	recorder_tell(r, RECORD_LINE, "%s", buf_text(&b));
	buf_free(&b);
}

static void notify_thinned(struct recorder *r)
{
	if (r->thinned.band.on)
		recorder_tell(r, RECORD_LINE, "samples: %s recorded, %s left out",
			      fmt_count(r->thinned.band.said).s,
			      fmt_count(r->thinned.band.left_out).s);
}

static void notify_marks(struct recorder *r)
{
	const struct record_marks *m = &r->marks;

	if (!r->opt.mark)
		return;
	recorder_tell(r, RECORD_LINE, "marks: %s line%s taken%s", fmt_count(m->taken).s,
		      m->taken == 1 ? "" : "s", m->open.n ? "; a range had not ended" : "");
	if (m->bad || m->over)
		recorder_tell(r, RECORD_WARNING,
			      "marks: %s lines not understood, %s too many in a second",
			      fmt_count(m->bad).s, fmt_count(m->over).s);
	if (m->full)
		recorder_tell(r, RECORD_WARNING,
			      "marks: %s lines left out: more than %d different texts in a "
			      "file, or %d ranges at a time",
			      fmt_count(m->full).s, MARKS_TEXTS, MARKS_OPEN);
}

static void notify_nvtx(struct recorder *r)
{
	const struct record_nvtx *v = &r->nvtx;

	if (v->ranges + v->points + v->open.n + v->endless + v->unmatched + v->vague + v->over +
		    v->nameless ==
	    0)
		return;
	recorder_tell(r, RECORD_LINE, "NVTX: %s range%s and %s mark%s taken; %s had not ended",
		      fmt_count(v->ranges).s, v->ranges == 1 ? "" : "s", fmt_count(v->points).s,
		      v->points == 1 ? "" : "s", fmt_count(v->open.n + v->endless).s);
	if (v->unmatched)
		recorder_tell(r, RECORD_WARNING,
			      "NVTX: %s end%s of ranges whose beginning was not seen",
			      fmt_count(v->unmatched).s, v->unmatched == 1 ? "" : "s");
	if (v->vague)
		recorder_tell(r, RECORD_WARNING,
			      "NVTX: %s range%s left out: the library gave several at a time "
			      "the same id 0",
			      fmt_count(v->vague).s, v->vague == 1 ? "" : "s");
	if (v->over)
		recorder_tell(r, RECORD_WARNING,
			      "NVTX: %s left out: more than %d names, or %d ranges at a time",
			      fmt_count(v->over).s, MARKS_TEXTS, NVTX_OPEN);
	if (v->nameless)
		recorder_tell(r, RECORD_WARNING,
			      "NVTX: %s registered name%s lost: there were more than %d at a "
			      "time; their ranges are called (registered)",
			      fmt_count(v->nameless).s, v->nameless == 1 ? "" : "s", NVTX_NAMES);
}

static void notify_missing(struct recorder *r, const struct recorder_totals *t)
{
	if (t->open)
		recorder_tell(r, RECORD_LINE, "%s call%s had not returned at the end",
			      fmt_count(t->open).s, t->open == 1 ? "" : "s");
	if (t->stacks_lost)
		recorder_tell(r, RECORD_WARNING, "%s stacks lost: their calls are there without",
			      fmt_count(t->stacks_lost).s);
	if (t->kernels_lost)
		recorder_tell(r, RECORD_WARNING,
			      "%s names of kernels lost: their launches are there without",
			      fmt_count(t->kernels_lost).s);
	if (t->texts_lost)
		recorder_tell(r, RECORD_WARNING,
			      "NVTX: %s names lost: their memory could not be read",
			      fmt_count(t->texts_lost).s);
	if (t->kernels_late + t->texts_late)
		recorder_tell(r, RECORD_LINE,
			      "names read late, as their memory was not mapped yet: %s of "
			      "kernels, %s of NVTX",
			      fmt_count(t->kernels_late).s, fmt_count(t->texts_late).s);
	recorder_tell_all_losses(r);
	if (t->with_cuda == 0 && r->session)
		recorder_tell(r, RECORD_WARNING,
			      "no CUDA library was seen in %s: the recording holds no calls",
			      r->opt.target);
}

void recorder_closing(struct recorder *r, const char *where, uint64_t bytes, uint64_t removed)
{
	struct recorder_totals t;
	double seconds, cpu = recorder_cpu() - r->start_cpu;

	recorder_totals(r, &t);
	seconds = (double)(t.end_ns - t.start_ns) / 1e9;
	recorder_tell(r, RECORD_LINE, "recorded %s event%s (%s call%s) in %s, lost %s; %s",
		      fmt_count(t.events).s, t.events == 1 ? "" : "s", fmt_count(t.calls).s,
		      t.calls == 1 ? "" : "s", fmt_ns((uint64_t)(t.end_ns - t.start_ns)).s,
		      fmt_count(t.lost).s, fmt_bytes(bytes).s);
	recorder_tell(
		r, RECORD_LINE,
		"recorder used %.2f s of CPU (%.1f%% of one) while recording, %.2f s to start", cpu,
		seconds > 0 ? 100 * cpu / seconds : 0, r->start_cpu);
	recorder_tell_cost(r);
	if (strcmp(t.walker, "none") != 0) {
		notify_stack_ends(r);
		notify_unwinds(r);
		notify_shares(r, &t.shares);
	}
	notify_missing(r, &t);
	notify_thinned(r);
	notify_marks(r);
	notify_nvtx(r);
	if (removed)
		recorder_tell(r, RECORD_LINE,
			      "removed %s older file%s to stay within --keep and --max-size",
			      fmt_count(removed).s, removed == 1 ? "" : "s");
	if (*where && r->opt.flight_ns) /* they overlap: together they would count twice */
		recorder_tell(r, RECORD_LINE, "next:  ingero-explain one of %s", where);
	else if (*where)
		recorder_tell(r, RECORD_LINE, "next:  ingero-stat %s    ingero-explain %s", where,
			      where);
}

int recorder_file(const struct recorder *r, const char *path, const char *build_id)
{
	return probe_stacks_file(r->stacks, path, build_id);
}
