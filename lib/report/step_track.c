/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the programs with steps and prints the verdict about them. The unit is one step: what a
 * cause took in all steps is divided by their number. */
#include "lib/report/step_track.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/cpp_name.h"
#include "lib/base/fmt.h"
#include "lib/report/path_lines.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_internal.h"
#include "lib/report/step_parts.h"
#include "lib/report/stepless.h"

#define VERDICT_SHARE	0.1
#define STEPS_LEAST	8
#define OTHERWISE_SHARE 0.1  /* of a part: less is not worth a word */
#define BETWEEN_SHARE	0.1  /* of the time in steps: it is in the verdict */
#define NAMED_SHARE	0.8  /* of a phase beside the steps: its causes are named up to that */
#define MEAN_UNLIKE	1.5  /* times the median */
#define MAIN_LINE_SHARE 0.25 /* of such a phase: the line with so much of it is named */
#define OUTSIDE_SHARE	0.1  /* of a finding's time: no more of it within the steps */
#define STUCK_SHARE	0.1  /* of the most calls of any track: one that is stuck leads */

static const struct finding *find_kind(const struct report *r, const char *kind, uint32_t pid)
{
	for (size_t i = 0; i < r->chains->v.n; i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (bytes_equal(c->kind, bytes_of(kind)) && (!pid || c->victim.pid == pid))
			return c;
	}
	return NULL;
}

/* Why a rank hangs: its ranks entered different collectives. The finding is about one of them. */
static const struct finding *find_mismatch(const struct report *r, const struct paths_track *track)
{
	const struct finding *own = find_kind(r, "collective-mismatch", track->pid);

	if (own || !find_kind(r, "collective-hang", track->pid))
		return own;
	return find_kind(r, "collective-mismatch", 0);
}

static bool is_of(const struct finding *c, const struct paths_track *t)
{
	return c->victim.pid == t->pid && bytes_equal(c->node, t->node);
}

/* Whether the first finding of the track's process is of lost time. */
static bool has_loss_first(const struct report *r, const struct paths_track *track)
{
	for (size_t i = 0; i < r->chains->v.n; i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (report_selects(r, c) && is_of(c, track))
			return finding_is_loss(c);
	}
	return false;
}

/* The i-th track, if it is to be shown and has steps. */
static bool get_track(const struct report *r, size_t i, struct step_track *t)
{
	const struct paths_track *track = &r->chains->paths.tracks.v[i];

	*t = (struct step_track){ .all = &r->chains->paths,
				  .track = track,
				  .phase = paths_find_phase(track, "steps"),
				  .mismatch = find_mismatch(r, track),
				  .loss_leads = has_loss_first(r, track) };
	t->differs = t->mismatch && find_kind(r, "collective-hang", track->pid);
	t->count = track->has_steps ? (double)track->steps.count : 0;
	t->ns = t->phase ? (double)t->phase->ns : 0;
	return !track->hidden && report_is_pid(r, track->pid) && t->count >= STEPS_LEAST &&
	       t->ns > 0;
}

static bool is_of_same(const struct paths_track *a, const struct paths_track *b)
{
	return a->pid == b->pid && bytes_equal(a->node, b->node);
}

/* Whether it is at lines of its loop. One that is at none works for the loop of another, as a
 * thread of autograd does, or waits for others that have it, as a server with worker threads. */
static bool is_within(const struct paths_track *t)
{
	const struct paths_phase *phase = t->has_steps ? paths_find_phase(t, "steps") : NULL;

	for (size_t k = 0; phase && k < phase->rows.n; k++)
		if (phase->rows.v[k].line.n > 0)
			return true;
	return false;
}

/* Whether another track of the same process stands for it: the first one within its loop. */
static bool is_second(const struct paths *all, size_t i)
{
	const struct paths_track *t = all->tracks.v;
	size_t first = SIZE_MAX;

	for (size_t k = 0; k < all->tracks.n; k++) {
		if (!t[k].has_steps || !is_of_same(&t[k], &t[i]))
			continue;
		if (first == SIZE_MAX || (!is_within(&t[first]) && is_within(&t[k])))
			first = k;
	}
	return first != i;
}

bool step_track_next(const struct report *r, size_t *at, struct step_track *t)
{
	const struct paths *all = &r->chains->paths;

	while (*at < all->tracks.n) {
		size_t i = (*at)++;

		if (get_track(r, i, t) && !is_second(all, i))
			return true;
	}
	return false;
}

/* Another thread of a program, whose loop it is in itself. */
static bool is_own_second(const struct paths *all, size_t i, const struct step_track *t)
{
	return is_within(t->track) && is_second(all, i);
}

