/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-idle: the device has nothing to do for the process, because the thread that would give it work computes, sleeps or
 * waits for somebody outside the traced calls. Proven by gaps (lib/line/gaps.h) and what that thread did in them. Not
 * this: gaps that the host took (each has its own kind), time inside calls, the short gaps of a sync-storm, processes
 * that never submit work, and a device that is never seen without work.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/human.h"
#include "lib/cause/detect/gpu_work.h"
#include "lib/cause/names.h"

/* What the program does itself; the host's states are told by their own kinds. */
#define CLAIMED                                                                     \
	(1u << PART_SELF | 1u << PART_SLEEP | 1u << PART_SOCKET | 1u << PART_POLL | \
	 1u << PART_IDLE | 1u << PART_FD | 1u << PART_CHILD | 1u << PART_BLOCKED)
/* A step has to do a little between two others, and so much it takes to launch anything. */
#define MIN_SELF_NS    100000
#define MIN_SHARE_SELF 0.02
#define MIN_STALL_NS   1000000000 /* shorter ones are a step that the recording cut off */
/* Of the device's gaps. */
#define MIN_OF_IDLE 0.20
/* Of a wait: then it was for that, and what is done about that helps. */
#define MOST 0.5

/* The first frame met of the same function. */
static uint32_t function_of(struct gpu_work *g, const struct cause *c, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(c->w, frame);
	const struct world_symbol *s = world_get_symbol(c->w, frame);
	uint64_t key, first;

	if (!f || (f->kind != FRAME_PYTHON && !s))
		return frame;
	key = f->kind == FRAME_PYTHON ? (uint64_t)f->file << 32 | f->name
				      : (uint64_t)f->module << 32 | s->name;
	key = hash_u64(key ^ (uint64_t)f->kind << 60);
	if (map_get(&g->function_by, key, &first))
		return (uint32_t)first;
	map_put(&g->function_by, key, frame); /* where that fails it is looked up again */
	return frame;
}

/* Whose line it is told by: what leads when each line outvotes the others. */
static void line_votes(struct idle_cause *x, uint32_t frame, uint32_t stack, uint64_t ns)
{
	if (x->line == frame) {
		x->line_ns += ns;
	} else if (x->line_ns >= ns) {
		x->line_ns -= ns;
	} else {
		x->line = frame;
		x->line_stack = stack;
		x->line_ns = ns - x->line_ns;
	}
}

/* Position of the place of a gap; UINT32_MAX: out of memory, or too many. */
static uint32_t place_at(struct gpu_work *g, const struct cause *c, const struct gap *gap)
{
	uint64_t since = cause_frame(&g->frames, c->w, gap->since_stack),
		 until = cause_frame(&g->frames, c->w, gap->until_stack), at,
		 key = hash_u64((since << 32 | until) ^
				hash_u64((uint64_t)gap->device << 1 | gap->unbounded));
	struct idle_place fresh;
	bool full;

	if (map_get(&g->place_by, key, &at))
		return (uint32_t)at;
	fresh = (struct idle_place){ .device = gap->device, .key = key };
	return gpu_place(&g->places, &g->unused_places, &g->place_by, fresh, &full);
}

/* Of what was seen running at a place, what got least of the gaps in which nothing was seen: in the end each gets as large a part
 * of them as it has of the others. UINT32_MAX: nothing was. */
static uint32_t likely(const struct gpu_work *g, const struct idle_place *p)
{
	uint32_t best = UINT32_MAX;
	double most = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct idle_cause *x = &g->idle.v[p->seen[i]];
		double share = (double)x->seen_ns / (double)(x->sum.ns + 1);

		if (share > most) {
			most = share;
			best = p->seen[i];
		}
	}
	return best;
}

/* Remembers that the cause was seen running there. */
static void seen_at(struct gpu_work *g, uint32_t place, uint32_t at)
{
	struct idle_place *p = place != UINT32_MAX ? &g->places.v[place] : NULL;

	for (uint32_t i = 0; p && i < p->n; i++) {
		if (p->seen[i] == at)
			return;
	}
	if (p && p->n < IDLE_SEEN)
		p->seen[p->n++] = at;
}

/* Position of the cause; UINT32_MAX: out of memory, or too many (then *full). */
static uint32_t cause_at(struct gpu_work *g, struct idle_cause *fresh, bool *full)
{
	uint64_t key = hash_u64(((uint64_t)fresh->device << 32 | fresh->frame) ^
				hash_u64(((uint64_t)fresh->until_frame << 32 |
					  (uint32_t)fresh->part << 24 |
					  (uint32_t)fresh->timed_out << 1 | fresh->unbounded) ^
					 hash_bytes(fresh->waker_comm.text,
						    sizeof(fresh->waker_comm.text), fresh->wait))),
		 at;

	*full = false;
	if (map_get(&g->idle_by, key, &at))
		return (uint32_t)at;
	fresh->key = key;
	return gpu_place(&g->idle, &g->unused_idle, &g->idle_by, *fresh, full);
}

