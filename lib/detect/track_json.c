/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one object for each track. Numbers are nanoseconds; text is for people.
 */
#include "lib/detect/track_json.h"

#include <stdlib.h>

#include "lib/detect/reason.h"
#include "lib/world/place.h"
#include "lib/world/who.h"

/* Causes told of each row of lines: the largest. */
#define ROW_CAUSES 3

struct writer {
	struct path_tracks *t;
	struct track_names *names;
	int64_t start_ns;
	struct jsonw *j;
	struct buf text; /* scratch */
};

static void put_text(struct writer *p, const char *key)
{
	jsonw_key_bytes(p->j, key, buf_bytes(&p->text));
	p->j->out->failed |= p->text.failed;
	p->text.n = 0;
}

static void put_frame(struct writer *p, const char *key, uint32_t frame)
{
	if (!frame) {
		jsonw_key_null(p->j, key);
		return;
	}
	place_print_frame(&p->text, p->names->w, frame);
	put_text(p, key);
}

static void put_op(struct writer *p, uint16_t op)
{
	const struct op_def *def = op ? world_op(p->names->w, op) : NULL;

	jsonw_key_str(p->j, "op", def ? def->name : NULL);
}

/* ---- causes ---- */

static void put_culprit(struct writer *p, const struct path_cause *c)
{
	const struct path_culprit *who = path_culprit_get(&p->names->culprits, c->culprit);
	const struct world_thread *t = who ? world_get_thread(p->names->w, who->members[0]) : NULL;
	const struct world_process *process = t ? world_get_process(p->names->w, t->process) : NULL;

	if (!who && !c->device) {
		jsonw_key_null(p->j, "culprit");
		return;
	}
	jsonw_key_object(p->j, "culprit");
	reason_print_culprit(&p->text, p->names, c);
	put_text(p, "text");
	if (who) {
		jsonw_key_u64(p->j, "pid", process ? process->tgid : 0);
		jsonw_key_u64(p->j, "tid", t ? t->tid : 0);
		jsonw_key_u64(p->j, "threads", who->nmembers);
		jsonw_key_bool(p->j, "other_process", c->other_process);
	}
	jsonw_object_end(p->j);
}

static void put_lines(struct writer *p, const struct path_cause *c)
{
	jsonw_key_array(p->j, "lines");
	for (unsigned i = 0; i < c->nlines; i++) {
		const struct path_cause_line *l = &c->lines[i];

		jsonw_object_begin(p->j);
		put_frame(p, "at", l->at);
		put_frame(p, "line", l->line);
		put_op(p, l->op);
		jsonw_key_bool(p->j, "sampled", l->sampled);
		jsonw_key_u64(p->j, "ns", l->ns);
		jsonw_object_end(p->j);
	}
	jsonw_array_end(p->j);
}

/* The phrase with its largest line. */
static void put_reason(struct writer *p, const struct path_cause *c)
{
	reason_print(&p->text, p->names, c);
	put_text(p, "text");
	jsonw_key_u64(p->j, "ns", c->ns);
}

static void put_cause(struct writer *p, const struct path_cause *c, uint64_t window_ns)
{
	jsonw_object_begin(p->j);
	put_reason(p, c);
	jsonw_key_str(p->j, "class", path_class_text(c->class));
	put_culprit(p, c);
	jsonw_key_bool(p->j, "work", path_cause_is_work(c));
	jsonw_key_u64(p->j, "severity", path_cause_severity(c, window_ns));
	jsonw_key_u64(p->j, "pieces", c->pieces);
	jsonw_key_u64(p->j, "longest_ns", c->longest_ns);
	jsonw_key_i64(p->j, "longest_at_ns", c->longest_from_ns - p->start_ns);
	put_lines(p, c);
	jsonw_object_end(p->j);
}

static bool is_told(const struct path_causes *c, size_t i)
{
	return (double)c->v.v[i].ns >= PATH_CAUSE_SHARE * (double)c->ns ||
	       c->v.v[i].class == PATH_UNENDED;
}

static void put_causes(struct writer *p, const struct path_causes *c)
{
	uint64_t n = 0, ns = 0;

	jsonw_key_array(p->j, "causes");
	for (size_t i = 0; i < c->v.n; i++) {
		if (is_told(c, i)) {
			put_cause(p, &c->v.v[i], c->ns);
			continue;
		}
		n++;
		ns += c->v.v[i].ns;
	}
	jsonw_array_end(p->j);
	if (n) {
		jsonw_key_object(p->j, "smaller");
		jsonw_key_u64(p->j, "causes", n);
		jsonw_key_u64(p->j, "ns", ns);
		jsonw_object_end(p->j);
	}
}

/* ---- lines of the loop ---- */

static void put_row(struct writer *p, const struct anatomy_row *r)
{
	jsonw_object_begin(p->j);
	put_frame(p, "line", r->frame);
	put_frame(p, "site", r->site);
	jsonw_key_u64(p->j, "ns", r->ns);
	jsonw_key_array(p->j, "why");
	for (size_t i = 0; i < r->why.v.n && i < ROW_CAUSES; i++) {
		jsonw_object_begin(p->j);
		put_reason(p, &r->why.v.v[i]);
		jsonw_key_u64(p->j, "severity", path_cause_severity(&r->why.v.v[i], r->why.ns));
		jsonw_object_end(p->j);
	}
	jsonw_array_end(p->j);
	jsonw_object_end(p->j);
}