/* Behind those of its program that take longer; at the end, if none of it is shown: it is not asked
 * for then. */
static void insert_thread(struct step_track shown[STEP_PROGRAMS], unsigned n,
			  const struct step_track *t)
{
	unsigned at = 0, end;

	while (at < n && !is_of_same(shown[at].track, t->track))
		at++;
	for (end = at + 1; end < n && is_of_same(shown[end].track, t->track); end++)
		if (shown[end].ns < t->ns)
			break;
	for (unsigned k = n; k > end; k--)
		shown[k] = shown[k - 1];
	shown[end] = *t;
}

static bool is_shown(const struct step_track *shown, unsigned n, const struct step_track *t)
{
	for (unsigned i = 0; i < n; i++)
		if (shown[i].track == t->track)
			return true;
	return false;
}

/* Of the second threads of programs that are not shown yet the one with most time. */
static bool find_thread(const struct report *r, const struct step_track *shown, unsigned n,
			struct step_track *best)
{
	const struct paths *all = &r->chains->paths;
	struct step_track t;
	bool found = false;

	for (size_t i = 0; i < all->tracks.n; i++)
		if (get_track(r, i, &t) && !is_shown(shown, n, &t) && is_own_second(all, i, &t) &&
		    (!found || t.ns > best->ns)) {
			*best = t;
			found = true;
		}
	return found;
}

unsigned step_track_shown(const struct report *r, struct step_track shown[STEP_PROGRAMS],
			  unsigned *more)
{
	const struct paths *all = &r->chains->paths;
	unsigned n = 0, programs = 0, threads = 0;
	struct step_track t;

	for (size_t i = 0; i < all->tracks.n; i++) {
		if (!get_track(r, i, &t))
			continue;
		threads += is_own_second(all, i, &t);
		programs += !is_second(all, i);
		if (n < STEP_PROGRAMS && !is_second(all, i))
			shown[n++] = t;
	}
	*more = programs + threads - n;
	for (; n < STEP_PROGRAMS && find_thread(r, shown, n, &t); --*more)
		insert_thread(shown, n++, &t);
	return n;
}

/* Whether ranks wait for one that never comes: the verdict is about that one, whose own calls show
 * no hang. */
static bool has_hang(const struct report *r)
{
	for (size_t i = 0; i < r->chains->v.n; i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (report_selects(r, c) && bytes_equal(c->kind, bytes_of("collective-hang")))
			return true;
	}
	return false;
}

/* The one with most calls; before it one that is stuck, unless that is a small part of the work:
 * of ranks that do the same, each may have had a few more calls. */
bool step_track_main(const struct report *r, struct step_track *best)
{
	struct step_track t, stuck;
	double most = -1, most_stuck = -1;

	for (size_t at = 0; step_track_next(r, &at, &t);) {
		double calls = stepless_count_calls(r, t.track);

		if (calls > most) {
			*best = t;
			most = calls;
		}
		if (calls > most_stuck && paths_is_stuck(t.track)) {
			stuck = t;
			most_stuck = calls;
		}
	}
	if (most_stuck >= STUCK_SHARE * most && most_stuck >= 0)
		*best = stuck;
	return most >= 0 && !(best->track->steps.by_calls && has_hang(r));
}

/* ---- the sentence ---- */

void step_track_print_loop(struct buf *out, const struct step_track *t)
{
	const struct paths_steps *s = &t->track->steps;
	struct bytes file = bytes_file_name(s->file);
	struct buf name = { 0 };

	if (!s->function.n && s->by_calls) {
		buf_printf(out, "%s call%s from ", fmt_count(s->calls).s, s->calls == 1 ? "" : "s");
		fmt_safe(out, s->call);
		return;
	}
	if (s->by_calls)
		cpp_name_print(&name, s->function);
	report_print_text(out, s->by_calls ? buf_bytes(&name) : s->function, "?");
	out->failed |= name.failed;
	buf_free(&name);
	buf_puts(out, " (");
	fmt_safe(out, file);
	if (s->first_line || !s->by_calls)
		buf_printf(out, ":%" PRIu64, s->first_line);
	if (s->last_line > s->first_line)
		buf_printf(out, "-%" PRIu64, s->last_line);
	buf_putc(out, ')');
}

double step_track_per_step(const struct step_track *t, double ns)
{
	return paths_steps_have_mean(&t->track->steps) ? ns / t->count : ns;
}

