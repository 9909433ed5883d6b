/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the parts in which another thread had the CPU that the path was waiting for, if that one
 * is bound to the same CPUs as the anchor.
 */
#include "lib/tracks/binding.h"

#include <inttypes.h>

#include "lib/base/timetext.h"
#include "lib/world/who.h"

/* Who had the CPU in this part; 0: nobody else. */
static uint32_t occupant_of(const struct track_part *p)
{
	return p->class == PATH_TAKEN ? p->thread : p->occupant;
}

/* Which process had it for most of the time, and how many did. */
static bool find_others(struct binding *b, const struct world *w, struct map *ns_of)
{
	uint32_t own = world_thread_process_id(w, b->anchor);
	uint64_t thread, ns, most = 0;
	struct map processes = { 0 };
	bool ok = true;
	size_t at = 0;

	b->children = true;
	while (ok && map_each(ns_of, &at, &thread, &ns)) {
		const struct world_process *p = world_thread_process(w, (uint32_t)thread);
		const struct world_process *of = world_get_process(w, own);
		uint32_t process = world_thread_process_id(w, (uint32_t)thread);

		if (ns > most || (ns == most && thread < b->other)) {
			most = ns;
			b->other = (uint32_t)thread;
		}
		if (process == own)
			continue;
		b->children = b->children && p && of && p->parent == of->tgid;
		ok = map_put(&processes, process, 1);
	}
	b->processes = (uint32_t)processes.n;
	map_free(&processes);
	return ok;
}

bool binding_find(struct binding *b, const struct allowed_cpus *allowed,
		  const struct track_names *names, uint32_t anchor, const struct track_parts *parts,
		  int64_t end_ns)
{
	const struct world_process *own = world_thread_process(names->w, anchor);
	uint32_t node = own ? own->node : 0;
	uint64_t all_ns = 0, had;
	struct map ns_of = { 0 };
	struct bytes cpus;
	bool ok = true;
	int64_t since;

	*b = (struct binding){ .anchor = anchor, .machine = allowed_cpus_machine(allowed, node) };
	cpus = allowed_cpus_of(allowed, anchor, end_ns, &b->since_ns);
	if (!cpus.n || allowed_cpus_count(cpus) >= b->machine)
		return true;
	for (size_t i = 0; ok && i < parts->v.n; i++) {
		const struct track_part *p = &parts->v.v[i];
		uint32_t who = occupant_of(p);

		all_ns += p->ns;
		if (!who || !bytes_equal(cpus, allowed_cpus_of(allowed, who, end_ns, &since)))
			continue;
		had = 0;
		map_get(&ns_of, who, &had);
		ok = map_put(&ns_of, who, had + p->ns);
		b->ns += p->ns;
	}
	b->idle = allowed_cpus_idle(allowed, node, cpus, &b->idle_cpus, &b->idle_cpu);
	ok = ok && find_others(b, names->w, &ns_of);
	if ((double)b->ns >= BINDING_SHARE * (double)all_ns && b->ns >= BINDING_NS)
		b->cpus = cpus;
	map_free(&ns_of);
	return ok;
}

bool binding_matters(const struct binding *b)
{
	return b->cpus.n && (b->idle < 0 || b->idle >= BINDING_IDLE);
}

static void print_idle(struct buf *out, const struct binding *b)
{
	if (b->idle < 0)
		return;
	buf_puts(out, "; ");
	if (b->idle_cpus == 1)
		buf_printf(out, "CPU %" PRIu32 " was", b->idle_cpu);
	else
		buf_printf(out, "the other %" PRIu32 " CPUs were", b->idle_cpus);
	buf_printf(out, " idle for %.0f%% of the recording", b->idle * 100);
}

void binding_print(struct buf *out, const struct track_names *names, const struct binding *b,
		   int64_t start_ns)
{
	char text[48];

	who_print_process(out, names->w, b->anchor, INT64_MAX);
	if (b->processes) {
		buf_puts(out, b->processes > 1 ? ", " : " and ");
		who_print_process(out, names->w, b->other, INT64_MAX);
		if (b->processes > 1)
			buf_printf(out, " and %" PRIu32 " %s", b->processes - 1,
				   b->processes > 2 ? "others" : "other");
	}
	buf_printf(out, " may run on CPU%s %.*s only", allowed_cpus_count(b->cpus) > 1 ? "s" : "",
		   (int)b->cpus.n, b->cpus.p);
	if (b->since_ns > start_ns)
		buf_printf(out, " since %s after the start",
			   duration_text(text, sizeof(text), (uint64_t)(b->since_ns - start_ns)));
	buf_printf(out, ", and waited there for each other for %s",
		   duration_text(text, sizeof(text), b->ns));
	print_idle(out, b);
}

void binding_print_command(struct buf *out, const struct track_names *names,
			   const struct binding *b)
{
	const struct world_process *own = world_thread_process(names->w, b->anchor),
				   *other = world_thread_process(names->w, b->other);
	uint32_t pid = own ? own->tgid : 0;

	if (!b->processes)
		buf_printf(out, "taskset -a -c -p 0-%" PRIu32 " %" PRIu32, b->machine - 1, pid);
	else if (b->children)
		buf_printf(out,
			   "for p in %" PRIu32 " $(pgrep -P %" PRIu32
			   "); do taskset -a -c -p 0-%" PRIu32 " $p; done",
			   pid, pid, b->machine - 1);
	else
		buf_printf(out,
			   "for p in %" PRIu32 " %" PRIu32 "; do taskset -a -c -p 0-%" PRIu32
			   " $p; done",
			   pid, other ? other->tgid : 0, b->machine - 1);
}
