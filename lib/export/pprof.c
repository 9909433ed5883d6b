/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes pprof's profile.proto (github.com/google/pprof, proto/profile.proto, which defines the
 * field numbers): calls and their weight by stack, with the process as a label. Compressed, as
 * pprof expects it.
 */
#include <stdlib.h>

#include "lib/base/deflate.h"
#include "lib/base/proto.h"
#include "lib/export/profile_format.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_TYPE = 14,
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_FUNCTIONS = 7,
	MAPPING_FILES = 8,
	MAPPING_LINES = 9,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

struct strings {
	struct buf out; /* the table's fields, in order */
	struct map ids; /* world string -> index in the table */
	uint64_t n;
	struct world *w;
};

static uint64_t intern_text(struct strings *s, const char *text)
{
	uint32_t id = world_string(s->w, bytes_of(text));
	uint64_t at = 0;

	if (!map_get(&s->ids, id, &at)) {
		at = s->n++;
		proto_bytes(&s->out, PROFILE_STRING, bytes_of(text));
		s->out.failed |= !map_put(&s->ids, id, at);
	}
	return at;
}

static uint64_t intern_string(struct strings *s, uint32_t id)
{
	uint64_t at = 0;

	if (id && !map_get(&s->ids, id, &at)) {
		at = s->n++;
		proto_bytes(&s->out, PROFILE_STRING, world_text(s->w, id));
		s->out.failed |= !map_put(&s->ids, id, at);
	}
	return at;
}

static void value_type(struct buf *out, unsigned field, uint64_t type, uint64_t unit)
{
	size_t m = proto_begin(out, field);

	proto_u64(out, VALUE_TYPE, type);
	proto_u64(out, VALUE_UNIT, unit);
	proto_end(out, m);
}

/* Innermost first; ids of locations count from 1. */
static void append_sample(struct buf *out, struct strings *s, const struct profile *p,
			  const struct profile_stack *st, bool weight)
{
	size_t m = proto_begin(out, PROFILE_SAMPLE), packed = proto_begin(out, SAMPLE_LOCATION),
	       label;

	for (uint32_t k = st->n; k-- > 1;)
		varint_put(out, p->path.v[st->at + k] + 1);
	proto_end(out, packed);
	packed = proto_begin(out, SAMPLE_VALUE);
	varint_put(out, st->calls);
	if (weight)
		varint_put(out, st->weight);
	proto_end(out, packed);
	label = proto_begin(out, SAMPLE_LABEL);
	proto_u64(out, LABEL_KEY, intern_text(s, "process"));
	proto_u64(out, LABEL_STRING, intern_string(s, p->frames.v[st->process].name));
	proto_end(out, label);
	proto_end(out, m);
}

static void append_mapping(struct buf *out, struct strings *s, uint64_t id, uint32_t file)
{
	size_t m = proto_begin(out, PROFILE_MAPPING);

	proto_u64(out, MAPPING_ID, id);
	proto_u64(out, MAPPING_FILE, intern_string(s, file));
	proto_u64(out, MAPPING_FUNCTIONS, 1);
	proto_u64(out, MAPPING_FILES, 1);
	proto_u64(out, MAPPING_LINES, 1);
	proto_end(out, m);
}

static void append_location(struct buf *out, uint64_t id, uint64_t mapping_id,
			    const struct profile_frame *f)
{
	size_t m = proto_begin(out, PROFILE_LOCATION), line;

	proto_u64(out, LOCATION_ID, id);
	if (mapping_id)
		proto_u64(out, LOCATION_MAPPING, mapping_id);
	line = proto_begin(out, LOCATION_LINE);
	proto_u64(out, LINE_FUNCTION, id);
	if (f->line)
		proto_u64(out, LINE_LINE, f->line);
	proto_end(out, line);
	proto_end(out, m);
}

/* As many functions as frames: a function that is called from several lines is several frames of
 * one name. */
static void append_function(struct buf *out, struct strings *s, uint64_t id,
			    const struct profile_frame *f)
{
	size_t m = proto_begin(out, PROFILE_FUNCTION);

	proto_u64(out, FUNCTION_ID, id);
	proto_u64(out, FUNCTION_NAME, intern_string(s, f->name));
	proto_u64(out, FUNCTION_SYSTEM_NAME, intern_string(s, f->name));
	if (f->file)
		proto_u64(out, FUNCTION_FILE, intern_string(s, f->file));
	proto_end(out, m);
}

static void append_frames(struct buf *out, struct strings *s, const struct profile *p,
			  struct map *modules)
{
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.v[i];
		uint64_t mapping_id = 0;

		if (f->module && !map_get(modules, f->module, &mapping_id)) {
			mapping_id = modules->n + 1;
			out->failed |= !map_put(modules, f->module, mapping_id);
			append_mapping(out, s, mapping_id, f->module);
		}
		append_location(out, i + 1, mapping_id, f);
		append_function(out, s, i + 1, f);
	}
}

static void write_profile(struct buf *out, struct strings *s, const struct export_ctx *em,
			  const struct profile *p)
{
	bool weight = em->opt.weight != EXPORT_COUNT;
	uint64_t calls, type, unit;

	intern_text(s, "");
	calls = intern_text(s, "calls");
	type = intern_text(s, profile_weight_name(em->opt.weight));
	unit = intern_text(s, profile_weight_unit(em->opt.weight));
	value_type(out, PROFILE_SAMPLE_TYPE, calls, intern_text(s, "count"));
	if (weight)
		value_type(out, PROFILE_SAMPLE_TYPE, type, unit);
	for (size_t i = 0; i < p->stacks.n; i++)
		append_sample(out, s, p, &p->stacks.v[i], weight);
}

static void write_times(struct buf *out, struct strings *s, const struct export_ctx *em,
			const struct profile *p)
{
	if (em->told->has_real && p->first_ns <= p->last_ns)
		proto_u64(out, PROFILE_TIME,
			  (uint64_t)(p->first_ns + em->told->real_minus_mono_ns));
	if (p->first_ns <= p->last_ns)
		proto_u64(out, PROFILE_DURATION, (uint64_t)(p->last_ns - p->first_ns));
	proto_u64(out, PROFILE_DEFAULT_TYPE, intern_text(s, profile_weight_name(em->opt.weight)));
}

static int on_finish(void *state, struct err *e)
{
	struct profile_state *s = state;
	struct strings strings = { .w = s->em.w };
	struct map modules = { 0 };
	struct gzip *gzip = NULL;
	const struct profile *p;
	struct buf out = { 0 };
	int rc = profile_end(s->run, &p, e);

	if (rc)
		return rc;
	write_profile(&out, &strings, &s->em, p);
	append_frames(&out, &strings, p, &modules);
	write_times(&out, &strings, &s->em, p);
	buf_add(&out, strings.out.p, strings.out.n);
	if (out.failed || strings.out.failed)
		rc = err_nomem(e);
	if (!rc)
		rc = gzip_new(&gzip, 6, e);
	if (!rc)
		rc = gzip_add(gzip, s->em.out, out.p, out.n, true, e);
	gzip_free(gzip);
	map_free(&modules);
	map_free(&strings.ids);
	buf_free(&strings.out);
	buf_free(&out);
	return rc;
}

const struct export_format export_pprof = {
	.name = "pprof",
	.endings = ".pb.gz .pprof .pb",
	.help = "the same for go tool pprof, compressed",
	.binary = true,
	.compressed = true,
	.profile = true,
	.open = profile_state_open,
	.item = profile_state_item,
	.finish = on_finish,
	.free = profile_state_free,
};
