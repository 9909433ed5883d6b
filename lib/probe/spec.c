/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats/ops.def unfolded into rows. Names are matched as base, then an optional generation (_v2 to _v9), then
 * an optional per-thread-stream suffix: that is how NVIDIA combines them.
 */
#include "lib/probe/spec.h"

#include <string.h>

#include "lib/event/op.h"
#include "lib/host/cuda.h"

#define PLAIN 0
#define V     VARIANT_V
#define PTSZ  VARIANT_PTSZ
#define PTDS  VARIANT_PTDS
#define ARG(i)                 \
	{                      \
		FIELD_ARG, (i) \
	}
#define STACK(i)                 \
	{                        \
		FIELD_STACK, (i) \
	}
#define OUT(i)                 \
	{                      \
		FIELD_OUT, (i) \
	}
#define CONST(v)                 \
	{                        \
		FIELD_CONST, (v) \
	}
#define NONE                  \
	{                     \
		FIELD_NONE, 0 \
	}
#define FIELDS(...)         \
	{                   \
		__VA_ARGS__ \
	}
#define CUDART	PROBE_CUDART
#define LIBCUDA PROBE_LIBCUDA

static const struct probe_spec specs[] = {
#define SYMBOL(lib, symbol, variants_, op_id, fields) \
	{ .name = symbol,                             \
	  .library = lib,                             \
	  .variants = (variants_),                    \
	  .op = { .op = OP_##op_id, .field = fields } },
#include "formats/ops.def"
};

#undef V
#undef STACK
#undef OUT

const struct probe_spec *probe_specs(size_t *n)
{
	*n = sizeof(specs) / sizeof(specs[0]);
	return specs;
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
	default:
		return PROBE_LIBRARIES;
	}
}

const char *probe_layer(enum probe_library library)
{
	static const uint8_t source[] = { SOURCE_CUDA, SOURCE_DRIVER };

	return library < PROBE_LIBRARIES ? source_layer(source[library]) : "";
}
