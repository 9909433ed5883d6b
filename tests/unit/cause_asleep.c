/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that goes on while a thread sleeps: what is found and counted in it is, to the byte,
 * what is in one that ended where the thread was last known to sleep. Once the thread has been heard
 * of again, is gone, or the recording has ended, it is what is found without a word of that sleep.
 */
#include "tests/tap.h"

#include "lib/account/ongoing_waits.h"
#include "lib/query/group_by.h"
#include "lib/query/ops.h"
#include "lib/query/sections.h"
#include "lib/base/buf.h"
#include "lib/report/ops_json.h"
#include "lib/event/ongoing_wait.h"
#include "tests/unit/kinds.h"

#define S     (1000 * MS)
#define SINCE (1 * S)

struct heard {
	struct cause_sink sink;
	struct buf text;
};

static int hear(struct cause_sink *s, const struct record *r, struct err *e)
{
	struct buf *b = &((struct heard *)s)->text;
	struct bytes body = r->kind == RECORD_CHAIN ? r->u.CHAIN.body : r->u.ANALYSIS.body;

	(void)e;
	if (r->kind == RECORD_CHAIN)
		buf_printf(b, "%.*s\n", (int)r->u.CHAIN.summary.n, r->u.CHAIN.summary.p);
	buf_add(b, body.p, body.n);
	buf_putc(b, '\n');
	return 0;
}

/* How many events there were is not found out, but counted. */
static void uncounted(char *text)
{
	char *n = strstr(text, "\"events\":");

	for (n = n ? n + strlen("\"events\":") : text; *n >= '0' && *n <= '9'; n++)
		*n = '0';
}

/* What is counted in these records and events, in rows by that key, or all but such; the caller's. */
static char *counted(struct stage *s, const char *by)
{
	struct stream_item it = { .kind = STREAM_EVENTS };
	const struct ops_input whole = { 0 };
	struct filter all = { 0 };
	struct query_ops_run *run = query_ops_new(s->w, &all);
	struct query_view *view = query_view_new(s->w, &all, VIEW_ALL);
	enum by_key key = BY_OP;
	struct query_by *rows = by_key_find(by, &key) ? query_by_new(s->w, key, 0) : NULL;
	struct buf out = { 0 };
	struct err e;

	if (rows)
		query_ops_set_group_by(run, rows);
	else
		query_ops_set_sections(run, view);
	stage_sort(s);
	it.events = s->ev.v;
	it.n = s->ev.n;
	for (size_t i = 0; i < s->rec.n; i++) {
		struct stream_item rec = { .kind = STREAM_RECORD, .record = &s->rec.v[i] };

		query_ops_item(run, &rec, &e);
	}
	query_ops_item(run, &it, &e);
	is_int(query_ops_end(run, &e), 0, "all is counted");
	ok(!query_ops_has_ongoing(run), "and nothing goes on behind it");
	ops_json(&out, s->w, query_ops_answer(run), &whole);
	query_ops_free(run);
	query_view_free(view);
	query_by_free(rows);
	return out.p;
}

/* What is found in these records and events, the caller's. */
static char *found(struct stage *s)
{
	struct stream_item it = { .kind = STREAM_EVENTS };
	struct heard h = { .sink.record = hear };
	struct cause *c = cause_new(s->w, NULL, &h.sink);
	char *text;

	stage_sort(s);
	it.events = s->ev.v;
	it.n = s->ev.n;
	for (size_t i = 0; i < s->rec.n; i++) {
		struct stream_item rec = { .kind = STREAM_RECORD, .record = &s->rec.v[i] };

		cause_item(c, &rec, NULL);
	}
	cause_item(c, &it, NULL);
	cause_finish(c, NULL);
	cause_free(c);
	s->ev.n = s->rec.n = 0;
	text = strdup(buf_text(&h.text));
	uncounted(text);
	buf_free(&h.text);
	return text;
}

/* A second of steps, each a few launches and the wait for them. */
static void steps(struct stage *s, struct actor a)
{
	for (int64_t t = 0; t < SINCE - 10 * MS; t += 10 * MS) {
		stage_set(stage_call(s, a, OP_CUDA_LAUNCH, 0, t, t + 5 * US), COL_STREAM, 7);
		stage_set(stage_call(s, a, OP_CUDA_STREAM_SYNC, 0, t + 10 * US, t + 9 * MS),
			  COL_STREAM, 7);
	}
}

