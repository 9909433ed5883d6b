/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a peer has left, asked by who works on its answer: noticed soon, and not looked at each
 * time. */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/net/request.h"
#include "tests/tap.h"

#define TIMES	100000
#define LATE_NS INT64_C(10000000000)

static unsigned looked;

int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	looked++;
	return __real_poll(fds, n, timeout_ms);
}

static void drop(int fds[2], struct net_request *q)
{
	close(fds[0]);
	net_request_drop(q);
}

int main(void)
{
	struct net_requests all = { .streams_max = 1 };
	struct net_call call = { .method = "GET" };
	unsigned gone = 0;
	int64_t from;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) ||
	    !(call.request = net_request_new(&all, fds[0], "GET", "/")))
		abort();
	from = net_now();
	for (unsigned i = 0; i < TIMES; i++)
		gone += net_call_gone(&call);
	is_u64(gone, 0, "who is there is not gone");
	ok(looked > 0 && looked <= (net_now() - from) / 10000000 + 2,
	   "looked at now and then: %u times", looked);
	close(fds[1]);
	from = net_now();
	while (!net_call_gone(&call) && net_now() - from < LATE_NS)
		;
	ok(net_call_gone(&call), "who left is noticed");
	ok(net_call_gone(&call) && net_call_wait(&call, 0), "and stays away");
	drop(fds, call.request);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) ||
	    !(call.request = net_request_new(&all, fds[0], "GET", "/")))
		abort();
	ok(!net_call_gone(&call), "another one");
	atomic_store(&all.stopping, true);
	ok(net_call_gone(&call), "that the server stops is noticed at once");
	close(fds[1]);
	drop(fds, call.request);
	return tap_done();
}
