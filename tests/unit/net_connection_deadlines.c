/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes room where more are connected than may stay: a crowd from one address before the rest,
 * who is known last.
 */
#include "tests/tap.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/net/connection_deadlines.h"
#include "lib/net/request.h"

#define MOST  20
#define PEERS 128

struct peer {
	int fd, accepted;
	struct net_watched *watched;
};

struct crowd {
	struct net_watch *w;
	int listening;
	struct sockaddr_in at;
	unsigned n;
	struct peer v[PEERS];
};

/* A network of this process alone, in which 198.51.100.0/24 (RFC 5737) is this machine's. */
static bool enter_network(void)
{
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP }, named = { .ifr_name = "lo:1" },
		     mask = { .ifr_name = "lo:1" };
	int fd;
	bool done;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	named.ifr_addr.sa_family = mask.ifr_netmask.sa_family = AF_INET;
	inet_pton(AF_INET, "198.51.100.1", &((struct sockaddr_in *)&named.ifr_addr)->sin_addr);
	inet_pton(AF_INET, "255.255.255.0", &((struct sockaddr_in *)&mask.ifr_netmask)->sin_addr);
	done = fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &up) && !ioctl(fd, SIOCSIFADDR, &named) &&
	       !ioctl(fd, SIOCSIFNETMASK, &mask);
	close(fd);
	return done;
}

static void open_crowd(struct crowd *c, const char *address)
{
	socklen_t n = sizeof(c->at);
	struct err e = { 0 };

	*c = (struct crowd){ .at.sin_family = AF_INET };
	inet_pton(AF_INET, address, &c->at.sin_addr);
	c->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(c->listening, (struct sockaddr *)&c->at, sizeof(c->at)) ||
	    listen(c->listening, PEERS) ||
	    getsockname(c->listening, (struct sockaddr *)&c->at, &n) || net_watch_new(&c->w, &e))
		abort();
}

static void close_crowd(struct crowd *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		net_watch_end(c->w, c->v[i].watched);
		close(c->v[i].fd);
		close(c->v[i].accepted);
	}
	net_watch_free(c->w);
	close(c->listening);
}

static void come(struct crowd *c, const char *from, unsigned many)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	inet_pton(AF_INET, from, &at.sin_addr);
	for (; many; many--) {
		struct peer *p = &c->v[c->n++];

		p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (bind(p->fd, (struct sockaddr *)&at, sizeof(at)) ||
		    connect(p->fd, (struct sockaddr *)&c->at, sizeof(c->at)))
			abort();
		p->accepted = accept(c->listening, NULL, NULL);
		p->watched = net_watch_add(c->w, p->accepted);
		net_watch_until(c->w, p->watched, net_now() + INT64_C(3600000000000));
		net_watch_make_room(c->w, MOST);
	}
}

static bool is_gone(const struct crowd *c, unsigned i)
{
	struct pollfd p = { .fd = c->v[i].fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static unsigned count_gone(const struct crowd *c, unsigned from, unsigned to)
{
	unsigned n = 0;

	for (unsigned i = from; i < to; i++)
		n += is_gone(c, i);
	return n;
}

static void of_a_network(void)
{
	struct crowd c;

	open_crowd(&c, "198.51.100.1");
	come(&c, "198.51.100.2", 3);
	come(&c, "198.51.100.3", 40);
	is_int(count_gone(&c, 0, 3), 0, "who came before a crowd stays");
	is_int(count_gone(&c, 3, 43), 23, "the crowd makes room");
	is_int(count_gone(&c, 3, 26), 23, "its oldest first");
	come(&c, "198.51.100.4", 6);
	is_int(count_gone(&c, 0, 3) + count_gone(&c, 43, 49), 0, "who comes later stays, too");
	is_int(count_gone(&c, 3, 43), 29, "and the crowd makes room for them");
	close_crowd(&c);
}

static void of_this_machine(void)
{
	struct crowd c;

	open_crowd(&c, "127.0.0.1");
	come(&c, "127.0.0.1", 2);
	net_watch_known(c.w, c.v[0].watched);
	come(&c, "127.0.0.1", NET_WATCH_SPARE * MOST - 2);
	is_int(count_gone(&c, 0, c.n), 0, "of this machine many may greet");
	come(&c, "127.0.0.1", 3);
	is_int(count_gone(&c, 1, 4), 3, "of more than that the oldest make room");
	is_int(is_gone(&c, 0), 0, "not who is known");
	close_crowd(&c);

	open_crowd(&c, "127.0.0.1");
	come(&c, "127.0.0.1", MOST);
	for (unsigned i = 0; i < MOST; i++)
		net_watch_known(c.w, c.v[i].watched);
	net_watch_until(c.w, c.v[0].watched, INT64_MAX);
	come(&c, "127.0.0.1", 1);
	is_int(count_gone(&c, 0, c.n), 0, "a stranger has a second");
	net_watch_known(c.w, c.v[MOST].watched);
	net_watch_make_room(c.w, MOST);
	ok(is_gone(&c, 1) && count_gone(&c, 0, c.n) == 1,
	   "of those that are known the oldest that waits makes room");
	close_crowd(&c);
}

int main(void)
{
	of_this_machine();
	if (enter_network())
		of_a_network();
	else
		skip("no network of one's own here");
	return tap_done();
}
