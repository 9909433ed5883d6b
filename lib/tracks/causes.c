/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts the parts of a window by who did what, and adds up those that are equal; within each, those
 * at equal lines.
 */
#include "lib/tracks/causes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/map.h"

/* Severity follows effect, as of all findings. */
#define HIGH_SHARE   0.10
#define MEDIUM_SHARE 0.02

#define SMALL_TAKER 0.25

/* What has less of a line does not say what the culprit did there. */
#define INNER_SHARE 0.5

/* A part with its anchor's place as a frame, or as a function (track_names.h). */
struct placed_part {
	struct track_part p;
	uint32_t at;
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Waits for an unknown partner are kept apart by whether they ran into their timeout. */
static bool timed_out(const struct track_part *p)
{
	return p->ran_out &&
	       (p->class == PATH_BLOCKED || p->class == PATH_OUTSIDE || p->class == PATH_REPLY);
}

/* The thread had the CPU, and not what is waited for. */
static bool is_occupied(const struct track_part *p)
{
	return p->occupant && p->occupant == p->leaf;
}

static int compare_causes(const struct track_part *a, const struct track_part *b)
{
	int by = compare_u64(a->class, b->class);

	if (!by)
		by = compare_u64(a->culprit, b->culprit);
	if (!by)
		by = compare_u64(a->device, b->device);
	if (!by)
		by = compare_u64(a->object, b->object);
	if (!by)
		by = compare_u64(a->pace, b->pace);
	if (!by)
		by = compare_u64(a->poll.interval_us > 0, b->poll.interval_us > 0);
	if (!by)
		by = compare_u64(timed_out(a), timed_out(b));
	if (!by)
		by = compare_u64(a->event_loop, b->event_loop);
	if (!by)
		by = compare_u64(is_occupied(a), is_occupied(b));
	if (!by)
		by = compare_u64(a->exclusion, b->exclusion);
	if (!by)
		by = compare_u64(a->waiter, b->waiter);
	if (!by)
		by = compare_u64(a->gil, b->gil);
	if (!by)
		by = compare_u64(a->resumed, b->resumed);
	return by ? by : compare_u64(a->holder, b->holder);
}

static int compare_lines(const struct placed_part *a, const struct placed_part *b)
{
	int by = compare_u64(a->at, b->at);

	if (!by)
		by = compare_u64(a->p.line, b->p.line);
	if (!by)
		by = compare_u64(a->p.op, b->p.op);
	return by ? by : compare_u64(a->p.sampled, b->p.sampled);
}

static int compare_parts(const void *x, const void *y)
{
	const struct placed_part *a = x, *b = y;
	int by = compare_causes(&a->p, &b->p);

	if (!by)
		by = compare_lines(a, b);
	return by ? by : compare_u64(a->p.inner, b->p.inner);
}

static int compare_time(const void *x, const void *y)
{
	const struct path_cause *a = x, *b = y;
	int by = compare_u64(b->ns, a->ns);

	return by ? by
		  : (a->longest_from_ns > b->longest_from_ns) -
			       (a->longest_from_ns < b->longest_from_ns);
}

/* Kept if it is one of the largest. */
static void add_line(struct path_cause *c, const struct path_cause_line *line)
{
	unsigned at = c->nlines;

	while (at > 0 && line->ns > c->lines[at - 1].ns)
		at--;
	if (at == PATH_CAUSE_LINES)
		return;
	if (c->nlines < PATH_CAUSE_LINES)
		c->nlines++;
	for (unsigned k = c->nlines - 1; k > at; k--)
		c->lines[k] = c->lines[k - 1];
	c->lines[at] = *line;
}

static bool is_other_process(const struct track_names *names, uint32_t anchor, uint32_t thread)
{
	uint32_t own = world_thread_process_id(names->w, anchor),
		 other = world_thread_process_id(names->w, thread);

	return own && other && own != other;
}

static void add_part(struct path_cause *c, const struct placed_part *part)
{
	const struct track_part *p = &part->p;

	c->ns += p->ns;
	c->pieces += p->pieces;
	if (p->longest_ns <= c->longest_ns)
		return;
	c->longest_ns = p->longest_ns;
	c->longest_from_ns = p->longest_from_ns;
	c->longest_thread = p->thread;
	c->longest = (struct path_cause_line){ .at = part->at,
					       .line = p->line,
					       .op = p->op,
					       .sampled = p->sampled,
					       .ns = p->longest_ns };
}

/* Which of the culprit's threads are in it: a pool is one culprit, and so are all ranks. */
static bool find_threads(struct path_cause *c, const struct placed_part *v, size_t n)
{
	struct map ns_of = { 0 };
	uint64_t thread, ns, most = 0;
	bool ok = true;
	size_t at = 0;

	for (size_t i = 0; ok && i < n && c->culprit; i++) {
		ns = 0;
		map_get(&ns_of, v[i].p.thread, &ns);
		ok = map_put(&ns_of, v[i].p.thread, ns + v[i].p.ns);
	}
	c->threads = (uint32_t)ns_of.n;
	while (map_each(&ns_of, &at, &thread, &ns)) {
		if (ns < most || (ns == most && c->lead && thread > c->lead))
			continue;
		most = ns;
		c->lead = (uint32_t)thread;
		c->lead_ns = ns;
	}
	map_free(&ns_of);
	return ok;
}

/* The cause of the n parts, which are in order of their lines. */
static struct path_cause cause_of(const struct placed_part *v, size_t n,
				  const struct course_grid *grid)
{
	struct path_cause c = { .class = v->p.class,
				.culprit = v->p.culprit,
				.device = v->p.device,
				.object = v->p.object,
				.pace = v->p.pace,
				.timed_out = timed_out(&v->p),
				.event_loop = v->p.event_loop,
				.occupied = is_occupied(&v->p),
				.exclusion = v->p.exclusion,
				.waiter = v->p.waiter,
				.gil = v->p.gil,
				.holder = v->p.holder,
				.resumed = v->p.resumed };
	uint64_t poll_ns = 0;

	for (size_t i = 0, k; i < n; i = k) {
		struct path_cause_line line = { .at = v[i].at,
						.line = v[i].p.line,
						.op = v[i].p.op,
						.sampled = v[i].p.sampled };

		uint64_t long_ns = 0, longs = 0, inner_ns = 0, most_ns = 0;

		for (k = i; k < n && compare_lines(&v[i], &v[k]) == 0; k++) {
			if (k == i || v[k].p.inner != v[k - 1].p.inner)
				inner_ns = 0;
			inner_ns += v[k].p.ns;
			if (inner_ns > most_ns) {
				most_ns = inner_ns;
				line.inner = v[k].p.inner;
			}
			line.ns += v[k].p.ns;
			long_ns += v[k].p.long_ns;
			longs += v[k].p.longs;
			add_part(&c, &v[k]);
			if (v[k].p.course)
				course_spread(v[k].p.course, grid, v[k].p.ns, c.course);
			if (v[k].p.ns > poll_ns) {
				poll_ns = v[k].p.ns;
				c.poll = v[k].p.poll;
			}
		}
		if ((double)most_ns < INNER_SHARE * (double)line.ns)
			line.inner = 0;
		add_line(&c, &line);
		if (long_ns > c.longs.ns) {
			c.longs = line;
			c.longs.ns = long_ns;
			c.nlongs = longs;
		}
	}
	return c;
}

static void sort_causes(struct path_causes *c)
{
	if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof(c->v.v[0]), compare_time);
}

