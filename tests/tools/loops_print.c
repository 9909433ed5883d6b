/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the steps of programs in recordings: loops_print [-as] [FILE...]. For each thread whose
 * loop makes calls its main one, the phases of its life, and the loops around and inside; -a: of
 * threads without calls, too; -s: every step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/input/input.h"
#include "lib/loops/loops_feed.h"
#include "lib/world/frame_parts.h"
#include "lib/world/who.h"

struct print {
	struct loop_listener listener;
	struct world *w;
	struct loops *loops;
	struct buf text;
	bool steps, all;
};

static void on_step(struct loop_listener *listener, const struct loop_step *s)
{
	struct print *p = (struct print *)listener;

	if (p->steps)
		buf_printf(&p->text, "step %u %u %" PRIu64 " %" PRId64 " %" PRId64 "%s\n",
			   s->thread, s->loop, s->number, s->begin_ns, s->end_ns,
			   s->certain ? "" : " ~");
}

static void on_restart(struct loop_listener *listener, uint32_t thread, uint32_t loop)
{
	struct print *p = (struct print *)listener;

	buf_printf(&p->text, "restart %u %u\n", thread, loop);
}

static void put_place(struct print *p, uint32_t frame, uint32_t first, uint32_t last)
{
	const struct world_frame *f = world_get_frame(p->w, frame);
	struct bytes file = f ? world_text(p->w, f->file) : bytes_of("?");
	const char *slash = file.n ? memrchr(file.p, '/', file.n) : NULL;

	buf_printf(&p->text, "%s (%s:%u", f ? world_text(p->w, f->name).p : "?",
		   slash ? slash + 1 : file.p, first);
	if (last > first)
		buf_printf(&p->text, "-%u", last);
	buf_putc(&p->text, ')');
}

static void put_calls(struct print *p, const struct loop *loop)
{
	const struct op_def *op = world_op(p->w, loop->op);
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(p->w, loop->stack, &n);

	buf_printf(&p->text, "%u calls, told by %s of ", loop->period, op ? op->name : "?");
	place_print_frame(&p->text, p->w, frames && n ? frames[0] : 0);
}

static void put_loop(struct print *p, const struct loop *loop)
{
	const char *mark = loop->least ? ">=" : loop->uncertain ? "~" : "";

	buf_printf(&p->text, "%s%" PRIu64 " steps of ", mark, loop->estimate);
	if (loop->period)
		put_calls(p, loop);
	else
		put_place(p, loop->frame, loop->first_line, loop->last_line);
	buf_printf(&p->text,
		   ", median %.3f ms, p99 %.3f ms, first at %.3f s, last at %.3f s, %" PRIu64
		   " uncertain\n",
		   (double)sketch_quantile(&loop->dur, 0.5) / 1e6,
		   (double)sketch_quantile(&loop->dur, 0.99) / 1e6, (double)loop->first_ns / 1e9,
		   (double)loop->last_ns / 1e9, loop->uncertain);
}

static void put_all(struct print *p)
{
	for (size_t i = 0; i < loops_count(p->loops); i++) {
		const struct loop *loop = loops_get(p->loops, i);

		if ((!loop->calls && !p->all) || loops_main(p->loops, loop->thread) != (int)i)
			continue;
		who_print_thread(&p->text, p->w, loop->thread, INT64_MAX);
		buf_puts(&p->text, ": ");
		put_loop(p, loop);
	}
	fputs(buf_text(&p->text), stdout);
}

static int read_all(struct print *p, const char *const *names, unsigned n, struct err *e)
{
	struct loops_feed feed = { .loops = p->loops };
	struct event_stream *s;
	struct stream_item item;
	struct input *in;
	int rc = input_open(&in, p->w, names, n, e);

	if (rc)
		return rc;
	s = input_stream(in);
	while ((rc = s->next(s, &item, e)) > 0 && (rc = loops_feed_item(&feed, &item, e)) == 0)
		;
	if (rc == 0)
		rc = loops_finish(p->loops, e);
	input_free(in);
	return rc;
}

int main(int argc, char **argv)
{
	struct print p = { { on_step, on_restart }, .w = world_new() };
	struct err e = { 0 };
	int option, rc = 1;

	while ((option = getopt(argc, argv, "as")) != -1) {
		if (option == '?')
			return 2;
		p.steps |= option == 's';
		p.all |= option == 'a';
	}
	p.loops = loops_new(p.w, &p.listener);
	if (!p.loops ||
	    read_all(&p, (const char *const *)argv + optind, (unsigned)(argc - optind), &e)) {
		fprintf(stderr, "loops_print: %s\n", e.text);
	} else {
		put_all(&p);
		rc = 0;
	}
	loops_free(p.loops);
	buf_free(&p.text);
	world_free(p.w);
	return rc;
}
