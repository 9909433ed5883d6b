/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that make calls and end, one after the other, as short jobs on a node do. What is kept
 * of one that has ended is little, its name and its sums, whether or not something was told of it;
 * no sum is other for it, and what comes after thousands of them is told as if they had not been.
 * Where memory is measured each run is in a process of its own.
 */
#include "tests/tap.h"

#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/query/ops.h"
#include "lib/detect/analysis.h"
#include "lib/event/chain.h"
#include "lib/filter/filter.h"
#include "tests/laws/law.h"

#define US    1000ll
#define MS    1000000ll
#define BEGIN 1000000000000ll

#define STEPS 12
/* Of a job, in each step: in a call, between calls, and of its other thread. Long ones are so many
 * times as long. */
#define WAIT_IN	   (300 * US)
#define WAIT_OUT   (400 * US)
#define WAIT_OTHER (100 * US)
#define LONG	   20

struct job {
	struct world *w;
	VEC(struct event) ev;
	uint32_t main, helper; /* contexts */
	int64_t now;
};

static uint32_t stack_of(struct world *w, uint64_t i)
{
	struct world_frame f = { .kind = FRAME_UNKNOWN, .offset = 0x1000 + i };
	uint32_t frame = world_frame(w, &f);

	return world_stack(w, &frame, 1);
}

static uint32_t thread_of(struct world *w, uint32_t tgid, uint32_t tid, const char *comm, bool ctx)
{
	struct world_node node = { .boot = 1 };
	struct world_process p = { .tgid = tgid, .start_ns = 1 };
	struct world_thread th = { .tid = tid, .start_ns = 1 };
	struct world_ctx c = { 0 };

	th.comm = world_string(w, bytes_of(comm));
	c.node = p.node = world_node(w, &node);
	th.process = world_process(w, &p);
	c.thread = world_thread(w, &th);
	return ctx ? world_ctx(w, &c) : c.thread;
}

static struct event *add(struct job *j, uint16_t op, uint32_t ctx, int64_t end, int64_t dur,
			 uint32_t stack)
{
	struct event ev = {
		.op = op, .ctx = ctx, .end_ns = end, .dur_ns = (uint64_t)dur, .stack = stack
	};

	if (!vec_push(&j->ev, ev))
		abort();
	return &j->ev.v[j->ev.n - 1];
}

static void wait_in(struct job *j, uint32_t ctx, int64_t end, int64_t dur, unsigned depth)
{
	const struct op_def *off = op_builtin(OP_SCHED_OFFCPU), *on = op_builtin(OP_SCHED_OCCUPIED);
	struct world_ctx cpu = { .node = world_get_ctx(j->w, ctx)->node };
	struct event *ev = add(j, OP_SCHED_OCCUPIED, world_ctx(j->w, &cpu), end, dur, 0);

	event_set(ev, on, COL_CPU, 0);
	event_set(ev, on, COL_OCCUPANT, thread_of(j->w, 50, 50, "hog", false));
	ev = add(j, OP_SCHED_OFFCPU, ctx, end, dur, 0);
	ev->depth = (uint16_t)depth;
	event_set(ev, off, COL_WAIT_NS, (uint64_t)dur);
	event_set(ev, off, COL_CPU_OUT, 0);
	event_set(ev, off, COL_CPU_IN, 0);
}

static struct event *call(struct job *j, uint16_t op, int64_t dur, unsigned stack)
{
	j->now += dur + 5 * US;
	return add(j, op, j->main, j->now, dur, stack_of(j->w, stack));
}

/* One job: allocations, steps of copies, launches and a wait, of which another command takes some,
 * and its end. */
static void job(struct job *j, uint64_t i, unsigned times, bool ends)
{
	const struct op_def *alloc = op_builtin(OP_CUDA_MALLOC), *fr = op_builtin(OP_CUDA_FREE),
			    *copy = op_builtin(OP_CUDA_MEMCPY_ASYNC);
	uint32_t tgid = (uint32_t)(100 + 2 * i);

	j->ev.n = 0;
	j->main = thread_of(j->w, tgid, tgid, "job", true);
	j->helper = thread_of(j->w, tgid, tgid + 1, "helper", true);
	add(j, OP_PROC_EXEC, j->main, j->now, 0, 0);
	for (unsigned s = 0; s < STEPS; s++) {
		struct event *ev = call(j, OP_CUDA_MALLOC, 20 * US, 1);

		event_set(ev, alloc, COL_BYTES, 1 << 20);
		event_set(ev, alloc, COL_PTR, 0x7000000 + s * (1 << 20));
		ev = call(j, OP_CUDA_MEMCPY_ASYNC, 30 * US, 2);
		event_set(ev, copy, COL_BYTES, 1 << 20);
		for (unsigned k = 0; k < 4; k++)
			call(j, OP_CUDA_LAUNCH, 8 * US, 3 + k);
		wait_in(j, j->main, j->now + (WAIT_IN + 10 * US) * times, WAIT_IN * times, 1);
		call(j, OP_CUDA_STREAM_SYNC, (WAIT_IN + 500 * US) * times, 8);
		ev = call(j, OP_CUDA_FREE, 20 * US, 9);
		event_set(ev, fr, COL_PTR, 0x7000000 + s * (1 << 20));
		wait_in(j, j->main, j->now + (WAIT_OUT + 10 * US) * times, WAIT_OUT * times, 0);
		j->now += (WAIT_OUT + 20 * US) * times;
		wait_in(j, j->helper, j->now + WAIT_OTHER * times, WAIT_OTHER * times, 0);
		j->now += WAIT_OTHER * times;
	}
	if (ends) {
		add(j, OP_PROC_EXIT, j->helper, j->now + 10 * US, 0, 0);
		add(j, OP_PROC_EXIT, j->main, j->now + 20 * US, 0, 0);
	}
	j->now += 20 * MS;
}

