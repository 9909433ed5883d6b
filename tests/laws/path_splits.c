/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same recording has the same parts however it is cut: into items of any size, into blocks and
 * segments of a file, into windows of each anchor's life. And with hardly any memory the sums still
 * are the life: only lines and culprits get rough.
 */
#include "tests/tap.h"

#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/ige/reader.h"
#include "lib/ige/writer.h"
#include "lib/path/path_feed.h"
#include "tests/laws/path_run.h"
#include "tests/unit/path_parts.h"

/* A part by what it is, not by ids: those of two worlds differ. */
static void put_part(struct buf *out, const struct track_names *names, uint32_t anchor,
		     const struct track_part *p)
{
	const struct path_culprit *c = path_culprit_get(&names->culprits, p->culprit);
	const struct world_frame *f = world_get_frame(names->w, p->line);
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; c && i < c->nmembers && i < PATH_CULPRIT_MEMBERS; i++) {
		uint32_t tid = world_get_thread(names->w, c->members[i])->tid;

		least = tid < least ? tid : least;
	}
	buf_printf(out, "%u %s %u %u %u %u %d %" PRIu64 " %" PRIu64 "\n",
		   world_get_thread(names->w, anchor)->tid, path_class_text(p->class), least,
		   c ? c->nmembers : 0, f ? (unsigned)f->offset : 0, p->op, p->occupant != 0, p->ns,
		   p->pieces);
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

static void put_all(struct path_parts *s, struct buf *out)
{
	for (size_t i = 0; i < path_anchors(s->path); i++) {
		uint32_t anchor = path_anchor(s->path, i).thread;
		const struct track_parts *list = path_parts_of(s, anchor);

		for (size_t k = 0; k < list->v.n; k++)
			put_part(out, &s->names, anchor, &list->v.v[k]);
	}
	sort_lines(out);
}

/* ---- a stream in items ---- */

struct fed {
	struct path_parts parts;
	struct path_feed feed;
};

static void fed_open(struct fed *f, const struct world *w)
{
	memset(f, 0, sizeof(*f));
	path_parts_init(&f->parts, w, NULL, NULL);
	f->feed.path = f->parts.path;
}

static void fed_close(struct fed *f, struct buf *out)
{
	if (path_feed_finish(&f->feed, NULL))
		abort();
	put_all(&f->parts, out);
	path_free(f->feed.path);
	path_feed_free(&f->feed);
	path_parts_free(&f->parts);
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
	if (!ok(a->n == b->n && i == a->n, "stream %u: the same parts %s", seed, how))
		printf("# at %zu\n# %.100s\n# %.100s\n", i, a->p + (i > 60 ? i - 60 : 0),
		       b->p + (i > 60 ? i - 60 : 0));
}

/* ---- windows ---- */

/* All but who the culprit is: that depends on who was met first. */
static void put_shapes(struct buf *out, const struct track_parts *list)
{
	for (size_t i = 0; i < list->v.n; i++) {
		const struct track_part *p = &list->v.v[i];

		buf_printf(out, "%s %d %u %u %u %u %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			   path_class_text(p->class), p->culprit != 0, p->device, p->line, p->stack,
			   p->op, p->occupant != 0, p->ns, p->pieces, p->longest_ns);
	}
	sort_lines(out);
}

/* So much of [from, to) lies in the anchor's life. */
static int64_t lived_ns(const struct path *p, uint32_t anchor, int64_t from, int64_t to)
{
	for (size_t i = 0; i < path_anchors(p); i++) {
		struct path_anchor a = path_anchor(p, i);

		if (a.thread != anchor)
			continue;
		from = a.begin_ns > from ? a.begin_ns : from;
		to = a.end_ns < to ? a.end_ns : to;
		return to > from ? to - from : 0;
	}
	return 0;
}

/* How many ns the parts of a window are off its length; list: these parts. */
static uint64_t window_off(struct path_parts *s, uint32_t anchor, int64_t from, int64_t to,
			   const struct track_parts **list)
{
	path_parts_reset(s);
	if (path_window(s->path, anchor, from, to, &s->listener, NULL))
		abort();
	*list = path_parts_of(s, anchor);
	return (uint64_t)llabs((int64_t)path_parts_ns(*list) - lived_ns(s->path, anchor, from, to));
}

/* Parts of the whole life as of one window, and of many: in each they sum to its length. Bounds
 * are random, some of them before the life and behind it. */
