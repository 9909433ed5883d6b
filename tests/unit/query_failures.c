/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failure that a call passes on to the call around it is one failure; what the call around it
 * took care of is one of its own.
 */
#include "tests/tap.h"

#include "lib/query/failures.h"
#include "lib/filter/trigger.h"
#include "tests/unit/events.h"

static void call(struct stage *s, struct actor a, uint16_t op, unsigned depth, int64_t start,
		 int64_t end, int32_t ret)
{
	stage_call(s, a, op, depth, start, end)->ret = ret;
}

static uint64_t sum(const struct failures *f, bool passed_on)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->v.n; i++)
		n += passed_on ? f->v.v[i].passed_on : f->v.v[i].count;
	return n;
}

static void counts(struct stage *s, uint64_t failed, uint64_t passed_on, const char *name)
{
	struct query_failures *a = query_failures_new(s->w);
	struct stream_item it = { .kind = STREAM_EVENTS };
	const struct failures *f;

	stage_sort(s);
	it.events = s->ev.v;
	it.n = s->ev.n;
	ok(a && query_failures_item(a, &it, NULL) == 0, "%s: counted", name);
	f = query_failures_end(a);
	is_u64(sum(f, false), failed, "%s: all of them", name);
	is_u64(sum(f, true), passed_on, "%s: of which passed on", name);
	query_failures_free(a);
	s->ev.n = 0;
}

/* "Not yet" is what who asks wants to know: no failure, and no flight recorder is woken by it. */
static void not_yet(struct stage *s, struct actor a)
{
	static const struct {
		uint16_t op;
		int32_t ret;
		bool failed;
	} table[] = { { OP_CUDA_STREAM_QUERY, 600, false }, { OP_CU_STREAM_QUERY, 600, false },
		      { OP_CUDA_STREAM_QUERY, 700, true },  { OP_NCCL_ALL_REDUCE, 7, false },
		      { OP_NCCL_ALL_REDUCE, 600, true },    { OP_CUDA_LAUNCH, 7, true },
		      { OP_CUDA_LAUNCH, 0, false } };

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct filter_trigger errors = { .errors = true };

		call(s, a, table[i].op, 0, 0, US, table[i].ret);
		ok(filter_trigger_hit(&errors, &s->ev.v[0]) == table[i].failed,
		   "%d of op %u: the trigger", (int)table[i].ret, table[i].op);
		counts(s, table[i].failed, 0, table[i].failed ? "an error" : "none");
	}
}

int main(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train"),
		     b = stage_actor(&s, 100, 101, 1, "train");

	not_yet(&s, a);

	for (int64_t t = 0; t < 5 * MS; t += MS) {
		call(&s, a, OP_CU_LAUNCH, 1, t + US, t + 2 * US, 1);
		call(&s, a, OP_CU_LAUNCH, 1, t + 2 * US, t + 3 * US, 1); /* tried again */
		call(&s, a, OP_CUDA_LAUNCH, 0, t, t + 4 * US, 1);
	}
	counts(&s, 15, 10, "the runtime returns what the driver did");

	call(&s, a, OP_CU_LAUNCH, 1, US, 2 * US, 201);
	call(&s, a, OP_CUDA_LAUNCH, 0, 0, 4 * US, 0);
	counts(&s, 1, 0, "the runtime found a way");

	call(&s, a, OP_CU_LAUNCH, 2, 2 * US, 3 * US, 201);
	call(&s, a, OP_CU_LAUNCH, 1, US, 4 * US, 0);
	call(&s, a, OP_CUDA_LAUNCH, 0, 0, 5 * US, 1);
	counts(&s, 2, 0, "a call between the two did");

	call(&s, b, OP_CU_LAUNCH, 1, US, 2 * US, 1);
	call(&s, a, OP_CUDA_LAUNCH, 0, 0, 4 * US, 1);
	counts(&s, 2, 0, "a call of another thread fails meanwhile");

	call(&s, a, OP_CU_LAUNCH, 1, US, 2 * US, 1);
	call(&s, a, OP_CUDA_LAUNCH, 0, 3 * US, 4 * US, 1);
	counts(&s, 2, 0, "the call around it is not in the recording");

	call(&s, a, OP_CU_LAUNCH, 1, US, 2 * US, 1);
	stage_offcpu(&s, a, 0, 2 * US, 3 * US, 0, 0);
	call(&s, a, OP_CUDA_LAUNCH, 0, 0, 4 * US, 1);
	counts(&s, 2, 1, "an interval between them is no call");
	stage_free(&s);
	return tap_done();
}
