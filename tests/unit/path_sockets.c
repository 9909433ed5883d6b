/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for sockets that a soft interrupt ended: which thread it came on top of is followed where
 * that one has sent, and is nobody where it was only interrupted.
 */
#include "tests/tap.h"

#include "lib/path/path.h"
#include "tests/unit/path_run.h"

enum ends { UNTOLD, LOOPBACK, OWN_ADDRESS, OWN_IPV6, FAR };
enum peer { NOBODY, SENDER, SOMEBODY, WAITER, TWO };

static const struct {
	const char *local, *remote;
} addresses[] = {
	[UNTOLD] = { NULL, NULL },
	[LOOPBACK] = { "127.0.0.1:80", "127.0.0.1:4000" },
	[OWN_ADDRESS] = { "192.0.2.1:80", "192.0.2.1:4000" },
	[OWN_IPV6] = { "[2001:db8::1]:80", "[2001:db8::1]:4000" },
	[FAR] = { "192.0.2.1:80", "192.0.2.2:80" },
};

static const struct sent_case {
	const char *name;
	bool followed;
	enum ends ends;
	enum peer peer;
	bool demand;  /* for somebody who asks; else for an answer */
	bool outside; /* the candidate is of no recorded process */
	bool untold;  /* there is no candidate: an older recording */
	unsigned kind;
	int64_t lost_ns; /* a segment was sent again then; 0: none was */
} cases[] = {
	{ .name = "loopback", .followed = true, .ends = LOOPBACK },
	{ .name = "the machine's own address", .followed = true, .ends = OWN_ADDRESS },
	{ .name = "and of IPv6", .followed = true, .ends = OWN_IPV6 },
	{ .name = "another machine's packet on top of a thread that sends", .ends = FAR },
	{ .name = "ends that are not told", .ends = UNTOLD },
	{ .name = "who has the other end", .followed = true, .ends = FAR, .peer = SENDER },
	{ .name = "not who has it", .ends = LOOPBACK, .peer = SOMEBODY },
	{ .name = "named is the waiter", .followed = true, .ends = LOOPBACK, .peer = WAITER },
	{ .name = "that one, of another machine", .ends = FAR, .peer = WAITER },
	{ .name = "two are named", .followed = true, .ends = LOOPBACK, .peer = TWO },
	{ .name = "two, and another machine's address", .ends = FAR, .peer = TWO },
	{ .name = "a request", .followed = true, .ends = LOOPBACK, .demand = true },
	{ .name = "of a process that is not recorded",
	  .ends = LOOPBACK,
	  .peer = SENDER,
	  .outside = true },
	{ .name = "no candidate", .ends = LOOPBACK, .peer = SENDER, .untold = true },
	{ .name = "a segment sent again meanwhile",
	  .followed = true,
	  .ends = LOOPBACK,
	  .lost_ns = 25 * MS },
	{ .name = "one sent again before", .followed = true, .ends = LOOPBACK, .lost_ns = 9 * MS },
	{ .name = "a wait for a disk", .ends = LOOPBACK, .peer = SENDER, .kind = OBJECT_DISK },
};

/* When it is told which socket the wait is for. */
enum told { BEFORE, BEHIND, READY_BEFORE, READY_BEHIND, TOLD };

static void tell_socket(struct path *p, const struct sent_case *k)
{
	const char *local = addresses[k->ends].local, *remote = addresses[k->ends].remote;

	if (path_socket(p, 1, k->demand, NULL) ||
	    (remote && path_socket_ends(p, 1, bytes_of(local), bytes_of(remote), NULL)) ||
	    ((k->peer == SENDER || k->peer == TWO) && path_peer(p, 1, 20, NULL)) ||
	    ((k->peer == SOMEBODY || k->peer == TWO) && path_peer(p, 1, 30, NULL)) ||
	    (k->peer == WAITER && path_peer(p, 1, 10, NULL)))
		abort();
}

static void give(struct path *p, const struct event *ev)
{
	if (path_event(p, ev, NULL))
		abort();
}

/* [10, 30) ms of main, which ends 2 ms after somebody acted. The other thread computes from 20 ms
 * on. */
