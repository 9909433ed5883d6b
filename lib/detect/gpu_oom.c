/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-oom: an allocation was refused for want of device memory; who holds it is in the live bytes.
 * fragmentation: it was refused although enough was free, either by the device's own samples, or
 * because the process then freed smaller blocks that it held unused, as large together as what it
 * asked for, and got it: a caching allocator with its room in pieces. What is one is not the other.
 * An allocator that frees what it has cached and asks again goes on: that is no end, but time
 * between the refusal and what it got.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/fmt.h"
#include "lib/account/finding_details.h"
#include "lib/account/memory_members.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"
#include "lib/event/chain.h"

#define OUT_OF_MEMORY 2 /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */

/* A request not made again within this was given up; and a process that made no call for so long
 * afterwards stopped, or that failed so soon. */
#define GIVEN_UP_NS 10000000000
#define STOPPED_NS  1000000000

#define SAMPLE_IS_OLD_NS 5000000000

struct refusal {
	uint32_t process, thread, stack;
	uint16_t op;
	int64_t start_ns, end_ns;
	uint64_t bytes, freed, pieces, largest; /* freed by the process since */
	uint64_t launches;			/* of the process, by then */
};

struct victim {
	struct toll_row row;			/* from each refusal to getting as much */
	uint64_t refused, recovered, unsettled; /* unsettled: it was not asked for again */
	int64_t last_ns;
	uint64_t least, most; /* bytes asked for */
	uint64_t live;	      /* at the last refusal */
	bool got_since;	      /* it was given memory after that */
	uint64_t launches;    /* of the process, by then */
	bool ended;
	int64_t ended_ns;
	uint64_t status;      /* of a process that ended: as of waitpid; 0: well, or not known */
	uint64_t used, total; /* of the device then; 0 not known */
	struct fact_moment moment[2]; /* the first and the last */
};

/* Of a process whose memory is in pieces. */
struct broken {
	struct toll_row row; /* from each refusal to getting it */
	uint64_t pieces, bytes, wanted;
	bool by_sample;
};

struct state {
	struct tolls refused; /* first; of struct victim, each process's */
	struct tolls broken;
	VEC(struct refusal) open;
	uint64_t live_sampled; /* bytes that all recorded processes held when a device was last
				  sampled */
};

static struct victim *victim_of(struct state *s, uint32_t process)
{
	return tolls_row(&s->refused, process, 0, NULL);
}

/* It stays refused, or was granted later without anything telling. */
static bool count_refused(struct state *s, const struct refusal *r, bool recovered, bool unsettled)
{
	struct victim *v = victim_of(s, r->process);
	struct fact_moment m = { .end_ns = r->end_ns,
				 .dur_ns = (uint64_t)(r->end_ns - r->start_ns),
				 .thread = r->thread,
				 .op = r->op };

	if (!v)
		return false;
	v->least = !v->refused || r->bytes < v->least ? r->bytes : v->least;
	v->most = r->bytes > v->most ? r->bytes : v->most;
	v->moment[v->refused++ > 0] = m;
	v->recovered += recovered;
	v->unsettled += unsettled;
	return where_add(&s->refused.where, v->row.at, r->op, r->stack, 0, m.dur_ns);
}

static bool count_pieces(struct state *s, const struct cause *c, const struct refusal *r,
			 int64_t end_ns, bool by_sample)
{
	struct broken *k = tolls_row(&s->broken, r->process, 0, NULL);
	uint64_t lost = (uint64_t)(end_ns - r->start_ns);

	if (!k)
		return false;
	k->pieces += r->pieces;
	k->bytes += r->freed;
	k->wanted += r->bytes;
	k->by_sample |= by_sample;
	return where_add(&s->broken.where, k->row.at, r->op, r->stack, lost, lost) &&
	       toll_add(c, &k->row.toll, r->thread, r->op, r->start_ns, end_ns, lost);
}

static uint64_t launches_of(const struct cause *c, uint32_t process)
{
	return process < c->tally.processes.n ? c->tally.processes.v[process].launches : 0;
}

/* It freed something, asked again, and got it. */
static bool count_retry(struct state *s, const struct cause *c, const struct refusal *r,
			int64_t end_ns)
{
	struct victim *v = victim_of(s, r->process);

	return v && toll_add(c, &v->row.toll, r->thread, r->op, r->start_ns, end_ns,
			     (uint64_t)(end_ns - r->start_ns));
}

