/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads go when nothing of theirs can come any more, and their place is another's; what belongs
 * to a program goes with its process. Bounded by those that live, and by the machine's numbers of
 * threads for those who are no targets, whose end nobody tells.
 */
#include "lib/decode/wire_internal.h"

#include <string.h>

void wire_decoder_over(struct wire_decoder *wire, const struct wire_thread *who)
{
	const struct wire_over over = { who->tid, who->execs, wire->round, who->start_ns };

	vec_push(&wire->over, over); /* else it is kept until its number is another's */
}

/* Not who has the number since, nor who took it over, and its birth, to execute a program. */
static void thread_free(struct wire_decoder *wire, const struct wire_over *over)
{
	const struct decode_thread *t = wire_decoder_born(wire, over->tid, over->start_ns);
	uint64_t at;

	if (!t || !t->ctx || wire_decoder_exec(wire, t) > over->execs ||
	    !map_get(&wire->by_tid, over->tid, &at) || !vec_push(&wire->unused, (uint32_t)at))
		return;
	if (wire->devices)
		cuda_devices_ended(wire->devices, t->thread, 0);
	map_del(&wire->by_tid, over->tid);
	wire->threads.v[at] = (struct decode_thread){ 0 };
}

void wire_decoder_forget(struct wire_decoder *wire)
{
	size_t n = 0;

	for (; n + WIRE_DECODER_TAIL < wire->over.n && wire->over.v[n].round != wire->round; n++)
		thread_free(wire, &wire->over.v[n]);
	if (n) {
		wire->over.n -= n;
		memmove(wire->over.v, wire->over.v + n, wire->over.n * sizeof(wire->over.v[0]));
	}
	wire->round++;
}

struct letting_go {
	struct wire_decoder *wire;
	const struct gone_processes *gone;
};

static bool image_stays(void *ctx, uint64_t key, uint64_t image)
{
	const struct letting_go *l = ctx;
	const struct world_image *v = world_get_image(l->wire->world, (uint32_t)image);

	if (!v || !map_get(&l->gone->processes, v->process, NULL))
		return true;
	map_del(&l->wire->image_start, key);
	if (l->wire->devices)
		cuda_devices_ended(l->wire->devices, 0, (uint32_t)image);
	return false;
}

static bool stack_stays(void *ctx, uint64_t number, uint64_t stack)
{
	const struct letting_go *l = ctx;

	(void)number;
	return !map_get(&l->gone->numbers, stack >> 40, NULL);
}

static bool count_stays(void *ctx, uint64_t key, uint64_t calls)
{
	const struct letting_go *l = ctx;

	(void)calls;
	return !map_get(&l->gone->processes, key >> 10, NULL);
}

void wire_decoder_gone(struct wire_decoder *wire, const struct gone_processes *gone)
{
	struct letting_go l = { wire, gone };
	uint64_t tgid;
	size_t at = 0;

	map_prune(&wire->images, image_stays, &l);
	map_prune(&wire->stacks, stack_stays, &l);
	if (map_get(&gone->processes, wire->last_key >> 10, NULL)) {
		wire->last_key = UINT64_MAX;
		wire->last_count = 0;
	}
	map_prune(&wire->delivered, count_stays, &l);
	cpu_masks_gone(&wire->allowed, gone);
	while (map_each(&gone->numbers, &at, &tgid, NULL))
		map_del(&wire->pythons, tgid);
}
