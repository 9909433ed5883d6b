/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server of ours still may, once it has what it needs to begin: read, and write what it
 * keeps and archives that it makes.
 */
#ifndef INGERO_STORE_SERVER_RIGHTS_H
#define INGERO_STORE_SERVER_RIGHTS_H

#include <stdbool.h>

struct store_confine {
	const char *kept;   /* of store_source_options; made when it is not there; NULL: none */
	const char *folder; /* for archives; NULL or "": /var/tmp */
	bool nodes;	    /* others are asked */
};

/* Of the calling thread and those it makes: before there are others. Children may be made: jq runs
 * in one, and so does what a recording that grows says by now. Where the kernel cannot all of that
 * it is said, with -v. */
void store_confine(const struct store_confine *c);

#endif
