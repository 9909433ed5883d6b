/* SPDX-License-Identifier: Apache-2.0 */
/* Files without a name are made in /var/tmp, whatever folder archives are in (base/io.h). */
#include "lib/store/server_rights.h"

#include "lib/cli/message.h"
#include "lib/host/confine.h"
#include "lib/store/disk_cache.h"

void server_rights_restrict(const struct server_rights *c)
{
	const char *const folders[] = { c->disk_cache, c->folder, "/var/tmp" };
	const struct host_confine how = { .folders = folders,
					  .nfolders = sizeof(folders) / sizeof(folders[0]),
					  .children = true,
					  .connects = c->nodes };
	unsigned done;

	if (c->disk_cache)
		disk_cache_create(c->disk_cache);
	done = host_confine(&how);
	cli_detail("confined: %s, %s",
		   done & HOST_CONFINED_CALLS ? "system calls" : "no system calls",
		   done & HOST_CONFINED_FILES ? "files" : "no files");
}
