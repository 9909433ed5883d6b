/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of chain: one stream in which it is told, and streams that look like it and must stay
 * silent. Each stream is five seconds of a thread that makes a call every 2 ms, with something
 * happening to it every 10 ms.
 */
#include "tests/tap.h"

#include "tests/unit/kinds.h"

#define LENGTH (5000 * MS)
#define EVERY  (10 * MS)

/* The calls of a thread: 0.2 ms of every 2 ms, clear of the first ms of each 10. */
static void calls(struct stage *s, struct actor v, uint16_t op)
{
	for (int64_t t = 0; t < LENGTH; t += 2 * MS) {
		if (t % EVERY)
			stage_call(s, v, op, 0, t + MS, t + MS + 200 * US);
	}
}

/* Those of one that waits for the interpreter in the first 7 ms of each 20. */
static void calls_behind(struct stage *s, struct actor v)
{
	for (int64_t t = 0; t < LENGTH; t += 2 * MS) {
		if (t % (2 * EVERY) >= 8 * MS)
			stage_call(s, v, OP_CUDA_LAUNCH, 0, t + MS, t + MS + 200 * US);
	}
}

static void blocked(struct stage *s, struct actor v, int64_t t, int64_t ns, enum event_object kind)
{
	stage_set(stage_offcpu(s, v, 0, t, t + ns, 0, 0), COL_OBJECT_KIND, kind);
}

/* Every EVERY one of eight commands of this cgroup takes the CPU; the victims run in /job. */
static void crowd(struct stage *s, struct actor v, const char *cgroup, uint64_t id)
{
	struct world_cgroup g = { .node = s->node,
				  .id = id,
				  .path = world_string(s->w, bytes_of(cgroup)) };
	struct world_ctx c = { .node = s->node, .cgroup = world_cgroup(s->w, &g) };

	calls(s, v, OP_CUDA_LAUNCH);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		uint32_t pid = (uint32_t)(4000 + t / EVERY % 8);
		char comm[16];
		struct actor a;

		snprintf(comm, sizeof(comm), "part%u", pid % 8);
		a = stage_actor(s, pid, pid, 80, comm);
		stage_offcpu(s, v, 0, t, t + MS, MS, 0);
		stage_occupied(s, a, 0, t, t + MS)->ctx = world_ctx(s->w, &c);
	}
}

/* A loop of two seconds in a recording of a minute: what a sixth of its steps' time goes to is
 * severe, however little of the whole it is. */
static void short_loop(struct stage *s, struct actor v, struct actor hog, int64_t taken,
		       uint32_t severity)
{
	const struct world_frame frame = { .kind = FRAME_NATIVE, .offset = 0x1000 };
	uint32_t place = world_stack(s->w, (uint32_t[]){ world_frame(s->w, &frame) }, 1);
	struct kinds_run p;
	uint32_t got = 0;

	for (int64_t t = 0; t < 2000 * MS; t += 2 * MS) {
		stage_call(s, v, OP_CUDA_MEMCPY_ASYNC, 0, t + 100 * US, t + 150 * US)->stack =
			place;
		stage_call(s, v, OP_CUDA_STREAM_SYNC, 0, t + 200 * US, t + 400 * US)->stack = place;
		if (t % EVERY == 0) {
			stage_offcpu(s, v, 0, t + 400 * US, t + 400 * US + taken, (uint64_t)taken,
				     0);
			stage_occupied(s, hog, 0, t + 400 * US, t + 400 * US + taken);
		}
	}
	stage_call(s, v, OP_CUDA_LAUNCH, 0, 60000 * MS, 60001 * MS);
	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		if (bytes_equal(p.list.v.v[i].kind, bytes_of("cpu-preempted")))
			got = p.list.v.v[i].severity;
	}
	is_u64(got, severity, "%u us of every ten ms of the steps: severity",
	       (unsigned)(taken / US));
	chain_list_free(&p.list);
}

/* The interpreter's lock: five ms until the clock asks for it, then until the other one lets go,
 * which wants it back at once. */
