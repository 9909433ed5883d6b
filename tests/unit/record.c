/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of events and records are sound, and every field of every record kind survives a
 * recording: set, absent, and at the ends of its range. No kind is named here: a new one is tested
 * by being in the table.
 */
#include "lib/event/record.h"

#include "tests/tap.h"
#include "tests/unit/fixture.h"

static bool is_about(const struct record *r, int64_t from_ns, int64_t to_ns)
{
	int64_t from, to;

	record_times(r, &from, &to);
	return from == from_ns && to == to_ns;
}

static void test_times(void)
{
	struct record r = { .kind = RECORD_LOSS };

	ok(is_about(&r, INT64_MIN, INT64_MAX), "of which no time is known: about all");
	REC_SET(&r, LOSS, since_ns, 5);
	ok(is_about(&r, 5, INT64_MAX), "a loss that goes on");
	REC_SET(&r, LOSS, until_ns, 9);
	ok(is_about(&r, 5, 9), "a loss");
	r = (struct record){ .kind = RECORD_OPEN };
	REC_SET(&r, OPEN, time_ns, 9);
	REC_SET(&r, OPEN, start_ns, 5);
	ok(is_about(&r, 5, 9), "an open call: from its start");
	r = (struct record){ .kind = RECORD_SAMPLE };
	REC_SET(&r, SAMPLE, time_ns, 7);
	ok(is_about(&r, 7, 7), "a sample: its moment");
	r = (struct record){ .kind = RECORD_CLOCK };
	REC_SET(&r, CLOCK, mono_ns, 7);
	ok(is_about(&r, 7, INT64_MAX), "what time it was: from then on");
	r = (struct record){ .kind = RECORD_NODE };
	ok(is_about(&r, INT64_MIN, INT64_MAX), "a node: all of the recording");
}

static void test_tables(void)
{
	unsigned n, bad = 0;
	const struct record_def *defs = record_builtin_all(&n);

	ok(n >= 11, "%u record kinds", n);
	for (unsigned i = 0; i < n; i++) {
		unsigned timed = 0;

		bad += defs[i].kind == 0 ||
		       defs[i].kind > 0x7f; /* kind << 8 leaves the presence bit free */
		bad += record_builtin(defs[i].kind) != &defs[i];
		for (unsigned k = 0; k < defs[i].nfields; k++) {
			const struct record_field *f = &defs[i].fields[k];

			bad += f->kind != defs[i].kind;
			bad += f->number == 0 || f->number > 32; /* bits of `present` */
			bad += k && f->number <= f[-1].number;
			bad += f->offset >= sizeof(union record_body);
			/* References are ids of the world, which are 32 bits wide. */
			bad += f->role >= RROLE_NODE && f->type != REC_U32;
			timed += (f->number == defs[i].from || f->number == defs[i].to) &&
				 f->role == RROLE_TIME && f->type == REC_I64;
		}
		bad += defs[i].scope == RECORD_WHOLE && (defs[i].from || defs[i].to);
		/* One field where both times are the same, or the second is open. */
		bad += defs[i].scope == RECORD_DURING ? timed != 2
						      : timed != (defs[i].scope != RECORD_WHOLE);
	}
	is_u64(bad, 0, "kinds and fields are numbered as files need it");
	ok(!record_builtin(0) && !record_builtin(999), "unknown kinds are unknown");
	is_str(metric_builtin(METRIC_PROC_RSS)->name, "process.rss", "metrics by number");
	ok(!metric_builtin(999), "unknown metrics are unknown");
	is_str(loss_reason_text(LOSS_RING_FULL), "ring full", "reasons of loss have words");
	is_str(loss_reason_text(999), "unknown reason", "even unknown ones");
}

