/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are open for long over a recording of hours: one that never returns is told, however
 * many did before it, and one that did in the end is told with the time in which it was open.
 */
#include "tests/tap.h"

#include "tests/unit/kinds.h"

#define SECOND (1000 * MS)

struct collected {
	struct cause_sink sink;
	struct chain_list list;
};

static int hear(struct cause_sink *s, const struct record *r, struct err *e)
{
	return chain_list_add(&((struct collected *)s)->list, r, e);
}

static void give(struct cause *c, struct stage *s)
{
	struct stream_item it = { .kind = STREAM_EVENTS, .events = s->ev.v, .n = s->ev.n };

	for (size_t i = 0; i < s->rec.n; i++)
		cause_item(c,
			   &(struct stream_item){ .kind = STREAM_RECORD, .record = &s->rec.v[i] },
			   NULL);
	cause_item(c, &it, NULL);
	s->ev.n = s->rec.n = 0;
}

/* At this time the call that began then is open. */
static void open_at(struct stage *s, struct actor a, int64_t start, int64_t now, bool at_end)
{
	struct record *r = stage_record(s, RECORD_OPEN);

	REC_SET(r, OPEN, time_ns, now);
	REC_SET(r, OPEN, thread, a.thread);
	REC_SET(r, OPEN, op, OP_CUDA_DEVICE_SYNC);
	REC_SET(r, OPEN, start_ns, start);
	REC_SET(r, OPEN, depth, 0);
	if (at_end)
		REC_SET(r, OPEN, at_end, 1);
}

static uint32_t stack_of(struct stage *s, const char *function, unsigned line)
{
	struct world_frame f = { .kind = FRAME_PYTHON, .offset = line };
	uint32_t frame;

	f.name = world_string(s->w, bytes_of(function));
	f.file = world_string(s->w, bytes_of("/srv/data.py"));
	frame = world_frame(s->w, &f);
	return world_stack(s->w, &frame, 1);
}

static void clock_at(struct stage *s, int64_t now)
{
	struct record *r = stage_record(s, RECORD_CLOCK);

	REC_SET(r, CLOCK, mono_ns, now);
}

