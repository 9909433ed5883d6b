/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws of joining and cutting recordings, on generated ones: reading files behind one another is
 * reading their merge; slices that adjoin are the whole; neither the order of inputs nor where a
 * machine's clock stands makes a difference; and merging what was merged changes nothing.
 */
#include <sys/stat.h>

#include "lib/base/hash.h"
#include "lib/base/io.h"
#include "lib/ige/block.h"
#include "lib/input/merge.h"
#include "lib/input/slice.h"
#include "lib/sim/sim.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define FILES_MAX 64

static char dir[] = "/tmp/ingero-laws-XXXXXX";
static char paths[512][64];
static unsigned files;

static char *keep(const void *p, size_t n)
{
	char *name = paths[files];
	FILE *f;

	if (files >= sizeof(paths) / sizeof(paths[0]))
		abort();
	snprintf(name, sizeof(paths[0]), "%s/%u.ige", dir, files++);
	f = fopen(name, "wb");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		abort();
	return name;
}

/* ---- what is read, in ids of one world ---- */

struct seen {
	VEC(struct event) events;
	VEC(uint64_t) records; /* a hash each: kind, fields, texts */
	VEC(uint16_t) kinds;
	struct ige_report report;
};

static uint64_t record_hash(const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);
	uint64_t hash = hash_u64(r->kind);

	for (unsigned i = 0; i < def->nfields; i++) {
		const char *at = (const char *)&r->u + def->fields[i].offset;
		struct bytes text;

		if (!record_has(r, def->fields[i].number))
			continue;
		hash = hash_u64(hash ^ def->fields[i].number);
		memcpy(&text, at, def->fields[i].type == REC_TEXT ? sizeof(text) : 0);
		if (def->fields[i].type == REC_TEXT)
			hash = hash_bytes(text.n ? text.p : "", text.n, hash);
		else
			hash = hash_bytes(at, def->fields[i].type == REC_U32 ? 4 : 8, hash);
	}
	return hash;
}

static void look(struct world *w, const char *name, struct seen *s)
{
	struct ige_reader *r;
	struct event_stream *stream;
	struct stream_item item;
	struct buf bytes = { 0 };

	memset(s, 0, sizeof(*s));
	if (read_file(name, &bytes, 1u << 30, NULL))
		abort();
	r = fixture_reader(w, bytes.p, bytes.n);
	buf_free(&bytes);
	stream = ige_reader_stream(r);
	while (stream->next(stream, &item, NULL) == 1) {
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++)
			if (!vec_push(&s->events, item.events[i]))
				abort();
		if (item.kind == STREAM_RECORD &&
		    (!vec_push(&s->records, record_hash(item.record)) ||
		     !vec_push(&s->kinds, item.record->kind)))
			abort();
	}
	s->report = *ige_reader_report(r);
	ige_reader_free(r);
}