static void drop_refusal(struct state *s, size_t i)
{
	for (s->open.n--; i < s->open.n; i++)
		s->open.v[i] = s->open.v[i + 1];
}

/* The thread asked again and got so many bytes, or (0) was refused again or took too long. */
static bool resolve_refusal(struct state *s, const struct cause *c, size_t i, uint64_t got,
			    int64_t end_ns, bool unsettled)
{
	struct refusal r = s->open.v[i];

	drop_refusal(s, i);
	if (got >= r.bytes && r.freed >= r.bytes && r.largest < r.bytes && r.pieces > 1)
		return count_pieces(s, c, &r, end_ns, false);
	/* Between the two it did nothing else. */
	if (got >= r.bytes && r.pieces && launches_of(c, r.process) == r.launches &&
	    !count_retry(s, c, &r, end_ns))
		return false;
	return count_refused(s, &r, got >= r.bytes, unsettled);
}

static uint64_t live_of_all(const struct cause *c)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < c->live->processes.n; i++) {
		const struct live_process *p = c->live->processes.v[i];

		bytes += p->ended ? 0 : live_bytes(p);
	}
	return bytes;
}

/* Calls that get or give back memory were not recorded before that: what it holds is not known. */
static bool is_uncounted(const struct cause *c, uint32_t process, int64_t ns)
{
	return cause_paused(c, process, 1u << TIER_ALLOCATIONS, INT64_MIN, ns);
}

/* A device keeps some for itself, and others may have taken some since the sample; what was
 * recorded since is known. */
static bool enough_was_free(const struct state *s, const struct cause *c, const struct live_told *t,
			    struct victim *v)
{
	const struct world_ctx *ctx = world_get_ctx(c->w, t->call->ev.ctx);
	const struct gpu_memory_device *d = gpu_memory_of(&c->gpu_memory, ctx ? ctx->gpu : 0);
	uint64_t used, kept;

	v->used = v->total = 0;
	if (!d || !d->has_used || !d->has_total || d->total == 0 ||
	    is_uncounted(c, t->call->process, t->call->ev.end_ns) ||
	    t->call->ev.end_ns - d->used_ns > SAMPLE_IS_OLD_NS)
		return false;
	used = d->used;
	if (live_of_all(c) > s->live_sampled)
		used += live_of_all(c) - s->live_sampled;
	v->used = used;
	v->total = d->total;
	kept = d->total >> 4;
	return t->bytes > 0 && d->total > used && d->total - used > kept &&
	       t->bytes < d->total - used - kept;
}

static void note_got(struct state *s, uint32_t process)
{
	for (size_t i = 0; i < s->refused.v.n; i++)
		if (s->refused.v.v[i]->process == process)
			((struct victim *)s->refused.v.v[i])->got_since = true;
}

static bool add_refusal(struct state *s, struct cause *c, const struct live_told *t)
{
	const struct event *ev = &t->call->ev;
	struct refusal r = { .process = t->call->process,
			     .thread = t->call->thread,
			     .stack = ev->stack,
			     .op = ev->op,
			     .start_ns = event_start(ev),
			     .end_ns = ev->end_ns,
			     .bytes = t->bytes,
			     .launches = launches_of(c, t->call->process) };
	struct victim *v = victim_of(s, r.process);

	if (!v)
		return false;
	v->last_ns = r.end_ns;
	v->live = live_bytes(t->process);
	v->got_since = false;
	v->launches = r.launches;
	if (enough_was_free(s, c, t, v))
		return count_pieces(s, c, &r, r.end_ns, true);
	return vec_push(&s->open, r);
}

static bool on_memory(void *state, struct cause *c, const struct live_told *t)
{
	struct state *s = state;
	bool asked = t->what == LIVE_ALLOCATED || t->what == LIVE_FAILED;

	if (t->call->op->source != SOURCE_CUDA && t->call->op->source != SOURCE_DRIVER)
		return true;
	for (size_t i = 0; i < s->open.n;) {
		struct refusal *r = &s->open.v[i];

		if (t->what == LIVE_FREED && r->process == t->call->process) {
			r->freed += t->bytes;
			r->pieces++;
			r->largest = t->bytes > r->largest ? t->bytes : r->largest;
		}
		if (asked && r->thread == t->call->thread) {
			if (!resolve_refusal(s, c, i, t->what == LIVE_ALLOCATED ? t->bytes : 0,
					     t->call->ev.end_ns, false))
				return false;
			continue;
		}
		i++;
	}
	if (t->what == LIVE_ALLOCATED)
		note_got(s, t->call->process);
	if (t->what == LIVE_FAILED && t->call->ev.ret == OUT_OF_MEMORY)
		return add_refusal(s, c, t);
	return true;
}

