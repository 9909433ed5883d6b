/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server's own certificate over days: the clock of this program is what it says (the linker wraps
 * time), and who opens a connection is stood for by the function that a handshake calls.
 */
#include <string.h>
#include <time.h>

#include "lib/net/cert_tls.h"
#include "tests/tap.h"

#define HOUR 3600

static time_t now_s = 1790000000;
static unsigned renewals;
static char told[NET_FINGERPRINT_SIZE];

time_t __wrap_time(time_t *t);
time_t __wrap_time(time_t *t)
{
	if (t)
		*t = now_s;
	return now_s;
}

static void renewed(const char *fingerprint)
{
	renewals++;
	snprintf(told, sizeof(told), "%s", fingerprint);
}

/* As GnuTLS calls it; what it gives back is GnuTLS' own. NULL: it gave nothing. */
static void *handshake(void)
{
	int (*ask)(void *session, const void *issuers, int nissuers, const void *algorithms,
		   int nalgorithms, void **chain, unsigned *n, void **key) =
		(int (*)(void *, const void *, int, const void *, int, void **, unsigned *,
			 void **))net_cert_callback();
	void *chain = NULL, *key = NULL;
	unsigned n = 0;

	return ask(NULL, NULL, 0, NULL, 0, &chain, &n, &key) == 0 && n == 1 && key ? chain : NULL;
}

int main(void)
{
	char first[NET_FINGERPRINT_SIZE], second[NET_FINGERPRINT_SIZE];
	struct net_cert *c = NULL, *other = NULL;
	time_t began = now_s;
	void *chain;
	struct err e;

	if (net_cert_make(&c, NULL, renewed, &e))
		return tap_skip_all("optional: built without GnuTLS");
	net_cert_fingerprint(c, first);
	ok(net_cert_ends(c) > began + 23 * HOUR && net_cert_ends(c) <= began + 24 * HOUR,
	   "it holds for a day");
	ok(!handshake(), "what nobody shows is not shown");
	is_int(net_cert_show(c, &e), 0, "shown");
	is_int(net_cert_make(&other, NULL, NULL, &e), 0, "another one");
	is_int(net_cert_show(other, &e), ERR_CANNOT, "not both");
	chain = handshake();
	ok(chain != NULL, "who comes now sees it");
	now_s = (time_t)net_cert_ends(c) - HOUR;
	ok(handshake() == chain, "the same with an hour left");
	is_u64(renewals, 0, "nobody was told of another one");
	now_s++;
	ok(handshake() && handshake() != chain, "later than that another one is shown");
	is_u64(renewals, 1, "which was told once");
	net_cert_fingerprint(c, second);
	ok(strcmp(first, second) != 0 && !strcmp(second, told), "with its fingerprint");
	ok(net_cert_ends(c) > now_s + 23 * HOUR, "it holds for another day");
	for (unsigned day = 0; day < 3; day++) {
		now_s += 23 * HOUR + HOUR / 2;
		ok(handshake() && net_cert_ends(c) > now_s + 23 * HOUR, "and so on");
	}
	is_u64(renewals, 4, "each was told");
	now_s += 1000 * HOUR;
	ok(handshake() && net_cert_ends(c) > now_s, "after a pause of weeks, too");
	net_cert_hide(c);
	ok(!handshake(), "hidden");
	net_cert_free(c);
	net_cert_free(other);
	return tap_done();
}
