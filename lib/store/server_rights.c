/* SPDX-License-Identifier: Apache-2.0 */
/* Files without a name are made in /var/tmp, whatever folder archives are in (base/io.h). */
#include "lib/store/server_rights.h"

#include "lib/cli/message.h"
#include "lib/host/confine.h"
#include "lib/store/disk_cache.h"

void store_confine(const struct store_confine *c)
{
	const char *const folders[] = { c->kept, c->folder, "/var/tmp" };
	const struct host_confine how = { .folders = folders,
					  .nfolders = sizeof(folders) / sizeof(folders[0]),
					  .children = true,
					  .connects = c->nodes };
	unsigned done;

	if (c->kept)
		kept_make(c->kept);
	done = host_confine(&how);
	cli_detail("confined: %s, %s",
		   done & HOST_CONFINED_CALLS ? "system calls" : "no system calls",
		   done & HOST_CONFINED_FILES ? "files" : "no files");
}
