/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the laws of the analysis are checked on: generated streams kept in memory, their truth, and
 * the text of every record an analysis tells about them.
 */
#ifndef INGERO_TESTS_LAWS_LAW_H
#define INGERO_TESTS_LAWS_LAW_H

#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/detect/analysis.h"
#include "lib/event/chain.h"
#include "lib/sim/sim.h"

struct law {
	struct world *w;
	VEC(struct event) ev;
	VEC(struct record) rec; /* without their text: what the analysis reads has none */
	VEC(size_t) rec_at;	/* stands before this event */
	struct sim_truth truth[16];
	unsigned ntruth;
};

static inline void law_open(struct law *l, const struct sim_options *o)
{
	struct event_stream *s = NULL;
	struct stream_item it;
	const struct sim_truth *t;

	memset(l, 0, sizeof(*l));
	l->w = world_new();
	if (sim_open(&s, l->w, o, NULL))
		abort();
	while (s->next(s, &it, NULL) > 0) {
		for (size_t i = 0; i < it.n && it.kind == STREAM_EVENTS; i++) {
			if (!vec_push(&l->ev, it.events[i]))
				abort();
		}
		if (it.kind == STREAM_RECORD &&
		    (!vec_push(&l->rec, *it.record) || !vec_push(&l->rec_at, l->ev.n)))
			abort();
	}
	t = sim_truths(s, &l->ntruth);
	memcpy(l->truth, t, l->ntruth * sizeof(*t));
	s->close(s);
}

static inline void law_close(struct law *l)
{
	world_free(l->w);
	vec_free(&l->ev);
	vec_free(&l->rec);
	vec_free(&l->rec_at);
}

/* Everything an analysis said, as text, and its chains. */
struct verdict {
	struct cause_sink sink;
	struct buf text;
	struct chain_list list;
};

static int verdict_told(struct cause_sink *s, const struct record *r, struct err *e)
{
	struct verdict *v = (struct verdict *)s;

	if (r->kind == RECORD_CHAIN)
		buf_printf(&v->text, "%.*s %u %lld %.*s\n%.*s\n", (int)r->u.CHAIN.id.n,
			   r->u.CHAIN.id.p, r->u.CHAIN.revision, (long long)r->u.CHAIN.time_ns,
			   (int)r->u.CHAIN.summary.n, r->u.CHAIN.summary.p, (int)r->u.CHAIN.body.n,
			   r->u.CHAIN.body.p);
	else
		buf_printf(&v->text, "%.*s\n", (int)r->u.ANALYSIS.body.n, r->u.ANALYSIS.body.p);
	return chain_list_add(&v->list, r, e);
}

/* Analyze with at most `piece` events per item (0: all at once; below 0: random sizes). */
static inline void law_analyze(const struct law *l, long piece, struct verdict *v)
{
	struct cause *c;
	size_t at = 0, rec = 0;
	uint64_t random = 12345;

	memset(v, 0, sizeof(*v));
	v->sink.record = verdict_told;
	c = cause_new(l->w, NULL, &v->sink);
	while (at < l->ev.n || rec < l->rec.n) {
		struct stream_item it = { .kind = STREAM_EVENTS };
		size_t n = piece > 0 ? (size_t)piece : l->ev.n;

		if (rec < l->rec.n && l->rec_at.v[rec] <= at) {
			it.kind = STREAM_RECORD;
			it.record = &l->rec.v[rec++];
			cause_item(c, &it, NULL);
			continue;
		}
		random = random * 6364136223846793005u + 1442695040888963407u;
		if (piece < 0)
			n = random >> 33 & 1023;
		if (rec < l->rec.n && n > l->rec_at.v[rec] - at)
			n = l->rec_at.v[rec] - at;
		if (n > l->ev.n - at)
			n = l->ev.n - at;
		it.events = l->ev.v + at;
		it.n = n;
		at += n;
		cause_item(c, &it, NULL);
	}
	cause_finish(c, NULL);
	cause_free(c);
}

static inline void verdict_free(struct verdict *v)
{
	buf_free(&v->text);
	chain_list_free(&v->list);
}

/* The same wait is gpu-idle where gaps of the device show most of it, and step-stall else. */
static inline struct bytes law_kind(struct bytes kind)
{
	return bytes_equal(kind, bytes_of("step-stall")) ? bytes_of("gpu-idle") : kind;
}

#endif
