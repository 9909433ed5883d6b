/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums the busy part of each other process's critical path, and takes the process with most of it.
 * Sleeps, waits for somebody to ask and waits whose end is not known are no work.
 */
#include "lib/account/meanwhile.h"

#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/account/sampling.h"
#include "lib/tracks/reason.h"

/* Of its time: who is busy for less is not what is waited for. */
#define BUSY_SHARE 0.5
/* Of the time of the loss: it has to be there for so much of that. */
#define THERE_SHARE 0.5

struct busy_process {
	uint32_t anchor, process; /* process 0: there is none */
	uint64_t busy_ns, ns;
	struct track_parts parts; /* what it was busy with */
};

static bool is_busy(const struct track_part *p)
{
	switch (p->class) {
	case PATH_UNKNOWN:
	case PATH_SLEEP:
	case PATH_DEMAND:
	case PATH_OUTSIDE:
	case PATH_BLOCKED:
	case PATH_YIELD:
	case PATH_RECORDER:
	case PATH_UNENDED:
	case PATH_TOO_DEEP:
		return false;
	default:
		return true;
	}
}

/* What it did for the process that polls is no work of its own. */
static bool add_parts(struct cause *c, size_t i, uint32_t polls, struct busy_process *to)
{
	struct track t = path_tracks_get(c->tracks, i);
	struct track_parts parts = { 0 };
	bool ok = true;

	for (unsigned k = 0; ok && k < t.nphases; k++) {
		ok = path_tracks_parts(c->tracks, i, t.phases[k].window, &parts);
		for (size_t n = 0; ok && n < parts.v.n; n++) {
			const struct track_part *p = &parts.v.v[n];

			to->ns += p->ns;
			if (!is_busy(p) || world_thread_process_id(c->w, p->leaf) == polls)
				continue;
			to->busy_ns += p->ns;
			ok = vec_push(&to->parts.v, *p);
		}
	}
	vec_free(&parts.v);
	return ok;
}

static bool is_there(const struct track *t, const struct loss *x)
{
	int64_t from = t->begin_ns > x->first_ns ? t->begin_ns : x->first_ns,
		to = t->end_ns < x->last_ns ? t->end_ns : x->last_ns;

	return (double)(to - from) >= THERE_SHARE * (double)(x->last_ns - x->first_ns);
}

/* The busiest; nothing where memory is exhausted. */
static struct busy_process find_busiest(struct cause *c, const struct loss *x)
{
	struct busy_process best = { 0 };

	for (size_t i = 0; c->ended && i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);
		struct busy_process one = { .anchor = t.anchor,
					    .process = world_thread_process_id(c->w, t.anchor) };

		if (!one.process || one.process == x->process || !is_there(&t, x))
			continue;
		if (!add_parts(c, i, x->process, &one) || one.busy_ns <= best.busy_ns ||
		    (double)one.busy_ns < BUSY_SHARE * (double)one.ns) {
			vec_free(&one.parts.v);
			continue;
		}
		vec_free(&best.parts.v);
		best = one;
	}
	return best;
}

/* "in run (work.py:5) it waited for sh (pid 12), which was on the CPU" */
static void print_cause(struct buf *out, struct track_names *names, const struct path_cause *cause)
{
	const struct path_cause_line *line = &cause->lines[0];

	if (cause->culprit && cause->nlines && line->at && line->at != line->line) {
		buf_puts(out, "in ");
		track_names_print(out, names->w, line->at);
		buf_putc(out, ' ');
	}
	reason_print_past(out, names, cause);
}

void meanwhile_print(struct cause *c, const struct loss *x, struct buf *out)
{
	struct busy_process b = find_busiest(c, x);
	struct track_names *names = path_tracks_names(c->tracks);
	struct path_causes causes = { 0 };

	if (b.process && path_causes_make(&causes, names, b.anchor, &b.parts) && causes.v.n) {
		buf_puts(out, "; meanwhile ");
		name_victim(out, c->w, &c->tally, b.process);
		buf_printf(out, " was busy or blocked for %.0f%% of its time: ",
			   100 * (double)b.busy_ns / (double)b.ns);
		print_cause(out, names, &causes.v.v[0]);
		buf_printf(out, " for %.0f%%", 100 * (double)causes.v.v[0].ns / (double)b.ns);
	}
	path_causes_free(&causes);
	vec_free(&b.parts.v);
}

void meanwhile_recommend(const struct loss_view *f, struct finding *to)
{
	struct busy_process b = find_busiest(f->c, f->loss);
	const struct world_process *p = b.process ? world_get_process(f->c->w, b.process) : NULL;

	if (p)
		details_add_fix(to, "See what the process does that was busy meanwhile", "shell",
				sampling_command(f->c, p->tgid, to), 0, 0,
				"it only shows what to look at");
	vec_free(&b.parts.v);
}
