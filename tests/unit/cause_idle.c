/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-idle of many causes, and of causes that come in pieces: five seconds of steps, each some
 * launches, a wait for the device, and something before the next step.
 */
#include "tests/tap.h"

#include "tests/unit/kinds.h"

#define LENGTH (5000 * MS)
#define STEP   (10 * MS)
#define STEPS  (LENGTH / STEP)
#define GAPS   (STEPS - 1)

#define for_steps(t) for (int64_t t = 0; t < LENGTH; t += STEP)

/* Eight launches, and a wait for them that ends at `until`. */
static void work(struct stage *s, struct actor a, int64_t t, int64_t until)
{
	for (unsigned i = 0; i < 8; i++)
		stage_set(stage_call(s, a, OP_CUDA_LAUNCH, 0, t + i * 10 * US,
				     t + i * 10 * US + 5 * US),
			  COL_STREAM, 7);
	stage_set(stage_call(s, a, OP_CUDA_STREAM_SYNC, 0, t + 80 * US, until), COL_STREAM, 7);
}

static struct event *blocked(struct stage *s, struct actor a, int64_t t, int64_t ns,
			     enum event_object kind)
{
	struct event *ev = stage_offcpu(s, a, 0, t, t + ns, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, kind);
	return ev;
}

/* The same at seven lines in turn, none of which is a fifth of the gaps: one cause, if that is
 * enough of the time. */
static void idle_several(struct stage *s, struct actor v)
{
	static const struct {
		int64_t ns;
		unsigned most; /* of so many steps one is disturbed */
	} doses[] = { { 1800 * US, 1 }, { 1800 * US, 50 } };

	for (unsigned i = 0; i < 2; i++) {
		unsigned n = 0;

		for_steps(t)
		{
			struct world_frame f = { .kind = FRAME_PYTHON, .offset = 10 + n++ % 7 };
			uint32_t frame;

			f.name = world_string(s->w, bytes_of("part"));
			frame = world_frame(s->w, &f);
			if (n % doses[i].most) {
				work(s, v, t, t + STEP - 20 * US);
				continue;
			}
			work(s, v, t, t + 8 * MS);
			blocked(s, v, t + 8 * MS + 50 * US, doses[i].ns, OBJECT_FD)->stack =
				world_stack(s->w, &frame, 1);
		}
		if (i == 0)
			tells(s, "gpu-idle", "waiting for a pipe or file in part (",
			      GAPS * 1800 * US);
		else
			silent(s, "several lines, and all of them little");
	}
}

/* A gap in which the thread waits twice for the same is one gap. */
static void idle_in_pieces(struct stage *s, struct actor v)
{
	struct world_frame f = { .kind = FRAME_PYTHON, .offset = 31 },
			   inner = { .kind = FRAME_UNKNOWN };
	struct kinds_run p;
	uint32_t frames[2];

	f.name = world_string(s->w, bytes_of("fetch"));
	frames[1] = world_frame(s->w, &f);
	for_steps(t)
	{
		work(s, v, t, t + 8 * MS);
		for (unsigned i = 0; i < 2; i++) {
			inner.offset = 0x1000 + i;
			frames[0] = world_frame(s->w, &inner);
			blocked(s, v, t + 8 * MS + 50 * US + i * 900 * US, 850 * US, OBJECT_FD)
				->stack = world_stack(s->w, frames, 2);
		}
	}
	analyze(s, &p);
	is_u64(p.list.v.n, 1, "two waits in each gap, one cause");
	is_u64(p.list.v.n ? p.list.v.v[0].count : 0, 2 * GAPS, "counted by the place");
	is_u64(p.list.v.n ? p.list.v.v[0].lost_ns : 0, GAPS * 1700 * US, "with the time of both");
	chain_list_free(&p.list);
}

