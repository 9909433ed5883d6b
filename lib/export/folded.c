/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes folded stacks for flame graph tools: "outermost;…;innermost 123", one line per stack. The
 * number is ns, calls or bytes.
 */
#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/export/profile_format.h"

/* A semicolon or line end within a name would be read as the end of its frame. */
static void append_frame(struct buf *out, const struct world *w, const struct profile_frame *f,
			 struct buf *text)
{
	size_t from = out->n;

	buf_reset(text);
	profile_frame_text(text, w, f);
	fmt_safe(out, buf_bytes(text));
	for (size_t i = from; i < out->n; i++)
		if (out->p[i] == ';')
			out->p[i] = ':';
	out->failed |= text->failed;
}

static int on_finish(void *state, struct err *e)
{
	struct profile_state *s = state;
	const struct profile *p;
	struct buf text = { 0 };
	int rc = profile_end(s->run, &p, e);

	for (size_t i = 0; !rc && i < p->stacks.n; i++) {
		const struct profile_stack *st = &p->stacks.v[i];

		for (uint32_t k = 0; k < st->n; k++) {
			if (k)
				buf_putc(s->em.out, ';');
			append_frame(s->em.out, s->em.w, &p->frames.v[p->path.v[st->at + k]],
				     &text);
		}
		buf_printf(s->em.out, " %" PRIu64 "\n", st->weight);
	}
	buf_free(&text);
	return rc ? rc : s->em.out->failed ? err_nomem(e) : 0;
}

const struct export_format export_folded = {
	.name = "folded",
	.endings = ".folded .collapsed",
	.help = "stacks with their weight, for flame graphs",
	.profile = true,
	.open = profile_state_open,
	.item = profile_state_item,
	.finish = on_finish,
	.free = profile_state_free,
};
