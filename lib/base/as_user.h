/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and making files as another user would: of the user behind sudo, so that root's rights
 * make and replace nothing that this user could not. Of the calling thread, for a few system calls.
 */
#ifndef INGERO_BASE_AS_USER_H
#define INGERO_BASE_AS_USER_H

#include <stdbool.h>
#include <sys/types.h>

#define AS_USER_GROUPS 256

struct as_user {
	bool on;
	int ngroups; /* of root, to be taken again; < 0: not changed */
	gid_t groups[AS_USER_GROUPS];
};

/* With the user's groups, those of the system's lists too. Nothing for uid 0, and for who is not
 * root. errno is kept by both. */
void as_user_begin(struct as_user *u, uid_t uid, gid_t gid);
void as_user_end(struct as_user *u);

#endif
