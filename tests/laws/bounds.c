/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of nothing, of one event, and of more threads, processes, culprits and call sites than
 * any machine has: nothing is told that is not there, and memory stays within what their number
 * allows. Each runs in a process of its own, whose highest resident size the kernel tells.
 */
#include "tests/tap.h"

#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/detect/analysis.h"
#include "lib/event/chain.h"
#include "tests/laws/law.h"

#define US    1000ll
#define MS    1000000ll
#define BEGIN 1000000000000ll

struct collected {
	struct cause_sink sink;
	unsigned chains, analyses;
	char first[256];
};

static int told(struct cause_sink *s, const struct record *r, struct err *e)
{
	struct collected *t = (struct collected *)s;

	(void)e;
	t->analyses += r->kind == RECORD_ANALYSIS;
	if (r->kind == RECORD_CHAIN && t->chains++ == 0)
		snprintf(t->first, sizeof(t->first), "%.*s: %.*s", (int)r->u.CHAIN.kind.n,
			 r->u.CHAIN.kind.p, (int)r->u.CHAIN.summary.n, r->u.CHAIN.summary.p);
	return 0;
}

static uint64_t memory_kb(const char *what)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	uint64_t kb = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, what, strlen(what)) == 0)
			kb = strtoull(line + strlen(what) + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return kb;
}

/* ---- little ---- */

static void begin(struct cause *c)
{
	struct record r = { .kind = RECORD_SESSION };
	struct stream_item it = { .kind = STREAM_RECORD, .record = &r };

	REC_SET(&r, SESSION, start_ns, BEGIN);
	REC_SET(&r, SESSION, off_cpu, 1);
	if (cause_item(c, &it, NULL))
		abort();
}

static void nothing(void)
{
	for (unsigned what = 0; what < 3; what++) {
		struct collected t = { .sink.record = told };
		struct world *w = world_new();
		struct cause *c = cause_new(w, NULL, &t.sink);
		struct stream_item it = { .kind = STREAM_EVENTS };

		if (what)
			begin(c);
		it.lost = what == 2 ? UINT64_MAX / 2 : 0;
		it.watermark_ns = BEGIN;
		if (what == 2 && cause_item(c, &it, NULL))
			abort();
		ok(cause_finish(c, NULL) == 0 && t.chains == 0 && t.analyses == 1,
		   "%s: an analysis and no chain",
		   what == 0   ? "nothing at all"
		   : what == 1 ? "a session without events"
			       : "all events lost");
		cause_free(c);
		world_free(w);
	}
}

/* Every op there is, alone; the values of its columns nothing, or more than anything. */
static void one_event(void)
{
	unsigned ops = 0, strange = 0, analyses = 0;

	for (unsigned id = 0; id <= UINT16_MAX; id++) {
		const struct op_def *op = op_builtin((uint16_t)id);

		for (unsigned what = 0; op && what < 3; what++) {
			struct collected t = { .sink.record = told };
			struct world *w = world_new();
			struct world_node node = { .boot = 1 };
			struct world_process p = { .tgid = 7, .start_ns = 1 };
			struct world_thread th = { .tid = 7, .start_ns = 1 };
			struct world_ctx ctx = { 0 };
			struct cause *c = cause_new(w, NULL, &t.sink);
			struct event ev = { .op = (uint16_t)id,
					    .end_ns = BEGIN + 1000 * MS,
					    .dur_ns = what == 2 ? 0 : 900 * MS };
			struct stream_item it = { .kind = STREAM_EVENTS, .events = &ev, .n = 1 };

			ctx.node = p.node = world_node(w, &node);
			th.process = world_process(w, &p);
			ctx.thread = world_thread(w, &th);
			ev.ctx = world_ctx(w, &ctx);
			for (unsigned k = 0; k < OP_COLUMNS_MAX && what; k++) {
				ev.present |= 1u << k;
				ev.x[k] = UINT64_MAX;
			}
			begin(c);
			if (cause_item(c, &it, NULL) || cause_finish(c, NULL))
				abort();
			ops++;
			/* Who was chosen to die is a fact, whatever else it says. */
			if (t.chains && op->id != OP_PROC_OOM) {
				printf("# %s: %s\n", op->name, t.first);
				strange++;
			}
			analyses += t.analyses;
			cause_free(c);
			world_free(w);
		}
	}
	ok(ops > 600 && strange == 0, "of one event nothing is told, of whatever op (%u)", ops);
	is_u64(analyses, ops, "but an analysis");
}

/* ---- much ---- */

struct crowd {
	const char *name;
	uint64_t n; /* of what it is about */
	/* The i-th of them: what makes it another one. */
	unsigned threads, processes, hogs, stacks, nodes;
	bool copies;  /* each waits for a copy, too */
	uint64_t mib; /* at most; a generous constant, and so much for each */
	uint64_t bytes_each;
};

static uint32_t stack_of(struct world *w, uint64_t i)
{
	struct world_frame f = { .kind = FRAME_UNKNOWN, .offset = 0x1000 + i };
	uint32_t frame = world_frame(w, &f);

	return world_stack(w, &frame, 1);
}

static struct world_ctx thread_of(struct world *w, const struct crowd *c, uint64_t i, bool hog)
{
	uint64_t other = hog ? c->hogs ? i : 0 : 0;
	struct world_node node = { .boot = c->nodes ? i + 1 : 1 };
	struct world_process p = { .tgid = (uint32_t)(hog	     ? 50000000 + other
						      : c->processes ? 100 + i
								     : 100),
				   .start_ns = 1 };
	struct world_thread th = { .tid = (uint32_t)(hog			  ? 50000000 + other
						     : c->threads || c->processes ? 100 + i
										  : 100),
				   .start_ns = 1 };
	struct world_ctx ctx = { 0 };
	char comm[16];