static void interpreter(struct stage *s, struct actor waits, struct actor holds, int64_t t,
			uint32_t holds_in)
{
	struct event *ev = stage_lock(s, waits, 0, t, t + 5 * MS, t + 5 * MS, holds, 0x7000);

	stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
	stage_set(ev, COL_FUTEX_OP, 9);
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
	stage_set(ev, COL_WAKER, 0);
	t += 5 * MS + 200 * US;
	ev = stage_lock(s, waits, 0, t, t + MS, t + MS, holds, 0x7004);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
	stage_set(ev, COL_FUTEX_OP, 9);
	t += MS;
	ev = stage_lock(s, holds, 0, t + 20 * US, t + 120 * US, t + 120 * US, waits, 0x7000);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
	stage_set(ev, COL_FUTEX_OP, 9);
	ev->stack = holds_in;
}

static void gil(struct stage *s, struct actor v, struct actor holder)
{
	uint32_t in = python_stack(s, "/srv/train.py", "augment", 41);
	struct record name = { .kind = RECORD_NAME };
	int64_t t;

	calls_behind(s, v);
	for (t = 0; t < LENGTH; t += 2 * EVERY)
		interpreter(s, v, holder, t, in);
	REC_SET(&name, NAME, thread, holder.thread);
	REC_SET(&name, NAME, comm, bytes_of("augment"));
	if (!vec_push(&s->rec, name))
		abort();
	tells(s, "lock-wait",
	      "thread augment (tid 101) held Python's interpreter lock (GIL) that train (pid 100) "
	      "waited for, 1.50 s",
	      1500 * MS);
	calls_behind(s, v);
	for (t = 0; t < LENGTH; t += 2 * EVERY)
		interpreter(s, v, holder, t, in);
	told_among(s, "lock-wait", "the holder was in augment (train.py:41)", 1500 * MS);

	/* the same the other way round: what feeds the device goes on */
	calls_behind(s, v);
	for (t = 0; t < LENGTH; t += 2 * EVERY)
		interpreter(s, holder, v, t, in);
	silent(s, "a thread waits for the interpreter while the one that launches has it");
}

/* Two threads wait for a third that makes calls. What the one of them waits that makes calls, too,
 * is lost; the other's is not. */
static void gil_of_two(struct stage *s, struct actor v)
{
	struct actor holder = stage_actor(s, 100, 120, 1, "second"),
		     feeder = stage_actor(s, 100, 121, 1, "feeder");

	calls_behind(s, v);
	stage_call(s, holder, OP_CUDA_LAUNCH, 0, 8 * MS, 8 * MS + 10 * US);
	for (int64_t t = 0; t < LENGTH; t += 2 * EVERY) {
		interpreter(s, v, holder, t, 0);
		if (t % (4 * EVERY) == 0)
			interpreter(s, feeder, holder, t + EVERY, 0);
	}
	told_among(s, "lock-wait", "that train (pid 100) waited for, 1.50 s", 1500 * MS);
}

/* This cgroup, in which the process's CPU time counts, was throttled for so long before it was
 * recorded, and in it. */
static void quota(struct stage *s, struct actor v, const char *path, uint64_t id, double before,
		  double in)
{
	struct world_cgroup g = { .node = s->node,
				  .id = id,
				  .path = world_string(s->w, bytes_of(path)) };
	uint32_t cgroup = world_cgroup(s->w, &g);
	double said[] = { 1, before, before + in };

	for (unsigned i = 0; i < 3; i++) {
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, metric, i ? METRIC_CGROUP_THROTTLED_NS : METRIC_CGROUP_PERIODS);
		REC_SET(&r, SAMPLE, value, said[i]);
		REC_SET(&r, SAMPLE, cgroup, cgroup);
		REC_SET(&r, SAMPLE, time_ns, LENGTH / 2);
		if (i == 0)
			REC_SET(&r, SAMPLE, process, v.process);
		if (!vec_push(&s->rec, r))
			abort();
	}
}

static void throttled(struct stage *s, struct actor v, struct actor hog)
{
	calls(s, v, OP_CUDA_LAUNCH);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		stage_set(stage_offcpu(s, v, 0, t, t + MS, MS, 0), COL_THROTTLED_NS, 900 * US);
		stage_occupied(s, hog, 0, t, t + MS);
	}
}

/* v gives the device work, who waits for a disk. */
static void disks(struct stage *s, struct actor v, struct actor who)
{
	calls(s, v, OP_CUDA_LAUNCH);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		struct event *ev = stage_offcpu(s, who, 0, t, t + MS, 0, 0);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_DISK);
		stage_set(ev, COL_OBJECT, 8 << 20 | 16);
	}
}