static void wait_and_follow(const struct sent_case *k, enum told told)
{
	static const char *const when[] = { "before", "behind", "ready, before", "ready, behind" };
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 20, 20, 1, "send");
	struct path_parts parts;
	bool lossy = k->lost_ns > 10 * MS && told < READY_BEFORE, followed = k->followed && !lossy;
	struct event sleep, wait, net;
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	sleep = s.ev.v[0];
	wait = *stage_offcpu(&s, a, 0, 10 * MS, 30 * MS, 0, 0);
	stage_set(&wait, COL_OBJECT_KIND,
		  k->kind		 ? k->kind
		  : told >= READY_BEFORE ? OBJECT_POLL
					 : OBJECT_SOCKET);
	stage_set(&wait, COL_WAKER_KIND, WAKER_SOFTIRQ);
	stage_set(&wait, COL_WAKING_NS, 2 * MS);
	if (!k->untold)
		stage_set(&wait, COL_WAKER, b.thread);
	net = *stage_event(&s, OP_NET_SOCKET, a.ctx, 0, 10 * MS, 30 * MS);
	stage_set(&net, COL_SOCKET, 1);
	path_parts_init(&parts, s.w, NULL, NULL);
	t.path = parts.path;
	tell_socket(t.path, k);
	give(t.path, &sleep);
	if (k->outside) {
		struct event *ev = stage_event(&s, OP_SCHED_OUTSIDE, 0, 0, 0, 20 * MS);

		stage_set(ev, COL_RELEASER, b.thread);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		give(t.path, ev);
	} else {
		sleep_for(&s, b, 0, 20 * MS);
		give(t.path, &s.ev.v[s.ev.n - 1]);
	}
	if (k->lost_ns) {
		struct event *ev =
			stage_event(&s, OP_NET_RETRANSMIT, a.ctx, 0, k->lost_ns, k->lost_ns);

		stage_set(ev, COL_SOCKET, 1);
		give(t.path, ev);
	}
	if (told == BEFORE)
		give(t.path, &net);
	if (told == READY_BEFORE && path_ready(t.path, a.thread, 1, 30 * MS, NULL))
		abort();
	give(t.path, &wait);
	if (told == BEHIND)
		give(t.path, &net);
	if (told == READY_BEHIND && path_ready(t.path, a.thread, 1, 30 * MS, NULL))
		abort();
	if (path_finish(t.path, 100 * MS, NULL))
		abort();
	path_parts_of(&parts, a.thread);
	t.parts = parts;
	is_u64(ns_of(&t, PATH_OWN, b.thread) + ns_of(&t, PATH_SLEEP, b.thread),
	       followed ? 18 * MS : 0, "%s (%s): %s", k->name, when[told],
	       followed ? "is followed" : "is nobody's");
	is_u64(ns_of(&t, PATH_LOSSY, 0), lossy ? 18 * MS : 0, "%s",
	       lossy ? "the network's" : "no segment was lost");
	if (!followed && !k->kind && !lossy)
		is_u64(ns_of(&t, PATH_DEMAND, 0) + ns_of(&t, PATH_REPLY, 0),
		       k->untold ? 20 * MS : 18 * MS, "from outside, as before");
	is_u64(path_parts_ns(&parts.list), 100 * MS, "the sum is the life");
	outcome_free(&t);
	stage_free(&s);
}

/* main sends to a server of this machine and waits for its answer, while that waits to be asked,
 * from 10 to 20 ms: main's wait. What the server does then is the server's. */
static void under_way(bool asked)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     b = stage_actor(&s, 20, 20, 1, "serve");
	struct path_parts parts;
	struct outcome t;

	path_parts_init(&parts, s.w, NULL, NULL);
	t.path = parts.path;
	if (path_socket(t.path, 1, !asked, NULL) || path_socket(t.path, 2, true, NULL))
		abort();
	for (unsigned i = 0; i < 2; i++) {
		struct actor who = i ? a : b;
		int64_t from = i ? 10 * MS : 5 * MS, to = i ? 30 * MS : 20 * MS;
		struct event *ev;

		sleep_for(&s, who, 0, 1 * MS);
		give(t.path, &s.ev.v[s.ev.n - 1]);
		ev = stage_event(&s, OP_NET_SOCKET, who.ctx, 0, from, to);
		stage_set(ev, COL_SOCKET, i ? 1 : 2);
		give(t.path, ev);
		ev = stage_offcpu(&s, who, 0, from, to, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_SOCKET);
		stage_set(ev, COL_WAKER_KIND, i ? WAKER_TASK : WAKER_SOFTIRQ);
		if (i) {
			stage_set(ev, COL_WAKER, b.thread);
			stage_set(ev, COL_WAKING_NS, 0);
		}
		give(t.path, ev);
	}
	if (path_finish(t.path, 100 * MS, NULL))
		abort();
	path_parts_of(&parts, a.thread);
	t.parts = parts;
	is_u64(ns_of(&t, PATH_REPLY, 0), asked ? 10 * MS : 0, "an answer is waited for");
	is_u64(ns_of(&t, PATH_DEMAND, b.thread), asked ? 0 : 10 * MS,
	       asked ? "nobody who is asked waits for that" : "who is not asked may idle");
	is_u64(ns_of(&t, PATH_OWN, b.thread), 10 * MS, "then the server works");
	is_u64(path_parts_ns(&parts.list), 100 * MS, "the sum is the life");
	outcome_free(&t);
	stage_free(&s);
}

/* A wait in sendto, of either machine, or in recvfrom, on a socket that was accepted. */
static void sending(void)
{
	static const struct {
		const char *name;
		uint64_t number;
		enum path_class class;
	} rows[] = {
		{ "sendto of x86-64", 44, PATH_SEND },
		{ "sendto of arm64", 206, PATH_SEND },
		{ "recvfrom of x86-64", 45, PATH_DEMAND },
		{ "recvfrom of arm64", 207, PATH_DEMAND },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct segment wait = { .state = SEGMENT_BLOCKED,
					.object = OBJECT_SOCKET,
					.flags = SEGMENT_DEMAND,
					.syscall = (uint16_t)(rows[i].number + 1) };

		is_int(path_class_of(&wait), rows[i].class, "%s", rows[i].name);
	}
}

/* Of a blocked thread of its own the culprit is who ended that; of one that it waits for, whoever
 * continued it or was its child is not. */
static void ended_by(void)
{
	static const struct {
		unsigned object;
		uint32_t own, other;
	} all[] = { { OBJECT_CHILD, 3, 2 }, { OBJECT_STOP, 3, 2 }, { OBJECT_FD, 3, 3 } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct segment s = { .state = SEGMENT_BLOCKED,
					   .object = (uint8_t)all[i].object,
					   .who = 3 };
		enum path_class class = path_class_of(&s);

		is_u64(path_class_culprit(class, &s, 1, 1), all[i].own, "%s: its own",
		       path_class_text(class));
		is_u64(path_class_culprit(class, &s, 1, 2), all[i].other, "%s: another's",
		       path_class_text(class));
	}
}

int main(void)
{
	ended_by();
	under_way(true);
	under_way(false);
	sending();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned told = BEFORE; told < TOLD; told++)
			wait_and_follow(&cases[i], (enum told)told);
	}
	return tap_done();
}
