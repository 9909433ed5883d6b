/* SPDX-License-Identifier: Apache-2.0 */
/* In builds without GnuTLS: every use says so. */
#include "lib/net/cert_tls.h"

#include <stddef.h>

static const char *const without =
	"built without GnuTLS (make deps, then make): only plain HTTP (--no-tls) is possible";

int net_cert_make(struct net_cert **out, const char *const *hosts,
		  void (*renewed)(const char *fingerprint), struct err *e)
{
	(void)hosts;
	(void)renewed;
	*out = NULL;
	return err_set(e, ERR_CANNOT, "%s", without);
}

int net_cert_load(struct net_cert **out, const char *cert_file, const char *key_file, struct err *e)
{
	(void)key_file;
	*out = NULL;
	return err_set(e, ERR_CANNOT, "%s: %s", cert_file, without);
}

void net_cert_fingerprint(struct net_cert *c, char out[NET_FINGERPRINT_SIZE])
{
	(void)c;
	*out = 0;
}

int64_t net_cert_ends(struct net_cert *c)
{
	(void)c;
	return 0;
}

void net_cert_free(struct net_cert *c)
{
	(void)c;
}

int net_cert_renew(struct net_cert *c, struct err *e)
{
	(void)c;
	return err_set(e, ERR_CANNOT, "%s", without);
}

void (*net_cert_callback(void))(void)
{
	return NULL;
}

int net_cert_show(struct net_cert *c, struct err *e)
{
	(void)c;
	return err_set(e, ERR_CANNOT, "%s", without);
}

void net_cert_hide(struct net_cert *c)
{
	(void)c;
}
