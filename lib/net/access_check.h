/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is let in, by what a request says of itself: by which name it calls this machine, from which
 * page it was sent, and whether it has the token. A page elsewhere that makes its own name lead
 * here is told by these.
 */
#ifndef INGERO_NET_ACCESS_CHECK_H
#define INGERO_NET_ACCESS_CHECK_H

#include <stdbool.h>

#include "lib/net/server.h"

/* NULL: not there. */
struct net_asking {
	const char *path, *host, *origin, *site, *mode,
		*authorization; /* headers; site, mode: Sec-Fetch-… */
	const char *here;	/* the address the request came to: "192.0.2.7", "::1" */
	unsigned nhosts;	/* how many Host headers it has */
};

/* 0: come in. Else the status to answer with, and in *why a sentence. */
unsigned net_access_check_ask(const struct net_access_check *g, const struct net_asking *a,
			      const char **why);

/* "NAME", "NAME:8080", "[::1]:8080": whether NAME is let in. */
bool net_access_check_host(const struct net_access_check *g, const char *host, const char *here);

/* Takes as long wherever two texts of one length differ. */
bool net_access_check_same(const char *secret, const char *given);

#endif
