/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-oom: an allocation was refused for want of device memory; who holds it is in the live bytes.
 * fragmentation: it was refused although enough was free, either by the device's own samples, or because the process
 * then freed smaller blocks that it held unused, as large together as what it asked for, and got it: a caching
 * allocator with its room in pieces. What is one is not the other. An allocator that frees what it has cached and asks again
 * goes on: that is no end, but time between the refusal and what it got.
 */
#include "lib/detect/watches.h"

#include "lib/base/human.h"
#include "lib/account/gpu_memory.h"
#include "lib/account/memory.h"
#include "lib/account/names.h"
#include "lib/account/toll.h"
#include "lib/event/chain.h"

#define OUT_OF_MEMORY 2 /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */

/* A request not made again within this was given up; and a process that made no call for so long afterwards stopped, or that
 * failed so soon. */
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
	uint32_t process;
	uint64_t refused, recovered, unsettled; /* unsettled: it was not asked for again */
	int64_t first_ns, last_ns;
	uint64_t least, most; /* bytes asked for */
	uint64_t live;	      /* at the last refusal */
	bool got_since;	      /* it was given memory after that */
	uint64_t launches;    /* of the process, by then */
	bool ended;
	int64_t ended_ns;
	uint64_t status;      /* of a process that ended: as of waitpid; 0: well, or not known */
	uint64_t used, total; /* of the device then; 0 not known */
	struct fact_moment moment[2]; /* the first and the last */
	struct fact_told told;
	struct toll retries; /* gpu-oom: from each refusal to getting as much */
	struct toll pieces;  /* fragmentation: from each refusal to getting it */
	uint64_t pieces_n, pieces_bytes, wanted;
	bool by_sample;
};

struct state {
	VEC(struct refusal) open;
	VEC(struct victim) v;
	struct where refused, pieces; /* by process */
	struct gpu_memory devices;
	uint64_t live_sampled; /* bytes that all recorded processes held when a device was last sampled */
};

static struct victim *victim_of(struct state *s, uint32_t process)
{
	for (size_t i = 0; i < s->v.n; i++) {
		if (s->v.v[i].process == process)
			return &s->v.v[i];
	}
	if (!vec_push(&s->v, (struct victim){ .process = process, .least = UINT64_MAX }))
		return NULL;
	return &s->v.v[s->v.n - 1];
}

/* It stays refused, or was granted later without anything telling. */
static bool count_refused(struct state *s, const struct refusal *r, bool recovered, bool unsettled)
{
	struct victim *v = victim_of(s, r->process);
	struct fact_moment m = { .end_ns = r->end_ns,
				 .dur_ns = (uint64_t)(r->end_ns - r->start_ns),
				 .thread = r->thread,
				 .op = r->op };
	struct where_place *place = where_at(&s->refused, r->process, r->op, r->stack);

	if (!v || !place)
		return false;
	v->moment[v->refused++ > 0] = m;
	v->recovered += recovered;
	v->unsettled += unsettled;
	v->least = r->bytes < v->least ? r->bytes : v->least;
	v->most = r->bytes > v->most ? r->bytes : v->most;
	place->bytes = r->bytes > place->bytes ? r->bytes : place->bytes;
	return where_add(&s->refused, r->process, r->op, r->stack, 0,
			 (uint64_t)(r->end_ns - r->start_ns));
}

static bool count_pieces(struct state *s, const struct cause *c, const struct refusal *r,
			 int64_t end_ns, bool by_sample)
{
	struct victim *v = victim_of(s, r->process);
	uint64_t lost = (uint64_t)(end_ns - r->start_ns);

	if (!v)
		return false;
	v->pieces_n += r->pieces;
	v->pieces_bytes += r->freed;
	v->wanted += r->bytes;
	v->by_sample |= by_sample;
	return where_add(&s->pieces, r->process, r->op, r->stack, lost, lost) &&
	       toll_add(c, &v->pieces, r->thread, r->op, r->start_ns, end_ns, lost);
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

	return v && toll_add(c, &v->retries, r->thread, r->op, r->start_ns, end_ns,
			     (uint64_t)(end_ns - r->start_ns));
}