static bool on_record(void *state, struct cause *c, const struct record *r)
{
	struct state *s = state;

	if (r->kind == RECORD_SAMPLE && r->u.SAMPLE.metric == METRIC_GPU_MEM_USED)
		s->live_sampled = live_of_all(c);
	return true;
}

/* A process ended. */
static bool on_event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	uint32_t process = cause_exited(c->w, ev);
	struct state *s = state;

	for (size_t i = 0; process && i < s->refused.v.n; i++) {
		struct victim *v = (struct victim *)s->refused.v.v[i];

		if (v->row.process != process)
			continue;
		v->ended = true;
		v->ended_ns = ev->end_ns;
		event_get(ev, op, COL_STATUS, &v->status);
	}
	return true;
}

static unsigned subscribe_op(const struct op_def *op)
{
	return op && op->id == OP_PROC_EXIT ? SUBSCRIBE_EVENTS : 0;
}

/* After the last refusal it got memory, or gave the device work. */
static bool goes_on(const struct cause *c, const struct victim *v)
{
	return v->got_since || launches_of(c, v->row.process) > v->launches;
}

/* It ended with an error right after the last refusal, or did no more. */
static bool has_stopped(const struct cause *c, const struct victim *v)
{
	const struct live_process *p = live_of(c->live, v->row.process);
	const struct tally_process *t = tally_process_known(&c->tally, v->row.process);
	int64_t last = t && t->calls ? t->last_ns : v->last_ns;

	if (c->ended && v->ended && v->status && !v->got_since &&
	    v->ended_ns - v->last_ns <= STOPPED_NS)
		return true;
	if (!c->ended || goes_on(c, v) || last - v->last_ns > STOPPED_NS)
		return false;
	return (p && p->ended) || cause_silent(c, v->row.process, last, STOPPED_NS);
}

/* Whether what getting the memory in the end took is worth a word: as lost time. */
static bool is_lost(const struct cause *c, const struct toll *retries)
{
	return cause_share(c, retries->worst_ns) >= c->opt.min_share &&
	       fact_material(c, retries->ns, retries->count, cause_wall_ns(c));
}

static uint32_t severity_of(const struct victim *v, bool stops, bool lost)
{
	bool all = v->recovered && v->recovered + v->unsettled == v->refused;

	if (stops)
		return FINDING_HIGH;
	if (lost)
		return 0; /* by its share */
	return all || v->got_since ? FINDING_LOW : FINDING_MEDIUM;
}

static bool is_refused(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	*share = 0;
	return fact_due_count(c, &r->toll.told, ((const struct victim *)r)->refused);
}

/* The refusals themselves, which take no time. */
static void fill_refusals(const struct victim *v, struct fact *f)
{
	f->first_ns = v->moment[0].end_ns;
	f->last_ns = v->moment[v->refused > 1].end_ns;
	f->count = v->refused;
	f->lost_ns = f->one_ns = 0;
	f->estimate = (struct cause_estimate){ 0 };
	f->nmoments = v->refused > 1 ? 2 : 1;
	memcpy(f->moments, v->moment, sizeof(v->moment));
}

static void add_memory(const struct cause *c, const struct victim *v, struct fact *f)
{
	const struct live_process *p = live_of(c->live, v->row.process);
	bool counted = !is_uncounted(c, v->row.process, v->last_ns);

	fact_evidence(f, "return code", OUT_OF_MEMORY, "");
	fact_evidence(f, "asked for", (double)v->most, "B");
	if (counted)
		fact_evidence(f, "the process itself held then", (double)v->live, "B");
	if (counted && p)
		fact_evidence(f, "held at most", (double)p->peak_bytes, "B");
	if (v->total) {
		fact_evidence(f, "used of the device then, by everybody", (double)v->used, "B");
		fact_evidence(f, "memory of the device", (double)v->total, "B");
	}
	fact_evidence(f, "refusals after which as much was got", (double)v->recovered, "");
}

