/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws of blame on generated streams. The parts of every piece sum to its length and the pieces of
 * a thread tile its time. A second blame, written start-ordered and quadratic straight from the
 * definition, gives every call the same parts. A dropped event never makes anybody a culprit. What
 * is held is bounded.
 */
#include "tests/tap.h"

#include "lib/base/hash.h"
#include "lib/attrib/line.h"
#include "tests/laws/law.h"

struct tiles {
	struct line_sink sink;
	uint64_t pieces, bad_sums, gaps, together;
	int64_t cursor[4096]; /* by thread */
	bool seen[4096];
	uint64_t sum[PART_COUNT];
	uint64_t print; /* of all that pieces say, whatever their order */
};

static uint64_t print_of(const struct line_piece *p)
{
	uint64_t said[] = { p->thread,
			    p->process,
			    p->node,
			    p->depth,
			    p->ev ? p->ev->op : 0,
			    (uint64_t)p->start_ns,
			    (uint64_t)p->end_ns,
			    p->calls_ns,
			    p->overlap_ns,
			    p->sound,
			    p->parts->mask,
			    p->parts->nculprits };
	uint64_t h = hash_bytes(said, sizeof(said), 0);

	for (uint32_t m = p->parts->mask; m; m &= m - 1)
		h = hash_u64(h ^ p->parts->ns[__builtin_ctz(m)]);
	return h;
}

static void tile(struct tiles *t, const struct line_piece *p)
{
	t->pieces++;
	t->print += print_of(p);
	if (parts_sum(p->parts, PARTS_ALL) != (uint64_t)(p->end_ns - p->start_ns))
		t->bad_sums++;
	if (p->depth > 0 || p->thread >= 4096)
		return;
	if (t->seen[p->thread] && p->start_ns + (int64_t)p->overlap_ns != t->cursor[p->thread])
		t->gaps++;
	t->seen[p->thread] = true;
	t->cursor[p->thread] = p->end_ns;
	for (unsigned i = 0; i < PART_COUNT; i++)
		t->sum[i] += parts_get(p->parts, (enum part)i);
}

static void tile_piece(struct line_sink *s, const struct line_piece *p)
{
	struct tiles *t = (struct tiles *)s;
	struct parts parts;

	if (p->before_ns) {
		struct line_piece before = line_before(p, &parts);

		t->together++;
		tile(t, &before);
	}
	tile(t, p);
}

static void tile_off(struct line_sink *s, const struct line_piece *p)
{
	struct tiles *t = (struct tiles *)s;

	t->pieces++;
	if (parts_sum(p->parts, PARTS_ALL) != (uint64_t)(p->end_ns - p->start_ns))
		t->bad_sums++;
}

static struct line *run(const struct law *l, struct line_sink *sink, size_t drop)
{
	struct line *line = line_new(l->w, sink);
	int64_t before = INT64_MIN;

	for (size_t i = 0; i < l->ev.n; i++) {
		if (i == drop) {
			line_lost(line, before,
				  i + 1 < l->ev.n ? l->ev.v[i + 1].end_ns : l->ev.v[i].end_ns, 1);
			continue;
		}
		line_event(line, &l->ev.v[i], false, NULL);
		before = l->ev.v[i].end_ns;
	}
	return line;
}

static void sums(const struct law *l, const char *name)
{
	struct tiles *t = calloc(1, sizeof(*t)), apart;
	struct line *line;

	t->sink = (struct line_sink){ tile_piece, tile_piece, tile_off };
	line = run(l, &t->sink, SIZE_MAX);
	ok(t->pieces > 1000, "%s: %" PRIu64 " pieces", name, t->pieces);
	is_u64(t->bad_sums, 0, "%s: the parts of every piece sum to its length", name);
	is_u64(t->gaps, 0, "%s: the pieces of a thread tile its time", name);
	is_u64(line_totals(line)->unsound, 0, "%s: nothing contradicts itself", name);
	line_free(line);
	apart = *t;
	*t = (struct tiles){ .sink = { tile_piece, tile_piece, tile_off, true } };
	line_free(run(l, &t->sink, SIZE_MAX));
	ok(t->together && !apart.together && t->pieces == apart.pieces && t->print == apart.print &&
		   !t->bad_sums && !t->gaps && !memcmp(t->sum, apart.sum, sizeof(t->sum)),
	   "%s: and so with the time before a call told with it", name);
	free(t);
}

