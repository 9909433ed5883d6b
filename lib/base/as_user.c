/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File system ids and supplementary groups of one thread: the C library's setgroups would change
 * those of all threads.
 */
#include "lib/base/as_user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Looked up once per thread: the lists may lie behind a network. */
static _Thread_local struct {
	uid_t uid;
	int n;
	gid_t v[AS_USER_GROUPS];
} known;

static void look_up(uid_t uid, gid_t gid)
{
	struct passwd *pw;

	if (known.uid == uid)
		return;
	pw = getpwuid(uid);
	known.n = AS_USER_GROUPS;
	if (!pw || getgrouplist(pw->pw_name, gid, known.v, &known.n) < 0) {
		known.v[0] = gid;
		known.n = 1;
	}
	known.uid = uid;
}

void as_user_begin(struct as_user *u, uid_t uid, gid_t gid)
{
	int saved = errno;

	u->on = uid != 0 && geteuid() == 0;
	if (!u->on)
		return;
	look_up(uid, gid);
	u->ngroups = getgroups(AS_USER_GROUPS, u->groups);
	if (u->ngroups >= 0 && syscall(SYS_setgroups, known.n, known.v))
		u->ngroups = -1;
	setfsgid(gid);
	setfsuid(uid);
	errno = saved;
}

void as_user_end(struct as_user *u)
{
	int saved = errno;

	if (!u->on)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	if (u->ngroups >= 0)
		syscall(SYS_setgroups, u->ngroups, u->groups);
	errno = saved;
}