/* What a holder waits for with the lock in its hands is told with it: where, and in which state. */
static void held_while(struct stage *s, struct actor v, struct actor holder)
{
	static const struct {
		uint64_t kind;
		const char *said;
	} waits[] = {
		{ OBJECT_TIMER, "; the holder slept in upload (train.py:12)" },
		{ OBJECT_SOCKET, "; the holder waited for a socket in upload (train.py:12)" },
		{ OBJECT_CHILD, "; the holder waited for a child process in upload (train.py:12)" },
	};
	uint32_t in = python_stack(s, "/srv/train.py", "upload", 12);

	for (unsigned k = 0; k < sizeof(waits) / sizeof(waits[0]); k++) {
		for (int64_t t = 0; t < 1000 * MS; t += 2 * MS) {
			struct event *ev =
				stage_offcpu(s, holder, 0, t - 100 * US, t + 900 * US, 0, 1);

			stage_set(ev, COL_OBJECT_KIND, waits[k].kind);
			ev->stack = in;
			stage_call(s, v, OP_CUDA_LAUNCH, 0, t + MS + MS / 2,
				   t + MS + MS / 2 + 10 * US);
			stage_lock(s, v, 0, t, t + MS, t + MS, holder, 0x1000);
		}
		told_among(s, "lock-wait", waits[k].said, 500 * MS);
	}
	/* now and then is no reason */
	for (int64_t t = 0; t < 1000 * MS; t += 2 * MS) {
		struct event *ev = stage_offcpu(s, holder, 0, t + 100 * US, t + 300 * US, 0, 1);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		stage_lock(s, v, 0, t, t + MS, t + MS, holder, 0x1000);
	}
	never_says(s, "the holder", "it slept for a fifth of the waiting");
}

/* Two locks of one thread are two facts: the interpreter's, and a mutex. */
static void two_locks(struct stage *s, struct actor v, struct actor holder)
{
	struct kinds_run p;
	unsigned n = 0;

	for (int64_t t = 0; t < LENGTH; t += 2 * EVERY) {
		stage_call(s, v, OP_CUDA_LAUNCH, 0, t + 10 * MS, t + 10 * MS + 10 * US);
		interpreter(s, v, holder, t, 0);
		stage_lock(s, v, 0, t + 11 * MS, t + 15 * MS, t + 15 * MS, holder, 0x1000);
	}
	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++)
		n += bytes_equal(p.list.v.v[i].kind, bytes_of("lock-wait"));
	is_u64(n, 2, "waits for the interpreter and for a mutex that the same thread has");
	chain_list_free(&p.list);
}

/* Threads of Python are named as their process is: the one that feeds the device is none of the
 * others. */
static void same_names(struct stage *s, struct actor v)
{
	struct actor a = stage_actor(s, 100, 111, 1, "train"),
		     b = stage_actor(s, 100, 112, 1, "train");

	calls(s, v, OP_CUDA_LAUNCH);
	for (int64_t t = 0; t < LENGTH; t += 2 * EVERY) {
		if (t < 12 * EVERY)
			interpreter(s, a, b, t, 0);
		else
			interpreter(s, a, v, t, 0);
	}
	never_says(s, "tid 100",
		   "what waits while the thread that feeds the device has the interpreter");
}

/* The holder has the interpreter and no CPU: that is the hog's, once, and not the holder's, whether
 * the wait ended by the clock or by the release in the end. */
