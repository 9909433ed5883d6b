/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of a machine stand one behind the other. Its offset is one number, so every reading
 * that says another one is an error of that size somewhere; the readings' own uncertainty comes on
 * top.
 */
#include "lib/input/clock_report.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/timetext.h"

struct machine {
	const struct ige_segment *segment;
	const struct clock_fit *fit;
	struct bytes name;
	int64_t ahead_min_ns, ahead_max_ns, first_ns, last_ns;
	uint64_t uncertainty_ns, clocks;
	bool events;
};

static const struct world_node *find_node(const struct world *w, const struct ige_segment *s)
{
	for (uint32_t i = 1; i <= world_count(w, WORLD_NODE); i++) {
		const struct world_node *node = world_get_node(w, i);

		if (node->boot == s->boot && !memcmp(node->uuid, s->node_uuid, sizeof(node->uuid)))
			return node;
	}
	return NULL;
}

static void add_input(struct machine *m, const struct input_told *t)
{
	int64_t header = (int64_t)((uint64_t)t->head->segment.real_minus_mono_ns -
				   (uint64_t)(t->head->shift_ns - clock_head_put_right(t->head)));

	/* The header is a reading like others. */
	if (t->head->segment.clock_id && header < m->ahead_min_ns)
		m->ahead_min_ns = header;
	if (t->tally->clocks && t->tally->ahead_min_ns < m->ahead_min_ns)
		m->ahead_min_ns = t->tally->ahead_min_ns;
	if (t->tally->clocks && t->tally->ahead_max_ns > m->ahead_max_ns)
		m->ahead_max_ns = t->tally->ahead_max_ns;
	if (t->tally->uncertainty_ns > m->uncertainty_ns)
		m->uncertainty_ns = t->tally->uncertainty_ns;
	m->clocks += t->tally->clocks;
	if (!t->tally->events)
		return;
	if (!m->events || t->tally->first_ns < m->first_ns)
		m->first_ns = t->tally->first_ns;
	if (!m->events || t->tally->last_ns > m->last_ns)
		m->last_ns = t->tally->last_ns;
	m->events = true;
}

static void append_error(const struct machine *m, uint64_t threshold_ns, struct buf *notes,
			 struct buf *warnings)
{
	uint64_t jump = (uint64_t)m->ahead_max_ns - (uint64_t)m->ahead_min_ns,
		 error = jump + m->uncertainty_ns;
	char a[48], b[48];

	if (!m->segment->clock_id)
		return;
	if (!m->segment->real_minus_mono_ns && !m->clocks) {
		buf_printf(warnings,
			   "%.*s does not say where its clock stands: its times are as recorded, "
			   "and lie apart from those of the others\n",
			   (int)m->name.n, m->name.p);
		return;
	}
	buf_printf(notes, "%.*s: clock placed by %" PRIu64 " readings, error at most %s by them\n",
		   (int)m->name.n, m->name.p, m->clocks + 1, duration_text(a, sizeof(a), error));
	if (error > threshold_ns)
		buf_printf(
			warnings,
			"the wall clock of %.*s moved by %s while it was recorded: its times may "
			"be off by as much (more than --clock-skew-threshold, %s)\n",
			(int)m->name.n, m->name.p, duration_text(a, sizeof(a), error),
			duration_text(b, sizeof(b), threshold_ns));
}

/* Reports the clock error that collectives show. */
static void append_fit(const struct machine *m, uint64_t threshold_ns, struct buf *notes,
		       struct buf *warnings)
{
	bool ahead = m->fit->by_ns < 0;
	uint64_t by = ahead ? -(uint64_t)m->fit->by_ns : (uint64_t)m->fit->by_ns;
	char a[48], b[48];