static void forget(struct seen *s)
{
	vec_free(&s->events);
	vec_free(&s->records);
	vec_free(&s->kinds);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool same_event(const struct event *a, const struct event *b)
{
	/* Columns that are absent say nothing. */
	for (unsigned i = 0; i < OP_COLUMNS_MAX; i++)
		if (a->present >> i & 1 && a->x[i] != b->x[i])
			return false;
	return a->end_ns == b->end_ns && a->dur_ns == b->dur_ns && a->op == b->op &&
	       a->depth == b->depth && a->ret == b->ret && a->ctx == b->ctx &&
	       a->stack == b->stack && a->present == b->present;
}

static bool same_events(const struct seen *a, const struct seen *b)
{
	bool same = a->events.n == b->events.n;

	for (size_t i = 0; same && i < a->events.n; i++)
		same = same_event(&a->events.v[i], &b->events.v[i]);
	if (!same)
		fprintf(stderr, "# %zu and %zu events\n", a->events.n, b->events.n);
	return same;
}

static bool same_records(struct seen *a, struct seen *b)
{
	qsort(a->records.v, a->records.n, 8, by_value);
	qsort(b->records.v, b->records.n, 8, by_value);
	if (a->records.n != b->records.n)
		fprintf(stderr, "# %zu and %zu records\n", a->records.n, b->records.n);
	return a->records.n == b->records.n &&
	       !memcmp(a->records.v, b->records.v, a->records.n * 8);
}

/* ---- making ---- */

/* A generated recording in segments of about segment_bytes. ahead: how far its machine's monotonic
 * clock is. */
static void generate(const char *scenario, uint64_t seed, const char *node, uint64_t segment_bytes,
		     int64_t ahead, struct buf *out)
{
	struct fixture_sink s = { .sink = { fixture_put } };
	struct world *w = world_new();
	struct sim_options o;
	struct event_stream *in, *moved;
	struct clock_head head = { .shift_ns = ahead };
	struct ige_writer_options opt = {
		.clock_id = 1, .index = true, .block_events = 500, .segment_bytes = segment_bytes
	};
	const struct world_node *machine;
	struct ige_writer *wr;
	struct stream_item item;
	struct err e = { 0 };
	int rc;

	if (sim_scenario_options(scenario, &o))
		abort();
	o.seed = seed;
	o.node = node;
	o.duration_ns = 600000000;
	if (sim_open(&in, w, &o, &e) || !(moved = clock_shift_times(w, in, &head)))
		abort();
	machine = world_get_node(w, 1);
	memcpy(opt.node_uuid, machine->uuid, sizeof(opt.node_uuid));
	opt.boot = machine->boot;
	opt.real_minus_mono_ns = sim_real_minus_mono_ns() - ahead;
	if (ige_writer_new(&wr, w, &s.sink, &opt, &e))
		abort();
	while ((rc = moved->next(moved, &item, &e)) > 0) {
		rc = 0;
		for (size_t i = 0; i < item.n && !rc; i++)
			rc = ige_writer_event(wr, &item.events[i], &e);
		if (item.kind == STREAM_RECORD)
			rc = ige_writer_record(wr, item.record, &e);
		if (item.kind == STREAM_EVENTS && !rc)
			rc = ige_writer_flush(wr, item.watermark_ns, item.floor_ns, false, &e);
		if (item.kind == STREAM_LAST && !rc)
			rc = ige_writer_finish(wr, &e);
		if (rc)
			abort();
	}
	ige_writer_free(wr);
	moved->close(moved);
	in->close(in);
	world_free(w);
	*out = s.bytes;
}

struct memory {
	struct merge_target target;
	struct fixture_sink sink;
};

static int memory_sink(struct merge_target *t, uint32_t node, struct ige_sink **sink, struct err *e)
{
	struct memory *m = (struct memory *)t;

	(void)node;
	(void)e;
	m->sink.sink.put = fixture_put;
	*sink = &m->sink.sink;
	return 0;
}

/* Their merge, or the part of it that sel selects, as a file. */
static char *merged(char **names, unsigned n, struct filter *sel, bool archive)
{
	struct world *w = world_new();
	struct memory m = { .target = { .sink = memory_sink } };
	struct merge_options opt = { .select = sel, .archive = archive };
	struct merge_result result;
	struct input *in;
	struct err e = { 0 };
	char *name;

	if (input_open_counted(&in, w, (const char *const *)names, n, &e) ||
	    (sel && sel->resolved && input_window(in, sel->since_ns, sel->until_ns, true, &e)) ||
	    merge_run(w, in, &opt, &m.target, &result, &e)) {
		fprintf(stderr, "# %s\n", e.text);
		abort();
	}
	name = keep(m.sink.bytes.p, m.sink.bytes.n);
	buf_free(&m.sink.bytes);
	input_free(in);
	world_free(w);
	return name;
}

static bool same_files(const char *a, const char *b)
{
	struct buf x = { 0 }, y = { 0 };
	bool same;

	if (read_file(a, &x, 1u << 30, NULL) || read_file(b, &y, 1u << 30, NULL))
		abort();
	same = x.n == y.n && !memcmp(x.p, y.p, x.n);
	buf_free(&x);
	buf_free(&y);
	return same;
}

static uint64_t state = 88172645463325252u;
static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

static void shuffle(char **names, unsigned n)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned k = (unsigned)draw(i);
		char *swap = names[i - 1];

		names[i - 1] = names[k];
		names[k] = swap;
	}
}