static void merge_lines(struct path_cause *into, const struct path_cause *from)
{
	for (unsigned i = 0; i < from->nlines; i++) {
		struct path_cause_line line = from->lines[i];

		for (unsigned k = 0; k < into->nlines; k++) {
			if (into->lines[k].at != line.at || into->lines[k].line != line.line ||
			    into->lines[k].op != line.op || into->lines[k].sampled != line.sampled)
				continue;
			if (into->lines[k].inner != line.inner)
				line.inner = 0;
			line.ns += into->lines[k].ns;
			for (into->nlines--; k < into->nlines; k++)
				into->lines[k] = into->lines[k + 1];
		}
		add_line(into, &line);
	}
}

static void merge_cause(struct path_cause *into, const struct path_cause *from)
{
	for (unsigned i = 0; i < COURSE_PARTS; i++)
		into->course[i] += from->course[i];
	into->ns += from->ns;
	into->pieces += from->pieces;
	into->threads += from->threads;
	if (from->longest_ns > into->longest_ns) {
		into->longest_ns = from->longest_ns;
		into->longest_from_ns = from->longest_from_ns;
		into->longest = from->longest;
		into->longest_thread = from->longest_thread;
	}
	merge_lines(into, from);
}

/* Of a machine full of small programs each takes next to nothing: those that took less than
 * SMALL_TAKER of what all took, or less than is grave, are one cause. In order of time. */
