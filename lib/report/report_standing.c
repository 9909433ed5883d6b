/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the stacks of threads that were still waiting when recording ended, innermost frame first,
 * one per place. Where many threads wait in one place, the thread they wait for is elsewhere: the
 * rarest place comes first. Parents that wait for a child come last, because the child is listed
 * itself.
 */
#include "lib/report/report_standing.h"

#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/base/vec.h"
#include "lib/report/report_parts.h"
#include "lib/event/part.h"

#define STANDS_STILL 0.9 /* of the time of a process */
#define PLACES	     8
#define PIDS	     4 /* named of a place */

/* Waits that the report shows as one. */
struct place {
	struct json wait; /* the first of them, owned */
	double pid[PIDS];
	unsigned nprocesses;
	double threads, longest_ns;
	bool parent; /* it waits for a child */
	size_t at;   /* in order of appearance */
};

static bool has_same_text(struct json a, struct json b, const char *key)
{
	struct json x = json_get(a, key), y = json_get(b, key);
	bool is = bytes_equal(json_bytes(x), json_bytes(y));

	json_free(x);
	json_free(y);
	return is;
}

static bool same_frames(struct json a, struct json b)
{
	struct json x = json_get(a, "frames"), y = json_get(b, "frames");
	size_t n = json_length(x), i = 0;
	bool is = n == json_length(y);

	for (; is && i < n; i++) {
		struct json f = json_at(x, i), g = json_at(y, i);

		is = bytes_equal(json_bytes(f), json_bytes(g));
		json_free(f);
		json_free(g);
	}
	json_free(x);
	json_free(y);
	return is;
}

bool report_stands(const struct report *r, struct json process)
{
	struct json all = json_get(r->chains->analysis, "standing");
	double sum = 0;

	for (size_t i = 0; i < json_length(all); i++) {
		struct json wait = json_at(all, i);

		sum += report_same_process(wait, process) ? report_number(wait, "sum_ns") : 0;
		json_free(wait);
	}
	json_free(all);
	return sum > 0 && sum > STANDS_STILL * report_number(process, "thread_ns");
}

/* Takes ownership of wait. */
static void add_wait(struct place *p, struct json wait)
{
	double pid = report_number(wait, "pid"), ns = report_number(wait, "longest_ns");
	struct json part = json_get(wait, "part");

	if (p->nprocesses < PIDS)
		p->pid[p->nprocesses] = pid;
	p->nprocesses++;
	p->threads += report_number(wait, "threads");
	if (ns > p->longest_ns)
		p->longest_ns = ns;
	p->parent = bytes_equal(json_bytes(part), bytes_of(part_name(PART_CHILD)));
	json_free(part);
	if (p->wait.is)
		json_free(wait);
	else
		p->wait = wait;
}