/* Own code in a gap: of the function it was seen in, or most likely in, else between two calls. */
static bool own_code(struct gpu_work *g, const struct cause *c, const struct gap *gap,
		     const struct doing *d, struct idle_cause *fresh, uint32_t *at, bool *full)
{
	uint32_t frame = cause_frame(&g->frames, c->w, d->stack), place = place_at(g, c, gap);

	if (frame) {
		fresh->frame = function_of(g, c, frame);
		*at = cause_at(g, fresh, full);
		if (*at == UINT32_MAX)
			return false;
		seen_at(g, place, *at);
		g->idle.v[*at].seen_ns += d->ns;
		line_votes(&g->idle.v[*at], frame, d->stack, d->ns);
		return true;
	}
	*at = place != UINT32_MAX ? likely(g, &g->places.v[place]) : UINT32_MAX;
	return *at != UINT32_MAX;
}

/* Less what the network took, which is told as that (net_loss.c). */
static uint64_t not_lossy(const struct cause *c, const struct gap *gap, const struct doing *d)
{
	uint64_t lossy = 0;

	if (d->part == PART_SOCKET)
		lossy = cause_lossy_within(&c->lossy, gap->thread, gap->start_ns, gap->end_ns);
	return d->ns > lossy ? d->ns - lossy : 0;
}

/* What of one gap goes to one cause: it is one gap, in however many pieces it lay in it. */
struct idle_share {
	uint32_t at[DOINGS];
	uint64_t ns[DOINGS];
	unsigned n;
};

static void share_add(struct idle_share *s, uint32_t at, uint64_t ns)
{
	unsigned i = 0;

	while (i < s->n && s->at[i] != at)
		i++;
	if (i == s->n) {
		s->at[s->n] = at;
		s->ns[s->n++] = 0;
	}
	s->ns[i] += ns;
}

/* Who ended the wait: of one whose time ran out, and that was then taken up again at the same place, who did so in the end. */
static uint32_t ended_by(struct gpu_work *g, const struct cause *c, const struct gap *gap,
			 const struct doing *d)
{
	uint32_t frame = d->timed_out ? cause_frame(&g->frames, c->w, d->stack) : 0;

	for (unsigned i = 0; i < gap->did.n && frame; i++) {
		const struct doing *other = &gap->did.v[i];

		if (other->waker && other->part == d->part &&
		    cause_frame(&g->frames, c->w, other->stack) == frame)
			return other->waker;
	}
	return d->waker;
}

bool gpu_idle_gap(struct gpu_work *g, const struct cause *c, uint32_t wait, const struct gap *gap)
{
	struct idle_share shares = { .n = 0 };

	for (unsigned i = 0; i < gap->did.n; i++) {
		const struct doing *d = &gap->did.v[i];
		uint64_t ns = not_lossy(c, gap, d);
		struct idle_cause fresh = { .device = gap->device,
					    .part = d->part,
					    .stack = d->stack,
					    /* Who ends a program ends its waits, too. */
					    .waker = gap->unended ? 0 : ended_by(g, c, gap, d),
					    .unbounded = gap->unbounded };
		bool full = false;
		uint32_t at = UINT32_MAX;

		if (!(CLAIMED >> d->part & 1) || ns < (d->part == PART_SELF ? MIN_SELF_NS : 1))
			continue;
		if (d->part == PART_SELF)
			fresh.wait = wait + 1;
		fresh.timed_out = d->timed_out && !fresh.waker;
		fresh.waker_comm = gpu_comm(c, fresh.waker);
		if (d->part != PART_SELF || !own_code(g, c, gap, d, &fresh, &at, &full)) {
			fresh.frame = cause_frame(&g->frames, c->w, d->stack);
			if (fresh.frame == 0 && g->left_out) {
				/* The calls around it are those that happened to be recorded: they
				 * tell nothing. */
				fresh.wait = 0;
				fresh.stack = 0;
			} else if (fresh.frame == 0) {
				fresh.frame = cause_frame(&g->frames, c->w, gap->since_stack);
				fresh.until_frame = cause_frame(&g->frames, c->w, gap->until_stack);
				fresh.stack = gap->until_stack;
			}
			at = cause_at(g, &fresh, &full);
		}
		if (at == UINT32_MAX && full)
			continue;
		if (at == UINT32_MAX)
			return false;
		gpu_behind_add(&g->idle.v[at].behind, c, &g->frames, d);
		g->idle.v[at].unended_ns += gap->unended ? ns : 0;
		share_add(&shares, at, ns);
	}
	for (unsigned i = 0; i < shares.n; i++)
		cause_sum_add(&g->idle.v[shares.at[i]].sum,
			      &(struct sum_worst){ .end_ns = gap->end_ns,
						   .dur_ns =
							   (uint64_t)(gap->end_ns - gap->start_ns),
						   .lost_ns = shares.ns[i],
						   .thread = gap->thread });
	return true;
}

