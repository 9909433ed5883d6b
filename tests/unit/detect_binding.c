/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share the few CPUs they are bound to: who waits for whom there, and whether other
 * CPUs were idle.
 */
#include "tests/tap.h"

#include "lib/base/buf.h"
#include "lib/tracks/binding.h"
#include "lib/tracks/track.h"
#include "tests/unit/events.h"

static void machine(struct stage *s, uint32_t cpus)
{
	struct record *r = stage_record(s, RECORD_NODE);

	REC_SET(r, NODE, node, s->node);
	REC_SET(r, NODE, cpus, cpus);
}

static void allow(struct stage *s, struct actor a, int64_t ns, const char *cpus)
{
	struct record *r = stage_record(s, RECORD_ALLOWED);

	REC_SET(r, ALLOWED, time_ns, ns);
	REC_SET(r, ALLOWED, process, a.process);
	REC_SET(r, ALLOWED, cpus, bytes_of(cpus));
}

static void allow_thread(struct stage *s, struct actor a, int64_t ns, const char *cpus)
{
	struct record *r = stage_record(s, RECORD_ALLOWED);

	REC_SET(r, ALLOWED, time_ns, ns);
	REC_SET(r, ALLOWED, thread, a.thread);
	REC_SET(r, ALLOWED, cpus, bytes_of(cpus));
}

static void idle(struct stage *s, uint32_t cpu, int64_t ns, double value)
{
	struct record *r = stage_record(s, RECORD_SAMPLE);

	REC_SET(r, SAMPLE, time_ns, ns);
	REC_SET(r, SAMPLE, metric, METRIC_CPU_IDLE_NS);
	REC_SET(r, SAMPLE, cpu, cpu);
	REC_SET(r, SAMPLE, value, value);
}

static struct path_tracks *play(struct stage *s)
{
	struct path_tracks *t = path_tracks_new(s->w);
	struct stream_item item = { .kind = STREAM_RECORD };

	if (!t)
		abort();
	for (size_t i = 0; i < s->rec.n; i++) {
		item.record = &s->rec.v[i];
		if (path_tracks_item(t, &item, NULL))
			abort();
	}
	stage_sort(s);
	item = (struct stream_item){ .kind = STREAM_EVENTS, .events = s->ev.v, .n = s->ev.n };
	if (path_tracks_item(t, &item, NULL) || path_tracks_finish(t, NULL))
		abort();
	return t;
}

static struct binding binding_of(struct path_tracks *t, uint32_t thread)
{
	struct track_parts parts = { 0 };
	struct binding b;
	size_t i = 0;

	while (path_tracks_get(t, i).anchor != thread)
		i++;
	if (!path_tracks_parts(t, i, WINDOW_START, &parts) ||
	    !binding_find(&b, path_tracks_allowed(t), path_tracks_names(t), thread, &parts,
			  path_tracks_get(t, i).end_ns))
		abort();
	vec_free(&parts.v);
	return b;
}

/* A program whose worker has its CPU for 40 of 100 ms. */
static void play_worker(struct stage *s, struct actor a, struct actor worker)
{
	stage_offcpu(s, a, 0, 0, 1 * MS, 0, 1);
	stage_offcpu(s, a, 0, 10 * MS, 50 * MS, 40 * MS, 1);
	stage_occupied(s, worker, 1, 10 * MS, 50 * MS);
	stage_offcpu(s, a, 0, 99 * MS, 100 * MS, 0, 1);
}

static void says(struct path_tracks *t, const struct binding *b, const char *text,
		 const char *command)
{
	struct buf out = { 0 };

	binding_print(&out, path_tracks_names(t), b, 0);
	is_str(buf_text(&out), text, "%s", text);
	buf_reset(&out);
	binding_print_command(&out, path_tracks_names(t), b);
	is_str(buf_text(&out), command, "%s", command);
	buf_free(&out);
}

