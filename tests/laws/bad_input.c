/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that are not as they should be: with losses, holes, clocks that were set, events that
 * come too late, sources that are missing, times that cannot be. Whatever is wrong with them,
 * nothing is told that the whole recording does not tell, no more of it is lost, and the analysis
 * says what it had to do without.
 */
#include "tests/tap.h"

#include "lib/base/hash.h"
#include "lib/base/json.h"
#include "tests/laws/law.h"

#define SEC 1000000000ll

/* One event on its way to the analysis. */
struct sent {
	struct event ev;
	uint64_t lost; /* events that are missing before it, and told */
	bool late;
};

struct way {
	const struct law *l;
	VEC(struct sent) v;
	uint64_t lost, late; /* in all */
	bool off_cpu;	     /* the recording says that it has the scheduler's events */
};

static void fresh(struct way *w, const struct law *l)
{
	*w = (struct way){ .l = l, .off_cpu = true };
}

static void send(struct way *w, const struct event *ev, uint64_t lost, bool late)
{
	if (!vec_push(&w->v, (struct sent){ *ev, lost, late }))
		abort();
	w->lost += lost;
	w->late += late;
}

static bool chance(const struct way *w, size_t i, unsigned one_of)
{
	return hash_u64(i * 0x9e3779b97f4a7c15u + (uintptr_t)one_of + w->l->ev.n) % one_of == 0;
}

static int64_t first_ns(const struct law *l)
{
	return l->ev.v[0].end_ns;
}

/* ---- what can be wrong ---- */

static void one_of_five(struct way *w)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < w->l->ev.n; i++) {
		if (chance(w, i, 5)) {
			lost++;
			continue;
		}
		send(w, &w->l->ev.v[i], lost, false);
		lost = 0;
	}
}

/* Three seconds of which nothing is left, and told. */
static void hole(struct way *w)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < w->l->ev.n; i++) {
		int64_t at = w->l->ev.v[i].end_ns - first_ns(w->l);

		if (at > 3 * SEC && at < 6 * SEC) {
			lost++;
			continue;
		}
		send(w, &w->l->ev.v[i], lost, false);
		lost = 0;
	}
}

/* The clock is set forward by an hour, of everything that is recorded. */
static void forward(struct way *w)
{
	for (size_t i = 0; i < w->l->ev.n; i++) {
		struct event ev = w->l->ev.v[i];

		if (ev.end_ns - first_ns(w->l) > 5 * SEC)
			ev.end_ns += 3600 * SEC;
		send(w, &ev, 0, false);
	}
}

/* It is set back by two seconds: what follows is behind what was told, until it has caught up. */
static void backward(struct way *w)
{
	int64_t latest = INT64_MIN;

	for (size_t i = 0; i < w->l->ev.n; i++) {
		struct event ev = w->l->ev.v[i];

		if (ev.end_ns - first_ns(w->l) > 5 * SEC)
			ev.end_ns -= 2 * SEC;
		send(w, &ev, 0, ev.end_ns < latest);
		latest = ev.end_ns > latest ? ev.end_ns : latest;
	}
}

/* One of twenty comes when everything before it was told long ago. */
static void out_of_order(struct way *w)
{
	for (size_t i = 0; i < w->l->ev.n; i++) {
		if (!chance(w, i, 20))
			send(w, &w->l->ev.v[i], 0, false);
		if (i > 5000 && chance(w, i - 5000, 20))
			send(w, &w->l->ev.v[i - 5000], 0, true);
	}
}

static void without(struct way *w, unsigned source)
{
	for (size_t i = 0; i < w->l->ev.n; i++) {
		if (w->l->ev.v[i].op >> 8 != source)
			send(w, &w->l->ev.v[i], 0, false);
	}
}

static void no_scheduler(struct way *w)
{
	without(w, SOURCE_SCHED);
	w->off_cpu = false;
}

static void no_driver(struct way *w)
{
	without(w, SOURCE_DRIVER);
}

/* What stood in a runtime call stands outside then. */
static void no_runtime(struct way *w)
{
	for (size_t i = 0; i < w->l->ev.n; i++) {
		const struct event *ev = &w->l->ev.v[i];

		if (ev->op >> 8 != SOURCE_CUDA) {
			send(w, ev, 0, false);
			continue;
		}
		for (size_t k = w->v.n; k-- > 0;) {
			struct event *in = &w->v.v[k].ev;

			if (in->end_ns < event_start(ev))
				break;
			if (in->ctx == ev->ctx && in->depth > ev->depth &&
			    event_start(in) >= event_start(ev))
				in->depth--;
		}
	}
}