/* So many jobs, and what is told of them. */
struct run {
	struct job j;
	struct verdict told;
	struct cause *c;
	struct query_ops_run *stat;
	struct filter sel;
};

static void run_open(struct run *r, bool stat)
{
	struct record session = { .kind = RECORD_SESSION };
	struct stream_item it = { .kind = STREAM_RECORD, .record = &session };

	memset(r, 0, sizeof(*r));
	r->j.w = world_new();
	r->j.now = BEGIN;
	r->told.sink.record = verdict_told;
	REC_SET(&session, SESSION, start_ns, BEGIN);
	REC_SET(&session, SESSION, off_cpu, 1);
	if (stat)
		r->stat = query_ops_new(r->j.w, &r->sel);
	else
		r->c = cause_new(r->j.w, NULL, &r->told.sink);
	if (r->c && cause_item(r->c, &it, NULL))
		abort();
}

static void run_jobs(struct run *r, uint64_t from, uint64_t n, unsigned times, bool end)
{
	struct stream_item it = { .kind = STREAM_EVENTS };

	for (uint64_t i = from; i < from + n; i++) {
		job(&r->j, i, times, end);
		it.events = r->j.ev.v;
		it.n = r->j.ev.n;
		it.watermark_ns = r->j.now;
		if (r->c ? cause_item(r->c, &it, NULL) : query_ops_item(r->stat, &it, NULL))
			abort();
	}
}

static void run_close(struct run *r)
{
	cause_free(r->c);
	if (r->stat)
		query_ops_free(r->stat);
	verdict_free(&r->told);
	vec_free(&r->j.ev);
	world_free(r->j.w);
}

static uint64_t memory_kb(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	uint64_t kb = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "VmHWM:", 6) == 0)
			kb = strtoull(line + 6, NULL, 10);
	}
	if (f)
		fclose(f);
	return kb;
}

static int not_kept(struct cause_sink *s, const struct record *r, struct err *e)
{
	(void)s;
	(void)r;
	(void)e;
	return 0;
}

/* What the program keeps of n jobs and its world, at most at a time, in KiB. */
static uint64_t needs_kb(uint64_t n, unsigned times, bool stat)
{
	uint64_t kb = UINT64_MAX;
	int fds[2], status;
	struct run r;
	pid_t pid;

	fflush(stdout);
	if (pipe(fds))
		abort();
	pid = fork();
	if (pid == 0) {
		run_open(&r, stat);
		r.told.sink.record = not_kept;
		run_jobs(&r, 0, n, times, true);
		kb = memory_kb();
		_exit(write(fds[1], &kb, sizeof(kb)) != sizeof(kb));
	}
	close(fds[1]);
	if (read(fds[0], &kb, sizeof(kb)) != sizeof(kb))
		kb = UINT64_MAX;
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		kb = UINT64_MAX;
	return kb;
}

static void memory(const char *what, uint64_t few, uint64_t many, unsigned times, bool stat,
		   uint64_t limit)
{
	uint64_t a, b, each;

#ifdef __SANITIZE_ADDRESS__ /* which keeps what is freed for a while */
	skip("the sanitizer keeps what was let go of");
	return;
#endif
	a = needs_kb(few, times, stat);
	b = needs_kb(many, times, stat);
	each = b > a ? (b - a) * 1024 / (many - few) : 0;
	printf("# %s: %" PRIu64 " MiB for %" PRIu64 ", %" PRIu64 " MiB for %" PRIu64 ": %" PRIu64
	       " bytes each\n",
	       what, a / 1024, few, b / 1024, many, each);
	ok(a < UINT64_MAX && b < UINT64_MAX && each <= limit,
	   "%s that end: at most %" PRIu64 " bytes for each", what, limit);
}