static void put_anatomy(struct writer *p, const struct anatomy *a)
{
	jsonw_key_array(p->j, "lead");
	for (unsigned i = 0; i < a->nlead; i++) {
		place_print_frame(&p->text, p->names->w, a->lead[i]);
		jsonw_bytes(p->j, buf_bytes(&p->text));
		p->text.n = 0;
	}
	jsonw_array_end(p->j);
	jsonw_key_array(p->j, "rows");
	for (size_t i = 0; i < a->rows.n; i++)
		put_row(p, &a->rows.v[i]);
	jsonw_array_end(p->j);
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

static bool put_phase(struct writer *p, size_t i, const struct track *t,
		      const struct track_phase *phase)
{
	struct anatomy_root root = { 0 };
	struct track_parts parts = { 0 };
	struct path_causes causes = { 0 };
	struct anatomy a = { 0 };
	bool ok;

	if (t->loop && phase->window == WINDOW_STEPS)
		root = (struct anatomy_root){ t->loop->frame, t->loop->depth };
	ok = path_tracks_parts(p->t, i, phase->window, &parts) &&
	     path_causes_make(&causes, p->names, t->anchor, &parts) &&
	     anatomy_make(&a, p->names, t->anchor, &root, &parts);
	if (ok) {
		jsonw_object_begin(p->j);
		jsonw_key_str(p->j, "name", phase_name(t, phase->window));
		jsonw_key_i64(p->j, "from_ns", phase->from_ns - p->start_ns);
		jsonw_key_i64(p->j, "to_ns", phase->to_ns - p->start_ns);
		jsonw_key_u64(p->j, "ns", phase->ns);
		put_causes(p, &causes);
		put_anatomy(p, &a);
		jsonw_object_end(p->j);
	}
	anatomy_free(&a);
	path_causes_free(&causes);
	vec_free(&parts.v);
	return ok;
}

static void put_steps(struct writer *p, const struct loop *l)
{
	struct place at;

	if (!l) {
		jsonw_key_null(p->j, "steps");
		return;
	}
	at = place_of(p->names->w, l->frame);
	jsonw_key_object(p->j, "steps");
	jsonw_key_bytes(p->j, "function", at.function);
	jsonw_key_bytes(p->j, "file", at.file);
	jsonw_key_u64(p->j, "first_line", l->first_line);
	jsonw_key_u64(p->j, "last_line", l->last_line);
	jsonw_key_u64(p->j, "count", l->estimate);
	jsonw_key_bool(p->j, "estimated", l->uncertain > 0);
	jsonw_key_bool(p->j, "at_least", l->least);
	jsonw_key_i64(p->j, "first_ns", l->first_ns - p->start_ns);
	jsonw_key_i64(p->j, "last_ns", l->last_ns - p->start_ns);
	jsonw_key_u64(p->j, "total_ns", l->ns);
	if (l->dur.count) {
		jsonw_key_u64(p->j, "p50_ns", sketch_quantile(&l->dur, 0.5));
		jsonw_key_u64(p->j, "p99_ns", sketch_quantile(&l->dur, 0.99));
		jsonw_key_u64(p->j, "max_ns", l->dur.max);
	}
	jsonw_object_end(p->j);
}

static void put_who(struct writer *p, const struct track *t)
{
	const struct world *w = p->names->w;
	const struct world_thread *th = world_get_thread(w, t->anchor);
	const struct world_process *process = th ? world_get_process(w, th->process) : NULL;
	const struct world_node *node = process ? world_get_node(w, process->node) : NULL;

	jsonw_key_u64(p->j, "pid", process ? process->tgid : 0);
	jsonw_key_bytes(p->j, "node", node ? world_text(w, node->name) : bytes_of(""));
	jsonw_key_bytes(p->j, "comm",
			th ? world_text(w, world_process_name(w, th->process, 0, INT64_MAX))
			   : bytes_of("?"));
	jsonw_key_u64(p->j, "tid", th ? th->tid : 0);
	who_print_thread(&p->text, w, t->anchor, INT64_MAX);
	put_text(p, "thread");
}

static bool put_track(struct writer *p, size_t i, const struct track *t)
{
	bool ok = true;

	jsonw_object_begin(p->j);
	put_who(p, t);
	jsonw_key_i64(p->j, "from_ns", t->begin_ns - p->start_ns);
	jsonw_key_i64(p->j, "to_ns", t->end_ns - p->start_ns);
	put_steps(p, t->loop);
	jsonw_key_array(p->j, "phases");
	for (unsigned k = 0; ok && k < t->nphases; k++)
		ok = put_phase(p, i, t, &t->phases[k]);
	jsonw_array_end(p->j);
	jsonw_object_end(p->j);
	return ok;
}

static int compare_lives(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The life that a track must reach to be told. */
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
	struct writer p = { .t = t, .names = path_tracks_names(t), .start_ns = start_ns, .j = j };
	uint64_t least;
	bool ok = least_life(t, &least);

	jsonw_key_array(j, "paths");
	for (size_t i = 0, told = 0; ok && i < path_tracks_count(t) && told < TRACKS_TOLD; i++) {
		struct track track = path_tracks_get(t, i);

		if (track.end_ns <= track.begin_ns ||
		    (uint64_t)(track.end_ns - track.begin_ns) < least)
			continue;
		told++;
		ok = put_track(&p, i, &track);
	}
	jsonw_array_end(j);
	buf_free(&p.text);
	return ok;
}