/* So many waits of five seconds, one after the other; then one of a minute, which does not return. */
static void hangs_after(unsigned many)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);
	int64_t t = 0;

	REC_SET(stage_record(&s, RECORD_SESSION), SESSION, start_ns, 0);
	for (unsigned i = 0; i < many; i++, t += 5 * SECOND) {
		open_at(&s, v, t, t + 4 * SECOND, false);
		stage_call(&s, v, OP_CUDA_DEVICE_SYNC, 0, t, t + 5 * SECOND - MS);
		give(c, &s);
	}
	open_at(&s, v, t, t + 60 * SECOND, true);
	clock_at(&s, t + 60 * SECOND);
	give(c, &s);
	cause_finish(c, NULL);
	ok(p.list.v.n == 1, "after %u long waits: one chain", many);
	if (p.list.v.n == 1)
		like(p.list.v.v[0].summary.p, "has not returned for 1m 0s in cudaDeviceSync",
		     "the one that never returned");
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* Open for twenty seconds, and long over when the recording ends. */
static void returned(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     other = stage_actor(&s, 100, 101, 1, "train");
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);
	int64_t from = 10 * SECOND, until = 30 * SECOND;

	stage_call(&s, v, OP_CUDA_LAUNCH, 0, from - SECOND, from - SECOND + MS);
	give(c, &s);
	open_at(&s, v, from, from + SECOND, false);
	for (int64_t t = from; t < until; t += SECOND)
		stage_call(&s, other, OP_CUDA_LAUNCH, 0, t, t + MS);
	stage_call(&s, v, OP_CUDA_DEVICE_SYNC, 0, from, until);
	for (int64_t t = until; t < 600 * SECOND; t += SECOND)
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + MS, t + 2 * MS);
	give(c, &s);
	cause_finish(c, NULL);
	ok(p.list.v.n == 1, "one that returned: one chain");
	if (p.list.v.n == 1) {
		const struct finding *k = &p.list.v.v[0];

		like(k->summary.p, "which returned in the end", "says so");
		ok(k->first_ns == from, "since when it was open: %lld s",
		   (long long)(k->first_ns / SECOND));
		ok(k->last_ns > from && k->last_ns <= until, "and until when: %lld s",
		   (long long)(k->last_ns / SECOND));
	}
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* Its process is killed in it, and others go on: nothing says that it returned. */
static void killed(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     other = stage_actor(&s, 200, 200, 1, "train");
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);
	int64_t from = 10 * SECOND;

	stage_call(&s, v, OP_CUDA_LAUNCH, 0, from - SECOND, from - SECOND + MS);
	give(c, &s);
	open_at(&s, v, from, from + SECOND, false);
	for (int64_t t = from; t < 30 * SECOND; t += SECOND)
		stage_call(&s, other, OP_CUDA_LAUNCH, 0, t, t + MS);
	stage_event(&s, OP_PROC_EXIT, v.ctx, 0, 30 * SECOND, 30 * SECOND);
	for (int64_t t = 30 * SECOND; t < 600 * SECOND; t += SECOND)
		stage_call(&s, other, OP_CUDA_LAUNCH, 0, t + MS, t + 2 * MS);
	give(c, &s);
	cause_finish(c, NULL);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *k = &p.list.v.v[i];

		like(k->summary.p, "train (pid 100) has not returned for ",
		     "one whose process was killed in it has not returned");
		ok(k->lost_ns <= 20 * SECOND, "for no longer than that lived: %lld s",
		   (long long)(k->lost_ns / SECOND));
	}
	ok(p.list.v.n == 1, "and is one chain");
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

static void collective(struct stage *s, struct actor a, uint16_t op, int64_t start, int64_t end,
		       unsigned rank)
{
	struct event *ev = stage_call(s, a, op, 0, start, end);

	stage_set(ev, COL_COMM, 0x1000 + rank);
	if (op == OP_NCCL_ALL_REDUCE) {
		stage_set(ev, COL_SEQUENCE, (uint64_t)(start / SECOND));
		return;
	}
	stage_set(ev, COL_COMM_ID, 99);
	stage_set(ev, COL_RANK, rank);
	stage_set(ev, COL_RANKS, 2);
}

/* Rank 0 waits in the tenth collective, which rank 1 never enters: what that one does instead
 * leads, where it is known. */
