/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the largest causes of a program without steps. Causes with the same text are added up. */
#include "lib/report/stepless.h"

#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/report/report_breakdown.h"
#include "lib/report/report_parts.h"

#define PARTS_SHOWN 3
#define PART_SHARE  0.1 /* of the time: the others are in the tables */
#define HANG_NS	    1000000000

double stepless_count_calls(const struct report *r, const struct paths_track *track)
{
	struct json all = json_get(r->chains->analysis, "processes");
	double calls = 0;

	for (size_t i = 0; i < json_length(all); i++) {
		struct json p = json_at(all, i);

		if (report_is_process(p, track->pid, track->node))
			calls = report_number(p, "calls");
		json_free(p);
	}
	json_free(all);
	return calls;
}

/* A call, or a rank, that had not gone on when the recording ended. */
static bool is_hang(const struct report *r, const struct finding *c)
{
	return (bytes_equal(c->kind, bytes_of("call-hung")) ||
		bytes_equal(c->kind, bytes_of("collective-hang"))) &&
	       r->end_ns - c->last_ns < HANG_NS;
}

/* There is a hang, or some findings are hidden. */
static bool has_first(const struct report *r)
{
	for (size_t i = 0; i < r->chains->v.n; i++)
		if (r->chains->v.v[i].hidden ||
		    (report_selects(r, &r->chains->v.v[i]) && is_hang(r, &r->chains->v.v[i])))
			return true;
	return false;
}

const struct paths_track *stepless_find(const struct report *r)
{
	const struct paths *all = &r->chains->paths;
	const struct paths_track *best = NULL;
	double most = 0;

	/* Without off-CPU intervals it is unknown what a thread did between its calls. */
	for (size_t i = 0; i < all->tracks.n && report_recorded(r, "host_recorded"); i++) {
		const struct paths_track *t = &all->tracks.v[i];
		const struct paths_phase *phase = paths_find_phase(t, "all");
		double calls;

		if (t->has_steps || t->hidden || !report_is_pid(r, t->pid) || !phase ||
		    !phase->ns || !phase->causes.n)
			continue;
		calls = stepless_count_calls(r, t);
		if (calls <= most)
			continue;
		most = calls;
		best = t;
	}
	return best && !has_first(r) ? best : NULL;
}

struct stepless_part {
	struct bytes text;
	uint64_t ns;
};

static void add_part(struct stepless_part *v, size_t *n, const struct paths_cause *c)
{
	size_t i = 0;

	while (i < *n && !bytes_equal(v[i].text, c->text))
		i++;
	if (i == *n)
		v[(*n)++] = (struct stepless_part){ .text = c->text };
	v[i].ns += c->ns;
}

/* The largest one, which is not shown any more. */
static struct stepless_part take_largest(struct stepless_part *v, size_t n)
{
	struct stepless_part *best = v, part;

	for (size_t i = 1; i < n; i++)
		best = v[i].ns > best->ns ? &v[i] : best;
	part = *best;
	best->ns = 0;
	return part;
}

void stepless_print(struct buf *out, const struct report *r, const struct paths_track *track)
{
	const struct paths_phase *phase = paths_find_phase(track, "all");
	struct stepless_part *v = calloc(phase->causes.n, sizeof(*v));
	double all = (double)phase->ns;
	char text[48];
	size_t n = 0;

	out->failed |= !v;
	for (size_t i = 0; v && i < phase->causes.n; i++)
		add_part(v, &n, &phase->causes.v[i]);
	report_print_text(out, track->thread, "?");
	report_on_node(out, r, track->node);
	buf_printf(out, ": no steps; %s", report_ns(text, sizeof(text), all));
	for (unsigned i = 0; i < PARTS_SHOWN && n; i++) {
		struct stepless_part part = take_largest(v, n);

		if (!part.ns || (i && (double)part.ns < PART_SHARE * all))
			break;
		buf_printf(out, "%s %s (%.1f%%) ", i ? ";" : ":",
			   report_ns(text, sizeof(text), (double)part.ns),
			   (double)part.ns / all * 100);
		fmt_safe(out, part.text);
	}
	free(v);
}

unsigned stepless_severity(const struct paths_track *track)
{
	const struct paths_phase *phase = paths_find_phase(track, "all");
	unsigned worst = track->held_by.n ? FINDING_HIGH : 0;

	for (size_t i = 0; i < phase->causes.n; i++)
		if (phase->causes.v[i].severity > worst)
			worst = phase->causes.v[i].severity;
	return worst > FINDING_HIGH ? FINDING_HIGH : worst;
}