static void gil_kept(struct stage *s, struct actor v, struct actor holder, struct actor hog)
{
	static const struct {
		int64_t from, to;
		uint64_t hog_ns, lock_ns;
	} kept[] = {
		{ MS, 4 * MS, 750 * MS, 750 * MS },
		{ 5300 * US, 6100 * US, 200 * MS, 1300 * MS },
		{ MS, 6 * MS, 1200 * MS, 300 * MS },
	};
	static const char *kinds[] = { "cpu-preempted", "lock-wait" };
	uint32_t in = python_stack(s, "/srv/train.py", "augment", 41);

	for (unsigned i = 0; i < 2 * sizeof(kept) / sizeof(*kept); i++) {
		int64_t from = kept[i / 2].from, to = kept[i / 2].to;

		calls_behind(s, v);
		for (int64_t t = 0; t < LENGTH; t += 2 * EVERY) {
			interpreter(s, v, holder, t, in);
			stage_offcpu(s, holder, 0, t + from, t + to, (uint64_t)(to - from), 3);
			stage_occupied(s, hog, 3, t + from, t + to);
		}
		told_among(s, kinds[i % 2], i % 2 ? "(tid 101)" : "hog (pid 200)",
			   i % 2 ? kept[i / 2].lock_ns : kept[i / 2].hog_ns);
	}

	/* the one that launches has it, and no CPU: another that waits for it loses nothing more */
	calls_behind(s, v);
	for (int64_t t = 0; t < LENGTH; t += 2 * EVERY) {
		interpreter(s, holder, v, t, in);
		stage_offcpu(s, v, 0, t + 5300 * US, t + 6100 * US, 800 * US, 3);
		stage_occupied(s, hog, 3, t + 5300 * US, t + 6100 * US);
	}
	tells(s, "cpu-preempted", "hog (pid 200)", 200 * MS);
}

/* Of n, one after the other; a hog comes before each of them so many times. */
static void jobs(struct stage *s, struct actor v, unsigned hogs, unsigned n)
{
	unsigned at = 0;

	calls(s, v, OP_CUDA_LAUNCH);
	for (int64_t t = 0; t < LENGTH; t += EVERY, at++) {
		unsigned who = at / (hogs + 1) % n;
		char comm[16];
		struct actor a;

		snprintf(comm, sizeof(comm), "job%u", who);
		a = at % (hogs + 1) < hogs ? stage_actor(s, 2999, 2999, 70, "hog")
					   : stage_actor(s, 3000 + who, 3000 + who, 70, comm);
		stage_offcpu(s, v, 0, t, t + MS, MS, 0);
		stage_occupied(s, a, 0, t, t + MS);
	}
}