static void rank_behind(void)
{
	static const struct {
		enum event_object object; /* it waits for, from its last collective to the end;
					     OBJECT_NONE: it computes */
		bool host;		  /* threads' waits are recorded */
		int64_t waits;		  /* for so many per cent of that time, at its end */
		const char *says, *never;
	} table[] = {
		{ OBJECT_NONE, true, 0, ": in the 21.0 s since its last one it computed for 21.0 s",
		  "was" },
		{ OBJECT_NONE, false, 0, "number 10; 1 rank waits for it: train (pid 100) has not",
		  "since its last" },
		{ OBJECT_DISK, true, 90, "it was blocked on disk for 18.9 s; 1 rank waits",
		  "computed" },
		{ OBJECT_FD, true, 90, "it was blocked on a pipe or file for 18.9 s; 1 rank waits",
		  "computed" },
		{ OBJECT_FD, true, 40, "it computed for 12.6 s; 1 rank waits", "blocked" },
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct stage s = stage_new();
		struct actor v[] = { stage_actor(&s, 100, 100, 1, "train"),
				     stage_actor(&s, 200, 200, 1, "train-1") };
		struct collected p = { .sink.record = hear };
		struct cause *c = cause_new(s.w, NULL, &p.sink);
		unsigned hangs = 0;
		int64_t end = 30 * SECOND, wait = (end - 9 * SECOND) / 100 * table[i].waits;

		for (unsigned rank = 0; rank < 2; rank++) {
			collective(&s, v[rank], OP_NCCL_COMM_INIT_RANK, 0, MS, rank);
			for (int64_t t = SECOND; t < (rank ? 10 : 11) * SECOND; t += SECOND)
				collective(&s, v[rank], OP_NCCL_ALL_REDUCE, t, t + MS, rank);
		}
		if (table[i].host)
			stage_set(stage_offcpu(&s, v[1], 0, end - wait - MS, end - wait, 0, 0),
				  COL_OBJECT_KIND, OBJECT_TIMER);
		if (table[i].object != OBJECT_NONE)
			stage_set(stage_offcpu(&s, v[1], 0, end - wait, end, 0, 0), COL_OBJECT_KIND,
				  table[i].object);
		stage_sort(&s);
		give(c, &s);
		open_at(&s, v[0], 10 * SECOND + 2 * MS, end, true);
		clock_at(&s, end);
		give(c, &s);
		cause_finish(c, NULL);
		for (size_t k = 0; k < p.list.v.n; k++) {
			const struct finding *told = &p.list.v.v[k];

			if (!bytes_equal(told->kind, bytes_of("collective-hang")))
				continue;
			hangs++;
			like(told->summary.p,
			     "Rank 1, train-1 (pid 200), has not entered collective number 10",
			     "who is behind leads");
			like(told->summary.p, table[i].says, "and what it did");
			ok(!strstr(told->summary.p, table[i].never), "and nothing else: no \"%s\"",
			   table[i].never);
		}
		ok(hangs == 1, "rank 1 stays away: told once, not %u times", hangs);
		cause_free(c);
		chain_list_free(&p.list);
		stage_free(&s);
	}
}

/* What the rank that stays away does has a line: it computes there or, at another, waits to the
 * end. */
static void rank_line(void)
{
	static const struct {
		bool waits;
		const char *says;
	} table[] = {
		{ false, "in the 21.0 s since its last one it was on the CPU in collate "
			 "(data.py:31), for 21.0 s; 1 rank waits" },
		{ true, "it waited to the end for a pipe or file in take (data.py:77), for 18.9 s; "
			"1 rank "
			"waits" },
	};

	for (unsigned i = 0; i < 2; i++) {
		struct stage s = stage_new();
		struct actor v[] = { stage_actor(&s, 100, 100, 1, "train"),
				     stage_actor(&s, 200, 200, 1, "train-1") };
		struct collected p = { .sink.record = hear };
		struct cause *c = cause_new(s.w, NULL, &p.sink);
		int64_t end = 30 * SECOND;
		bool said = false;

		for (unsigned rank = 0; rank < 2; rank++) {
			collective(&s, v[rank], OP_NCCL_COMM_INIT_RANK, 0, MS, rank);
			for (int64_t t = SECOND; t < (rank ? 10 : 11) * SECOND; t += SECOND)
				collective(&s, v[rank], OP_NCCL_ALL_REDUCE, t, t + MS, rank);
		}
		if (!table[i].waits)
			stage_set(stage_offcpu(&s, v[1], 0, end - MS, end - MS + US, 0, 0),
				  COL_OBJECT_KIND, OBJECT_TIMER);
		for (int64_t t = 10 * SECOND; t < end && !table[i].waits; t += 10 * MS)
			stage_event(&s, OP_CPU_SAMPLE, v[1].ctx, 0, t, t)->stack =
				stack_of(&s, "collate", 31);
		if (table[i].waits) {
			struct event *ev = stage_event(&s, OP_SCHED_OFFCPU, v[1].ctx, 0,
						       end - 18900 * MS, end);

			stage_set(ev, COL_CPU_OUT, 0);
			stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
			ev->stack = stack_of(&s, "take", 77);
		}
		stage_sort(&s);
		give(c, &s);
		open_at(&s, v[0], 10 * SECOND + 2 * MS, end, true);
		clock_at(&s, end);
		give(c, &s);
		cause_finish(c, NULL);
		for (size_t k = 0; k < p.list.v.n; k++) {
			const struct finding *told = &p.list.v.v[k];

			if (!bytes_equal(told->kind, bytes_of("collective-hang")))
				continue;
			said = true;
			like(told->summary.p, table[i].says, "what it did, and where");
		}
		ok(said, "rank 1 stays away");
		cause_free(c);
		chain_list_free(&p.list);
		stage_free(&s);
	}
}

