/* SPDX-License-Identifier: Apache-2.0 */
/* Makes or loads the certificate of a server, and renews its own. A handshake in progress may still
 * use the previous certificate, which is kept until the next renewal. */
#include "lib/net/cert_tls.h"

#include <arpa/inet.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/io.h"
#include "lib/base/timetext.h"

#define LIVES_S	     86400
#define BEFORE_S     3600 /* that long before its end another one takes its place */
#define EARLIER_S    300  /* clocks of others may be so much behind */
#define CHAIN_MAX    16
#define FILE_MAX     1048576
#define KEY_ID_BYTES 64

/* What is shown. */
struct shown {
	gnutls_pcert_st chain[CHAIN_MAX];
	unsigned n;
};

struct net_cert {
	pthread_mutex_t lock;
	gnutls_privkey_t key;
	struct shown *now, *before;
	int64_t ends;
	char fingerprint[NET_FINGERPRINT_SIZE];
	char **hosts; /* of our own making; ended by NULL */
	size_t nhosts;
	bool own;
	void (*renewed)(const char *fingerprint);
};

static pthread_mutex_t showing = PTHREAD_MUTEX_INITIALIZER;
static struct net_cert *current;

static int set_error(struct err *e, int code, const char *what)
{
	return err_set(e, ERR_CANNOT, "%s: %s", what, gnutls_strerror(code));
}

static void shown_free(struct shown *s)
{
	for (unsigned i = 0; s && i < s->n; i++)
		gnutls_pcert_deinit(&s->chain[i]);
	free(s);
}

/* Takes the place of what is shown. */
static int show_chain(struct net_cert *c, gnutls_x509_crt_t *crts, unsigned n, struct err *e)
{
	struct shown *s = calloc(1, sizeof(*s));
	unsigned char hash[32];
	size_t size = sizeof(hash);
	int code = 0;

	if (!s)
		return err_nomem(e);
	for (; s->n < n && code >= 0; s->n += code >= 0)
		code = gnutls_pcert_import_x509(&s->chain[s->n], crts[s->n], 0);
	if (code >= 0)
		code = gnutls_x509_crt_get_fingerprint(crts[0], GNUTLS_DIG_SHA256, hash, &size);
	if (code < 0) {
		shown_free(s);
		return set_error(e, code, "certificate");
	}
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(c->fingerprint + 3 * i, 4, "%02X%s", hash[i],
			 i + 1 < sizeof(hash) ? ":" : "");
	c->ends = gnutls_x509_crt_get_expiration_time(crts[0]);
	shown_free(c->before);
	c->before = c->now;
	c->now = s;
	return 0;
}

static int name_it(gnutls_x509_crt_t crt, const char *host)
{
	unsigned char address[16];
	size_t n = inet_pton(AF_INET, host, address) == 1    ? 4
		   : inet_pton(AF_INET6, host, address) == 1 ? 16
							     : 0;

	return n ? gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address,
							(unsigned)n, GNUTLS_FSAN_APPEND)
		 : gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, host,
							(unsigned)strlen(host), GNUTLS_FSAN_APPEND);
}

static int fill_in(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, char *const *hosts)
{
	static const char *const here[] = { "localhost", "127.0.0.1", "::1" };
	unsigned char serial[16], id[KEY_ID_BYTES];
	size_t id_size = sizeof(id);
	time_t now = time(NULL);
	int code = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

	serial[0] = (serial[0] & 0x7f) | 1; /* positive, and no leading zeros */
	code = code < 0 ? code : gnutls_x509_crt_set_version(crt, 3);
	code = code < 0 ? code : gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
	code = code < 0 ? code : gnutls_x509_crt_set_activation_time(crt, now - EARLIER_S);
	code = code < 0 ? code
			: gnutls_x509_crt_set_expiration_time(crt, now - EARLIER_S + LIVES_S);
	code = code < 0 ? code : gnutls_x509_crt_set_dn(crt, "CN=ingero", NULL);
	for (size_t i = 0; code >= 0 && i < sizeof(here) / sizeof(here[0]); i++)
		code = name_it(crt, here[i]);
	for (; code >= 0 && *hosts; hosts++)
		code = name_it(crt, *hosts);
	code = code < 0 ? code : gnutls_x509_crt_set_key(crt, key);
	code = code < 0 ? code : gnutls_x509_crt_get_key_id(crt, 0, id, &id_size);
	code = code < 0 ? code : gnutls_x509_crt_set_subject_key_id(crt, id, id_size);
	code = code < 0 ? code : gnutls_x509_crt_set_authority_key_id(crt, id, id_size);
	code = code < 0 ? code : gnutls_x509_crt_set_basic_constraints(crt, 0, -1);
	code = code < 0 ? code : gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
	code = code < 0 ? code
			: gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
	return code < 0 ? code : gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
}

