/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of a recording that is sought is the stretch of the recording that was read whole: with
 * an index, without one, with one that lies, in one segment or many, joined files included.
 */
#include "lib/ige/seek.h"

#include "lib/ige/index.h"
#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t any(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* n events with jitter, long ones, gaps, late ones; records now and then. */
static bool archive; /* the form of what is recorded */

static void record(struct fixture *f, struct buf *out, uint32_t n, bool index,
		   uint64_t segment_bytes, int64_t from)
{
	struct ige_writer_options opt = { .archive = archive,
					  .block_events = 64,
					  .boot = 77,
					  .clock_id = 1,
					  .segment_bytes = segment_bytes,
					  .real_minus_mono_ns = from + index,
					  .index = index };
	struct fixture_sink s = { .sink = { fixture_put } };
	struct ige_writer *wr;
	struct err e = { 0 };
	int64_t now = from;
	int rc = 0;

	if (ige_writer_new(&wr, f->w, &s.sink, &opt, &e))
		abort();
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct event ev = fixture_event(f, i);

		now += (int64_t)(any() % 2000) + (any() % 100 ? 0 : 300000);
		ev.end_ns = now;
		if (any() % 50 == 0)
			ev.dur_ns = any() % 400000;
		rc |= ige_writer_event(wr, &ev, &e);
		if (i % 300 == 299) {
			/* What comes next is late. */
			rc |= ige_writer_flush(wr, now, now, true, &e);
			ev.end_ns = now - (int64_t)(any() % 500000);
			rc |= ige_writer_event(wr, &ev, &e);
		}
		if (i % 100 == 50) {
			struct record r = { .kind = RECORD_SAMPLE };

			REC_SET(&r, SAMPLE, time_ns, now);
			REC_SET(&r, SAMPLE, metric, METRIC_CPU_BUSY);
			REC_SET(&r, SAMPLE, value, (double)i);
			rc |= ige_writer_record(wr, &r, &e);
		}
		if (i % 400 == 10)
			ige_writer_lost(wr, i);
	}
	rc |= ige_writer_finish(wr, &e);
	if (rc)
		abort();
	ige_writer_free(wr);
	buf_add(out, s.bytes.p, s.bytes.n);
	buf_free(&s.bytes);
}

/* What overlaps, in order, and what the stream says besides. */
struct heard {
	VEC(struct event) events;
	uint64_t all, lost, records, segments, lasts;
	double values; /* of samples */
	int rc;
};

static struct heard hear(struct event_stream *s, int64_t since, int64_t until)
{
	struct heard h = { 0 };
	struct stream_item item;
	struct err e = { 0 };

	while ((h.rc = s->next(s, &item, &e)) == 1) {
		h.all += item.n + item.skipped;
		h.lost += item.lost;
		h.segments += item.kind == STREAM_SEGMENT;
		h.lasts += item.kind == STREAM_LAST;
		if (item.kind == STREAM_RECORD) {
			h.records++;
			h.values += item.record->u.SAMPLE.value * (double)(h.all + 1);
		}
		for (size_t i = 0; i < item.n; i++)
			if (item.events[i].end_ns >= since &&
			    event_start(&item.events[i]) < until &&
			    !vec_push(&h.events, item.events[i]))
				abort();
	}
	return h;
}

static bool same_events(const struct heard *a, const struct heard *b)
{
	return a->rc == b->rc && a->events.n == b->events.n &&
	       (!a->events.n ||
		!memcmp(a->events.v, b->events.v, a->events.n * sizeof(a->events.v[0])));
}

static bool same(const struct heard *a, const struct heard *b)
{
	return same_events(a, b) && a->all == b->all && a->lost == b->lost &&
	       a->records == b->records && a->segments == b->segments && a->lasts == b->lasts &&
	       a->values == b->values;
}

static int file_of(const struct buf *b)
{
	FILE *file = tmpfile();
	int fd;

	if (!file || fwrite(b->p, 1, b->n, file) != b->n || fflush(file))
		abort();
	fd = dup(fileno(file));
	fclose(file);
	return fd;
}