/* It waits from SINCE on, as far as that; in a call that is open, or in none. */
static struct event wait_of(struct stage *s, struct actor a, enum event_object kind, unsigned depth,
			    int64_t until)
{
	struct event ev = *stage_offcpu(s, a, depth, SINCE, until, 0, 0);

	s->ev.n--;
	ev.present &= ~(1u << op_column(op_builtin(ev.op), COL_CPU_IN));
	stage_set(&ev, COL_OBJECT_KIND, kind);
	stage_set(&ev, COL_OBJECT, 12);
	stage_set(&ev, COL_SYSCALL, 0);
	return ev;
}

/* What it waits for is known. */
static struct event peer_of(const struct event *wait)
{
	struct event ev = *wait;

	ev.op = OP_NET_SOCKET;
	ev.present = 0;
	stage_set(&ev, COL_SOCKET, 5);
	stage_set(&ev, COL_FD, 12);
	stage_set(&ev, COL_SYSCALL, 0);
	return ev;
}

enum then {
	NOTHING,
	WAKES,	 /* the whole wait is recorded */
	CALLS,	 /* that is lost, and a call follows */
	IN_CALL, /* and a wait in a call that is open follows */
	EXITS,
	ENDS,	  /* the recording */
	ELSEWHERE /* the recording of another machine ends */
};

static void after(struct stage *s, struct actor a, enum then then, const struct event *wait)
{
	struct world_node other = { .uuid = { 9 }, .name = world_string(s->w, bytes_of("other")) };
	int64_t t = 22 * S;
	struct event ev = *wait;
	struct record *r;

	switch (then) {
	case NOTHING:
		break;
	case WAKES:
		ev.end_ns = t;
		ev.dur_ns = (uint64_t)(t - SINCE);
		stage_set(&ev, COL_CPU_IN, 0);
		vec_push(&s->ev, ev);
		break;
	case CALLS:
		stage_call(s, a, OP_CUDA_LAUNCH, 0, t - US, t);
		break;
	case IN_CALL:
		stage_offcpu(s, a, 1, t - S, t, 0, 0);
		break;
	case EXITS:
		stage_event(s, OP_PROC_EXIT, a.ctx, 0, t, t);
		break;
	case ENDS:
	case ELSEWHERE:
		r = stage_record(s, RECORD_CLOCK);
		REC_SET(r, CLOCK, mono_ns, t);
		REC_SET(r, CLOCK, source, bytes_of("end"));
		if (then == ELSEWHERE)
			REC_SET(r, CLOCK, node, world_node(s->w, &other));
		break;
	}
}

enum as { UNSAID, RECORDS, EVENT };

static const struct row {
	const char *name;
	enum event_object kind;
	unsigned depth;
	bool peer, alone; /* alone: nothing else is known of the thread */
	enum then then;
	enum as as;	  /* the same as if it was told so: */
	const char *says; /* among it */
} table[] = {
	{ "it sleeps", OBJECT_FUTEX, 0, false, false, NOTHING, EVENT,
	  "until the end: waiting for another thread" },
	{ "in a read", OBJECT_FD, 0, false, false, NOTHING, EVENT,
	  "until the end: waiting for a pipe" },
	{ "on a socket", OBJECT_SOCKET, 0, true, false, NOTHING, EVENT, "to 192.0.2.7:6379" },
	{ "in a call", OBJECT_FUTEX, 1, false, false, NOTHING, EVENT, "\"standing_total\":1" },
	{ "the recording of another machine ends", OBJECT_FUTEX, 0, false, false, ELSEWHERE, EVENT,
	  "until the end: waiting for another thread" },
	{ "it wakes", OBJECT_FUTEX, 0, false, false, WAKES, UNSAID, "\"standing_total\":0" },
	{ "it made a call since", OBJECT_FUTEX, 0, false, false, CALLS, UNSAID,
	  "\"standing_total\":0" },
	{ "it is in a call since", OBJECT_FUTEX, 0, false, false, IN_CALL, UNSAID,
	  "\"standing_total\":0" },
	{ "it ends", OBJECT_FUTEX, 0, false, false, EXITS, UNSAID, "\"standing_total\":0" },
	{ "the recording ends", OBJECT_FUTEX, 0, false, false, ENDS, UNSAID,
	  "\"standing_total\":0" },
	{ "nothing else is known of it", OBJECT_FUTEX, 0, false, true, NOTHING, EVENT,
	  "\"standing_total\":1" },
};

