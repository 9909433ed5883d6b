/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes on one device between the first and the last wait for it; of single processes, on all. */
#include "lib/account/disk_crowd.h"

#include <inttypes.h>

#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/base/fmt.h"

#define MOVERS	     2
#define MOVER_SHARE  0.2      /* of what others moved: who has less is not named */
#define OTHERS_LEAST 16777216 /* B: less keeps no device busy */
#define SAID_SHARE   0.05     /* of what is read and written: which of them a sentence names */

struct crowd {
	struct disk_moved moved; /* nothing: the device moved most for the process itself */
	struct disk_mover movers[MOVERS];
	size_t n;
};

struct cause_disk disk_crowd_own(const struct loss_view *f)
{
	struct cause_disk sum = { 0 };

	for (size_t i = 0; i < f->c->disks.v.n; i++) {
		const struct cause_disk *d = &f->c->disks.v.v[i];

		if (d->process != f->loss->process ||
		    (f->who && f->who->object && d->device != f->who->object))
			continue;
		sum.reads += d->reads;
		sum.writes += d->writes;
		sum.read_bytes += d->read_bytes;
		sum.write_bytes += d->write_bytes;
	}
	return sum;
}

/* A process that is not recorded. */
static bool is_other(const void *ctx, uint32_t process)
{
	const struct cause *c = ctx;

	return !tally_process_known(&c->tally, process);
}

static struct crowd crowd_of(const struct loss_view *f)
{
	const struct world_process *v = world_get_process(f->c->w, f->loss->process);
	struct cause_disk own = disk_crowd_own(f);
	struct crowd x = { 0 };
	uint64_t bytes;

	if (f->who && f->who->object)
		x.moved = disk_others_device(&f->c->disk_others, v ? v->node : 0,
					     (uint32_t)f->who->object, f->loss->first_ns,
					     f->loss->last_ns);
	bytes = disk_moved_bytes(&x.moved);
	if (bytes < OTHERS_LEAST || bytes <= own.read_bytes + own.write_bytes)
		return (struct crowd){ 0 };
	x.n = disk_others_movers(&f->c->disk_others, f->loss->first_ns, f->loss->last_ns, is_other,
				 f->c, x.movers, MOVERS);
	while (x.n && (double)disk_moved_bytes(&x.movers[x.n - 1].moved) <
			      MOVER_SHARE * (double)bytes)
		x.n--;
	return x;
}

static void print_moved(struct buf *out, const struct disk_moved *m)
{
	double least = SAID_SHARE * (double)disk_moved_bytes(m);
	bool reads = (double)m->read_bytes >= least, writes = (double)m->write_bytes >= least;

	if (reads)
		buf_printf(out, "read %s", fmt_bytes(m->read_bytes).s);
	if (reads && writes)
		buf_puts(out, " and ");
	if (writes)
		buf_printf(out, "wrote %s", fmt_bytes(m->write_bytes).s);
}

void disk_crowd_print(const struct loss_view *f, struct buf *out)
{
	struct crowd x = crowd_of(f);

	if (!disk_moved_bytes(&x.moved))
		return;
	buf_puts(out, "; other processes ");
	print_moved(out, &x.moved);
	buf_puts(out, " there meanwhile");
	for (size_t i = 0; i < x.n; i++) {
		buf_puts(out, i ? " and " : "; most on all disks moved ");
		name_victim(out, f->c->w, &f->c->tally, x.movers[i].process);
	}
}

void disk_crowd_recommend(const struct loss_view *f, struct finding *to)
{
	struct crowd x = crowd_of(f);
	const struct world_process *p =
		x.n ? world_get_process(f->c->w, x.movers[0].process) : NULL;
	struct buf name = { 0 };

	if (!p)
		return;
	name_victim(&name, f->c->w, &f->c->tally, x.movers[0].process);
	detect_recommend(f, to,
			 details_print(to,
				       "Let %s work at another time or on another device, or "
				       "limit what its cgroup may move (io.max)",
				       buf_text(&name)),
			 details_print(to, "cat /proc/%" PRIu32 "/io /proc/%" PRIu32 "/cgroup",
				       p->tgid, p->tgid),
			 0,
			 "from nothing, if it moves that on another device, or this one is as slow "
			 "for one process alone, to all of the wait; the command shows what that "
			 "process moves, and its cgroup");
	buf_free(&name);
}

void disk_crowd_evidence(const struct loss_view *f, struct finding *to)
{
	struct crowd x = crowd_of(f);

	if (x.moved.read_bytes)
		details_add_number(to, "read by others meanwhile", (double)x.moved.read_bytes, "B");
	if (x.moved.write_bytes)
		details_add_number(to, "written by others meanwhile", (double)x.moved.write_bytes,
				   "B");
}
