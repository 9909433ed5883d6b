/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes each track as fields (lib/model/paths.h), which have their own JSON form. Durations are
 * nanoseconds; text is for people.
 */
#include "lib/tracks/track_json.h"

#include <stdlib.h>

#include "lib/tracks/binding.h"
#include "lib/tracks/io_limits.h"
#include "lib/tracks/loop_caller.h"
#include "lib/tracks/loop_place.h"
#include "lib/tracks/loop_text.h"
#include "lib/tracks/single_stall.h"
#include "lib/tracks/slow_period.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track_hang.h"
#include "lib/tracks/unended_text.h"
#include "lib/model/finding.h"
#include "lib/model/paths.h"
#include "lib/world/frame_parts.h"
#include "lib/world/who.h"

/* Causes told of each row of lines: the largest. */
#define ROW_CAUSES 3

#define COURSE_SHARE 0.1  /* of the steps: less is not worth a word */
#define NOTE_SHARE   0.05 /* of the steps; of what is not in them: of the life */

struct writer {
	struct path_tracks *t;
	struct track_names *names;
	int64_t start_ns;
	struct paths *out;
	struct buf text; /* scratch */
	/* Of the track being written: whether it ends in a hang, and in which. */
	bool hangs;
	struct track_hang hang;
};

/* What was printed. */
static struct bytes take_text(struct writer *p)
{
	struct bytes copy = paths_copy(p->out, buf_bytes(&p->text));

	p->out->failed |= p->text.failed;
	p->text.n = 0;
	return copy;
}

/* 0: no line is known. */
static struct bytes print_frame(struct writer *p, uint32_t frame)
{
	if (!frame)
		return (struct bytes){ 0 };
	track_names_print(&p->text, p->names->w, frame);
	return take_text(p);
}

/* ---- causes ---- */

/* False: there is none. */
static bool put_culprit(struct writer *p, struct paths_culprit *to, const struct path_cause *c)
{
	const struct path_culprit *who = path_culprit_get(&p->names->culprits, c->culprit);
	struct track_who lead = track_who_of(p->names->w, c->lead);

	if (!who && !c->device)
		return false;
	reason_print_culprit(&p->text, p->names, c);
	to->text = take_text(p);
	if (who) {
		to->known = true;
		to->pid = lead.pid;
		to->tid = lead.tid;
		to->threads = c->threads;
		to->other_process = c->other_process;
	}
	return true;
}

static void put_lines(struct writer *p, struct paths_cause *to, const struct path_cause *c)
{
	for (unsigned i = 0; i < c->nlines; i++) {
		const struct path_cause_line *from = &c->lines[i];
		const struct op_def *op = from->op ? world_op(p->names->w, from->op) : NULL;
		struct paths_line *l = paths_add(p->out, &to->lines);

		if (!l)
			return;
		l->at = print_frame(p, from->at);
		l->line = print_frame(p, from->line);
		l->op = bytes_of(op ? op->name : NULL);
		l->sampled = from->sampled;
		l->ns = from->ns;
	}
}

/* The phrase with its largest line. */
static struct bytes print_reason(struct writer *p, const struct path_cause *c)
{
	reason_print(&p->text, p->names, c);
	return take_text(p);
}

static unsigned severity_of(const struct writer *p, const struct path_cause *c, uint64_t ns)
{
	if (c->class == PATH_UNENDED && p->hangs && c->longest_ns >= TRACK_HANG_NS)
		return FINDING_HIGH;
	return path_cause_severity(c, ns);
}

/* A phase, as its causes need it. */
struct window {
	uint32_t anchor;
	uint64_t ns;
	uint64_t of_ns, usual_ns; /* as of once_is_told */
	uint64_t steps;		  /* in it; 0: it is none of steps, or more than are known */
	struct course_grid grid;  /* of these */
	bool cut;		  /* calls are missing in some of them */
	bool hidden_steps;
};

