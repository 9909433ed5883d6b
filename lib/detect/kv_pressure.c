/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kv-pressure: a process fills device memory up to its ceiling, gives much of it back in one burst,
 * and fills it again: a server that drops what it cached for requests (or preempts them) to make
 * room for others. Lost is what the calls of a burst take, and those that get as much again. A loop
 * that frees what it no longer needs below its ceiling is not this, nor is a burst that costs next
 * to nothing, nor a cache that is emptied while the device has room (torch.cuda.empty_cache()):
 * what is then allocated again is alloc-churn.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/fmt.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"

#define TOGETHER_NS   20000000 /* frees no further apart are one burst */
#define BURST_FREES   8
#define BURST_SHARE   0.20 /* of what is held, given back in it */
#define CEILING_SHARE 0.80 /* of the most ever held, where it began */
#define BURSTS	      5
#define ROOM_SHARE    0.50 /* of the device's memory, that nobody ever used: there is room */
#define REFUSED_NS                                                                                 \
	1000000000 /* frees so soon after a refusal are its consequence: gpu-oom and fragmentation \
		      tell */

struct pressure {
	struct toll_row row;
	uint64_t bursts, given, ceiling;
	/* the run of frees that goes on */
	uint64_t frees, bytes, held; /* held: when it began */
	int64_t last_ns, refused_ns;
	bool burst, refused;
	uint64_t waiting_ns; /* of the run, before it is a burst */
	uint64_t refill;     /* bytes still to be got again */
};

/* So far the device had room for as much again as is held. */
static bool has_room(const struct cause *c, const struct live_told *t, uint64_t held)
{
	const struct world_ctx *ctx = world_get_ctx(c->w, t->call->ev.ctx);
	const struct gpu_memory_device *d = gpu_memory_of(&c->gpu_memory, ctx ? ctx->gpu : 0);
	uint64_t most = c->gpu_memory.used_most, used = most > held ? most : held;

	return d && d->has_total && (double)used < (1 - ROOM_SHARE) * (double)d->total;
}

static bool account_free(const struct cause *c, struct tolls *tolls, struct pressure *k,
			 const struct live_told *t)
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
		    (double)k->held < CEILING_SHARE * (double)t->process->peak_bytes ||
		    has_room(c, t, k->held))
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
	return tolls_add(c, tolls, &k->row, t->call->thread, ev, ns);
}

static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	return ((const struct pressure *)r)->bursts >= BURSTS && toll_due(c, &r->toll, pane, share);
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct pressure *k = (struct pressure *)r;
	double n = (double)k->bursts;

	f->count = k->bursts;
	fact_victim(f, c, &f->summary);
	buf_printf(&f->summary,
		   " fills device memory up to %s and gives %s of it back at once, for ",
		   fmt_bytes((uint64_t)((double)k->ceiling / n)).s,
		   fmt_bytes((uint64_t)((double)k->given / n)).s);
	fact_amount(f, &f->summary);
	buf_printf(&f->summary, ", mostly in %s", f->culprit.text);
	fact_evidence(f, "held when a burst began", (double)k->ceiling / n, "B");
	fact_evidence(f, "given back in a burst", (double)k->given / n, "B");
	fact_evidence(f, "calls of a burst, and those that get as much again",
		      (double)r->toll.count / n, "");
	fact_evidence(f, "what they take", (double)r->toll.ns / n, "ns");
	fact_fix(f, "Give the cache a fixed pool at the start, and admit fewer requests at once",
		 "vllm serve MODEL --gpu-memory-utilization 0.92 --max-num-seqs 64", 0, r->toll.ns,
		 "from nothing, if requests then wait instead, to all of these calls");
}

static const struct tolls_def pressure = { .kind = "kv-pressure",
					   .counted = "bursts",
					   .row = sizeof(struct pressure),
					   .due = is_due,
					   .blamed = "its own allocations",
					   .tell = fill_finding };

static bool on_memory(void *state, struct cause *c, const struct live_told *t)
{
	struct pressure *k;

	if (t->what == LIVE_FAILED) {
		k = tolls_row(state, t->call->process, 0, NULL);
		if (k)
			k->refused_ns = t->call->ev.end_ns;
		return k != NULL;
	}
	/* What is held is not known once calls were not recorded. */
	if ((t->what != LIVE_FREED && t->what != LIVE_ALLOCATED) ||
	    c->live->sites.v[t->site].kind == LIVE_PINNED ||
	    cause_paused(c, t->call->process, 1u << TIER_ALLOCATIONS, INT64_MIN,
			 t->call->ev.end_ns))
		return true;
	k = tolls_row(state, t->call->process, 0, NULL);
	if (!k)
		return false;
	if (t->what == LIVE_FREED)
		return account_free(c, state, k, t);
	k->frees = 0;
	if (k->refill == 0)
		return true;
	k->refill -= t->bytes < k->refill ? t->bytes : k->refill;
	return tolls_add(c, state, &k->row, t->call->thread, &t->call->ev, t->call->ev.dur_ns);
}

const struct detector detector_kv_pressure = { .size = sizeof(struct tolls),
					       .tolls = { &pressure },
					       .on_memory = on_memory };
