/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording without probes: the machine, its GPUs, the processes and where they belong, once a
 * second. Needs no right that the person who records does not have; holds no calls.
 */
#include "lib/record/recorder_internal.h"

#include <poll.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/host/clock.h"
#include "lib/host/proc.h"

#define TURN_MS	  50
#define SECOND_NS 1000000000

static void on_came(void *ctx, uint32_t tgid)
{
	struct recorder *r = ctx;
	uint32_t process = recorder_process(r, tgid);
	int64_t now = host_clock_mono();

	if (r->event_error.code || !process)
		return;
	map_put(&r->lives.processes, tgid, process);
	record_samples_process(&r->samples, tgid, process);
	metadata_write_place(r->writer, r->world, now, tgid, process, &r->kubelet.pods,
			     &r->event_error);
}

/* Writes a new name for each process whose name has changed, as by exec. */
static void write_renames(struct recorder *r, int64_t now)
{
	uint64_t tgid, process, before;
	size_t at = 0;

	while (!r->event_error.code && map_each(&r->lives.processes, &at, &tgid, &process)) {
		struct err ignored = { 0 };
		struct host_process p;
		uint64_t comm;

		if (host_proc_read((uint32_t)tgid, &p, &ignored) != 0)
			continue;
		comm = hash_bytes(p.comm, strlen(p.comm), 0);
		if (map_get(&r->lives.comms, process, &before) && before == comm)
			continue;
		if (map_put(&r->lives.comms, process, comm))
			metadata_write_name(r->writer, r->world, now, (uint32_t)tgid,
					    (uint32_t)process, &r->event_error);
	}
}

static void on_gone(void *ctx, uint32_t tgid)
{
	struct recorder *r = ctx;
	uint64_t process;

	record_samples_exit(&r->samples, tgid);
	if (map_get(&r->lives.processes, tgid, &process))
		map_del(&r->lives.comms, process);
	map_del(&r->lives.processes, tgid);
}

int recorder_look(struct recorder *r, struct err *e)
{
	int rc = record_watch_look(&r->watch, &r->opt.targets, on_came, on_gone, r, e);

	if (rc == 0)
		write_renames(r, host_clock_mono());
	if (rc == 0 && r->event_error.code)
		*e = r->event_error;
	return rc ? rc : r->event_error.code;
}

int recorder_idle(struct recorder *r, struct err *e)
{
	int64_t now;

	poll(NULL, 0, TURN_MS);
	now = host_clock_mono();
	r->watermark = r->floor = now - RECORD_LAG_NS;
	return now >= r->next_second ? recorder_look(r, e) : 0;
}
