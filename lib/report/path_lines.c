/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the lines of a phase: the longest intervals that are slow by themselves, and all notes. */
#include "lib/report/path_lines.h"

#include "lib/base/fmt.h"
#include "lib/report/report_parts.h"
#include "lib/report/stepless.h"

#define PROGRAMS_SHOWN 3

unsigned once_lines_find(const struct paths_phase *phase,
			 const struct paths_cause *best[ONCE_SHOWN])
{
	unsigned n = 0;

	for (size_t i = 0; phase && i < phase->causes.n; i++) {
		const struct paths_cause *c = &phase->causes.v[i];
		unsigned at = n;

		if (!c->once.n)
			continue;
		while (at > 0 && c->longest_ns > best[at - 1]->longest_ns)
			at--;
		if (at == ONCE_SHOWN)
			continue;
		n += n < ONCE_SHOWN;
		for (unsigned k = n - 1; k > at; k--)
			best[k] = best[k - 1];
		best[at] = c;
	}
	return n;
}

void once_lines_print(struct buf *out, const struct paths_cause *c)
{
	char text[48];

	buf_printf(out, "%s at once ", report_ns(text, sizeof(text), (double)c->longest_ns));
	buf_printf(out,
		   "%s after the start: ", report_ns(text, sizeof(text), (double)c->longest_at_ns));
	fmt_safe(out, c->once);
}

void once_lines_put(struct buf *out, const struct paths_phase *phase)
{
	const struct paths_cause *best[ONCE_SHOWN];
	unsigned n = once_lines_find(phase, best);

	for (unsigned i = 0; i < n; i++) {
		buf_puts(out, "    ");
		once_lines_print(out, best[i]);
		buf_putc(out, '\n');
	}
}

void note_lines_put(struct buf *out, const struct paths_phase *phase)
{
	for (size_t i = 0; phase && i < phase->notes.n; i++) {
		const struct paths_note *note = &phase->notes.v[i];

		buf_puts(out, "    ");
		fmt_safe(out, note->text);
		if (note->command.n) {
			buf_puts(out, "\n      $ ");
			fmt_safe(out, note->command);
		}
		buf_putc(out, '\n');
	}
}

static bool has_notes_that_matter(const struct paths_phase *phase)
{
	for (size_t i = 0; phase && i < phase->notes.n; i++)
		if (phase->notes.v[i].matters)
			return true;
	return false;
}

void path_lines_stepless(struct buf *out, const struct report *r, bool color)
{
	const struct paths *all = &r->chains->paths;
	unsigned shown = 0;

	for (size_t i = 0; i < all->tracks.n && shown < PROGRAMS_SHOWN; i++) {
		const struct paths_track *t = &all->tracks.v[i];
		const struct paths_phase *phase = paths_find_phase(t, "all");
		const struct paths_cause *best[ONCE_SHOWN];

		if (t->has_steps || !report_is_pid(r, t->pid) ||
		    (!once_lines_find(phase, best) && !has_notes_that_matter(phase)) ||
		    stepless_count_calls(r, t) <= 0)
			continue;
		report_style(out, color, "1");
		buf_puts(out, "\nSlow in ");
		report_print_text(out, t->thread, "?");
		report_style(out, color, "0");
		buf_puts(out, ":\n");
		once_lines_put(out, phase);
		note_lines_put(out, phase);
		shown++;
	}
}