static void forget(struct state *s, size_t i)
{
	for (s->open.n--; i < s->open.n; i++)
		s->open.v[i] = s->open.v[i + 1];
}

/* The thread asked again: it got so many bytes, or (0) was refused again, or it was too long ago. */
static bool resolve(struct state *s, const struct cause *c, size_t i, uint64_t got, int64_t end_ns,
		    bool unsettled)
{
	struct refusal r = s->open.v[i];

	forget(s, i);
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
static bool uncounted(const struct cause *c, uint32_t process, int64_t ns)
{
	return cause_paused(c, process, 1u << TIER_ALLOCATIONS, INT64_MIN, ns);
}

/* A device keeps some for itself, and others may have taken some since the sample; what was recorded since is known. */
static bool enough_was_free(const struct state *s, const struct cause *c, const struct live_told *t,
			    struct victim *v)
{
	const struct world_ctx *ctx = world_get_ctx(c->w, t->call->ev.ctx);
	const struct gpu_memory_device *d = gpu_memory_of(&s->devices, ctx ? ctx->gpu : 0);
	uint64_t used, kept;

	v->used = v->total = 0;
	if (!d || !d->has_used || !d->has_total || d->total == 0 ||
	    uncounted(c, t->call->process, t->call->ev.end_ns) ||
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
	for (size_t i = 0; i < s->v.n; i++)
		if (s->v.v[i].process == process)
			s->v.v[i].got_since = true;
}

static bool refused(struct state *s, struct cause *c, const struct live_told *t)
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
	if (v->first_ns == 0)
		v->first_ns = r.end_ns;
	v->last_ns = r.end_ns;
	v->live = live_bytes(t->process);
	v->got_since = false;
	v->launches = r.launches;
	if (enough_was_free(s, c, t, v))
		return count_pieces(s, c, &r, r.end_ns, true);
	return vec_push(&s->open, r);
}

static bool memory(void *state, struct cause *c, const struct live_told *t)
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
			if (!resolve(s, c, i, t->what == LIVE_ALLOCATED ? t->bytes : 0,
				     t->call->ev.end_ns, false))
				return false;
			continue;
		}
		i++;
	}
	if (t->what == LIVE_ALLOCATED)
		note_got(s, t->call->process);
	if (t->what == LIVE_FAILED && t->call->ev.ret == OUT_OF_MEMORY)
		return refused(s, c, t);
	return true;
}

static bool record(void *state, struct cause *c, const struct record *r)
{
	struct state *s = state;

	gpu_memory_record(&s->devices, r);
	if (r->kind == RECORD_SAMPLE && r->u.SAMPLE.metric == METRIC_GPU_MEM_USED)
		s->live_sampled = live_of_all(c);
	return true;
}

/* A process ended. */
static bool event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	const struct world_ctx *ctx = world_get_ctx(c->w, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(c->w, ctx->thread) : NULL;
	const struct world_process *p = t ? world_get_process(c->w, t->process) : NULL;
	struct state *s = state;

	for (size_t i = 0; p && p->tgid == t->tid && i < s->v.n; i++) {
		struct victim *v = &s->v.v[i];

		if (v->process != t->process)
			continue;
		v->ended = true;
		v->ended_ns = ev->end_ns;
		event_get(ev, op, COL_STATUS, &v->status);
	}
	return true;
}

static unsigned wants(const struct op_def *op)
{
	return op && op->id == OP_PROC_EXIT ? WATCH_EVENT : 0;
}

/* After the last refusal it got memory, or gave the device work. */
static bool goes_on(const struct cause *c, const struct victim *v)
{
	return v->got_since || launches_of(c, v->process) > v->launches;
}

