/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restricts a server once it has opened what it needs: it may read, and write its disk cache and
 * its archives.
 */
#ifndef INGERO_STORE_SERVER_RIGHTS_H
#define INGERO_STORE_SERVER_RIGHTS_H

#include <stdbool.h>

struct server_rights {
	const char
		*disk_cache; /* of store_source_options; created if it does not exist; NULL: none */
	const char *folder;  /* for archives; NULL or "": /var/tmp */
	bool nodes;	     /* other machines are queried */
};

/* Restricts the calling thread and those it starts: call it before there are others. It may fork:
 * jq runs in a child, and so does the analysis of a recording that grows. With -v, reports what the
 * kernel does not support. */
void server_rights_restrict(const struct server_rights *c);

#endif
