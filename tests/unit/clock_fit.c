/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks by collectives: who is moved, by how much and how sure that is, first from numbers, then
 * from recordings of two machines of which one has its wall clock three hours ahead.
 */
#include "lib/clock/clock_fit.h"

#include "lib/input/input.h"
#include "lib/input/clock_report.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define US   INT64_C(1000)
#define HOUR (INT64_C(3600000000) * US)

static void reduce(struct collective_time_list *m, uint32_t machine, uint64_t sequence,
		   int64_t called, int64_t done)
{
	struct collective_time one = { .comm = 7,
				       .sequence = sequence,
				       .machine = machine,
				       .op = OP_NCCL_ALL_REDUCE,
				       .called_ns = called,
				       .done_ns = done };

	if (!vec_push(&m->all, one))
		abort();
}

static void made(struct collective_time_list *m, uint32_t machine, uint32_t rank)
{
	struct collective_time one = { .comm = 7,
				       .sequence = COLLECTIVE_TIMES_MADE,
				       .machine = machine,
				       .rank = rank,
				       .op = OP_NCCL_COMM_INIT_RANK,
				       .called_ns = -1000000000,
				       .done_ns = INT64_MAX };

	if (!vec_push(&m->all, one))
		abort();
}

/* Machines whose clocks are ahead by so much; each calls at a time of its own and sees it done 100
 * us after the last. */
static void meetings(struct collective_time_list *m, const int64_t *ahead, uint32_t machines)
{
	for (uint64_t s = 0; s < 50; s++) {
		int64_t t = (int64_t)s * 10000 * US, last = t + (int64_t)(machines - 1) * 5 * US;

		for (uint32_t i = 0; i < machines; i++)
			reduce(m, i, s, t + i * 5 * US + ahead[i], last + 100 * US + ahead[i]);
	}
}

static void numbers(void)
{
	static const struct {
		const char *name;
		uint32_t machines;
		int64_t ahead[4], by[4]; /* us */
	} rows[] = {
		{ "nothing is wrong", 2, { 0, 0 }, { 0, 0 } },
		{ "less than can be told", 2, { 0, 40 }, { 0, 0 } },
		{ "one of two is hours ahead: the other's is kept",
		  2,
		  { 0, 10800000000 },
		  { 0, -10800000000 } },
		{ "one of four is behind", 4, { 0, 0, -50000, 0 }, { 0, 0, 50000, 0 } },
		{ "the first of four is ahead", 4, { 2000, 0, 0, 0 }, { -2000, 0, 0, 0 } },
		{ "two of four are wrong by different times",
		  4,
		  { 0, 3000, 0, -7000 },
		  { 0, -3000, 0, 7000 } },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct collective_time_list m = { 0 };
		struct clock_fit fits[4] = { 0 };
		int64_t ahead[4];

		for (unsigned k = 0; k < 4; k++)
			ahead[k] = rows[i].ahead[k] * US;
		meetings(&m, ahead, rows[i].machines);
		is_int(clock_fit(&m, fits, rows[i].machines, NULL), 0, "%s", rows[i].name);
		for (unsigned k = 0; k < rows[i].machines; k++) {
			int64_t off = ahead[k] + fits[k].by_ns;

			ok(fits[k].known, "%u met others", k);
			is_near((double)fits[k].by_ns, (double)(rows[i].by[k] * US), 20.0 * US,
				"%u is moved by that", k);
			ok((uint64_t)(off < 0 ? -off : off) <= fits[k].error_ns || off == 0,
			   "and is not further off than said");
			ok(fits[k].error_ns <= 250 * US, "which is little: %" PRIu64,
			   fits[k].error_ns);
		}
		vec_free(&m.all);
	}
}

static void no_evidence(void)
{
	int64_t ahead[2] = { 0, HOUR };

	for (unsigned what = 0; what < 5; what++) {
		struct collective_time_list m = { 0 };
		struct clock_fit fits[2] = { 0 };

		meetings(&m, ahead, 2);
		made(&m, 0, 0);
		made(&m, 1, what == 0 ? 0 : 1);
		for (size_t i = 0; i < m.all.n; i++) {
			struct collective_time *one = &m.all.v[i];

			if (what == 1 && one->sequence != COLLECTIVE_TIMES_MADE)
				one->op = one->machine ? OP_NCCL_ALL_GATHER : OP_NCCL_ALL_REDUCE;
			if (what == 2)
				one->done_ns = INT64_MAX;
			/* No one number puts that right. */
			if (what == 3 && one->machine == 1 && one->sequence > 20 &&
			    one->sequence < 50) {
				one->called_ns += HOUR;
				one->done_ns += HOUR;
			}
		}
		is_int(clock_fit(&m, fits, 2, NULL), 0, "fit");
		is_int(fits[1].known, what == 4, "%s",
		       what == 0   ? "a rank on two machines: two communicators"
		       : what == 1 ? "ranks that do not do the same"
		       : what == 2 ? "nobody saw anything done"
		       : what == 3 ? "a clock that was set meanwhile"
				   : "otherwise it is evidence");
		vec_free(&m.all);
	}
}

