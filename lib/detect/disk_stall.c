/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk-stall: threads are blocked on block I/O. Proven by the kernel's I/O-wait mark on the
 * interval or, of waits for io_uring and AIO, by a request that ends with it; the process's block
 * requests on the device tell reads from writes. Not this: waits for sockets, pipes or terminals.
 */
#include "lib/detect/detect_internal.h"

#include <inttypes.h>

#include "lib/account/disk_crowd.h"
#include "lib/base/fmt.h"
#include "lib/advice/disk_advice.h"

/* The file that it waited for longest, and in what most; NULL: none is known. */
static const char *slowest_file(const struct loss_view *f, enum cause_file_way *way, uint64_t *took)
{
	uint64_t device = f->who ? f->who->object : 0;
	const uint64_t *ns;
	const char *name = cause_files_top(&f->c->files, f->loss->process, device, &ns);

	*way = CAUSE_FILE_READS;
	for (unsigned i = 1; name && i < CAUSE_FILE_WAYS; i++)
		*way = ns[i] > ns[*way] ? (enum cause_file_way)i : *way;
	*took = name ? ns[*way] : 0;
	return name;
}

/* "; slow reads of /mnt/nfs/x (nfs4, server:/export) took 1.51 s": the file that it waited for
 * longest. */
static void print_slowest_file(const struct loss_view *f, struct buf *out)
{
	static const char *const ways[CAUSE_FILE_WAYS] = { "reads", "writes", "syncs",
							   "opens and lookups" };
	enum cause_file_way way;
	uint64_t ns;
	const char *name = slowest_file(f, &way, &ns);

	if (name)
		buf_printf(out, "; slow %s of %s took %s", ways[way], name, fmt_ns(ns).s);
}

static void print_transfers(struct buf *out, uint64_t n, const char *what, uint64_t bytes)
{
	if (n == 0)
		return;
	fmt_counted(out, n, bytes_of(what));
	buf_printf(out, " (%s)", fmt_bytes(bytes).s);
}

static void print_summary(const struct loss_view *f, struct buf *out)
{
	struct cause_disk io = disk_crowd_own(f);

	buf_printf(out, "%s was blocked on %s for ", f->victim, f->culprit);
	detect_amount(f, out);
	if (io.reads || io.writes)
		buf_puts(out, " with ");
	print_transfers(out, io.reads, "reads", io.read_bytes);
	if (io.reads && io.writes)
		buf_puts(out, " and ");
	print_transfers(out, io.writes, "writes", io.write_bytes);
	detect_where(f, out);
	print_slowest_file(f, out);
	disk_crowd_print(f, out);
}

static void add_recommendations(const struct loss_view *f, struct finding *to)
{
	static const char *const actions[2][2] = {
		{ "Read ahead in worker threads, keep the files in memory, or use a faster device",
		  "Write and sync less often, from another thread or process, or to a faster "
		  "device" },
		{ "Read further ahead or with more such threads, keep the files in memory, or use "
		  "a faster device",
		  "Write and sync less often or less at a time, or to a faster device: the thread "
		  "that waits is one beside those that give the device work" }
	};
	struct cause_disk io = disk_crowd_own(f);
	bool writes = io.write_bytes > io.read_bytes;
	enum cause_file_way way;
	uint64_t ns;

	/* What else it reads meanwhile, as its own libraries, is not what it waits for. */
	if (slowest_file(f, &way, &ns))
		writes = way == CAUSE_FILE_WRITES || way == CAUSE_FILE_SYNCS;
	if (disk_advice_held_back(f, to))
		return;
	disk_crowd_recommend(f, to);
	detect_recommend(f, to, actions[detect_beside(f)][writes],
			 "lsblk -o NAME,MAJ:MIN,ROTA,MOUNTPOINT", 0,
			 "from nothing, if the step must wait for the data, to all of the wait");
}

const struct loss_detector detect_disk_stall = { .kind = "disk-stall",
						 .family = LOSS_DISK,
						 .summary = print_summary,
						 .recommend = add_recommendations,
						 .evidence = disk_crowd_evidence };
