/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same recording has the same groups however it is cut: into items of any size, into blocks and
 * segments of a file, into windows of each anchor's life. And with hardly any memory the sums still
 * are the life: only lines and culprits get rough.
 */
#include "tests/tap.h"

#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/ige/reader.h"
#include "lib/ige/writer.h"
#include "lib/path/path_feed.h"
#include "lib/path/path_windows.h"
#include "tests/laws/path_run.h"

/* A group by what it is, not by ids: those of two worlds differ. */
static void put_group(struct buf *out, const struct world *w, const struct path_culprits *culprits,
		      const struct path_group *g)
{
	const struct path_culprit *c = path_culprit_get(culprits, g->culprit);
	const struct world_frame *f = world_get_frame(w, g->line);
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; c && i < c->nmembers && i < PATH_CULPRIT_MEMBERS; i++) {
		uint32_t tid = world_get_thread(w, c->members[i])->tid;

		least = tid < least ? tid : least;
	}
	buf_printf(out, "%u %s %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		   world_get_thread(w, g->anchor)->tid, path_class_text(g->class), least,
		   c ? c->nmembers : 0, f ? (unsigned)f->offset : 0, g->op, g->ns, g->pieces,
		   g->serialised_ns);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text in order. */
static void sort_lines(struct buf *text)
{
	VEC(char *) lines = { 0 };
	struct buf sorted = { 0 };
	char *at = text->p, *line;

	while ((line = strsep(&at, "\n")) && *line) {
		if (!vec_push(&lines, line))
			abort();
	}
	qsort(lines.v, lines.n, sizeof(lines.v[0]), compare_lines);
	for (size_t i = 0; i < lines.n; i++)
		buf_printf(&sorted, "%s\n", lines.v[i]);
	vec_free(&lines);
	buf_free(text);
	*text = sorted;
}

static void put_all(struct path_groups *g, struct path *p, struct buf *out)
{
	struct path_group_list list = { 0 };

	for (size_t i = 0; i < path_anchors(p); i++) {
		if (!path_groups_of(g, p, path_anchor(p, i).thread, &list))
			abort();
		for (size_t k = 0; k < list.v.n; k++)
			put_group(out, g->w, &g->culprits, &list.v.v[k]);
	}
	vec_free(&list.v);
	sort_lines(out);
}

/* ---- a stream in items ---- */

struct fed {
	struct path_groups groups;
	struct path_feed feed;
};

static void fed_open(struct fed *f, const struct world *w)
{
	memset(f, 0, sizeof(*f));
	path_groups_init(&f->groups, w);
	f->feed.path = path_new(w, NULL, &f->groups.listener);
}

static void fed_close(struct fed *f, struct buf *out)
{
	if (path_feed_finish(&f->feed, NULL))
		abort();
	put_all(&f->groups, f->feed.path, out);
	path_free(f->feed.path);
	path_feed_free(&f->feed);
	path_groups_free(&f->groups);
}

static struct record open_record(const struct path_stream *s, const struct stream_open *c)
{
	struct record r = { .kind = RECORD_OPEN };

	REC_SET(&r, OPEN, time_ns, s->end_ns);
	REC_SET(&r, OPEN, thread, c->thread);
	REC_SET(&r, OPEN, op, c->op);
	REC_SET(&r, OPEN, start_ns, c->start_ns);
	REC_SET(&r, OPEN, depth, c->depth);
	REC_SET(&r, OPEN, stack, c->stack);
	REC_SET(&r, OPEN, at_end, 1);
	return r;
}

/* Gives each item of the stream to who wants it: at most n events each, 0: of random number. */
static void each_item(struct path_stream *s, size_t n,
		      int (*give)(void *ctx, const struct stream_item *item), void *ctx)
{
	struct stream_item item = { .kind = STREAM_EVENTS };

	for (size_t at = 0; at < s->ev.n; at += item.n) {
		item.n = n ? n : stream_any(s, 1000);
		if (item.n > s->ev.n - at)
			item.n = s->ev.n - at;
		item.events = s->ev.v + at;
		item.watermark_ns = item.floor_ns = INT64_MIN;
		if (give(ctx, &item))
			abort();
	}
	for (size_t i = 0; i < s->open.n; i++) {
		struct record r = open_record(s, &s->open.v[i]);

		item = (struct stream_item){ .kind = STREAM_RECORD, .record = &r };
		if (give(ctx, &item))
			abort();
	}
}

