/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that not every kernel takes, by source: block, memory, fault, file, tcp, oom (the second
 * word of a program's name). One whose tracepoint or function is not there, or that the kernel
 * refuses, is left out with the reason, and everything else is recorded. Part of the room that
 * knows libbpf.
 */
#ifndef INGERO_ATTACH_SESSION_OPTIONAL_H
#define INGERO_ATTACH_SESSION_OPTIONAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define PROBE_OPTIONAL_MAX 32 /* programs */

struct bpf_object;
struct bpf_program;

struct probe_optional {
	char name[40];
	bool attached,
		partly;	  /* partly: on some CPUs only, of those that are on, or at some places */
	char reason[200]; /* why not; "" it is, or has a stand-in that is */
	bool refused, stands_in;
	const char *form; /* "tracepoint", "fentry", "kprobe" ...; "" otherwise */
};
/* The one whose rate can be chosen. */
#define PROBE_OPTIONAL_SAMPLE "host_cpu_sample"

/* Zero-initialised knows of none. */
struct probe_optionals {
	struct probe_optional v[PROBE_OPTIONAL_MAX];
	size_t n;
	uint32_t cpu_hz;
};

/* What this kernel has no place for is not loaded. host: false: none of them is, but the one that
 * samples where cpu_hz is not 0: so often on each CPU. */
void probe_optional_choose(struct probe_optionals *o, struct bpf_object *obj, bool host,
			   uint32_t cpu_hz);

/* libbpf's words while loading: keep what they say about one of these programs. True: one more is
 * known to be refused, and loading again without it may work. */
void probe_optional_heard(struct probe_optionals *o, const char *words);
bool probe_optional_again(const struct probe_optionals *o, size_t *refused_before);

/* NULL: not one of these. */
struct probe_optional *probe_optional_of(struct probe_optionals *o, const struct bpf_program *p);

/* Up to ncpu links at links, or PROBE_OPTIONAL_LINKS where that is more, the caller's to destroy:
 * how many. What fails is in v. In the order of
 * the object: other ways to a place (NAME_kprobe, NAME_traced) are tried after the program NAME,
 * and where one is attached the next is not. */
#define PROBE_OPTIONAL_LINKS 3
struct bpf_link;
size_t probe_optional_attach(struct probe_optionals *o, struct probe_optional *v,
			     const struct bpf_program *p, struct bpf_link **links, size_t ncpu);

/* Why CPUs are not sampled although that was requested; NULL: they are, or it was not. Borrowed
 * from o. */
const char *probe_optional_unsampled(const struct probe_optionals *o);

/* Sum of one source, in order of first appearance; false: no more. reason: the first, "" none. */
struct probe_optional_source {
	char name[24];
	unsigned requested, attached;
	const char *reason;
	char forms[64]; /* of those that are attached, "tracepoint, kprobe" */
};
bool probe_optional_source(const struct probe_optionals *o, size_t i,
			   struct probe_optional_source *out);

#endif