static void only_scheduler(struct way *w)
{
	for (size_t i = 0; i < w->l->ev.n; i++) {
		if (w->l->ev.v[i].op >> 8 == SOURCE_SCHED)
			send(w, &w->l->ev.v[i], 0, false);
	}
}

/* Who held the CPUs is not recorded. */
static void no_occupants(struct way *w)
{
	for (size_t i = 0; i < w->l->ev.n; i++) {
		if (w->l->ev.v[i].op != OP_SCHED_OCCUPIED)
			send(w, &w->l->ev.v[i], 0, false);
	}
}

/* One call of a thousand claims to have lasted longer than there is time. */
static void absurd(struct way *w)
{
	for (size_t i = 0; i < w->l->ev.n; i++) {
		struct event ev = w->l->ev.v[i];

		if (chance(w, i, 1000)) {
			w->lost++; /* as good as */
			ev.dur_ns = i % 2 ? (uint64_t)ev.end_ns + 5 : UINT64_C(1) << 61;
		}
		send(w, &ev, 0, false);
	}
}

/* Values of columns that nothing real has. */
static void nonsense(struct way *w)
{
	for (size_t i = 0; i < w->l->ev.n; i++) {
		struct event ev = w->l->ev.v[i];

		for (unsigned k = 0; k < OP_COLUMNS_MAX && chance(w, i, 500); k++) {
			if (ev.present >> k & 1)
				ev.x[k] = i % 3 ? UINT64_MAX : i % 2 ? 1ull << 63 : 0;
		}
		send(w, &ev, 0, false);
	}
}

/* ---- the analysis of it ---- */

static void item(struct cause *c, const struct stream_item *it)
{
	struct err e = { 0 };

	if (cause_item(c, it, &e) < 0) {
		printf("# %s\n", e.text);
		abort();
	}
}

static void analyze(const struct way *w, struct verdict *v)
{
	struct cause *c;
	size_t rec = 0, at = 0;

	memset(v, 0, sizeof(*v));
	v->sink.record = verdict_told;
	c = cause_new(w->l->w, NULL, &v->sink);
	while (at < w->v.n || rec < w->l->rec.n) {
		struct stream_item it = { .kind = STREAM_EVENTS, .n = 1 };

		/* Records stand where they stood, as far as that is still a place. */
		if (rec < w->l->rec.n && (at == w->v.n || w->l->rec_at.v[rec] <= at)) {
			struct record r = w->l->rec.v[rec++];

			if (r.kind == RECORD_SESSION)
				r.u.SESSION.off_cpu = w->off_cpu;
			it = (struct stream_item){ .kind = STREAM_RECORD, .record = &r };
			item(c, &it);
			continue;
		}
		it.events = &w->v.v[at].ev;
		it.late = w->v.v[at].late;
		it.lost = w->v.v[at].lost;
		it.watermark_ns = w->v.v[at].ev.end_ns;
		at++;
		item(c, &it);
	}
	if (cause_finish(c, NULL) < 0)
		abort();
	cause_free(c);
}

/* What a scenario tells in the whole, by kind. */
static uint64_t lost_of(const struct verdict *v, struct bytes kind, bool *told)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < v->list.v.n; i++) {
		if (!bytes_equal(law_kind(v->list.v.v[i].kind), law_kind(kind)))
			continue;
		ns += v->list.v.v[i].lost_ns;
		*told = true;
	}
	return ns;
}

/* Kinds that say what the host did to threads. */
static bool of_host(struct bytes kind)
{
	static const char *const kinds[] = { "cpu-preempted",	"cpu-contended", "cpu-throttled",
					     "noisy-neighbour", "lock-wait",	 "disk-stall" };

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (bytes_equal(kind, bytes_of(kinds[i])))
			return true;
	}
	return false;
}

/* What a thread did is not known where nothing says when it was off its CPU. */
static bool own_code(const struct finding *c)
{
	return strstr(c->summary.p, "its own code") || strstr(c->summary.p, "on its CPU");
}