/* How a cause that is a good part of the steps runs over them. Where calls were recorded in windows
 * only, what was at work has another name outside of these. */
static struct bytes print_course(struct writer *p, const struct path_cause *c,
				 const struct window *in)
{
	bool at_work = c->class == PATH_OWN || c->class == PATH_CALL || c->class == PATH_DEVICE;

	if ((in->cut && at_work) || c->class == PATH_RECORDER ||
	    (double)c->ns < COURSE_SHARE * (double)in->ns)
		return (struct bytes){ 0 };
	course_print(&p->text, &(struct course_of){ .parts = c->course,
						    .grid = &in->grid,
						    .ns = c->ns,
						    .pieces = c->pieces,
						    .steps = in->steps });
	return p->text.n ? take_text(p) : (struct bytes){ 0 };
}

/* What is known of the sleeps of a cause. */
static const char *const paces[] = { [PACE_KEPT] = "kept", [PACE_ADDED] = "added" };

static void put_cause(struct writer *p, struct paths_phase *phase, const struct path_cause *c,
		      const struct window *in)
{
	struct paths_cause *to = paths_add(p->out, &phase->causes);

	if (!to)
		return;
	to->text = print_reason(p, c);
	to->course = print_course(p, c, in);
	to->ns = c->ns;
	to->class = bytes_of(path_class_text(c->class));
	to->pace = bytes_of(paces[c->pace]);
	to->has_culprit = put_culprit(p, &to->culprit, c);
	to->work = path_cause_is_work(c);
	to->severity = severity_of(p, c, in->ns);
	to->pieces = c->pieces;
	to->longest_ns = c->longest_ns;
	to->longest_at_ns = c->longest_from_ns - p->start_ns;
	if (once_is_told(c, in->of_ns, in->usual_ns)) {
		once_print(&p->text, p->names, path_tracks_firsts(p->t), in->anchor, c);
		to->once = take_text(p);
	}
	put_lines(p, to, c);
}

static bool is_significant(const struct path_causes *c, size_t i)
{
	return (double)c->v.v[i].ns >= PATH_CAUSE_SHARE * (double)c->ns ||
	       c->v.v[i].class == PATH_UNENDED;
}

/* How long a step is; where there are none, a piece. */
static uint64_t usual_ns(const struct path_causes *c, const struct loop *steps)
{
	uint64_t pieces = 0;

	if (steps && steps->dur.count)
		return sketch_quantile(&steps->dur, 0.5);
	for (size_t i = 0; i < c->v.n; i++)
		pieces += c->v.v[i].pieces;
	return pieces ? c->ns / pieces : 0;
}

static void put_causes(struct writer *p, struct paths_phase *phase, const struct path_causes *c,
		       const struct window *in)
{
	for (size_t i = 0; i < c->v.n; i++) {
		if (is_significant(c, i)) {
			put_cause(p, phase, &c->v.v[i], in);
			continue;
		}
		phase->has_smaller = true;
		phase->smaller.causes++;
		phase->smaller.ns += c->v.v[i].ns;
	}
}

static struct paths_note *put_note(struct writer *p, struct paths_phase *phase, const char *kind,
				   uint64_t ns)
{
	struct paths_note *to = paths_add(p->out, &phase->notes);

	if (to)
		*to = (struct paths_note){
			.kind = bytes_of(kind), .text = take_text(p), .ns = ns, .matters = true
		};
	return to;
}

static void put_repeated(struct writer *p, struct paths_phase *phase, const struct path_causes *c,
			 const struct window *in)
{
	for (size_t i = 0; i < c->v.n; i++) {
		/* Of own code that no call divides, as none was recorded, steps are one stretch. */
		if ((in->hidden_steps && c->v.v[i].class == PATH_OWN) ||
		    !repeated_is_told(&c->v.v[i], in->of_ns, in->usual_ns))
			continue;
		repeated_print(&p->text, p->names, &c->v.v[i]);
		put_note(p, phase, "repeated", c->v.v[i].longs.ns);
	}
}

