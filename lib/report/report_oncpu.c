/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of functions that CPU samples were found in. Shares are of samples: what fewer than
 * CLAIM_LEAST samples would claim is not printed, and each thread says how far chance may have
 * moved its shares.
 */
#include "lib/report/report_oncpu.h"

#include <math.h>

#include "lib/base/fmt.h"
#include "lib/report/report_parts.h"

#define THREADS_SHOWN 5
#define SHARE_SHOWN   0.01 /* of its thread's samples */
#define CLAIM_LEAST   10   /* samples */
#define SIGMAS	      1.96 /* of a confidence of 95 % */

static bool is_selected(const struct report *r, const struct oncpu_thread *t)
{
	for (unsigned i = 0; i < r->npids; i++)
		if (t->pid == r->pids[i])
			return true;
	return r->npids == 0;
}

static void print_thread_name(struct buf *out, const struct oncpu_thread *t)
{
	fmt_safe(out, t->name.n ? t->name : bytes_of("?"));
	if (t->tid != t->pid)
		buf_printf(out, " (tid %u of pid %u)", t->tid, t->pid);
	else
		buf_printf(out, " (pid %u)", t->pid);
}

static double share_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

/* Of CPU time; 0: the rate is not known. */
static double cpu_ns(const struct report *r, uint64_t count)
{
	return r->oncpu->hz ? (double)count * 1e9 / r->oncpu->hz : 0;
}

/* Of the thread's time in the window; negative: not known. */
static double share_of_wall(const struct report *r, const struct oncpu_thread *t, uint64_t count)
{
	double s = t->wall_ns ? cpu_ns(r, count) / (double)t->wall_ns : 0;

	return !t->wall_ns || !r->oncpu->hz ? -1 : s < 1 ? s : 1;
}

/* "from the first step to the last (12.3 s)" */
static void print_window(struct buf *out, const struct report *r, const char *steps,
			 const char *all)
{
	const struct oncpu_window *w = &r->oncpu->window;
	char ns[48];

	buf_printf(out, "%s (%s)", w->steps ? steps : all,
		   report_ns(ns, sizeof(ns), (double)(w->until_ns - w->from_ns)));
}

static void place_text(struct buf *out, const struct oncpu_place *p)
{
	fmt_safe(out, p->text);
	fmt_safe(out, p->caller);
}

static void print_shares(struct buf *out, const struct report *r, const struct oncpu_thread *t,
			 uint64_t count)
{
	double wall = share_of_wall(r, t, count);

	if (wall >= 0)
		buf_printf(out, "      %5.1f%%", wall * 100);
	else
		buf_printf(out, "      %6s", "?");
	buf_printf(out, "  %5.1f%%  ", share_of(count, t->count) * 100);
}

static void place_line(struct buf *out, const struct report *r, const struct oncpu_thread *t,
		       const struct oncpu_place *p)
{
	char ns[48];

	print_shares(out, r, t, p->count);
	place_text(out, p);
	if (p->leaf.n) {
		buf_printf(out, ", %.0f%% of it in ", share_of(p->leaf_count, p->count) * 100);
		fmt_safe(out, p->leaf);
	}
	if (r->oncpu->hz)
		buf_printf(out, ": %s", report_ns(ns, sizeof(ns), cpu_ns(r, p->count)));
	buf_putc(out, '\n');
}

static void rest_line(struct buf *out, const struct report *r, const struct oncpu_thread *t,
		      uint64_t count, const char *text)
{
	if (share_of(count, t->count) < SHARE_SHOWN)
		return;
	print_shares(out, r, t, count);
	buf_printf(out, "%s\n", text);
}

static void print_thread(struct buf *out, const struct report *r, const struct oncpu_thread *t)
{
	double wall = share_of_wall(r, t, t->count), chance;
	uint64_t elsewhere = t->elsewhere;

	buf_puts(out, "    ");
	print_thread_name(out, t);
	buf_printf(out, ": %s samples", fmt_count(t->count).s);
	if (wall >= 0)
		buf_printf(out, ", on the CPU %.0f%% of the time", wall * 100);
	if (t->inside)
		buf_printf(out, ", %.1f%% of that inside traced calls",
			   share_of(t->inside, t->count) * 100);
	chance = SIGMAS * sqrt(0.25 / (double)t->count) * 100;
	buf_printf(out, "; shares are right to %.1f points\n", chance);
	buf_puts(out, "     of time  of CPU\n");
	for (uint32_t i = 0; i < t->nplaces; i++) {
		if (t->places[i].count >= CLAIM_LEAST &&
		    share_of(t->places[i].count, t->count) >= SHARE_SHOWN)
			place_line(out, r, t, &t->places[i]);
		else
			elsewhere += t->places[i].count;
	}
	rest_line(out, r, t, elsewhere, "elsewhere");
	rest_line(out, r, t, t->nowhere, "without a stack");
}