static double coverage(const struct verdict *v, const char *member)
{
	const char *last = v->text.p, *end = v->text.p + v->text.n - 1;
	struct json j = JSON_NONE, x;
	double value;

	/* The analysis record is the last line. */
	for (const char *p = v->text.p; p < end - 1; p++)
		last = *p == '\n' ? p + 1 : last;
	if (json_parse((struct bytes){ last, (size_t)(end - last) }, &j, NULL))
		return -1;
	x = json_get(j, member);
	value = json_double(x, -1);
	json_free(x);
	json_free(j);
	return value;
}

struct wrong {
	const char *name;
	void (*spoil)(struct way *w);
	double more; /* so much longer it may seem, where what is left says so */
};

static void check(const struct law *l, const struct verdict *whole, const char *scenario,
		  const struct wrong *wrong)
{
	struct verdict v;
	struct way w;
	unsigned strange = 0, more = 0, host = 0, sound = 0;

	fresh(&w, l);
	wrong->spoil(&w);
	analyze(&w, &v);
	for (size_t i = 0; i < v.list.v.n; i++) {
		const struct finding *c = &v.list.v.v[i];
		bool known = false;
		uint64_t lost = lost_of(whole, c->kind, &known);

		sound += c->known;
		if (!known)
			printf("# %s: %.200s\n", c->kind.p, c->summary.p);
		strange += !known;
		if (known && (double)lost_of(&v, c->kind, &known) > wrong->more * (double)lost) {
			printf("# %s: %.200s\n", c->kind.p, c->summary.p);
			more++;
		}
		host += of_host(c->kind) || own_code(c);
	}
	ok(strange == 0, "%s, %s: nothing else is told", scenario, wrong->name);
	ok(more == 0, "%s, %s: nor more of it", scenario, wrong->name);
	is_u64(sound, v.list.v.n, "%s, %s: every chain has a body that can be read", scenario,
	       wrong->name);
	if (!w.off_cpu)
		ok(host == 0, "%s, %s: nothing is said of the host", scenario, wrong->name);
	ok(coverage(&v, "lost_events") == (double)w.lost &&
		   coverage(&v, "late_events") == (double)w.late,
	   "%s, %s: the analysis says what is missing", scenario, wrong->name);
	verdict_free(&v);
	vec_free(&w.v);
}

int main(void)
{
	static const char *const scenarios[] = {
		"clean",
		"incident",
		"contended",
		"throttled",
		"lock",
		"disk",
		"noisy-neighbour",
		"starved",
		"worker-starved",
		"memcpy-bottleneck",
		"cold-start",
		"periodic-spike",
		"alloc-churn",
		"sync-storm",
		"launch-bound",
		"straggler",
		"clock-skew",
		"errors",
		"gpu-leak",
		"graph-recapture",
		"ranks-apart",
		"copy-overlap",
		"tool-call",
		"paced",
	};
	static const struct wrong all[] = {
		{ "a fifth lost", one_of_five, 1.05 },
		{ "a hole of three seconds", hole, 1.05 },
		{ "the clock set forward", forward, 1.05 },
		{ "the clock set back", backward, 1.05 },
		{ "events out of order", out_of_order, 1.05 },
		{ "no scheduler events", no_scheduler, 1.1 },
		{ "no occupants", no_occupants, 1.05 },
		{ "no driver calls", no_driver, 1.5 },
		{ "no runtime calls", no_runtime, 1.5 },
		{ "the scheduler's events alone", only_scheduler, 1.05 },
		{ "absurd durations", absurd, 1.05 },
		/* a size, a handle: what it says is taken as said */
		{ "absurd values", nonsense, 1e9 },
	};

	for (unsigned i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct verdict whole;
		struct sim_options o;
		struct law l;

		if (sim_scenario_options(scenarios[i], &o))
			abort();
		o.duration_ns = 10 * SEC;
		o.seed = 31 + i;
		law_open(&l, &o);
		law_analyze(&l, 0, &whole);
		/* Every other wrong of one scenario, the others of the next. */
		for (unsigned k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
			if (k % 2 == i % 2 || tap_all())
				check(&l, &whole, scenarios[i], &all[k]);
		}
		verdict_free(&whole);
		law_close(&l);
	}
	return tap_done();
}
