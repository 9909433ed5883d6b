/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of a retry loop that ran into their time-out: what ends the last of them ended all, as far
 * as they were one wait.
 */
#include "tests/tap.h"

#include "lib/path/timed_waits.h"
#include "tests/unit/path_run.h"

#define POLLS 4
#define WAIT  (4 * MS)
#define LAST  (2 * MS)

enum ends { BY_THREAD, BY_SENDER, BY_SENDER_LATE, BY_REPLY, BY_REPLY_LATE, BY_TIMER };

/* POLLS waits of the main thread and a last one that is ended so, gap_ns between each. */
struct retries {
	const char *what;
	unsigned kind;
	int64_t gap_ns;
	enum ends ends;
	bool joined;
	/* What differs from one line, with nothing between. */
	bool other_line, call_between, new_address;
	int64_t preempted_ns; /* in the gap behind the first, not part of gap_ns */
	unsigned more;	      /* waits before, of a second each */
};

static const struct retries cases[] = {
	{ "poll, 100 us between", OBJECT_POLL, 100 * US, BY_THREAD, true },
	{ "poll, 400 us between", OBJECT_POLL, 400 * US, BY_THREAD, true },
	{ "poll, with more work between", OBJECT_POLL, 500 * US, BY_THREAD, false },
	{ "poll at another line", OBJECT_POLL, 100 * US, BY_THREAD, false, .other_line = true },
	{ "a call between", OBJECT_POLL, 100 * US, BY_THREAD, false, .call_between = true },
	{ "preempted between", OBJECT_POLL, 100 * US, BY_THREAD, true, .preempted_ns = 3 * MS },
	{ "a condition with a new address each time", OBJECT_FUTEX, 200 * US, BY_THREAD, true,
	  .new_address = true },
	{ "a condition that has one address", OBJECT_FUTEX, 90 * US, BY_THREAD, true,
	  .other_line = true },
	{ "a receive with a time-out", OBJECT_SOCKET, 100 * US, BY_THREAD, true },
	{ "an answer over a socket", OBJECT_POLL, 100 * US, BY_REPLY, true },
	{ "an answer that is told later", OBJECT_POLL, 100 * US, BY_REPLY_LATE, true },
	{ "who sent the answer", OBJECT_POLL, 100 * US, BY_SENDER, true },
	{ "who sent it, told later", OBJECT_POLL, 100 * US, BY_SENDER_LATE, true },
	{ "the last ran out, too", OBJECT_POLL, 100 * US, BY_TIMER, false },
	{ "idle for eleven seconds before", OBJECT_POLL, 100 * US, BY_THREAD, false, .more = 11 },
	{ "for nine seconds before", OBJECT_POLL, 100 * US, BY_THREAD, true, .more = 9 },
};

struct outcome_of {
	struct stage s;
	struct actor a, b;
	struct path_parts parts;
	uint64_t waited_ns;
	int64_t at_ns;
};

static uint32_t line_at(struct stage *s, uint64_t offset)
{
	struct world_frame f = { .kind = FRAME_UNKNOWN, .offset = offset };
	uint32_t frame = world_frame(s->w, &f);

	return world_stack(s->w, &frame, 1);
}

static struct event *wait_until(struct outcome_of *o, const struct retries *r, unsigned i,
				int64_t ns)
{
	struct event *ev = stage_offcpu(&o->s, o->a, 0, o->at_ns, o->at_ns + ns, 0, 0);

	ev->stack = line_at(&o->s, r->other_line ? 10 + i : 10);
	stage_set(ev, COL_OBJECT_KIND, r->kind);
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
	if (r->kind == OBJECT_FUTEX)
		stage_set(ev, COL_OBJECT, r->new_address ? 0x1000 + 64 * i : 0x1000);
	o->at_ns += ns;
	o->waited_ns += (uint64_t)ns;
	return ev;
}

