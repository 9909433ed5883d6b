/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams made by hand that must raise one chain, or none.
 */
#ifndef INGERO_TESTS_KINDS_H
#define INGERO_TESTS_KINDS_H

#include <inttypes.h>

#include "tests/tap.h"

#include "lib/base/json.h"
#include "lib/event/chain.h"
#include "tests/unit/events.h"

struct kinds_run {
	struct cause_sink sink;
	struct chain_list list;
};

static int kinds_told(struct cause_sink *s, const struct record *r, struct err *e)
{
	return chain_list_add(&((struct kinds_run *)s)->list, r, e);
}

/* A stack of two frames: the function's, called by main. */
static inline uint32_t python_stack(struct stage *s, const char *file, const char *function,
				    unsigned line)
{
	const char *names[] = { function, "main" };
	uint32_t frames[2];

	for (unsigned i = 0; i < 2; i++)
		frames[i] =
			world_frame(s->w, &(struct world_frame){
						  .kind = FRAME_PYTHON,
						  .offset = i ? 90 : line,
						  .file = world_string(s->w, bytes_of(file)),
						  .name = world_string(s->w, bytes_of(names[i])) });
	return world_stack(s->w, frames, 2);
}

static inline void analyze(struct stage *s, struct kinds_run *p)
{
	struct cause *c;
	struct stream_item it = { .kind = STREAM_EVENTS };

	memset(p, 0, sizeof(*p));
	p->sink.record = kinds_told;
	stage_sort(s);
	c = cause_new(s->w, NULL, &p->sink);
	for (size_t i = 0; i < s->rec.n; i++) {
		struct stream_item rec = { .kind = STREAM_RECORD, .record = &s->rec.v[i] };

		cause_item(c, &rec, NULL);
	}
	it.events = s->ev.v;
	it.n = s->ev.n;
	cause_item(c, &it, NULL);
	cause_finish(c, NULL);
	cause_free(c);
	s->ev.n = s->rec.n = 0;
}

static inline void silent(struct stage *s, const char *name)
{
	struct kinds_run p;

	analyze(s, &p);
	ok(p.list.v.n == 0, "silent: %s", name);
	for (size_t i = 0; i < p.list.v.n; i++)
		printf("# %s\n", p.list.v.v[i].summary.p);
	ok(p.list.analyzed, "and analyzed");
	chain_list_free(&p.list);
}

/* One chain of that kind: eight threads lose more than the time there is together, each a fifth of
 * it. */
static inline void tells_of_eight(struct stage *s, const char *kind, uint64_t length_ns)
{
	struct kinds_run p;
	unsigned n = 0;

	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *k = &p.list.v.v[i];

		if (bytes_equal(k->kind, bytes_of(kind))) {
			n++;
			ok(k->lost_ns > length_ns, "eight threads lose %" PRIu64 " ms",
			   (uint64_t)(k->lost_ns / MS));
			ok(k->share < 0.25 && k->worst_share < 0.25,
			   "each of them a fifth of the time, not %.0f%% and %.0f%%",
			   k->share * 100, k->worst_share * 100);
		}
	}
	ok(n == 1, "one chain of it");
	chain_list_free(&p.list);
}

static inline void tells(struct stage *s, const char *kind, const char *culprit, uint64_t lost_ns)
{
	struct kinds_run p;

	analyze(s, &p);
	ok(p.list.v.n == 1, "%s: one chain", kind);
	for (size_t i = 0; i < p.list.v.n && p.list.v.n != 1; i++)
		printf("# %s\n", p.list.v.v[i].summary.p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *c = &p.list.v.v[i];

		is_str(c->kind.p, kind, "%s: its kind", kind);
		like(c->summary.p, culprit, "%s: names the culprit", kind);
		is_u64(c->lost_ns, lost_ns, "%s: the time", kind);
	}
	chain_list_free(&p.list);
}

/* One chain of that kind, and this is what to do about it. */
static inline void advises(struct stage *s, const char *kind, const char *action)
{
	struct kinds_run p;

	analyze(s, &p);
	ok(p.list.v.n == 1, "%s: one chain", kind);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];
		struct bytes text = f->fixes.n ? f->fixes.v[0].action : (struct bytes){ 0 };

		is_str(p.list.v.v[i].kind.p, kind, "%s: its kind", kind);
		ok(bytes_equal(text, bytes_of(action)), "%s: \"%s\", not \"%.*s\"", kind, action,
		   (int)text.n, text.p);
	}
	chain_list_free(&p.list);
}

/* Whatever is told, not in these words. */
static inline void never_says(struct stage *s, const char *text, const char *name)
{
	struct kinds_run p;
	unsigned n = 0;

	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++)
		n += strstr(p.list.v.v[i].summary.p, text) != NULL;
	ok(p.list.analyzed && n == 0, "never \"%s\": %s", text, name);
	chain_list_free(&p.list);
}

/* Whatever else is told, not this kind. */
static inline void not_told(struct stage *s, const char *kind, const char *name)
{
	struct kinds_run p;
	unsigned n = 0;

	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++)
		n += bytes_equal(p.list.v.v[i].kind, bytes_of(kind));
	ok(n == 0, "no %s: %s", kind, name);
	chain_list_free(&p.list);
}

/* Whatever else is told, one chain of this kind, with that time. */
static inline void told_among(struct stage *s, const char *kind, const char *culprit,
			      uint64_t lost_ns)
{
	struct kinds_run p;
	unsigned n = 0;

	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *c = &p.list.v.v[i];

		if (!bytes_equal(c->kind, bytes_of(kind)))
			continue;
		n++;
		like(c->summary.p, culprit, "%s: names the culprit", kind);
		is_u64(c->lost_ns, lost_ns, "%s: the time", kind);
	}
	for (size_t i = 0; i < p.list.v.n && n != 1; i++)
		printf("# %s\n", p.list.v.v[i].summary.p);
	ok(n == 1, "%s: one chain of it", kind);
	chain_list_free(&p.list);
}

#endif