void step_track_print_count(struct buf *out, const struct step_track *t)
{
	const struct paths_steps *s = &t->track->steps;

	if (paths_steps_are_range(s))
		buf_printf(out, "%s to %s", fmt_count(s->fewest).s, fmt_count(s->most).s);
	else
		buf_printf(out, "%s%s",
			   s->at_least	  ? ">="
			   : s->estimated ? "~"
					  : "",
			   fmt_count(s->count).s);
}

static double phase_ns(const struct step_track *t, const char *name)
{
	const struct paths_phase *phase = paths_find_phase(t->track, name);

	return phase ? (double)phase->ns : 0;
}

/* "1.66 s of it in burn (run.py:43)": the line with much of a phase, where its first cause does not
 * name it. */
static void print_main_line(struct buf *out, const struct paths_phase *phase)
{
	const struct paths_row *row = phase->rows.n ? &phase->rows.v[0] : NULL;
	struct bytes cause = phase->causes.v[0].text;
	char text[48];

	if (!row || !row->line.n || (double)row->ns < MAIN_LINE_SHARE * (double)phase->ns ||
	    memmem(cause.p, cause.n, row->line.p, row->line.n))
		return;
	buf_printf(out, ", %s of it in ", report_ns(text, sizeof(text), (double)row->ns));
	fmt_safe(out, row->line);
}

/* "; 5.30 s between steps: 5.01 s waits for ..." if that phase takes longer than least: its largest
 * causes, work or not, until these are most of it. */
static void print_beside(struct buf *out, const struct step_track *t, const char *name,
			 const char *what, double least)
{
	const struct paths_phase *phase = paths_find_phase(t->track, name);
	uint64_t named = 0;
	char text[48];

	if (!phase || (double)phase->ns <= least)
		return;
	buf_printf(out, "; %s %s", report_ns(text, sizeof(text), (double)phase->ns), what);
	if (!phase->causes.n)
		return;
	print_main_line(out, phase);
	for (size_t i = 0; i < phase->causes.n && i < VERDICT_PARTS; i++) {
		const struct paths_cause *c = &phase->causes.v[i];

		if (i && ((double)named >= NAMED_SHARE * (double)phase->ns ||
			  (double)c->ns < VERDICT_SHARE * (double)phase->ns))
			break;
		buf_printf(out, "%s %s ", i ? "," : ":",
			   report_ns(text, sizeof(text), (double)c->ns));
		fmt_safe(out, c->text);
		named += c->ns;
	}
}

/* Whether one of the first n says so already. */
static bool is_said(const struct step_part best[VERDICT_PARTS], unsigned n,
		    const struct paths_cause *once)
{
	static const char at_once[] = " at once";

	for (unsigned i = 0; i < n; i++)
		if (bytes_equal(best[i].text, once->text) &&
		    memmem(once->text.p, once->text.n, at_once, sizeof(at_once) - 1))
			return true;
	return false;
}

/* The longest stretch that is slow by itself. said: parts that the verdict has. */
static void print_once(struct buf *out, const struct step_track *t,
		       const struct step_part best[VERDICT_PARTS], unsigned said)
{
	const struct paths_cause *once[ONCE_SHOWN];

	if (!once_lines_find(t->phase, once) || is_said(best, said, once[0]))
		return;
	buf_puts(out, "; ");
	once_lines_print(out, once[0]);
}

/* What explains much of the steps, or as much beside them. */
static void print_notes(struct buf *out, const struct step_track *t,
			const struct paths_phase *phase)
{
	for (size_t i = 0; phase && i < phase->notes.n; i++) {
		const struct paths_note *note = &phase->notes.v[i];

		if (!note->matters || (double)note->ns < VERDICT_SHARE * t->ns)
			continue;
		buf_puts(out, "; ");
		fmt_safe(out, note->text);
	}
}

void step_track_print_every(struct buf *out, const struct step_track *t)
{
	const struct paths_steps *s = &t->track->steps;
	const char *end = s->every % 10 == 2 && s->every % 100 != 12   ? "nd"
			  : s->every % 10 == 3 && s->every % 100 != 13 ? "rd"
			  : s->every % 10 == 1 && s->every % 100 != 11 ? "st"
								       : "th";
	char text[48];

	if (s->every)
		buf_printf(out, ", every %s%s about %s", fmt_count(s->every).s, end,
			   report_ns(text, sizeof(text), (double)s->every_ns));
}

/* Where a few steps have much of the time, so that no step is like the mean. */
static void print_median(struct buf *out, const struct step_track *t)
{
	double median = t->track->steps.timed ? (double)t->track->steps.p50_ns : 0;
	bool unlike = step_track_per_step(t, t->ns) > MEAN_UNLIKE * median;
	char text[48];

	if (median <= 0 || !paths_steps_have_mean(&t->track->steps) ||
	    (!unlike && !t->track->steps.every))
		return;
	buf_printf(out, " (median %s", report_ns(text, sizeof(text), median));
	step_track_print_every(out, t);
	buf_putc(out, ')');
}

