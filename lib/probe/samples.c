/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler's records go to the writer, less those that tell nothing new.
 */
#include "lib/probe/samples.h"

#include <string.h>

#include "lib/host/proc.h"

struct saying {
	struct ige_writer *writer;
	struct probe_thin *thin;
	struct err *e;
};

static int on_record(void *ctx, const struct record *r)
{
	struct saying *to = ctx;

	return probe_thin_wants(to->thin, r) ? ige_writer_record(to->writer, r, to->e) : 0;
}

int probe_samples_init(struct probe_samples *s, struct world *w, uint32_t node,
		       struct probe_thin *thin, struct err *e)
{
	memset(s, 0, sizeof(*s));
	s->thin = thin;
	return host_sampler_new(&s->sampler, w, node, e);
}

void probe_samples_free(struct probe_samples *s)
{
	host_sampler_free(s->sampler);
	map_free(&s->alive);
	map_free(&s->callers);
}

void probe_samples_process(struct probe_samples *s, uint32_t tgid, uint32_t process)
{
	/* Without memory one process is not sampled: nothing that should end a recording. */
	map_put(&s->alive, tgid, process);
}

void probe_samples_exit(struct probe_samples *s, uint32_t tgid)
{
	map_del(&s->alive, tgid);
}

static bool is_there(void *ctx, uint64_t tgid, uint64_t process)
{
	(void)ctx;
	(void)process;
	return host_proc_sight((uint32_t)tgid) != HOST_GONE;
}

void probe_samples_gone(struct probe_samples *s)
{
	map_prune(&s->alive, is_there, NULL);
}

bool probe_samples_full(const struct probe_samples *s)
{
	return s->alive.n > PROBE_SAMPLES_MAX;
}

void probe_samples_no_callers(struct probe_samples *s)
{
	map_clear(&s->callers);
}

void probe_samples_caller(struct probe_samples *s, uint32_t process)
{
	map_put(&s->callers, process, 1);
}

size_t probe_samples_choose(const struct probe_samples *s, struct host_target *v)
{
	uint64_t tgid, process;
	size_t n = 0, at;

	for (int callers = 1; callers >= 0; callers--)
		for (at = 0; n < PROBE_SAMPLES_MAX && map_each(&s->alive, &at, &tgid, &process);)
			if (map_get(&s->callers, process, NULL) == callers)
				v[n++] = (struct host_target){ .tgid = (uint32_t)tgid,
							       .process = (uint32_t)process };
	return n;
}

int probe_samples_say(struct probe_samples *s, struct ige_writer *wr, int64_t now_ns, struct err *e)
{
	struct host_target targets[PROBE_SAMPLES_MAX];
	struct saying to = { wr, s->thin, e };
	size_t n;

	if (probe_samples_full(s))
		probe_samples_gone(s);
	n = probe_samples_choose(s, targets);
	s->more |= probe_samples_full(s);
	return host_sampler_tick(s->sampler, now_ns, targets, n, on_record, &to);
}

int probe_samples_rest(struct probe_samples *s, struct ige_writer *wr, struct err *e)
{
	struct saying to = { wr, s->thin, e };

	return host_sampler_rest(s->sampler, on_record, &to);
}