/* The same, but the fifth collective was not the same on both: the numbers say nothing of who is
 * behind. */
static void rank_differs(void)
{
	struct stage s = stage_new();
	struct actor v[] = { stage_actor(&s, 100, 100, 1, "train"),
			     stage_actor(&s, 200, 200, 1, "train-1") };
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);
	unsigned hangs = 0;

	for (unsigned rank = 0; rank < 2; rank++) {
		collective(&s, v[rank], OP_NCCL_COMM_INIT_RANK, 0, MS, rank);
		for (int64_t t = SECOND; t < (rank ? 10 : 11) * SECOND; t += SECOND) {
			collective(&s, v[rank], OP_NCCL_ALL_REDUCE, t, t + MS, rank);
			if (rank && t == 5 * SECOND)
				stage_set(&s.ev.v[s.ev.n - 1], COL_BYTES, 4);
		}
	}
	stage_sort(&s);
	give(c, &s);
	open_at(&s, v[0], 10 * SECOND + 2 * MS, 30 * SECOND, true);
	clock_at(&s, 30 * SECOND);
	give(c, &s);
	cause_finish(c, NULL);
	for (size_t k = 0; k < p.list.v.n; k++) {
		const struct finding *told = &p.list.v.v[k];

		if (!bytes_equal(told->kind, bytes_of("collective-hang")))
			continue;
		hangs++;
		like(told->summary.p, "; its ranks entered different collectives as number 5, and",
		     "why it hangs");
		ok(!strstr(told->summary.p, "has not entered"), "and nobody is behind");
	}
	ok(hangs == 1, "a rank hangs: told %u times", hangs);
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* A rank that others wait for comes late: what was told of them then is taken back of as many. */
static void rank_came(void)
{
	struct stage s = stage_new();
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);
	struct actor v[4];
	unsigned hangs = 0;

	for (unsigned rank = 0; rank < 4; rank++) {
		v[rank] = stage_actor(&s, 100 + rank, 100 + rank, 1, "train");
		collective(&s, v[rank], OP_NCCL_COMM_INIT_RANK, 0, MS, rank);
		for (int64_t t = SECOND; t < (rank == 3 ? 10 : 11) * SECOND; t += SECOND)
			collective(&s, v[rank], OP_NCCL_ALL_REDUCE, t, t + MS, rank);
	}
	stage_sort(&s);
	give(c, &s);
	for (unsigned rank = 0; rank < 3; rank++)
		open_at(&s, v[rank], 10 * SECOND + 2 * MS, 11 * SECOND, false);
	for (int64_t t = 11 * SECOND; t < 30 * SECOND; t += SECOND)
		stage_call(&s, v[3], OP_CUDA_LAUNCH, 0, t, t + MS);
	for (unsigned rank = 0; rank < 3; rank++)
		stage_call(&s, v[rank], OP_CUDA_DEVICE_SYNC, 0, 10 * SECOND + 2 * MS, 30 * SECOND);
	for (int64_t t = 31 * SECOND; t < 60 * SECOND; t += SECOND)
		stage_call(&s, v[3], OP_CUDA_LAUNCH, 0, t, t + MS);
	give(c, &s);
	cause_finish(c, NULL);
	for (size_t k = 0; k < p.list.v.n; k++) {
		const struct finding *told = &p.list.v.v[k];

		if (bytes_equal(told->kind, bytes_of("collective-hang"))) {
			hangs++;
			like(told->summary.p, "which returned in the end", "the late rank came");
			is_u64(told->count, 3, "three waited");
			ok(bytes_equal(told->counted, bytes_of("ranks")), "ranks");
		}
	}
	ok(hangs == 1, "told once, not %u times", hangs);
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* At the end so many calls have only just begun, before which one had been open for long: all are
 * told of at the end. */