/* It ended with an error right after the last refusal, or did no more. */
static bool stopped(const struct cause *c, const struct victim *v)
{
	const struct live_process *p = live_of(c->live, v->process);
	const struct tally_process *t =
		v->process < c->tally.processes.n ? &c->tally.processes.v[v->process] : NULL;
	int64_t last = t && t->calls ? t->last_ns : v->last_ns;

	if (c->ended && v->ended && v->status && !v->got_since &&
	    v->ended_ns - v->last_ns <= STOPPED_NS)
		return true;
	if (!c->ended || goes_on(c, v) || last - v->last_ns > STOPPED_NS)
		return false;
	return (p && p->ended) || cause_silent(c, v->process, last, STOPPED_NS);
}

/* What getting the memory in the end took, where it is worth a word: as lost time. */
static bool fill_retries(struct cause *c, const struct victim *v, struct fact *f)
{
	uint64_t wall = cause_wall_ns(c);
	double share = wall ? (double)v->retries.worst_ns / (double)wall : 0;

	if (share < c->opt.min_share || !fact_material(c, v->retries.ns, v->retries.count, wall))
		return false;
	toll_fill(c, &v->retries, f);
	f->share = share;
	return true;
}

static uint32_t severity_of(const struct victim *v, bool stops)
{
	bool all = v->recovered && v->recovered + v->unsettled == v->refused;

	return stops ? FINDING_HIGH : all || v->got_since ? FINDING_LOW : FINDING_MEDIUM;
}

static int tell_oom(struct state *s, struct cause *c, struct victim *v, struct err *e)
{
	bool stops = stopped(c, v), retries;
	struct fact f = { .kind = "gpu-oom",
			  .process = v->process,
			  .counted = "refused allocations",
			  .count = v->refused,
			  .first_ns = v->moment[0].end_ns,
			  .last_ns = v->moment[v->refused > 1].end_ns,
			  .severity = severity_of(v, stops),
			  .explained = -1,
			  .unexplained = -1 };
	const struct live_process *p = live_of(c->live, v->process);
	struct where_place place;
	struct buf where = { 0 }, holder = { 0 };
	int rc;

	f.nsites = where_top(&s->refused, v->process, &place, 1);
	f.sites[0] = place;
	f.op = f.nsites ? place.op : 0;
	fact_blame_site(c, &f, &where, "an allocation");
	f.moments[0] = v->moment[0];
	f.moments[1] = v->moment[1];
	f.nmoments = v->refused > 1 ? 2 : 1;
	retries = fill_retries(c, v, &f);
	if (retries && !stops)
		f.severity = 0; /* by its share */
	fact_evidence(&f, "return code", OUT_OF_MEMORY, "");
	fact_evidence(&f, "asked for", (double)v->most, "B");
	if (!uncounted(c, v->process, v->last_ns))
		fact_evidence(&f, "the process itself held then", (double)v->live, "B");
	if (p && !uncounted(c, v->process, v->last_ns))
		fact_evidence(&f, "held at most", (double)p->peak_bytes, "B");
	if (v->total) {
		fact_evidence(&f, "used of the device then, by everybody", (double)v->used, "B");
		fact_evidence(&f, "memory of the device", (double)v->total, "B");
	}
	fact_evidence(&f, "refusals after which as much was got", (double)v->recovered, "");
	fact_victim(&f, c, &f.summary);
	buf_printf(&f.summary, " was refused device memory %s%s: %s%s",
		   v->refused == 1 ? "once" : human_count(v->refused).s,
		   v->refused == 1 ? "" : " times", v->least == v->most ? "" : "up to ",
		   human_bytes(v->most).s);
	buf_printf(&f.summary, " in %s", f.culprit.text);
	if (retries) {
		buf_puts(&f.summary, "; it freed memory and asked again until it got it, for ");
		fact_amount(&f, &f.summary);
	}
	cause_memory_holders(c, &f, true);
	cause_memory_holder(c, &f, &holder);
	if (holder.n)
		buf_printf(&f.summary, "; %s%s", buf_text(&holder),
			   stops ? "; then it stopped" : "");
	else if (stops)
		buf_puts(&f.summary, "; then it stopped");
	fact_fix(&f,
		 "Hold less: smaller batches, or give back what the first call sites below hold",
		 name_python(c->w, place.stack)
			 ? "python3 -c 'import torch; help(torch.cuda.memory_summary)'"
			 : "ingero-explain --json run.ige | jq '.memory[].sites'",
		 0, retries ? v->retries.ns : 0,
		 retries ? "all of it, if all fits"
			 : "no time is lost by it but what the program does about it");
	rc = where.failed || holder.failed ? err_nomem(e) : fact_tell(c, &f, &v->told, e);
	buf_free(&where);
	buf_free(&holder);
	fact_free(&f);
	return rc;
}