/* Of a start or an end that is short, next to nothing is worth a word. */
static bool is_worth(uint64_t ns, const struct window *in)
{
	return (double)ns >= NOTE_SHARE * (double)in->of_ns;
}

static void put_binding(struct writer *p, struct paths_phase *phase, const struct binding *b,
			const struct window *in)
{
	struct paths_note *to;

	if (!b->cpus.n || !is_worth(b->ns, in))
		return;
	binding_print(&p->text, p->names, b, p->start_ns);
	to = put_note(p, phase, "bound", b->ns);
	if (!to)
		return;
	to->matters = binding_matters(b);
	if (!to->matters)
		return;
	binding_print_command(&p->text, p->names, b);
	to->command = take_text(p);
}

static void put_limits(struct writer *p, struct paths_phase *phase, const struct path_causes *c,
		       const struct window *in)
{
	const struct io_limits *l = path_tracks_limits(p->t);
	struct memory_limit memory = memory_limit_of(l, c, in->anchor);
	const struct world_process *process;
	struct paths_note *to;

	if (memory.ns && is_worth(memory.ns, in)) {
		memory_limit_print(&p->text, p->names, &memory);
		put_note(p, phase, "memory-limit", memory.ns);
	}
	for (size_t i = 0; i < c->v.n; i++) {
		struct io_limit held = io_limits_of(l, &c->v.v[i], in->anchor, c->ns);

		if (!is_worth(held.ns, in) || !held.before_device)
			continue;
		process = world_thread_process(p->names->w, held.thread);
		io_limit_print_device(&p->text, p->names, &held);
		to = put_note(p, phase, "io-limit", held.ns);
		io_limit_print_command(&p->text, process ? process->tgid : 0);
		if (to)
			to->command = take_text(p);
	}
}

static void put_new_processes(struct writer *p, struct paths_phase *phase,
			      const struct new_between *b)
{
	if (!new_between_is_told(b))
		return;
	new_between_print(&p->text, p->names, b);
	put_note(p, phase, "new-processes", b->ns);
}

/* ---- lines of the loop ---- */

static void put_row(struct writer *p, struct paths_phase *phase, const struct anatomy_row *r,
		    const struct window *in)
{
	struct paths_row *row = paths_add(p->out, &phase->rows);

	if (!row)
		return;
	row->line = own_site_is_loader(p->names->w, r->frame) ? bytes_of("loading libraries")
							      : print_frame(p, r->frame);
	row->site = print_frame(p, r->site);
	row->ns = r->ns;
	for (size_t i = 0; i < r->why.v.n && i < ROW_CAUSES; i++) {
		const struct path_cause *c = &r->why.v.v[i];
		struct paths_why *why = paths_add(p->out, &row->why);

		if (!why)
			return;
		why->text = print_reason(p, c);
		why->ns = c->ns;
		why->severity = severity_of(p, c, r->why.ns);
		why->class = bytes_of(path_class_text(c->class));
		why->course = print_course(p, c, in);
		why->has_culprit = put_culprit(p, &why->culprit, c);
	}
}

static void put_anatomy(struct writer *p, struct paths_phase *phase, const struct anatomy *a,
			const struct window *in)
{
	for (unsigned i = 0; i < a->nlead; i++) {
		struct bytes *lead = paths_add(p->out, &phase->lead);

		track_names_print(&p->text, p->names->w, a->lead[i]);
		if (lead)
			*lead = take_text(p);
	}
	for (size_t i = 0; i < a->rows.n; i++)
		put_row(p, phase, &a->rows.v[i], in);
}

/* ---- tracks ---- */

static const char *phase_name(const struct track *t, enum track_window window)
{
	static const char *const names[] = { [WINDOW_START] = "start",
					     [WINDOW_STEPS] = "steps",
					     [WINDOW_BETWEEN] = "between",
					     [WINDOW_END] = "end" };

	return t->loop ? names[window] : "all";
}