static void by_bounds(struct path_stream *s, struct path_run *r, struct path_parts *all,
		      unsigned seed)
{
	uint64_t wrong = 0, differ = 0;
	unsigned n = 0;

	for (size_t i = 0; i < path_anchors(r->path); i++) {
		uint32_t anchor = path_anchor(r->path, i).thread;
		int64_t from = STREAM_BEGIN - 1000000, to;
		struct buf one = { 0 }, whole = { 0 };
		const struct track_parts *list;
		struct path_parts window;

		path_parts_init(&window, s->w, r->path, NULL);
		wrong += window_off(&window, anchor, INT64_MIN, INT64_MAX, &list);
		put_shapes(&one, list);
		put_shapes(&whole, path_parts_of(all, anchor));
		differ += !one.n || one.n != whole.n || memcmp(one.p, whole.p, one.n) != 0;
		for (; from < s->end_ns + 2000000; from = to, n++) {
			to = from + 1 + (int64_t)stream_any(s, 2000000);
			wrong += window_off(&window, anchor, from, to, &list);
		}
		path_parts_free(&window);
		buf_free(&one);
		buf_free(&whole);
	}
	is_u64(wrong, 0, "stream %u: the parts of %u windows sum to their lengths", seed, n);
	is_u64(differ, 0, "stream %u: those of one window are those of the life", seed);
}

/* What is whole is not rough. */
static void on_whole_piece(struct path_listener *l, const struct path_piece *p)
{
	if (p->s->flags & SEGMENT_ROUGH)
		abort();
	path_parts_on_piece(l, p);
}

/* The same windows, while the stream comes: what is known of one is all of it. */
static void by_and_by(const struct path_stream *s, uint32_t anchor, unsigned seed)
{
	/* Of a thread that is not recorded nothing will be known. */
	const struct path_options o = { .patience_ns = 20000000 };
	const struct track_parts *list;
	struct path_parts all, window;
	int64_t from = s->ev.v[0].end_ns;
	uint64_t wrong = 0;
	unsigned n = 0;

	path_parts_init(&all, s->w, NULL, &o);
	path_parts_init(&window, s->w, all.path, NULL);
	window.listener.on_piece = on_whole_piece;
	for (size_t i = 0, end = 500; i < s->ev.n; i++) {
		if (path_event(all.path, &s->ev.v[i], NULL))
			abort();
		for (; end <= i && s->ev.v[end].end_ns <= path_known_ns(all.path, anchor);
		     end += 500) {
			wrong += window_off(&window, anchor, from, s->ev.v[end].end_ns, &list);
			from = s->ev.v[end].end_ns;
			n++;
		}
	}
	if (path_finish(all.path, s->end_ns, NULL))
		abort();
	wrong += window_off(&window, anchor, from, s->end_ns, &list);
	ok(n > 20, "stream %u: %u windows before the end", seed, n);
	is_u64(wrong, 0, "stream %u: each of them whole when it is known", seed);
	path_free(all.path);
	path_parts_free(&all);
	path_parts_free(&window);
}

/* Pieces of [from, to) alone. */
static void add_window(struct path_parts *s, const struct path_run *r, int64_t from, int64_t to)
{
	for (size_t i = 0; i < r->v.n; i++) {
		struct run_piece p = r->v.v[i];

		p.from_ns = p.from_ns > from ? p.from_ns : from;
		p.to_ns = p.to_ns < to ? p.to_ns : to;
		if (p.from_ns < p.to_ns) {
			const struct path_piece piece = path_piece_of(&p);

			path_parts_add(s, &piece);
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

/* The sum over seventeen windows is what it is over all: of each, the parts sum to the part of
 * the life that lies in it. */
static void windows(struct path_stream *s, unsigned seed)
{
	int64_t from = INT64_MIN;
	uint64_t wrong = 0;
	struct path_parts parts;
	struct path_run r;

	run_open(&r, s, NULL, NULL, NULL, false);
	path_parts_init(&parts, s->w, r.path, NULL);
	add_window(&parts, &r, INT64_MIN, INT64_MAX);
	by_bounds(s, &r, &parts, seed);
	by_and_by(s, longest_lived(&r), seed);
	for (unsigned k = 1; k <= 17; k++) {
		int64_t to = k == 17 ? INT64_MAX
				     : STREAM_BEGIN + (s->end_ns - STREAM_BEGIN) * k / 17 +
					       (int64_t)stream_any(s, 1000000);

		path_parts_reset(&parts);
		add_window(&parts, &r, from, to);
		for (size_t i = 0; i < path_anchors(r.path); i++) {
			uint32_t anchor = path_anchor(r.path, i).thread;

			wrong += (uint64_t)llabs(
				(int64_t)path_parts_ns(path_parts_of(&parts, anchor)) -
				lived_ns(r.path, anchor, from, to));
		}
		from = to;
	}
	is_u64(wrong, 0, "stream %u: in seventeen windows the parts sum to the life", seed);
	path_parts_free(&parts);
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
		ok(whole.n > 10000, "stream %u has parts", seed);
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