/* ---- the same blame from the definition
 * ---------------------------------------------------------- */

#define NAMES 64

struct slow {
	const struct law *l;
	char name[NAMES][48];
	uint64_t ns[PART_COUNT][NAMES]; /* of one call; name 0 is nobody */
	unsigned names;
};

static unsigned name_at(struct slow *s, const char *text)
{
	for (unsigned i = 1; i < s->names; i++) {
		if (!strcmp(s->name[i], text))
			return i;
	}
	if (s->names == NAMES)
		abort();
	snprintf(s->name[s->names], sizeof(s->name[0]), "%s", text);
	return s->names++;
}

static uint64_t col(const struct event *ev, uint16_t column, uint64_t absent)
{
	uint64_t v;

	return event_get(ev, op_builtin(ev->op), column, &v) ? v : absent;
}

static uint32_t thread_of(const struct slow *s, const struct event *ev)
{
	const struct world_ctx *c = world_get_ctx(s->l->w, ev->ctx);

	return c ? c->thread : 0;
}

static int64_t clip(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
	int64_t from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;

	return to > from ? to - from : 0;
}

/* [a, b) of a wait on this CPU: who ran there, over all slices of the recording. */
static uint64_t slow_occupants(struct slow *s, enum part part, uint64_t cpu, int64_t a, int64_t b)
{
	uint64_t covered = 0;

	for (size_t i = 0; i < s->l->ev.n; i++) {
		const struct event *ev = &s->l->ev.v[i];
		const struct world_thread *t;
		const struct world_process *p;
		int64_t ns;

		if (ev->op != OP_SCHED_OCCUPIED || col(ev, COL_CPU, 0) != cpu)
			continue;
		ns = clip(event_start(ev), ev->end_ns, a, b);
		if (ns == 0)
			continue;
		t = world_get_thread(s->l->w, (uint32_t)col(ev, COL_OCCUPANT, 0));
		p = t ? world_get_process(s->l->w, t->process) : NULL;
		covered += (uint64_t)ns;
		if (p && p->tgid == 0)
			s->ns[PART_CPU_IDLE][0] += (uint64_t)ns;
		else
			s->ns[part][name_at(s, t ? world_text(s->l->w, t->comm).p : "?")] +=
				(uint64_t)ns;
	}
	return covered;
}

static bool slow_is_mutex(const struct event *ev)
{
	return col(ev, COL_OBJECT_KIND, 0) == OBJECT_FUTEX && col(ev, COL_FUTEX_OP, 99) == 0 &&
	       col(ev, COL_FUTEX_VAL, 0) == 2;
}

static void slow_wait(struct slow *s, const struct event *ev, int64_t a, int64_t b)
{
	int64_t ready = ev->end_ns - (int64_t)col(ev, COL_WAIT_NS, 0);
	int64_t wait = clip(ready, ev->end_ns, a, b);
	enum part part = col(ev, COL_WAKER_KIND, 0) == WAKER_NONE ? PART_PREEMPTED : PART_RUNQ;
	uint64_t throttled = col(ev, COL_THROTTLED_NS, 0), covered;

	if (wait <= 0)
		return;
	s->ns[PART_THROTTLED][0] += throttled;
	if (throttled) { /* generated ones throttle the whole wait */
		if ((int64_t)throttled != wait)
			s->ns[PART_WAIT_UNKNOWN][0] += (uint64_t)wait - throttled;
		return;
	}
	covered = slow_occupants(s, part, col(ev, COL_CPU_IN, 0), ready > a ? ready : a,
				 ev->end_ns < b ? ev->end_ns : b);
	s->ns[PART_WAIT_UNKNOWN][0] += (uint64_t)wait - covered;
}

