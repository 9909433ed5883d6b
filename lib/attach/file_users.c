/* SPDX-License-Identifier: Apache-2.0 */
/* Uses of one process are a list through the array, newest first. */
#include "lib/attach/file_users.h"

uint32_t file_users_newest(const struct file_users *u, uint32_t tgid)
{
	uint64_t i = 0;

	map_get(&u->newest, tgid, &i);
	return (uint32_t)i;
}

static bool add_use(struct file_users *u, struct file_user use)
{
	uint32_t newest = file_users_newest(u, use.tgid);

	use.before = newest && u->v.v[newest - 1].process == use.process ? newest : 0;
	if (!vec_push(&u->v, use))
		return false;
	if (map_put(&u->newest, use.tgid, u->v.n))
		return true;
	u->v.n--;
	return false;
}

struct file_user *file_users_of(struct file_users *u, uint32_t tgid, uint32_t file, bool *is_new)
{
	uint32_t newest = file_users_newest(u, tgid);

	*is_new = false;
	if (newest && !u->v.v[newest - 1].process)
		for (uint32_t i = newest; i; i = u->v.v[i - 1].before)
			if (u->v.v[i - 1].file == file)
				return &u->v.v[i - 1];
	*is_new = add_use(u, (struct file_user){ .tgid = tgid, .file = file });
	return *is_new ? &u->v.v[u->v.n - 1] : NULL;
}

void file_users_ended(struct file_users *u, uint32_t tgid, uint32_t process)
{
	for (uint32_t i = file_users_newest(u, tgid); i; i = u->v.v[i - 1].before)
		if (!u->v.v[i - 1].process)
			u->v.v[i - 1].process = process;
}

void file_users_forget(struct file_users *u, const struct gone_processes *gone)
{
	size_t n = u->v.n;

	/* Each goes where it stood or further down, in its order. */
	u->v.n = 0;
	map_clear(&u->newest);
	for (size_t i = 0; i < n; i++)
		if (!u->v.v[i].process || !map_get(&gone->processes, u->v.v[i].process, NULL))
			add_use(u, u->v.v[i]);
}

void file_users_free(struct file_users *u)
{
	vec_free(&u->v);
	map_free(&u->newest);
}