static int tell_pieces(struct state *s, struct cause *c, struct victim *v, double share,
		       struct err *e)
{
	struct fact f = { .kind = "fragmentation",
			  .process = v->process,
			  .share = share,
			  .counted = "refused allocations",
			  .explained = -1,
			  .unexplained = -1 };
	double n = (double)v->pieces.count;
	struct buf where = { 0 };
	int rc;

	toll_fill(c, &v->pieces, &f);
	f.nsites = where_top(&s->pieces, v->process, f.sites, FACT_SITES);
	f.op = f.nsites ? f.sites[0].op : 0;
	fact_blame_site(c, &f, &where, "an allocation");
	fact_victim(&f, c, &f.summary);
	buf_printf(&f.summary, " was refused %s although enough was free, ",
		   human_bytes((uint64_t)((double)v->wanted / n)).s);
	buf_puts(&f.summary, "which took it ");
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, ", in %s", f.culprit.text);
	fact_evidence(&f, "return code", OUT_OF_MEMORY, "");
	if (v->by_sample)
		fact_evidence_text(&f, "the device", "its samples say that more was free");
	if (v->pieces_n) {
		fact_evidence(&f, "unused blocks it then freed, each too small",
			      (double)v->pieces_n / n, "");
		fact_evidence(&f, "bytes in them", (double)v->pieces_bytes / n, "B");
	}
	fact_evidence(&f, "asked for", (double)v->wanted / n, "B");
	fact_fix(&f, "Let the allocator grow blocks instead of keeping pieces",
		 "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", 0, v->pieces.ns,
		 "from nothing, if the sizes asked for keep changing, to all of it");
	if (v->by_sample)
		fact_fix(&f, "Or lift the limit, where one is set: MPS, MIG or a container's share",
			 "nvidia-smi -L; env | grep -E 'CUDA_MPS|CUDA_DEVICE_MEMORY_LIMIT'", 0,
			 v->pieces.ns, "all of it, if it is a limit that refuses");
	rc = where.failed ? err_nomem(e) : fact_tell(c, &f, &v->pieces.told, e);
	buf_free(&where);
	fact_free(&f);
	return rc;
}

static int settle(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct state *s = state;
	int rc = 0;

	for (size_t i = 0; i < s->open.n;) {
		if (c->ended || c->settled_ns - s->open.v[i].end_ns > GIVEN_UP_NS) {
			if (!resolve(s, c, i, 0, s->open.v[i].end_ns,
				     c->settled_ns - s->open.v[i].end_ns <= GIVEN_UP_NS))
				return err_nomem(e);
		} else {
			i++;
		}
	}
	(void)pane;
	for (size_t i = 0; i < s->v.n && rc == 0; i++) {
		struct victim *v = &s->v.v[i];
		uint64_t wall = cause_wall_ns(c);

		if (fact_due_count(c, &v->told, v->refused))
			rc = tell_oom(s, c, v, e);
		if (rc == 0 && fact_due_count(c, &v->pieces.told, v->pieces.count))
			rc = tell_pieces(s, c, v,
					 wall ? (double)v->pieces.worst_ns / (double)wall : 0, e);
	}
	return rc;
}

static void end(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->v.n; i++) {
		toll_free(&s->v.v[i].retries);
		toll_free(&s->v.v[i].pieces);
	}
	vec_free(&s->v);
	vec_free(&s->open);
	where_free(&s->refused);
	where_free(&s->pieces);
}

const struct watch_def watch_gpu_oom = { .name = "gpu-oom",
					 .size = sizeof(struct state),
					 .wants = wants,
					 .event = event,
					 .memory = memory,
					 .record = record,
					 .settle = settle,
					 .free = end };