/* [a, b) of a lock wait ended by this holder. */
static void slow_holder(struct slow *s, uint32_t holder, int64_t a, int64_t b)
{
	const struct world_thread *t = world_get_thread(s->l->w, holder);
	uint64_t left = (uint64_t)(b - a);

	for (size_t i = 0; i < s->l->ev.n; i++) {
		const struct event *ev = &s->l->ev.v[i];
		int64_t ready = ev->end_ns - (int64_t)col(ev, COL_WAIT_NS, 0);

		if (ev->op != OP_SCHED_OFFCPU || thread_of(s, ev) != holder)
			continue;
		if (clip(ready, ev->end_ns, a, b)) {
			slow_wait(s, ev, a, b);
			left -= (uint64_t)clip(ready, ev->end_ns, a, b);
		}
		if (slow_is_mutex(ev) && clip(event_start(ev), ready, a, b))
			abort(); /* generated holders do not wait for locks themselves */
		if (col(ev, COL_OBJECT_KIND, 0) == OBJECT_DISK) {
			s->ns[PART_DISK][0] += (uint64_t)clip(event_start(ev), ready, a, b);
			left -= (uint64_t)clip(event_start(ev), ready, a, b);
		}
	}
	s->ns[PART_LOCK][name_at(s, world_text(s->l->w, t->comm).p)] += left;
}

/* All off-CPU intervals inside a call, from the definition. Blocked time that is neither disk nor
 * lock is not compared. */
static void slow_call(struct slow *s, const struct event *call)
{
	memset(s->ns, 0, sizeof(s->ns));
	for (size_t i = 0; i < s->l->ev.n; i++) {
		const struct event *ev = &s->l->ev.v[i];
		int64_t ready;

		if (ev->op != OP_SCHED_OFFCPU || ev->end_ns > call->end_ns ||
		    event_start(ev) < event_start(call) || thread_of(s, ev) != thread_of(s, call))
			continue;
		ready = ev->end_ns - (int64_t)col(ev, COL_WAIT_NS, 0);
		slow_wait(s, ev, event_start(ev), ev->end_ns);
		if (col(ev, COL_OBJECT_KIND, 0) == OBJECT_DISK)
			s->ns[PART_DISK][0] += (uint64_t)(ready - event_start(ev));
		else if (slow_is_mutex(ev))
			slow_holder(s, (uint32_t)col(ev, COL_WAKER, 0), event_start(ev), ready);
	}
}

struct compare {
	struct line_sink sink;
	struct slow slow;
	struct line *line;
	uint64_t calls, differ;
};

static void no_piece(struct line_sink *sink, const struct line_piece *p)
{
}

static void compare_call(struct line_sink *sink, const struct line_piece *p)
{
	struct compare *c = (struct compare *)sink;
	uint64_t named[PART_COUNT][NAMES] = { 0 };

	/* Most calls have nothing in them; of those a few will do. */
	if (!(p->parts->mask & ~(1u << PART_SELF | 1u << PART_DEVICE)) && c->calls % 64 != 0 &&
	    c->calls > 64) {
		c->calls++;
		return;
	}
	c->calls++;
	slow_call(&c->slow, p->ev);
	for (unsigned i = 0; i < p->parts->nculprits; i++) {
		const struct line_culprit *who =
			culprit_get(line_culprits(c->line), p->parts->c[i].culprit);

		if (who->kind == CULPRIT_TASK || who->kind == CULPRIT_OWN ||
		    who->kind == CULPRIT_HOLDER)
			named[p->parts->c[i].part]
			     [name_at(&c->slow, world_text(c->slow.l->w, who->name).p)] +=
				p->parts->c[i].ns;
	}
	for (unsigned part = 0; part < PART_COUNT; part++) {
		uint64_t all = 0;

		if (!(PARTS_HOST >> part & 1))
			continue;
		for (unsigned k = 0; k < c->slow.names; k++) {
			all += c->slow.ns[part][k];
			if (k && c->slow.ns[part][k] != named[part][k]) {
				c->differ++;
				return;
			}
		}
		if (all != parts_get(p->parts, (enum part)part)) {
			c->differ++;
			return;
		}
	}
}

static void brute(const struct law *l, const char *name)
{
	struct compare *c = calloc(1, sizeof(*c));

	c->sink = (struct line_sink){ compare_call, no_piece, no_piece };
	c->slow.l = l;
	c->slow.names = 1;
	c->line = line_new(l->w, &c->sink);
	for (size_t i = 0; i < l->ev.n; i++)
		line_event(c->line, &l->ev.v[i], false, NULL);
	ok(c->calls > 500, "%s: %" PRIu64 " calls", name, c->calls);
	is_u64(c->differ, 0, "%s: a blame from the definition agrees on every call", name);
	line_free(c->line);
	free(c);
}