/* All columns that an op can have are found, and nothing behind those that it has. */
static void test_column_search(void)
{
	struct op_def def = { 0 };
	unsigned bad = 0;

	for (unsigned n = 0; n <= OP_COLUMNS_MAX; n++) {
		for (unsigned i = 0; i < OP_COLUMNS_MAX; i++)
			def.cols[i] = (uint16_t)(1000 + i);
		def.ncols = (uint8_t)n;
		for (unsigned i = 0; i < OP_COLUMNS_MAX; i++)
			bad += op_column(&def, (uint16_t)(1000 + i)) != (i < n ? (int)i : -1);
		bad += op_column(&def, 0) != -1;
	}
	is_u64(bad, 0, "up to %d columns of an op are found", OP_COLUMNS_MAX);
}

static void test_ops(void)
{
	unsigned n, bad = 0;
	const struct op_def *ops = op_builtin_all(&n);
	struct event ev = { .op = OP_CUDA_MALLOC };
	const struct op_def *def = op_builtin(ev.op);
	uint64_t value = 7;

	for (unsigned i = 0; i < n; i++) {
		bad += op_builtin(ops[i].id) != &ops[i];
		bad += ops[i].source != ops[i].id >> 8 || ops[i].ncols > OP_COLUMNS_MAX;
		bad += strcmp(ops[i].source_name, source_name(ops[i].source)) != 0;
		for (unsigned k = 0; k < ops[i].ncols; k++) {
			bad += !column_builtin(ops[i].cols[k]);
			bad += op_column(&ops[i], ops[i].cols[k]) != (int)k;
		}
		for (unsigned k = 0; k < i; k++)
			bad += ops[k].id == ops[i].id || (ops[k].source == ops[i].source &&
							  !strcmp(ops[k].name, ops[i].name));
	}
	is_u64(bad, 0, "%u ops agree with their columns and sources", n);
	ok(!event_get(&ev, def, COL_BYTES, &value) && value == 7, "absent is not zero");
	event_set(&ev, def, COL_BYTES, 0);
	ok(event_get(&ev, def, COL_BYTES, &value) && value == 0, "zero is not absent");
	event_set(&ev, def, COL_WAKER, 3);
	ok(!event_get(&ev, def, COL_WAKER, &value), "a column of another op is not taken");
	is_str(event_error_name(SOURCE_CUDA, 2), "cudaErrorMemoryAllocation", "runtime code");
	is_str(event_error_name(SOURCE_DRIVER, 2), "CUDA_ERROR_OUT_OF_MEMORY", "driver code");
	is_str(event_error_name(SOURCE_NCCL, 1), "ncclUnhandledCudaError", "NCCL code");
	ok(!event_error_name(SOURCE_CUDA, 0) && !event_error_name(SOURCE_CUDA, 123456) &&
		   !event_error_name(SOURCE_SCHED, 2),
	   "success, unknown codes and other sources have no name");
}

/* Number i of the values tried for a field; references name subjects of the fixture. */
static void set_field(const struct fixture *f, struct record *r, const struct record_field *d,
		      unsigned i)
{
	static const int64_t signed_[] = { 0, -1, INT64_MAX, INT64_MIN, 1000000000 };
	static const uint64_t unsigned_[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, 1000000000 };
	static const double real[] = { 0, -1.5, 1e300, 5e-324, 12.5 };
	static const struct bytes text[] = {
		{ "", 0 }, { "x", 1 }, { "a\0b", 3 }, { "\xff\xfe", 2 }, { "{\"a\":[1,2]}", 11 }
	};
	char *at = (char *)&r->u + d->offset;
	uint32_t u32 = (uint32_t)unsigned_[i];

	r->present |= 1u << (d->number - 1);
	switch (d->role) {
	case RROLE_NODE:
		u32 = f->node;
		break;
	case RROLE_PROCESS:
		u32 = f->process;
		break;
	case RROLE_THREAD:
		u32 = f->thread[i % 2];
		break;
	case RROLE_STACK:
		u32 = f->stack[i % 3];
		break;
	case RROLE_CGROUP:
	case RROLE_GPU: /* none exists: unknown */
		u32 = 0;
		break;
	default:
		break;
	}
	switch (d->type) {
	case REC_I64:
		memcpy(at, &signed_[i], 8);
		break;
	case REC_U64:
		memcpy(at, &unsigned_[i], 8);
		break;
	case REC_U32:
		memcpy(at, &u32, 4);
		break;
	case REC_F64:
		memcpy(at, &real[i], 8);
		break;
	case REC_TEXT:
		memcpy(at, &text[i], sizeof(text[i]));
		break;
	}
}

