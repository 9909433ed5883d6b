/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-idle, told: which of its causes (gpu_idle.c) are worth a word, in which words, and what to do about each.
 */
#include <inttypes.h>

#include "lib/base/human.h"
#include "lib/base/shell.h"
#include "lib/cause/detect/gpu_work.h"
#include "lib/cause/names.h"
#include "lib/cause/sampling.h"

#define MIN_SHARE_SELF 0.02 /* what a step has to do between two others is less */
/* Gaps this short on average are those few lines, too, on a CPU whose caches others use: measured, 60 us then take 120 to 145.
 * They are told where they are a larger part of the time, which makes it a loop of short steps. */
#define SHORT_SELF_NS	250000
#define MIN_SHARE_SHORT 0.05
#define MIN_STALL_NS	1000000000 /* shorter ones are a step that the recording cut off */
/* Of a wait: then it was for that, and what is done about that helps. */
#define MOST 0.5

static const char *doing_text(enum part part, bool writes)
{
	if (writes)
		return part == PART_SOCKET ? "sending to a socket" : "writing to a pipe or file";
	switch (part) {
	case PART_SELF:
		return "its own code";
	case PART_SLEEP:
		return "a sleep";
	case PART_SOCKET:
		return "waiting for a socket";
	case PART_POLL:
		return "waiting in poll";
	case PART_IDLE:
		return "waiting for another thread";
	case PART_FD:
		return "waiting for a pipe or file";
	case PART_CHILD:
		return "waiting for a child process";
	default:
		return "blocked in the kernel";
	}
}

/* Neither waits nor samples say what the thread did. */
static bool unknown(const struct idle_cause *x, const struct cause *c)
{
	return x->part == PART_SELF && cause_blind(c) && !x->line;
}

/* It waited on a socket at a place of its own. */
static bool peered(const struct idle_cause *x)
{
	return x->part == PART_SOCKET && !x->until_frame;
}

void gpu_idle_text(const struct idle_cause *x, const struct cause *c, uint32_t process,
		   uint32_t frame, struct buf *out)
{
	struct bytes comm = world_text(c->w, x->waker_comm);

	buf_puts(out, unknown(x, c) ? "what its thread did then is not recorded,"
				    : doing_text(x->part, x->writes));
	if (process && peered(x))
		cause_peers_text(&c->peers, process, x->frame, out);
	if (comm.n)
		buf_printf(out, ", ended by %.*s,", (int)comm.n, comm.p);
	else if (x->timed_out)
		buf_puts(out, ", until its time ran out,");
	if (x->frame == 0 && x->until_frame == 0)
		return;
	buf_puts(out, x->until_frame ? " between " : " in ");
	name_frame(out, c->w, frame);
	if (x->until_frame) {
		buf_puts(out, " and ");
		name_frame(out, c->w, x->until_frame);
	}
}

void gpu_idle_which(const struct gpu_work *g, const struct cause *c, uint32_t device,
		    struct buf *out)
{
	const struct device *d = gaps_device(g->gaps, device);
	const struct world_gpu *gpu = world_get_gpu(c->w, d->gpu);
	unsigned n = 0;

	for (uint32_t i = 1; i <= world_count(c->w, WORLD_GPU); i++)
		n += gaps_device_of(g->gaps, d->process, i) != UINT32_MAX;
	if (gpu && n > 1)
		buf_printf(out, "GPU %" PRIu32, gpu->index);
	else
		buf_puts(out, "the GPU");
}

/* Most of it lies in a gap that had not ended. */
static bool hangs(const struct idle_cause *x)
{
	return x->unended_ns > x->sum.ns / 2;
}

/* Who prepares batches has some in store when it ends. */
#define IN_STORE_NS 30000000000

/* It waits for ever, and a child of the process was killed before, or when less than half of the wait was over: who ends the
 * recording ends children, too. NULL otherwise. */
static const struct cause_killed_one *killed_child(const struct idle_cause *x,
						   const struct cause *c, uint32_t process)
{
	return hangs(x) && x->part != PART_SELF && x->part != PART_SLEEP
		       ? cause_killed_child(&c->killed, c->w, process,
					    x->unended_since_ns - IN_STORE_NS,
					    x->sum.last_ns - (int64_t)(x->unended_ns / 2))
		       : NULL;
}