static void go_on(struct outcome_of *o, const struct retries *r, bool first)
{
	if (r->call_between)
		stage_call(&o->s, o->a, OP_CUDA_LAUNCH, 0, o->at_ns + 10 * US, o->at_ns + 20 * US);
	if (first && r->preempted_ns) {
		stage_offcpu(&o->s, o->a, 0, o->at_ns + 10 * US,
			     o->at_ns + 10 * US + r->preempted_ns, (uint64_t)r->preempted_ns, 0);
		o->at_ns += r->preempted_ns;
	}
	o->at_ns += r->gap_ns;
}

static void end_last(struct outcome_of *o, const struct retries *r, struct event *ev)
{
	if (r->ends == BY_TIMER)
		return;
	stage_set(ev, COL_WAKER_KIND, r->ends == BY_THREAD ? WAKER_TASK : WAKER_SOFTIRQ);
	if (r->ends > BY_SENDER_LATE)
		return;
	stage_set(ev, COL_WAKER, o->b.thread);
	stage_set(ev, COL_WAKING_NS, 0);
}

static void run_events(struct outcome_of *o, const struct retries *r, int64_t last_ns)
{
	struct path *p;

	stage_sort(&o->s);
	path_parts_init(&o->parts, o->s.w, NULL, NULL);
	p = o->parts.path;
	if (path_socket(p, 1, false, NULL) ||
	    path_socket_ends(p, 1, bytes_of("127.0.0.1:80"), bytes_of("127.0.0.1:4000"), NULL) ||
	    ((r->ends == BY_REPLY || r->ends == BY_SENDER) &&
	     path_ready(p, o->a.thread, 1, last_ns, NULL)))
		abort();
	for (size_t i = 0; i < o->s.ev.n; i++) {
		if (path_event(p, &o->s.ev.v[i], NULL))
			abort();
		if ((r->ends == BY_REPLY_LATE || r->ends == BY_SENDER_LATE) &&
		    o->s.ev.v[i].end_ns == last_ns && path_ready(p, o->a.thread, 1, last_ns, NULL))
			abort();
	}
	if (path_finish(p, o->at_ns + 100 * MS, NULL))
		abort();
}

static uint64_t ns_of_class(const struct track_parts *list, const struct retries *r)
{
	enum path_class class = r->ends <= BY_SENDER_LATE ? PATH_OWN
				: r->ends == BY_TIMER	  ? PATH_OUTSIDE
							  : PATH_REPLY;
	uint64_t ns = 0;

	for (size_t i = 0; i < list->v.n; i++)
		if (list->v.v[i].class == class && (class != PATH_OWN || list->v.v[i].culprit) &&
		    (class != PATH_REPLY || !list->v.v[i].ran_out))
			ns += list->v.v[i].ns;
	return ns;
}

static void check_case(const struct retries *r)
{
	struct outcome_of o = { .s = stage_new(), .at_ns = 10 * MS };
	const struct track_parts *list;
	struct path_anchor anchor;
	uint64_t last;

	o.a = stage_actor(&o.s, 10, 10, 1, "main");
	o.b = stage_actor(&o.s, 20, 20, 10, "work");
	sleep_for(&o.s, o.a, 0, 1 * MS);
	sleep_for(&o.s, o.b, 0, 1 * MS);
	for (unsigned i = 0; i < r->more; i++) {
		wait_until(&o, r, i, 1000 * MS);
		go_on(&o, r, false);
	}
	for (unsigned i = 0; i < POLLS; i++) {
		wait_until(&o, r, i, WAIT);
		go_on(&o, r, i == 0);
	}
	end_last(&o, r, wait_until(&o, r, POLLS, LAST));
	last = r->ends == BY_TIMER ? o.waited_ns : LAST;
	run_events(&o, r, o.at_ns);
	list = path_parts_of(&o.parts, o.a.thread);
	is_u64(ns_of_class(list, r), r->joined ? o.waited_ns : last, "%s: %s", r->what,
	       r->joined ? "one wait" : "each is one of its own");
	anchor = path_anchor(o.parts.path, 0);
	is_u64(path_parts_ns(list), (uint64_t)(anchor.end_ns - anchor.begin_ns),
	       "the parts sum to the life");
	path_free(o.parts.path);
	path_parts_free(&o.parts);
	stage_free(&o.s);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(&cases[i]);
	return tap_done();
}