/* Ids are compared through what they name: the other world numbers anew. */
static bool same_field(const struct fixture *f, const struct world *w, const struct record *a,
		       const struct record *b, const struct record_field *d)
{
	const char *pa = (const char *)&a->u + d->offset, *pb = (const char *)&b->u + d->offset;
	struct bytes ta, tb;
	uint32_t ia, ib;
	unsigned na, nb;

	if (d->type == REC_TEXT) {
		memcpy(&ta, pa, sizeof(ta));
		memcpy(&tb, pb, sizeof(tb));
		return bytes_equal(ta, tb);
	}
	if (d->type != REC_U32)
		return !memcmp(pa, pb, 8);
	memcpy(&ia, pa, 4);
	memcpy(&ib, pb, 4);
	switch (d->role) {
	case RROLE_NODE:
		return world_get_node(f->w, ia)->boot == world_get_node(w, ib)->boot;
	case RROLE_PROCESS:
		return world_get_process(f->w, ia)->tgid == world_get_process(w, ib)->tgid;
	case RROLE_THREAD:
		return world_get_thread(f->w, ia)->tid == world_get_thread(w, ib)->tid;
	case RROLE_STACK:
		world_get_stack(f->w, ia, &na);
		world_get_stack(w, ib, &nb);
		return na == nb && na > 0;
	default:
		return ia == ib;
	}
}

/* Every kind: five records with other fields missing in each, then one with none of its fields'
 * neighbours. */
static struct record make(const struct fixture *f, const struct record_def *def, unsigned i)
{
	struct record r = { .kind = def->kind };

	for (unsigned k = 0; k < def->nfields; k++)
		if (i < 5 ? (k + i) % 5 != 0 || k == 0 : k == def->nfields - 1)
			set_field(f, &r, &def->fields[k], (k + i) % 5);
	return r;
}

static void test_round_trip(void)
{
	struct fixture f;
	struct fixture_sink s = { 0 };
	struct world *w = world_new();
	struct ige_writer *wr;
	struct ige_reader *r;
	struct stream_item item;
	struct err e = { 0 };
	unsigned n, seen = 0, wrong = 0;
	const struct record_def *defs = record_builtin_all(&n);

	fixture_init(&f);
	wr = fixture_writer(&f, &s, 16);
	for (unsigned i = 0; i < n * 6; i++) {
		struct record one = make(&f, &defs[i / 6], i % 6);

		wrong += ige_writer_record(wr, &one, &e) != 0;
	}
	wrong += ige_writer_finish(wr, &e) != 0;
	is_u64(wrong, 0, "written");
	ige_writer_free(wr);
	r = fixture_reader(w, s.bytes.p, s.bytes.n);
	struct event_stream *stream = ige_reader_stream(r);
	while (stream->next(stream, &item, &e) == 1) {
		const struct record_def *def = &defs[seen / 6 % n];
		struct record want = make(&f, def, seen % 6);

		if (item.kind != STREAM_RECORD)
			continue;
		seen++;
		wrong += item.record->kind != want.kind || item.record->present != want.present;
		for (unsigned k = 0; k < def->nfields; k++)
			if (record_has(&want, def->fields[k].number) &&
			    !same_field(&f, w, &want, item.record, &def->fields[k])) {
				printf("# %s.%s differs\n", def->name, def->fields[k].name);
				wrong++;
			}
	}
	is_u64(seen, n * 6, "every record came back, in order");
	is_u64(wrong, 0, "with every field present or absent as it was, and equal");
	is_u64(ige_reader_report(r)->records, n * 6, "and is counted");
	ige_reader_free(r);
	buf_free(&s.bytes);
	world_free(w);
	world_free(f.w);
}

int main(void)
{
	test_tables();
	test_times();
	test_column_search();
	test_ops();
	test_round_trip();
	return tap_done();
}
