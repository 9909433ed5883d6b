/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the detection of loops beside a timeline and keeps the steps it reports. */
#include "lib/export/step_slices.h"

#include "lib/tracks/loop_text.h"

static void on_step(struct loop_listener *l, const struct loop_step *step)
{
	struct step_slices *s = (struct step_slices *)l;

	s->nomem |= !vec_push(&s->v, *step);
}

bool step_slices_init(struct step_slices *s, const struct world *w)
{
	*s = (struct step_slices){ .listener.on_step = on_step, .w = w };
	s->loops = s->feed.loops = loops_new(w, &s->listener);
	return s->loops != NULL;
}

int step_slices_item(struct step_slices *s, const struct stream_item *item, struct err *e)
{
	int rc = s->loops ? loops_feed_item(&s->feed, item, e) : 0;

	return rc ? rc : s->nomem ? err_nomem(e) : 0;
}

int step_slices_finish(struct step_slices *s, struct err *e)
{
	int rc = s->loops ? loops_finish(s->loops, e) : 0;

	return rc ? rc : s->nomem ? err_nomem(e) : 0;
}

void step_slices_free(struct step_slices *s)
{
	vec_free(&s->v);
	loops_free(s->loops);
	s->loops = NULL;
}

void step_slices_print_loop(const struct step_slices *s, uint32_t loop, struct buf *out)
{
	buf_puts(out, "steps of ");
	loop_text_print(out, s->w, loops_get(s->loops, loop));
}
