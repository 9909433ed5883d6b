/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler's records go to the writer, less those that tell nothing new.
 */
#include "lib/record/samples.h"

#include <string.h>

#include "lib/host/proc.h"

struct saying {
	struct ige_writer *writer;
	struct deadband *thin;
	struct err *e;
};

static int on_record(void *ctx, const struct record *r)
{
	struct saying *to = ctx;

	return deadband_wants(to->thin, r) ? ige_writer_record(to->writer, r, to->e) : 0;
}

int record_samples_init(struct record_samples *s, struct world *w, uint32_t node,
			struct deadband *thin, struct err *e)
{
	memset(s, 0, sizeof(*s));
	s->thin = thin;
	return host_sampler_new(&s->sampler, w, node, e);
}

void record_samples_free(struct record_samples *s)
{
	host_sampler_free(s->sampler);
	map_free(&s->alive);
	map_free(&s->callers);
}

void record_samples_process(struct record_samples *s, uint32_t tgid, uint32_t process)
{
	/* Without memory one process is not sampled: nothing that should end a recording. */
	map_put(&s->alive, tgid, process);
}

void record_samples_exit(struct record_samples *s, uint32_t tgid)
{
	map_del(&s->alive, tgid);
}

static bool is_there(void *ctx, uint64_t tgid, uint64_t process)
{
	(void)ctx;
	(void)process;
	return host_proc_sight((uint32_t)tgid) != HOST_GONE;
}

void record_samples_gone(struct record_samples *s)
{
	map_prune(&s->alive, is_there, NULL);
}

bool record_samples_full(const struct record_samples *s)
{
	return s->alive.n > RECORD_SAMPLES_MAX;
}

void record_samples_no_callers(struct record_samples *s)
{
	map_clear(&s->callers);
}

void record_samples_caller(struct record_samples *s, uint32_t process)
{
	map_put(&s->callers, process, 1);
}

size_t record_samples_choose(const struct record_samples *s, struct host_target *v)
{
	uint64_t tgid, process;
	size_t n = 0, at;

	for (int callers = 1; callers >= 0; callers--)
		for (at = 0; n < RECORD_SAMPLES_MAX && map_each(&s->alive, &at, &tgid, &process);)
			if (map_get(&s->callers, process, NULL) == callers)
				v[n++] = (struct host_target){ .tgid = (uint32_t)tgid,
							       .process = (uint32_t)process };
	return n;
}

int record_samples_say(struct record_samples *s, struct ige_writer *wr, int64_t now_ns,
		       struct err *e)
{
	struct host_target targets[RECORD_SAMPLES_MAX];
	struct saying to = { wr, s->thin, e };
	size_t n;

	if (record_samples_full(s))
		record_samples_gone(s);
	n = record_samples_choose(s, targets);
	s->more |= record_samples_full(s);
	return host_sampler_tick(s->sampler, now_ns, targets, n, on_record, &to);
}

int record_samples_rest(struct record_samples *s, struct ige_writer *wr, struct err *e)
{
	struct saying to = { wr, s->thin, e };

	return host_sampler_rest(s->sampler, on_record, &to);
}