	snprintf(comm, sizeof(comm), "hog%u", (unsigned)other);
	th.comm = world_string(w, bytes_of(hog ? comm : "train"));
	ctx.node = p.node = world_node(w, &node);
	th.process = world_process(w, &p);
	ctx.thread = world_thread(w, &th);
	return ctx;
}

/* One preemption and one call for each. */
static void feed(struct cause *c, struct world *w, const struct crowd *crowd)
{
	const struct op_def *off = op_builtin(OP_SCHED_OFFCPU), *on = op_builtin(OP_SCHED_OCCUPIED);

	for (uint64_t i = 0; i < crowd->n; i++) {
		int64_t t = BEGIN + (int64_t)i * 50 * US;
		struct world_ctx victim = thread_of(w, crowd, i, false),
				 hog = thread_of(w, crowd, i, true), cpu = { .node = victim.node };
		struct event ev[4] = {
			{ .op = OP_SCHED_OCCUPIED, .end_ns = t, .dur_ns = 20000 },
			{ .op = OP_SCHED_OFFCPU, .end_ns = t, .dur_ns = 20000 },
			{ .op = OP_CUDA_LAUNCH, .end_ns = t, .dur_ns = 25000 },
			{ .op = OP_CUDA_MEMCPY, .end_ns = t + 20 * US, .dur_ns = 20000 }
		};
		struct stream_item it = { .kind = STREAM_EVENTS,
					  .events = ev,
					  .n = crowd->copies ? 4 : 3 };

		ev[0].ctx = world_ctx(w, &cpu);
		ev[1].ctx = ev[2].ctx = ev[3].ctx = world_ctx(w, &victim);
		ev[2].stack = stack_of(w, crowd->stacks ? i : 0);
		event_set(&ev[0], on, COL_CPU, 0);
		event_set(&ev[0], on, COL_OCCUPANT, hog.thread);
		event_set(&ev[1], off, COL_WAIT_NS, 20000);
		event_set(&ev[1], off, COL_CPU_OUT, 0);
		event_set(&ev[1], off, COL_CPU_IN, 0);
		ev[1].depth = 1;
		it.watermark_ns = t;
		if (cause_item(c, &it, NULL))
			abort();
	}
}

#ifdef __SANITIZE_ADDRESS__ /* which lays something around whatever there is, half as much again, \
			       and keeps of what is freed so much for a while */
#define CHECKER		 2
#define CHECKER_KEEPS_KB (256 * 1024)
#else
#define CHECKER		 1
#define CHECKER_KEEPS_KB 0
#endif

/* What the analysis needs beyond what its world does, in KiB. */
static uint64_t needs_kb(const struct crowd *crowd, uint64_t *chains)
{
	uint64_t answer[2] = { 0 };
	int fds[2], status;
	pid_t pid;

	fflush(stdout);
	if (pipe(fds))
		abort();
	pid = fork();
	if (pid == 0) {
		struct collected t = { .sink.record = told };
		struct world *w = world_new();
		struct cause *c = cause_new(w, NULL, &t.sink);
		uint64_t before = memory_kb("VmRSS");

		begin(c);
		feed(c, w, crowd);
		if (cause_finish(c, NULL) || world_failed(w))
			_exit(1);
		answer[0] = memory_kb("VmHWM") - before;
		answer[1] = t.chains;
		_exit(write(fds[1], answer, sizeof(answer)) != sizeof(answer));
	}
	close(fds[1]);
	if (read(fds[0], answer, sizeof(answer)) != sizeof(answer))
		answer[0] = UINT64_MAX;
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		answer[0] = UINT64_MAX;
	*chains = answer[1];
	return answer[0];
}

int main(void)
{
	/* Of a thread that lives, the critical path holds 400 to 800 bytes, without its segments. */
	static const struct crowd all[] = {
		{ "a million events of one thread", 1000000, .mib = 64 },
		{ "a quarter of a million threads", 250000, .threads = 1, .mib = 64,
		  .bytes_each = 5000 },
		{ "a quarter of a million threads that copy", 250000, .threads = 1, .copies = true,
		  .mib = 64, .bytes_each = 6000 },
		{ "a quarter of a million processes", 250000, .processes = 1, .mib = 64,
		  .bytes_each = 12000 },
		{ "a quarter of a million commands that take the CPU", 250000, .hogs = 1,
		  .mib = 128, .bytes_each = 3500 },
		{ "a million call sites", 1000000, .stacks = 1, .mib = 64, .bytes_each = 600 },
		{ "a hundred thousand nodes", 100000, .nodes = 1, .mib = 64, .bytes_each = 20000 },
	};

	nothing();
	one_event();
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint64_t chains, kb = needs_kb(&all[i], &chains),
				 limit = CHECKER * (all[i].mib * 1024 +
						    all[i].n * all[i].bytes_each / 1024) +
					 CHECKER_KEEPS_KB;

		printf("# %s: %" PRIu64 " MiB, %" PRIu64 " bytes each, %" PRIu64 " chains\n",
		       all[i].name, kb / 1024, kb * 1024 / all[i].n, chains);
		ok(kb < limit, "%s: at most %" PRIu64 " MiB", all[i].name, limit / 1024);
	}
	return tap_done();
}