/* It waits for a worker, which does several things meanwhile: each is told for itself. */
static void behind_in_pieces(struct stage *s, struct actor v, struct actor worker)
{
	static const struct {
		const char *kind, *told;
		uint64_t ns;
	} table[] = { { "disk-stall", "was blocked on a disk", STEPS * 720 * US },
		      { "gpu-idle", "waiting for loader (pid 200), which slept",
			GAPS * 780 * US } };

	for (unsigned i = 0; i < 2; i++) {
		for_steps(t)
		{
			int64_t at = t + 8 * MS + 50 * US;
			struct event *ev;

			work(s, v, t, t + 8 * MS);
			blocked(s, worker, at, 720 * US, OBJECT_DISK);
			blocked(s, worker, at + 720 * US, 780 * US, OBJECT_TIMER);
			ev = blocked(s, v, at, 1800 * US, OBJECT_FUTEX);
			stage_set(ev, COL_FUTEX_OP, 9);
			stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
			stage_set(ev, COL_WAKER, worker.thread);
		}
		told_among(s, table[i].kind, table[i].told, table[i].ns);
	}
}

/* Waits with a time limit: those that nobody ended, and those that somebody did, are told apart,
 * unless they follow each other at one line. */
static void time_limits(struct stage *s, struct actor v, struct actor worker)
{
	struct world_frame f = { .kind = FRAME_PYTHON, .offset = 31 };
	struct kinds_run p;
	uint32_t frame, other;

	f.name = world_string(s->w, bytes_of("fetch"));
	frame = world_frame(s->w, &f);
	f.offset = 32;
	other = world_frame(s->w, &f);
	for (unsigned answered = 0; answered < 3; answered++) {
		for_steps(t)
		{
			work(s, v, t, t + 8 * MS);
			for (unsigned i = 0; i < 3; i++) {
				bool last = i == 2 && answered;
				struct event *ev =
					blocked(s, v, t + 8 * MS + 50 * US + i * 600 * US, 590 * US,
						OBJECT_POLL);

				ev->stack = world_stack(s->w,
							last && answered == 2 ? &other : &frame, 1);
				stage_set(ev, COL_WAKER_KIND, last ? WAKER_TASK : WAKER_TIMER);
				if (last)
					stage_set(ev, COL_WAKER, worker.thread);
			}
		}
		if (!answered) {
			tells(s, "gpu-idle", "waiting in poll, until its time ran out, in fetch (",
			      GAPS * 3 * 590 * US);
			continue;
		}
		if (answered == 1) {
			tells(s, "gpu-idle", "waiting in poll, ended by loader, in fetch (",
			      GAPS * 3 * 590 * US);
			continue;
		}
		analyze(s, &p);
		is_u64(p.list.v.n, 2, "two of three waits nobody ended");
		for (size_t i = 0; i < p.list.v.n; i++) {
			like(p.list.v.v[i].summary.p,
			     i ? "waiting in poll, ended by loader, in fetch ("
			       : "waiting in poll, until its time ran out, in fetch (",
			     "which of them");
			is_u64(p.list.v.v[i].lost_ns, GAPS * (2 - i) * 590 * US, "with its time");
		}
		chain_list_free(&p.list);
	}
}