static int rarest_first(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent - y->parent;
	if (x->threads != y->threads)
		return x->threads < y->threads ? -1 : 1;
	if (x->longest_ns != y->longest_ns)
		return x->longest_ns < y->longest_ns ? 1 : -1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void report_standing_commands(struct buf *out, double pid)
{
	buf_printf(out,
		   "    $ sudo gdb -p %.0f -batch -ex 'thread apply all bt'\n"
		   "    $ sudo py-spy dump --pid %.0f      (of Python)\n",
		   pid, pid);
}

/* Processes, owned. */
struct processes {
	struct json *v;
	size_t n, cap;
};

static bool is_among(const struct processes *still, struct json wait)
{
	for (size_t i = 0; i < still->n; i++)
		if (report_same_process(wait, still->v[i]))
			return true;
	return false;
}

static struct json place_json(const struct place *p)
{
	static const char *const as_is[] = { "comm", "part", "frames" };
	struct json o = json_object(), pids = json_array();

	for (unsigned i = 0; i < sizeof(as_is) / sizeof(as_is[0]); i++)
		json_set(&o, as_is[i], json_get(p->wait, as_is[i]));
	for (unsigned i = 0; i < p->nprocesses && i < PIDS; i++)
		json_append(&pids, json_number(p->pid[i]));
	json_set(&o, "pids", pids);
	json_set(&o, "processes", json_number(p->nprocesses));
	json_set(&o, "threads", json_number(p->threads));
	json_set(&o, "longest_ns", json_number(p->longest_ns));
	return o;
}

static bool is_culprit(const struct report *r, double pid)
{
	for (size_t i = 0; i < r->chains->v.n; i++)
		if (r->chains->v.v[i].culprit.pid == pid)
			return true;
	return false;
}

/* A launcher, a tracker of resources: it makes no calls, waits for others to end or to write, and
 * nobody waits for it. */
static bool is_bystander(const struct report *r, struct json process, struct json waits)
{
	bool is = report_number(process, "calls") == 0 &&
		  !is_culprit(r, report_number(process, "pid"));
	size_t own = 0;

	for (size_t i = 0; is && i < json_length(waits); i++) {
		struct json wait = json_at(waits, i);
		bool its = report_same_process(wait, process);

		own += its;
		is = !its || report_is_true(wait, "bystander");
		json_free(wait);
	}
	return is && own;
}

/* Those that are news: bystanders only where nobody else was recorded. */
static void find_still(const struct report *r, struct json all, struct json waits,
		       struct processes *still)
{
	bool others = false;

	for (unsigned pass = 0; pass < 2 && still->n == 0 && !others; pass++)
		for (size_t i = 0; i < json_length(all); i++) {
			struct json p = json_at(all, i);
			bool shown = report_shows(r, p),
			     told = shown && (pass || !is_bystander(r, p, waits));

			others |= pass == 0 && told;
			if (!told || !report_stands(r, p) || !vec_push(still, p))
				json_free(p);
		}
}

struct json report_standing_places(const struct report *r, unsigned *processes)
{
	struct json waits = json_get(r->chains->analysis, "standing"),
		    all = json_get(r->chains->analysis, "processes"), out = json_array();
	VEC(struct place) places = { 0 };
	struct processes still = { 0 };

	find_still(r, all, waits, &still);
	*processes = (unsigned)still.n;
	for (size_t i = 0; still.n && i < json_length(waits); i++) {
		struct json wait = json_at(waits, i);
		size_t k = 0;

		if (!is_among(&still, wait)) {
			json_free(wait);
			continue;
		}
		while (k < places.n && !(has_same_text(places.v[k].wait, wait, "comm") &&
					 has_same_text(places.v[k].wait, wait, "part") &&
					 same_frames(places.v[k].wait, wait)))
			k++;
		if (k == places.n && !vec_push(&places, (struct place){ .at = k })) {
			json_free(wait);
			continue;
		}
		add_wait(&places.v[k], wait);
	}
	if (places.n)
		qsort(places.v, places.n, sizeof(*places.v), rarest_first);
	for (size_t i = 0; i < places.n; i++) {
		json_append(&out, place_json(&places.v[i]));
		json_free(places.v[i].wait);
	}
	for (size_t i = 0; i < still.n; i++)
		json_free(still.v[i]);
	vec_free(&still);
	vec_free(&places);
	json_free(waits);
	json_free(all);
	return out;
}

const char *report_standing_state(struct bytes part)
{
	enum part in = part_of(part);

	/* Of one that does not come on, "for work" is not known. */
	return in == PART_IDLE ? "waiting for another thread (condition, semaphore)"
			       : part_text(in);
}

static void place_text(struct buf *out, struct json p)
{
	struct json frames = json_get(p, "frames"), part = json_get(p, "part"),
		    pids = json_get(p, "pids");
	double processes = report_number(p, "processes"), threads = report_number(p, "threads");
	double pid = 0;
	char a[48];

	buf_printf(out, "  %9s  ", report_ns(a, sizeof(a), report_number(p, "longest_ns")));
	report_member(out, p, "comm", "?");
	buf_puts(out, " (pid ");
	for (size_t i = 0; i < json_length(pids); i++) {
		struct json v = json_at(pids, i);

		pid = json_double(v, 0);
		buf_printf(out, "%s%.0f", i ? ", " : "", pid);
		json_free(v);
	}
	if (processes > (double)json_length(pids))
		buf_printf(out, " and %.0f more", processes - (double)json_length(pids));
	if (threads > processes)
		buf_printf(out, "; %.0f threads", threads);
	buf_printf(out, "): %s\n", report_standing_state(json_bytes(part)));
	for (size_t i = 0; i < json_length(frames); i++) {
		struct json f = json_at(frames, i);

		buf_puts(out, "             ");
		fmt_safe(out, json_bytes(f));
		buf_putc(out, '\n');
		json_free(f);
	}
	if (json_length(frames) == 0)
		report_standing_commands(out, pid);
	json_free(part);
	json_free(frames);
	json_free(pids);
}

void report_standing(struct buf *out, const struct report *r)
{
	unsigned processes;
	struct json places = report_standing_places(r, &processes);
	size_t n = json_length(places);
	double more = 0;

	if (n)
		buf_printf(out,
			   "%u process%s stood still. What %s threads waited for when the "
			   "recording ended%s:\n",
			   processes, processes == 1 ? "" : "es", processes == 1 ? "its" : "their",
			   n > 1 ? ", the rarest first" : "");
	for (size_t i = 0; i < n; i++) {
		struct json p = json_at(places, i);

		if (i < PLACES)
			place_text(out, p);
		else
			more += report_number(p, "threads");
		json_free(p);
	}
	if (more)
		buf_printf(out, "             and %.0f more threads elsewhere\n", more);
	json_free(places);
}