/* ---- laws ---- */

/* A recording cut at its segments: read one behind the other, and joined. */
static void cat_is_merge(const char *scenario, uint64_t seed)
{
	struct buf bytes;
	char *parts[FILES_MAX], *whole, *joined;
	struct world *w = world_new();
	struct seen a, b;
	unsigned n = 0;
	size_t from = 0;

	generate(scenario, seed, "gpu-a", 20000, 0, &bytes);
	whole = keep(bytes.p, bytes.n);
	for (size_t at = 8; at <= bytes.n; at += 8)
		if (at == bytes.n || (n < FILES_MAX - 1 && bytes.n - at >= IGE_SEGMENT_BYTES &&
				      !memcmp(bytes.p + at, IGE_SEGMENT_MAGIC, 8))) {
			parts[n++] = keep(bytes.p + from, at - from);
			from = at;
		}
	shuffle(parts, n);
	joined = merged(parts, n, NULL, false);
	look(w, whole, &a);
	look(w, joined, &b);
	ok(n > 3, "%s: %u segments", scenario, n);
	ok(a.events.n > 5000 && same_events(&a, &b), "%s: cat is merge, event by event", scenario);
	ok(same_records(&a, &b), "%s: and record by record", scenario);
	ok(!b.report.unterminated && !b.report.damaged_blocks, "%s: it ends as they do", scenario);
	forget(&a);
	forget(&b);
	world_free(w);
	buf_free(&bytes);
}

/* Every record of the whole is in one of them, and none says anything new. */
static uint64_t missing_records(const struct seen *whole, const struct seen *parts, unsigned n)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < whole->records.n; i++) {
		bool found = whole->kinds.v[i] == RECORD_ANALYSIS;

		for (unsigned k = 0; k < n && !found; k++)
			for (size_t j = 0; j < parts[k].records.n && !found; j++)
				found = parts[k].records.v[j] == whole->records.v[i];
		missing += !found;
	}
	return missing;
}

static void slices_are_whole(const char *scenario, uint64_t seed, bool two_machines, bool archive)
{
	struct buf bytes;
	char *names[2], *slices[8], *again, *whole;
	struct world *w = world_new();
	struct seen a, b, part[8];
	int64_t at = INT64_MIN, begin, length;
	unsigned n = 2 + (unsigned)draw(6), inputs = two_machines ? 2 : 1;
	uint64_t damage = 0, sum = 0;

	generate(scenario, seed, "gpu-a", 30000, 0, &bytes);
	names[0] = keep(bytes.p, bytes.n);
	buf_free(&bytes);
	generate("lock", seed + 1, "gpu-b", 0, 5000000000, &bytes);
	names[1] = keep(bytes.p, bytes.n);
	buf_free(&bytes);
	whole = merged(names, inputs, NULL, false);
	look(w, whole, &a);
	begin = a.events.v[0].end_ns;
	length = a.events.v[a.events.n - 1].end_ns - begin;
	for (unsigned i = 0; i < n; i++) {
		struct filter sel = { .resolved = true, .since_ns = at };

		/* Now and then a cut right at an event. */
		at = i + 1 == n	    ? INT64_MAX
		     : draw(3) == 0 ? a.events.v[a.events.n * (i + 1) / n].end_ns
				    : begin + length * (i + 1) / n + (int64_t)draw(1000);
		sel.until_ns = at;
		slices[i] = merged(names, inputs, &sel, archive);
		look(w, slices[i], &part[i]);
		damage += part[i].report.damaged_blocks + part[i].report.unterminated;
		sum += part[i].events.n;
		filter_free(&sel);
	}
	is_u64(damage, 0, "%s: %u slices are sound", scenario, n);
	is_u64(sum, a.events.n, "%s: and hold each event once", scenario);
	is_u64(missing_records(&a, part, n), 0, "%s: and every record", scenario);
	shuffle(slices, n);
	again = merged(slices, n, NULL, false);
	look(w, again, &b);
	ok(same_events(&a, &b), "%s: together they are the whole", scenario);
	forget(&a);
	forget(&b);
	for (unsigned i = 0; i < n; i++)
		forget(&part[i]);
	world_free(w);
}