/* It waits to read, or for somebody to take what it writes: what is to be done is another thing. */
static void writes(struct stage *s, struct actor v)
{
	static const struct {
		const char *arch;
		enum event_object kind;
		uint64_t syscall;
		const char *says, *action;
	} table[] = {
		{ "x86_64", OBJECT_FD, 1, "writing to a pipe or file", "Write less" },
		{ "x86_64", OBJECT_FD, 0, "waiting for a pipe or file", "Give more workers" },
		{ "aarch64", OBJECT_FD, 64, "writing to a pipe or file", "Write less" },
		{ "aarch64", OBJECT_FD, 1, "waiting for a pipe or file", "Give more workers" },
		{ "x86_64", OBJECT_SOCKET, 44, "sending to a socket", "Send less" },
		{ "x86_64", OBJECT_SOCKET, 45, "waiting for a socket", "Ask for the data" },
		{ NULL, OBJECT_FD, 1, "waiting for a pipe or file", "Give more workers" },
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct record *r = stage_record(s, RECORD_NODE);
		bool asks = table[i].kind == OBJECT_SOCKET && table[i].syscall == 45;
		struct kinds_run p;

		REC_SET(r, NODE, node, s->node);
		if (table[i].arch)
			REC_SET(r, NODE, arch, bytes_of(table[i].arch));
		for_steps(t)
		{
			work(s, v, t, t + 8 * MS);
			stage_set(blocked(s, v, t + 8 * MS + 50 * US, 1800 * US, table[i].kind),
				  COL_SYSCALL, table[i].syscall);
		}
		analyze(s, &p);
		ok(p.list.v.n == 1, "call %u of %s: one chain", (unsigned)table[i].syscall,
		   table[i].arch ? table[i].arch : "a machine that is not told");
		if (p.list.v.n == 1) {
			struct bytes action = p.list.v.v[0].fixes.v[0].action;

			like(p.list.v.v[0].summary.p, table[i].says, "%s", table[i].says);
			ok(memmem(action.p, action.n, table[i].action, strlen(table[i].action)),
			   "%s", table[i].action);
			ok((p.list.v.v[0].without.n > 0) == !asks, "what is gained without it: %s",
			   asks ? "unknown, as nobody may have been asked" : "told");
		}
		chain_list_free(&p.list);
	}
}

/* Answers that are as late as TCP delays acknowledgements, and those that are not. */
static void late_answers(struct stage *s, struct actor v)
{
	static const struct {
		int64_t ns;
		unsigned n; /* in a step, one behind the other */
		const char *action, *remote;
	} table[] = { { 42 * MS, 1, "Set TCP_NODELAY", NULL },
		      { 30 * MS, 1, "Ask for the data", "192.0.2.1:5353" },
		      { 55 * MS, 1, "Ask for the data", NULL },
		      { 42 * MS, 3, "Set TCP_NODELAY", NULL },
		      { 30 * MS, 1, "Keep the connection, or the address", "[2001:db8::1]:53" } };

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int64_t each = table[i].ns + 50 * US;
		struct kinds_run p;

		if (table[i].remote)
			stage_socket(s, 5, table[i].remote);
		for (int64_t t = 0; t < LENGTH; t += 9 * MS + table[i].n * each) {
			work(s, v, t, t + 8 * MS);
			for (unsigned k = 0; k < table[i].n; k++) {
				int64_t from = t + 8 * MS + 50 * US + k * each;

				stage_set(blocked(s, v, from, table[i].ns, OBJECT_SOCKET),
					  COL_SYSCALL, 45);
				if (table[i].remote)
					stage_set(stage_event(s, OP_NET_SOCKET, v.ctx, 0, from,
							      from + table[i].ns),
						  COL_SOCKET, 5);
			}
		}
		analyze(s, &p);
		ok(p.list.v.n > 0 && p.list.v.v[0].fixes.n > 0 &&
			   memmem(p.list.v.v[0].fixes.v[0].action.p,
				  p.list.v.v[0].fixes.v[0].action.n, table[i].action,
				  strlen(table[i].action)),
		   "answers after %u ms: %s", (unsigned)(table[i].ns / MS), table[i].action);
		chain_list_free(&p.list);
	}
}