static void merge_takers(struct path_causes *c)
{
	struct path_cause *small = NULL;
	uint64_t taken = 0;
	size_t keep = 0;

	for (size_t i = 0; i < c->v.n; i++)
		taken += c->v.v[i].class == PATH_TAKEN ? c->v.v[i].ns : 0;
	for (size_t i = 0; i < c->v.n; i++) {
		const struct path_cause one = c->v.v[i];

		if (small && one.class == PATH_TAKEN) {
			merge_cause(small, &one);
			small->alike += 1 + one.alike;
			continue;
		}
		c->v.v[keep] = one;
		if (one.class == PATH_TAKEN && ((double)one.ns < SMALL_TAKER * (double)taken ||
						(double)one.ns < HIGH_SHARE * (double)c->ns))
			small = &c->v.v[keep];
		keep++;
	}
	c->v.n = keep;
}

/* Whether both say the same of the anchor, but for whom. */
static bool is_same_wait(const struct path_cause *a, const struct path_cause *b)
{
	return a->class == b->class && a->device == b->device && a->object == b->object &&
	       a->pace == b->pace && !a->poll.interval_us == !b->poll.interval_us &&
	       a->timed_out == b->timed_out && a->event_loop == b->event_loop &&
	       a->occupied == b->occupied && a->exclusion == b->exclusion &&
	       a->waiter == b->waiter && a->gil == b->gil && a->resumed == b->resumed &&
	       a->holder == b->holder && a->nlines && b->nlines;
}

/* Threads without a name that do the same for the anchor, at the same line: a pool. */
static bool is_of_pool(const struct track_names *names, const struct path_cause *a,
		       const struct path_cause *b)
{
	return a->lines[0].line && a->lines[0].line == b->lines[0].line &&
	       path_culprit_is_nameless(&names->culprits, a->lead) &&
	       path_culprit_is_nameless(&names->culprits, b->lead) &&
	       world_thread_process_id(names->w, a->lead) ==
		       world_thread_process_id(names->w, b->lead);
}

/* World string: the name of the process whose first thread it is; 0: it is none, or not known. */
static uint32_t first_thread_name(const struct world *w, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(w, thread);
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;

	return p && p->tgid == t->tid ? world_process_name(w, t->process, 0, INT64_MAX) : 0;
}

/* Processes of one name that the anchor waits for at the same line, such as what the script that it
 * runs there starts anew each time. */
static bool is_of_command(const struct track_names *names, const struct path_cause *a,
			  const struct path_cause *b)
{
	uint32_t name;

	if (!a->other_process || !b->other_process || !a->lines[0].at ||
	    a->lines[0].at != b->lines[0].at)
		return false;
	name = first_thread_name(names->w, a->lead);
	return name && name == first_thread_name(names->w, b->lead);
}

