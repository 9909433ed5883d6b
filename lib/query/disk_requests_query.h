/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to block devices, in the queue and at the device, and which files calls waited for.
 * Memory is bounded by DISKS_MAX kinds of requests and DISK_FILES_MAX files; what is beyond is not
 * reported.
 */
#ifndef INGERO_QUERY_DISK_REQUESTS_QUERY_H
#define INGERO_QUERY_DISK_REQUESTS_QUERY_H

#include "lib/event/event.h"
#include "lib/event/section_rows.h"
#include "lib/stat/sketch.h"
#include "lib/world/late_names.h"

struct query_disk {
	struct view_disk row;
	struct sketch durations;
};
struct query_disk_file {
	uint64_t id, count, ns, max_ns;
};

/* Zero-initialised is empty. */
struct query_disks {
	VEC(struct query_disk) disks;
	VEC(struct query_disk_file) files;
	struct map file_by; /* id -> index */
};

/* Looks at block requests and waits for files. False: out of memory. */
bool query_disks_event(struct query_disks *d, const struct world *w, const struct event *ev,
		       const struct op_def *op);
/* disks and files of the view, emptied before. False: out of memory. */
bool query_disks_rows(const struct query_disks *d, const struct world *w,
		      const struct late_names *late_names, struct view *v);
void query_disks_free(struct query_disks *d);

#endif