static void among_many(unsigned young, unsigned usual, bool hangs)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);
	int64_t t = SECOND, end;

	REC_SET(stage_record(&s, RECORD_SESSION), SESSION, start_ns, 0);
	for (unsigned i = 0; i < usual; i++, t += 7 * SECOND)
		stage_call(&s, v, OP_CUDA_DEVICE_SYNC, 0, t, t + 6 * SECOND);
	end = t + 8 * SECOND;
	for (unsigned i = 0; i < young; i++) {
		struct actor other = stage_actor(&s, 100, 101 + i, 1, "train");

		stage_call(&s, other, OP_CUDA_LAUNCH, 0, end - 2 * MS, end - MS);
		open_at(&s, other, end - 100 * US, end, true);
	}
	open_at(&s, v, t, end, true);
	stage_sort(&s);
	clock_at(&s, end);
	give(c, &s);
	cause_finish(c, NULL);
	is_u64(p.list.v.n, hangs, "%u that began just now, %u that took as long and returned",
	       young, usual);
	if (hangs && p.list.v.n == 1)
		is_u64(p.list.v.v[0].count, 1, "one thread hangs");
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* More than are remembered: what is not looked at is counted. */
static void too_many(void)
{
	struct stage s = stage_new();
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);

	REC_SET(stage_record(&s, RECORD_SESSION), SESSION, start_ns, 0);
	for (unsigned i = 0; i < 5000; i++) {
		struct actor a = stage_actor(&s, 100, 100 + i, 1, "train");

		stage_call(&s, a, OP_CUDA_LAUNCH, 0, 0, MS);
		open_at(&s, a, SECOND, 30 * SECOND, true);
	}
	clock_at(&s, 30 * SECOND);
	give(c, &s);
	cause_finish(c, NULL);
	is_u64(p.list.v.n, 1, "5000 threads hang: one chain");
	if (p.list.v.n == 1) {
		const struct finding *f = &p.list.v.v[0];

		is_u64(p.list.v.v[0].count, 4096, "of so many");
		is_u64(f->evidence.n ? f->evidence.v[0].value : 0, 904,
		       "and how many more there are");
	}
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* One machine's recording ends while a call is open; another's goes on. */
static void goes_on(int64_t open_ns, bool hangs)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"), other;
	struct world_node n = { .uuid = { 9, 9, 9 }, .boot = 8 };
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);

	s.node = world_node(s.w, &n);
	other = stage_actor(&s, 200, 200, 1, "train");
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, SECOND, SECOND + MS);
	give(c, &s);
	open_at(&s, v, 10 * SECOND - open_ns, 10 * SECOND, true);
	for (int64_t t = 10 * SECOND; t < 100 * SECOND; t += SECOND)
		stage_call(&s, other, OP_CUDA_LAUNCH, 0, t, t + MS);
	give(c, &s);
	cause_finish(c, NULL);
	is_u64(p.list.v.n, hangs, "open for %lld ms when its recording ended",
	       (long long)(open_ns / MS));
	if (hangs && p.list.v.n == 1)
		is_u64(p.list.v.v[0].lost_ns, (uint64_t)open_ns, "lost is what is known of");
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* The machine's recording that rank 1 is on ends; long after that rank 0 hangs on another: where
 * rank 1 is is not known. */
