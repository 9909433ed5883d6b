/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UNCOVERED records: calls that processes made before probes were in place, or through libraries
 * that have none. A record is written in the turn in which the scan found it; those without an end
 * are repeated at the start of each file.
 */
#include "lib/record/recorder_internal.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/host/proc.h"

#define NOTICES_MAX  16	   /* lines for the person who records; the recording has them all */
#define REPEATED_MAX 65536 /* processes whose libraries have no probes; more are in one file only */

static const struct library_instance *copy_of(const struct recorder *r,
					      const struct probe_uncovered *u)
{
	size_t n;
	const struct library_instance *copies = library_instances_list(r->copies, &n);

	return u->file < n ? &copies[u->file] : NULL;
}

static const char *reason_of(const struct library_instance *copy)
{
	if (!copy)
		return "the process ended before its libraries could be read";
	if (copy->attached)
		return "it was loaded before the probes were in place";
	return copy->reason.code ? copy->reason.text : "it could not be probed";
}

static int write_record(struct recorder *r, const struct probe_uncovered *u, struct err *e)
{
	const struct library_instance *copy = copy_of(r, u);
	struct record rec = { .kind = RECORD_UNCOVERED };

	REC_SET(&rec, UNCOVERED, since_ns, u->since_ns);
	if (u->until_ns != PROBE_NEVER)
		REC_SET(&rec, UNCOVERED, until_ns, u->until_ns);
	REC_SET(&rec, UNCOVERED, process, u->process);
	if (copy) {
		REC_SET(&rec, UNCOVERED, layer, bytes_of(probe_layer(copy->plan.library)));
		REC_SET(&rec, UNCOVERED, path, bytes_of(copy->path));
	}
	REC_SET(&rec, UNCOVERED, reason, bytes_of(reason_of(copy)));
	if (u->from_start)
		REC_SET(&rec, UNCOVERED, from_start, 1);
	return ige_writer_record(r->writer, &rec, e);
}

/* Warns the user of calls that were not recorded. No warning for a library without any probe, whose
 * notice comes with the copy, nor for a process that has ended, as a child does that lives between
 * fork and exec while a program is attached to. */
static void notify_person(struct recorder *r, const struct probe_uncovered *u)
{
	const struct library_instance *copy = copy_of(r, u);

	if (!copy || u->until_ns == PROBE_NEVER || r->notices.uncovered_told >= NOTICES_MAX ||
	    host_proc_sight(u->tgid) == HOST_GONE)
		return;
	/* A process loads its libraries one after the other: one notice is enough. */
	if (u->tgid == r->notices.uncovered_last)
		return;
	r->notices.uncovered_last = u->tgid;
	r->notices.uncovered_told++;
	recorder_tell(r, RECORD_WARNING,
		      "process %u: its calls of %s%s are not recorded, if it made any: %s was "
		      "loaded before the probes were in place",
		      u->tgid, u->from_start ? "its first " : "",
		      fmt_ns((uint64_t)(u->until_ns - u->since_ns)).s, copy->path);
}

/* Whether the process is known. One that has ended becomes known by its exit, which follows. */
static bool is_known(struct recorder *r, const struct probe_uncovered *u)
{
	return map_get(&r->lives.processes, u->tgid, NULL) ||
	       host_proc_sight(u->tgid) != HOST_GONE || r->finished;
}

int recorder_say_uncovered(struct recorder *r, struct err *e)
{
	size_t n;
	const struct probe_uncovered *found = library_instances_uncovered(r->copies, &n);
	size_t later = 0;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		if (!vec_push(&r->uncovered.fresh, found[i]))
			return err_nomem(e);
	library_instances_uncovered_told(r->copies);
	for (size_t i = 0; i < r->uncovered.fresh.n && rc == 0; i++) {
		struct probe_uncovered *u = &r->uncovered.fresh.v[i];

		if (!is_known(r, u)) {
			r->uncovered.fresh.v[later++] = *u;
			continue;
		}
		u->process = recorder_process(r, u->tgid);
		rc = write_record(r, u, e);
		notify_person(r, u);
		if (u->until_ns == PROBE_NEVER && u->file != PROBE_NO_FILE &&
		    r->uncovered.v.n < REPEATED_MAX && !vec_push(&r->uncovered.v, *u))
			rc = err_nomem(e);
	}
	r->uncovered.fresh.n = later;
	return rc;
}

int recorder_repeat_uncovered(struct recorder *r, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < r->uncovered.v.n && rc == 0; i++)
		rc = write_record(r, &r->uncovered.v.v[i], e);
	return rc;
}

void recorder_forget_uncovered(struct recorder *r, const struct gone_processes *gone)
{
	size_t left = 0;

	for (size_t i = 0; i < r->uncovered.v.n; i++)
		if (!map_get(&gone->processes, r->uncovered.v.v[i].process, NULL))
			r->uncovered.v.v[left++] = r->uncovered.v.v[i];
	r->uncovered.v.n = left;
}
