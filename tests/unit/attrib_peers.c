/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is named as the other end of a socket that a process waits for: the one process that has it,
 * and nobody where several do, or the waiting one itself.
 */
#include "lib/attrib/peers.h"
#include "tests/tap.h"
#include "tests/unit/events.h"

static const struct {
	const char *name, *told;
	struct {
		uint32_t pid;
		const char *comm;
	} peers[2];
} cases[] = {
	{ "nobody", " to 192.0.2.7:6379", { { 0 } } },
	{ "one", " to 192.0.2.7:6379 (redis, pid 812)", { { 812, "redis" } } },
	{ "twice the same",
	  " to 192.0.2.7:6379 (redis, pid 812)",
	  { { 812, "redis" }, { 812, "redis" } } },
	{ "two of one command", " to 192.0.2.7:6379 (api)", { { 812, "api" }, { 813, "api" } } },
	{ "two commands",
	  " to 192.0.2.7:6379 (several processes)",
	  { { 812, "api" }, { 813, "proxy" } } },
	{ "the waiting process", " to 192.0.2.7:6379", { { 100, "train" } } },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stage s = stage_new();
		struct actor v = stage_actor(&s, 100, 100, 1, "train");
		struct cause_peers p = { 0 };
		struct event *ev = stage_event(&s, OP_NET_SOCKET, v.ctx, 0, 0, 1 * MS);
		struct buf text = { 0 };
		uint32_t pid = 0, process = world_ctx_process_id(s.w, v.ctx), frame;
		bool one = strstr(cases[i].told, "pid 812") != NULL;

		stage_set(ev, COL_SOCKET, 5);
		stage_socket(&s, 5, "192.0.2.7:6379");
		for (unsigned k = 0; k < 2; k++) {
			if (cases[i].peers[k].pid)
				stage_peer(&s, 5, cases[i].peers[k].pid, cases[i].peers[k].comm);
		}
		for (size_t k = 0; k < s.rec.n; k++) {
			if (!cause_peers_record(&p, &s.rec.v[k]))
				abort();
		}
		if (!cause_peers_event(&p, s.w, ev))
			abort();
		frame = site_frames_get(&p.frames, s.w, ev->stack);
		cause_peers_text(&p, process, frame, &text);
		is_str(buf_text(&text), cases[i].told, "%s", cases[i].name);
		cause_peers_top(&p, process, frame, &pid);
		is_u64(pid, one ? 812 : 0, "%s", one ? "whose number is told" : "no number");
		buf_free(&text);
		cause_peers_free(&p);
		stage_free(&s);
	}
	return tap_done();
}
