/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the host, origin and token of requests. A foreign page cannot choose an address, so that
 * the one a request came to is allowed; names can be anybody's. */
#include "lib/net/access_check.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool net_access_check_same(const char *secret, const char *given)
{
	size_t n = strlen(given), m = strlen(secret);
	unsigned char differs = n != m;

	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(given[i] ^ secret[m ? i % m : 0]);
	return !differs;
}

/* The name in "NAME:PORT"; false when it is of no such form. */
static bool name_of(const char *host, char *out, size_t size)
{
	size_t n;

	if (*host == '[') {
		n = strcspn(++host, "]");
		if (host[n] != ']' || (host[n + 1] && host[n + 1] != ':'))
			return false;
		n += n && host[n + 1] == ':' && host[n + 2 + strspn(host + n + 2, "0123456789")]
			     ? size
			     : 0;
	} else {
		n = strcspn(host, ":");
		if (host[n] && host[n + 1 + strspn(host + n + 1, "0123456789")])
			return false;
		if (n && host[n - 1] == '.')
			n--;
	}
	if (!n || n >= size)
		return false;
	snprintf(out, size, "%.*s", (int)n, host);
	return true;
}

/* An address as 16 bytes, those of IPv4 as IPv6 has them. Of which link it is ("fe80::1%eth0") is
 * each machine's own matter. */
static bool address_of(const char *text, unsigned char out[16])
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	char plain[INET6_ADDRSTRLEN];
	size_t n = strcspn(text, "%");

	if (strchr(text, ':') && n < sizeof(plain)) {
		snprintf(plain, sizeof(plain), "%.*s", (int)n, text);
		text = plain;
	}
	if (inet_pton(AF_INET6, text, out) == 1)
		return true;
	memcpy(out, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, out + 12) == 1;
}

static bool is_loopback(const unsigned char a[16])
{
	static const unsigned char one[16] = { [15] = 1 },
				   v4[13] = { [10] = 0xff, [11] = 0xff, [12] = 127 };

	return !memcmp(a, one, sizeof(one)) || !memcmp(a, v4, sizeof(v4));
}

/* allowed: "NAME", "NAME:PORT", and addresses with brackets or without. */
static bool is_allowed(const char *allowed, const char *name, const unsigned char *asked)
{
	unsigned char address[16];
	char plain[256];

	if (name_of(allowed, plain, sizeof(plain)))
		allowed = plain;
	return !strcasecmp(name, allowed) ||
	       (asked && address_of(allowed, address) && !memcmp(asked, address, sizeof(address)));
}

bool net_access_check_host(const struct net_access_check *g, const char *host, const char *here)
{
	unsigned char asked[16], own[16];
	char name[256];
	bool address;

	if (!name_of(host, name, sizeof(name)))
		return false;
	if (!strcasecmp(name, "localhost"))
		return true;
	address = address_of(name, asked);
	for (const char *const *h = g->hosts; h && *h; h++)
		if (is_allowed(*h, name, address ? asked : NULL))
			return true;
	return address && (is_loopback(asked) ||
			   (here && address_of(here, own) && !memcmp(asked, own, sizeof(own))));
}

static bool origin_known(const struct net_access_check *g, const char *origin, const char *here)
{
	const char *host = strstr(origin, "://");

	return host && host[3] && net_access_check_host(g, host + 3, here);
}

static bool token_known(const struct net_access_check *g, const char *authorization)
{
	const char *given;

	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
		return false;
	given = authorization + 7;
	return net_access_check_same(g->token, given + strspn(given, " "));
}

unsigned net_access_check_ask(const struct net_access_check *g, const struct net_asking *a,
			      const char **why)
{
	bool needed = g->token;

	if (a->nhosts > 1) {
		*why = "more than one Host";
		return 400;
	}
	if (!a->host || !net_access_check_host(g, a->host, a->here)) {
		*why = "this server is not called so (--allow-host adds names)";
		return 403;
	}
	if ((a->origin && !origin_known(g, a->origin, a->here)) ||
	    (a->site && !strcmp(a->site, "cross-site") &&
	     (!a->mode || strcmp(a->mode, "navigate")))) {
		*why = "pages of other servers may not ask (--allow-host adds names)";
		return 403;
	}
	for (const char *const *p = g->open; p && *p; p++)
		needed = needed && strcmp(a->path, *p) != 0;
	if (needed && !token_known(g, a->authorization)) {
		*why = "a token is needed: Authorization: Bearer TOKEN";
		return 401;
	}
	return 0;
}
