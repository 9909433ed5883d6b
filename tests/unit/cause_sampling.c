/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a finding advises to see where a process computes: to ask the recording's own CPU samples,
 * and only where it has none to record again with them.
 */
#include "lib/account/sampling.h"

#include "tests/tap.h"

#include "tests/unit/kinds.h"

#define STEP  (10 * MS)
#define STEPS 500

/* Steps of launches and a wait, and 2 ms of own code before the next: gpu-idle. */
static void steps(struct stage *s, struct actor v)
{
	for (int64_t t = 0; t < STEPS * STEP; t += STEP) {
		for (int64_t i = 0; i < 8; i++)
			stage_set(stage_call(s, v, OP_CUDA_LAUNCH, 0, t + i * 10 * US,
					     t + i * 10 * US + 5 * US),
				  COL_STREAM, 7);
		stage_offcpu(s, v, 1, t + 90 * US, t + 7 * MS, 0, 0);
		stage_set(stage_call(s, v, OP_CUDA_STREAM_SYNC, 0, t + 80 * US, t + 8 * MS),
			  COL_STREAM, 7);
	}
}

/* In that time it waits for an answer of another process, which may be recorded, too. */
static void asks_server(struct stage *s, struct actor v, bool recorded)
{
	struct actor server = stage_actor(s, 200, 200, 1, "serve");

	stage_socket(s, 5, "127.0.0.1:80");
	stage_peer(s, 5, 200, "serve");
	if (recorded)
		stage_offcpu(s, server, 0, 0, 1 * MS, 0, 0);
	for (int64_t t = 8 * MS; t < STEPS * STEP; t += STEP) {
		struct event *ev = stage_offcpu(s, v, 0, t + 100 * US, t + 1900 * US, 0, 0);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_SOCKET);
		stage_set(stage_event(s, OP_NET_SOCKET, v.ctx, 0, t + 100 * US, t + 1900 * US),
			  COL_SOCKET, 5);
	}
}

enum server { NO_SERVER, SERVER_OUTSIDE, SERVER_RECORDED };

static void advises_to(const char *name, int hz, enum server server, const char *command)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	struct record *r = stage_record(&s, RECORD_SESSION);
	struct kinds_run p;
	bool found = false;

	REC_SET(r, SESSION, start_ns, 0);
	if (hz >= 0)
		REC_SET(r, SESSION, cpu_samples_hz, (uint64_t)hz);
	steps(&s, v);
	if (server)
		asks_server(&s, v, server == SERVER_RECORDED);
	analyze(&s, &p);
	is_u64(p.list.v.n, 1, "%s: one finding", name);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		for (size_t k = 0; k < f->fixes.n; k++)
			found |= bytes_equal(f->fixes.v[k].command, bytes_of(command));
	}
	ok(found, "%s: \"%s\"", name, command);
	chain_list_free(&p.list);
	stage_free(&s);
}

int main(void)
{
	advises_to("samples", 99, NO_SERVER, "ingero-stat -e sample --by line -p 100 run.ige");
	advises_to("none, on purpose", 0, NO_SERVER,
		   "sudo ingero-record -F 99 -p 100 --duration 10s");
	advises_to("not said", -1, NO_SERVER, "sudo ingero-record -F 99 -p 100 --duration 10s");
	advises_to("a server", 99, SERVER_OUTSIDE, "sudo ingero-record -p 200 --duration 10s");
	advises_to("a server that is recorded", 99, SERVER_RECORDED,
		   "ingero-stat -e sample --by line -p 200 run.ige");
	return tap_done();
}
