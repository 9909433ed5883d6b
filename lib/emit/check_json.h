/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ingero-check found out, as a value and as the JSON of formats/check.schema.json.
 */
#ifndef INGERO_EMIT_CHECK_JSON_H
#define INGERO_EMIT_CHECK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/verdict.h"

struct check_library {
	const char *kind; /* "runtime", "driver" */
	char *path;	  /* owned */
	char build_id[65];
	uint32_t pid; /* a process that has it mapped; 0: found on disk only */
	bool planned; /* what follows is known */
	unsigned requested, found, places;
	char sites[24]; /* "+10" */
	/* A vec of names, borrowed. */
	struct {
		const char **v;
		size_t n, cap;
	} missing;
};

/* A Python runtime. */
struct check_python {
	char *path;		   /* owned */
	char version[40], why[96]; /* why: "" when its frames are known */
	uint32_t pid;		   /* a process that has it mapped; 0: found on disk only */
};

struct check_report {
	const char *hostname, *kernel, *arch, *hypervisor; /* borrowed; the last may be "" */
	uint32_t cpus;
	uint64_t memory_bytes;
	const char *links[4]; /* kinds that load, ended by NULL; cheapest first */
	bool links_tried;
	struct verdicts lines;
	const char *lockdown;	/* mode, NULL unknown */
	const char *gpu_driver; /* "" unknown; borrowed */
	unsigned gpus;
	const char *gpu_name[8], *gpu_uuid[8]; /* of the first ngpu_names; borrowed */
	unsigned ngpu_names;
	/* Vecs. */
	struct {
		struct check_library *v;
		size_t n, cap;
	} libraries;
	struct {
		struct check_python *v;
		size_t n, cap;
	} pythons;
};

/* For people. quiet: only what is not well. color: as a terminal takes it. */
void check_text(const struct check_report *r, struct buf *out, bool quiet, bool color);

/* One JSON value and a newline. */
void check_json(const struct check_report *r, struct buf *out);

void check_report_free(struct check_report *r);

#endif
