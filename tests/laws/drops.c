/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that were lost never add a culprit: streams in which nothing is wrong still raise nothing,
 * and others nothing else than what is wrong, when one event of a hundred is missing, as long as
 * the recording says that it is.
 */
#include "tests/tap.h"

#include "lib/base/hash.h"
#include "tests/laws/law.h"

#define ONE_OF 100

/* Analyze without some events; each loss is told with the events that follow it. */
static void analyze_lossy(const struct law *l, uint64_t seed, struct verdict *v, unsigned *dropped)
{
	struct cause *c;
	size_t at = 0, rec = 0;

	memset(v, 0, sizeof(*v));
	*dropped = 0;
	v->sink.record = verdict_told;
	c = cause_new(l->w, NULL, &v->sink);
	while (at < l->ev.n || rec < l->rec.n) {
		struct stream_item it = { .kind = STREAM_EVENTS };
		size_t until = rec < l->rec.n ? l->rec_at.v[rec] : l->ev.n;

		if (rec < l->rec.n && until <= at) {
			it.kind = STREAM_RECORD;
			it.record = &l->rec.v[rec++];
			cause_item(c, &it, NULL);
			continue;
		}
		while (at < until) {
			if (hash_u64(at * 0x9e3779b97f4a7c15u + seed) % ONE_OF == 0) {
				if (it.n)
					break;
				it.lost++;
				++*dropped;
				at++;
				it.events = NULL;
				continue;
			}
			if (!it.events)
				it.events = &l->ev.v[at];
			it.n++;
			at++;
			if (it.n == 1000)
				break;
		}
		it.watermark_ns = at ? l->ev.v[at - 1].end_ns : 0;
		cause_item(c, &it, NULL);
	}
	cause_finish(c, NULL);
	cause_free(c);
}

int main(void)
{
	static const struct {
		const char *scenario, *kind; /* NULL: nothing is wrong */
	} all[] = { { "clean", NULL },
		    { "copy-overlap", NULL },
		    { "memory-warm-up", NULL },
		    { "memory-sawtooth", NULL },
		    { "polling", NULL },
		    { "graph-serving", NULL },
		    { "errors", "gpu-oom" },
		    { "memcpy-bottleneck", "copy-bound" },
		    { "alloc-churn", "alloc-churn" },
		    { "fragmentation", "fragmentation" },
		    { "kv-pressure", "kv-pressure" },
		    { "managed-thrash", "managed-thrash" },
		    { "illegal-access", "errors" },
		    { "graph-recapture", "graph-recapture" },
		    { "graph-pool", "graph-pool" },
		    { "graph-capture-failed", "graph-capture-failed" },
		    { "starved", "gpu-idle" },
		    { "worker-starved", "gpu-idle" },
		    { "sync-storm", "sync-storm" },
		    { "launch-bound", "launch-bound" },
		    { "periodic-spike", "periodic-spike" },
		    { "cold-start", "cold-start" },
		    { "slow-down", "throughput-drop" } };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct sim_options o;
		struct law l;

		sim_scenario_options(all[i].scenario, &o);
		o.duration_ns = 10000000000;
		o.seed = 11 + i;
		law_open(&l, &o);
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct verdict v;
			unsigned dropped, strange = 0;

			analyze_lossy(&l, seed, &v, &dropped);
			for (size_t k = 0; k < v.list.v.n; k++) {
				const struct finding *c = &v.list.v.v[k];

				if (all[i].kind && bytes_equal(c->kind, bytes_of(all[i].kind)))
					continue;
				printf("# %s: %s\n", c->kind.p, c->summary.p);
				strange++;
			}
			ok(strange == 0, "%s without %u of %zu events: %s", all[i].scenario,
			   dropped, l.ev.n, all[i].kind ? all[i].kind : "nothing is told");
			verdict_free(&v);
		}
		law_close(&l);
	}
	return tap_done();
}