static void fill_refused(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct victim *v = (struct victim *)r;
	bool stops = has_stopped(c, v), lost = is_lost(c, &r->toll);
	uint32_t stack = f->sites[0].stack;
	struct buf holder = { 0 };

	if (lost)
		f->share = cause_share(c, r->toll.worst_ns);
	else
		fill_refusals(v, f);
	f->severity = severity_of(v, stops, lost);
	add_memory(c, v, f);
	fact_victim(f, c, &f->summary);
	buf_printf(&f->summary, " was refused device memory %s%s: %s%s in %s",
		   v->refused == 1 ? "once" : fmt_count(v->refused).s,
		   v->refused == 1 ? "" : " times", v->least == v->most ? "" : "up to ",
		   fmt_bytes(v->most).s, f->culprit.text);
	if (lost) {
		buf_puts(&f->summary, "; it freed memory and asked again until it got it, for ");
		fact_amount(f, &f->summary);
	}
	cause_memory_holders(c, f, true);
	cause_memory_holder(c, f, &holder);
	if (holder.n)
		buf_printf(&f->summary, "; %s", details_text(&f->found, &holder));
	if (stops)
		buf_puts(&f->summary, "; then it stopped");
	fact_fix(f, "Hold less: smaller batches, or give back what the first call sites below hold",
		 name_python(c->w, stack)
			 ? "python3 -c 'import torch; help(torch.cuda.memory_summary)'"
			 : "ingero-explain --json run.ige | jq '.memory[].sites'",
		 0, f->lost_ns,
		 lost ? "all of it, if all fits"
		      : "no time is lost by it but what the program does about it");
}

static const struct tolls_def refusing = { .kind = "gpu-oom",
					   .counted = "refused allocations",
					   .row = sizeof(struct victim),
					   .stays = true,
					   .blamed = "an allocation",
					   .due = is_refused,
					   .tell = fill_refused };

static bool is_broken(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	*share = cause_share(c, r->toll.worst_ns);
	return fact_due_count(c, &r->toll.told, r->toll.count);
}

static void fill_broken(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct broken *k = (struct broken *)r;
	double n = (double)r->toll.count;

	fact_victim(f, c, &f->summary);
	buf_printf(&f->summary, " was refused %s although enough was free, which took it ",
		   fmt_bytes((uint64_t)((double)k->wanted / n)).s);
	fact_amount(f, &f->summary);
	buf_printf(&f->summary, ", in %s", f->culprit.text);
	fact_evidence(f, "return code", OUT_OF_MEMORY, "");
	if (k->by_sample)
		fact_evidence_text(f, "the device", "its samples say that more was free");
	if (k->pieces) {
		fact_evidence(f, "unused blocks it then freed, each too small",
			      (double)k->pieces / n, "");
		fact_evidence(f, "bytes in them", (double)k->bytes / n, "B");
	}
	fact_evidence(f, "asked for", (double)k->wanted / n, "B");
	fact_fix(f, "Let the allocator grow blocks instead of keeping pieces",
		 "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", 0, r->toll.ns,
		 "from nothing, if the sizes asked for keep changing, to all of it");
	if (k->by_sample)
		fact_fix(f, "Or lift the limit, where one is set: MPS, MIG or a container's share",
			 "nvidia-smi -L; env | grep -E 'CUDA_MPS|CUDA_DEVICE_MEMORY_LIMIT'", 0,
			 r->toll.ns, "all of it, if it is a limit that refuses");
}

static const struct tolls_def breaking = { .kind = "fragmentation",
					   .counted = "refused allocations",
					   .row = sizeof(struct broken),
					   .blamed = "an allocation",
					   .due = is_broken,
					   .tell = fill_broken };

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct state *s = state;

	for (size_t i = 0; i < s->open.n;) {
		if (c->ended || c->settled_ns - s->open.v[i].end_ns > GIVEN_UP_NS) {
			if (!resolve_refusal(s, c, i, 0, s->open.v[i].end_ns,
					     c->settled_ns - s->open.v[i].end_ns <= GIVEN_UP_NS))
				return err_nomem(e);
		} else {
			i++;
		}
	}
	return 0;
}

static void free_state(void *state)
{
	vec_free(&((struct state *)state)->open);
}

const struct detector detector_gpu_oom = { .size = sizeof(struct state),
					   .tolls = { &refusing, &breaking },
					   .subscribe_op = subscribe_op,
					   .on_event = on_event,
					   .on_memory = on_memory,
					   .on_record = on_record,
					   .flush_window = flush_window,
					   .free = free_state };