/* ---- from recordings ---- */

struct machine {
	struct world *w;
	struct ige_writer *wr;
	struct fixture_sink sink;
	uint32_t ctx;
};

static void call(struct machine *m, uint16_t op, int64_t start, int64_t end, unsigned n,
		 const uint16_t *columns, const uint64_t *values)
{
	const struct op_def *def = world_op(m->w, op);
	struct event ev = {
		.op = op, .end_ns = end, .dur_ns = (uint64_t)(end - start), .ctx = m->ctx
	};

	for (unsigned i = 0; i < n; i++)
		event_set(&ev, def, columns[i], values[i]);
	if (ige_writer_event(m->wr, &ev, NULL) ||
	    ige_writer_flush(m->wr, end, INT64_MIN, false, NULL))
		abort();
}

enum how { WAITS, CAPTURES, NO_WAITS, GROUPED };

/* Its monotonic clock began at `boot`; its wall clock is ahead by `ahead`. */
static char *record(uint32_t rank, int64_t boot, int64_t ahead, enum how how)
{
	static const uint16_t init[] = { COL_COMM, COL_RANK, COL_COMM_ID },
			      coll[] = { COL_COMM, COL_STREAM, COL_SEQUENCE },
			      sync[] = { COL_STREAM };
	struct machine m = { .w = world_new(), .sink.sink.put = fixture_put };
	struct ige_writer_options opt = {
		.clock_id = 1, .boot = rank + 1, .real_minus_mono_ns = boot + ahead, .index = true
	};
	struct world_node node = { .uuid = { (uint8_t)(rank + 1) }, .boot = rank + 1 };
	struct world_process process = { .tgid = 100, .start_ns = 1 };
	struct world_image image = { 0 };
	struct world_thread thread = { .tid = 100, .start_ns = 1 };
	struct world_ctx ctx = { 0 };
	int64_t t = 1000 * HOUR - boot, asked = how == GROUPED ? t + rank * 3000000 * US : t;
	char name[16], *path = strdup("/tmp/ingero-test-fit-XXXXXX");
	struct record clock = { .kind = RECORD_CLOCK };
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "gpu-%u", rank);
	node.name = world_string(m.w, bytes_of(name));
	ctx.node = process.node = world_node(m.w, &node);
	image.process = thread.process = world_process(m.w, &process);
	ctx.image = world_image(m.w, &image);
	ctx.thread = world_thread(m.w, &thread);
	m.ctx = world_ctx(m.w, &ctx);
	memcpy(opt.node_uuid, node.uuid, 16);
	if (ige_writer_new(&m.wr, m.w, &m.sink.sink, &opt, NULL))
		abort();
	REC_SET(&clock, CLOCK, mono_ns, t);
	REC_SET(&clock, CLOCK, real_ns, t + boot + ahead);
	if (ige_writer_record(m.wr, &clock, NULL))
		abort();
	/* In a group it is asked for at once, on rank 1 three seconds later. */
	if (how == GROUPED)
		call(&m, OP_NCCL_GROUP_START, asked - 2 * US, asked - US, 0, NULL, NULL);
	call(&m, OP_NCCL_COMM_INIT_RANK, asked, asked + (how == GROUPED ? 10 : 500000) * US, 3,
	     init, (uint64_t[]){ 0x1000 + rank, rank, 99 });
	if (how == GROUPED)
		call(&m, OP_NCCL_GROUP_END, asked + 20 * US, t + 3500000 * US, 0, NULL, NULL);
	t += (how == GROUPED ? 4000000 : 600000) * US;
	if (how == CAPTURES)
		call(&m, OP_CUDA_STREAM_BEGIN_CAPTURE, t - 2 * US, t - US, 1, sync,
		     (uint64_t[]){ 5 });
	for (uint64_t s = 0; s < 300; s++, t += 10000 * US) {
		int64_t late = (int64_t)((s * 7 + rank * 3) % 11) * 10 * US;

		call(&m, OP_NCCL_ALL_REDUCE, t + late, t + late + 8 * US, 3, coll,
		     (uint64_t[]){ 0x1000 + rank, 5, s });
		if (how == WAITS || how == CAPTURES)
			call(&m, OP_CUDA_STREAM_SYNC, t + late + 10 * US, t + 200 * US, 1, sync,
			     (uint64_t[]){ 5 });
	}
	if (ige_writer_finish(m.wr, NULL))
		abort();
	ige_writer_free(m.wr);
	world_free(m.w);
	fd = mkstemp(path);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f || fwrite(m.sink.bytes.p, 1, m.sink.bytes.n, f) != m.sink.bytes.n || fclose(f))
		abort();
	buf_free(&m.sink.bytes);
	return path;
}

