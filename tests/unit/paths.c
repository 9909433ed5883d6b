/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical paths as JSON: what the analysis writes reads back as the same fields and writes the
 * same bytes again, and what others wrote is taken as far as it goes.
 */
#include "tests/tap.h"

#include <string.h>

#include "lib/detect/analysis.h"
#include "lib/report/report_internal.h"
#include "lib/report/step_track.h"
#include "lib/report/stepless.h"
#include "lib/input/input.h"
#include "lib/model/paths.h"
#include "tests/unit/paths_made.h"
#include "tests/unit/samples.h"

/* As a member of an object, which is what is read. */
static void write_text(const struct paths *p, struct buf *out)
{
	struct jsonw j;

	buf_reset(out);
	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	paths_write_json(p, &j);
	jsonw_object_end(&j);
}

/* ---- one of everything ---- */

static void check_fields(const struct paths *p)
{
	const struct paths_track *t = &p->tracks.v[0];
	const struct paths_phase *steps = paths_find_phase(t, "steps");

	ok(p->tracks.n == 2 && !p->tracks.v[1].has_steps && !p->tracks.v[1].phases.n &&
		   t->has_steps && t->tid == UINT32_MAX && t->to_ns == INT64_MAX,
	   "the tracks");
	ok(t->steps.count == 10 && t->steps.estimated && !t->steps.at_least && t->steps.timed &&
		   bytes_equal(t->steps.file, bytes_of("/srv/a.py")),
	   "the steps");
	ok(!paths_find_phase(t, "end") && steps && steps->ns == 1000 && steps->has_smaller &&
		   steps->smaller.causes == 3,
	   "the phases");
	ok(steps->causes.n == 3 && steps->causes.v[0].culprit.known &&
		   steps->causes.v[0].culprit.tid == 8 && steps->causes.v[0].pieces == UINT64_MAX &&
		   steps->causes.v[0].longest_at_ns == INT64_MIN &&
		   bytes_equal(steps->causes.v[0].once,
			       bytes_of("waits for loader (pid 7) in load (l.py:9)")) &&
		   steps->causes.v[0].lines.v[0].sampled && !steps->causes.v[0].lines.v[0].op.p &&
		   steps->causes.v[1].has_culprit && !steps->causes.v[1].culprit.known &&
		   !steps->causes.v[2].has_culprit,
	   "the causes");
	ok(steps->rows.n == 2 && steps->rows.v[0].why.n == 2 && !steps->rows.v[1].line.p &&
		   steps->lead.n == 1,
	   "the rows");
	ok(steps->notes.n == 1 && steps->notes.v[0].ns == 200 && steps->notes.v[0].matters &&
		   bytes_equal(steps->notes.v[0].kind, bytes_of("bound")) &&
		   steps->notes.v[0].command.n,
	   "what is bound");
}

static void whole(void)
{
	struct paths made = { 0 }, p = { 0 };
	struct buf a = { 0 }, b = { 0 };
	struct err e = { 0 };

	make_paths(&made);
	ok(!made.failed, "made");
	write_text(&made, &a);
	is_int(paths_read_json(&p, buf_bytes(&a), SIZE_MAX, &e), 0, "read: %s", e.text);
	write_text(&p, &b);
	is_str(buf_text(&b), buf_text(&a), "written again");
	check_fields(&p);
	is_int(paths_read_json(&p, bytes_of("{\"paths\":[]}"), SIZE_MAX, &e), 0, "read again");
	is_int((int)p.tracks.n, 0, "nothing of the first is left");
	paths_free(&p);
	paths_free(&made);
	buf_free(&a);
	buf_free(&b);
}

/* ---- what others wrote ---- */