static void rank_unseen(bool ends)
{
	struct stage s = stage_new();
	struct world_node n = { .uuid = { 9, 9, 9 }, .boot = 8 };
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);
	int64_t end = 60 * SECOND;
	struct actor v[2];
	struct record *r;
	unsigned hangs = 0;
	uint32_t node;

	v[0] = stage_actor(&s, 100, 100, 1, "train");
	s.node = node = world_node(s.w, &n);
	v[1] = stage_actor(&s, 200, 200, 1, "train-1");
	for (unsigned rank = 0; rank < 2; rank++) {
		collective(&s, v[rank], OP_NCCL_COMM_INIT_RANK, 0, MS, rank);
		for (int64_t t = SECOND; t < (rank ? 10 : 40) * SECOND; t += SECOND)
			collective(&s, v[rank], OP_NCCL_ALL_REDUCE, t, t + MS, rank);
	}
	stage_sort(&s);
	give(c, &s);
	open_at(&s, v[0], 39 * SECOND + 2 * MS, end, true);
	r = stage_record(&s, RECORD_CLOCK);
	REC_SET(r, CLOCK, mono_ns, ends ? 10 * SECOND : end);
	REC_SET(r, CLOCK, node, node);
	clock_at(&s, end);
	give(c, &s);
	cause_finish(c, NULL);
	for (size_t k = 0; k < p.list.v.n; k++) {
		const struct finding *told = &p.list.v.v[k];

		if (!bytes_equal(told->kind, bytes_of("collective-hang")))
			continue;
		hangs++;
		like(told->summary.p,
		     ends ? "every rank that was recorded until then has entered"
			  : "Rank 1, train-1 (pid 200), has not entered collective number 39",
		     ends ? "whose recording had ended is not said to be behind" : "who is behind");
	}
	ok(hangs == 1, "told once, not %u times", hangs);
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* Three ranks wait for the fourth: that is one chain, and where they wait counts them all. */
static void ranks_wait(void)
{
	struct stage s = stage_new();
	struct collected p = { .sink.record = hear };
	struct cause *c = cause_new(s.w, NULL, &p.sink);
	struct actor v[4];
	int64_t end = 30 * SECOND;
	unsigned hangs = 0;

	for (unsigned rank = 0; rank < 4; rank++) {
		v[rank] = stage_actor(&s, 100 + rank, 100 + rank, 1, "train");
		collective(&s, v[rank], OP_NCCL_COMM_INIT_RANK, 0, MS, rank);
		for (int64_t t = SECOND; t < (rank == 3 ? 10 : 11) * SECOND; t += SECOND)
			collective(&s, v[rank], OP_NCCL_ALL_REDUCE, t, t + MS, rank);
	}
	stage_sort(&s);
	give(c, &s);
	for (unsigned rank = 0; rank < 3; rank++)
		open_at(&s, v[rank], 10 * SECOND + 2 * MS, end, true);
	clock_at(&s, end);
	give(c, &s);
	cause_finish(c, NULL);
	for (size_t k = 0; k < p.list.v.n; k++) {
		const struct finding *told = &p.list.v.v[k];

		if (bytes_equal(told->kind, bytes_of("collective-hang"))) {
			hangs++;
			is_u64(told->count, 3, "three ranks wait");
			is_u64(told->sites.n ? told->sites.v[0].affected : 0, 3,
			       "all of them at that place");
		}
	}
	ok(hangs == 1, "told once, not %u times", hangs);
	cause_free(c);
	chain_list_free(&p.list);
	stage_free(&s);
}

int main(void)
{
	rank_behind();
	rank_line();
	rank_differs();
	ranks_wait();
	rank_came();
	rank_unseen(false);
	rank_unseen(true);
	among_many(0, 0, true);
	among_many(5, 0, true);
	among_many(5, 3, false);
	among_many(5000, 0, true);
	too_many();
	goes_on(MS, false);
	goes_on(6 * SECOND, true);
	hangs_after(0);
	hangs_after(20);
	hangs_after(5000);
	returned();
	killed();
	return tap_done();
}