/* The largest distance between the ends of the same wait on both machines. */
static int64_t apart(struct input *in, struct world *w, int64_t *clocks)
{
	struct event_stream *s = input_stream(in);
	struct stream_item item;
	int64_t ends[2][300] = { 0 }, most = 0;
	unsigned n[2] = { 0 };

	*clocks = 0;
	while (s->next(s, &item, NULL) > 0) {
		for (size_t i = 0; i < item.n; i++) {
			const struct event *ev = &item.events[i];
			unsigned which =
				world_get_node(w, world_get_ctx(w, ev->ctx)->node)->boot - 1;

			if (ev->op == OP_NCCL_ALL_REDUCE && n[which] < 300)
				ends[which][n[which]++] = ev->end_ns;
		}
		if (item.kind == STREAM_RECORD && item.record->kind == RECORD_CLOCK) {
			int64_t off = item.record->u.CLOCK.real_ns - item.record->u.CLOCK.mono_ns;

			*clocks = off < 0 ? -off : off > *clocks ? off : *clocks;
		}
	}
	is_u64(n[0] + n[1], 600, "all of both");
	for (unsigned i = 0; i < 300; i++)
		if (llabs(ends[0][i] - ends[1][i]) > most)
			most = llabs(ends[0][i] - ends[1][i]);
	return most;
}

static void recordings(void)
{
	static const struct {
		const char *name;
		int64_t ahead;
		enum how how;
		int64_t apart, error;
		const char *told;
	} rows[] = {
		{ "clocks that agree", 0, WAITS, 110 * US, 250 * US, "agree with its clock" },
		{ "three hours ahead", 3 * HOUR, WAITS, 300 * US, 250 * US, "gpu-1 is 3h" },
		{ "three hours behind", -3 * HOUR, WAITS, 300 * US, 250 * US, "behind" },
		{ "only the making of the communicator tells", 3 * HOUR, NO_WAITS, 501000 * US,
		  501000 * US, "gpu-1 is 3h" },
		{ "what is captured is not called", 3 * HOUR, CAPTURES, 501000 * US, 501000 * US,
		  "gpu-1 is 3h" },
		{ "asked for in a group, which is over when all have", 0, GROUPED, 110 * US,
		  3600000 * US, "agree with its clock" },
		{ "three hours ahead, which a group tells too", 3 * HOUR, GROUPED, 1600000 * US,
		  2100000 * US, "gpu-1 is 3h" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *names[2] = { record(0, 5 * HOUR, 0, rows[i].how),
				   record(1, 77 * HOUR, rows[i].ahead, rows[i].how) };
		struct world *w = world_new();
		struct buf notes = { 0 }, warnings = { 0 };
		struct input_told told;
		struct input *in;
		int64_t most, clocks;

		if (input_open_counted(&in, w, (const char *const *)names, 2, NULL))
			abort();
		most = apart(in, w, &clocks);
		ok(most <= rows[i].apart, "%s: %" PRIi64 " ns apart", rows[i].name, most);
		is_int(clocks, 0, "their readings tell the same");
		input_told(in, 1, &told);
		ok(told.head->fit.known && told.head->fit.error_ns <= (uint64_t)rows[i].error,
		   "with an error of at most %" PRIu64, told.head->fit.error_ns);
		ok(rows[i].how == WAITS || told.head->fit.error_ns > 1000 * (uint64_t)US,
		   "and no less than is known");
		input_clock_report(in, w, 100000 * US, &notes, &warnings);
		like(buf_text(rows[i].ahead ? &warnings : &notes), rows[i].told, "and it is told");
		if (rows[i].ahead)
			ok(!strstr(buf_text(&warnings), "lies"), "they overlap then");
		else
			is_str(buf_text(&warnings), "", "without a warning");
		buf_free(&notes);
		buf_free(&warnings);
		input_free(in);
		world_free(w);
		for (unsigned k = 0; k < 2; k++) {
			unlink(names[k]);
			free(names[k]);
		}
	}
}

int main(void)
{
	numbers();
	no_evidence();
	recordings();
	return tap_done();
}
