/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by process, or by device, each with a bounded number of samples. */
#include "lib/attrib/disk_others.h"

#include "lib/base/hash.h"

#define COUNTERS_MAX 4096
#define SAMPLES_MAX  512 /* of one; where there are more, every second one goes */

void disk_others_free(struct disk_others *d)
{
	for (size_t i = 0; i < d->v.n; i++)
		vec_free(&d->v.v[i].v);
	vec_free(&d->v);
	map_free(&d->by);
}

static bool is_counter(const struct record *r)
{
	switch (r->u.SAMPLE.metric) {
	case METRIC_PROC_READ_BYTES:
	case METRIC_PROC_WRITE_BYTES:
		return REC_HAS(r, SAMPLE, process);
	case METRIC_DISK_OTHERS_READ:
	case METRIC_DISK_OTHERS_WRITTEN:
		return REC_HAS(r, SAMPLE, device);
	default:
		return false;
	}
}

static struct disk_counter *counter_of(struct disk_others *d, const struct record *r)
{
	struct disk_counter is = { .metric = r->u.SAMPLE.metric };
	uint64_t key, at;

	if (REC_HAS(r, SAMPLE, process)) {
		is.process = r->u.SAMPLE.process;
	} else {
		is.node = REC_HAS(r, SAMPLE, node) ? r->u.SAMPLE.node : 0;
		is.device = r->u.SAMPLE.device;
	}
	key = hash_u64(((uint64_t)is.node << 32 | is.device) ^
		       hash_u64((uint64_t)is.process << 32 | is.metric));
	if (map_get(&d->by, key, &at))
		return &d->v.v[at];
	at = d->v.n;
	return vec_push(&d->v, is) && map_put(&d->by, key, at) ? &d->v.v[at] : NULL;
}

static void drop_every_second(struct disk_counter *c)
{
	size_t keep = 0;

	for (size_t i = 0; i < c->v.n; i += 2)
		c->v.v[keep++] = c->v.v[i];
	c->v.n = keep;
}

bool disk_others_record(struct disk_others *d, const struct record *r)
{
	struct disk_counter *c;
	struct disk_counter_sample s;

	if (r->kind != RECORD_SAMPLE || !is_counter(r) || d->v.n >= COUNTERS_MAX)
		return true;
	c = counter_of(d, r);
	if (!c)
		return false;
	s = (struct disk_counter_sample){ r->u.SAMPLE.time_ns, r->u.SAMPLE.value };
	if (c->v.n && s.ns <= c->v.v[c->v.n - 1].ns)
		return true; /* said twice: where one look ends and the next begins */
	if (c->v.n == SAMPLES_MAX)
		drop_every_second(c);
	return vec_push(&c->v, s);
}

/* The counter at that time. What a device moved is counted from the recording's beginning on, at
 * 0. */
static double value_at(const struct disk_counter *c, int64_t ns)
{
	const struct disk_counter_sample *a, *b;
	size_t i = 0;

	while (i < c->v.n && c->v.v[i].ns < ns)
		i++;
	if (i == c->v.n)
		return c->v.n ? c->v.v[i - 1].bytes : 0;
	if (i == 0)
		return c->process ? c->v.v[0].bytes : 0;
	a = &c->v.v[i - 1];
	b = &c->v.v[i];
	return a->bytes + (b->bytes - a->bytes) * (double)(ns - a->ns) / (double)(b->ns - a->ns);
}

static void add_moved(struct disk_moved *to, const struct disk_counter *c, int64_t from_ns,
		      int64_t to_ns)
{
	double bytes = value_at(c, to_ns) - value_at(c, from_ns);

	if (bytes < 1)
		return;
	if (c->metric == METRIC_PROC_READ_BYTES || c->metric == METRIC_DISK_OTHERS_READ)
		to->read_bytes += (uint64_t)bytes;
	else
		to->write_bytes += (uint64_t)bytes;
}

struct disk_moved disk_others_device(const struct disk_others *d, uint32_t node, uint32_t device,
				     int64_t from_ns, int64_t to_ns)
{
	struct disk_moved sum = { 0 };

	for (size_t i = 0; i < d->v.n; i++) {
		const struct disk_counter *c = &d->v.v[i];

		if (!c->process && c->device == device && (!c->node || c->node == node))
			add_moved(&sum, c, from_ns, to_ns);
	}
	return sum;
}

/* Both of its counters, at the first of them. */
static struct disk_mover mover_of(const struct disk_others *d, size_t at, int64_t from_ns,
				  int64_t to_ns)
{
	struct disk_mover m = { .process = d->v.v[at].process };

	for (size_t i = 0; i < d->v.n; i++) {
		if (d->v.v[i].process != m.process)
			continue;
		if (i < at)
			return (struct disk_mover){ 0 };
		add_moved(&m.moved, &d->v.v[i], from_ns, to_ns);
	}
	return m;
}

size_t disk_others_movers(const struct disk_others *d, int64_t from_ns, int64_t to_ns,
			  bool (*counts)(const void *ctx, uint32_t process), const void *ctx,
			  struct disk_mover *out, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < d->v.n; i++) {
		struct disk_mover m;
		size_t at;

		if (!d->v.v[i].process || !counts(ctx, d->v.v[i].process))
			continue;
		m = mover_of(d, i, from_ns, to_ns);
		for (at = found; at > 0 && disk_moved_bytes(&out[at - 1].moved) <
						   disk_moved_bytes(&m.moved);
		     at--)
			if (at < n)
				out[at] = out[at - 1];
		if (at < n && disk_moved_bytes(&m.moved)) {
			out[at] = m;
			found += found < n;
		}
	}
	return found;
}
