/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate of a server: self-signed (ECDSA P-256, valid 24 hours and renewed before it
 * ends), or loaded from files.
 */
#ifndef INGERO_NET_CERT_H
#define INGERO_NET_CERT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

struct net_cert;

#define NET_FINGERPRINT_SIZE 96 /* 32 bytes as "AB:CD:…", with its end */

/* Makes one for localhost, 127.0.0.1, ::1 and hosts (names or addresses; ended by NULL, or NULL).
 * renewed: called after each renewal, in a thread of the server; may be NULL. ERR_CANNOT: built
 * without GnuTLS. */
int net_cert_make(struct net_cert **out, const char *const *hosts,
		  void (*renewed)(const char *fingerprint), struct err *e);

/* PEM files; more certificates behind the first are those that lead to its signer. ERR_CANNOT: not
 * there, out of date, or the key of another; ERR_DAMAGED: no PEM. */
int net_cert_load(struct net_cert **out, const char *cert_file, const char *key_file,
		  struct err *e);

/* SHA-256 of the certificate. */
void net_cert_fingerprint(struct net_cert *c, char out[NET_FINGERPRINT_SIZE]);
/* When it ends: seconds since 1970. */
int64_t net_cert_ends(struct net_cert *c);

void net_cert_free(struct net_cert *c);

#endif
