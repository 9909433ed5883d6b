/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of probed functions, unfolded from formats/ops.def into rows. Names are matched as
 * base, then an optional generation (_v2 to _v9), then an optional per-thread-stream suffix: that
 * is how NVIDIA combines them. What arguments point to is read in one piece per call, the window,
 * so that columns from it are words like the others.
 */
#include "lib/attach/spec.h"

#include <string.h>

#include "lib/event/op.h"
#include "lib/event/tier.h"
#include "lib/host/cuda.h"

/* Kinds of fields that the kernel side does not know: they become words of the window. */
enum { AT_WORD = 64, AT_LOW, AT_PRODUCT2, AT_PRODUCT3, AT_SHAPE, AT_COPY_KIND };

#define PLAIN 0
#define V     VARIANT_V
#define PTSZ  VARIANT_PTSZ
#define PTDS  VARIANT_PTDS
#define FIELD(kind_, ...)          \
	{                          \
		kind_, __VA_ARGS__ \
	}
#define NONE		   FIELD(FIELD_NONE, 0)
#define ARG(i)		   FIELD(FIELD_WORD, (i))
#define ARG32(i)	   FIELD(FIELD_LOW, (i))
#define OUT(i)		   FIELD(FIELD_OUT, (i))
#define OUT_AT(i, o)	   FIELD(FIELD_OUT, (i), (o))
#define OUT32(i)	   FIELD(FIELD_OUT_LOW, (i))
#define CONST(v)	   FIELD(FIELD_CONST, (v))
#define MUL(i, j)	   FIELD(FIELD_PRODUCT2, (i), (j), 1)
#define MUL_TIMES(i, j, v) FIELD(FIELD_PRODUCT2, (i), (j), (v))
#define TIMES(i, v)	   FIELD(FIELD_TIMES, (i), 0, (v))
#define DIM3(i)		   FIELD(FIELD_SHAPE, (i))
#define ARGS3(i)	   FIELD(FIELD_SHAPE_ARGS, (i))
#define SUM(i, j)	   FIELD(FIELD_SUM, (i), (j))
#define NCCL_BYTES(i, j)   FIELD(FIELD_NCCL_BYTES, (i), (j))
#define SEQUENCE(i)	   FIELD(FIELD_SEQUENCE, (i))
#define RANK(i)		   FIELD(FIELD_RANK, (i))
#define AT(i, o)	   FIELD(AT_WORD, (i), (o))
#define AT32(i, o)	   FIELD(AT_LOW, (i), (o))
#define AT_MUL2(i, o)	   FIELD(AT_PRODUCT2, (i), (o))
#define AT_MUL3(i, o)	   FIELD(AT_PRODUCT3, (i), (o))
#define AT_DIM3(i, o)	   FIELD(AT_SHAPE, (i), (o))
#define AT_KIND(i, o, p)   FIELD(AT_COPY_KIND, (i), (o), (p))
#if defined(__aarch64__)
/* Large structs by value are passed by address, in the argument's own place. */
#define ARG_BEHIND(i, j)   ARG(j)
#define ARG32_BEHIND(i, j) ARG32(j)
#define STRUCT(i)	   AT(i, 0)
#define STRUCT_MUL3(i)	   AT_MUL3(i, 0)
#else
/* They stand on the stack, behind the six arguments in registers. */
#define ARG_BEHIND(i, j)   ARG(i)
#define ARG32_BEHIND(i, j) ARG32(i)
#define STRUCT(i)	   ARG(6)
#define STRUCT_MUL3(i)	   FIELD(FIELD_PRODUCT3, 6)
#endif
#define FIELDS(...)         \
	{                   \
		__VA_ARGS__ \
	}
#define CUDART	PROBE_CUDART
#define LIBCUDA PROBE_LIBCUDA
#define NCCL	PROBE_NCCL