static double number(struct json v, const char *key)
{
	struct json x = json_get(v, key);
	double n = json_double(x, -1);

	json_free(x);
	return n;
}

/* A member of the first process that is told of. */
static double first_process(const struct run *r, const char *key)
{
	struct json all = json_get(r->told.list.analysis, "processes"), one = json_at(all, 0);
	double n = number(one, key);

	json_free(one);
	json_free(all);
	return n;
}

/* Nobody waits for the other thread. */
#define LOST(times) ((WAIT_IN + WAIT_OUT) * (times)*STEPS)

/* What a job lost is told in full, of each of them, though most are not kept to the end. */
static void all_told(uint64_t n)
{
	struct run r;
	uint64_t wrong = 0, hogs = 0;

	run_open(&r, false);
	run_jobs(&r, 0, n, LONG, true);
	r.j.now += 2000 * MS; /* so that the last of them is looked at, too */
	run_jobs(&r, n, 1, 1, true);
	if (cause_finish(r.c, NULL))
		abort();
	for (size_t i = 0; i < r.told.list.v.n; i++) {
		const struct finding *x = &r.told.list.v.v[i];

		/* What a job that is still known did while its device had no work may be told, too.
		 */
		if (bytes_equal(x->kind, bytes_of("gpu-idle")))
			continue;
		hogs++;
		wrong += x->lost_ns != (uint64_t)LOST(LONG) || x->count != 2 * STEPS ||
			 !strstr(x->summary.p, "hog");
	}
	is_u64(hogs, n, "%" PRIu64 " jobs that lost much: a chain of each", n);
	is_u64(wrong, 0, "each in its last revision with all that it lost, and to whom");
	run_close(&r);
}

/* Sums of one that was let go of are those of one that was not. */
static void sums_stay(uint64_t few, uint64_t many)
{
	static const char *const keys[] = {
		"pid",	   "calls",	"wall_ns",	   "host_ns",
		"threads", "thread_ns", "calling_threads", "calling_thread_ns"
	};
	struct run a, b;

	run_open(&a, false);
	run_open(&b, false);
	run_jobs(&a, 0, few, 1, true);
	run_jobs(&b, 0, many, 1, true);
	if (cause_finish(a.c, NULL) || cause_finish(b.c, NULL))
		abort();
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		is_u64((uint64_t)first_process(&b, keys[i]), (uint64_t)first_process(&a, keys[i]),
		       "the first process's %s", keys[i]);
	is_u64((uint64_t)number(b.told.list.analysis, "processes_total"), many,
	       "and how many there were");
	is_u64(b.told.list.v.n, 0, "nothing is told of what weighs nothing");
	run_close(&a);
	run_close(&b);
}

/* After so many others, a job that loses much: the chain names it, its call and who took its time.
 * room: for its calls. */
static void after(const char *what, uint64_t n, bool ended, bool room)
{
	const struct finding *x;
	struct run r;

	run_open(&r, false);
	run_jobs(&r, 0, n, 1, ended);
	run_jobs(&r, n, 1, 10 * LONG, true);
	if (cause_finish(r.c, NULL))
		abort();
	/* And that the device had nothing to do meanwhile, if that is told. */
	x = r.told.list.v.n && r.told.list.v.n <= 2 ? &r.told.list.v.v[0] : NULL;
	if (x && r.told.list.v.n == 2 && bytes_equal(x->kind, bytes_of("gpu-idle")))
		x++;
	if (!ok(x && x->kind.n == 13 && memcmp(x->kind.p, "cpu-preempted", 13) == 0,
		"%s, and one job that loses much: it is told of", what)) {
		run_close(&r);
		return;
	}
	is_u64(x->lost_ns, LOST(10 * LONG), "%s: with all that it lost", what);
	if (room)
		ok(x->symptoms.n > 1 &&
			   bytes_equal(x->symptoms.v[1].op, bytes_of("cudaStreamSynchronize")),
		   "%s: and the call", what);
	else
		ok(x->symptoms.n > 1 && !x->symptoms.v[1].timed,
		   "%s: and the call, but not what such calls take", what);
	is_u64((uint64_t)(number(r.told.list.analysis, "calls_not_classed") + 1) > 0, !room,
	       "%s: whether calls had no class is said", what);
	run_close(&r);
}

int main(void)
{
	memory("jobs", 2000, 12000, 1, false, 3072);
	memory("jobs to count", 2000, 12000, 1, true, 1024);
	memory("jobs that lose much", 200, 1000, LONG, false, 6144);
	all_told(300);
	sums_stay(400, 3000);
	after("5,000 jobs before it", 5000, true, true);
	after("2,000 jobs beside it that do not end", 2000, false, false);
	return tap_done();
}
