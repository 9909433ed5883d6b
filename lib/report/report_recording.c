/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text about the recording itself, from the members "uncovered" and "recorder" of the analysis
 * record. One line per process: of its libraries, the one that was without probes longest.
 */
#include "lib/report/report_recording.h"

#include <stdio.h>

#include "lib/base/fmt.h"
#include "lib/report/report_parts.h"
#include "lib/event/paused.h"
#include "lib/event/tier.h"
#include "lib/event/uncovered.h"

#define LINES 5 /* processes told of; a hundred short-lived children are one line */

static void copy_member(struct json of, const char *key, char *to, size_t size)
{
	struct json v = json_get(of, key);
	struct bytes text = json_bytes(v);

	snprintf(to, size, "%.*s", (int)(text.n < size ? text.n : size - 1), text.p ? text.p : "");
	json_free(v);
}

static struct uncovered_row row_of(struct json of)
{
	struct uncovered_row row = { .ns = (uint64_t)report_number(of, "ns"),
				     .from_start = report_is_true(of, "from_start") };

	copy_member(of, "layer", row.layer, sizeof(row.layer));
	copy_member(of, "path", row.path, sizeof(row.path));
	copy_member(of, "reason", row.reason, sizeof(row.reason));
	return row;
}

/* Longer: one without an end is. */
static bool is_longer(const struct uncovered_row *a, const struct uncovered_row *b)
{
	return a->ns == 0 ? b->ns != 0 : b->ns != 0 && a->ns > b->ns;
}

/* Whether another of the same process says more, or the same before it. */
static bool is_covered_by_other(struct json all, size_t at, double pid,
				const struct uncovered_row *row)
{
	bool yes = false;

	for (size_t i = 0; i < json_length(all) && !yes; i++) {
		struct json other = json_at(all, i);

		if (i != at && report_number(other, "pid") == pid) {
			struct uncovered_row x = row_of(other);

			yes = is_longer(&x, row) || (i < at && !is_longer(row, &x));
		}
		json_free(other);
	}
	return yes;
}

bool report_is_uncovered(const struct report *r, struct json process)
{
	struct json all = json_get(r->chains->analysis, "uncovered");
	double pid = report_number(process, "pid");
	bool yes = false;

	for (size_t i = 0; i < json_length(all) && !yes; i++) {
		struct json p = json_at(all, i);

		yes = report_number(p, "pid") == pid;
		json_free(p);
	}
	json_free(all);
	return yes;
}

bool report_has_uncovered(const struct report *r, double *before_ns)
{
	struct json all = json_get(r->chains->analysis, "uncovered");
	bool yes = false;

	*before_ns = 0;
	for (size_t i = 0; i < json_length(all) && !yes; i++) {
		struct json p = json_at(all, i), v = json_get(p, "since_ns");
		double since = json_double(v, -1), ns = report_number(p, "ns");

		json_free(v);
		if (report_shows(r, p)) {
			yes = since >= 0 || ns == 0;
			*before_ns = since + ns > *before_ns ? since + ns : *before_ns;
		}
		json_free(p);
	}
	json_free(all);
	return yes;
}

#define BLIND 0.05 /* of the time */

/* False: nothing was covered for less of the time. */
static bool least_covered(const struct report *r, double *least)
{
	struct json all = json_get(r->chains->analysis, "paused");
	size_t n = json_length(all);

	*least = 1;
	for (size_t i = 0; i < n; i++) {
		struct json p = json_at(all, i);
		double covered = report_number(p, "covered");

		*least = covered < *least ? covered : *least;
		json_free(p);
	}
	json_free(all);
	return n > 0;
}

const char *report_about(const struct finding *c)
{
	return c->at_least ? ">=" : c->estimate ? "~" : "";
}

bool report_has_paused(const struct report *r)
{
	double least;

	return least_covered(r, &least);
}