/* ---- what a hypervisor takes
 * -------------------------------------------------------------------------- */

struct steal {
	struct line_sink sink;
	const struct law *l;
	uint64_t calls, inside, differ, sum;
};

static void steal_piece(struct line_sink *sink, const struct line_piece *p)
{
	struct steal *s = (struct steal *)sink;

	if (p->depth == 0)
		s->sum += parts_get(p->parts, PART_STOLEN);
}

/* Everything that was taken from a call's thread while it was open. */
static void steal_call(struct line_sink *sink, const struct line_piece *p)
{
	struct steal *s = (struct steal *)sink;
	uint64_t ns = 0;

	steal_piece(sink, p);
	s->calls++;
	if (!parts_get(p->parts, PART_STOLEN) && s->calls % 64)
		return;
	for (size_t i = 0; i < s->l->ev.n; i++) {
		const struct event *ev = &s->l->ev.v[i];

		if (ev->ctx != p->ev->ctx || event_start(ev) < p->start_ns ||
		    ev->end_ns > p->end_ns)
			continue;
		ns += ev->op == OP_SCHED_STOLEN	  ? ev->dur_ns
		      : ev->op == OP_SCHED_OFFCPU ? col(ev, COL_STOLEN_NS, 0)
						  : 0;
	}
	s->inside += ns != 0;
	s->differ += ns != parts_get(p->parts, PART_STOLEN);
}

static void steals(unsigned hog_percent)
{
	struct steal s = { .sink = { steal_call, steal_piece, no_piece } };
	struct sim_options o;
	uint64_t taken = 0;
	struct line *line;
	struct law l;

	sim_scenario_options("clean", &o);
	o.steal_percent = 12;
	o.hog_percent = hog_percent;
	o.duration_ns = 500000000;
	law_open(&l, &o);
	sums(&l, hog_percent ? "stolen, beside a hog" : "stolen");
	s.l = &l;
	for (unsigned i = 0; i < l.ntruth; i++)
		taken += strcmp(l.truth[i].kind, "stolen") == 0 ? l.truth[i].lost_ns : 0;
	line = line_new(l.w, &s.sink);
	for (size_t i = 0; i < l.ev.n; i++)
		line_event(line, &l.ev.v[i], false, NULL);
	ok(s.inside > 20, "taken within %" PRIu64 " of %" PRIu64 " calls", s.inside, s.calls);
	is_u64(s.differ, 0, "each has as its part what was taken within it");
	ok(taken > 30000000 && taken < 100000000, "%" PRIu64 " ns were taken", taken);
	is_u64(s.sum, taken, "and all of it is found");
	line_free(line);
	law_close(&l);
}

/* ---- dropped events
 * -------------------------------------------------------------------------------- */

struct blamed {
	struct line_sink sink;
	const struct law *l;
	struct line *line;
	char name[PART_COUNT][NAMES][48];
	unsigned n[PART_COUNT];
};

static void blamed_off(struct line_sink *sink, const struct line_piece *p)
{
	struct blamed *b = (struct blamed *)sink;

	for (unsigned i = 0; i < p->parts->nculprits; i++) {
		const struct line_culprit *who =
			culprit_get(line_culprits(b->line), p->parts->c[i].culprit);
		unsigned part = p->parts->c[i].part, k = 0;
		const char *text = who->name ? world_text(b->l->w, who->name).p : "quota or device";

		while (k < b->n[part] && strcmp(b->name[part][k], text) != 0)
			k++;
		if (k == b->n[part] && k < NAMES)
			snprintf(b->name[part][b->n[part]++], sizeof(b->name[0][0]), "%s", text);
	}
}