/* A library narrows the main thread; the workers that it starts inherit that. */
static void narrowed(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     w = stage_actor(&s, 11, 11, 10, "load");
	struct path_tracks *t;
	struct binding b;

	machine(&s, 2);
	allow(&s, a, 0, "0-1");
	allow_thread(&s, a, 5 * MS, "1");
	allow(&s, w, 6 * MS, "1");
	idle(&s, 0, 0, 1e9);
	idle(&s, 1, 0, 1e9);
	idle(&s, 0, 100 * MS, 1e9 + 80 * MS);
	idle(&s, 1, 100 * MS, 1e9);
	play_worker(&s, a, w);
	t = play(&s);
	b = binding_of(t, a.thread);
	ok(b.ns == 40 * MS && binding_matters(&b), "they wait for each other");
	says(t, &b,
	     "main (pid 10) and load (pid 11) may run on CPU 1 only since 5.00 ms after the start, "
	     "and waited there for each other for 40.0 ms; CPU 0 was idle for 80% of the recording",
	     "for p in 10 $(pgrep -P 10); do taskset -a -c -p 0-1 $p; done");
	path_tracks_free(t);
	stage_free(&s);
}

/* What is bound to other CPUs, or to all, is nobody's binding. */
static void others(void)
{
	static const struct {
		uint32_t cpus;
		const char *own, *worker;
		double idle;
		bool told, matters;
		const char *what;
	} cases[] = {
		{ 4, "0-1", "0-1", 0.8, true, true, "two of four CPUs, idle ones" },
		{ 4, "0-1", "0-1", 0.0, true, false, "two of four CPUs, the others are busy" },
		{ 4, "0-1", "0-1", -1, true, true, "of which nobody knows what they did" },
		{ 2, "0-1", "0-1", 0.8, false, false, "all CPUs" },
		{ 4, "0-1", "0-3", 0.8, false, false, "the other one may run elsewhere" },
		{ 4, "0-3", "0-1", 0.8, false, false, "the thread itself may" },
		{ 0, "0-1", "0-1", 0.8, false, false, "how many there are is not known" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stage s = stage_new();
		struct actor a = stage_actor(&s, 10, 10, 1, "main"),
			     w = stage_actor(&s, 11, 11, 1, "hog");
		struct path_tracks *t;
		struct binding b;

		if (cases[i].cpus)
			machine(&s, cases[i].cpus);
		allow(&s, a, 0, cases[i].own);
		allow(&s, w, 0, cases[i].worker);
		for (uint32_t cpu = 2; cases[i].idle >= 0 && cpu < 4; cpu++) {
			idle(&s, cpu, 0, 5e9);
			idle(&s, cpu, 100 * MS, 5e9 + cases[i].idle * 100 * MS);
		}
		play_worker(&s, a, w);
		t = play(&s);
		b = binding_of(t, a.thread);
		ok((b.cpus.n > 0) == cases[i].told && binding_matters(&b) == cases[i].matters, "%s",
		   cases[i].what);
		if (i == 0)
			says(t, &b,
			     "main (pid 10) and hog (pid 11) may run on CPUs 0-1 only, and waited "
			     "there "
			     "for each other for 40.0 ms; the other 2 CPUs were idle for 80% of "
			     "the "
			     "recording",
			     "for p in 10 11; do taskset -a -c -p 0-3 $p; done");
		path_tracks_free(t);
		stage_free(&s);
	}
}

static void lists(void)
{
	ok(allowed_cpus_count(bytes_of("0-3,8,10-11")) == 7 && !allowed_cpus_count(bytes_of("")) &&
		   !allowed_cpus_count(bytes_of("x")),
	   "CPUs of a list are counted");
	ok(allowed_cpus_has(bytes_of("0-3,8"), 8) && allowed_cpus_has(bytes_of("0-3,8"), 2) &&
		   !allowed_cpus_has(bytes_of("0-3,8"), 5),
	   "and found");
}

int main(void)
{
	lists();
	narrowed();
	others();
	return done_testing();
}