bool report_has_blind_tier(const struct report *r)
{
	double least;

	return least_covered(r, &least) && least < BLIND;
}

static unsigned tier_of(struct bytes name)
{
	unsigned tier = 0;

	while (tier < TIERS && !bytes_equal(name, bytes_of(op_tier_name(tier))))
		tier++;
	return tier;
}

bool report_has_paused_tier(const struct report *r, enum op_tier tier)
{
	struct json all = json_get(r->chains->analysis, "paused");
	bool yes = false;

	for (size_t i = 0; i < json_length(all) && !yes; i++) {
		struct json p = json_at(all, i), name = json_get(p, "tier");

		yes = tier_of(json_bytes(name)) == tier;
		json_free(name);
		json_free(p);
	}
	json_free(all);
	return yes;
}

void report_paused_lines(struct buf *out, const struct report *r, const char *before)
{
	struct json all = json_get(r->chains->analysis, "paused");

	for (size_t i = 0; i < json_length(all); i++) {
		struct json p = json_at(all, i), tier = json_get(p, "tier"),
			    steps = json_get(p, "covered_steps");
		char reason[80];

		copy_member(p, "reason", reason, sizeof(reason));
		buf_puts(out, before);
		paused_text(out, tier_of(json_bytes(tier)), report_number(p, "covered"),
			    json_double(steps, -1), false, reason);
		report_on(out, r, p);
		buf_putc(out, '\n');
		json_free(tier);
		json_free(steps);
		json_free(p);
	}
	json_free(all);
}

static void put_line(struct buf *out, const char *before, struct json p,
		     const struct uncovered_row *row)
{
	struct json comm = json_get(p, "comm");

	buf_puts(out, before);
	uncovered_text(out, row, (uint32_t)report_number(p, "pid"), json_bytes(comm));
	buf_putc(out, '\n');
	json_free(comm);
}

void report_uncovered_lines(struct buf *out, const struct report *r, const char *before)
{
	struct json all = json_get(r->chains->analysis, "uncovered");
	size_t said = 0, more = 0, unseen = 0;

	for (size_t i = 0; i < json_length(all); i++) {
		struct json p = json_at(all, i);
		struct uncovered_row row = row_of(p);

		if (report_shows(r, p) &&
		    !is_covered_by_other(all, i, report_number(p, "pid"), &row)) {
			if (!row.layer[0])
				unseen++;
			else if (said++ < LINES)
				put_line(out, before, p, &row);
			else
				more++;
		}
		json_free(p);
	}
	json_free(all);
	if (more)
		buf_printf(out,
			   "%scalls of %zu processes more were not recorded, or not from their "
			   "start\n",
			   before, more);
	if (unseen)
		buf_printf(
			out,
			"%scalls of %zu process%s were not recorded, if there were any: %s ended "
			"before %s libraries could be read\n",
			before, unseen, unseen == 1 ? "" : "es", unseen == 1 ? "it" : "they",
			unseen == 1 ? "its" : "their");
}

void report_recorder_line(struct buf *out, const struct report *r)
{
	struct json recorder = json_get(r->chains->analysis, "recorder");
	double traps = report_number(recorder, "traps_ns") +
		       report_number(recorder, "host_programs_ns"),
	       stops = report_number(recorder, "stops_ns"),
	       taken = report_number(recorder, "cpu_taken_ns"),
	       wall = report_number(r->chains->analysis, "wall_ns"), all = traps + stops + taken;
	char a[48], b[48], c[48], d[48];

	if (all > 0 && wall > 0)
		buf_printf(
			out,
			"Recorder: %s (%s of the wall time, threads added up) of these programs: "
			"traps %s, stops %s, CPU taken %s.\n",
			report_ns(a, sizeof(a), all), fmt_percent(all / wall).s,
			report_ns(b, sizeof(b), traps), report_ns(c, sizeof(c), stops),
			report_ns(d, sizeof(d), taken));
	json_free(recorder);
}