static void blame_all(const struct law *l, size_t drop, struct blamed *b)
{
	int64_t before = INT64_MIN;

	memset(b, 0, sizeof(*b));
	b->l = l;
	b->sink = (struct line_sink){ no_piece, no_piece, blamed_off };
	b->line = line_new(l->w, &b->sink);
	for (size_t i = 0; i < l->ev.n; i++) {
		if (i == drop) {
			line_lost(b->line, before,
				  i + 1 < l->ev.n ? l->ev.v[i + 1].end_ns : l->ev.v[i].end_ns, 1);
			continue;
		}
		line_event(b->line, &l->ev.v[i], false, NULL);
		before = l->ev.v[i].end_ns;
	}
	line_free(b->line);
}

static void drops(const struct law *l, const char *name)
{
	struct blamed *whole = calloc(1, sizeof(*whole)), *less = calloc(1, sizeof(*less));
	unsigned tried = 0, added = 0;

	blame_all(l, SIZE_MAX, whole);
	for (size_t i = 0; i < l->ev.n; i++) {
		/* All that is not a plain call, and some of those. */
		if (l->ev.v[i].op != OP_SCHED_OFFCPU && l->ev.v[i].op != OP_SCHED_OCCUPIED &&
		    l->ev.v[i].op != OP_SCHED_MIGRATE && i % 97 != 0)
			continue;
		tried++;
		blame_all(l, i, less);
		for (unsigned part = 0; part < PART_COUNT; part++) {
			for (unsigned k = 0; k < less->n[part]; k++) {
				unsigned m = 0;

				while (m < whole->n[part] &&
				       strcmp(whole->name[part][m], less->name[part][k]) != 0)
					m++;
				added += m == whole->n[part];
			}
		}
	}
	ok(tried > 50, "%s: %u events dropped, one at a time", name, tried);
	is_int(added, 0, "%s: none of them made anybody a culprit", name);
	free(whole);
	free(less);
}

/* ---- memory
 * ---------------------------------------------------------------------------------------- */

static void bounded(void)
{
	size_t held[2][4];

	for (unsigned i = 0; i < 2; i++) {
		struct sim_options o;
		struct line_memory m;
		struct tiles *t = calloc(1, sizeof(*t));
		struct line *line;
		struct law l;

		sim_scenario_options("incident", &o);
		o.lock_percent = 10;
		o.duration_ns = i ? 12000000000 : 3000000000;
		law_open(&l, &o);
		t->sink = (struct line_sink){ tile_piece, tile_piece, tile_off };
		line = run(&l, &t->sink, SIZE_MAX);
		line_memory(line, &m);
		held[i][0] = m.threads;
		held[i][1] = m.levels;
		held[i][2] = m.culprits;
		held[i][3] = m.wakers;
		ok(m.wakers <= 256 * m.threads, "at most 256 intervals per thread (%zu)", m.wakers);
		ok(m.slices <= 4096 * 64, "at most 4096 slices per CPU (%zu)", m.slices);
		line_free(line);
		law_close(&l);
		free(t);
	}
	is_u64(held[1][0], held[0][0], "four times the time, as many threads");
	is_u64(held[1][1], held[0][1], "as many accumulators");
	is_u64(held[1][2], held[0][2], "as many culprits");
}

int main(void)
{
	static const char *const names[] = { "incident", "contended", "throttled",
					     "lock",	 "disk",      "clean" };

	for (unsigned i = 0; i < 6; i++) {
		struct sim_options o;
		struct law l;

		sim_scenario_options(names[i], &o);
		o.seed = 7 + i;
		o.duration_ns = 1000000000;
		law_open(&l, &o);
		sums(&l, names[i]);
		law_close(&l);
		o.duration_ns = 250000000;
		law_open(&l, &o);
		brute(&l, names[i]);
		law_close(&l);
		o.duration_ns = 60000000;
		o.launches = 2;
		law_open(&l, &o);
		drops(&l, names[i]);
		law_close(&l);
	}
	{
		struct sim_options o;
		struct law l;

		/* a lock holder kept from running: blame that moves */
		sim_scenario_options("lock", &o);
		o.lock_holder_preempted = true;
		o.duration_ns = 250000000;
		law_open(&l, &o);
		sums(&l, "holder kept");
		brute(&l, "holder kept");
		law_close(&l);
		o.duration_ns = 60000000;
		law_open(&l, &o);
		drops(&l, "holder kept");
		law_close(&l);
	}
	steals(0);
	steals(20);
	bounded();
	return tap_done();
}