	if (!m->fit->known)
		return;
	if (!by)
		buf_printf(notes,
			   "%.*s: collectives with other machines agree with its clock%s%s\n",
			   (int)m->name.n, m->name.p,
			   m->fit->error_ns ? ", which is off by at most " : "",
			   m->fit->error_ns ? duration_text(a, sizeof(a), m->fit->error_ns) : "");
	else
		buf_printf(by > threshold_ns ? warnings : notes,
			   "the wall clock of %.*s is %s %s: by collectives with other machines, "
			   "which "
			   "cannot have been otherwise; its times were moved, and may be off by %s "
			   "still\n",
			   (int)m->name.n, m->name.p, duration_text(a, sizeof(a), by),
			   ahead ? "ahead" : "behind",
			   duration_text(b, sizeof(b), m->fit->error_ns));
}

/* Recorded together, machines overlap. How far one lies from the nearest other. */
static void append_gap(const struct machine *m, const struct machine *all, size_t n,
		       uint64_t threshold_ns, struct buf *warnings)
{
	uint64_t nearest = UINT64_MAX;
	bool before = false;
	char text[48];

	for (size_t i = 0; i < n && m->events; i++) {
		const struct machine *o = &all[i];
		uint64_t gap = 0;

		if (o == m || !o->events)
			continue;
		if (m->last_ns < o->first_ns)
			gap = (uint64_t)o->first_ns - (uint64_t)m->last_ns;
		else if (o->last_ns < m->first_ns)
			gap = (uint64_t)m->first_ns - (uint64_t)o->last_ns;
		if (gap < nearest) {
			nearest = gap;
			before = m->last_ns < o->first_ns;
		}
	}
	if (nearest != UINT64_MAX && nearest > threshold_ns)
		buf_printf(warnings,
			   "%.*s lies %s %s the nearest other machine: it was recorded at another "
			   "time, or its clock is off by that\n",
			   (int)m->name.n, m->name.p, duration_text(text, sizeof(text), nearest),
			   before ? "before" : "after");
}

static void append_namesake(const struct machine *m, const struct machine *all,
			    struct buf *warnings)
{
	for (const struct machine *o = all; o < m; o++)
		if (bytes_equal(o->name, m->name)) {
			buf_printf(warnings,
				   "two machines are called %.*s (%s): they are kept apart, but "
				   "bear the same name\n",
				   (int)m->name.n, m->name.p,
				   memcmp(o->segment->node_uuid, m->segment->node_uuid, 16)
					   ? "their identities differ"
					   : "one machine, booted in between");
			return;
		}
}

void input_clock_report(const struct input *in, const struct world *w, uint64_t threshold_ns,
			struct buf *notes, struct buf *warnings)
{
	VEC(struct machine) all = { 0 };
	struct input_told t;

	if (input_clock(in)->machines < 2)
		return;
	for (unsigned i = 0; input_told(in, i, &t); i++) {
		struct machine *m = all.n ? &all.v[all.n - 1] : NULL;

		if (!t.head->known) {
			if (t.tally->events)
				buf_printf(warnings,
					   "%s does not begin as a recording does: whose clock it "
					   "is on is "
					   "not known, and its times are as recorded\n",
					   t.name);
			continue;
		}
		if (!m || m->segment->boot != t.head->segment.boot ||
		    m->segment->clock_id != t.head->segment.clock_id ||
		    memcmp(m->segment->node_uuid, t.head->segment.node_uuid, 16) != 0) {
			const struct world_node *node = find_node(w, &t.head->segment);

			if (!vec_push(&all,
				      (struct machine){ .segment = &t.head->segment,
							.fit = &t.head->fit,
							.name = node ? world_text(w, node->name)
								     : bytes_of(t.name) }))
				break;
			m = &all.v[all.n - 1];
		}
		add_input(m, &t);
	}
	for (size_t i = 0; i < all.n; i++) {
		append_error(&all.v[i], threshold_ns, notes, warnings);
		append_fit(&all.v[i], threshold_ns, notes, warnings);
		append_gap(&all.v[i], all.v, all.n, threshold_ns, warnings);
		append_namesake(&all.v[i], all.v, warnings);
	}
	vec_free(&all);
}