static const char *doing_text(enum part part)
{
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
	const char *comm = x->waker_comm.text;

	buf_puts(out,
		 unknown(x, c) ? "what its thread did then is not recorded," : doing_text(x->part));
	if (process && peered(x))
		cause_peers_text(&c->peers, process, x->frame, out);
	if (comm[0])
		buf_printf(out, ", ended by %s,", comm);
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

/* Most of it lies in a gap that had not ended. */
static bool hangs(const struct idle_cause *x)
{
	return x->unended_ns > x->sum.ns / 2;
}

/* peer: whom it waited for on its socket, NULL not known; server: the process there, 0 not known. */
static void fixes(struct fact *f, const struct idle_cause *x, bool blind, uint32_t pid,
		  uint32_t worker, const char *peer, uint32_t server)
{
	/* Another process ended it, not the network: what was polled is a pipe to it, or like one. */
	bool piped = x->part == PART_POLL && worker && worker != pid;
	struct buf command = { 0 };

	if (blind) {
		buf_printf(&command, "sudo ingero-record -p %" PRIu32, pid);
		fact_fix(f, "Record what threads wait for, too: it takes root", buf_text(&command),
			 0, f->lost_ns, "from nothing to all of the gaps");
		buf_free(&command);
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
		buf_printf(&command,
			   "strace -f -k -e trace=futex,poll,ppoll,select,epoll_wait -p %" PRIu32,
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
		fact_fix(f,
			 "Do it while the device works: in worker processes or another thread, or "
			 "between "
			 "the launches of a step and its wait",
			 "DataLoader(..., num_workers=4, pin_memory=True, prefetch_factor=4)", 0,
			 f->lost_ns,
			 "from nothing, if the device's work depends on it, to all of the gaps");
		if (x->line)
			break;
		buf_printf(&command, "sudo ingero-record -F 99 -p %" PRIu32 " --duration 10s", pid);
		fact_fix(f, "See which lines they are: sample where it computes",
			 buf_text(&command), 0, 0, "it only shows what to look at");
		break;
	case PART_SLEEP:
		buf_printf(&command, "strace -f -k -e trace=nanosleep,clock_nanosleep -p %" PRIu32,
			   pid);
		fact_fix(f, "Wait for what the sleep waits for, instead of sleeping",
			 buf_text(&command), 0, f->lost_ns,
			 "from nothing, if the pace is wanted, to all of the sleep; the command "
			 "shows who "
			 "sleeps");
		break;
	case PART_SOCKET:
	case PART_POLL:
		if (peer)
			buf_printf(&command, "ss -tunpi dst '%s'", peer);
		else
			buf_printf(&command, "ss -tunpi | grep pid=%" PRIu32, pid);
		fact_fix(f,
			 "Ask for the data before the device runs out of work, several requests at "
			 "a time",
			 buf_text(&command), 0, f->lost_ns,
			 "from nothing, if each request depends on the device, to all of the wait");
		if (!server)
			break;
		buf_reset(&command);
		buf_printf(&command, "sudo ingero-record -F 99 -p %" PRIu32 " --duration 10s",
			   server);
		fact_fix(f, "See what the server does meanwhile", buf_text(&command), 0, 0,
			 "it only shows what to look at");
		break;
	case PART_FD:
	case PART_IDLE:
		if (worker)
			buf_printf(&command, "ingero-record -F 99 -p %" PRIu32, worker);
		else
			buf_printf(&command, "cat /proc/%" PRIu32 "/stack", pid);
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
		f.culprit.comm = x->waker_comm.text;
	}
	fact_victim(&f, c, &f.summary);
	buf_puts(&f.summary, " left the GPU without work for ");
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, "%s: %s", hangs(x) ? " until the end" : "", f.culprit.text);
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
	if (!f.fixes.n)
		fixes(&f, x, unknown(x, c), p ? p->tgid : 0, worker ? worker->tgid : 0, peer,
		      server);
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
		if ((!few &&
		     cause_sum_due(c, &x->sum, pane, x->part == PART_SELF ? MIN_SHARE_SELF : 0)) ||
		    stalled(c, x, pane))
			rc = tell(g, x, c, e);
	}
	return rc;
}
