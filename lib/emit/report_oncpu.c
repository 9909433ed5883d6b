/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares are of the samples of one thread; how much CPU time that is follows from the rate, and is told as "about".
 */
#include "lib/emit/report_oncpu.h"

#include "lib/base/human.h"
#include "lib/emit/report_parts.h"

#define THREADS_SHOWN 5
#define SHARE_SHOWN   0.01 /* of its thread's samples */

static bool shows(const struct report *r, const struct oncpu_thread *t)
{
	for (unsigned i = 0; i < r->npids; i++)
		if (t->pid == r->pids[i])
			return true;
	return r->npids == 0;
}

static void who(struct buf *out, const struct oncpu_thread *t)
{
	human_safe(out, t->name.n ? t->name : bytes_of("?"));
	if (t->tid != t->pid)
		buf_printf(out, " (tid %u of pid %u)", t->tid, t->pid);
	else
		buf_printf(out, " (pid %u)", t->pid);
}

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

static void line(struct buf *out, uint64_t count, const struct oncpu_thread *t, struct bytes text)
{
	double s = share(count, t->count);

	if (s < SHARE_SHOWN)
		return;
	buf_printf(out, "        %5.1f%%  ", s * 100);
	human_safe(out, text);
	buf_putc(out, '\n');
}

static void thread(struct buf *out, const struct report *r, const struct oncpu_thread *t)
{
	char text[48];

	buf_puts(out, "    ");
	who(out, t);
	buf_printf(out, ": %s sample%s", human_count(t->count).s, t->count == 1 ? "" : "s");
	if (r->oncpu->hz)
		buf_printf(out, ", about %s of CPU time",
			   report_ns(text, sizeof(text), (double)t->count * 1e9 / r->oncpu->hz));
	if (t->inside)
		buf_printf(out, ", %.1f%% inside traced calls", share(t->inside, t->count) * 100);
	buf_putc(out, '\n');
	for (uint32_t i = 0; i < t->nplaces; i++)
		line(out, t->places[i].count, t, t->places[i].text);
	line(out, t->elsewhere, t, bytes_of("elsewhere"));
	line(out, t->nowhere, t, bytes_of("without a stack"));
}

void report_oncpu_text(struct buf *out, const struct report *r, bool color)
{
	size_t shown = 0, all = 0;

	for (size_t i = 0; r->oncpu && i < r->oncpu->v.n; i++)
		all += shows(r, &r->oncpu->v.v[i]);
	if (all == 0)
		return;
	buf_putc(out, '\n');
	report_style(out, color, "1");
	buf_puts(out, "On the CPU");
	report_style(out, color, "0");
	if (r->oncpu->hz)
		buf_printf(out, ", by samples, %u a second of each CPU:\n", r->oncpu->hz);
	else
		buf_puts(out, ", by samples:\n");
	for (size_t i = 0; i < r->oncpu->v.n && shown < THREADS_SHOWN; i++)
		if (shows(r, &r->oncpu->v.v[i])) {
			thread(out, r, &r->oncpu->v.v[i]);
			shown++;
		}
	if (all > shown)
		buf_printf(out, "    and %zu more threads (--json has them all)\n", all - shown);
}

void report_oncpu_sentence(struct buf *out, const struct report *r)
{
	for (size_t i = 0; r->oncpu && i < r->oncpu->v.n; i++) {
		const struct oncpu_thread *t = &r->oncpu->v.v[i];

		if (!shows(r, t))
			continue;
		if (t->nplaces) {
			buf_printf(out, "%.0f%% of the CPU samples of ",
				   share(t->places[0].count, t->count) * 100);
			who(out, t);
			buf_puts(out, " are in ");
			human_safe(out, t->places[0].text);
			buf_puts(out, ".\n");
		}
		return;
	}
}

static struct json place_json(const struct oncpu_place *p)
{
	struct json o = json_object();

	json_set(&o, "text", json_string(p->text));
	json_set(&o, "samples", json_number((double)p->count));
	json_set(&o, "inside_calls", json_number((double)p->inside));
	return o;
}

static struct json thread_json(const struct oncpu_thread *t)
{
	struct json o = json_object(), places = json_array();

	json_set(&o, "pid", json_number(t->pid));
	json_set(&o, "tid", json_number(t->tid));
	json_set(&o, "comm", json_string(t->name));
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
	for (size_t i = 0; i < r->oncpu->v.n; i++)
		if (shows(r, &r->oncpu->v.v[i]))
			json_append(&threads, thread_json(&r->oncpu->v.v[i]));
	json_set(&o, "threads", threads);
	return o;
}
