/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the critical path of recordings: path_print [-a TID] [-n ROWS] [FILE...]. For each anchor
 * the parts of its life, most time first, whether they sum to it (the error in ns), and where its
 * last wait did not end, why. Exits with 1 where a sum is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/input/input.h"
#include "lib/path/path_feed.h"
#include "lib/world/call_site.h"
#include "lib/world/who.h"
#include "tests/unit/path_parts.h"

struct print {
	struct world *w;
	struct path_parts parts;
	struct unended_facts unended;
	uint32_t tid; /* 0: all anchors */
	size_t rows;
	struct buf text;
};

static void put_thread(struct print *p, uint32_t thread)
{
	who_print_thread(&p->text, p->w, thread, INT64_MAX);
}

static void put_culprit(struct print *p, const struct track_part *g)
{
	const struct path_culprit *c = path_culprit_get(&p->parts.names.culprits, g->culprit);

	if (g->class == PATH_DISK && !c)
		buf_printf(&p->text, "%u:%u", g->device >> 20, g->device & 0xfffff);
	if (!c)
		return;
	put_thread(p, c->members[0]);
	if (c->nmembers > 1)
		buf_printf(&p->text, " and %u more", c->nmembers - 1);
}

/* A damaged recording has texts that are not defined. */
static const char *text_of(const struct world *w, uint32_t id)
{
	const char *text = world_text(w, id).p;

	return text ? text : "?";
}

static void put_line(struct print *p, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(p->w, frame);
	const struct world_symbol *s = world_get_symbol(p->w, frame);
	const struct world_module *m = f ? world_get_module(p->w, f->module) : NULL;

	if (!f)
		return;
	if (f->kind == FRAME_PYTHON)
		buf_printf(&p->text, "%s (%s:%" PRIu64 ")", text_of(p->w, f->name),
			   text_of(p->w, f->file), f->offset);
	else if (s)
		buf_puts(&p->text, text_of(p->w, s->name));
	else if (m)
		buf_printf(&p->text, "%s+0x%" PRIx64, text_of(p->w, m->path), f->offset);
	else
		buf_printf(&p->text, "0x%" PRIx64, f->offset);
}

static void put_part(struct print *p, const struct track_part *g, uint64_t life)
{
	const struct op_def *op = g->op ? world_op(p->w, g->op) : NULL;
	uint32_t victim = g->stack ? call_site_frame(p->w, g->stack) : 0;

	buf_printf(&p->text, "%11.3f ms %5.1f %% %8" PRIu64 "  %s | ", (double)g->ns / 1e6,
		   100.0 * (double)g->ns / (double)life, g->pieces, path_class_text(g->class));
	put_culprit(p, g);
	buf_puts(&p->text, " | ");
	if (op)
		buf_printf(&p->text, "%s%s ", g->class == PATH_OWN ? "after " : "", op->name);
	if (g->class == PATH_OWN && g->line && !g->sampled)
		buf_puts(&p->text, "between calls at ");
	put_line(p, g->line);
	if (victim && victim != g->line) {
		buf_puts(&p->text, " < ");
		put_line(p, victim);
	}
	if (g->occupant)
		buf_puts(&p->text, " [behind it on a CPU]");
	buf_putc(&p->text, '\n');
}

/* Why the anchor's last wait did not end. */
static void put_unended(struct print *p, uint32_t anchor)
{
	static const char *const known[] = {
		[PATH_PROVEN] = "", [PATH_LIKELY] = ", likely", [PATH_CANDIDATE] = ", perhaps"
	};
	struct path_unended u;

	path_unended_of(&p->unended, anchor, &u);
	for (unsigned i = 0; i < u.n; i++) {
		const struct path_unended_step *s = &u.v[i];

		buf_printf(&p->text, "  %s | ", i ? path_by_text(s->by) : "never ended");
		if (s->thread)
			put_thread(p, s->thread);
		else
			buf_printf(&p->text, "pid %u", s->pid);
		buf_printf(&p->text, "%s | ", known[s->known]);
		put_line(p, s->stack ? call_site_frame(p->w, s->stack) : 0);
		buf_putc(&p->text, '\n');
	}
	buf_printf(&p->text, "  %s", path_ends_text(u.ends));
	if (u.ends == PATH_ENDS_CYCLE)
		put_thread(p, u.v[u.cycle].thread);
	buf_putc(&p->text, '\n');
}

static bool is_unended(const struct track_parts *list)
{
	for (size_t i = 0; i < list->v.n; i++) {
		if (list->v.v[i].class == PATH_UNENDED && !list->v.v[i].culprit)
			return true;
	}
	return false;
}

static int compare_ns(const void *a, const void *b)
{
	const struct track_part *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* Whether the parts sum to the life. */
static bool put_anchor(struct print *p, const struct path_anchor *a)
{
	const struct track_parts *list = path_parts_of(&p->parts, a->thread);
	uint64_t life = (uint64_t)(a->end_ns - a->begin_ns), sum = path_parts_ns(list);

	if (list->v.n)
		qsort(list->v.v, list->v.n, sizeof(list->v.v[0]), compare_ns);
	put_thread(p, a->thread);
	buf_printf(&p->text, ": %.3f ms, %zu parts, error %" PRId64 " ns\n", (double)life / 1e6,
		   list->v.n, (int64_t)(sum - life));
	for (size_t i = 0; i < list->v.n && i < p->rows; i++)
		put_part(p, &list->v.v[i], life);
	if (is_unended(list))
		put_unended(p, a->thread);
	return sum == life;
}

static int read_all(struct print *p, const char *const *names, unsigned n, struct err *e)
{
	struct path_feed feed = { .path = p->parts.path, .unended = &p->unended };
	struct event_stream *s;
	struct stream_item item;
	struct input *in;
	int rc = input_open(&in, p->w, names, n, e);

	if (rc)
		return rc;
	s = input_stream(in);
	while ((rc = s->next(s, &item, e)) > 0 && (rc = path_feed_item(&feed, &item, e)) == 0)
		;
	if (rc == 0)
		rc = path_feed_finish(&feed, e);
	path_feed_free(&feed);
	input_free(in);
	return rc;
}

static bool put_all(struct print *p)
{
	bool right = true;

	for (size_t i = 0; i < path_anchors(p->parts.path); i++) {
		struct path_anchor a = path_anchor(p->parts.path, i);
		const struct world_thread *t = world_get_thread(p->w, a.thread);

		if (a.end_ns > a.begin_ns && (!p->tid || (t && t->tid == p->tid)))
			right &= put_anchor(p, &a);
	}
	fputs(buf_text(&p->text), stdout);
	return right;
}

int main(int argc, char **argv)
{
	struct print p = { .w = world_new(), .rows = 20 };
	struct err e = { 0 };
	int option, rc = 1;

	while ((option = getopt(argc, argv, "a:n:")) != -1) {
		if (option == '?')
			return 2;
		if (option == 'a')
			p.tid = (uint32_t)strtoul(optarg, NULL, 10);
		else
			p.rows = strtoul(optarg, NULL, 10);
	}
	p.unended.w = p.w;
	path_parts_init(&p.parts, p.w, NULL, NULL);
	if (read_all(&p, (const char *const *)argv + optind, (unsigned)(argc - optind), &e))
		fprintf(stderr, "path_print: %s\n", e.text);
	else
		rc = !put_all(&p);
	path_free(p.parts.path);
	path_parts_free(&p.parts);
	unended_facts_free(&p.unended);
	buf_free(&p.text);
	world_free(p.w);
	return rc;
}
