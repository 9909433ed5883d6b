/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kv-pressure: a process fills device memory up to its ceiling, gives much of it back in one burst, and fills it
 * again: a server that drops what it cached for requests (or preempts them) to make room for others. Lost is what
 * the calls of a burst take, and those that get as much again. A loop that frees what it no longer needs below its
 * ceiling is not this, nor is a burst that costs next to nothing.
 */
#include "lib/cause/detect/watches.h"

#include "lib/base/human.h"
#include "lib/cause/names.h"
#include "lib/cause/toll.h"

#define TOGETHER_NS   20000000 /* frees no further apart are one burst */
#define BURST_FREES   8
#define BURST_SHARE   0.20 /* of what is held, given back in it */
#define CEILING_SHARE 0.80 /* of the most ever held, where it began */
#define BURSTS	      5
#define REFUSED_NS \
	1000000000 /* frees so soon after a refusal are its consequence: gpu-oom and fragmentation tell */

struct pressure {
	uint32_t process;
	struct toll toll;
	uint64_t bursts, given, ceiling;
	/* the run of frees that goes on */
	uint64_t frees, bytes, held; /* held: when it began */
	int64_t last_ns, refused_ns;
	bool burst, refused;
	uint64_t waiting_ns; /* of the run, before it is a burst */
	uint64_t refill;     /* bytes still to be got again */
};

struct state {
	VEC(struct pressure) v;
	struct where where; /* by process */
};

static struct pressure *pressure_of(struct state *s, uint32_t process)
{
	for (size_t i = 0; i < s->v.n; i++) {
		if (s->v.v[i].process == process)
			return &s->v.v[i];
	}
	if (!vec_push(&s->v, (struct pressure){ .process = process }))
		return NULL;
	return &s->v.v[s->v.n - 1];
}

static bool costs(struct state *s, struct pressure *k, const struct once_call *call, uint64_t ns)
{
	return where_add(&s->where, k->process, call->ev.op, call->ev.stack, ns, call->ev.dur_ns) &&
	       toll_add(&k->toll, call->thread, call->ev.op, event_start(&call->ev),
			call->ev.end_ns, ns);
}

static bool freed(struct state *s, struct pressure *k, const struct live_told *t)
{
	const struct event *ev = &t->call->ev;
	uint64_t held = live_bytes(t->process) + t->bytes, ns = ev->dur_ns;

	if (k->frees == 0 || event_start(ev) - k->last_ns > TOGETHER_NS) {
		k->frees = k->bytes = k->waiting_ns = 0;
		k->held = held;
		k->burst = false;
		k->refused = k->refused_ns && event_start(ev) - k->refused_ns < REFUSED_NS;
	}
	k->frees++;
	k->bytes += t->bytes;
	k->last_ns = ev->end_ns;
	if (!k->burst) {
		k->waiting_ns += ns;
		if (k->refused || k->frees < BURST_FREES ||
		    (double)k->bytes < BURST_SHARE * (double)k->held ||
		    (double)k->held < CEILING_SHARE * (double)t->process->peak_bytes)
			return true;
		k->burst = true;
		k->bursts++;
		k->ceiling += k->held;
		k->refill = 0;
		ns = k->waiting_ns;
		k->given += k->bytes - t->bytes;
		k->refill += k->bytes - t->bytes;
	}
	k->given += t->bytes;
	k->refill += t->bytes;
	return costs(s, k, t->call, ns);
}

static bool memory(void *state, struct cause *c, const struct live_told *t)
{
	struct state *s = state;
	struct pressure *k;

	if (t->what == LIVE_FAILED) {
		k = pressure_of(s, t->call->process);
		if (k)
			k->refused_ns = t->call->ev.end_ns;
		return k != NULL;
	}
	if ((t->what != LIVE_FREED && t->what != LIVE_ALLOCATED) ||
	    c->live->sites.v[t->site].kind == LIVE_PINNED)
		return true;
	k = pressure_of(s, t->call->process);
	if (!k)
		return false;
	if (t->what == LIVE_FREED)
		return freed(s, k, t);
	k->frees = 0;
	if (k->refill == 0)
		return true;
	k->refill -= t->bytes < k->refill ? t->bytes : k->refill;
	return costs(s, k, t->call, t->call->ev.dur_ns);
}

static int tell(struct state *s, struct cause *c, struct pressure *k, double share, struct err *e)
{
	struct fact f = { .kind = "kv-pressure",
			  .process = k->process,
			  .share = share,
			  .counted = "bursts",
			  .explained = -1,
			  .unexplained = -1 };
	double n = (double)k->bursts;
	struct buf where = { 0 };
	int rc;

	toll_fill(&k->toll, &f);
	f.count = k->bursts;
	f.nsites = where_top(&s->where, k->process, f.sites, FACT_SITES);
	f.op = f.nsites ? f.sites[0].op : 0;
	fact_blame_site(c, &f, &where, "its own allocations");
	fact_victim(&f, c, &f.summary);
	buf_printf(&f.summary,
		   " fills device memory up to %s and gives %s of it back at once, for ",
		   human_bytes((uint64_t)((double)k->ceiling / n)).s,
		   human_bytes((uint64_t)((double)k->given / n)).s);
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, ", mostly in %s", f.culprit.text);
	fact_evidence(&f, "held when a burst began", (double)k->ceiling / n, "B");
	fact_evidence(&f, "given back in a burst", (double)k->given / n, "B");
	fact_evidence(&f, "calls of a burst, and those that get as much again",
		      (double)k->toll.count / n, "");
	fact_evidence(&f, "what they take", (double)k->toll.ns / n, "ns");
	fact_fix(&f, "Give the cache a fixed pool at the start, and admit fewer requests at once",
		 "vllm serve MODEL --gpu-memory-utilization 0.92 --max-num-seqs 64", 0, k->toll.ns,
		 "from nothing, if requests then wait instead, to all of these calls");
	rc = where.failed ? err_nomem(e) : fact_tell(c, &f, &k->toll.told, e);
	buf_free(&where);
	fact_free(&f);
	return rc;
}

static int settle(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct state *s = state;
	double share;
	int rc = 0;

	for (size_t i = 0; i < s->v.n && rc == 0; i++) {
		if (s->v.v[i].bursts >= BURSTS && toll_due(c, &s->v.v[i].toll, pane, &share))
			rc = tell(s, c, &s->v.v[i], share, e);
	}
	return rc;
}

static void end(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->v.n; i++)
		toll_free(&s->v.v[i].toll);
	vec_free(&s->v);
	where_free(&s->where);
}

const struct watch_def watch_kv_pressure = { .name = "kv-pressure",
					     .size = sizeof(struct state),
					     .memory = memory,
					     .settle = settle,
					     .free = end };
