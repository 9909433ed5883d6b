/* SPDX-License-Identifier: Apache-2.0 */
/* A secret is as good as what it is made of is hard to guess. */
#include "lib/base/keyfile.h"

#include <sys/random.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"

#define KEY_BYTES     16
#define KEY_BYTES_MAX 65536

int keyhash_read(struct keyhash *key, const char *path, struct err *e)
{
	unsigned char fresh[32];
	struct buf secret = { 0 };
	int rc;

	if (!path) {
		if (getrandom(fresh, sizeof(fresh), 0) != (ssize_t)sizeof(fresh))
			return err_sys(e, "cannot make a key for pseudonyms");
		*key = keyhash_from(fresh, sizeof(fresh));
		return 0;
	}
	rc = read_file(path, &secret, KEY_BYTES_MAX, e);
	if (!rc && secret.n < KEY_BYTES)
		rc = err_set(e, ERR_CANNOT,
			     "%s: a key of %zu bytes is easily guessed, and with it the names; "
			     "make one of "
			     "at least %d: head -c 32 /dev/urandom >%s",
			     path, secret.n, KEY_BYTES, path);
	if (!rc)
		*key = keyhash_from(secret.p, secret.n);
	buf_free(&secret);
	return rc;
}