static struct probe_spec specs[] = {
#define SYMBOL(lib, symbol, variants_, op_id, fields) \
	{ .name = symbol,                             \
	  .library = lib,                             \
	  .variants = (variants_),                    \
	  .op = { .op = OP_##op_id, .field = fields } },
#include "formats/ops.def"
};

#undef V

/* Functions that say what something is called, or begin and end a communicator. */
static const struct {
	const char *name;
	uint8_t flags, handle, text;
} special[] = {
	{ "cuModuleGetFunction", SPEC_NAMES, 0, 2 },
	{ "cuLibraryGetKernel", SPEC_NAMES, 0, 2 },
	{ "__cudaRegisterFunction", SPEC_NAMES | SPEC_SILENT, 1, 3 },
	{ "ncclCommInitRank", SPEC_COMM_BEGINS, 0, 0 },
	{ "ncclCommInitRankConfig", SPEC_COMM_BEGINS, 0, 0 },
	{ "ncclCommInitRankScalable", SPEC_COMM_BEGINS, 0, 0 },
	{ "ncclCommDestroy", SPEC_COMM_ENDS, 0, 0 },
	{ "ncclCommAbort", SPEC_COMM_ENDS, 0, 0 },
};

/* First and last byte that a field of the window needs. */
static void field_extent(const struct field_spec *f, unsigned *from, unsigned *to)
{
	static const uint8_t size[] = { [AT_WORD - 64] = 8,	 [AT_LOW - 64] = 4,
					[AT_PRODUCT2 - 64] = 16, [AT_PRODUCT3 - 64] = 24,
					[AT_SHAPE - 64] = 12,	 [AT_COPY_KIND - 64] = 4 };

	*from = f->b;
	*to = f->b + size[f->kind - 64];
	if (f->kind == AT_COPY_KIND)
		*to = f->c + 4u;
}

static void place_field(struct field_spec *f, unsigned window_at)
{
	static const uint8_t kind[] = { [AT_WORD - 64] = FIELD_WORD,
					[AT_PRODUCT2 - 64] = FIELD_PRODUCT2,
					[AT_PRODUCT3 - 64] = FIELD_PRODUCT3,
					[AT_COPY_KIND - 64] = FIELD_COPY_KIND };
	unsigned at = f->b - window_at;

	f->a = (uint8_t)(WORD_WINDOW + at / 8);
	switch (f->kind) {
	case AT_LOW:
		f->kind = at % 8 ? FIELD_HIGH : FIELD_LOW;
		break;
	case AT_SHAPE:
		f->kind = at % 8 ? FIELD_SHAPE_HIGH : FIELD_SHAPE;
		break;
	default:
		f->b = f->kind == AT_PRODUCT2	 ? (uint8_t)(f->a + 1)
		       : f->kind == AT_COPY_KIND ? (uint8_t)(WORD_WINDOW + (f->c - window_at) / 8)
						 : 0;
		f->kind = kind[f->kind - 64];
		f->c = 1;
	}
}

static bool on_stack(const struct field_spec *f)
{
	switch (f->kind) {
	case FIELD_NONE:
	case FIELD_CONST:
		return false;
	case FIELD_PRODUCT2:
	case FIELD_SUM:
	case FIELD_NCCL_BYTES:
		return f->a >= WORD_STACK || f->b >= WORD_STACK;
	case FIELD_SHAPE_ARGS:
	case FIELD_PRODUCT3:
		return f->a + 2 >= WORD_STACK;
	case FIELD_SHAPE:
		return f->a + 1 >= WORD_STACK;
	default:
		return f->a >= WORD_STACK;
	}
}

/* What lets the kernel side take its short ways. */
static uint8_t short_ways(const struct op_spec *op)
{
	const uint8_t returns = SPEC_NAMES | SPEC_COMM_BEGINS | SPEC_COMM_ENDS;
	bool plain = op->nfields <= PLAIN_FIELDS, at_entry = !(op->flags & returns);

	for (unsigned i = 0; i < op->nfields; i++) {
		const struct field_spec *f = &op->field[i];

		plain &= (f->kind == FIELD_WORD || f->kind == FIELD_LOW) && f->a < WORD_STACK;
		at_entry &= f->kind != FIELD_OUT && f->kind != FIELD_OUT_LOW;
	}
	return (plain ? SPEC_PLAIN : 0) | (at_entry ? SPEC_AT_ENTRY : 0);
}

static void fill_spec(struct probe_spec *spec)
{
	const struct op_def *def = op_builtin(spec->op.op);
	struct op_spec *op = &spec->op;
	unsigned from = 256, to = 0, low, high;

	op->nfields = def->ncols;
	for (unsigned i = 0; i < def->ncols; i++) {
		struct field_spec *f = &op->field[i];

		op->flags |= f->kind < AT_WORD && on_stack(f) ? SPEC_STACK : 0;
		if (f->kind < AT_WORD)
			continue;
		field_extent(f, &low, &high);
		from = low < from ? low : from;
		to = high > to ? high : to;
		op->window_arg = f->a;
	}
	from &= ~7u;
	for (unsigned i = 0; i < def->ncols && to; i++)
		if (op->field[i].kind >= AT_WORD)
			place_field(&op->field[i], from);
	op->window_at = (uint8_t)from;
	op->window_bytes = (uint8_t)(to ? to - from : 0);
	op->flags |= to && op->window_arg >= WORD_STACK ? SPEC_STACK : 0;
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (strcmp(special[i].name, spec->name) == 0) {
			op->flags |= special[i].flags;
			op->handle = special[i].handle;
			op->text = special[i].text;
		}
	op->tier = (uint8_t)(op->flags & SPEC_NAMES ? TIER_KEPT : op_tier(op->op));
	op->flags |= short_ways(op) | (op->tier == TIER_KEPT ? 0 : SPEC_FOLDS);
}

const struct probe_spec *probe_specs(size_t *n)
{
	static bool unfolded;

	*n = sizeof(specs) / sizeof(specs[0]);
	for (size_t i = 0; !unfolded && i < *n; i++)
		fill_spec(&specs[i]);
	unfolded = true;
	return specs;
}

void probe_spec_leave_out(uint16_t op)
{
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		specs[i].left_out |= specs[i].op.op == op;
}

void probe_spec_fold_nothing(void)
{
	size_t n;

	probe_specs(&n);
	for (size_t i = 0; i < n; i++)
		specs[i].op.flags &= (uint8_t)~SPEC_FOLDS;
}

bool probe_spec_matches(const struct probe_spec *spec, const char *name)
{
	size_t n = strlen(spec->name);

	if (strncmp(name, spec->name, n) != 0)
		return false;
	name += n;
	if ((spec->variants & VARIANT_V) && name[0] == '_' && name[1] == 'v' && name[2] >= '2' &&
	    name[2] <= '9' && (name[3] == 0 || name[3] == '_'))
		name += 3;
	if (*name == 0)
		return true;
	return ((spec->variants & VARIANT_PTSZ) && strcmp(name, "_ptsz") == 0) ||
	       ((spec->variants & VARIANT_PTDS) && strcmp(name, "_ptds") == 0);
}

enum probe_library probe_library_of(const char *path)
{
	switch (host_cuda_of(bytes_of(path))) {
	case HOST_CUDA_RUNTIME:
		return PROBE_CUDART;
	case HOST_CUDA_DRIVER:
		return PROBE_LIBCUDA;
	case HOST_CUDA_NCCL:
		return PROBE_NCCL;
	default:
		return PROBE_LIBRARIES;
	}
}

uint8_t probe_source(enum probe_library library)
{
	static const uint8_t source[] = { SOURCE_CUDA, SOURCE_DRIVER, SOURCE_NCCL, SOURCE_MARK };

	return library < PROBE_LIBRARIES ? source[library] : 0;
}

const char *probe_layer(enum probe_library library)
{
	return library < PROBE_LIBRARIES ? source_layer(probe_source(library)) : "";
}
