/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes that are not recorded did with disks meanwhile: how much the devices moved for
 * them, and who of them moved most, on whichever device. From counters that are sampled now and
 * then, with a straight line between two samples.
 */
#ifndef INGERO_ATTRIB_DISK_OTHERS_H
#define INGERO_ATTRIB_DISK_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

struct disk_counter_sample {
	int64_t ns;
	double bytes;
};

struct disk_counter {
	uint32_t node, device; /* of all others on that device; node 0: there is one machine */
	uint32_t process;      /* world process id; 0: of a device */
	uint32_t metric;
	VEC(struct disk_counter_sample) v; /* in order of time */
};

/* Zero-initialised is empty. */
struct disk_others {
	struct map by; /* hash of what it counts -> v */
	VEC(struct disk_counter) v;
};

void disk_others_free(struct disk_others *d);

/* A SAMPLE; others than of these counters are passed over. False: out of memory. */
bool disk_others_record(struct disk_others *d, const struct record *r);

struct disk_moved {
	uint64_t read_bytes, write_bytes;
};
static inline uint64_t disk_moved_bytes(const struct disk_moved *m)
{
	return m->read_bytes + m->write_bytes;
}

/* Of the device in that time. */
struct disk_moved disk_others_device(const struct disk_others *d, uint32_t node, uint32_t device,
				     int64_t from_ns, int64_t to_ns);

/* The n processes for which `counts` is true that moved most in that time, most first; how many
 * there are. */
struct disk_mover {
	uint32_t process; /* world process id */
	struct disk_moved moved;
};
size_t disk_others_movers(const struct disk_others *d, int64_t from_ns, int64_t to_ns,
			  bool (*counts)(const void *ctx, uint32_t process), const void *ctx,
			  struct disk_mover *out, size_t n);

#endif