static void tells_both(struct stage *s, const char *kind, const char *first, uint64_t first_ns,
		       const char *second, uint64_t second_ns)
{
	struct kinds_run p;

	analyze(s, &p);
	ok(p.list.v.n == 2, "%s: two chains", kind);
	for (size_t i = 0; i < p.list.v.n && i < 2; i++) {
		is_str(p.list.v.v[i].kind.p, kind, "%s: its kind", kind);
		like(p.list.v.v[i].summary.p, i ? second : first, "%s: its culprit", kind);
		is_u64(p.list.v.v[i].lost_ns, i ? second_ns : first_ns, "%s: its time", kind);
	}
	chain_list_free(&p.list);
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 50, "hog"),
		     idle = stage_actor(&s, 0, 0, 0, "swapper"),
		     holder = stage_actor(&s, 100, 101, 1, "loader");
	int64_t t;

	/* cpu-preempted */
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY) {
		stage_offcpu(&s, v, 0, t, t + MS, MS, 0);
		stage_occupied(&s, hog, 0, t - MS, t + MS);
	}
	tells(&s, "cpu-preempted", "hog (pid 200)", 500 * MS);

	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY) {
		stage_offcpu(&s, v, 0, t, t + MS, MS, 0);
		stage_occupied(&s, hog, 1, t - MS, t + MS);
	}
	silent(&s, "a hog on another CPU at the same times");

	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY) {
		stage_offcpu(&s, v, 0, t, t + 40 * US, 40 * US, 0);
		stage_occupied(&s, hog, 0, t, t + 40 * US);
	}
	silent(&s, "short preemptions, 0.4 % of the time");

	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < 4; t++) {
		stage_offcpu(&s, v, 0, t * 500 * MS, t * 500 * MS + 50 * MS, 50 * MS, 0);
		stage_occupied(&s, hog, 0, t * 500 * MS, t * 500 * MS + 50 * MS);
	}
	silent(&s, "long ones, but only four");

	{
		struct actor beside = stage_actor(&s, 300, 300, 1, "rsync");

		calls(&s, v, OP_CUDA_LAUNCH);
		for (t = 0; t < LENGTH; t += EVERY) {
			stage_offcpu(&s, beside, 0, t, t + MS, MS, 0);
			stage_occupied(&s, hog, 0, t, t + MS);
		}
		silent(&s, "of a program that makes no calls, and that nobody waits for");
	}
	short_loop(&s, v, hog, 1500 * US, 3);
	short_loop(&s, v, hog, 600 * US, 2);

	/* cpu-contended */
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY) {
		struct event *ev = stage_offcpu(&s, v, 0, t, t + MS, 800 * US, 0);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		stage_occupied(&s, hog, 0, t + 200 * US, t + MS);
	}
	tells(&s, "cpu-contended", "hog (pid 200)", 400 * MS);

	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY) {
		struct event *ev = stage_offcpu(&s, v, 0, t, t + MS, 800 * US, 0);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		stage_occupied(&s, idle, 0, t + 200 * US, t + MS);
	}
	silent(&s, "late wake-ups on an idle CPU");

	/* preempted and contended by one culprit are one chain */
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY) {
		struct event *ev =
			stage_offcpu(&s, v, 0, t, t + MS, t % (3 * EVERY) ? MS : 400 * US, 0);

		if (t % (3 * EVERY) == 0) {
			stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
			stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		}
		stage_occupied(&s, hog, 0, t, t + MS);
	}
	tells(&s, "cpu-preempted", "hog (pid 200)", 333 * MS + 167 * 400 * US);

	/* cpu-throttled */
	throttled(&s, v, hog);
	told_among(&s, "cpu-throttled", "/job", 450 * MS);
	throttled(&s, v, hog);
	told_among(&s, "cpu-preempted", "hog (pid 200)", 50 * MS);
	/* the quota that held it back while it was recorded, and not the one that did last year */
	throttled(&s, v, hog);
	quota(&s, v, "/pods", 20, 9e12, 0);
	quota(&s, v, "/pods/train", 21, 1e6, 450e6);
	told_among(&s, "cpu-throttled", "the CPU quota of /pods/train stopped train", 450 * MS);

	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += 100 * MS) {
		stage_offcpu(&s, v, 0, t, t + MS / 2, MS / 2, 0);
		stage_set(&s.ev.v[s.ev.n - 1], COL_THROTTLED_NS, 0);
	}
	silent(&s, "short waits every 100 ms without throttle marks");

	held_while(&s, v, holder);
	two_locks(&s, v, holder);
	same_names(&s, v);

	/* lock-wait */
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY)
		stage_lock(&s, v, 0, t, t + MS, t + MS, holder, 0x1000);
	tells(&s, "lock-wait", "loader (tid 101)", 500 * MS);

	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY)
		stage_set(stage_lock(&s, v, 0, t, t + MS, t + MS, holder, 0x1000), COL_FUTEX_OP, 9);
	silent(&s, "waiting on a condition for work");

	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY)
		stage_set(stage_lock(&s, v, 0, t, t + MS, t + MS, holder, 0x1000), COL_FUTEX_VAL,
			  16);
	silent(&s, "a barrier of a worker team");

	gil(&s, v, holder);
	gil_of_two(&s, v);
	gil_kept(&s, v, holder, hog);

	/* a lock whose holder was kept from running is not the holder's fault, nor lost twice */
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = EVERY; t < LENGTH; t += EVERY) {
		stage_lock(&s, v, 0, t, t + MS, t + MS, holder, 0x1000);
		stage_offcpu(&s, holder, 0, t - MS, t + MS - 10 * US, 2 * MS - 10 * US, 3);
		stage_occupied(&s, hog, 3, t - MS, t + MS - 10 * US);
	}
	tells(&s, "cpu-preempted", "hog (pid 200)", 499 * (MS - 10 * US));

	disks(&s, v, v);
	tells(&s, "disk-stall", "disk 8:16", 500 * MS);
	disks(&s, v, v);
	advises(&s, "disk-stall",
		"Read ahead in worker threads, keep the files in memory, or use a faster device");
	/* another thread that makes calls waits for the one at the disk: it is lost once */
	disks(&s, v, v);
	for (t = 0; t < LENGTH; t += EVERY) {
		stage_set(stage_lock(&s, holder, 0, t, t + MS + 10 * US, t + MS + 10 * US, v,
				     0x1000),
			  COL_FUTEX_OP, 9);
		stage_call(&s, holder, OP_CUDA_LAUNCH, 0, t + 2 * MS, t + 2 * MS + 10 * US);
	}
	told_among(&s, "disk-stall", "disk 8:16", 500 * MS);
	disks(&s, v, holder);
	silent(&s, "a thread beside waits for a disk, and nobody for it");
	disks(&s, v, v);
	for (t = 0; t < LENGTH; t += EVERY) {
		struct event *ev = stage_event(&s, OP_IO_BLOCK, v.ctx, 0, t, t + MS);

		stage_set(ev, COL_DEVICE, 8 << 20 | 16);
		stage_set(ev, COL_BYTES, 1 << 30);
		stage_set(ev, COL_WRITE, 3);
	}
	never_says(&s, "writes", "what is given back to a disk");

	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY)
		blocked(&s, v, t, MS, OBJECT_SOCKET);
	silent(&s, "blocked on a socket");
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY)
		blocked(&s, v, t, MS, OBJECT_FD);
	silent(&s, "blocked on a pipe");
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY)
		blocked(&s, v, t, MS, OBJECT_TIMER);
	silent(&s, "sleeping on its own request");
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY)
		blocked(&s, v, t, MS, OBJECT_GPU);
	silent(&s, "waiting for the device");
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY)
		blocked(&s, v, t, MS, OBJECT_STOP);
	tells(&s, "stopped", "was stopped for", LENGTH / EVERY * MS);

	/* a compiler's children: one chain for all of them */
	calls(&s, v, OP_CUDA_LAUNCH);
	for (t = 0; t < LENGTH; t += EVERY) {
		struct actor cc = stage_actor(&s, (uint32_t)(1000 + t / EVERY),
					      (uint32_t)(1000 + t / EVERY), 60, "cc1");

		stage_offcpu(&s, v, 0, t, t + MS, MS, 0);
		stage_occupied(&s, cc, 0, t, t + MS);
	}
	tells(&s, "cpu-preempted", "cc1 (500 processes", 500 * MS);

	/* many commands, none of them much: together they are a finding */
	jobs(&s, v, 0, 25);
	tells(&s, "cpu-preempted", "job0 (pid 3000) and 24 others", 500 * MS);
	/* nor is one of a few to blame that take as much as each other */
	jobs(&s, v, 0, 5);
	tells(&s, "cpu-preempted", "job0 (pid 3000) and 4 others", 500 * MS);
	/* also beside one that takes much */
	jobs(&s, v, 1, 25);
	tells_both(&s, "cpu-preempted", "hog (pid 2999)", 250 * MS, "and 24 others", 250 * MS);

	/* noisy-neighbour: the same in a cgroup beside the victim's, all of it one culprit */
	crowd(&s, v, "/kubepods/pod-etl/main", 9);
	tells(&s, "noisy-neighbour",
	      "/kubepods/pod-etl/main (8 processes: pid 4000, 4001, 4002, ...), another cgroup",
	      500 * MS);
	crowd(&s, v, "/", 1);
	not_told(&s, "noisy-neighbour", "commands of no container, in the cgroup above all");
	crowd(&s, v, "/job/sidecar", 10);
	not_told(&s, "noisy-neighbour", "a cgroup within the victim's");
	crowd(&s, v, "/job", 5);
	not_told(&s, "noisy-neighbour", "the victim's own cgroup");
	crowd(&s, v, "/jobs", 11);
	tells(&s, "noisy-neighbour", "/jobs (8 processes", 500 * MS);
	{
		struct world_cgroup job = { .node = s.node,
					    .id = 13,
					    .path = world_string(s.w, bytes_of("cpu:/job")) };
		struct world_ctx in = *world_get_ctx(s.w, v.ctx);
		struct actor old = v;

		in.cgroup = world_cgroup(s.w, &job);
		old.ctx = world_ctx(s.w, &in);
		crowd(&s, old, "cpu:/", 14);
		not_told(&s, "noisy-neighbour", "the same of cgroups version 1");
		crowd(&s, old, "cpu:/pod", 15);
		tells(&s, "noisy-neighbour", "cpu:/pod (8 processes", 500 * MS);
	}
	crowd(&s, v, "", 12);
	not_told(&s, "noisy-neighbour", "a cgroup whose path is not known");
	stage_free(&s);
	return tap_done();
}
