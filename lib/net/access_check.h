/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access control by the headers of a request: the host name it uses for this machine, the page that
 * sent it, and the token. They reveal a foreign page whose own name resolves to this machine (DNS
 * rebinding).
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

/* 0: access is granted. Else the status to answer with, and in *why a sentence. */
unsigned net_access_check_ask(const struct net_access_check *g, const struct net_asking *a,
			      const char **why);

/* "NAME", "NAME:8080", "[::1]:8080": whether NAME is allowed. */
bool net_access_check_host(const struct net_access_check *g, const char *host, const char *here);

/* Takes as long wherever two texts of one length differ. */
bool net_access_check_same(const char *secret, const char *given);

#endif