/* Under the lock, or before other threads have it. */
static int make_certificate(struct net_cert *c, struct err *e)
{
	gnutls_x509_privkey_t key = NULL;
	gnutls_x509_crt_t crt = NULL;
	/* Exporting a key allocates it. */
	int code = c->key ? 0 : gnutls_x509_privkey_init(&key), rc = 0;

	code = code < 0 ? code : gnutls_x509_crt_init(&crt);
	if (code >= 0 && !c->key)
		code = gnutls_x509_privkey_generate(
			key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	else if (code >= 0)
		code = gnutls_privkey_export_x509(c->key, &key);
	code = code < 0 ? code : fill_in(crt, key, c->hosts);
	if (code >= 0 && !c->key) {
		code = gnutls_privkey_init(&c->key);
		code = code < 0 ? code
				: gnutls_privkey_import_x509(c->key, key,
							     GNUTLS_PRIVKEY_IMPORT_COPY);
	}
	rc = code < 0 ? set_error(e, code, "cannot make a certificate") : show_chain(c, &crt, 1, e);
	gnutls_x509_privkey_deinit(key);
	gnutls_x509_crt_deinit(crt);
	return rc;
}

static struct net_cert *new_empty(void)
{
	struct net_cert *c = calloc(1, sizeof(*c));

	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

int net_cert_make(struct net_cert **out, const char *const *hosts,
		  void (*renewed)(const char *fingerprint), struct err *e)
{
	struct net_cert *c = new_empty();
	size_t n = 0;
	int rc = 0;

	*out = NULL;
	if (!c)
		return err_nomem(e);
	while (hosts && hosts[n])
		n++;
	c->own = true;
	c->renewed = renewed;
	c->hosts = calloc(n + 1, sizeof(*c->hosts));
	for (; c->hosts && c->nhosts < n && !rc; c->nhosts++)
		if (!(c->hosts[c->nhosts] = strdup(hosts[c->nhosts])))
			rc = err_nomem(e);
	rc = !c->hosts ? err_nomem(e) : rc ? rc : make_certificate(c, e);
	if (rc)
		net_cert_free(c);
	else
		*out = c;
	return rc;
}

static int read_pem(const char *path, struct buf *into, gnutls_datum_t *out, struct err *e)
{
	int rc = read_file(path, into, FILE_MAX, e);

	*out = (gnutls_datum_t){ (unsigned char *)into->p, (unsigned)into->n };
	return rc;
}

/* Whether the certificate holds now, and is that of c's key. */
static int check_certificate(struct net_cert *c, gnutls_x509_crt_t crt, const char *cert_file,
			     const char *key_file, struct err *e)
{
	time_t from = gnutls_x509_crt_get_activation_time(crt), now = time(NULL),
	       to = gnutls_x509_crt_get_expiration_time(crt);
	unsigned char of_cert[KEY_ID_BYTES], of_key[KEY_ID_BYTES];
	size_t n = sizeof(of_cert), m = sizeof(of_key);
	gnutls_pubkey_t public = NULL;
	char when[64];
	int code;

	if (from > now || to <= now)
		return err_set(e, ERR_CANNOT, "%s: this certificate %s %s", cert_file,
			       to <= now ? "ended" : "does not hold before",
			       time_iso(when, sizeof(when),
					(int64_t)(to <= now ? to : from) * 1000000000));
	code = gnutls_pubkey_init(&public);
	code = code < 0 ? code : gnutls_pubkey_import_privkey(public, c->key, 0, 0);
	code = code < 0 ? code : gnutls_pubkey_get_key_id(public, 0, of_key, &m);
	code = code < 0 ? code : gnutls_x509_crt_get_key_id(crt, 0, of_cert, &n);
	gnutls_pubkey_deinit(public);
	if (code < 0)
		return set_error(e, code, cert_file);
	if (n != m || memcmp(of_cert, of_key, n) != 0)
		return err_set(e, ERR_CANNOT, "%s is not the key of the certificate in %s",
			       key_file, cert_file);
	return 0;
}

int net_cert_load(struct net_cert **out, const char *cert_file, const char *key_file, struct err *e)
{
	struct buf cert = { 0 }, key = { 0 };
	gnutls_x509_crt_t *crts = NULL;
	struct net_cert *c = new_empty();
	gnutls_datum_t pem;
	unsigned n = 0;
	int rc = c ? 0 : err_nomem(e), code;

	*out = NULL;
	rc = rc ? rc : read_pem(cert_file, &cert, &pem, e);
	if (!rc &&
	    (code = gnutls_x509_crt_list_import2(&crts, &n, &pem, GNUTLS_X509_FMT_PEM, 0)) < 0)
		rc = err_set(e, ERR_DAMAGED, "%s: no certificate (PEM) is in it: %s", cert_file,
			     gnutls_strerror(code));
	if (!rc && n > CHAIN_MAX)
		rc = err_set(e, ERR_LIMIT, "%s: more than %d certificates", cert_file, CHAIN_MAX);
	rc = rc ? rc : read_pem(key_file, &key, &pem, e);
	if (!rc && (code = gnutls_privkey_init(&c->key)) < 0)
		rc = set_error(e, code, key_file);
	if (!rc &&
	    (code = gnutls_privkey_import_x509_raw(c->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0)) < 0)
		rc = err_set(e, ERR_DAMAGED,
			     "%s: no private key (PEM, without a password) is in it: %s", key_file,
			     gnutls_strerror(code));
	rc = rc ? rc : check_certificate(c, crts[0], cert_file, key_file, e);
	rc = rc ? rc : show_chain(c, crts, n, e);
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crt_deinit(crts[i]);
	gnutls_free(crts);
	if (key.p)
		gnutls_memset(key.p, 0, key.n);
	buf_free(&cert);
	buf_free(&key);
	if (rc)
		net_cert_free(c);
	else
		*out = c;
	return rc;
}

void net_cert_fingerprint(struct net_cert *c, char out[NET_FINGERPRINT_SIZE])
{
	pthread_mutex_lock(&c->lock);
	memcpy(out, c->fingerprint, NET_FINGERPRINT_SIZE);
	pthread_mutex_unlock(&c->lock);
}

int64_t net_cert_ends(struct net_cert *c)
{
	int64_t ends;

	pthread_mutex_lock(&c->lock);
	ends = c->ends;
	pthread_mutex_unlock(&c->lock);
	return ends;
}

void net_cert_free(struct net_cert *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nhosts; i++)
		free(c->hosts[i]);
	free(c->hosts);
	shown_free(c->now);
	shown_free(c->before);
	gnutls_privkey_deinit(c->key);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

int net_cert_renew(struct net_cert *c, struct err *e)
{
	char fingerprint[NET_FINGERPRINT_SIZE];
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = make_certificate(c, e);
	pthread_mutex_unlock(&c->lock);
	net_cert_fingerprint(c, fingerprint);
	if (!rc && c->renewed)
		c->renewed(fingerprint);
	return rc;
}

static int on_certificate_request(gnutls_session_t session, const gnutls_datum_t *issuers,
				  int nissuers, const gnutls_pk_algorithm_t *algorithms,
				  int nalgorithms, gnutls_pcert_st **chain, unsigned *n,
				  gnutls_privkey_t *key)
{
	int code = GNUTLS_E_INTERNAL_ERROR;
	struct net_cert *c;

	(void)session;
	(void)issuers;
	(void)nissuers;
	(void)algorithms;
	(void)nalgorithms;
	pthread_mutex_lock(&showing);
	c = current;
	if (c && c->own && net_cert_ends(c) - time(NULL) < BEFORE_S)
		net_cert_renew(c, NULL); /* if not, the old one is shown */
	if (c) {
		pthread_mutex_lock(&c->lock);
		*chain = c->now->chain;
		*n = c->now->n;
		*key = c->key;
		pthread_mutex_unlock(&c->lock);
		code = 0;
	}
	pthread_mutex_unlock(&showing);
	return code;
}

void (*net_cert_callback(void))(void)
{
	return (void (*)(void))on_certificate_request;
}

int net_cert_show(struct net_cert *c, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&showing);
	if (current)
		rc = err_set(e, ERR_CANNOT, "a server with TLS runs already");
	else
		current = c;
	pthread_mutex_unlock(&showing);
	return rc;
}

void net_cert_hide(struct net_cert *c)
{
	pthread_mutex_lock(&showing);
	if (current == c)
		current = NULL;
	pthread_mutex_unlock(&showing);
}