static bool put_phase(struct writer *p, struct paths_phase *to, size_t i, const struct track *t,
		      const struct track_phase *phase)
{
	struct anatomy_root root = { 0 };
	struct track_parts parts = { 0 };
	struct path_causes causes = { 0 };
	struct anatomy a = { 0 };
	struct window in = { .anchor = t->anchor, .hidden_steps = t->loop && t->loop->hidden };
	struct new_between fresh = { 0 };
	struct binding bound;
	bool ok;

	if (t->loop && phase->window == WINDOW_STEPS)
		root = (struct anatomy_root){ t->loop->frame, t->loop->depth };
	ok = path_tracks_parts(p->t, i, phase->window, &parts);
	if (ok && root.frame)
		loop_place_parts(p->names->w, t->loop, t->anchor, &parts);
	ok = ok && path_causes_make(&causes, p->names, t->anchor, &parts) &&
	     anatomy_make(&a, p->names, t->anchor, &root, &parts) &&
	     binding_find(&bound, path_tracks_allowed(p->t), p->names, t->anchor, &parts,
			  phase->to_ns);
	if (ok && (phase->window == WINDOW_BETWEEN || phase->window == WINDOW_STEPS))
		ok = path_tracks_new_processes(p->t, i, phase->window == WINDOW_STEPS, &parts,
					       &fresh);
	if (ok) {
		to->name = bytes_of(phase_name(t, phase->window));
		to->from_ns = phase->from_ns - p->start_ns;
		to->to_ns = phase->to_ns - p->start_ns;
		to->ns = phase->ns;
		in.ns = causes.ns;
		in.of_ns = t->loop && phase->window != WINDOW_STEPS
				   ? (uint64_t)(t->end_ns - t->begin_ns)
				   : causes.ns;
		in.grid = parts.grid;
		in.cut = t->loop && t->loop->uncertain;
		in.steps = t->loop && phase->window == WINDOW_STEPS ? track_mean_count(t->loop) : 0;
		in.usual_ns = usual_ns(&causes, phase->window == WINDOW_STEPS ? t->loop : NULL);
		put_causes(p, to, &causes, &in);
		if (!t->loop || phase->window == WINDOW_STEPS)
			put_repeated(p, to, &causes, &in);
		put_binding(p, to, &bound, &in);
		put_limits(p, to, &causes, &in);
		put_new_processes(p, to, &fresh);
		put_anatomy(p, to, &a, &in);
	}
	anatomy_free(&a);
	path_causes_free(&causes);
	vec_free(&parts.v);
	return ok;
}

static void put_lines_of(struct writer *p, struct paths_steps *s, const struct loop *l)
{
	struct place at = place_of(p->names->w, l->frame);

	s->function = paths_copy(p->out, at.function);
	s->file = paths_copy(p->out, at.file);
	s->first_line = l->first_line;
	s->last_line = l->last_line;
}

/* A loop that was found by the calls it repeats. */
static void put_calls(struct writer *p, struct paths_steps *s, const struct loop *l)
{
	const struct world *w = p->names->w;
	struct loop_caller c = loop_caller_of(w, l);
	struct place at = place_of(w, c.frame);

	if (c.frame) {
		s->function = paths_copy(p->out, at.function);
		s->file = paths_copy(p->out, c.first_line ? at.file : at.module);
		s->first_line = c.first_line;
		s->last_line = c.last_line;
	}
	loop_text_print_call(&p->text, w, l);
	s->by_calls = true;
	s->calls = l->period;
	s->call = take_text(p);
}

