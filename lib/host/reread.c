/* SPDX-License-Identifier: Apache-2.0 */
/* By pread, so that a descriptor serves for ever. */
#include "lib/host/reread.h"

#include <unistd.h>

#define FILE_MAX (16u << 20)

bool host_reread(int fd, struct buf *room)
{
	buf_reset(room);
	while (fd >= 0 && room->n < FILE_MAX) {
		/* Most of these files come whole in one read, which is also what makes them
		 * consistent. */
		size_t want = room->n ? room->n : 16384;
		char *at = buf_reserve(room, want);
		ssize_t got = at ? pread(fd, at, want, (off_t)room->n) : -1;

		if (got < 0)
			return false;
		buf_added(room, (size_t)got);
		if (got == 0 || (size_t)got < want / 2)
			return true;
	}
	return false;
}