static bool is_alike(const struct track_names *names, const struct path_cause *a,
		     const struct path_cause *b)
{
	return is_same_wait(a, b) && (is_of_pool(names, a, b) || is_of_command(names, a, b));
}

/* In order of time. */
static void merge_alike(struct path_causes *c, const struct track_names *names)
{
	size_t keep = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		const struct path_cause one = c->v.v[i];
		size_t pool = one.culprit && one.class != PATH_TAKEN ? 0 : keep;

		while (pool < keep && !is_alike(names, &c->v.v[pool], &one))
			pool++;
		if (pool < keep)
			merge_cause(&c->v.v[pool], &one);
		else
			c->v.v[keep++] = one;
	}
	c->v.n = keep;
}

bool path_causes_make(struct path_causes *c, struct track_names *names, uint32_t anchor,
		      const struct track_parts *parts)
{
	size_t n = parts->v.n;
	struct placed_part *v = calloc(n ? n : 1, sizeof(*v));
	bool ok = v != NULL;

	c->v.n = 0;
	c->ns = 0;
	for (size_t i = 0; v && i < n; i++) {
		v[i].p = parts->v.v[i];
		if (v[i].p.stack)
			v[i].at = v[i].p.place ? v[i].p.place
					       : track_names_site(names, v[i].p.stack, v[i].p.met);
		if (v[i].p.line_met)
			v[i].p.line = track_names_function(names, v[i].p.line);
		c->ns += v[i].p.ns;
	}
	if (ok && n)
		qsort(v, n, sizeof(*v), compare_parts);
	for (size_t i = 0, k; ok && i < n; i = k) {
		struct path_cause one;

		for (k = i; k < n && compare_causes(&v[i].p, &v[k].p) == 0;)
			k++;
		one = cause_of(v + i, k - i, &parts->grid);
		ok = find_threads(&one, v + i, k - i);
		one.other_process = is_other_process(names, anchor, one.lead);
		ok = ok && vec_push(&c->v, one);
	}
	sort_causes(c);
	merge_takers(c);
	merge_alike(c, names);
	sort_causes(c);
	free(v);
	return ok;
}

void path_causes_free(struct path_causes *c)
{
	vec_free(&c->v);
}

bool path_cause_is_work(const struct path_cause *c)
{
	switch (c->class) {
	case PATH_DEVICE:
		return true;
	case PATH_OWN:
	case PATH_CALL:
		/* A thread that computes for the anchor is as good as the anchor; one that holds a
		 * lock is not, and another process is somebody's to speed up. */
		return !c->exclusion && !c->waiter && !c->other_process;
	default:
		return false;
	}
}

static unsigned severity_of_share(double share)
{
	return share >= HIGH_SHARE ? 3 : share >= MEDIUM_SHARE ? 2 : 1;
}

/* What makes up for the work is no loss; what may do so is grave at most where another thread held
 * it up by that. */
static unsigned severity_of_sleep(const struct path_cause *c, double share)
{
	unsigned severity = severity_of_share(share);

	if (c->pace == PACE_KEPT)
		return 0;
	return c->pace == PACE_UNKNOWN && !c->culprit && severity > 2 ? 2 : severity;
}

unsigned path_cause_severity(const struct path_cause *c, uint64_t window_ns)
{
	double share = window_ns ? (double)c->ns / (double)window_ns : 0;

	switch (c->class) {
	case PATH_UNENDED: /* whom it is for tells whether it is a hang (track_hang.h) */
	case PATH_UNKNOWN:
	case PATH_TOO_DEEP:
	case PATH_RECORDER:
	case PATH_DEMAND:
	case PATH_OUTSIDE: /* whether it is demand or a reply is not known */
		return 0;
	case PATH_SLEEP:
		return severity_of_sleep(c, share);
	default:
		break;
	}
	if (path_cause_is_work(c))
		return 0;
	return severity_of_share(share);
}