/* It waits for a worker for ever: which was killed before, or ended well, or was another's. */
static void worker_killed(struct stage *s, struct actor v)
{
	static const struct {
		uint32_t pid, parent;
		uint64_t status;
		bool told;
		int64_t at;
	} table[] = {
		{ 901, 100, 9, true, 400 * MS },   { 902, 100, 11, true, 600 * MS },
		{ 903, 100, 0, false, 400 * MS },  { 904, 77, 9, false, 400 * MS },
		{ 905, 100, 2, false, 4400 * MS }, /* with the whole, in the end */
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct actor worker = stage_actor(s, table[i].pid, table[i].pid, table[i].parent,
						  "pt_data_worker");
		int64_t last = 500 * MS - STEP + 9 * MS;
		struct event *ev;
		char says[120];

		for (int64_t t = 0; t < 500 * MS; t += STEP)
			work(s, v, t, t + 9 * MS);
		blocked(s, worker, MS, 100 * MS, OBJECT_FD);
		stage_set(stage_event(s, OP_PROC_EXIT, worker.ctx, 0, table[i].at, table[i].at),
			  COL_STATUS, table[i].status);
		ev = blocked(s, v, last + 10 * US, 4000 * MS, OBJECT_POLL);
		ev->present &= ~(1ull << op_column(world_op(s->w, ev->op), COL_CPU_IN));
		snprintf(says, sizeof(says),
			 "; its child pt_data_worker (pid %u) ended %s s before, killed by "
			 "signal %u",
			 table[i].pid, table[i].at == 400 * MS ? "4.10" : "3.90",
			 (unsigned)table[i].status);
		if (table[i].told)
			told_among(s, "gpu-idle", says, 4000 * MS);
		else
			never_says(s, "its child", "a worker that ended well, or somebody else's");
	}
}

/* What a step has to do between two others, a little longer than usual, is nothing to tell of; as
 * much of shorter steps is. */
static void short_gaps(struct stage *s, struct actor v)
{
	static const struct {
		int64_t step, gap;
		bool told;
	} table[] = { { 5 * MS, 140 * US, false },
		      { 5 * MS, 240 * US, false },
		      { 5 * MS, 260 * US, true },
		      { 2 * MS, 140 * US, true },
		      { 20 * MS, 300 * US, false } };

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t gaps = 0;

		for (int64_t t = 0; t < LENGTH; t += table[i].step, gaps++)
			work(s, v, t, t + table[i].step - table[i].gap);
		if (table[i].told)
			tells(s, "gpu-idle", "its own code", (gaps - 1) * (uint64_t)table[i].gap);
		else
			silent(s, "short gaps of its own code");
	}
}

/* What another thread does while a copy works that waits until it is done, is behind the gap that
 * the copy ended. */
static void ended_by_a_copy(struct stage *s, struct actor v, struct actor other)
{
	for_steps(t)
	{
		struct event *ev;

		work(s, v, t, t + 4 * MS);
		stage_set(stage_call(s, other, OP_CUDA_LAUNCH, 0, t + 20 * US, t + 25 * US),
			  COL_STREAM, 7);
		ev = blocked(s, v, t + 4010 * US, 980 * US, OBJECT_FUTEX);
		stage_set(ev, COL_FUTEX_OP, 9);
		stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
		stage_set(ev, COL_WAKER, other.thread);
		blocked(s, other, t + 5100 * US, 3900 * US, OBJECT_TIMER);
		stage_set(stage_call(s, v, OP_CUDA_MEMCPY, 0, t + 5 * MS, t + 9900 * US),
			  COL_DIRECTION, 1);
	}
	told_among(s, "gpu-idle", "waiting for thread backward (tid 101), which ran its own code",
		   STEPS * 980 * US);
}

/* The same where calls were left out, and a gap is at most one: all of it is the sleep between two
 * copies. */
static void copies_left_out(struct stage *s, struct actor v)
{
	struct record *r = stage_record(s, RECORD_SAMPLED);
	struct kinds_run p;
	unsigned n = 0;

	REC_SET(r, SAMPLED, op, OP_CUDA_LAUNCH);
	REC_SET(r, SAMPLED, left_out, 1);
	for_steps(t)
	{
		stage_set(stage_call(s, v, OP_CUDA_MEMCPY, 0, t, t + 3 * MS), COL_DIRECTION, 1);
		blocked(s, v, t + 3 * MS, 6990 * US, OBJECT_TIMER);
	}
	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		double share = p.list.v.v[i].explained;

		if (bytes_equal(p.list.v.v[i].kind, bytes_of("gpu-idle"))) {
			n++;
			ok(share > 0.95, "between copies: %.0f%% is the sleep", share * 100);
		}
	}
	is_u64(n, 1, "one chain of it");
	chain_list_free(&p.list);
}