static void killed_text(const struct cause *c, const struct cause_killed_one *child,
			struct buf *out)
{
	buf_puts(out, "; its child ");
	fact_victim(&(struct fact){ .process = child->process }, c, out);
	buf_printf(out, " ended %s before, ", human_ns((uint64_t)(c->end_ns - child->time_ns)).s);
	name_end(out, child->status);
}

const char *gpu_idle_ahead(const struct cause *c, uint32_t stack)
{
	return name_python(c->w, stack)
		       ? "DataLoader(..., num_workers=4, pin_memory=True, prefetch_factor=4)"
		       : "launch(now, stream); prepare(next); cudaStreamSynchronize(stream);";
}

/* peer: whom it waited for on its socket, NULL not known; server: the process there, 0 not known. */
static void fixes(const struct cause *c, struct fact *f, const struct idle_cause *x, uint32_t pid,
		  uint32_t worker, const char *peer, uint32_t server)
{
	/* Another process ended it, not the network: what was polled is a pipe to it, or like one. */
	bool piped = !x->writes && x->part == PART_POLL && worker && worker != pid;
	struct buf command = { 0 };

	if (unknown(x, c)) {
		buf_printf(&command, "sudo ingero-record -p %" PRIu32, pid);
		fact_fix(f, "Record what threads wait for, too: it takes root", buf_text(&command),
			 0, f->lost_ns, "from nothing to all of the gaps");
		buf_free(&command);
		return;
	}
	if (killed_child(x, c, f->process)) {
		fact_fix(
			f,
			"Find out why that child ended: what it said last, and what the kernel did",
			"sudo dmesg -T | grep -iE 'killed process|segfault'", 0, f->lost_ns,
			"all of it, if that is whom the wait is for");
		return;
	}
	if (hangs(x) && x->part != PART_SELF && x->part != PART_SLEEP) {
		buf_printf(&command, "sudo gdb -p %" PRIu32 " -batch -ex 'thread apply all bt'",
			   pid);
		fact_fix(f, "Find out who was to end that wait, and whether it still can",
			 buf_text(&command), 0, f->lost_ns,
			 "all of it, if it would never have ended; the command shows where all "
			 "threads stand");
		buf_free(&command);
		return;
	}
	if (x->timed_out) {
		buf_printf(
			&command,
			"sudo strace -f -k -e trace=futex,poll,ppoll,select,epoll_wait -p %" PRIu32,
			pid);
		fact_fix(f,
			 "Find out who was to end that wait: nobody did before its time ran out. "
			 "If it only keeps a pace, it is a sleep",
			 buf_text(&command), 0, f->lost_ns,
			 "from nothing, if the pace is wanted, to all of the wait; the command "
			 "shows who waits");
		buf_free(&command);
		return;
	}
	switch (piped ? PART_FD : x->part) {
	case PART_SELF:
		fact_fix_code(
			f,
			"Do it while the device works: in worker processes or another thread, or "
			"between "
			"the launches of a step and its wait",
			gpu_idle_ahead(c, f->sites[0].stack), 0, f->lost_ns,
			"from nothing, if the device's work depends on it, to all of the gaps");
		if (x->line)
			break;
		sampling_command(c, pid, &command);
		fact_fix(f, "See which lines they are: sample where it computes",
			 buf_text(&command), 0, 0, "it only shows what to look at");
		break;
	case PART_SLEEP:
		buf_printf(&command,
			   "sudo strace -f -k -e trace=nanosleep,clock_nanosleep -p %" PRIu32, pid);
		fact_fix(f, "Wait for what the sleep waits for, instead of sleeping",
			 buf_text(&command), 0, f->lost_ns,
			 "from nothing, if the pace is wanted, to all of the sleep; the command "
			 "shows who "
			 "sleeps");
		break;
	case PART_SOCKET:
	case PART_POLL:
		if (x->writes) {
			buf_printf(&command, "ss -tnpim | grep -A1 pid=%" PRIu32 ",", pid);
			fact_fix(f,
				 "Send less, or from another thread: who receives does not keep up",
				 buf_text(&command), 0, f->lost_ns,
				 "from nothing, if it must be there before the next step, to all "
				 "of the wait; the command shows what is not taken yet");
			break;
		}
		if (peer) {
			buf_puts(&command, "ss -tunpi dst ");
			shell_word(&command, bytes_of(peer));
		} else {
			buf_printf(&command, "ss -tunpi | grep pid=%" PRIu32 ",", pid);
		}
		fact_fix(f,
			 "Ask for the data before the device runs out of work, several requests at "
			 "a time",
			 buf_text(&command), 0, f->lost_ns,
			 "from nothing, if each request depends on the device, to all of the wait");
		if (!server)
			break;
		buf_reset(&command);
		sampling_command_elsewhere(c, server, &command);
		fact_fix(f, "See what the server does meanwhile", buf_text(&command), 0, 0,
			 "it only shows what to look at");
		break;
	case PART_FD:
	case PART_IDLE:
		if (x->writes) {
			buf_printf(&command, "sudo ls -l /proc/%" PRIu32 "/fd", pid);
			fact_fix(f,
				 "Write less, or from another thread: who reads it (a terminal, a "
				 "pipe, a log shipper) does not keep up",
				 buf_text(&command), 0, f->lost_ns,
				 "from nothing, if it must be out before the next step, to all of "
				 "the wait; the command shows where it goes");
			break;
		}
		if (worker)
			sampling_command(c, worker, &command);
		else
			buf_printf(&command, "sudo cat /proc/%" PRIu32 "/stack", pid);
		fact_fix(f,
			 "Give more workers to what it waits for, or let them work further ahead",
			 buf_text(&command), 0, f->lost_ns,
			 "from nothing, if the work cannot be done ahead, to all of the wait");
		break;
	default:
		buf_printf(&command, "cat /proc/%" PRIu32 "/wchan", pid);
		fact_fix(f, "Do it from another thread, while the device works", buf_text(&command),
			 0, f->lost_ns,
			 "from nothing, if the device's work depends on it, to all of it");
		break;
	}
	buf_free(&command);
}