void report_oncpu_text(struct buf *out, const struct report *r, bool color)
{
	size_t shown = 0, more = 0;
	uint64_t samples = 0, all = 0;

	for (size_t i = 0; r->oncpu && i < r->oncpu->v.n; i++)
		all += is_selected(r, &r->oncpu->v.v[i]) ? r->oncpu->v.v[i].count : 0;
	if (all == 0)
		return;
	buf_putc(out, '\n');
	report_style(out, color, "1");
	buf_puts(out, "Where the CPU time went ");
	print_window(out, r, "from the first step to the last", "in all of the recording");
	report_style(out, color, "0");
	if (r->oncpu->hz)
		buf_printf(out, ", by samples, %u a second of each CPU:\n", r->oncpu->hz);
	else
		buf_puts(out, ", by samples:\n");
	for (size_t i = 0; i < r->oncpu->v.n; i++) {
		const struct oncpu_thread *t = &r->oncpu->v.v[i];

		if (!is_selected(r, t))
			continue;
		if (t->count >= CLAIM_LEAST && shown < THREADS_SHOWN) {
			print_thread(out, r, t);
			shown++;
		} else {
			more++;
			samples += t->count;
		}
	}
	if (more)
		buf_printf(out, "    %s%zu %sthread%s: %s sample%s in all%s\n", shown ? "and " : "",
			   more, shown ? "more " : "", more == 1 ? "" : "s", fmt_count(samples).s,
			   samples == 1 ? "" : "s", report_hint(r, " (--json has them)"));
}

void report_oncpu_sentence(struct buf *out, const struct report *r)
{
	const struct oncpu_thread *t = NULL;
	double wall;

	for (size_t i = 0; r->oncpu && i < r->oncpu->v.n && !t; i++)
		if (is_selected(r, &r->oncpu->v.v[i]))
			t = &r->oncpu->v.v[i];
	if (!t || !t->nplaces || t->places[0].count < CLAIM_LEAST)
		return;
	wall = share_of_wall(r, t, t->places[0].count);
	if (wall >= 0) {
		print_window(out, r, "From the first step to the last", "In all of the recording");
		buf_puts(out, " ");
		print_thread_name(out, t);
		buf_printf(out, " spent %.0f%% of its time on the CPU in ", wall * 100);
	} else {
		buf_printf(out, "%.0f%% of the CPU samples of ",
			   share_of(t->places[0].count, t->count) * 100);
		print_thread_name(out, t);
		buf_puts(out, " are in ");
	}
	place_text(out, &t->places[0]);
	buf_printf(out, " (%s samples).\n", fmt_count(t->places[0].count).s);
}

static struct json place_json(const struct oncpu_place *p)
{
	struct json o = json_object();

	json_set(&o, "text", json_string(p->text));
	json_set(&o, "samples", json_number((double)p->count));
	json_set(&o, "inside_calls", json_number((double)p->inside));
	json_set(&o, "caller", p->caller.n ? json_string(p->caller) : json_null());
	json_set(&o, "leaf", p->leaf.n ? json_string(p->leaf) : json_null());
	json_set(&o, "leaf_samples", json_number((double)p->leaf_count));
	return o;
}

static struct json thread_json(const struct oncpu_thread *t)
{
	struct json o = json_object(), places = json_array();

	json_set(&o, "pid", json_number(t->pid));
	json_set(&o, "tid", json_number(t->tid));
	json_set(&o, "comm", json_string(t->name));
	json_set(&o, "wall_ns", json_number((double)t->wall_ns));
	json_set(&o, "samples", json_number((double)t->count));
	json_set(&o, "inside_calls", json_number((double)t->inside));
	json_set(&o, "elsewhere", json_number((double)t->elsewhere));
	json_set(&o, "without_stack", json_number((double)t->nowhere));
	for (uint32_t i = 0; i < t->nplaces; i++)
		json_append(&places, place_json(&t->places[i]));
	json_set(&o, "places", places);
	return o;
}

struct json report_oncpu_json(const struct report *r)
{
	struct json o, threads;

	if (!r->oncpu || r->oncpu->count == 0)
		return json_null();
	o = json_object();
	threads = json_array();
	json_set(&o, "samples", json_number((double)r->oncpu->count));
	json_set(&o, "untold", json_number((double)r->oncpu->untold));
	json_set(&o, "hz", r->oncpu->hz ? json_number(r->oncpu->hz) : json_null());
	json_set(&o, "steps", json_bool(r->oncpu->window.steps));
	json_set(&o, "from_ns", json_number((double)(r->oncpu->window.from_ns - r->start_ns)));
	json_set(&o, "until_ns", json_number((double)(r->oncpu->window.until_ns - r->start_ns)));
	for (size_t i = 0; i < r->oncpu->v.n; i++)
		if (is_selected(r, &r->oncpu->v.v[i]))
			json_append(&threads, thread_json(&r->oncpu->v.v[i]));
	json_set(&o, "threads", threads);
	return o;
}