/* Random stretches; how many blocks came from an index. */
static uint64_t check(struct world *w, const struct buf *b, const char *what, int64_t from,
		      int64_t to)
{
	int fd = file_of(b), bad = 0, bad_events = 0, bad_ops = 0;
	struct ige_reader *r = fixture_reader(w, b->p, b->n);
	struct heard whole = hear(ige_reader_stream(r), INT64_MIN, INT64_MAX);
	struct ige_seek *s;
	struct err e = { 0 };
	uint64_t indexed;

	ige_reader_free(r);
	if (ige_seek_open(&s, w, fd, what, &e)) {
		ok(false, "%s: %s", what, e.text);
		close(fd);
		return 0;
	}
	indexed = ige_seek_indexed(s);
	for (int i = 0; i < 150; i++) {
		int64_t since = from - 1000 + (int64_t)(any() % (uint64_t)(to - from + 2000));
		int64_t until = since + (int64_t)(any() % (any() % 2 ? 20000 : 3000000));
		struct heard a = { 0 }, c, d;
		uint64_t ops = ige_op_bit(OP_CUDA_MALLOC);

		if (i < 4) {
			since = i & 1 ? INT64_MIN : since;
			until = i & 2 ? INT64_MAX : until;
		}
		r = fixture_reader(w, b->p, b->n);
		a = hear(ige_reader_stream(r), since, until);
		ige_reader_free(r);
		c = hear(ige_seek_stream(s, since, until, IGE_SEEK_EVENTS | IGE_SEEK_RECORDS, 0),
			 since, until);
		bad += !same(&a, &c) || ige_seek_report(s)->lost_events != whole.lost ||
		       ige_seek_report(s)->events != whole.all;
		vec_free(&c.events);
		c = hear(ige_seek_stream(s, since, until, IGE_SEEK_EVENTS, 0), since, until);
		bad_events += !same_events(&a, &c);
		d = hear(ige_seek_stream(s, since, until, IGE_SEEK_EVENTS, ops), since, until);
		for (size_t k = 0, m = 0; k < c.events.n || m < d.events.n; k++, m++) {
			while (k < c.events.n && c.events.v[k].op != OP_CUDA_MALLOC)
				k++;
			while (m < d.events.n && d.events.v[m].op != OP_CUDA_MALLOC)
				m++;
			bad_ops += (k < c.events.n) != (m < d.events.n) ||
				   (k < c.events.n &&
				    memcmp(&d.events.v[m], &c.events.v[k], sizeof(struct event)));
		}
		vec_free(&a.events);
		vec_free(&c.events);
		vec_free(&d.events);
	}
	ok(!bad, "%s: stretches with all records are those of the whole", what);
	ok(!bad_events, "%s: and so are their events alone", what);
	ok(!bad_ops, "%s: and those of blocks with one op, as far as that op goes", what);
	ok(ige_seek_end(s) >= to, "%s: it ends when it ends", what);
	vec_free(&whole.events);
	ige_seek_free(s);
	close(fd);
	return indexed;
}

static bool opens(struct world *w, const struct buf *b)
{
	struct ige_seek *s = NULL;
	int fd = file_of(b), rc = ige_seek_open(&s, w, fd, "test", NULL);

	ige_seek_free(s);
	close(fd);
	return rc == 0;
}

/* Where the first block of a type begins. */
static size_t find(const struct buf *b, unsigned type, unsigned skip)
{
	for (size_t at = 0; at < b->n;) {
		if (memcmp(b->p + at, IGE_SEGMENT_MAGIC, 8) == 0) {
			at += IGE_SEGMENT_BYTES;
			continue;
		}
		if ((unsigned char)b->p[at + 4] == type && !skip--)
			return at;
		at += le_get(b->p + at + 8, 4);
	}
	abort();
}

static void seal_header(char *p)
{
	le_put(p + 60, 4, crc_bytes(0, p, 60));
}

/* A block less or more, an index of other times: found out, and walked. */
static void test_lies(struct fixture *f, const struct buf *good, int64_t from, int64_t to)
{
	size_t index = find(good, IGE_INDEX, 0), events = find(good, IGE_EVENTS, 3);
	size_t length = le_get(good->p + events + 8, 4);
	struct buf b = { 0 };

	buf_add(&b, good->p, events);
	buf_add(&b, good->p + events + length, good->n - events - length);
	is_u64(check(f->w, &b, "a block less than indexed", from, to), 0,
	       "the index is not believed");
	buf_reset(&b);
	buf_add(&b, good->p, events + length);
	buf_add(&b, good->p + events, good->n - events);
	is_u64(check(f->w, &b, "a block twice", from, to), 0, "the index is not believed");
	buf_reset(&b);
	/* The block's own header changes its mind. */
	buf_add(&b, good->p, good->n);
	le_put(b.p + events + 40, 8, le_get(b.p + events + 40, 8) - 1000000);
	seal_header(b.p + events);
	is_u64(check(f->w, &b, "an index of other starts", from, to), 0,
	       "the index is not believed");
	buf_reset(&b);
	buf_add(&b, good->p, good->n);
	b.p[index + IGE_BLOCK_BYTES + 16 * 8 + 9] ^= 4;
	is_u64(check(f->w, &b, "a damaged index", from, to), 0, "the index is not believed");
	buf_free(&b);
}