static int tell(struct gpu_work *g, struct idle_cause *x, struct cause *c, struct err *e)
{
	const struct device *d = gaps_device(g->gaps, x->device);
	const struct gpu_device *side = &g->devices.v[x->device];
	const struct world_process *p = world_get_process(c->w, d->process);
	const struct world_thread *waker = world_get_thread(c->w, x->waker);
	const struct world_process *worker = waker ? world_get_process(c->w, waker->process) : NULL;
	uint64_t part_ns[PART_COUNT] = { 0 };
	struct fact f = { .kind = "gpu-idle",
			  .process = d->process,
			  .counted = "gaps",
			  .culprit.kind = waker ? "thread" : "code",
			  .upper_bound = x->unbounded,
			  .gain = x->unbounded ? FACT_GAIN_SOME : FACT_GAIN_ALL,
			  /* A pace that the program keeps on purpose is no incident. */
			  .severity = x->part == PART_SLEEP ? 1 : 0,
			  .explained = (double)x->sum.ns / (double)side->idle_ns[x->unbounded],
			  .part_ns = part_ns,
			  .nsites = 1 };
	struct buf text = { 0 }, identity = { 0 };
	const struct gpu_behind_item *behind, *longest;
	const struct cause_killed_one *child;
	const char *peer = NULL;
	uint32_t server = 0;
	int rc;

	if (peered(x))
		peer = cause_peers_top(&c->peers, d->process, x->frame, &server);
	part_ns[x->part] = x->sum.ns;
	f.unexplained = f.explained < 1 ? 1 - f.explained : 0;
	cause_sum_fill(c, &x->sum, &f, "the device had nothing to do");
	f.sites[0] = (struct where_place){ .stack = x->line ? x->line_stack : x->stack,
					   .lost_ns = x->sum.ns,
					   .affected = x->sum.count,
					   .count = x->sum.count,
					   .max_ns = x->sum.max_ns };
	/* Which line leads may change: it is one cause all the same. */
	gpu_idle_text(x, c, 0, x->frame, &identity);
	gpu_idle_text(x, c, d->process, x->line ? x->line : x->frame, &text);
	f.identity = buf_text(&identity);
	f.culprit.text = buf_text(&text);
	if (unknown(x, c))
		f.culprit.kind = "none";
	if (waker && worker) {
		f.culprit.pid = worker->tgid;
		/* Beside the process's number stands its name. */
		f.culprit.comm = name_process(c->w, &c->tally, waker->process).p;
	}
	fact_victim(&f, c, &f.summary);
	buf_puts(&f.summary, " left ");
	gpu_idle_which(g, c, x->device, &f.summary);
	buf_puts(&f.summary, " without work for ");
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, "%s: %s", hangs(x) ? " until the end" : "", f.culprit.text);
	child = killed_child(x, c, d->process);
	if (child)
		killed_text(c, child, &f.summary);
	behind = gpu_behind_most(&x->behind, &f, MOST);
	longest = gpu_behind_most(&x->behind, &f, MIN_OF_IDLE);
	if (longest) {
		buf_puts(&f.summary, behind ? "; meanwhile " : "; meanwhile, longest of several, ");
		gpu_behind_text(longest, c, &f.summary);
	}
	fact_evidence(&f, "mean gap", (double)x->sum.ns / (double)x->sum.count, "ns");
	fact_evidence(&f, "longest gap", (double)x->sum.max_ns, "ns");
	fact_evidence(&f, "gaps of the device", (double)side->gaps[x->unbounded], "");
	fact_evidence(&f, "time of all of them", (double)side->idle_ns[x->unbounded], "ns");
	gpu_behind_evidence(&x->behind, c, &f);
	if (behind)
		gpu_behind_fix(behind, c, &f);
	if (!f.found.fixes.n)
		fixes(c, &f, x, p ? p->tgid : 0, worker ? worker->tgid : 0, peer, server);
	if (g->left_out)
		fact_evidence(&f, "share of the calls that was recorded", 100 * cause_recorded(c),
			      "%");
	if (x->part == PART_SELF && x->wait)
		g->waits.v[x->wait - 1].told = WAIT_IDLE;
	rc = fact_tell(c, &f, &x->sum.told, e);
	buf_free(&text);
	buf_free(&identity);
	fact_free(&f);
	return rc;
}