/* A gap in which calls may have been made that are not recorded says nothing of the device. The
 * same gaps elsewhere do. */
static void uncovered(struct stage *s, struct actor v)
{
	static const struct {
		int64_t since_ns, until_ns;
		bool told;
	} cases[] = { { -MS, LENGTH, false }, { -5 * MS, -MS, true } };

	for (unsigned i = 0; i < 2; i++) {
		struct record *r = stage_record(s, RECORD_UNCOVERED);

		REC_SET(r, UNCOVERED, since_ns, cases[i].since_ns);
		REC_SET(r, UNCOVERED, until_ns, cases[i].until_ns);
		REC_SET(r, UNCOVERED, process, v.process);
		REC_SET(r, UNCOVERED, layer, bytes_of("driver"));
		for_steps(t)
		{
			work(s, v, t, t + 4 * MS);
			blocked(s, v, t + 4010 * US, 5900 * US, OBJECT_FD);
		}
		if (cases[i].told)
			told_among(s, "gpu-idle", "waiting for a pipe or file", GAPS * 5900 * US);
		else
			silent(s, "gaps in which calls may be missing");
	}
}

/* A launch and the wait for it, at two lines of Python. */
static void known_work(struct stage *s, struct actor a, const char *function, int64_t t,
		       int64_t until)
{
	struct world_frame f = { .kind = FRAME_PYTHON };

	f.name = world_string(s->w, bytes_of(function));
	f.file = world_string(s->w, bytes_of("train.py"));
	for (unsigned i = 0; i < 2; i++) {
		struct event *ev = i ? stage_call(s, a, OP_CUDA_STREAM_SYNC, 0, t + 80 * US, until)
				     : stage_call(s, a, OP_CUDA_LAUNCH, 0, t, t + 5 * US);
		uint32_t frame;

		f.offset = 10 + i;
		frame = world_frame(s->w, &f);
		stage_set(ev, COL_STREAM, 7);
		ev->stack = world_stack(s->w, &frame, 1);
	}
}

/* What was grave while the model was made is not in the steps, of which the same took next to
 * nothing. */
static void before_the_steps(struct stage *s, struct actor v)
{
	const int64_t begin_ns = 2200 * MS;
	const struct finding *told = NULL;
	struct kinds_run p;

	for (int64_t t = 0; t < 2100 * MS; t += 700 * MS) {
		known_work(s, v, "make", t, t + 8 * MS);
		blocked(s, v, t + 9 * MS, 690 * MS, OBJECT_FD);
	}
	for_steps(t)
	{
		bool slow = t % (100 * MS) == 0;

		known_work(s, v, "main", begin_ns + t,
			   begin_ns + t + (slow ? 4 * MS : STEP - 20 * US));
		if (slow)
			blocked(s, v, begin_ns + t + 4100 * US, 5 * MS, OBJECT_FD);
	}
	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++)
		if (strstr(p.list.v.v[i].summary.p, "its steps"))
			told = &p.list.v.v[i];
	is_u64(told ? told->lost_ns / MS : 0, 50 * 5, "what the steps lost is told");
	is_u64(told ? told->severity : 0, FINDING_MEDIUM, "and as bad as it was in them");
	chain_list_free(&p.list);
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     other = stage_actor(&s, 100, 101, 1, "backward"),
		     worker = stage_actor(&s, 200, 200, 100, "loader");

	uncovered(&s, v);
	idle_several(&s, v);
	idle_in_pieces(&s, v);
	behind_in_pieces(&s, v, worker);
	time_limits(&s, v, worker);
	writes(&s, v);
	late_answers(&s, v);
	worker_killed(&s, v);
	short_gaps(&s, v);
	ended_by_a_copy(&s, v, other);
	copies_left_out(&s, v);
	before_the_steps(&s, v);
	stage_free(&s);
	return tap_done();
}