static void foreign(void)
{
	static const struct {
		const char *json;
		int rc;
		const char *text; /* of the error */
		size_t tracks;
	} rows[] = {
		{ "{}", 0, "", 0 },
		{ "{\"paths\":null,\"wall_ns\":[1]}", 0, "", 0 },
		{ "", ERR_DAMAGED, "cut short", 0 },
		{ "[]", ERR_DAMAGED, "not an object", 0 },
		{ "{\"paths\":{}}", ERR_DAMAGED, "\"paths\" is not a list", 0 },
		{ "{\"paths\":[{\"new\":[]},1]}", ERR_DAMAGED, "\"paths\" is not a list of objects",
		  1 },
		{ "{\"paths\":[{\"pid\":-1}]}", ERR_DAMAGED, "\"paths.pid\" is not a number", 1 },
		{ "{\"paths\":[{\"phases\":[{\"causes\":[{\"lines\":[{\"ns\":\"\"}]}]}]}]}",
		  ERR_DAMAGED, "\"paths.phases.causes.lines.ns\"", 1 },
		{ "{\"paths\":[{\"steps\":3,\"phases\":[]}]}", ERR_DAMAGED,
		  "\"paths.steps\" is not an object", 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct paths p = { 0 };
		struct err e = { 0 };

		is_int(paths_read_json(&p, bytes_of(rows[i].json), SIZE_MAX, &e), rows[i].rc, "%s",
		       rows[i].json);
		like(e.text, rows[i].text, "what is said of it");
		is_int((int)p.tracks.n, (int)rows[i].tracks, "what was read");
		paths_free(&p);
	}
}

static void too_much(void)
{
	struct paths p = { 0 };
	struct err e = { 0 };

	is_int(paths_read_json(&p, bytes_of("{\"paths\":[{},{},{}]}"), 60, &e), ERR_LIMIT,
	       "more than is wanted");
	is_int((int)p.tracks.n, 0, "is not read");
	paths_free(&p);
}

/* ---- the report ---- */

static void report(void)
{
	static const uint32_t others[] = { 7 };
	struct chain_list list = { 0 };
	struct report r = { .chains = &list };
	struct finding before = { .first_ns = 0, .last_ns = 110 },
		       within = { .first_ns = 500, .last_ns = 700 };
	struct step_track t;
	struct buf text = { 0 };

	make_paths(&list.paths);
	before.victim.pid = within.victim.pid = 4821;
	before.node = within.node = bytes_of("");
	ok(step_track_main(&r, &t), "a program with steps");
	step_track_print_verdict(&text, &t);
	is_str(buf_text(&text),
	       "python3 (pid 4821): ~10 steps of run (a.py:2-9), 100 ns each: 60 ns (60.0%) waits "
	       "for "
	       "loader (pid 7); 10 ns (10.0%) on the CPU in step (a.py:3); 40 ns at once 0 ns "
	       "after the start: waits for loader (pid 7) in load (l.py:9); they may run "
	       "on CPU 1 only",
	       "the verdict");
	is_int((int)step_track_severity(&t), FINDING_HIGH, "as bad as its worst cause");
	ok(step_track_is_outside(&r, &before) && !step_track_is_outside(&r, &within),
	   "what is before the first step");
	within.node = bytes_of("other");
	ok(!step_track_is_outside(&r, &within), "of another machine");
	buf_reset(&text);
	report_path_text(&text, &r, false);
	like(buf_text(&text), "     70.0%      70 ns  step (a.py:3) > next (l.py:1)\n", "a row");
	like(buf_text(&text), "     30.0%      30 ns  elsewhere\n    40 ns at once 0 ns ",
	     "the rest");
	like(buf_text(&text),
	     "in load (l.py:9)\n    they may run on CPU 1 only\n      $ taskset -a -c -p 0-1 7\n"
	     "    start 100 ns\n",
	     "what is slow once, and what is bound");
	list.paths.tracks.v[0].phases.v[1].notes.v[0].matters = false;
	buf_reset(&text);
	step_track_print_verdict(&text, &t);
	ok(!strstr(buf_text(&text), "CPU 1 only"), "that is no verdict if nothing else was idle");
	buf_reset(&text);
	list.paths.tracks.v[0].steps.at_least = true;
	step_track_print_verdict(&text, &t);
	like(buf_text(&text), ": >=10 steps of run (a.py:2-9), 1.00 us in all: 600 ns (60.0%)",
	     "not a step's, where their number is not known");
	r.pids = others;
	r.npids = 1;
	ok(!step_track_main(&r, &t), "not of other processes");
	chain_list_free(&list);
	buf_free(&text);
}

/* ---- of every sample ---- */

static unsigned bodies;

static void round_trip(struct bytes body, const char *from)
{
	struct paths p = { 0 };
	struct buf again = { 0 };
	struct err e = { 0 };
	int rc = paths_read_json(&p, body, SIZE_MAX, &e);

	write_text(&p, &again);
	bodies += p.tracks.n > 0;
	/* Without the braces it is a part of the body. */
	if (rc || again.n < 2 || !memmem(body.p, body.n, again.p + 1, again.n - 2))
		ok(false, "%s: %s\n# %.*s\n# %s", from, e.text, (int)body.n, body.p,
		   buf_text(&again));
	paths_free(&p);
	buf_free(&again);
}

struct trip_sink {
	struct cause_sink sink;
	const char *from;
};

static int trip_record(struct cause_sink *s, const struct record *r, struct err *e)
{
	(void)e;
	if (r->kind == RECORD_ANALYSIS)
		round_trip(r->u.ANALYSIS.body, ((struct trip_sink *)s)->from);
	return 0;
}

static void sample(const char *kind, const char *path)
{
	struct world *w = world_new();
	struct trip_sink sink = { { trip_record }, path };
	struct cause *c = cause_new(w, NULL, &sink.sink);
	struct input *in = NULL;
	struct stream_item item;

	(void)kind;
	if (input_open(&in, w, &path, 1, NULL) == 0) {
		struct event_stream *s = input_stream(in);

		while (s->next(s, &item, NULL) > 0)
			cause_item(c, &item, NULL);
	}
	cause_finish(c, NULL);
	cause_free(c);
	input_free(in);
	world_free(w);
}

/* Without steps: of a program that makes calls, and has something slow or a note that matters. */
static void stepless(void)
{
	static const struct {
		const char *processes;
		bool once, matters, told;
	} rows[] = {
		{ "{\"processes\":[{\"pid\":7,\"calls\":3}]}", true, false, true },
		{ "{\"processes\":[{\"pid\":7,\"calls\":3}]}", false, true, true },
		{ "{\"processes\":[{\"pid\":7,\"calls\":3}]}", false, false, false },
		{ "{\"processes\":[{\"pid\":7,\"calls\":0}]}", true, true, false },
		{ "{\"processes\":[{\"pid\":8,\"calls\":3}]}", true, true, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct chain_list list = { 0 };
		struct paths *p = &list.paths;
		struct report r = { .chains = &list };
		struct paths_track *t = paths_add(p, &p->tracks);
		struct paths_phase *phase = paths_add(p, &t->phases);
		struct paths_cause *c = paths_add(p, &phase->causes);
		struct buf text = { 0 };

		if (json_parse(bytes_of(rows[i].processes), &list.analysis, NULL))
			abort();
		t->pid = 7;
		t->thread = path_text(p, "python3 (pid 7)");
		phase->name = path_text(p, "all");
		*c = (struct paths_cause){ .longest_ns = 2000000, .longest_at_ns = 3000 };
		if (rows[i].once)
			c->once = path_text(p, "on the CPU in load (a.py:1)");
		put_note(p, phase);
		phase->notes.v[0].matters = rows[i].matters;
		report_path_text(&text, &r, false);
		ok(!text.n == !rows[i].told, "case %zu", i);
		if (i == 0)
			is_str(buf_text(&text),
			       "\nSlow in python3 (pid 7):\n    2.00 ms at once 3.00 us after the "
			       "start: on the CPU in load (a.py:1)\n    they may run on CPU 1 "
			       "only\n      $ taskset -a -c -p 0-1 7\n",
			       "its lines");
		buf_free(&text);
		chain_list_free(&list);
	}
}

/* The first line of a report about a program without steps. */
static void first_line(void)
{
	static const char calls[] = "{\"processes\":[{\"pid\":7,\"node\":\"\",\"calls\":3}],"
				    "\"host_recorded\":true}";
	struct chain_list list = { 0 };
	struct paths *p = &list.paths;
	struct report r = { .chains = &list, .end_ns = 5000000000 };
	struct paths_track *t = paths_add(p, &p->tracks);
	struct paths_phase *phase = paths_add(p, &t->phases);
	static const struct {
		uint64_t ns;
		const char *text;
	} causes[] = { { 400, "on the CPU in load (a.py:1)" },
		       { 300, "waits for loader (pid 8)" },
		       { 250, "waits for loader (pid 8)" },
		       { 50, "sleeps" } };
	struct buf text = { 0 };

	if (json_parse(bytes_of(calls), &list.analysis, NULL))
		abort();
	t->pid = 7;
	t->node = bytes_of("");
	t->thread = path_text(p, "python3 (pid 7)");
	phase->name = path_text(p, "all");
	phase->ns = 1000;
	for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		struct paths_cause *c = paths_add(p, &phase->causes);

		c->ns = causes[i].ns;
		c->text = path_text(p, causes[i].text);
	}
	ok(stepless_find(&r) == t, "a program without steps that makes calls");
	stepless_print(&text, &r, t);
	is_str(buf_text(&text),
	       "python3 (pid 7): no steps; 1.00 us: 550 ns (55.0%) waits for loader (pid 8); 400 "
	       "ns "
	       "(40.0%) on the CPU in load (a.py:1)",
	       "where its time went, what reads alike as one");
	if (!vec_push(&list.v, ((struct finding){ .kind = bytes_of("call-hung"),
						  .victim.pid = 7,
						  .last_ns = 4900000000 })))
		abort();
	ok(!stepless_find(&r), "what hangs is told first");
	list.v.v[0].last_ns = 3000000000;
	ok(stepless_find(&r) == t, "not if it went on");
	t->has_steps = true;
	ok(!stepless_find(&r), "a program with steps has another line");
	buf_free(&text);
	vec_free(&list.v);
	list.v.n = 0;
	chain_list_free(&list);
}

/* A rank waits to the end, since its ranks entered different collectives. */
static void differs(void)
{
	struct chain_list list = { 0 };
	struct report r = { .chains = &list };
	struct paths_phase *end;
	struct paths_cause *c;
	struct paths_line *line;
	struct step_track t;
	struct buf text = { 0 };

	make_paths(&list.paths);
	list.paths.tracks.v[0].steps.p50_ns = 100;
	end = paths_add(&list.paths, &list.paths.tracks.v[0].phases);
	end->name = path_text(&list.paths, "end");
	c = paths_add(&list.paths, &end->causes);
	*c = (struct paths_cause){ .text = path_text(&list.paths, "waits to the end for a lock"),
				   .class = path_text(&list.paths, "never ended"),
				   .severity = FINDING_HIGH,
				   .ns = 2000000000,
				   .longest_ns = 2000000000 };
	line = paths_add(&list.paths, &c->lines);
	line->op = path_text(&list.paths, "cudaStreamSynchronize");
	line->line = path_text(&list.paths, "train_step (a.py:24)");
	end->ns = 2000000000;
	if (!vec_push(&list.v,
		      ((struct finding){ .kind = bytes_of("collective-mismatch"),
					 .victim.pid = 99,
					 .summary = bytes_of("Number 7 is not the same") })))
		abort();
	ok(step_track_main(&r, &t), "a program with steps");
	step_track_print_verdict(&text, &t);
	like(buf_text(&text), "it waits to the end for a lock. Before that ~10 steps",
	     "a rank of another job");
	if (!vec_push(&list.v, ((struct finding){ .kind = bytes_of("collective-hang"),
						  .victim.pid = 4821,
						  .summary = bytes_of("it hangs") })))
		abort();
	buf_reset(&text);
	step_track_main(&r, &t);
	step_track_print_verdict(&text, &t);
	like(buf_text(&text),
	     "its ranks wait for each other, since their collectives differ; it waits in "
	     "cudaStreamSynchronize called from train_step (a.py:24). Number 7 is not the same. "
	     "Before that ~10 steps",
	     "a rank that hangs");
	ok(!strstr(buf_text(&text), "lock") && !strstr(buf_text(&text), "after the last"),
	   "the object that it waits for says nothing");
	buf_free(&text);
	vec_free(&list.v);
	paths_free(&list.paths);
}

int main(void)
{
	unsigned n;

	whole();
	foreign();
	too_much();
	report();
	differs();
	stepless();
	first_line();
	n = samples_each(sample);
	ok(n > 80 && bodies > 40,
	   "paths of %u analyses of %u samples are written again as they were", bodies, n);
	return tap_done();
}
