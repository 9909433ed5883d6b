/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call taken apart where events are missing: what is not known to have happened in it is not
 * its own code.
 */
#include "lib/query/call_query.h"

#include "tests/tap.h"
#include "tests/unit/events.h"

static void item(struct query_call *a, const struct stream_item *it)
{
	struct err e;

	if (query_call_item(a, it, &e))
		ok(false, "is taken: %s", e.text);
}

/* A launch of 100 us and one of 600 us, each in a block of its own. What did the second one's time
 * go to? */
static void is_told(struct stage *s, uint64_t lost, const struct record *loss, enum part part,
		    const char *name)
{
	struct stream_item block = { .kind = STREAM_EVENTS, .events = s->ev.v, .n = 1 };
	struct stream_item told = { .kind = STREAM_RECORD, .record = loss };
	const struct call_detail *found = NULL;
	struct query_call *a;
	struct err e;

	ok(query_call_new(&a, s->w, "cudaLaunchKernel", &e) == 0, "can be asked for");
	item(a, &block);
	if (loss)
		item(a, &told);
	block.events++;
	block.lost = lost;
	item(a, &block);
	ok(query_call_end(a, &found, &e) == 0 && found, "the longest is there");
	is_u64(found ? found->part_ns[part] : 0, 600 * US, "%s", name);
	query_call_free(a);
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	struct record loss = { .kind = RECORD_LOSS };

	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 100 * US, 200 * US);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 300 * US, 900 * US);
	is_told(&s, 0, NULL, PART_SELF, "nothing is missing: its own code");
	is_told(&s, 3, NULL, PART_UNKNOWN, "its block says that some are: unknown");
	REC_SET(&loss, LOSS, count, 3);
	REC_SET(&loss, LOSS, since_ns, 400 * US);
	REC_SET(&loss, LOSS, until_ns, 500 * US);
	is_told(&s, 0, &loss, PART_UNKNOWN, "a record says so: unknown");
	REC_SET(&loss, LOSS, since_ns, 210 * US);
	REC_SET(&loss, LOSS, until_ns, 250 * US);
	is_told(&s, 0, &loss, PART_SELF, "they are missing before it: its own code");
	stage_free(&s);
	return tap_done();
}