static void put_steps(struct writer *p, struct paths_track *to, size_t i, const struct loop *l)
{
	const struct step_stats *stats = path_tracks_steps(p->t, i);
	struct paths_steps *s = &to->steps;

	if (!l)
		return;
	to->has_steps = true;
	if (l->period)
		put_calls(p, s, l);
	else
		put_lines_of(p, s, l);
	s->count = l->estimate;
	s->estimated = l->uncertain > 0;
	s->at_least = l->least;
	s->fewest = (uint64_t)l->fewest;
	s->most = (uint64_t)(l->most + 0.5);
	s->first_ns = l->first_ns - p->start_ns;
	s->last_ns = l->last_ns - p->start_ns;
	s->total_ns = l->ns;
	s->timed = l->dur.count > 0;
	if (s->timed) {
		s->p50_ns = sketch_quantile(&l->dur, 0.5);
		s->p99_ns = sketch_quantile(&l->dur, 0.99);
		s->max_ns = l->dur.max;
	}
	if (s->timed && stats && !l->uncertain && !l->least) {
		struct slow_period slow = slow_period_of(stats, l);

		s->every = slow.every;
		s->every_ns = slow.ns;
	}
}

static void put_who(struct writer *p, struct paths_track *to, const struct track *t)
{
	struct track_who who = track_who_of(p->names->w, t->anchor);

	to->pid = who.pid;
	to->node = who.node;
	to->comm = who.comm;
	to->tid = who.tid;
	who_print_thread(&p->text, p->names->w, t->anchor, INT64_MAX);
	to->thread = take_text(p);
}

/* A track that ends in a hang says whom that is for. */
static void put_holder(struct writer *p, struct paths_track *to)
{
	if (!p->hangs)
		return;
	unended_print(&p->text, p->names, &p->hang.chain);
	if (p->text.n)
		to->held_by = take_text(p);
}

static bool put_track(struct writer *p, size_t i, const struct track *t)
{
	struct paths_track *to = paths_add(p->out, &p->out->tracks);
	bool ok = to != NULL;

	if (!ok)
		return false;
	put_who(p, to, t);
	to->from_ns = t->begin_ns - p->start_ns;
	to->to_ns = t->end_ns - p->start_ns;
	put_steps(p, to, i, t->loop);
	ok = track_hang_find(p->t, i, &p->hang, &p->hangs);
	for (unsigned k = 0; ok && k < t->nphases; k++) {
		struct paths_phase *phase = paths_add(p->out, &to->phases);

		ok = phase && put_phase(p, phase, i, t, &t->phases[k]);
	}
	put_holder(p, to);
	return ok;
}

static int compare_lives(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The life that a track must reach to be written. */
static bool least_life(const struct path_tracks *t, uint64_t *least)
{
	size_t n = path_tracks_count(t);
	uint64_t *lives = n > TRACKS_TOLD ? calloc(n, sizeof(*lives)) : NULL;

	*least = 1;
	if (n <= TRACKS_TOLD)
		return true;
	if (!lives)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct track track = path_tracks_get(t, i);

		lives[i] = (uint64_t)(track.end_ns - track.begin_ns);
	}
	qsort(lives, n, sizeof(*lives), compare_lives);
	*least = lives[TRACKS_TOLD - 1] > 1 ? lives[TRACKS_TOLD - 1] : 1;
	free(lives);
	return true;
}

bool path_tracks_json(struct path_tracks *t, int64_t start_ns, struct jsonw *j)
{
	struct paths out = { 0 };
	struct writer p = {
		.t = t, .names = path_tracks_names(t), .start_ns = start_ns, .out = &out
	};
	uint64_t least;
	bool ok = least_life(t, &least);

	for (size_t i = 0; ok && i < path_tracks_count(t) && out.tracks.n < TRACKS_TOLD; i++) {
		struct track track = path_tracks_get(t, i);

		if (track.end_ns > track.begin_ns &&
		    (uint64_t)(track.end_ns - track.begin_ns) >= least)
			ok = put_track(&p, i, &track);
	}
	paths_write_json(&out, j);
	buf_free(&p.text);
	paths_free(&out);
	return ok;
}