/* Every byte of index and trailer: whatever it is, no event is lost or told twice. */
static void test_flips(struct fixture *f, const struct buf *good)
{
	size_t index = find(good, IGE_INDEX, 0), last = find(good, IGE_EVENTS, 0);
	int wrong = 0, declined = 0, tried = 0;
	struct ige_reader *r = fixture_reader(f->w, good->p, good->n);
	struct heard whole = hear(ige_reader_stream(r), INT64_MIN, INT64_MAX);

	ige_reader_free(r);
	(void)last;
	for (size_t at = index; at < good->n - IGE_BLOCK_BYTES; at++, tried++) {
		struct ige_seek *s;
		struct heard h;
		struct buf b = { 0 };
		int fd;

		buf_add(&b, good->p, good->n);
		b.p[at] ^= (char)(1 << any() % 8);
		fd = file_of(&b);
		if (ige_seek_open(&s, f->w, fd, "flipped", NULL)) {
			declined++;
		} else {
			h = hear(ige_seek_stream(s, INT64_MIN, INT64_MAX, 3, 0), INT64_MIN,
				 INT64_MAX);
			wrong += !same(&h, &whole);
			vec_free(&h.events);
			ige_seek_free(s);
		}
		close(fd);
		buf_free(&b);
	}
	ok(tried > 200 && !wrong,
	   "%d bits of index and trailer turned: everything is there once (%d read "
	   "from the beginning)",
	   tried, declined);
	vec_free(&whole.events);
}

int main(void)
{
	const int64_t from = 1000000000, later = 20000000000;
	struct buf plain = { 0 }, indexed = { 0 }, segments = { 0 }, joined = { 0 }, small = { 0 };
	struct fixture f;
	size_t half;

	fixture_init(&f);
	record(&f, &plain, 4000, false, 0, from);
	is_u64(check(f.w, &plain, "no index", from, from + 4000000), 0, "nothing is indexed");
	random_state = 88172645463325252u;
	record(&f, &indexed, 4000, true, 0, from);
	ok(check(f.w, &indexed, "an index", from, from + 4000000) > 60, "all is indexed");
	record(&f, &segments, 4000, true, 20000, later);
	ok(check(f.w, &segments, "segments", later, later + 4000000) > 60, "all is indexed");
	buf_add(&joined, indexed.p, indexed.n);
	buf_add(&joined, segments.p, segments.n);
	ok(check(f.w, &joined, "joined files", from, later + 4000000) > 150, "all is indexed");
	buf_reset(&joined);
	buf_add(&joined, plain.p, plain.n);
	buf_add(&joined, segments.p, segments.n);
	ok(check(f.w, &joined, "joined to one without", from, later + 4000000) > 60,
	   "part is indexed");
	buf_reset(&joined);
	buf_add(&joined, segments.p, segments.n);
	buf_add(&joined, plain.p, plain.n);
	is_u64(check(f.w, &joined, "one without at the end", from, later), 0, "nothing is indexed");
	buf_reset(&joined);
	archive = true;
	record(&f, &joined, 4000, true, 20000, from);
	archive = false;
	ok(check(f.w, &joined, "an archive", from, from + 4000000) > 60, "all is indexed");
	test_lies(&f, &indexed, from, from + 4000000);
	record(&f, &small, 300, true, 0, from);
	test_flips(&f, &small);
	half = indexed.n / 2;
	indexed.n = half;
	is_u64(check(f.w, &indexed, "one that was cut", from, from + 1000), 0,
	       "nothing is indexed");
	indexed.n = find(&indexed, IGE_EVENTS, 5) + 20;
	is_u64(check(f.w, &indexed, "cut in a header", from, from + 1000), 0, "nothing is indexed");
	indexed.p[find(&indexed, IGE_EVENTS, 2)] ^= 1;
	ok(!opens(f.w, &indexed), "one that is damaged is read from its beginning");
	indexed.n = 0;
	ok(!opens(f.w, &indexed), "and so is an empty one");
	buf_free(&plain);
	buf_free(&indexed);
	buf_free(&segments);
	buf_free(&joined);
	buf_free(&small);
	world_free(f.w);
	return tap_done();
}