void step_track_print_verdict(struct buf *out, const struct step_track *t)
{
	struct step_part best[VERDICT_PARTS];
	double between = phase_ns(t, "between");
	bool mean = paths_steps_have_mean(&t->track->steps);
	bool gaps = between > t->ns; /* and not the steps are what the program is at */
	char text[48];
	unsigned n = 0;

	step_parts_find(t, best);
	if (report_stuck_put(out, t->all, t->track, t->differs)) {
		if (t->mismatch) {
			buf_puts(out, ". ");
			fmt_safe(out, t->mismatch->summary);
		}
		buf_puts(out, ". Before that ");
	} else {
		report_print_text(out, t->track->thread, "?");
		buf_puts(out, ": ");
	}
	step_track_print_count(out, t);
	buf_puts(out, " steps of ");
	step_track_print_loop(out, t);
	buf_printf(out, ", %s%s %s", mean && paths_steps_are_range(&t->track->steps) ? "~" : "",
		   report_ns(text, sizeof(text), step_track_per_step(t, t->ns)),
		   mean ? "each" : "in all");
	print_median(out, t);
	if (gaps)
		print_beside(out, t, "between", "between steps", t->ns);
	for (unsigned i = 0; i < VERDICT_PARTS; i++) {
		double ns = (double)best[i].ns;

		if (!best[i].ns || ns < VERDICT_SHARE * t->ns)
			continue;
		buf_printf(out, "%s %s (%.1f%%) ",
			   n++	  ? ";"
			   : gaps ? "; of each"
				  : ":",
			   report_ns(text, sizeof(text), step_track_per_step(t, ns)),
			   ns / t->ns * 100);
		fmt_safe(out, best[i].text);
		if ((double)best[i].otherwise_ns >= OTHERWISE_SHARE * ns)
			buf_printf(out, ", with %s for the same thread in other ways",
				   report_ns(text, sizeof(text),
					     step_track_per_step(t, (double)best[i].otherwise_ns)));
		report_print_course(out, best[i].course);
	}
	print_once(out, t, best, n);
	print_notes(out, t, t->phase);
	if (!gaps)
		print_beside(out, t, "between", "between steps", BETWEEN_SHARE * t->ns);
	print_notes(out, t, paths_find_phase(t->track, "between"));
	print_beside(out, t, "start", "before the first", t->ns + between);
	if (!t->differs)
		print_beside(out, t, "end", "after the last", t->ns + between);
}

unsigned step_track_severity(const struct step_track *t)
{
	unsigned worst = paths_is_stuck(t->track) ? FINDING_HIGH : 0;

	for (size_t i = 0; i < t->phase->causes.n; i++)
		if (t->phase->causes.v[i].severity > worst)
			worst = t->phase->causes.v[i].severity;
	return worst > FINDING_HIGH ? FINDING_HIGH : worst;
}

/* ---- what is not of the steps ---- */

/* How much of that time lies within the steps. */
static double overlap_ns(int64_t from_ns, int64_t to_ns, const struct paths_steps *s)
{
	int64_t from = from_ns > s->first_ns ? from_ns : s->first_ns,
		to = to_ns < s->last_ns ? to_ns : s->last_ns;

	return to > from ? (double)to - (double)from : 0;
}

/* Work that stopped. */
static bool is_hang(struct bytes kind)
{
	return bytes_equal(kind, bytes_of("hang")) || bytes_equal(kind, bytes_of("call-hung")) ||
	       bytes_equal(kind, bytes_of("collective-hang"));
}

bool step_track_is_outside(const struct report *r, const struct finding *c)
{
	bool outside = false;
	struct step_track t;

	if (is_hang(c->kind))
		return false;
	for (size_t i = 0; i < r->chains->paths.tracks.n; i++) {
		if (get_track(r, i, &t) && is_of(c, t.track))
			outside = overlap_ns(c->first_ns - r->start_ns, c->last_ns - r->start_ns,
					     &t.track->steps) <
				  OUTSIDE_SHARE * (double)(c->last_ns - c->first_ns);
	}
	return outside;
}

unsigned step_track_count_outside(const struct report *r)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->chains->v.n; i++)
		n += report_selects(r, &r->chains->v.v[i]) &&
		     step_track_is_outside(r, &r->chains->v.v[i]);
	return n;
}