/* by: counted so; NULL: found. */
static char *told(const struct row *t, enum as as, const char *by)
{
	static const int64_t at[] = { SINCE + 5 * S, SINCE + 20 * S, SINCE + 10 * S };
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     sleeper = stage_actor(&s, 100, 101, 1, "train");
	struct event wait[2];
	char *text;

	steps(&s, v);
	if (!t->alone)
		sleeper = v;
	stage_socket(&s, 5, "192.0.2.7:6379");
	for (unsigned i = 0; i < 3; i++) {
		struct record r = { 0 };

		wait[0] = wait_of(&s, sleeper, t->kind, t->depth, at[i]);
		wait[1] = peer_of(&wait[0]);
		for (unsigned k = 0; k < (t->peer ? 2 : 1); k++) {
			asleep_add(&r, &wait[k], sleeper.thread);
			if (as == EVENT && i == 1)
				vec_push(&s.ev, wait[k]);
		}
		if (as == RECORDS)
			vec_push(&s.rec, r);
	}
	after(&s, sleeper, t->then, &wait[0]);
	text = by ? counted(&s, by) : found(&s);
	stage_free(&s);
	return text;
}

/* What who follows a recording hears: of a process that made calls, and makes none any more. */
static void stands(void)
{
	static const struct {
		const char *name;
		bool calls, before, again; /* before: it had made calls */
		const char *says;
	} rows[] = {
		{ "said for the first time", false, true, false, NULL },
		{ "said again", false, true, true,
		  "train (pid 100) makes no calls: for 10.0 s a thread has been blocked on a "
		  "socket" },
		{ "calls were made since", true, true, true, NULL },
		{ "it never made any", false, false, true, NULL },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage s = stage_new();
		struct actor v = stage_actor(&s, 100, 100, 1, "train"),
			     other = stage_actor(&s, 100, 101, 1, "train");
		struct heard h = { .sink.record = hear };
		struct cause *c = cause_new(s.w, NULL, &h.sink);
		struct buf said = { 0 };
		bool told = false;

		if (rows[i].before)
			steps(&s, v);
		for (unsigned k = 0; k < (rows[i].again ? 2 : 1); k++) {
			struct event wait =
				wait_of(&s, v, OBJECT_SOCKET, 0, SINCE + (5 + 5 * k) * S);
			struct record r = { 0 };
			struct stream_item it = { .kind = STREAM_RECORD, .record = &r };

			if (k && rows[i].calls)
				stage_call(&s, other, OP_CUDA_LAUNCH, 0, 3 * S, 3 * S + US);
			stage_sort(&s);
			cause_item(c,
				   &(struct stream_item){
					   .kind = STREAM_EVENTS, .events = s.ev.v, .n = s.ev.n },
				   NULL);
			s.ev.n = 0;
			asleep_add(&r, &wait, v.thread);
			cause_item(c, &it, NULL);
			told = cause_stands(c, &r, &said);
		}
		ok(told == !!rows[i].says, "%s: told, or not", rows[i].name);
		if (rows[i].says)
			like(buf_text(&said), rows[i].says, "%s", rows[i].name);
		else
			is_u64(said.n, 0, "%s: not a word", rows[i].name);
		cause_free(c);
		buf_free(&said);
		buf_free(&h.text);
		stage_free(&s);
	}
}

static void counts(const struct row *t, const char *by)
{
	char *got = told(t, RECORDS, by), *want = told(t, t->as, by),
	     *without = told(t, UNSAID, by);

	is_str(got, want, "%s: counted, %s", t->name, by);
	ok(!strcmp(got, without) == (t->as == UNSAID), "%s: and not otherwise, %s", t->name, by);
	free(got);
	free(want);
	free(without);
}

int main(void)
{
	static const char *const faces[] = { "sections", "op", "pid", "thread", "line" };

	stands();
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *got = told(&table[i], RECORDS, NULL),
		     *want = told(&table[i], table[i].as, NULL);

		like(got, table[i].says, "%s: told", table[i].name);
		is_str(got, want, "%s: nothing else is", table[i].name);
		free(got);
		free(want);
		for (unsigned k = 0; k < sizeof(faces) / sizeof(faces[0]); k++)
			counts(&table[i], faces[k]);
	}
	return tap_done();
}