/* Once is enough of what never ended: the program stands still. */
static bool stalled(const struct cause *c, const struct idle_cause *x, int64_t pane)
{
	return pane == INT64_MAX && !x->sum.told.revision && x->unended_ns >= MIN_STALL_NS &&
	       (double)x->sum.ns >= c->opt.min_share * (double)cause_wall_ns(c);
}

/* Of wall time, for what the program does itself. */
static double min_share(const struct idle_cause *x)
{
	if (x->part != PART_SELF)
		return 0;
	return x->sum.ns < x->sum.count * SHORT_SELF_NS ? MIN_SHARE_SHORT : MIN_SHARE_SELF;
}

int gpu_idle_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < g->idle.n && rc == 0; i++) {
		struct idle_cause *x = &g->idle.v[i];
		const struct gpu_device *side =
			x->device == GPU_GONE ? NULL : &g->devices.v[x->device];
		bool few;

		if (!side)
			continue;
		if ((double)x->sum.ns < MIN_OF_IDLE * (double)side->idle_ns[x->unbounded] &&
		    !x->sum.told.revision)
			continue;
		if (x->part == PART_SELF && x->wait && gpu_wait_storms(&g->waits.v[x->wait - 1]))
			continue;
		/* Whether nobody ever waits is known in the end. */
		if (x->unbounded && !g->left_out &&
		    (pane != INT64_MAX || gaps_bounded(g->gaps, x->device)))
			continue;
		/* How long one that had not ended would have lasted is not known: few of them are the steps cut off. */
		few = hangs(x) && x->sum.count < c->opt.min_count && !x->sum.told.revision;
		if ((!few && cause_sum_due(c, &x->sum, pane, min_share(x))) || stalled(c, x, pane))
			rc = tell(g, x, c, e);
	}
	return rc;
}
