/* SPDX-License-Identifier: Apache-2.0 */
/* Waits grow and are not spread at random: there is one sender, at its own pace. */
#include "lib/net/push.h"

#include <time.h>

#define SLICE_NS 50000000 /* how late an interrupt may be noticed */

static bool is_worth_retrying(unsigned status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

static int pause_for(uint64_t ns, bool (*interrupted)(void), struct err *e)
{
	while (ns) {
		uint64_t now = ns < SLICE_NS ? ns : SLICE_NS;
		struct timespec t = { 0, (long)now };

		nanosleep(&t, NULL);
		ns -= now;
		if (interrupted && interrupted())
			return err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	return 0;
}

/* Sets the error to the receiver's answer, shortened to one line. */
static int set_refused(const char *url, const struct net_answer *a, struct err *e)
{
	size_t n = 0;

	while (n < a->body.n && n < 200 && (unsigned char)a->body.p[n] >= ' ')
		n++;
	return err_set(e, ERR_CANNOT, "%s: HTTP status %u%s%.*s", url, a->status, n ? ": " : "",
		       (int)n, n ? a->body.p : "");
}

int net_push(struct net_client *c, const struct net_push_options *opt, const char *url,
	     const char *type, struct bytes body, struct err *e)
{
	unsigned tries = opt->tries ? opt->tries : 5;
	uint64_t wait = opt->wait_ns ? opt->wait_ns : 1000000000,
		 longest = opt->wait_max_ns ? opt->wait_max_ns : UINT64_C(30000000000);

	for (unsigned i = 1;; i++) {
		struct net_answer answer;
		uint64_t asked = 0;
		int rc = net_client_send(c, url, type, body, &answer, e);
		bool worth = rc == ERR_CANNOT;

		if (!rc) {
			if (answer.status >= 200 && answer.status < 300) {
				rc = opt->taken ? opt->taken(opt->ctx, buf_bytes(&answer.body), e)
						: 0;
				net_answer_free(&answer);
				return rc;
			}
			worth = is_worth_retrying(answer.status);
			asked = answer.retry_after_ns;
			rc = set_refused(url, &answer, e);
			net_answer_free(&answer);
		}
		if (!worth || i >= tries)
			return rc;
		asked = asked > wait ? asked : wait;
		asked = asked < longest ? asked : longest;
		if (opt->waiting)
			opt->waiting(e->text, asked);
		if (pause_for(asked, opt->interrupted, e))
			return ERR_INTERRUPTED;
		wait = wait < longest / 2 ? wait * 2 : longest;
	}
}
