/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at each stack once, but again while it has functions whose names are not known yet: those
 * come later than their frames.
 */
#include "lib/loops/stack_calls.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/event/op.h"

/* A library that exports few names gives its other functions the one before them: none of a call's
 * own is so long. */
#define DELTA_MAX 4096

static bool add_names(struct stack_calls *s)
{
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n);

	for (unsigned i = 0; i < n; i++)
		if (ops[i].flags & OP_CALL &&
		    !map_put(&s->by_name, hash_bytes(ops[i].name, strlen(ops[i].name), 0),
			     ops[i].id))
			return false;
	return true;
}

/* "cuMemAlloc" of "cuMemAlloc_v2", "cudaLaunchKernel" of "cudaLaunchKernel_ptsz". */
static struct bytes without_suffix(struct bytes name)
{
	static const char *const suffixes[] = { "_ptsz", "_ptds", "_v2", "_v3" };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(suffixes[i]);

		if (name.n > n && !memcmp(name.p + name.n - n, suffixes[i], n))
			name.n -= n;
	}
	return name;
}

static const struct op_def *op_of(const struct stack_calls *s, const struct world *w,
				  const struct world_symbol *symbol)
{
	struct bytes name = world_text(w, symbol->name);
	uint64_t op;

	/* Most functions are of other libraries. */
	if (symbol->delta > DELTA_MAX || name.n < 3 ||
	    (memcmp(name.p, "cu", 2) && memcmp(name.p, "nccl", name.n < 4 ? name.n : 4)))
		return NULL;
	name = without_suffix(name);
	return map_get(&s->by_name, hash_bytes(name.p, name.n, 0), &op) ? op_builtin((uint16_t)op)
									: NULL;
}

static struct stack_call read_call(const struct stack_calls *s, const struct world *w,
				   uint32_t stack)
{
	struct stack_call call = { .looked_at = true };
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(w, stack, &n);

	for (unsigned i = 0; i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);
		const struct world_symbol *symbol = world_get_symbol(w, frames[i]);
		const struct op_def *op;

		/* No library calls what is written in Python. */
		if (f && f->kind == FRAME_PYTHON)
			break;
		if (!symbol) {
			call.looked_at &= !f || f->kind != FRAME_NATIVE;
			continue;
		}
		op = op_of(s, w, symbol);
		if (op) {
			call.op = op->id;
			call.sync |= op->flags & OP_SYNC;
		}
	}
	return call;
}

bool stack_calls_find(struct stack_calls *s, const struct world *w, uint32_t stack,
		      const struct stack_call **found)
{
	static const struct stack_call none;

	*found = &none;
	if (!stack)
		return true;
	if ((!s->by_name.n && !add_names(s)) || !vec_reach(&s->v, stack))
		return false;
	if (!s->v.v[stack].looked_at)
		s->v.v[stack] = read_call(s, w, stack);
	*found = &s->v.v[stack];
	return true;
}

void stack_calls_free(struct stack_calls *s)
{
	map_free(&s->by_name);
	vec_free(&s->v);
}
