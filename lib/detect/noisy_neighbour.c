/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noisy-neighbour: programs in another cgroup (a container, a pod, a service) take the CPU from
 * threads that run or are ready to. Proven as cpu-preempted and cpu-contended are, by the overlap
 * of waits with the slices of the threads that ran there, and by the cgroup in which these ran; all
 * of its commands are one culprit. Not this: commands of the victim's own cgroup or of one above or
 * below it, kernel threads, and recordings that do not say in which cgroup others ran.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/fmt.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"

#define COMMANDS_TOLD 4

struct command {
	const struct line_culprit *who;
	uint64_t ns;
};

static bool is_neighbour(const struct cause *c, const struct loss *x)
{
	const struct line_culprit *who = culprit_get(c->tally.culprits, x->culprit);

	return who && who->kind == CULPRIT_NEIGHBOUR;
}

/* The commands of it that took most, most first; at most n. */
static unsigned find_commands(const struct loss_view *f, struct command *v, unsigned n)
{
	struct command all[LOSS_AMOUNTS];
	unsigned have = 0;

	for (unsigned i = 0; i < f->loss->takers.of.n; i++) {
		const struct loss_amount *t = &f->loss->takers.of.v[i];
		const struct line_culprit *who = culprit_get(f->c->tally.culprits, t->id);
		unsigned k = 0;

		while (k < have && all[k].who->name != who->name)
			k++;
		if (k == have)
			all[have++] = (struct command){ .who = who };
		all[k].ns += t->ns;
	}
	for (unsigned i = 0; i < n && i < have; i++) {
		unsigned most = i;
		struct command first = all[i];

		for (unsigned k = i + 1; k < have; k++)
			most = all[k].ns > all[most].ns ? k : most;
		v[i] = all[most];
		all[most] = first;
	}
	return n < have ? n : have;
}

static void print_summary(const struct loss_view *f, struct buf *out)
{
	struct command most;

	buf_printf(out, "%s, another cgroup, took the CPU from %s for ", f->culprit, f->victim);
	detect_amount(f, out);
	if (find_commands(f, &most, 1)) {
		buf_printf(out, ", %s of it by ", fmt_ns(most.ns).s);
		name_culprit_full(out, f->c->w, &f->c->tally, most.who);
	}
	detect_where(f, out);
}

static void add_evidence(const struct loss_view *f, struct finding *to)
{
	struct command v[COMMANDS_TOLD];
	unsigned n = find_commands(f, v, COMMANDS_TOLD);

	for (unsigned i = 0; i < n; i++) {
		struct buf text = { 0 };

		buf_puts(&text, "taken by ");
		name_culprit_full(&text, f->c->w, &f->c->tally, v[i].who);
		details_add_number(to, details_text(to, &text), (double)v[i].ns, "ns");
	}
}

/* Weight of the neighbour that is proposed; what has none said has 100 (cgroup v2, cpu.weight), or
 * 1024 (v1, cpu.shares). */
#define WEIGHT	   20
#define DEFAULT	   100.0
#define DEFAULT_V1 1024

static void add_recommendations(const struct loss_view *f, struct finding *to)
{
	struct bytes path = world_cgroup_path(f->c->w, (uint32_t)f->who->object);
	struct buf command = { 0 }, cpus = { 0 };
	bool v1 = name_cgroup_v1(path);

	detect_other_cpus(f, &cpus);
	if (cpus.n && !v1) { /* of version 1 the cgroup of its CPUs is another one */
		buf_printf(&command, "echo %s | sudo tee ", buf_text(&cpus));
		name_cgroup_file(&command, path, "cpuset.cpus");
		detect_recommend(
			f, to,
			"Keep the neighbour off the CPUs that it takes (in Kubernetes: the static "
			"CPU manager policy and whole CPUs for the pod that lost)",
			details_text(to, &command), 1,
			"the time regained meets the remaining causes at their present rate");
	}
	buf_printf(&command, "echo %d | sudo tee ",
		   v1 ? (int)(DEFAULT_V1 * WEIGHT / DEFAULT) : WEIGHT);
	name_cgroup_file(&command, path, v1 ? "cpu.shares" : "cpu.weight");
	detect_recommend(f, to,
			 "Give the neighbour less weight (in Kubernetes: resources.requests.cpu)",
			 details_text(to, &command), 1 - 2 * WEIGHT / (DEFAULT + WEIGHT),
			 "a fifth of the usual weight leaves it a sixth of a CPU that both want, "
			 "where both have one parent");
	buf_free(&cpus);
}

const struct loss_detector detect_noisy_neighbour = { "noisy-neighbour",   LOSS_CPU,
						      is_neighbour,	   print_summary,
						      add_recommendations, add_evidence };