static int give_feed(void *ctx, const struct stream_item *item)
{
	return path_feed_item(ctx, item, NULL);
}

static void in_items(struct path_stream *s, size_t n, struct buf *out)
{
	struct fed f;

	fed_open(&f, s->w);
	each_item(s, n, give_feed, &f.feed);
	fed_close(&f, out);
}

/* ---- through a file ---- */

static int give_writer(void *ctx, const struct stream_item *item)
{
	return ige_writer_item(ctx, item, NULL);
}

static uint64_t through_file(struct path_stream *s, uint32_t block_events, uint64_t segment_bytes,
			     struct buf *out)
{
	struct ige_writer_options opt = { .clock_id = 1,
					  .block_events = block_events,
					  .segment_bytes = segment_bytes };
	struct world *w = world_new();
	struct event_stream *back;
	struct ige_writer *wr;
	struct ige_reader *r;
	struct ige_fd_sink sink;
	struct stream_item it;
	FILE *file = tmpfile();
	uint64_t segments;
	struct fed f;

	if (!file)
		abort();
	ige_fd_sink_init(&sink, fileno(file));
	if (ige_writer_new(&wr, s->w, &sink.sink, &opt, NULL))
		abort();
	each_item(s, 100, give_writer, wr);
	if (ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	lseek(fileno(file), 0, SEEK_SET);
	if (ige_reader_open(&r, w, fileno(file), false, "test", NULL))
		abort();
	fed_open(&f, w);
	back = ige_reader_stream(r);
	while (back->next(back, &it, NULL) > 0) {
		if (path_feed_item(&f.feed, &it, NULL))
			abort();
	}
	segments = ige_reader_report(r)->segments;
	fed_close(&f, out);
	ige_reader_free(r);
	world_free(w);
	fclose(file);
	return segments;
}

static void is_same(const struct buf *a, const struct buf *b, unsigned seed, const char *how)
{
	size_t i = 0;

	while (i < a->n && i < b->n && a->p[i] == b->p[i])
		i++;
	if (!ok(a->n == b->n && i == a->n, "stream %u: the same groups %s", seed, how))
		printf("# at %zu\n# %.100s\n# %.100s\n", i, a->p + (i > 60 ? i - 60 : 0),
		       b->p + (i > 60 ? i - 60 : 0));
}

/* ---- windows ---- */

/* All but who the culprit is: that depends on who was met first. */
static void put_shape(struct buf *out, const struct path_group *g)
{
	buf_printf(out,
		   "%s %d %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64
		   "\n",
		   path_class_text(g->class), g->culprit != 0, g->device, g->line, g->victim, g->op,
		   g->ns, g->pieces, g->serialised_ns, g->longest_ns, g->longest_from_ns);
}

struct told {
	struct path_windows ws;
	struct buf *out;
	unsigned n;
	uint64_t wrong, rough;
	struct path *path;
};

static void on_window(struct path_windows *ws, int64_t from, int64_t to,
		      const struct path_group_list *groups)
{
	struct told *t = (struct told *)ws;
	uint64_t ns = 0;
	int64_t begin = INT64_MIN, end = INT64_MIN;

	for (size_t i = 0; i < path_anchors(t->path); i++) {
		struct path_anchor a = path_anchor(t->path, i);

		if (a.thread != ws->anchor)
			continue;
		begin = a.begin_ns > from ? a.begin_ns : from;
		end = a.end_ns < to ? a.end_ns : to;
	}
	for (size_t i = 0; i < groups->v.n; i++) {
		ns += groups->v.v[i].ns;
		t->rough += groups->v.v[i].rough_ns;
		if (t->out)
			put_shape(t->out, &groups->v.v[i]);
	}
	t->n++;
	t->wrong += (uint64_t)llabs((int64_t)ns - (end > begin ? end - begin : 0));
}

static void told_open(struct told *t, const struct world *w, struct path *p, uint32_t anchor)
{
	*t = (struct told){ .path = p };
	path_groups_init(&t->ws.groups, w);
	t->ws.anchor = anchor;
	t->ws.on_window = on_window;
}

/* Groups of the whole life as of one window, and of many: in each they sum to its length. Bounds
 * are random, some of them before the life and behind it. */
static void by_bounds(struct path_stream *s, struct path_run *r, const struct path_groups *all,
		      unsigned seed)
{
	uint64_t wrong = 0, differ = 0;
	unsigned n = 0;

	for (size_t i = 0; i < path_anchors(r->path); i++) {
		uint32_t anchor = path_anchor(r->path, i).thread;
		struct buf one = { 0 }, whole = { 0 };
		struct path_group_list list = { 0 };
		int64_t at = STREAM_BEGIN - 1000000;
		struct told t;

		told_open(&t, s->w, r->path, anchor);
		t.out = &one;
		if (!path_windows_bound(&t.ws, INT64_MIN) ||
		    !path_windows_bound(&t.ws, INT64_MAX) ||
		    path_windows_tell(&t.ws, r->path, NULL) ||
		    !path_groups_of((struct path_groups *)all, r->path, anchor, &list))
			abort();
		for (size_t k = 0; k < list.v.n; k++)
			put_shape(&whole, &list.v.v[k]);
		sort_lines(&one);
		sort_lines(&whole);
		differ += !one.n || one.n != whole.n || memcmp(one.p, whole.p, one.n) != 0;
		wrong += t.wrong;
		path_windows_free(&t.ws);
		told_open(&t, s->w, r->path, anchor);
		while (at < s->end_ns + 2000000) {
			if (!path_windows_bound(&t.ws, at))
				abort();
			at += 1 + (int64_t)stream_any(s, 2000000);
		}
		if (path_windows_tell(&t.ws, r->path, NULL))
			abort();
		n += t.n;
		wrong += t.wrong;
		path_windows_free(&t.ws);
		vec_free(&list.v);
		buf_free(&one);
		buf_free(&whole);
	}
	is_u64(wrong, 0, "stream %u: the groups of %u windows sum to their lengths", seed, n);
	is_u64(differ, 0, "stream %u: those of one window are those of the life", seed);
}

/* The same windows, told while the stream comes: nothing is told later, and nothing is lost. */
static void by_and_by(const struct path_stream *s, uint32_t anchor, unsigned seed)
{
	/* Of a thread that is not recorded nothing will be known. */
	const struct path_options o = { .patience_ns = 20000000 };
	struct path_groups all;
	struct path *p;
	struct told t;
	unsigned before_end;

	path_groups_init(&all, s->w);
	p = path_new(s->w, &o, &all.listener);
	told_open(&t, s->w, p, anchor);
	for (size_t i = 0; i < s->ev.n; i++) {
		if (path_event(p, &s->ev.v[i], NULL))
			abort();
		if (i % 500 == 0 && (!path_windows_bound(&t.ws, s->ev.v[i].end_ns) ||
				     path_windows_tell(&t.ws, p, NULL)))
			abort();
	}
	before_end = t.n;
	if (path_finish(p, s->end_ns, NULL) || !path_windows_bound(&t.ws, s->end_ns) ||
	    path_windows_tell(&t.ws, p, NULL))
		abort();
	ok(before_end > 20 && t.n > before_end, "stream %u: %u windows, %u before the end", seed,
	   t.n, before_end);
	is_u64(t.wrong + t.rough, 0, "stream %u: each of them whole when it is told", seed);
	path_windows_free(&t.ws);
	path_free(p);
	path_groups_free(&all);
}

/* Pieces of [from, to) alone, as groups of their own. */
static void add_window(struct path_groups *g, const struct path_run *r, int64_t from, int64_t to)
{
	for (size_t i = 0; i < r->v.n; i++) {
		struct run_piece p = r->v.v[i];

		p.from_ns = p.from_ns > from ? p.from_ns : from;
		p.to_ns = p.to_ns < to ? p.to_ns : to;
		if (p.from_ns < p.to_ns) {
			const struct path_piece piece = path_piece_of(&p);

			path_groups_add(g, &piece);
		}
	}
}

static uint32_t longest_lived(const struct path_run *r)
{
	struct path_anchor best = { 0 };

	for (size_t i = 0; i < path_anchors(r->path); i++) {
		struct path_anchor a = path_anchor(r->path, i);

		if (a.end_ns - a.begin_ns > best.end_ns - best.begin_ns)
			best = a;
	}
	return best.thread;
}

/* The sum over seventeen windows is what it is over all: of each, the groups sum to the part of
 * the life that lies in it. */
static void windows(struct path_stream *s, unsigned seed)
{
	struct path_group_list list = { 0 };
	int64_t from = INT64_MIN;
	uint64_t wrong = 0;
	struct path_groups all;
	struct path_run r;

	run_open(&r, s, NULL, NULL, NULL, false);
	path_groups_init(&all, s->w);
	add_window(&all, &r, INT64_MIN, INT64_MAX);
	by_bounds(s, &r, &all, seed);
	path_groups_free(&all);
	by_and_by(s, longest_lived(&r), seed);
	for (unsigned k = 1; k <= 17; k++) {
		int64_t to = k == 17 ? INT64_MAX
				     : STREAM_BEGIN + (s->end_ns - STREAM_BEGIN) * k / 17 +
					       (int64_t)stream_any(s, 1000000);
		struct path_groups g;

		path_groups_init(&g, s->w);
		add_window(&g, &r, from, to);
		for (size_t i = 0; i < path_anchors(r.path); i++) {
			struct path_anchor a = path_anchor(r.path, i);
			int64_t begin = a.begin_ns > from ? a.begin_ns : from,
				end = a.end_ns < to ? a.end_ns : to, sum = 0;

			if (!path_groups_of(&g, r.path, a.thread, &list))
				abort();
			for (size_t n = 0; n < list.v.n; n++)
				sum += (int64_t)list.v.v[n].ns;
			wrong += (uint64_t)llabs(sum - (end > begin ? end - begin : 0));
		}
		path_groups_free(&g);
		from = to;
	}
	is_u64(wrong, 0, "stream %u: in seventeen windows the groups sum to the life", seed);
	vec_free(&list.v);
	run_close(&r);
}

/* ---- little memory ---- */

static uint64_t rough_ns(const struct path_run *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->v.n; i++)
		ns += r->v.v[i].s.flags & SEGMENT_ROUGH
			      ? (uint64_t)(r->v.v[i].to_ns - r->v.v[i].from_ns)
			      : 0;
	return ns;
}

