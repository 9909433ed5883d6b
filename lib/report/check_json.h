/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ingero-check found out, as a value and as the JSON of formats/check.schema.json.
 */
#ifndef INGERO_REPORT_CHECK_JSON_H
#define INGERO_REPORT_CHECK_JSON_H

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

/* A process that uses CUDA. */
struct check_process {
	uint32_t pid, uid; /* effective */
	char *name, *user; /* owned; user: NULL unknown */
	/* A vec of the CUDA libraries it has mapped. */
	struct {
		struct check_mapped {
			const char *kind; /* "runtime", "driver", "nccl", "nvml" */
			char *path;	  /* owned; as the process sees it */
		} * v;
		size_t n, cap;
	} libraries;
};

struct check_gpu {
	const char *name, *uuid; /* borrowed; "" unknown */
	bool memory_known;
	uint64_t memory_used, memory_total; /* bytes */
};

/* Programs of one source that not every kernel takes. */
struct check_source {
	const char *name; /* "block", "file" ... */
	unsigned requested, attached;
	const char *hooks;  /* kinds of those that are attached, "tracepoint, kprobe" */
	const char *reason; /* why not all of them are; "" they are */
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
	const char *gpu_module; /* "open", "proprietary"; NULL unknown */
	unsigned gpus;
	struct check_gpu gpu[8]; /* the first ngpu_named */
	unsigned ngpu_named;
	/* Vecs. */
	struct {
		struct check_source *v;
		size_t n, cap;
	} sources; /* tried with links; else empty */
	struct {
		struct check_process *v;
		size_t n, cap;
	} processes;
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

void check_process_free(struct check_process *p);
void check_report_free(struct check_report *r);

#endif
