/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in what findings of lost time and facts of detectors share, from the tables of names and
 * the totals of the stream: victim, times, places in the code, fixes and evidence.
 */
#include "lib/account/finding_details.h"

#include "lib/account/names.h"

#define FRAMES_TOLD 16

/* Its names in tables of symbols or of the interpreter. */
static void name_place(const struct cause *c, uint32_t frame, struct finding_site *s,
		       struct finding *to)
{
	const struct world_symbol *sym = world_get_symbol(c->w, frame);
	const struct world_frame *fr = world_get_frame(c->w, frame);
	const struct world_module *m = fr ? world_get_module(c->w, fr->module) : NULL;

	if (m)
		s->module = finding_copy(to, world_text(c->w, m->path));
	if (sym) {
		s->symbol = finding_copy(to, world_text(c->w, sym->name));
		s->line = sym->line;
	}
	if (sym && sym->file)
		s->file = finding_copy(to, world_text(c->w, sym->file));
	if (!fr || fr->kind != FRAME_PYTHON)
		return;
	if (!sym)
		s->symbol = finding_copy(to, world_text(c->w, fr->name));
	if (!s->file.p)
		s->file = finding_copy(to, world_text(c->w, fr->file));
	if (!s->line)
		s->line = fr->offset;
}

void details_add_site(const struct cause *c, const struct where_place *p, struct finding *to)
{
	uint32_t frame = name_site_frame(c->w, p->stack);
	const struct op_def *op = p->op ? world_op(c->w, p->op) : NULL;
	unsigned frames = 0;
	const uint32_t *stack = p->stack ? world_get_stack(c->w, p->stack, &frames) : NULL;
	struct finding_site *s = finding_add(to, sites);
	struct buf text = { 0 };

	if (!s)
		return;
	name_op(&text, c->w, p->op);
	s->op = details_take(to, &text);
	s->source = finding_copy(to, bytes_of(op ? op->source_name : "host"));
	if (frame) {
		name_frame(&text, c->w, frame);
		name_site_caller(&text, c->w, p->stack);
	}
	s->text = details_take(to, &text);
	name_place(c, frame, s, to);
	s->lost_ns = p->lost_ns;
	s->affected = p->affected;
	s->timed = p->op != 0;
	s->calls = p->count;
	s->avg_ns = p->count ? p->sum_ns / p->count : 0;
	s->max_ns = p->max_ns;
	s->bytes = p->bytes;
	for (unsigned k = 0; stack && k < frames && k < FRAMES_TOLD; k++) {
		struct bytes *name = list_add(&s->stack, &to->memory);

		to->failed |= !name;
		name_frame(&text, c->w, stack[k]);
		if (name)
			*name = details_take(to, &text);
	}
	buf_free(&text);
}

void details_fill_victim(const struct cause *c, uint32_t process, uint32_t node, struct finding *to)
{
	const struct tally_process *p = tally_process_known(&c->tally, process);
	const struct world_process *v = world_get_process(c->w, process);
	const struct world_node *n = world_get_node(c->w, node ? node : v ? v->node : 0);

	if (n)
		to->node = finding_copy(to, world_text(c->w, n->name));
	to->victim.known = true;
	to->victim.comm =
		v ? finding_copy(to, name_process(c->w, &c->tally, process)) : bytes_of("");
	if (v) {
		to->victim.pid = v->tgid;
		to->victim.command = finding_copy(to, name_cmdline(c->w, &c->tally, process));
	}
	to->victim.calls = p ? p->calls : 0;
}

void details_fill_times(const struct cause *c, struct finding *to)
{
	uint64_t wall_ns = cause_wall_ns(c);

	to->first_after_ns = to->first_ns - c->start_ns;
	to->last_after_ns = to->last_ns - c->start_ns;
	to->lost_ms_per_s = wall_ns ? (double)to->lost_ns * 1e3 / (double)wall_ns : 0;
}

void details_add_fix(struct finding *to, const char *action, const char *kind, const char *command,
		     uint64_t gain_low_ns, uint64_t gain_high_ns, const char *basis)
{
	struct finding_fix *fix = finding_add(to, fixes);

	if (fix)
		*fix = (struct finding_fix){ .action = finding_copy(to, bytes_of(action)),
					     .kind = bytes_of(kind),
					     .command = finding_copy(to, bytes_of(command)),
					     .gain_low_ns = gain_low_ns,
					     .gain_high_ns = gain_high_ns,
					     .basis = finding_copy(to, bytes_of(basis)) };
}

void details_add_number(struct finding *to, const char *what, double value, const char *unit)
{
	struct finding_evidence *e = finding_add(to, evidence);

	if (e)
		*e = (struct finding_evidence){ .what = finding_copy(to, bytes_of(what)),
						.is_number = true,
						.value = value,
						.unit = finding_copy(to, bytes_of(unit)) };
}

void details_add_text(struct finding *to, const char *what, const char *text)
{
	struct finding_evidence *e = finding_add(to, evidence);

	if (e)
		*e = (struct finding_evidence){ .what = finding_copy(to, bytes_of(what)),
						.text = finding_copy(to, bytes_of(text)) };
}

void details_fill_coverage(const struct cause *c, struct finding *to)
{
	const struct line_totals *totals = line_totals(c->line);

	to->coverage.lost_events = totals->lost;
	to->coverage.late_events = totals->late;
	to->coverage.lower_bound = totals->lost > 0 || totals->late > 0;
}

struct bytes details_take(struct finding *to, struct buf *text)
{
	struct bytes copy = finding_copy(to, buf_bytes(text));

	to->failed |= text->failed;
	buf_reset(text);
	return copy;
}

const char *details_text(struct finding *to, struct buf *text)
{
	struct bytes copy = details_take(to, text);

	buf_free(text);
	return copy.p ? copy.p : "";
}

const char *details_print(struct finding *to, const char *format, ...)
{
	struct buf text = { 0 };
	va_list args;

	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	return details_text(to, &text);
}