static void little_memory(struct path_stream *s, unsigned seed)
{
	const struct path_options o = { .segments_max = 30000 };
	struct path_memory m, all;
	struct path_run r, whole;

	run_open(&whole, s, NULL, NULL, NULL, false);
	run_open(&r, s, &o, NULL, NULL, false);
	path_memory(r.path, &m);
	path_memory(whole.path, &all);
	ok(m.segments + m.mixes < o.segments_max && all.segments > 5 * o.segments_max,
	   "stream %u: %zu segments and %zu parts of checkpoints are held, else %zu", seed,
	   m.segments, m.mixes, all.segments);
	is_u64(run_untiled(&r), 0, "stream %u: the pieces tile the lives still", seed);
	ok(rough_ns(&whole) == 0 && rough_ns(&r) > 0, "stream %u: %.3f ms of them are rough", seed,
	   (double)rough_ns(&r) / 1e6);
	run_close(&r);
	run_close(&whole);
}

int main(void)
{
	for (unsigned seed = 41; seed <= 44; seed++) {
		struct buf whole = { 0 }, cut = { 0 };
		struct path_stream s;
		uint64_t segments;

		path_stream_open(&s, seed, 1000000000, seed % 2);
		in_items(&s, s.ev.n, &whole);
		ok(whole.n > 10000, "stream %u has groups", seed);
		in_items(&s, 1, &cut);
		is_same(&whole, &cut, seed, "one event at a time");
		buf_free(&cut);
		in_items(&s, 0, &cut);
		is_same(&whole, &cut, seed, "in random pieces");
		buf_free(&cut);
		through_file(&s, 0, 0, &cut);
		is_same(&whole, &cut, seed, "through a file");
		buf_free(&cut);
		segments = through_file(&s, 1000, 100000, &cut);
		ok(segments > 2, "stream %u: %d segments", seed, (int)segments);
		is_same(&whole, &cut, seed, "in segments");
		buf_free(&cut);
		buf_free(&whole);
		windows(&s, seed);
		path_stream_close(&s);
		path_stream_open(&s, seed, 4000000000, seed % 2);
		little_memory(&s, seed);
		path_stream_close(&s);
	}
	return tap_done();
}
