/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a process waited for, and what they are: the evidence that names a stalled file
 * system. The first CAUSE_FILES files are kept apart; others are not named.
 */
#ifndef INGERO_ATTRIB_FILES_H
#define INGERO_ATTRIB_FILES_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

#define CAUSE_FILES 65536

/* What it waited in: reads, writes, waits for what was written; neither: opening it, asking for its
 * state. */
enum cause_file_way {
	CAUSE_FILE_READS,
	CAUSE_FILE_WRITES,
	CAUSE_FILE_SYNCS,
	CAUSE_FILE_OPENS,
	CAUSE_FILE_WAYS
};

struct cause_file {
	uint32_t process;
	uint64_t id;
	uint64_t ns[CAUSE_FILE_WAYS];
	uint64_t waits;
	uint64_t fault_ns; /* waited for pages of it that were mapped */
};
struct cause_file_name {
	char *text; /* "/mnt/nfs/x (nfs4, server:/export)" */
	bool has_device;
	uint32_t device;
};

/* Zero-initialised is empty. */
struct cause_files {
	struct map by, names; /* hash of process and id -> index; id -> index + 1 */
	VEC(struct cause_file) v;
	VEC(struct cause_file_name) name;
};

/* An IO_FILE or MEM_FAULT event; a FILE record. Both false: out of memory. */
bool cause_files_event(struct cause_files *f, const struct world *w, const struct event *ev);
bool cause_files_record(struct cause_files *f, const struct record *r);

/* The file the process waited for longest, on that device (0: any): its name, and how long by kind.
 * NULL: none known. */
const char *cause_files_top(const struct cause_files *f, uint32_t process, uint64_t device,
			    const uint64_t **ns);
/* The same of pages of mapped files. */
const char *cause_files_mapped(const struct cause_files *f, uint32_t process);

void cause_files_free(struct cause_files *f);

#endif