static void order_is_nothing(void)
{
	static const char *const scenarios[] = { "incident", "lock", "disk", "throttled", "clean" };
	struct buf bytes;
	char *names[5], *first, *twice, *moved;
	struct filter all = { 0 };
	struct world *w = world_new();
	struct seen a, b;

	for (unsigned i = 0; i < 5; i++) {
		char node[16];

		snprintf(node, sizeof(node), "gpu-%u", i / 2); /* two recordings of most machines */
		generate(scenarios[i], i / 2, node, i % 2 ? 40000 : 0, 0, &bytes);
		names[i] = keep(bytes.p, bytes.n);
		buf_free(&bytes);
	}
	first = merged(names, 5, NULL, false);
	for (unsigned i = 0; i < 5; i++) {
		shuffle(names, 5);
		ok(same_files(merged(names, 5, NULL, false), first), "shuffled: the same bytes");
	}
	ok(same_files(merged(names, 5, NULL, true), merged(names, 5, NULL, true)),
	   "twice in the archive's form: the same bytes");
	twice = merged(&first, 1, NULL, false);
	look(w, first, &a);
	look(w, twice, &b);
	ok(same_events(&a, &b) && same_records(&a, &b),
	   "written anew, what was merged stays what it is");
	forget(&b);
	/* Whoever may leave events out puts them together first. */
	look(w, merged(names, 5, &all, false), &b);
	ok(same_events(&a, &b) && same_records(&a, &b), "joined as rows, joined as events");
	forget(&b);
	forget(&a);
	/* Machines that were booted at other times. */
	for (unsigned i = 0; i < 3; i++) {
		char node[16];

		snprintf(node, sizeof(node), "gpu-%u", i);
		generate(scenarios[i], i, node, 0, 0, &bytes);
		names[i] = keep(bytes.p, bytes.n);
		buf_free(&bytes);
	}
	first = merged(names, 3, NULL, false);
	for (unsigned i = 0; i < 3; i++) {
		char node[16];

		snprintf(node, sizeof(node), "gpu-%u", i);
		generate(scenarios[i], i, node, 0, (int64_t)(i + 1) * 86400000000000, &bytes);
		names[i] = keep(bytes.p, bytes.n);
		buf_free(&bytes);
	}
	moved = merged(names, 3, NULL, false);
	look(w, first, &a);
	look(w, moved, &b);
	ok(same_events(&a, &b) && same_records(&a, &b), "where monotonic clocks stand is nothing");
	forget(&a);
	forget(&b);
	world_free(w);
}

int main(void)
{
	static const char *const scenarios[] = { "incident", "lock", "disk", "throttled" };

	if (!mkdtemp(dir))
		abort();
	for (unsigned i = 0; i < 4; i++) {
		cat_is_merge(scenarios[i], i + 1);
		slices_are_whole(scenarios[i], i + 10, i % 2, i > 1);
	}
	order_is_nothing();
	while (files)
		unlink(paths[--files]);
	rmdir(dir);
	return tap_done();
}
